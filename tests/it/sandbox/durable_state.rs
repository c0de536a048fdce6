//! State on disk: shared by all gateways on one folder, there again after each of them has ended, and never lost or
//! overwritten without a word.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::thread;

use moongate_tests::{Http, Stdio, Workspace, component, rounds, signal, text, until};
use serde_json::{Value, json};

const LASTING: &str = r#"
gateway.state = "state"
[plugins.keeper]
source = "@keeper@"
allow.state = true
"#;

fn file(workspace: &Workspace) -> PathBuf {
    workspace.path().join("state/state.sqlite3")
}

fn greeted(workspace: &Workspace) -> Stdio {
    Stdio::greeted(workspace, "2025-11-25")
}

#[track_caller]
fn call(stdio: &mut Stdio, tool: &str, arguments: Value) -> String {
    text(&stdio.call(tool, arguments)).to_owned()
}

#[test]
fn what_is_kept_is_there_after_a_restart_for_whoever_shares_the_folder() {
    let workspace = Workspace::new(LASTING);
    let mut first = greeted(&workspace);
    assert_eq!(call(&mut first, "keeper_set", json!({ "key": "a", "value": "one" })), "set");
    // One that runs beside it sees it at once, however it is spoken to.
    let http = Http::start(&workspace);
    assert_eq!(text(&http.call("keeper_get", json!({ "key": "a" }))), "one");
    assert_eq!(text(&http.call("keeper_set", json!({ "key": "b", "value": "two" }))), "set");
    assert_eq!(call(&mut first, "keeper_get", json!({ "key": "b" })), "two");
    let _ = first.finish();
    drop(http);
    let mut second = greeted(&workspace);
    assert_eq!(call(&mut second, "keeper_keys", json!({})), "a asked b");
    let (_, status, log) = second.finish();
    assert!(status.success() && !log.contains("ERROR"), "{log}");
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(workspace.path().join("state")), mode(file(&workspace))), (0o700, 0o600));

    let run = workspace.run(&["call", "keeper_get", "key=a"]);
    assert_eq!(String::from_utf8_lossy(&run.stdout).trim(), "one");
}

#[test]
fn a_variable_goes_before_the_key_and_without_either_nothing_lasts() {
    let workspace = Workspace::new(LASTING);
    let elsewhere = workspace.path().join("elsewhere");
    let run = |variable: Option<&PathBuf>, arguments: &[&str]| {
        let mut command = workspace.command(arguments);
        command.envs(variable.map(|path| ("MOONGATE_STATE_DIR", path)));
        String::from_utf8(command.output().unwrap().stdout).unwrap().trim().to_owned()
    };
    assert_eq!(run(Some(&elsewhere), &["call", "keeper_set", "key=a", "value=b"]), "set");
    assert!(elsewhere.join("state.sqlite3").exists() && !file(&workspace).exists());
    assert_eq!(run(Some(&elsewhere), &["call", "keeper_get", "key=a"]), "b");
    assert_eq!(run(None, &["call", "keeper_get", "key=a"]), "nothing");

    let workspace = Workspace::new(&LASTING.replace("gateway.state", "#"));
    for _ in 0..2 {
        let output = workspace.run(&["call", "keeper_add", "key=n"]);
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "1");
    }
}

