//! What an operator sees of a running gateway when a directory, a file or an address is wrong.

use std::fs;
use std::process::Output;

use moongate_tests::{Admin, Http, Workspace, wait_until};
use serde_json::{Value, json};

/// A plugin with the directory `notes`, at a gateway with an admin listener.
fn configured(host: &str, more: &str) -> String {
    let plugin = moongate_tests::component("filesystem").display().to_string();
    format!(
        "version = 1\n[http]\nlisten = \"127.0.0.1:0\"\n[admin]\nlisten = \"127.0.0.1:0\"\n\
         [plugins.files]\nsource = {plugin:?}\n{more}\n\
         allow.dirs = [{{ host = \"{host}\", guest = \"/notes\" }}]\n"
    )
}

fn start() -> (Workspace, Http, Admin) {
    let workspace = Workspace::new(&configured("./notes", ""));
    workspace.write("notes/a.txt", "hello");
    let http = Http::start(&workspace);
    let admin = http.admin();
    (workspace, http, admin)
}

/// Runs a command against this gateway's admin listener.
fn run_with_admin(workspace: &Workspace, admin: Admin, arguments: &[&str]) -> Output {
    workspace.run(&[arguments, &["--admin", &admin.address().to_string()]].concat())
}

/// The endpoint's URL.
fn endpoint_url(http: &Http) -> String {
    format!("http://{}/mcp", http.address())
}

fn output_text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The result of a call.
fn list_notes(http: &Http) -> Value {
    http.call("files_list_directory", json!({ "path": "/notes" }))
}

#[test]
fn reports_a_missing_granted_directory_once() {
    let (workspace, http, admin) = start();
    let there = workspace.path().canonicalize().unwrap();
    assert!(list_notes(&http).to_string().contains("a.txt"));
    workspace.write("gateway.toml", configured("./nots", ""));
    http.wait_for_log("calls to `files` fail until it can be opened");
    let log = http.log();
    let line = log.lines().find(|line| line.contains("calls to `files` fail")).unwrap();
    let nots = there.join("nots").display().to_string();
    let hint = format!("(hint: did you mean `{}`?)", there.join("notes").display());
    assert!(line.contains(&format!("the granted directory `{nots}` can't be opened")), "{line}");
    assert!(line.contains(&hint) && !line.contains("filesystem.wasm"), "{line}");
    let answer = list_notes(&http)["result"].clone();
    assert_eq!(answer["isError"], true, "{answer}");
    let expected = "plugin `files`: the granted directory `/notes` can't be opened";
    assert_eq!(answer["content"][0]["text"], expected);
    let ready = admin.get("/readyz?verbose").body;
    assert!(ready.contains("plugin files: degraded, calls fail: the granted"), "{ready}");

    let retried = || admin.plugin("files")["trouble"]["retry_at"].clone();
    let first = retried();
    wait_until("the directory is retried", || retried() != first);
    let log = http.log();
    assert!(
        !log.contains("reconfigured with") && !log.contains("the earlier version keeps serving"),
        "{log}"
    );

    // Calls keep failing, whatever else changes in the plugin's settings.
    workspace.write("gateway.toml", configured("./nots", "limits.timeout = \"7s\""));
    let is_applied = || http.log().matches("configuration applied").count() == 2;
    wait_until("the configuration is applied", is_applied);
    fs::create_dir(there.join("nots")).unwrap();
    http.wait_for_log("recovered; it serves its current file and configuration");
    assert!(!http.log().contains("the earlier version keeps serving"), "{}", http.log());
    assert_ne!(list_notes(&http)["result"]["isError"], true);
}

