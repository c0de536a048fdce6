//! Serving while plugins are being loaded: what is answered at once, what waits, and what follows later.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use moongate_generated::Plugin;
use moongate_model::names::Digest;
use moongate_tests::{
    Http, Stdio, Workspace, initialize_params, request, send_signal, stateless_request, text, wait_until,
};
#[cfg(target_os = "linux")]
use moongate_tests::{ProcessOutput, on_terminal};
use serde_json::{Value, json};

/// A workspace with a cache of its own and two plugins: `quick`, whose code is cached, and `late`, whose isn't.
pub(super) struct Fixture {
    pub(super) workspace: Workspace,
    pub(super) cache: PathBuf,
}

/// Keeps `late` from being compiled until it is dropped: another process seems to be compiling it.
pub(super) struct Compiling(#[expect(dead_code, reason = "holds the lock")] File);

impl Fixture {
    /// `gateway` is the content of `[gateway]`.
    pub(super) fn new(gateway: &str) -> Self {
        let workspace = Workspace::new(&format!(
            "[gateway]\n{gateway}\n[http]\nlisten = \"127.0.0.1:0\"\n[admin]\nlisten = \"127.0.0.1:0\"\n\
             [defaults.limits]\ncompile_time = \"1h\"\n\
             [plugins.quick]\nsource = \"quick.wasm\"\n[plugins.late]\nsource = \"late.wasm\"\n"
        ));
        workspace.write("quick.wasm", Plugin::version(1).build());
        workspace.write("late.wasm", Plugin::version(2).tool("extra").build());
        let cache = workspace.path().join("cache");
        Self { workspace, cache }
    }

    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.workspace.command(arguments);
        command.env("MOONGATE_CACHE_DIR", &self.cache);
        command
    }

    /// Fills the cache.
    pub(super) fn check(&self) {
        let output = self.command(&["check"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    /// The files in the cache that belong to a component's code or description.
    pub(super) fn entries(&self, source: &str, extension: &str) -> Vec<PathBuf> {
        let digest = Digest::of(&fs::read(self.workspace.path().join(source)).unwrap()).to_string();
        let names = fs::read_dir(&self.cache).unwrap().map(|entry| entry.unwrap().file_name());
        let names = names.map(|name| name.into_string().unwrap());
        names
            .filter(|name| name.starts_with(&digest) && name.ends_with(extension))
            .map(|name| self.cache.join(name))
            .collect()
    }

    /// Fills the cache, removes the code of `late` again, and keeps it from being compiled.
    fn compile_late_forever(&self) -> Compiling {
        self.check();
        let code = self.entries("late.wasm", ".cwasm").remove(0);
        fs::remove_file(&code).unwrap();
        Compiling::lock(&code)
    }
}

impl Compiling {
    /// Keeps the component with this cache entry from being compiled.
    pub(super) fn lock(code: &Path) -> Self {
        let name = code.to_str().unwrap();
        // Digest, engine and checksum; the lock has no checksum.
        let (stem, _) = name.rsplit_once('-').unwrap();
        let lock = File::create(format!("{stem}-.cwasm.lock")).unwrap();
        lock.lock().unwrap();
        Self(lock)
    }
}

/// The names of the tools in a response to `tools/list`.
#[track_caller]
pub(super) fn tools(response: &Value) -> Vec<&str> {
    let tools = response["result"]["tools"].as_array().unwrap_or_else(|| panic!("no list: {response}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

const QUICK: [&str; 1] = ["quick_version"];
pub(super) const ALL: [&str; 3] = ["quick_version", "late_version", "late_extra"];

#[test]
fn stdio_clients_are_answered_while_a_plugin_is_compiled() {
    let fixture = Fixture::new("startup_wait = \"0s\"");
    let compiling = fixture.compile_late_forever();
    let mut client = Stdio::spawn_loading(fixture.command(&["serve", "--stdio"]));
    let initialized = client.request_and_wait("initialize", initialize_params("2025-11-25"));
    for kind in ["tools", "prompts", "resources"] {
        assert_eq!(initialized["result"]["capabilities"][kind]["listChanged"], true, "{initialized}");
    }
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    assert_eq!(client.request_and_wait("ping", json!({}))["result"], json!({}));
    assert_eq!(tools(&client.request_and_wait("tools/list", json!({}))), QUICK);
    assert_eq!(text(&client.call("quick_version", json!({}))), "v1");
    let unknown = client.call("late_version", json!({}));
    assert!(unknown["error"]["message"].as_str().is_some_and(|it| it.contains("late_version")), "{unknown}");
    drop(compiling);
    loop {
        if client.receive()["method"] == "notifications/tools/list_changed" {
            break;
        }
    }
    assert_eq!(tools(&client.request_and_wait("tools/list", json!({}))), ALL);
    assert_eq!(text(&client.call("late_extra", json!({}))), "v2");
    let (_, status, log) = client.finish();
    assert!(status.success() && log.contains("while plugins are being loaded"), "{status}: {log}");
}

#[test]
fn stateless_clients_are_answered_while_a_plugin_is_compiled() {
    let fixture = Fixture::new("startup_wait = \"0s\"");
    let compiling = fixture.compile_late_forever();
    let mut client = Stdio::spawn_loading(fixture.command(&["serve", "--stdio"]));
    client.send(&stateless_request(1, "server/discover", json!({})));
    assert_eq!(client.response(1)["result"]["capabilities"]["tools"]["listChanged"], true);
    client.send(&stateless_request(2, "tools/list", json!({})));
    assert_eq!(tools(&client.response(2)), QUICK);
    let filter = json!({ "notifications": { "toolsListChanged": true } });
    client.send(&stateless_request(3, "subscriptions/listen", filter));
    assert_eq!(client.receive()["method"], "notifications/subscriptions/acknowledged");
    drop(compiling);
    assert_eq!(client.receive()["method"], "notifications/tools/list_changed");
    client.send(&stateless_request(4, "tools/list", json!({})));
    assert_eq!(tools(&client.response(4)), ALL);
}

#[test]
fn http_clients_and_monitors_see_that_a_plugin_is_compiled() {
    let fixture = Fixture::new("startup_wait = \"0s\"");
    let compiling = fixture.compile_late_forever();
    let http = Http::spawn_loading(fixture.command(&["serve"]));
    let session = http.open_session(&[], "2025-06-18");
    let list = |session: &str| {
        let headers = [("Mcp-Session-Id", session), ("MCP-Protocol-Version", "2025-06-18")];
        http.post(&headers, &request(2, "tools/list", json!({}))).messages().remove(0)
    };
    assert_eq!(tools(&list(&session)), QUICK);
    assert_eq!(http.request_and_wait("server/discover", json!({})).status, 200);
    assert_eq!(tools(&http.request_and_wait("tools/list", json!({})).json()), QUICK);
    assert_eq!(text(&http.call("quick_version", json!({}))), "v1");

    http.wait_for_log("compiling `late`");
    let admin = http.admin();
    let status = admin.wait_until_status("`late` is compiled", |status| {
        status["plugins"][1]["state"] == "compiling" && status["plugins"][0]["state"] == "serving"
    });
    assert_eq!((&status["ready"], &status["settled"]), (&json!(false), &json!(false)), "{status}");
    let ready = admin.get("/readyz?verbose");
    assert_eq!(ready.status, 503, "{ready:?}");
    for line in ["[-] load: in progress\n", "[+] plugin quick: serving\n", "[!] plugin late: compiling\n"] {
        assert!(ready.body.contains(line), "{line}: {ready:?}");
    }
    let address = admin.address().to_string();
    let listed = fixture.workspace.run(&["list", "plugins", "--admin", &address]);
    let table = String::from_utf8(listed.stdout).unwrap();
    assert!(table.lines().any(|line| line.starts_with("late ") && line.contains("compiling")), "{table}");

    drop(compiling);
    http.wait_for_log("compiled `late`");
    admin.wait_until_status("everything is loaded", |status| status["ready"] == true);
    assert_eq!(tools(&list(&session)), ALL);
    assert_eq!(text(&http.call("late_version", json!({}))), "v2");
}

#[test]
fn lists_and_unknown_names_wait_for_plugins() {
    let fixture = Fixture::new("startup_wait = \"1h\"");
    let compiling = fixture.compile_late_forever();
    let mut client = Stdio::spawn_loading(fixture.command(&["serve", "--stdio"]));
    client.request_and_wait("initialize", initialize_params("2025-06-18"));
    client.send(&request(11, "tools/list", json!({})));
    client.send(&request(12, "tools/call", json!({ "name": "late_version", "arguments": {} })));
    client.send(&request(13, "tools/list", json!({})));
    let cancelled = json!({ "requestId": 13 });
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled }));
    assert_eq!(text(&client.call("quick_version", json!({}))), "v1", "known tools don't wait");
    assert!(client.take_queued().iter().all(|message| message.get("id").is_none()));
    drop(compiling);
    assert_eq!(tools(&client.response(11)), ALL);
    assert_eq!(text(&client.response(12)), "v2");
    let (rest, ..) = client.finish();
    assert!(rest.iter().all(|message| message["id"] != 13), "a cancelled request was answered: {rest:?}");
}

#[test]
fn required_plugins_are_waited_for_however_long() {
    let fixture = Fixture::new("startup_wait = \"0s\"\nrequire_all = true");
    let compiling = fixture.compile_late_forever();
    let mut client = Stdio::spawn_loading(fixture.command(&["serve", "--stdio"]));
    client.request_and_wait("initialize", initialize_params("2025-06-18"));
    client.send(&request(11, "tools/list", json!({})));
    client.request_and_wait("ping", json!({}));
    drop(compiling);
    assert_eq!(tools(&client.response(11)), ALL);
}

#[test]
fn a_required_plugin_that_fails_late_ends_the_start() {
    let fixture = Fixture::new("startup_wait = \"1h\"\nrequire_all = true");
    fixture
        .workspace
        .write("broken.wasm", Plugin::version(3).list(moongate_generated::Behaviour::Traps).build());
    let config = fs::read_to_string(fixture.workspace.config()).unwrap();
    fixture.workspace.write("gateway.toml", format!("{config}[plugins.broken]\nsource = \"broken.wasm\"\n"));
    let output = fixture.command(&["serve", "--stdio"]).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(78), "{stderr}");
    assert!(stderr.contains("`broken`") && stderr.contains("`require_all`"), "{stderr}");
    assert!(!stderr.contains("serving   "), "the banner was printed: {stderr}");
}

#[test]
fn a_compilation_survives_its_gateway() {
    let fixture = Fixture::new("startup_wait = \"1h\"");
    let compiling = fixture.compile_late_forever();
    // One host gives up and kills the gateway; another one closes stdin.
    let mut impatient = Stdio::spawn_loading(fixture.command(&["serve", "--stdio"]));
    impatient.request_and_wait("initialize", initialize_params("2025-06-18"));
    let http = Http::spawn_loading(fixture.command(&["serve"]));
    http.wait_for_log("compiling `late`");
    send_signal(http.pid(), "KILL");
    let _ = http.wait_for_exit();
    send_signal(impatient.pid(), "TERM");
    let _ = impatient.wait_for_exit();
    assert_eq!(fixture.entries("late.wasm", ".cwasm"), [""; 0].map(PathBuf::from));
    drop(compiling);
    wait_until("the code is cached", || !fixture.entries("late.wasm", ".cwasm").is_empty());
    let mut client = Stdio::spawn_loading(fixture.command(&["serve", "--stdio"]));
    client.request_and_wait("initialize", initialize_params("2025-06-18"));
    assert_eq!(tools(&client.request_and_wait("tools/list", json!({}))), ALL);
    let (_, _, log) = client.finish();
    assert!(!log.contains("compiling"), "it was compiled again: {log}");
}

#[test]
fn the_first_plugin_in_the_file_wins_a_conflict_whichever_is_compiled_first() {
    let fixture = Fixture::new("startup_wait = \"0s\"");
    let config = fs::read_to_string(fixture.workspace.config()).unwrap();
    // `late` comes first, and both have the same public names.
    let (head, _) = config.split_once("[plugins.quick]").unwrap();
    fixture.workspace.write(
        "gateway.toml",
        format!(
            "{head}[plugins.late]\nsource = \"late.wasm\"\nprefix = \"same\"\n\
             [plugins.quick]\nsource = \"quick.wasm\"\nprefix = \"same\"\n"
        ),
    );
    let output = fixture.command(&["check"]).output().unwrap();
    assert!(!output.status.success(), "{output:?}");
    let code = fixture.entries("late.wasm", ".cwasm").remove(0);
    fs::remove_file(&code).unwrap();
    let mut client = Stdio::spawn_loading(fixture.command(&["serve", "--stdio"]));
    client.request_and_wait("initialize", initialize_params("2025-06-18"));
    wait_until("`late` serves", || {
        tools(&client.request_and_wait("tools/list", json!({}))) == ["same_version", "same_extra"]
    });
    assert_eq!(text(&client.call("same_version", json!({}))), "v2");
}

#[cfg(target_os = "linux")]
#[test]
fn terminals_show_the_components_that_are_being_compiled() {
    use std::process::Stdio as Stream;

    let fixture = Fixture::new("startup_wait = \"0s\"");
    let compiling = fixture.compile_late_forever();
    let mut command = on_terminal(&fixture.command(&["serve"]));
    let mut terminal =
        command.stdin(Stream::null()).stdout(Stream::piped()).stderr(Stream::null()).spawn().unwrap();
    let mut screen = ProcessOutput::read(terminal.stdout.take().unwrap());
    let mut read_until = |text: &str| {
        screen.wait_for(text);
        screen.take()
    };
    // The line has the time so far; the log's line doesn't.
    let line = read_until("B) 1s");
    assert!(line.contains(" compiling `late` ("), "{line}");
    drop(compiling);
    let end = read_until("serving   ");
    // The progress line is erased before the banner is written.
    let banner = end.find("moongate ").unwrap_or_default();
    let before = end[..banner].rsplit("\u{1b}[2K").next().unwrap_or_default();
    assert!(!before.contains("compiling"), "{end}");
    // It ends the gateway, too.
    send_signal(terminal.id(), "TERM");
    terminal.wait().unwrap();
}
