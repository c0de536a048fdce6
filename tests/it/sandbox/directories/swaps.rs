//! The target of a granted directory changes while the gateway runs: a call opens only targets that were checked against
//! the forbidden files, and a reload checks again.

use std::fs;
use std::os::unix::fs::symlink;

use moongate_tests::{Http, Workspace, send_signal, text, wait_until};
use serde_json::json;

use super::step;

/// `zoo` can write `home/rw`, `neighbour` can write `theirs`, and the state is in `own`.
fn workspace() -> Workspace {
    let workspace = Workspace::new(
        "[gateway]
watch = false
state = \"own/rw\"
[plugins.zoo]
source = \"@zoo@\"
allow.dirs = [{ host = \"home/rw\", guest = \"/rw\", mode = \"rw\" }]
[plugins.neighbour]
source = \"@zoo@\"
allow.dirs = [{ host = \"theirs\", guest = \"/rw\", mode = \"rw\" }]
",
    );
    workspace.write("home/rw/a.txt", "inside");
    workspace.write("theirs/inner/a.txt", "of the neighbour");
    fs::create_dir_all(workspace.path().join("own/rw")).unwrap();
    workspace.write("own/rw/a.txt", "of the gateway");
    workspace
}

/// The content that `zoo` reads, or the error of its call.
fn read(http: &Http) -> String {
    let answer = http.call("zoo_file_steps", json!({ "steps": [step("read", "/rw", "a.txt")] }));
    if answer["error"].is_null() { text(&answer).to_owned() } else { answer["error"].to_string() }
}

/// Requests a reload, and waits until the gateway has handled it.
fn reload(http: &Http) {
    let before = http.log().matches("signal=\"SIGHUP\"").count();
    send_signal(http.pid(), "HUP");
    wait_until("the gateway handled the signal", || http.log().matches("signal=\"SIGHUP\"").count() > before);
}

#[test]
fn a_parent_replaced_by_a_symlink_is_not_followed_unchecked() {
    let workspace = workspace();
    let at = |path: &str| workspace.path().join(path);
    let http = Http::start(&workspace);
    assert_eq!(read(&http), "inside");
    // The parent directory is replaced by a symlink to the state.
    fs::rename(at("home"), at("moved")).unwrap();
    assert!(read(&http).contains("can't be opened"), "the directory is gone");
    symlink("own", at("home")).unwrap();
    assert!(read(&http).contains("can't be opened"), "the symlink leads to the state");
    reload(&http);
    assert!(read(&http).contains("can't be opened"), "after a reload");
    fs::remove_file(at("home")).unwrap();
    // A symlink to the moved directory is fine after it was checked.
    symlink("moved", at("home")).unwrap();
    assert!(read(&http).contains("can't be opened"), "not checked yet");
    reload(&http);
    wait_until("the new directory is in use", || read(&http) == "inside");
    let (_, log) = http.terminate();
    assert!(log.contains("could reach the plugins' state"), "{log}");
}

#[test]
fn a_symlink_into_another_plugins_directory_is_not_opened() {
    let workspace = workspace();
    let at = |path: &str| workspace.path().join(path);
    let http = Http::start(&workspace);
    fs::rename(at("home/rw"), at("home/aside")).unwrap();
    symlink("../theirs/inner", at("home/rw")).unwrap();
    assert!(read(&http).contains("can't be opened"));
    reload(&http);
    assert!(read(&http).contains("can't be opened"), "the neighbour controls the content");
    let (_, log) = http.terminate();
    assert!(log.contains("the plugin `neighbour` could replace this directory with another"), "{log}");
}

#[test]
fn a_path_that_leads_elsewhere_needs_a_reload() {
    // The granted path, or a parent, is missing at the start and appears as a symlink, or is one that is changed.
    let cases: [(&str, Option<&str>, &str); 4] = [
        ("later", None, "later"),
        ("later/sub", None, "later"),
        ("link", Some("gone"), "link"),
        ("link", Some("first"), "link"),
    ];
    for (granted, target_before, changed) in cases {
        let workspace = Workspace::new(&format!(
            "[gateway]\nwatch = false\n[plugins.zoo]\nsource = \"@zoo@\"\nallow.dirs = [\
             {{ host = \"{granted}\", guest = \"/rw\" }}, {{ host = \"other\", guest = \"/other\" }}]\n"
        ));
        let at = |path: &str| workspace.path().join(path);
        workspace.write("other/a.txt", "other");
        workspace.write("first/a.txt", "first");
        workspace.write("second/a.txt", "second");
        workspace.write("second/sub/a.txt", "second");
        if let Some(target) = target_before {
            symlink(target, at(changed)).unwrap();
        }
        let http = Http::start(&workspace);
        if target_before == Some("first") {
            assert_eq!(read(&http), "first");
        }
        let _ = fs::remove_file(at(changed));
        symlink("second", at(changed)).unwrap();
        assert!(read(&http).contains("/rw"), "{granted}: followed without a check");
        assert!(!read(&http).contains("first"), "{granted}: the old target is still granted");
        reload(&http);
        wait_until("the new directory is in use", || read(&http) == "second");
        drop(http);
    }
}

#[test]
fn resolves_a_symlinked_state_directory() {
    let workspace = workspace();
    let at = |path: &str| workspace.path().join(path);
    fs::rename(at("own/rw"), at("home/rw/state")).unwrap();
    symlink("../home/rw/state", at("own/rw")).unwrap();
    let output = workspace.run(&["check"]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(78), "{message}");
    assert!(message.contains("the plugin `zoo` could reach the plugins' state"), "{message}");
}
