//! State on disk: shared by all gateways that use the same directory, kept across restarts, and never lost or
//! overwritten without an error.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::thread;

use moongate_tests::{Http, Stdio, Workspace, component, scaled_rounds, send_signal, text, wait_until};
use serde_json::{Value, json};

const ON_DISK: &str = r#"
gateway.state = "state"
[plugins.stateful]
source = "@stateful@"
allow.state = true
"#;

fn file(workspace: &Workspace) -> PathBuf {
    workspace.path().join("state/state.sqlite3")
}

fn greeted(workspace: &Workspace) -> Stdio {
    Stdio::initialized(workspace, "2025-11-25")
}

#[track_caller]
fn call(stdio: &mut Stdio, tool: &str, arguments: Value) -> String {
    text(&stdio.call(tool, arguments)).to_owned()
}

#[test]
fn state_survives_a_restart_and_is_shared_by_gateways() {
    let workspace = Workspace::new(ON_DISK);
    let mut first = greeted(&workspace);
    assert_eq!(call(&mut first, "stateful_set", json!({ "key": "a", "value": "one" })), "set");
    // A second gateway, over HTTP, sees the value immediately.
    let http = Http::start(&workspace);
    assert_eq!(text(&http.call("stateful_get", json!({ "key": "a" }))), "one");
    assert_eq!(text(&http.call("stateful_set", json!({ "key": "b", "value": "two" }))), "set");
    assert_eq!(call(&mut first, "stateful_get", json!({ "key": "b" })), "two");
    let _ = first.finish();
    drop(http);
    let mut second = greeted(&workspace);
    assert_eq!(call(&mut second, "stateful_keys", json!({})), "a asked b");
    let (_, status, log) = second.finish();
    assert!(status.success() && !log.contains("ERROR"), "{log}");
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(workspace.path().join("state")), mode(file(&workspace))), (0o700, 0o600));

    let run = workspace.run(&["call", "stateful_get", "key=a"]);
    assert_eq!(String::from_utf8_lossy(&run.stdout).trim(), "one");
}

#[test]
fn state_directory_variable_overrides_the_key() {
    let workspace = Workspace::new(ON_DISK);
    let elsewhere = workspace.path().join("elsewhere");
    let run = |variable: Option<&PathBuf>, arguments: &[&str]| {
        let mut command = workspace.command(arguments);
        command.envs(variable.map(|path| ("MOONGATE_STATE_DIR", path)));
        String::from_utf8(command.output().unwrap().stdout).unwrap().trim().to_owned()
    };
    assert_eq!(run(Some(&elsewhere), &["call", "stateful_set", "key=a", "value=b"]), "set");
    assert!(elsewhere.join("state.sqlite3").exists() && !file(&workspace).exists());
    assert_eq!(run(Some(&elsewhere), &["call", "stateful_get", "key=a"]), "b");
    assert_eq!(run(None, &["call", "stateful_get", "key=a"]), "nothing");

    let workspace = Workspace::new(&ON_DISK.replace("gateway.state", "#"));
    for _ in 0..2 {
        let output = workspace.run(&["call", "stateful_add", "key=n"]);
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "1");
    }
}

