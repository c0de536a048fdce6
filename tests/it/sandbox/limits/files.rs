//! What a call reads from files and writes to them.

use std::process::Command;

use moongate_tests::{Http, ResourceUsage, Stdio, Workspace, text, wait_until};
use serde_json::json;

use super::all_is_well;

/// One piece of what the zoo reads and writes.
const PIECE: u64 = 64 << 10;

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

/// How many bytes it was, and what was said then.
#[track_caller]
fn course(said: &str) -> (u64, &str) {
    let (bytes, ended) = said.split_once(" bytes, then: ").unwrap_or_else(|| panic!("{said}"));
    (bytes.parse().unwrap(), ended)
}

/// A word of what the guest is told. Its standard library knows of streams only that they broke.
fn refusal(way: &str) -> &'static str {
    match way {
        "file" | "append" => "i/o error",
        _ => "quota",
    }
}

#[test]
fn what_a_call_reads_from_files_ends_in_every_way() {
    let workspace = workspace();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for way in ["file", "descriptor", "stream", "skip", "splice", "folder"] {
        let path = if way == "folder" { "/in/folder" } else { "/in/a.txt" };
        let answer = stdio.call("zoo_read_without_end", json!({ "path": path, "way": way }));
        let (bytes, ended) = course(text(&answer));
        assert!(ended.to_lowercase().contains(refusal(way)), "{way}: {answer}");
        assert!(bytes <= 1 << 20, "{way}: {answer}");
        let least = match way {
            "folder" => 100_000,           // a name counts more than its letters
            "file" => (1 << 20) - 300_000, // whole files
            _ => (1 << 20) - PIECE,
        };
        assert!(bytes >= least, "{way}: {answer}");
        all_is_well(&mut stdio);
    }
    let (_, _, log) = stdio.finish();
    let told: Vec<_> = log.lines().filter(|line| line.contains("`[plugins.zoo.limits]`")).collect();
    assert!(
        matches!(told.as_slice(), [line] if line.contains("`read`") && line.contains("1.0 MiB")),
        "{log}"
    );
}

#[test]
fn what_a_call_writes_to_files_ends_in_every_way() {
    let workspace = workspace();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for way in ["file", "append", "descriptor", "stream", "zeros", "size"] {
        let path = format!("/in/{way}.txt");
        let answer = stdio.call("zoo_write_without_end", json!({ "path": path, "way": way }));
        let (bytes, ended) = course(text(&answer));
        assert!(ended.to_lowercase().contains(refusal(way)), "{way}: {answer}");
        assert!(((1 << 20) - PIECE..=1 << 20).contains(&bytes), "{way}: {answer}");
        let size = workspace.path().join(format!("in/{way}.txt")).metadata().unwrap().len();
        assert!(size <= 1 << 20, "{way}: {size}");
        all_is_well(&mut stdio);
    }
    let appended = std::fs::read(workspace.path().join("in/append.txt")).unwrap();
    let made = 4 << 10; // a new file counts, too
    assert!(appended.len() as u64 > (1 << 20) - PIECE - made && appended.iter().all(|&byte| byte == b'x'));
    let (_, _, log) = stdio.finish();
    let told: Vec<_> = log.lines().filter(|line| line.contains("`[plugins.zoo.limits]`")).collect();
    assert!(matches!(told.as_slice(), [line] if line.contains("`written`")), "{log}");
}

#[test]
fn a_file_cannot_grow_by_one_byte_far_out() {
    let workspace = workspace();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for way in ["far", "far-stream"] {
        let path = format!("/in/{way}.txt");
        let answer = stdio.call("zoo_write_without_end", json!({ "path": path, "way": way }));
        let (bytes, ended) = course(text(&answer));
        assert!(bytes == 0 && ended.to_lowercase().contains("quota"), "{way}: {answer}");
        assert_eq!(workspace.path().join(format!("in/{way}.txt")).metadata().unwrap().len(), 0, "{way}");
    }
}

#[test]
fn what_is_made_counts_though_nothing_is_in_it() {
    let workspace = workspace();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for way in ["files", "folders"] {
        let path = format!("/in/folder/{way}-");
        let answer = stdio.call("zoo_write_without_end", json!({ "path": path, "way": way }));
        let (made, ended) = course(text(&answer));
        assert!(ended.to_lowercase().contains("quota"), "{way}: {answer}");
        assert_eq!(made, (1 << 20) / 4096, "{way}");
        all_is_well(&mut stdio);
    }
}

