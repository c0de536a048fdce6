//! Pipes in a granted directory: nothing waits for them, whatever a guest does with them.

use std::thread;

use moongate_tests::{Http, Stdio, Workspace, text};
use serde_json::{Value, json};

use super::{CHANGING, READING, following, step, to};

/// `zoo` with a folder that may be written, in which a file, a pipe, a socket and links to them lie.
fn workspace() -> Workspace {
    let workspace = Workspace::new(
        "[plugins.zoo]
source = \"@zoo@\"
allow.dirs = [{ host = \"rw\", guest = \"/rw\", mode = \"rw\" }]
limits = { timeout = \"60s\", cpu_time = \"60s\" }
",
    );
    workspace.write("rw/file", "text");
    let at = |path: &str| workspace.path().join(path);
    assert!(std::process::Command::new("mkfifo").arg(at("rw/pipe")).status().unwrap().success());
    drop(std::os::unix::net::UnixListener::bind(at("rw/socket")).unwrap());
    for name in ["pipe", "socket"] {
        std::os::unix::fs::symlink(name, at(&format!("rw/to-{name}"))).unwrap();
    }
    workspace
}

#[test]
fn every_way_to_use_a_pipe_is_answered_at_once() {
    let workspace = workspace();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    // Its name can be changed like any other, and it can be taken away.
    let of_names = ["rename", "hard_link", "unlink", "stat", "symlink", "read_link"];
    let ways = READING.into_iter().chain(CHANGING).filter(|what| !of_names.contains(what));
    for what in ways {
        for path in ["pipe", "socket", "to-pipe", "to-socket"] {
            let mut steps = vec![following(step(what, "/rw", path))];
            // The time of a name can be set without opening anything.
            if what != "set_times" {
                steps.push(step(what, "/rw", path));
            }
            let told = stdio.call("zoo_file_steps", json!({ "steps": steps }));
            assert_eq!(told["result"]["isError"], Value::Null, "{what} {path}: {told}");
            assert!(text(&told).lines().all(|told| told.starts_with("refused")), "{what} {path}: {told}");
        }
    }
    let steps = [
        to("rename", "/rw", "file", "/rw", "pipe"), // a file takes over the permissions of what it replaces
        step("read", "/rw", "pipe"),
        step("unlink", "/rw", "socket"),
    ];
    let told = stdio.call("zoo_file_steps", json!({ "steps": steps }));
    assert_eq!(text(&told), "done\ntext\ndone");
}

#[test]
fn a_pipe_that_takes_the_place_of_a_file_meanwhile_holds_up_nobody() {
    let workspace = workspace();
    let http = Http::start(&workspace);
    // One call moves a file and a pipe to and from the same name, while others open it in every way.
    let moving = ["file", "pipe"]
        .map(|name| [to("rename", "/rw", name, "/rw", "x"), to("rename", "/rw", "x", "/rw", name)])
        .concat();
    let opening =
        [step("read", "/rw", "x"), step("write", "/rw", "x"), following(step("set_times", "/rw", "x"))];
    let replacing = [to("rename", "/rw", "x", "/rw", "y"), to("rename", "/rw", "y", "/rw", "x")];
    let all = [(&moving[..], 1500), (&opening[..], 1500), (&opening[..], 1500), (&replacing[..], 300)];
    thread::scope(|scope| {
        let calls = all.map(|(steps, times)| {
            let http = &http;
            scope.spawn(move || http.call("zoo_file_steps", json!({ "steps": steps, "times": times })))
        });
        for call in calls {
            let told = call.join().unwrap();
            assert_eq!(told["result"]["isError"], Value::Null, "{told}");
        }
    });
    let (status, log) = http.terminate();
    assert!(status.success(), "{log}");
}

#[test]
fn many_listings_of_one_directory_name_everything() {
    let workspace = workspace();
    for number in 0..995 {
        workspace.write(&format!("rw/sub/name-{number}"), "");
    }
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let told = stdio.call("zoo_file_steps", json!({ "steps": [step("list_at_once", "/rw", "sub")] }));
    assert_eq!(text(&told), "[995]");
}