#[test]
fn concurrent_gateways_lose_no_updates() {
    let gateways = 3;
    let calls = scaled_rounds(40);
    let workspace = Workspace::new(ON_DISK);
    let http = Http::start(&workspace);
    thread::scope(|scope| {
        for _ in 0..gateways {
            scope.spawn(|| {
                let mut stdio = greeted(&workspace);
                for _ in 0..calls {
                    // Two concurrent calls in each gateway.
                    for (id, tool, key) in [(1000, "add", "added"), (1001, "swap", "swapped")] {
                        stdio.send(&moongate_tests::request(
                            id,
                            "tools/call",
                            json!({ "name": format!("stateful_{tool}"), "arguments": { "key": key } }),
                        ));
                    }
                    for id in [1000, 1001] {
                        let answer = stdio.response(id);
                        assert!(text(&answer).parse::<u32>().is_ok(), "{answer}");
                    }
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..calls {
                let answer = http.call("stateful_swap", json!({ "key": "added" }));
                assert!(text(&answer).parse::<u32>().is_ok(), "{answer}");
            }
        });
    });
    for (key, sum) in [("added", (gateways + 1) * calls), ("swapped", gateways * calls)] {
        assert_eq!(text(&http.call("stateful_get", json!({ "key": key }))), sum.to_string(), "{key}");
    }
}

#[test]
fn a_killed_gateway_loses_no_acknowledged_write() {
    let workspace = Workspace::new(ON_DISK);
    let mut witness = greeted(&workspace);
    let mut answered = 0;
    for round in 0..scaled_rounds(5) {
        let mut victim = greeted(&workspace);
        // The gateway is killed while many calls are in flight.
        let calls = 60;
        for id in 0..calls {
            let arguments = json!({ "key": format!("{round}:{id}"), "value": "x", "count": 2000 });
            victim.send(&moongate_tests::request(
                1000 + id,
                "tools/call",
                json!({ "name": "stateful_set", "arguments": arguments }),
            ));
        }
        let mut kept = Vec::new();
        for id in 0..u64::from(10 + round) {
            assert_eq!(text(&victim.response(1000 + id)), "set");
            kept.push(format!("{round}:{id}"));
        }
        send_signal(victim.pid(), "KILL");
        let (left, _, _) = victim.wait_for_exit();
        kept.extend(
            left.iter().filter(|message| message["result"]["isError"] != true).filter_map(|message| {
                Some(format!("{round}:{}", message["id"].as_u64()?.checked_sub(1000)?))
            }),
        );
        for key in &kept {
            let value = call(&mut witness, "stateful_get", json!({ "key": key }));
            assert_eq!(value.len(), 2000, "{key} was answered");
        }
        answered += kept.len();
    }
    assert!(answered >= 50, "{answered}");
    // The other gateway works as before.
    assert_eq!(call(&mut witness, "stateful_add", json!({ "key": "n" })), "1");
    let (_, _, log) = witness.finish();
    assert!(!log.contains("ERROR"), "{log}");
}

#[test]
fn only_a_named_store_survives_renaming_the_plugin() {
    let named = ON_DISK.replace("allow.state = true", "allow.state = \"notes\"");
    for (text, found) in [(named.as_str(), "kept"), (ON_DISK, "nothing")] {
        let workspace = Workspace::new(text);
        let mut stdio = greeted(&workspace);
        assert_eq!(call(&mut stdio, "stateful_set", json!({ "key": "a", "value": "kept" })), "set");
        let _ = stdio.finish();
        let original = fs::read_to_string(workspace.config()).unwrap();
        workspace.write("gateway.toml", original.replace("[plugins.stateful]", "[plugins.renamed]"));
        let mut stdio = greeted(&workspace);
        assert_eq!(call(&mut stdio, "renamed_get", json!({ "key": "a" })), found);
        let _ = stdio.finish();
        // Under its old name the plugin finds its state again.
        workspace.write("gateway.toml", original);
        assert_eq!(call(&mut greeted(&workspace), "stateful_get", json!({ "key": "a" })), "kept");
    }
}

#[test]
fn the_state_limit_applies_across_gateways() {
    let workspace = Workspace::new(&format!("{ON_DISK}limits.state = \"10KiB\"\n"));
    let mut one = greeted(&workspace);
    let mut two = greeted(&workspace);
    let large = json!({ "key": "a", "value": "x", "count": 9_000 });
    assert_eq!(call(&mut one, "stateful_set", large.clone()), "set");
    let second = json!({ "key": "b", "value": "x", "count": 2_000 });
    let refused = call(&mut two, "stateful_set", second.clone());
    assert!(refused.contains("limits.state") && refused.contains("10.0 KiB"), "{refused}");
    assert_eq!(call(&mut two, "stateful_exists", json!({ "key": "b" })), "false");
    assert!(
        call(&mut two, "stateful_note", json!({ "key": "n", "value": "x", "count": 2_000 })).contains("Full")
    );
    assert_eq!(call(&mut two, "stateful_delete", json!({ "key": "a" })), "deleted");
    assert_eq!(call(&mut one, "stateful_set", second), "set");
    assert!(call(&mut two, "stateful_set", large).contains("limits.state"));
    let (_, _, log) = two.finish();
    assert_eq!(log.matches("raise `state` in `[plugins.stateful.limits]`").count(), 1, "{log}");
}

#[test]
fn unusable_state_affects_only_plugins_that_use_state() {
    let time = "[plugins.time]\nsource = \"@time@\"\n";
    let workspace = Workspace::new(&format!("{ON_DISK}{time}"));
    workspace.write(
        "state/state.sqlite3",
        "another program's data, which isn't a database and must stay unchanged",
    );
    fs::set_permissions(file(&workspace), fs::Permissions::from_mode(0o600)).unwrap();
    let before = fs::read(file(&workspace)).unwrap();
    let mut stdio = greeted(&workspace);
    let answer = stdio.call("stateful_set", json!({ "key": "a", "value": "b" }));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(text(&answer).contains("the gateway's log shows the reason"), "{answer}");
    assert!(!answer.to_string().contains("sqlite"), "paths are for the log: {answer}");
    assert!(call(&mut stdio, "stateful_add", json!({ "key": "a" })).contains("state is unavailable"));
    assert!(call(&mut stdio, "time_get_current_time", json!({ "timezone": "UTC" })).contains("UTC"));
    let (_, _, log) = stdio.finish();
    assert_eq!(log.matches("plugin state can't be used").count(), 1, "{log}");
    assert!(log.contains("state.sqlite3` is damaged") && log.contains("move it away"), "{log}");
    assert!(fs::read(file(&workspace)).unwrap() == before);

    let check = workspace.run(&["check", "--format", "json"]);
    let report: Value = serde_json::from_slice(&check.stdout).unwrap();
    assert_eq!((check.status.code(), &report["ok"]), (Some(78), &json!(false)), "{report}");
    let problem = &report["problems"][0];
    assert!(problem["message"].as_str().unwrap().contains("is damaged"), "{report}");
    assert!(problem["hint"].as_str().unwrap().contains("`state` in `[gateway]`"), "{report}");

    // Without a grant of state, the directory isn't checked.
    let workspace = Workspace::new(&format!("gateway.state = \"state\"\n{time}"));
    assert!(workspace.run(&["check"]).status.success());
    assert!(!workspace.path().join("state").exists());
}

#[test]
fn reports_an_unusable_state_directory_without_falling_back() {
    // Not even root can create anything below a file, and the check finds the symlink only when following it.
    let workspace = Workspace::new(&ON_DISK.replace("\"state\"", "\"later/state\""));
    symlink("gateway.toml", workspace.path().join("later")).unwrap();
    let mut stdio = greeted(&workspace);
    assert!(
        call(&mut stdio, "stateful_set", json!({ "key": "a", "value": "b" }))
            .contains("log shows the reason")
    );
    assert!(call(&mut stdio, "stateful_get", json!({ "key": "a" })).contains("log shows the reason"));
    let (_, _, log) = stdio.finish();
    assert!(log.contains("can't use `") && log.contains("later/state`"), "{log}");
    assert!(log.contains("a part of the path isn't a directory"), "{log}");

    let workspace = Workspace::new(ON_DISK);
    fs::create_dir(workspace.path().join("state")).unwrap();
    fs::set_permissions(workspace.path().join("state"), fs::Permissions::from_mode(0o777)).unwrap();
    let check = workspace.run(&["check"]);
    let report = String::from_utf8_lossy(&check.stderr).into_owned();
    assert!(report.contains("is writable by others (mode 777; it should be 700)"), "{report}");
    assert!(!file(&workspace).exists());
}

#[test]
fn read_only_commands_create_no_state() {
    let workspace = Workspace::new(ON_DISK);
    for verb in [&["check"][..], &["list"], &["inspect", "stateful"]] {
        let output = workspace.run(verb);
        assert!(output.status.success(), "{verb:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(!workspace.path().join("state").exists(), "{verb:?} created it");
    }
    assert_eq!(call(&mut greeted(&workspace), "stateful_set", json!({ "key": "a", "value": "b" })), "set");
    assert!(file(&workspace).exists(), "a call creates it");
}

#[test]
fn in_memory_state_survives_removing_and_adding_the_plugin() {
    let stateful = component("stateful").display().to_string();
    let written = |more: &str| format!("version = 1\n[http]\nlisten = \"127.0.0.1:0\"\n{more}");
    let plugin = format!("[plugins.stateful]\nsource = {stateful:?}\nallow.state = true\n");
    let workspace = Workspace::new(&written(&plugin));
    let http = Http::start(&workspace);
    assert_eq!(text(&http.call("stateful_set", json!({ "key": "a", "value": "b" }))), "set");
    let configure = |text: &str| {
        let temporary = workspace.path().join("gateway.toml.new");
        fs::write(&temporary, text).unwrap();
        fs::rename(temporary, workspace.config()).unwrap();
    };
    configure(&written(""));
    http.wait_for_log("`stateful` removed");
    configure(&written(&plugin));
    http.wait_for_log("`stateful` added");
    wait_until("the plugin serves", || {
        !http.call("stateful_get", json!({ "key": "a" })).to_string().contains("nknown")
    });
    assert!(http.call("stateful_get", json!({ "key": "a" })).to_string().contains("\"b\""));
}

#[test]
fn a_full_disk_is_an_error_and_keeps_existing_state() {
    let workspace = Workspace::new(ON_DISK);
    assert_eq!(call(&mut greeted(&workspace), "stateful_set", json!({ "key": "a", "value": "kept" })), "set");
    // No file of the gateway may exceed this size: a longer write fails as on a full disk.
    let mut command = std::process::Command::new("sh");
    let limited = workspace.command(&["call", "stateful_set", "key=b", "value=x", "count=900000"]);
    command.args(["-c", "trap '' XFSZ; ulimit -f 300; exec \"$@\"", "sh"]).arg(limited.get_program());
    command.args(limited.get_args()).env_clear().current_dir(workspace.path());
    command.envs(limited.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.output().unwrap();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(5), "the tool reports it: {log}");
    assert!(log.contains("plugin state can't be used"), "{log}");
    let mut stdio = greeted(&workspace);
    assert_eq!(call(&mut stdio, "stateful_get", json!({ "key": "a" })), "kept");
    assert_eq!(call(&mut stdio, "stateful_exists", json!({ "key": "b" })), "false");
}

#[test]
fn rejects_a_grant_of_the_state_directory() {
    let workspace = Workspace::new(&format!(
        "{ON_DISK}[plugins.time]\nsource = \"@time@\"\nallow.dirs = [{{ host = \"state\", guest = \"/state\" }}]\n"
    ));
    fs::create_dir(workspace.path().join("state")).unwrap();
    let check = workspace.run(&["check"]);
    let report = String::from_utf8_lossy(&check.stderr).into_owned();
    assert_eq!(check.status.code(), Some(78), "{report}");
    assert!(report.contains("the plugins' state"), "{report}");
}