#[test]
fn health_and_list_report_rejected_config_and_plugins() {
    let (workspace, http, admin) = start();
    let health = || run_with_admin(&workspace, admin, &["health"]);
    assert_eq!(output_text(&health().stdout), "ready\n");
    workspace.write("gateway.toml", configured("./notes", "suorce = 1"));
    wait_until("the file is rejected", || !admin.status()["config"]["rejected"].is_null());
    let text = output_text(&health().stdout);
    assert!(text.starts_with("[!] configuration: rejected: ") && text.contains("suorce"), "{text}");
    assert_eq!(health().status.code(), Some(0), "the running version keeps serving");
    let document = run_with_admin(&workspace, admin, &["health", "--format", "json"]);
    let document: Value = serde_json::from_slice(&document.stdout).unwrap();
    assert_eq!(document["ready"], true);
    assert_eq!(document["checks"], json!([text.lines().next().unwrap()]));
    let listed = run_with_admin(&workspace, admin, &["list", "plugins"]);
    let note = output_text(&listed.stderr);
    assert!(
        note.contains("the gateway rejected the current `")
            && note.contains("gateway.toml`: ")
            && note.contains("suorce"),
        "{note}"
    );
    assert!(output_text(&listed.stdout).contains("files"), "{listed:?}");

    workspace.write("gateway.toml", configured("./nots", ""));
    wait_until("the plugin is degraded", || admin.plugin("files")["state"] == "degraded");
    let text = output_text(&health().stdout);
    assert!(
        text.starts_with("[!] plugin files: degraded, calls fail: ") && text.ends_with("\nready\n"),
        "{text}"
    );
    assert_eq!(text.lines().count(), 2, "{text}");
    drop(http);
}

#[test]
fn a_directory_lost_while_serving_shows_in_health_and_list() {
    for others in [", { host = \"./others\", guest = \"/others\" }", ""] {
        let workspace = Workspace::new(
            &configured("./notes", "")
                .replace("guest = \"/notes\" }", &format!("guest = \"/notes\" }}{others}")),
        );
        workspace.write("notes/a.txt", "hello");
        workspace.write("others/a.txt", "hello");
        let http = Http::start(&workspace);
        let admin = http.admin();
        let notes = workspace.path().canonicalize().unwrap().join("notes").display().to_string();
        let health = || output_text(&run_with_admin(&workspace, admin, &["health"]).stdout);
        let list = || output_text(&run_with_admin(&workspace, admin, &["list", "plugins"]).stdout);
        assert_eq!(health(), "ready\n");
        fs::rename(&notes, workspace.path().join("aside")).unwrap();
        list_notes(&http);
        assert_eq!(
            health(),
            format!(
                "[!] plugin files: serving, but these granted directories can't be opened: `{notes}`\nready\n"
            )
        );
        assert!(list().contains(&format!("the granted directory `{notes}` can't be opened")), "{}", list());
        assert_eq!(admin.plugin("files")["unavailable_directories"], json!([notes]));
        fs::rename(workspace.path().join("aside"), &notes).unwrap();
        list_notes(&http);
        assert_eq!(health(), "ready\n");
        assert_eq!(admin.plugin("files")["unavailable_directories"], json!([]));
    }
}

#[test]
fn a_plugin_starts_once_its_missing_directory_appears() {
    let workspace = Workspace::new(&configured("./notes", ""));
    let http = Http::start(&workspace);
    let admin = http.admin();
    let state = || admin.plugin("files")["state"].clone();
    assert_eq!(state(), "failed");
    // Each retry is later than the one before.
    let mut retry = Value::Null;
    for _ in 0..3 {
        wait_until("the next retry is planned", || {
            let next = admin.plugin("files")["trouble"]["retry_at"].clone();
            let is_new = next.is_string() && next != retry;
            if is_new {
                retry = next;
            }
            is_new
        });
    }
    workspace.write("notes/a.txt", "hello");
    wait_until("the plugin serves", || state() == "serving");
    let since = admin.plugin("files")["since"].as_str().unwrap().to_owned();
    assert!(&*since < retry.as_str().unwrap(), "only a retry found it: {since}, {retry}");
    assert!(list_notes(&http).to_string().contains("a.txt"));
}

