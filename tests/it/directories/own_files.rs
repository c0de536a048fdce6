//! Grants never reach what the gateway lives by: its configuration, cache, state and secrets, and the components of
//! plugins. A hostile guest for each, at the start and after a reload.

use std::fs;
use std::os::unix::fs::symlink;

use moongate_tests::{Http, Workspace, component, signal, text, until};
use serde_json::json;

use super::{CHANGING, step};

/// A gateway with everything of its own in a folder of its own, and `zoo` with these grants.
fn home(dirs: &str) -> Workspace {
    let workspace = Workspace::new(&configured(dirs));
    for folder in ["own/cache", "own/state", "notes"] {
        fs::create_dir_all(workspace.path().join(folder)).unwrap();
    }
    workspace.write("plugins/neighbour.wasm", fs::read(component("time")).unwrap());
    workspace.write("keys/key", "a-key-of-some-length");
    workspace.write("notes/a.txt", "harmless");
    symlink("keys", workspace.path().join("to-keys")).unwrap();
    symlink("../plugins", workspace.path().join("notes/to-plugins")).unwrap();
    workspace
}

fn configured(dirs: &str) -> String {
    format!(
        "version = 1
[gateway]
watch = false
cache = \"own/cache\"
state = \"own/state\"
[http]
listen = \"127.0.0.1:0\"
[plugins.neighbour]
source = \"plugins/neighbour.wasm\"
config.key = {{ file = \"keys/key\" }}
[plugins.zoo]
source = \"{}\"
[plugins.zoo.allow]
dirs = [{dirs}]
",
        component("zoo").display()
    )
}

fn grant(host: &str, mode: &str) -> String {
    format!("{{ host = \"{host}\", guest = \"/x\", mode = \"{mode}\" }}")
}

/// A directory, the modes in which it can't be granted, and what would be reached.
const REACHING: [(&str, &[&str], &str); 11] = [
    (".", &["ro", "rw"], "the configuration"),
    ("..", &["ro", "rw"], "the configuration"),
    ("own", &["ro", "rw"], "the plugins' state"),
    ("own/state", &["ro", "rw"], "the plugins' state"),
    ("own/cache", &["rw"], "the cache of compiled code"),
    ("plugins", &["rw"], "the component of the plugin `neighbour`"),
    ("notes/to-plugins", &["rw"], "the component of the plugin `neighbour`"),
    ("keys", &["ro", "rw"], "the secret file `key`"),
    ("to-keys", &["ro", "rw"], "the secret file `key`"),
    ("notes/../keys", &["ro", "rw"], "the secret file `key`"),
    ("/proc/self", &["ro", "rw"], "`/proc`"),
];

#[test]
fn a_grant_that_reaches_the_gateways_own_files_is_refused_with_what_it_would_reach() {
    let workspace = home("");
    for (host, modes, what) in REACHING {
        for mode in ["ro", "rw"] {
            workspace.write("gateway.toml", configured(&grant(host, mode)));
            let output = workspace.command(&["check"]).env_remove("MOONGATE_CACHE_DIR").output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            if modes.contains(&mode) {
                assert_eq!(output.status.code(), Some(78), "{host} {mode}: {said}");
                assert!(said.contains(what) && said.contains("could"), "{host} {mode}: {said}");
            } else {
                assert!(output.status.success(), "{host} {mode}: {said}");
            }
        }
    }
}

#[test]
fn a_hard_link_to_what_no_plugin_may_reach_is_refused() {
    for (file, name) in [("keys/key", "the secret file `key`"), ("gateway.toml", "the configuration")] {
        let workspace = home(&grant("notes", "ro"));
        fs::hard_link(workspace.path().join(file), workspace.path().join("notes/innocent")).unwrap();
        let output = workspace.run(&["check"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(78), "{said}");
        assert!(said.contains(name) && said.contains("hard link") && said.contains("notes/innocent`"), "{said}");
    }
}

/// Whoever reads the database by another name reads what all plugins keep, and whoever writes to compiled code, which
/// stays mapped, writes what the gateway runs.
#[test]
fn a_hard_link_to_a_file_of_the_state_or_of_the_cache_is_refused() {
    for (file, modes, name) in [
        ("own/state/state.sqlite3", &["ro", "rw"][..], "`state.sqlite3` of the plugins' state"),
        ("own/state/state.sqlite3-wal", &["ro", "rw"], "`state.sqlite3-wal` of the plugins' state"),
        ("own/state/state.sqlite3-shm", &["ro", "rw"], "`state.sqlite3-shm` of the plugins' state"),
        ("own/cache/a.cwasm", &["rw"], "`a.cwasm` of the cache of compiled code"),
    ] {
        let workspace = home("");
        workspace.write(file, "");
        workspace.write("notes/deep/b.txt", "harmless");
        fs::hard_link(workspace.path().join(file), workspace.path().join("notes/deep/innocent")).unwrap();
        for mode in ["ro", "rw"] {
            workspace.write("gateway.toml", configured(&grant("notes", mode)));
            let output = workspace.command(&["check"]).env_remove("MOONGATE_CACHE_DIR").output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            if modes.contains(&mode) {
                assert_eq!(output.status.code(), Some(78), "{file} {mode}: {said}");
                assert!(said.contains(name), "{file} {mode}: {said}");
                assert!(said.contains("notes/deep/innocent`"), "{file} {mode}: {said}");
            } else {
                assert!(output.status.success(), "{file} {mode}: {said}");
            }
        }
    }
}

#[test]
fn what_may_be_looked_at_cannot_be_changed_by_a_guest_that_tries() {
    let workspace = home(&grant("plugins", "ro"));
    let before = fs::read(workspace.path().join("plugins/neighbour.wasm")).unwrap();
    let http = Http::start(&workspace);
    let steps: Vec<_> = CHANGING
        .iter()
        .flat_map(|what| {
            ["neighbour.wasm", "neighbour.wasm.new", ".", "../plugins/neighbour.wasm"]
                .map(|path| step(what, "/x", path))
        })
        .collect();
    let told = http.call("zoo_file_steps", json!({ "steps": steps }));
    for (step, told) in steps.iter().zip(text(&told).lines()) {
        assert!(told.starts_with("refused"), "{step} got: {told}");
    }
    assert_eq!(fs::read(workspace.path().join("plugins/neighbour.wasm")).unwrap(), before);
    assert_eq!(fs::read_dir(workspace.path().join("plugins")).unwrap().count(), 1);
    signal(http.pid(), "HUP");
    until("the signal was heeded", || http.log().contains("signal=\"SIGHUP\""));
    let told = http.call("neighbour_get_current_time", json!({ "timezone": "UTC" }));
    assert!(text(&told).contains("UTC"), "{told}");
}

#[test]
fn no_reload_lets_a_guest_reach_what_it_must_not() {
    let workspace = home(&grant("notes", "rw"));
    let http = Http::start(&workspace);
    let mut heeded = 0;
    let mut reload = |config: String| {
        workspace.write("gateway.toml", config);
        signal(http.pid(), "HUP");
        heeded += 1;
        until("the signal was heeded", || http.log().matches("signal=\"SIGHUP\"").count() >= heeded);
    };
    // The harness has a cache of its own, which the configuration's isn't.
    for (host, modes, _) in REACHING.into_iter().filter(|(host, ..)| *host != "own/cache") {
        for mode in modes {
            reload(configured(&grant(host, mode)));
            let steps = ["a.txt", "key", "gateway.toml", "neighbour.wasm", "environ"]
                .map(|path| step("read", "/x", path));
            let told = http.call("zoo_file_steps", json!({ "steps": steps }));
            let lines: Vec<_> = text(&told).lines().collect();
            assert!(
                lines[0] == "harmless" && lines[1..].iter().all(|told| told.starts_with("refused")),
                "{host}: {told}"
            );
        }
    }
    // What the gateway lives by moves into what is granted.
    let good = configured(&grant("notes", "rw"));
    workspace.write("notes/neighbour.wasm", fs::read(component("time")).unwrap());
    workspace.write("notes/key", "another-key-of-some-length");
    for (from, to, what) in [
        ("plugins/neighbour.wasm", "notes/neighbour.wasm", "change the component of the plugin `neighbour`"),
        ("keys/key", "notes/key", "reach the secret file `key`"),
        ("own/state", "notes/state", "reach the plugins' state"),
    ] {
        let seen = http.log().matches("the one in use stays in force").count();
        reload(good.replace(from, to));
        assert!(http.log().matches("the one in use stays in force").count() > seen, "{from}: {}", http.log());
        assert!(http.log().contains(what), "{what}: {}", http.log());
    }
    reload(good);
    let (status, log) = http.terminate();
    assert!(status.success() && log.contains("configuration applied"), "{log}");
}