#[test]
fn gateways_that_count_at_the_same_time_lose_nothing() {
    let gateways = 3;
    let calls = rounds(40);
    let workspace = Workspace::new(LASTING);
    let http = Http::start(&workspace);
    thread::scope(|scope| {
        for _ in 0..gateways {
            scope.spawn(|| {
                let mut stdio = greeted(&workspace);
                for _ in 0..calls {
                    // Two at once in each of them.
                    for (id, tool, key) in [(1000, "add", "added"), (1001, "swap", "swapped")] {
                        stdio.send(&moongate_tests::request(
                            id,
                            "tools/call",
                            json!({ "name": format!("keeper_{tool}"), "arguments": { "key": key } }),
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
                let answer = http.call("keeper_swap", json!({ "key": "added" }));
                assert!(text(&answer).parse::<u32>().is_ok(), "{answer}");
            }
        });
    });
    for (key, sum) in [("added", (gateways + 1) * calls), ("swapped", gateways * calls)] {
        assert_eq!(text(&http.call("keeper_get", json!({ "key": key }))), sum.to_string(), "{key}");
    }
}

#[test]
fn a_gateway_that_is_killed_loses_nothing_that_it_has_answered() {
    let workspace = Workspace::new(LASTING);
    let mut witness = greeted(&workspace);
    let mut answered = 0;
    for round in 0..rounds(5) {
        let mut victim = greeted(&workspace);
        // It is killed with many calls in flight, somewhere among them.
        let calls = 60;
        for id in 0..calls {
            let arguments = json!({ "key": format!("{round}:{id}"), "value": "x", "count": 2000 });
            victim.send(&moongate_tests::request(
                1000 + id,
                "tools/call",
                json!({ "name": "keeper_set", "arguments": arguments }),
            ));
        }
        let mut kept = Vec::new();
        for id in 0..u64::from(10 + round) {
            assert_eq!(text(&victim.response(1000 + id)), "set");
            kept.push(format!("{round}:{id}"));
        }
        signal(victim.pid(), "KILL");
        let (left, _, _) = victim.ended();
        kept.extend(
            left.iter().filter(|message| message["result"]["isError"] != true).filter_map(|message| {
                Some(format!("{round}:{}", message["id"].as_u64()?.checked_sub(1000)?))
            }),
        );
        for key in &kept {
            let value = call(&mut witness, "keeper_get", json!({ "key": key }));
            assert_eq!(value.len(), 2000, "{key} was answered");
        }
        answered += kept.len();
    }
    assert!(answered >= 50, "{answered}");
    // It goes on as if nothing had been.
    assert_eq!(call(&mut witness, "keeper_add", json!({ "key": "n" })), "1");
    let (_, _, log) = witness.finish();
    assert!(!log.contains("ERROR"), "{log}");
}

#[test]
fn a_named_store_survives_a_new_name_of_the_table_and_an_unnamed_one_stays_behind() {
    let named = LASTING.replace("allow.state = true", "allow.state = \"notes\"");
    for (text, found) in [(named.as_str(), "kept"), (LASTING, "nothing")] {
        let workspace = Workspace::new(text);
        let mut stdio = greeted(&workspace);
        assert_eq!(call(&mut stdio, "keeper_set", json!({ "key": "a", "value": "kept" })), "set");
        let _ = stdio.finish();
        let table = fs::read_to_string(workspace.config()).unwrap();
        workspace.write("gateway.toml", table.replace("[plugins.keeper]", "[plugins.renamed]"));
        let mut stdio = greeted(&workspace);
        assert_eq!(call(&mut stdio, "renamed_get", json!({ "key": "a" })), found);
        let _ = stdio.finish();
        // What stayed behind is there again under the old name.
        workspace.write("gateway.toml", table);
        assert_eq!(call(&mut greeted(&workspace), "keeper_get", json!({ "key": "a" })), "kept");
    }
}

#[test]
fn the_limit_holds_for_all_gateways_together() {
    let workspace = Workspace::new(&format!("{LASTING}limits.state = \"10KiB\"\n"));
    let (mut one, mut two) = (greeted(&workspace), greeted(&workspace));
    let large = json!({ "key": "a", "value": "x", "count": 9_000 });
    assert_eq!(call(&mut one, "keeper_set", large.clone()), "set");
    let second = json!({ "key": "b", "value": "x", "count": 2_000 });
    let refused = call(&mut two, "keeper_set", second.clone());
    assert!(refused.contains("limits.state") && refused.contains("10.0 KiB"), "{refused}");
    assert_eq!(call(&mut two, "keeper_exists", json!({ "key": "b" })), "false");
    assert!(
        call(&mut two, "keeper_note", json!({ "key": "n", "value": "x", "count": 2_000 })).contains("Full")
    );
    assert_eq!(call(&mut two, "keeper_delete", json!({ "key": "a" })), "deleted");
    assert_eq!(call(&mut one, "keeper_set", second), "set");
    assert!(call(&mut two, "keeper_set", large).contains("limits.state"));
    let (_, _, log) = two.finish();
    assert_eq!(log.matches("raise `state` in `[plugins.keeper.limits]`").count(), 1, "{log}");
}

#[test]
fn state_that_cannot_be_used_is_an_error_for_those_who_keep_some_and_for_nobody_else() {
    let table = "[plugins.time]\nsource = \"@time@\"\n";
    let workspace = Workspace::new(&format!("{LASTING}{table}"));
    workspace
        .write("state/state.sqlite3", "somebody's notes, which are no database at all and stay as they are");
    fs::set_permissions(file(&workspace), fs::Permissions::from_mode(0o600)).unwrap();
    let before = fs::read(file(&workspace)).unwrap();
    let mut stdio = greeted(&workspace);
    let answer = stdio.call("keeper_set", json!({ "key": "a", "value": "b" }));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(text(&answer).contains("the gateway's log shows the reason"), "{answer}");
    assert!(!answer.to_string().contains("sqlite"), "paths are for the log: {answer}");
    assert!(call(&mut stdio, "keeper_add", json!({ "key": "a" })).contains("state is unavailable"));
    assert!(call(&mut stdio, "time_get_current_time", json!({ "timezone": "UTC" })).contains("UTC"));
    let (_, _, log) = stdio.finish();
    assert_eq!(log.matches("plugins' state can't be used").count(), 1, "{log}");
    assert!(log.contains("state.sqlite3` is damaged") && log.contains("move it away"), "{log}");
    assert!(fs::read(file(&workspace)).unwrap() == before);

    let check = workspace.run(&["check", "--format", "json"]);
    let said: Value = serde_json::from_slice(&check.stdout).unwrap();
    assert_eq!((check.status.code(), &said["ok"]), (Some(78), &json!(false)), "{said}");
    let problem = &said["problems"][0];
    assert!(problem["message"].as_str().unwrap().contains("is damaged"), "{said}");
    assert!(problem["hint"].as_str().unwrap().contains("`state` in `[gateway]`"), "{said}");

    // Nobody keeps anything, so nothing is looked at.
    let workspace = Workspace::new(&format!("gateway.state = \"state\"\n{table}"));
    assert!(workspace.run(&["check"]).status.success());
    assert!(!workspace.path().join("state").exists());
}

#[test]
fn a_folder_where_nothing_can_be_made_is_said_to_be_so_and_memory_takes_no_ones_place() {
    let workspace = Workspace::new(&LASTING.replace("\"state\"", "\"/proc/moongate/state\""));
    let check = workspace.run(&["check"]);
    assert_eq!(check.status.code(), Some(78), "{check:?}");
    assert!(String::from_utf8_lossy(&check.stderr).contains("`/proc` can't store files"), "{check:?}");

    // Not even root can make anything below a file, and the link shows only when it is followed.
    let workspace = Workspace::new(&LASTING.replace("\"state\"", "\"later/state\""));
    symlink("gateway.toml", workspace.path().join("later")).unwrap();
    let mut stdio = greeted(&workspace);
    assert!(
        call(&mut stdio, "keeper_set", json!({ "key": "a", "value": "b" })).contains("log shows the reason")
    );
    assert!(call(&mut stdio, "keeper_get", json!({ "key": "a" })).contains("log shows the reason"));
    let (_, _, log) = stdio.finish();
    assert!(log.contains("later/state` can't be used"), "{log}");
    assert!(log.contains("a part of the path isn't a directory"), "{log}");

    let workspace = Workspace::new(LASTING);
    fs::create_dir(workspace.path().join("state")).unwrap();
    fs::set_permissions(workspace.path().join("state"), fs::Permissions::from_mode(0o777)).unwrap();
    let check = workspace.run(&["check"]);
    let said = String::from_utf8_lossy(&check.stderr).into_owned();
    assert!(said.contains("is writable by others (mode 777; it should be 700)"), "{said}");
    assert!(!file(&workspace).exists());
}

#[test]
fn looking_makes_no_state() {
    let workspace = Workspace::new(LASTING);
    for verb in [&["check"][..], &["list"], &["inspect", "keeper"]] {
        let output = workspace.run(verb);
        assert!(output.status.success(), "{verb:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(!workspace.path().join("state").exists(), "{verb:?} made it");
    }
    assert_eq!(call(&mut greeted(&workspace), "keeper_set", json!({ "key": "a", "value": "b" })), "set");
    assert!(file(&workspace).exists(), "whoever calls makes it");
}

#[test]
fn in_memory_a_plugin_that_left_and_came_back_finds_what_it_kept() {
    let keeper = component("keeper").display().to_string();
    let written = |more: &str| format!("version = 1\n[http]\nlisten = \"127.0.0.1:0\"\n{more}");
    let table = format!("[plugins.keeper]\nsource = {keeper:?}\nallow.state = true\n");
    let workspace = Workspace::new(&written(&table));
    let http = Http::start(&workspace);
    assert_eq!(text(&http.call("keeper_set", json!({ "key": "a", "value": "b" }))), "set");
    let configure = |text: &str| {
        let beside = workspace.path().join("gateway.toml.new");
        fs::write(&beside, text).unwrap();
        fs::rename(beside, workspace.config()).unwrap();
    };
    configure(&written(""));
    http.logged("`keeper` removed");
    configure(&written(&table));
    http.logged("`keeper` added");
    until("it serves", || !http.call("keeper_get", json!({ "key": "a" })).to_string().contains("nknown"));
    assert!(http.call("keeper_get", json!({ "key": "a" })).to_string().contains("\"b\""));
}

#[test]
fn a_disk_without_room_is_an_error_and_what_is_there_stays() {
    let workspace = Workspace::new(LASTING);
    assert_eq!(call(&mut greeted(&workspace), "keeper_set", json!({ "key": "a", "value": "kept" })), "set");
    // No file of the gateway may be longer than this; what is longer fails as on a full disk.
    let mut command = std::process::Command::new("sh");
    let limited = workspace.command(&["call", "keeper_set", "key=b", "value=x", "count=900000"]);
    command.args(["-c", "trap '' XFSZ; ulimit -f 300; exec \"$@\"", "sh"]).arg(limited.get_program());
    command.args(limited.get_args()).env_clear().current_dir(workspace.path());
    command.envs(limited.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.output().unwrap();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(5), "the tool reports it: {log}");
    assert!(log.contains("plugins' state can't be used"), "{log}");
    let mut stdio = greeted(&workspace);
    assert_eq!(call(&mut stdio, "keeper_get", json!({ "key": "a" })), "kept");
    assert_eq!(call(&mut stdio, "keeper_exists", json!({ "key": "b" })), "false");
}

#[test]
fn a_plugin_may_not_be_granted_the_folder_of_the_state() {
    let workspace = Workspace::new(&format!(
        "{LASTING}[plugins.time]\nsource = \"@time@\"\nallow.dirs = [{{ host = \"state\", guest = \"/state\" }}]\n"
    ));
    fs::create_dir(workspace.path().join("state")).unwrap();
    let check = workspace.run(&["check"]);
    let said = String::from_utf8_lossy(&check.stderr).into_owned();
    assert_eq!(check.status.code(), Some(78), "{said}");
    assert!(said.contains("the plugins' state"), "{said}");
}
