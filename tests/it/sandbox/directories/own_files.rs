//! Grants never reach the gateway's own files: configuration, cache, state, secrets and the plugins' components. A
//! hostile guest tries each one, at startup and after a reload.

use std::fs;
use std::os::unix::fs::symlink;

use moongate_tests::{Http, Workspace, component, send_signal, text, wait_until};
use serde_json::json;

use super::{WRITE_OPERATIONS, step};

/// A workspace that contains all of the gateway's own files, with these directories granted to `zoo`.
fn workspace(dirs: &str) -> Workspace {
    let workspace = Workspace::new(&config_with(dirs));
    for directory in ["own/cache", "own/state", "notes"] {
        fs::create_dir_all(workspace.path().join(directory)).unwrap();
    }
    workspace.write("plugins/neighbour.wasm", fs::read(component("time")).unwrap());
    workspace.write("keys/key", "a-key-of-some-length");
    workspace.write("notes/a.txt", "harmless");
    symlink("keys", workspace.path().join("to-keys")).unwrap();
    symlink("../plugins", workspace.path().join("notes/to-plugins")).unwrap();
    workspace
}

fn config_with(dirs: &str) -> String {
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

/// A directory, the modes in which it can't be granted, and the file that would be exposed.
const FORBIDDEN_GRANTS: [(&str, &[&str], &str); 11] = [
    (".", &["ro", "rw"], "the configuration"),
    ("..", &["ro", "rw"], "the configuration"),
    ("own", &["ro", "rw"], "the plugins' state"),
    ("own/state", &["ro", "rw"], "the plugins' state"),
    ("own/cache", &["ro", "rw"], "the cache of compiled code"),
    ("plugins", &["rw"], "the component of the plugin `neighbour`"),
    ("notes/to-plugins", &["rw"], "the component of the plugin `neighbour`"),
    ("keys", &["ro", "rw"], "the secret file `key`"),
    ("to-keys", &["ro", "rw"], "the secret file `key`"),
    ("notes/../keys", &["ro", "rw"], "the secret file `key`"),
    ("/proc/self", &["ro", "rw"], "`/proc`"),
];

#[test]
fn rejects_grants_that_expose_the_gateways_own_files() {
    let workspace = workspace("");
    for (host, modes, what) in FORBIDDEN_GRANTS {
        for mode in ["ro", "rw"] {
            workspace.write("gateway.toml", config_with(&grant(host, mode)));
            let output = workspace.command(&["check"]).env_remove("MOONGATE_CACHE_DIR").output().unwrap();
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            if modes.contains(&mode) {
                assert_eq!(output.status.code(), Some(78), "{host} {mode}: {message}");
                assert!(message.contains(what) && message.contains("could"), "{host} {mode}: {message}");
            } else {
                assert!(output.status.success(), "{host} {mode}: {message}");
            }
        }
    }
}

#[test]
fn rejects_a_grant_with_a_hard_link_to_an_own_file() {
    for (file, name) in [("keys/key", "the secret file `key`"), ("gateway.toml", "the configuration")] {
        let workspace = workspace(&grant("notes", "ro"));
        fs::hard_link(workspace.path().join(file), workspace.path().join("notes/innocent")).unwrap();
        let output = workspace.run(&["check"]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(78), "{message}");
        assert!(
            message.contains(name) && message.contains("hard link") && message.contains("notes/innocent`"),
            "{message}"
        );
    }
}

/// Reading the database through another name exposes the state of all plugins, and writing to compiled code, which stays
/// mapped, changes the code that the gateway runs.
#[test]
fn rejects_a_grant_with_a_hard_link_to_state_or_cache() {
    for (file, modes, name) in [
        ("own/state/state.sqlite3", &["ro", "rw"][..], "`state.sqlite3` of the plugins' state"),
        ("own/state/state.sqlite3-wal", &["ro", "rw"], "`state.sqlite3-wal` of the plugins' state"),
        ("own/state/state.sqlite3-shm", &["ro", "rw"], "`state.sqlite3-shm` of the plugins' state"),
        ("own/cache/a.cwasm", &["ro", "rw"], "`a.cwasm` of the cache of compiled code"),
    ] {
        let workspace = workspace("");
        workspace.write(file, "");
        workspace.write("notes/deep/b.txt", "harmless");
        fs::hard_link(workspace.path().join(file), workspace.path().join("notes/deep/innocent")).unwrap();
        for mode in ["ro", "rw"] {
            workspace.write("gateway.toml", config_with(&grant("notes", mode)));
            let output = workspace.command(&["check"]).env_remove("MOONGATE_CACHE_DIR").output().unwrap();
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            if modes.contains(&mode) {
                assert_eq!(output.status.code(), Some(78), "{file} {mode}: {message}");
                assert!(message.contains(name), "{file} {mode}: {message}");
                assert!(message.contains("notes/deep/innocent`"), "{file} {mode}: {message}");
            } else {
                assert!(output.status.success(), "{file} {mode}: {message}");
            }
        }
    }
}

#[test]
fn a_guest_cannot_change_a_readable_component() {
    let workspace = workspace(&grant("plugins", "ro"));
    let before = fs::read(workspace.path().join("plugins/neighbour.wasm")).unwrap();
    let http = Http::start(&workspace);
    let steps: Vec<_> = WRITE_OPERATIONS
        .iter()
        .flat_map(|what| {
            ["neighbour.wasm", "neighbour.wasm.new", ".", "../plugins/neighbour.wasm"]
                .map(|path| step(what, "/x", path))
        })
        .collect();
    let result = http.call("zoo_file_steps", json!({ "steps": steps }));
    for (step, result) in steps.iter().zip(text(&result).lines()) {
        assert!(result.starts_with("refused"), "{step} got: {result}");
    }
    assert_eq!(fs::read(workspace.path().join("plugins/neighbour.wasm")).unwrap(), before);
    assert_eq!(fs::read_dir(workspace.path().join("plugins")).unwrap().count(), 1);
    send_signal(http.pid(), "HUP");
    wait_until("the gateway handled the signal", || http.log().contains("signal=\"SIGHUP\""));
    let result = http.call("neighbour_get_current_time", json!({ "timezone": "UTC" }));
    assert!(text(&result).contains("UTC"), "{result}");
}

#[test]
fn a_reload_never_exposes_the_gateways_own_files() {
    let workspace = workspace(&grant("notes", "rw"));
    let http = Http::start(&workspace);
    let mut reloads = 0;
    let mut reload = |config: String| {
        workspace.write("gateway.toml", config);
        send_signal(http.pid(), "HUP");
        reloads += 1;
        wait_until("the gateway handled the signal", || {
            http.log().matches("signal=\"SIGHUP\"").count() >= reloads
        });
    };
    // The harness sets the cache directory, so `own/cache` isn't in use here.
    for (host, modes, _) in FORBIDDEN_GRANTS.into_iter().filter(|(host, ..)| *host != "own/cache") {
        for mode in modes {
            reload(config_with(&grant(host, mode)));
            let steps = ["a.txt", "key", "gateway.toml", "neighbour.wasm", "environ"]
                .map(|path| step("read", "/x", path));
            let result = http.call("zoo_file_steps", json!({ "steps": steps }));
            let lines: Vec<_> = text(&result).lines().collect();
            assert!(
                lines[0] == "harmless" && lines[1..].iter().all(|result| result.starts_with("refused")),
                "{host}: {result}"
            );
        }
    }
    // The gateway's own files move into the granted directory.
    let good = config_with(&grant("notes", "rw"));
    workspace.write("notes/neighbour.wasm", fs::read(component("time")).unwrap());
    workspace.write("notes/key", "another-key-of-some-length");
    for (from, to, what) in [
        ("plugins/neighbour.wasm", "notes/neighbour.wasm", "change the component of the plugin `neighbour`"),
        ("keys/key", "notes/key", "reach the secret file `key`"),
        ("own/state", "notes/state", "reach the plugins' state"),
    ] {
        let seen = http.log().matches("the current one stays in effect").count();
        reload(good.replace(from, to));
        wait_until(&format!("the rejection of `{from}` is logged"), || {
            http.log().matches("the current one stays in effect").count() > seen
        });
        http.wait_for_log(what);
    }
    reload(good);
    let (status, log) = http.terminate();
    assert!(status.success() && log.contains("configuration applied"), "{log}");
}

/// The error names the key that grants it, and with it the plugin can write. The certificates stand for any system
/// directory, because a test may not write to the others.
#[test]
fn a_system_directory_is_writable_only_with_its_key() {
    let workspace = workspace(&grant("notes", "ro"));
    fs::create_dir(workspace.path().join("certificates")).unwrap();
    let check = |grant: &str| {
        workspace.write("gateway.toml", config_with(grant));
        let mut command = workspace.command(&["check"]);
        command.env("SSL_CERT_DIR", workspace.path().join("certificates"));
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for (host, what) in [("/etc", "`/etc`, a system directory"), ("certificates", "TLS certificates")] {
        let (code, errors) = check(&grant(host, "rw"));
        assert_eq!(code, Some(78), "{errors}");
        assert!(errors.contains(what) && errors.contains("add `system = true` to the grant"), "{errors}");
        let (code, errors) = check(&grant(host, "ro"));
        assert_eq!(code, Some(0), "{errors}");
    }
    let intended = grant("certificates", "rw").replace(" }", ", system = true }");
    let (code, errors) = check(&intended);
    assert_eq!(code, Some(0), "{errors}");
    let http = Http::start(&workspace);
    let steps = json!([{ "what": "create", "dir": "/x", "path": "new.pem", "to": "text" }]);
    let outcome = http.call("zoo_file_steps", json!({ "steps": steps }));
    assert!(text(&outcome).contains("wrote"), "{outcome}");
}
