//! The limit on what a plugin adds to its writable directories, over all of its calls.

use std::fs;
use std::path::Path;

use moongate_tests::{Stdio, Workspace, text, wait_until};
use serde_json::{Value, json};

/// The limit, in bytes.
const DISK: u64 = 256 << 10;

/// A plugin for each name, with a directory that already contains more than the limit.
fn workspace(plugins: &[&str]) -> Workspace {
    let tables = plugins.iter().map(|name| {
        format!(
            "[plugins.{name}]\nsource = \"@zoo@\"\n\
             resources.deny = [\"zoo://text\", \"zoo://foreign\", \"zoo://asked\", \"zoo://bytes/{{count}}\"]\n\
             allow.dirs = [{{ host = \"{name}\", guest = \"/in\", mode = \"rw\" }}]\n\
             limits = {{ disk = \"256KiB\", written = \"1MiB\" }}\n"
        )
    });
    let workspace = Workspace::new(&tables.collect::<String>());
    for name in plugins {
        workspace.write(&format!("{name}/before.txt"), "x".repeat(1 << 20));
    }
    workspace
}

/// The size of everything in a directory except for what was there before, with the charge for each entry.
fn added(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let new = entries.filter(|entry| entry.file_name() != "before.txt");
    new.map(|entry| {
        let metadata = entry.metadata().unwrap();
        4096 + if metadata.is_file() { metadata.len() } else { 0 }
    })
    .sum()
}

fn write(stdio: &mut Stdio, plugin: &str, way: &str) -> String {
    let arguments = json!({ "path": format!("/in/{way}-"), "way": way });
    text(&stdio.call(&format!("{plugin}_write_without_end"), arguments)).to_lowercase()
}

fn steps(stdio: &mut Stdio, plugin: &str, steps: &Value) -> String {
    text(&stdio.call(&format!("{plugin}_file_steps"), json!({ "steps": steps }))).to_owned()
}

#[test]
fn limits_every_way_of_adding_to_a_directory() {
    const WAYS: [&str; 6] = ["append", "size", "files", "folders", "far", "far-stream"];
    let names = WAYS.map(|way| way.replace('-', ""));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let workspace = workspace(&names);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for (name, way) in names.iter().zip(WAYS) {
        for call in 0..3 {
            let ended = write(&mut stdio, name, way);
            assert!(ended.contains("quota"), "{way} in call {call}: {ended}");
            let added = added(&workspace.path().join(name));
            assert!(added <= DISK, "{way} in call {call}: {added}");
            if !way.starts_with("far") {
                assert!(added > DISK - (64 << 10) - 4096, "{way} in call {call}: {added}");
            }
        }
    }
    let (_, _, log) = stdio.finish();
    for name in names.iter().filter(|name| !name.starts_with("far")) {
        let lines: Vec<_> = log.lines().filter(|line| line.contains(&format!("plugin `{name}` "))).collect();
        assert!(
            matches!(lines[..], [line] if line.contains("added more than 256.0 KiB") && line.contains("`disk`")),
            "{name}: {lines:?}"
        );
    }
}

#[test]
fn rewritten_files_count_once() {
    let workspace = workspace(&["zoo"]);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for way in ["file", "descriptor", "stream", "zeros"] {
        for _ in 0..2 {
            // The call ends at `written`, which is larger.
            let ended = write(&mut stdio, "zoo", way);
            let bytes = ended.split(' ').next().unwrap().parse::<u64>().unwrap();
            assert!(ended.contains("quota") && bytes > (1 << 20) - (128 << 10), "{way}: {ended}");
        }
        let unlink = json!([{ "what": "unlink", "dir": "/in", "path": format!("{way}-") }]);
        assert_eq!(steps(&mut stdio, "zoo", &unlink), "done", "{way}");
    }
    let (_, _, log) = stdio.finish();
    assert!(!log.contains("`disk`"), "{log}");
}

/// Each way of removing what the plugin added makes room for exactly that.
#[test]
fn what_a_plugin_removes_makes_room() {
    let workspace = workspace(&["zoo"]);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let data = "y".repeat(100 << 10);
    let create = |path: &str| json!({ "what": "create", "dir": "/in", "path": path, "to": data });
    let step =
        |what: &str, path: &str, to: &str| json!({ "what": what, "dir": "/in", "path": path, "to": to });
    let full = |stdio: &mut Stdio| {
        let outcome = steps(stdio, "zoo", &json!([create("more")]));
        assert!(outcome.contains("quota"), "{outcome}");
        let _ = steps(stdio, "zoo", &json!([step("unlink", "more", "")]));
    };
    let outcome = steps(&mut stdio, "zoo", &json!([create("a"), create("b")]));
    assert_eq!(outcome.lines().filter(|line| line.contains("wrote")).count(), 2, "{outcome}");
    full(&mut stdio);
    for remove in [
        json!([step("unlink", "a", "")]),
        // It counts once that the file is gone.
        json!([step("unlink_and_shrink", "a", "")]),
        json!([{ "what": "truncate", "dir": "/in", "path": "a" }, step("unlink", "a", "")]),
        json!([step("rename", "a", "b"), step("rename", "b", "a"), create("b"), step("unlink", "a", "")]),
        // A second name keeps the file.
        json!([step("hard_link", "a", "c"), step("unlink", "a", ""), step("unlink", "c", "")]),
        // Two names of one file stay as they are.
        json!([
            step("hard_link", "a", "c"),
            step("rename", "a", "c"),
            step("unlink", "a", ""),
            step("unlink", "c", "")
        ]),
    ] {
        let outcome = steps(&mut stdio, "zoo", &remove);
        assert!(!outcome.contains("refused"), "{remove}: {outcome}");
        let outcome = steps(&mut stdio, "zoo", &json!([create("a")]));
        assert!(outcome.contains("wrote"), "{remove}: {outcome}");
        full(&mut stdio);
        assert!(added(&workspace.path().join("zoo")) <= DISK);
    }
    for keep in [
        json!([step("hard_link", "a", "c"), step("unlink", "a", ""), step("rename", "c", "a")]),
        json!([step("rename", "a", "c"), step("rename", "c", "a")]),
        json!([step("create_directory", "d", ""), step("remove_directory", "d", "")]),
        json!([
            step("unlink", "nothing", ""),
            step("rename", "nothing", "a"),
            step("truncate", "nothing", "")
        ]),
    ] {
        let _ = steps(&mut stdio, "zoo", &keep);
        full(&mut stdio);
    }
    // Files that were there before don't make room for more than the limit.
    let outcome = steps(&mut stdio, "zoo", &json!([step("unlink", "before.txt", "")]));
    assert_eq!(outcome, "done");
    let ended = write(&mut stdio, "zoo", "append");
    assert!(ended.contains("quota") && added(&workspace.path().join("zoo")) <= DISK + (200 << 10), "{ended}");
}

#[test]
fn files_that_others_remove_make_room_after_a_while() {
    let workspace = workspace(&["zoo"]);
    fs::remove_file(workspace.path().join("zoo/before.txt")).unwrap();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    assert!(write(&mut stdio, "zoo", "append").contains("quota"));
    fs::remove_file(workspace.path().join("zoo/append-")).unwrap();
    wait_until("the directory was measured", || {
        let _ = write(&mut stdio, "zoo", "append");
        added(&workspace.path().join("zoo")) > DISK / 2
    });
    assert!(added(&workspace.path().join("zoo")) <= DISK);
}