#[test]
fn a_file_of_exactly_as_much_as_may_be_read_is_read() {
    let workspace = workspace();
    workspace.write("in/exact.txt", "y".repeat(1 << 20));
    workspace.write("in/more.txt", "z".repeat((1 << 20) + 1));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for _ in 0..2 {
        let read = stdio.call("zoo_read_file", json!({ "path": "/in/exact.txt" }));
        assert_eq!(text(&read).len(), 1 << 20, "each call has as much");
    }
    let refused = stdio.call("zoo_read_file", json!({ "path": "/in/more.txt" }));
    assert!(text(&refused).starts_with("refused: "), "{refused}");
    let written =
        stdio.call("zoo_write_file", json!({ "path": "/in/exact.txt", "text": "w".repeat(1 << 20) }));
    assert_eq!(text(&written), "written");
}

/// The gateway where the system lets it open few files: then a call may have eight open beside the granted directory.
fn with_few_descriptors(workspace: &Workspace, arguments: &[&str]) -> Command {
    let plain = workspace.command(arguments);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 256; exec \"$@\"", "sh"]).arg(plain.get_program()).args(plain.get_args());
    command.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(workspace.path());
    command
}

#[test]
fn what_a_call_has_open_at_once_ends_in_every_way() {
    let workspace = workspace();
    let mut stdio =
        Stdio::spawn_initialized(with_few_descriptors(&workspace, &["serve", "--stdio"]), "2025-11-25");
    let step = |what: &str, path: &str| json!([{ "what": what, "dir": "/in", "path": path }]);
    for _ in 0..2 {
        let many = stdio.call("zoo_many_files", json!({}));
        let said = text(&many).to_lowercase();
        assert!(said.starts_with("opened 8 files, then ") && said.contains("quota"), "{many}");
        for (what, path) in [("list_at_once", "folder"), ("streams_at_once", "a.txt")] {
            let told = stdio.call("zoo_file_steps", json!({ "steps": step(what, path) }));
            let said = text(&told).to_lowercase();
            assert!(said.starts_with("refused: ") && said.contains("quota"), "{what}: {told}");
        }
        // What was given back counts no more.
        for (what, path) in [("read", "a.txt"), ("list", "folder")] {
            let told = stdio.call("zoo_file_steps", json!({ "steps": step(what, path), "times": 30 }));
            assert!(text(&told).starts_with(if what == "read" { "xxx" } else { "name-0" }), "{what}: {told}");
        }
        all_is_well(&mut stdio);
    }
    let (_, _, log) = stdio.finish();
    let told =
        log.lines().filter(|line| line.contains("more than 8 files and directories open at once")).count();
    assert_eq!(told, 1, "{log}");

    let explained =
        with_few_descriptors(&workspace, &["call", "zoo_many_files", "--explain"]).output().unwrap();
    let said = [explained.stdout, explained.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("reached limits\n  it wanted more than 8 files"), "{said}");
}

#[test]
fn files_of_many_calls_leave_descriptors_for_whoever_connects() {
    const CALLS: u64 = 5;
    let workspace = Workspace::new(
        "[http]\nlisten = \"127.0.0.1:0\"\n\
         [plugins.zoo]\nsource = \"@zoo@\"\nlimits = { timeout = \"1h\" }\n\
         allow.dirs = [{ host = \"in\", guest = \"/in\", mode = \"ro\" }]\n\
         [plugins.time]\nsource = \"@time@\"\n",
    );
    workspace.write("in/a.txt", "hello");
    let http = Http::spawn(with_few_descriptors(&workspace, &["serve"]));
    let honest = || {
        let time = http.call("time_get_current_time", json!({ "timezone": "UTC" }));
        assert!(time["result"]["isError"].is_null(), "{time}");
    };
    honest();
    let before = ResourceUsage::of(http.pid()).descriptors;
    let _holding = [(); CALLS as usize].map(|()| http.start_call("zoo_many_files", json!({ "hold": true })));
    // Each has eight, its connection and the granted directory.
    wait_until("all have what they get", || ResourceUsage::of(http.pid()).descriptors >= before + CALLS * 9);
    for _ in 0..20 {
        honest();
    }
    let one_more = http.call("zoo_many_files", json!({}));
    assert!(text(&one_more).starts_with("opened 8 files, then "), "{one_more}");
}
