//! Pipes in a granted directory never block the gateway.

use std::thread;

use moongate_tests::{Http, Stdio, Workspace, text};
use serde_json::{Value, json};

use super::{READ_OPERATIONS, WRITE_OPERATIONS, following, step, to};

/// `zoo` with a writable directory that contains a file, a pipe, a socket and symlinks to them.
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
fn every_operation_on_a_pipe_returns_immediately() {
    let workspace = workspace();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    // A pipe can be renamed and removed like any other file.
    let name_operations = ["rename", "hard_link", "unlink", "stat", "symlink", "read_link"];
    let ways =
        READ_OPERATIONS.into_iter().chain(WRITE_OPERATIONS).filter(|what| !name_operations.contains(what));
    for what in ways {
        for path in ["pipe", "socket", "to-pipe", "to-socket"] {
            let mut steps = vec![following(step(what, "/rw", path))];
            // Setting a symlink's own time opens nothing.
            if what != "set_times" {
                steps.push(step(what, "/rw", path));
            }
            let reported = stdio.call("zoo_file_steps", json!({ "steps": steps }));
            assert_eq!(reported["result"]["isError"], Value::Null, "{what} {path}: {reported}");
            assert!(
                text(&reported).lines().all(|reported| reported.starts_with("refused")),
                "{what} {path}: {reported}"
            );
        }
    }
    let steps = [
        to("rename", "/rw", "file", "/rw", "pipe"), // a file inherits the permissions of the file that it replaces
        step("read", "/rw", "pipe"),
        step("unlink", "/rw", "socket"),
    ];
    let reported = stdio.call("zoo_file_steps", json!({ "steps": steps }));
    assert_eq!(text(&reported), "done\ntext\ndone");
}

#[test]
fn swapping_a_file_for_a_pipe_never_blocks() {
    let workspace = workspace();
    let http = Http::start(&workspace);
    // One call moves a file and a pipe to and from the same name, while others open that name in every way.
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
            let reported = call.join().unwrap();
            assert_eq!(reported["result"]["isError"], Value::Null, "{reported}");
        }
    });
    let (status, log) = http.terminate();
    assert!(status.success(), "{log}");
}

#[test]
fn concurrent_listings_of_a_directory_are_complete() {
    let workspace = workspace();
    for number in 0..995 {
        workspace.write(&format!("rw/sub/name-{number}"), "");
    }
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let reported = stdio.call("zoo_file_steps", json!({ "steps": [step("list_at_once", "/rw", "sub")] }));
    assert_eq!(text(&reported), "[995]");
}
