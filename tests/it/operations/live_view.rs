//! Calls as they happen: lines of `serve` on a terminal, `logs`, and `top`.

use std::process::{Command, Stdio};

use moongate_tests::{Http, ProcessOutput, Terminal, Workspace, gateway_binary};
use serde_json::{Value, json};

const CONFIG: &str = "[http]\nlisten = \"127.0.0.1:0\"\n[admin]\nlisten = \"127.0.0.1:0\"\n\
                      [plugins.time]\nsource = \"builtin:time\"\n[plugins.fetch]\nsource = \"builtin:fetch\"\n";

/// `serve` on a terminal with this change to its command, after a call that succeeds and then one that is denied.
fn serve_with_calls(change: impl Fn(&mut Command)) -> (Terminal, Workspace) {
    let workspace = Workspace::new(CONFIG);
    let mut command = workspace.command(&["serve"]);
    change(&mut command);
    let mut terminal = Terminal::start(&command);
    let shown = terminal.wait_for("try   ");
    let url = shown.split_once("endpoint  ").unwrap().1.lines().next().unwrap().trim_end().to_owned();
    for call in [&["time_get_current_time", "timezone=UTC"][..], &["fetch_fetch", "url=http://10.0.0.1/"]] {
        let _ = workspace.run(&[&["call", "--url", &url], call].concat());
    }
    terminal.wait_for("http://10.0.0.1 ");
    (terminal, workspace)
}

#[test]
fn serve_prints_a_coloured_line_for_each_call_on_a_terminal() {
    let (mut terminal, _workspace) = serve_with_calls(|command| {
        command.env_remove("NO_COLOR");
    });
    let shown = terminal.wait_for("  fetch_fetch ").to_owned();
    let line =
        |name: &str| shown.lines().find(|line| line.contains(&format!("  {name} "))).unwrap_or_default();
    assert!(line("time_get_current_time").contains("\u{1b}[32mok "), "{shown}");
    assert!(line("fetch_fetch").contains("\u{1b}[31m"), "{shown}");
    assert!(!shown.contains("plugin call ended"), "{shown}");
}

#[test]
fn lines_of_calls_respect_no_color_and_the_log_filter() {
    let (mut plain, _workspace) = serve_with_calls(|_| {});
    let shown = plain.wait_for("  time_get_current_time ");
    let line = shown.lines().find(|line| line.contains("  time_get_current_time ")).unwrap();
    assert!(line.contains(" ok ") && !line.contains("\u{1b}[3"), "{shown}");
    let (silent, _workspace) = serve_with_calls(|command| {
        command.env("MOONGATE_LOG", "info,moongate::access=off");
    });
    assert!(!silent.shown().contains("  time_get_current_time "), "{}", silent.shown());
}

#[test]
fn logs_follow_calls_refusals_and_reloads() {
    let workspace = Workspace::new(CONFIG);
    let http = Http::start(&workspace);
    let address = http.admin().address().to_string();
    assert!(http.call("time_get_current_time", json!({ "timezone": "UTC" })).to_string().contains("UTC"));
    let mut command = workspace.command(&["logs", "--follow", "--format", "json", "--admin", &address]);
    let mut logs = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut output = ProcessOutput::read(logs.stdout.take().unwrap());
    let mut next = || -> Value { serde_json::from_str(&output.next_line()).unwrap() };
    let call = next();
    assert_eq!(
        (&call["event"], &call["name"], &call["outcome"], &call["caller"], &call["ok"]),
        (&json!("call"), &json!("time_get_current_time"), &json!("ok"), &json!("127.0.0.1"), &json!(true)),
        "{call}"
    );
    // What happens later follows.
    let _ = http.call("fetch_fetch", json!({ "url": "https://elsewhere.example/a" }));
    let mut later = [next(), next()];
    later.sort_by_key(|event| event["event"].to_string());
    let [call, refusal] = later;
    assert_eq!(
        (&call["name"], &call["error"]),
        (&json!("fetch_fetch"), &json!("the tool returned an error"))
    );
    assert_eq!(refusal["event"], "refused", "{refusal}");
    assert!(refusal["fix"].as_str().unwrap().contains("[plugins.fetch.allow]"), "{refusal}");
    let config = std::fs::read_to_string(workspace.config()).unwrap();
    workspace.write("gateway.toml", config + "[plugins.second]\nsource = \"builtin:time\"\n");
    let reload = next();
    assert_eq!((&reload["event"], &reload["ok"]), (&json!("reload"), &json!(true)), "{reload}");
    logs.kill().unwrap();
    logs.wait().unwrap();

    let earlier = workspace.run(&["logs", "--lines", "2", "--admin", &address]);
    let earlier = String::from_utf8(earlier.stdout).unwrap();
    assert_eq!(earlier.lines().count(), 2, "{earlier}");
    let all = workspace.run(&["logs", "--admin", &address]);
    let all = String::from_utf8(all.stdout).unwrap();
    assert!(all.lines().next().unwrap().contains(" ok "), "{all}");
}

#[test]
fn top_shows_the_tables_until_q_is_pressed() {
    let workspace = Workspace::new(CONFIG);
    let http = Http::start(&workspace);
    let address = http.admin().address().to_string();
    let _ = http.call("time_get_current_time", json!({ "timezone": "UTC" }));
    let top = workspace.command(&["top", "--admin", &address]);
    let mut sized = Command::new("sh");
    sized.args(["-c", "stty rows 24 cols 100 && exec \"$0\" \"$@\""]).arg(gateway_binary());
    sized.args(top.get_args()).current_dir(workspace.path());
    sized.envs(top.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut terminal = Terminal::start(&sized);
    terminal.wait_for("time_get_current_time");
    terminal.type_keys("\t");
    terminal.wait_for("Version");
    terminal.type_keys("q");
    // The screen is restored.
    terminal.wait_for("\u{1b}[?1049l");
    assert!(terminal.wait_for_exit().success());
}

#[test]
fn top_needs_a_terminal() {
    let workspace = Workspace::new(CONFIG);
    let output = workspace.run(&["top", "--admin", "127.0.0.1:9"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.starts_with("error: `top` needs a terminal\nhint: "), "{error}");
}
