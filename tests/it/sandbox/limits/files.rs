//! Limits of reading, writing and open files.

use std::process::Command;

use moongate_tests::{Http, ResourceUsage, Stdio, Workspace, text, wait_until};
use serde_json::json;

use super::assert_plugins_work;

/// The chunk size of the zoo's reads and writes, in bytes.
const CHUNK: u64 = 64 << 10;

fn workspace() -> Workspace {
    let workspace = Workspace::new(
        "[plugins.zoo]\nsource = \"@zoo@\"\n\
         allow.dirs = [{ host = \"in\", guest = \"/in\", mode = \"rw\" }]\n\
         limits = { read = \"1MiB\", written = \"1MiB\", output = \"0B\" }\n\
         [plugins.time]\nsource = \"@time@\"\n",
    );
    workspace.write("in/a.txt", "x".repeat(300_000));
    for number in 0..200 {
        workspace.write(&format!("in/folder/name-{number}.txt"), "");
    }
    workspace
}

/// The number of bytes and the error of a `…_without_end` result.
#[track_caller]
fn bytes_and_error(message: &str) -> (u64, &str) {
    let (bytes, ended) = message.split_once(" bytes, then: ").unwrap_or_else(|| panic!("{message}"));
    (bytes.parse().unwrap(), ended)
}

#[test]
fn limits_every_way_of_reading_files() {
    let workspace = workspace();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for way in ["file", "descriptor", "stream", "skip", "splice", "folder"] {
        let path = if way == "folder" { "/in/folder" } else { "/in/a.txt" };
        let answer = stdio.call("zoo_read_without_end", json!({ "path": path, "way": way }));
        let (bytes, ended) = bytes_and_error(text(&answer));
        assert!(ended.to_lowercase().contains("quota"), "{way}: {answer}");
        assert!(bytes <= 1 << 20, "{way}: {answer}");
        let least = match way {
            "folder" => 100_000,           // an entry counts more than the length of its name
            "file" => (1 << 20) - 300_000, // whole files
            _ => (1 << 20) - CHUNK,
        };
        assert!(bytes >= least, "{way}: {answer}");
        assert_plugins_work(&mut stdio);
    }
    let (_, _, log) = stdio.finish();
    let reported: Vec<_> = log.lines().filter(|line| line.contains("`[plugins.zoo.limits]`")).collect();
    assert!(
        matches!(reported.as_slice(), [line] if line.contains("`read`") && line.contains("1.0 MiB")),
        "{log}"
    );
}

#[test]
fn limits_every_way_of_writing_files() {
    let workspace = workspace();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for way in ["file", "append", "descriptor", "stream", "zeros", "size"] {
        let path = format!("/in/{way}.txt");
        let answer = stdio.call("zoo_write_without_end", json!({ "path": path, "way": way }));
        let (bytes, ended) = bytes_and_error(text(&answer));
        assert!(ended.to_lowercase().contains("quota"), "{way}: {answer}");
        assert!(((1 << 20) - CHUNK..=1 << 20).contains(&bytes), "{way}: {answer}");
        let size = workspace.path().join(format!("in/{way}.txt")).metadata().unwrap().len();
        assert!(size <= 1 << 20, "{way}: {size}");
        assert_plugins_work(&mut stdio);
    }
    let appended = std::fs::read(workspace.path().join("in/append.txt")).unwrap();
    let made = 4 << 10; // the cost of a new file
    assert!(appended.len() as u64 > (1 << 20) - CHUNK - made && appended.iter().all(|&byte| byte == b'x'));
    let (_, _, log) = stdio.finish();
    let reported: Vec<_> = log.lines().filter(|line| line.contains("`[plugins.zoo.limits]`")).collect();
    assert!(matches!(reported.as_slice(), [line] if line.contains("`written`")), "{log}");
}

#[test]
fn rejects_writing_one_byte_at_a_distant_offset() {
    let workspace = workspace();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for way in ["far", "far-stream"] {
        let path = format!("/in/{way}.txt");
        let answer = stdio.call("zoo_write_without_end", json!({ "path": path, "way": way }));
        let (bytes, ended) = bytes_and_error(text(&answer));
        assert!(bytes == 0 && ended.to_lowercase().contains("quota"), "{way}: {answer}");
        assert_eq!(workspace.path().join(format!("in/{way}.txt")).metadata().unwrap().len(), 0, "{way}");
    }
}

#[test]
fn empty_files_and_directories_count_as_written() {
    let workspace = workspace();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for way in ["files", "folders"] {
        let path = format!("/in/folder/{way}-");
        let answer = stdio.call("zoo_write_without_end", json!({ "path": path, "way": way }));
        let (made, ended) = bytes_and_error(text(&answer));
        assert!(ended.to_lowercase().contains("quota"), "{way}: {answer}");
        assert_eq!(made, (1 << 20) / 4096, "{way}");
        assert_plugins_work(&mut stdio);
    }
}