#[test]
fn banner_shows_a_call_command_for_this_gateway() {
    let (workspace, http, _) = start();
    wait_until("the last line is printed", || http.log().contains("\ntry       "));
    let log = http.log();
    let line = log.lines().find_map(|line| line.strip_prefix("try       ")).unwrap();
    let words: Vec<&str> = line.split(' ').skip(1).collect();
    assert_eq!(words[..3], ["call", "--url", &endpoint_url(&http)], "{line}");
    let output = workspace.run(&words);
    assert!(output.status.success(), "{line}: {output:?}");
}

#[test]
fn lists_an_endpoint_as_clients_see_it() {
    let (workspace, http, _) = start();
    let url = endpoint_url(&http);
    let run = |words: &[&str]| {
        let output = workspace.run(&[words, &["--url", &url]].concat());
        (output.status.code(), output_text(&output.stdout), output_text(&output.stderr))
    };
    let (code, tools, _) = run(&["list", "tools", "--format", "json"]);
    let tools: Value = serde_json::from_str(&tools).unwrap();
    let here = workspace.run(&["list", "tools", "--format", "json"]);
    let here: Value = serde_json::from_slice(&here.stdout).unwrap();
    let named = |lists: &Value| {
        let tools = lists["tools"].as_array().unwrap().iter();
        tools.map(|tool| (tool["name"].clone(), tool["input"].clone())).collect::<Vec<_>>()
    };
    assert_eq!((code, named(&tools)), (Some(0), named(&here)));
    let (code, all, _) = run(&["list"]);
    assert!(code == Some(0) && all.starts_with("tools\n") && all.contains("\ntemplates\n"), "{all}");
    let (code, _, printed) = run(&["list", "plugins"]);
    assert!(code == Some(2) && printed.contains("--admin ADDR"), "{printed}");
}

#[test]
fn suggests_the_correct_address() {
    let (workspace, http, _) = start();
    let url = endpoint_url(&http);
    for wrong in [url.replace("http:", "https:"), url.replace("/mcp", "/")] {
        let output = workspace.run(&["call", "--url", &wrong, "files_list_allowed_directories"]);
        let printed = output_text(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{printed}");
        assert!(
            printed.lines().next().is_some_and(|line| line.ends_with(&format!("write {url}"))),
            "{printed}"
        );
    }
    let port = url.split(':').nth(2).unwrap().trim_end_matches("/mcp");
    for verb in ["health", "reload"] {
        let printed = output_text(&workspace.run(&[verb, "--admin", port]).stderr);
        assert!(printed.contains("this is the address of the MCP endpoint"), "{verb}: {printed}");
    }
    let mut command = workspace.command(&["call", "--url", &url, "files_list_allowed_directories"]);
    let printed =
        output_text(&command.env("MOONGATE_TOKEN", "Bearer some-long-secret").output().unwrap().stderr);
    assert!(printed.contains("MOONGATE_TOKEN") && printed.contains("keep only the token"), "{printed}");
    assert!(!printed.contains("some-long-secret"), "{printed}");
    let secret = url.replace("http://", "http://ci:some-long-secret@");
    let output = workspace.run(&["call", "--url", &secret, "files_list_allowed_directories"]);
    let printed = output_text(&output.stderr);
    assert!(output.status.code() == Some(2) && printed.contains("MOONGATE_TOKEN"), "{printed}");
    assert!(!printed.contains("some-long-secret"), "{printed}");
}

#[test]
fn plugin_name_instead_of_file_gets_a_hint() {
    let workspace = Workspace::with_plugin("time");
    let output = workspace.run(&["call", "--plugin", "time", "get_current_time"]);
    let printed = output_text(&output.stderr);
    assert!(printed.contains("hint: name a `.wasm` file, such as `./time.wasm`"), "{printed}");
}
