//! What a granted directory leads to changes while the gateway runs: a call opens nothing that wasn't compared with what
//! no plugin may reach, and a reload compares anew.

use std::fs;
use std::os::unix::fs::symlink;

use moongate_tests::{Http, Workspace, send_signal, text, wait_until};
use serde_json::json;

use super::step;

/// `zoo` may write `home/rw`, and `neighbour` what is theirs; the state lies in `own`.
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

/// What `zoo` reads, or the error that its call came to.
fn read(http: &Http) -> String {
    let answer = http.call("zoo_file_steps", json!({ "steps": [step("read", "/rw", "a.txt")] }));
    if answer["error"].is_null() { text(&answer).to_owned() } else { answer["error"].to_string() }
}

/// Asks for a reload, and waits until it was heeded.
fn reload(http: &Http) {
    let before = http.log().matches("signal=\"SIGHUP\"").count();
    send_signal(http.pid(), "HUP");
    wait_until("the signal was heeded", || http.log().matches("signal=\"SIGHUP\"").count() > before);
}

#[test]
fn a_directory_on_the_way_that_became_a_link_leads_no_call_elsewhere_and_no_reload_where_it_must_not() {
    let workspace = workspace();
    let at = |path: &str| workspace.path().join(path);
    let http = Http::start(&workspace);
    assert_eq!(read(&http), "inside");
    // The directory that it is in goes, and a link to where the state is comes in its place.
    fs::rename(at("home"), at("moved")).unwrap();
    assert!(read(&http).contains("can't be opened"), "nothing is there");
    symlink("own", at("home")).unwrap();
    assert!(read(&http).contains("can't be opened"), "it leads to the state");
    reload(&http);
    assert!(read(&http).contains("can't be opened"), "after a reload");
    fs::remove_file(at("home")).unwrap();
    // A link to where it is by now is as good as ever, once that was compared.
    symlink("moved", at("home")).unwrap();
    assert!(read(&http).contains("can't be opened"), "nobody compared it yet");
    reload(&http);
    wait_until("the new place is used", || read(&http) == "inside");
    let (_, log) = http.terminate();
    assert!(log.contains("could reach the plugins' state"), "{log}");
}

#[test]
fn a_directory_that_became_a_link_into_a_neighbours_is_not_opened() {
    let workspace = workspace();
    let at = |path: &str| workspace.path().join(path);
    let http = Http::start(&workspace);
    fs::rename(at("home/rw"), at("home/aside")).unwrap();
    symlink("../theirs/inner", at("home/rw")).unwrap();
    assert!(read(&http).contains("can't be opened"));
    reload(&http);
    assert!(read(&http).contains("can't be opened"), "the neighbour decides what is there");
    let (_, log) = http.terminate();
    assert!(log.contains("the plugin `neighbour` could replace this directory with another"), "{log}");
}

#[test]
fn state_that_lies_behind_a_link_is_found_where_it_is() {
    let workspace = workspace();
    let at = |path: &str| workspace.path().join(path);
    fs::rename(at("own/rw"), at("home/rw/state")).unwrap();
    symlink("../home/rw/state", at("own/rw")).unwrap();
    let output = workspace.run(&["check"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(78), "{said}");
    assert!(said.contains("the plugin `zoo` could reach the plugins' state"), "{said}");
}