#[test]
fn reads_and_writes_a_file_of_exactly_the_limit() {
    let workspace = workspace();
    workspace.write("in/exact.txt", "y".repeat(1 << 20));
    workspace.write("in/more.txt", "z".repeat((1 << 20) + 1));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for _ in 0..2 {
        let read = stdio.call("zoo_read_file", json!({ "path": "/in/exact.txt" }));
        assert_eq!(text(&read).len(), 1 << 20, "the limit is per call");
    }
    let refused = stdio.call("zoo_read_file", json!({ "path": "/in/more.txt" }));
    assert!(text(&refused).starts_with("refused: "), "{refused}");
    let written =
        stdio.call("zoo_write_file", json!({ "path": "/in/exact.txt", "text": "w".repeat(1 << 20) }));
    assert_eq!(text(&written), "written");
}

/// The gateway with few descriptors: a call may then have eight files open in addition to the granted directory.
fn with_few_descriptors(workspace: &Workspace, arguments: &[&str]) -> Command {
    let plain = workspace.command(arguments);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 256; exec \"$@\"", "sh"]).arg(plain.get_program()).args(plain.get_args());
    command.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(workspace.path());
    command
}

#[test]
fn limits_open_files_of_a_call_in_every_way() {
    let workspace = workspace();
    let mut stdio =
        Stdio::spawn_initialized(with_few_descriptors(&workspace, &["serve", "--stdio"]), "2025-11-25");
    let step = |what: &str, path: &str| json!([{ "what": what, "dir": "/in", "path": path }]);
    for _ in 0..2 {
        let many = stdio.call("zoo_many_files", json!({}));
        let message = text(&many).to_lowercase();
        assert!(message.starts_with("opened 8 files, then ") && message.contains("quota"), "{many}");
        for (what, path) in [("list_at_once", "folder"), ("streams_at_once", "a.txt")] {
            let reported = stdio.call("zoo_file_steps", json!({ "steps": step(what, path) }));
            let message = text(&reported).to_lowercase();
            assert!(message.starts_with("refused: ") && message.contains("quota"), "{what}: {reported}");
        }
        // Closed files no longer count.
        for (what, path) in [("read", "a.txt"), ("list", "folder")] {
            let reported = stdio.call("zoo_file_steps", json!({ "steps": step(what, path), "times": 30 }));
            assert!(
                text(&reported).starts_with(if what == "read" { "xxx" } else { "name-0" }),
                "{what}: {reported}"
            );
        }
        assert_plugins_work(&mut stdio);
    }
    let (_, _, log) = stdio.finish();
    let reported =
        log.lines().filter(|line| line.contains("more than 8 files and directories at once")).count();
    assert_eq!(reported, 1, "{log}");

    let explained =
        with_few_descriptors(&workspace, &["call", "zoo_many_files", "--explain"]).output().unwrap();
    let message = [explained.stdout, explained.stderr].concat();
    let message = String::from_utf8_lossy(&message);
    assert!(message.contains("reached limits\n  the plugin tried to open more than 8 files"), "{message}");
}

#[test]
fn open_files_leave_descriptors_for_connections() {
    const CALLS: u64 = 5;
    let workspace = Workspace::new(
        "[http]\nlisten = \"127.0.0.1:0\"\n\
         [plugins.zoo]\nsource = \"@zoo@\"\nlimits = { timeout = \"1h\" }\n\
         allow.dirs = [{ host = \"in\", guest = \"/in\", mode = \"ro\" }]\n\
         [plugins.time]\nsource = \"@time@\"\n",
    );
    workspace.write("in/a.txt", "hello");
    let http = Http::spawn(with_few_descriptors(&workspace, &["serve"]));
    let assert_served = || {
        let time = http.call("time_get_current_time", json!({ "timezone": "UTC" }));
        assert!(time["result"]["isError"].is_null(), "{time}");
    };
    assert_served();
    let before = ResourceUsage::of(http.pid()).descriptors;
    let _holding = [(); CALLS as usize].map(|()| http.start_call("zoo_many_files", json!({ "hold": true })));
    // Eight files, the connection and the granted directory for each.
    wait_until("every call has opened its files", || {
        ResourceUsage::of(http.pid()).descriptors >= before + CALLS * 9
    });
    for _ in 0..20 {
        assert_served();
    }
    let one_more = http.call("zoo_many_files", json!({}));
    assert!(text(&one_more).starts_with("opened 8 files, then "), "{one_more}");
}
