//! The admin listener, over HTTP and through the commands that use it.

use std::net::TcpListener;
use std::process::Output;

use moongate_generated::Plugin;
use moongate_tests::{Admin, Http, Workspace, text};
use serde_json::{Value, json};

use crate::operations::shutdown::start_stateless_call;

/// A gateway that reloads only on request.
const RELOAD_ON_REQUEST: &str =
    "[http]\nlisten = \"127.0.0.1:0\"\n[admin]\nlisten = \"127.0.0.1:0\"\n[gateway]\nwatch = false\n";

fn output_text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn parse_json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// A gateway with the plugin `notes` in its first version, and another, `time`.
fn start() -> (Workspace, Http, Admin) {
    let workspace = Workspace::new(&format!(
        "{RELOAD_ON_REQUEST}[plugins.notes]\nsource = \"notes.wasm\"\n[plugins.time]\nsource = \"@time@\"\n"
    ));
    workspace.write("notes.wasm", Plugin::version(1).build());
    let http = Http::start(&workspace);
    let admin = http.admin();
    (workspace, http, admin)
}

/// Runs a command against this gateway's admin listener.
fn run_with_admin(workspace: &Workspace, admin: Admin, arguments: &[&str]) -> Output {
    let address = admin.address().to_string();
    workspace.run(&[arguments, &["--admin", &address]].concat())
}

#[test]
fn reports_health_and_status_over_http_and_cli() {
    let (workspace, http, admin) = start();
    assert_eq!(admin.get("/livez").body, "alive\n");
    let ready = admin.get("/readyz?verbose");
    assert_eq!(ready.status, 200, "{ready:?}");
    for line in ["[+] plugin notes: serving\n", "[+] plugin time: serving\n", "\nready\n"] {
        assert!(ready.body.contains(line), "{ready:?}");
    }
    let health = run_with_admin(&workspace, admin, &["health", "--details"]);
    assert_eq!((health.status.code(), output_text(&health.stdout)), (Some(0), ready.body));
    let health = run_with_admin(&workspace, admin, &["health", "--format", "json"]);
    assert_eq!(parse_json(&health), json!({ "ready": true, "checks": [] }));

    let status = admin.status();
    assert_eq!(status["pid"], http.pid());
    assert_eq!(status["ready"], true);
    assert_eq!(status["settled"], true);
    assert_eq!(status["watching"]["by"], "off");
    let ids: Vec<&Value> = status["plugins"].as_array().unwrap().iter().map(|plugin| &plugin["id"]).collect();
    assert_eq!(ids, ["notes", "time"]);
    assert_eq!(
        admin.plugin("time")["offers"],
        json!({ "tools": 2, "resources": 0, "templates": 0, "prompts": 0 })
    );
    let reply = admin.get("/metrics");
    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(reply.body.contains("moongate_build_info"), "{reply:?}");
    // Admin paths and client paths are served by separate listeners.
    assert_eq!(http.send("GET", "/status.json", &[], b"").status, 404);
    assert_eq!(admin.get("/mcp").status, 404);
}

#[test]
fn reload_reports_changes_and_failures() {
    let (workspace, http, admin) = start();
    let nothing = run_with_admin(&workspace, admin, &["reload"]);
    assert_eq!(
        (nothing.status.code(), output_text(&nothing.stdout)),
        (Some(0), "nothing changed\n".to_owned())
    );

    workspace.write("notes.wasm", Plugin::version(2).build());
    let changed = run_with_admin(&workspace, admin, &["reload", "--format", "json"]);
    assert_eq!(changed.status.code(), Some(0), "{changed:?}");
    let lines = parse_json(&changed);
    assert!(lines["changed"][0].as_str().is_some_and(|line| line.contains("notes")), "{lines}");
    assert_eq!(lines["failed"], json!([]));
    assert_eq!(http.call("notes_version", json!({}))["result"]["content"][0]["text"], "v2");

    workspace.write("notes.wasm", "this isn't a component");
    let failed = run_with_admin(&workspace, admin, &["reload"]);
    assert_eq!(failed.status.code(), Some(1), "{failed:?}");
    let printed = output_text(&failed.stdout);
    assert!(printed.starts_with("failed   ") && printed.contains("notes"), "{printed}");
    let plugin = admin.plugin("notes");
    assert_eq!(plugin["state"], "degraded", "{plugin}");
    assert_eq!(http.call("notes_version", json!({}))["result"]["content"][0]["text"], "v2");
    let ready = admin.get("/readyz?verbose");
    assert_eq!(ready.status, 200, "{ready:?}");
    assert!(ready.body.contains("[!] plugin notes: degraded"), "{ready:?}");

    let listed = run_with_admin(&workspace, admin, &["list", "plugins"]);
    assert_eq!(listed.status.code(), Some(0), "{listed:?}");
    let table = output_text(&listed.stdout);
    let row = table.lines().find(|line| line.starts_with("notes")).unwrap_or_else(|| panic!("{table}"));
    assert!(row.contains("degraded") && row.contains("1 tool"), "{table}");
    assert!(table.contains(plugin["trouble"]["reason"].as_str().unwrap()), "{table}");
    let listed = parse_json(&run_with_admin(&workspace, admin, &["list", "plugins", "--format", "json"]));
    assert_eq!(listed["plugins"], admin.status()["plugins"]);
}

#[test]
fn reports_rejected_config_while_old_config_serves() {
    let (workspace, http, admin) = start();
    // Write the port that the system chose into the configuration, as if the operator had chosen it.
    let port = admin.address().port();
    let address = format!("listen = \"127.0.0.1:{port}\"");
    let config = std::fs::read_to_string(workspace.config()).unwrap();
    let config = config.replace("[admin]\nlisten = \"127.0.0.1:0\"", &format!("[admin]\n{address}"));
    workspace.write("gateway.toml", &config);
    let listed = workspace.run(&["list", "plugins"]);
    assert!(
        output_text(&listed.stderr).contains(&format!("the plugins of the gateway at {}\n", admin.address())),
        "{listed:?}"
    );
    let other = Workspace::new(&format!("[http]\nlisten = \"127.0.0.1:0\"\n[admin]\n{address}\n"));
    let listed = other.run(&["list", "plugins"]);
    assert!(output_text(&listed.stderr).contains(", which uses `"), "{listed:?}");
    let health = workspace.run(&["health"]);
    assert_eq!(
        (health.status.code(), output_text(&health.stdout)),
        (Some(0), "ready\n".to_owned()),
        "{health:?}"
    );

    workspace.write("gateway.toml", format!("{config}\n[plugins.broken]\nsuorce = \"x.wasm\"\n"));
    let reload = workspace.run(&["reload"]);
    assert_eq!(reload.status.code(), Some(1), "{reload:?}");
    assert!(output_text(&reload.stdout).contains("suorce"), "{reload:?}");
    assert_eq!(workspace.run(&["health"]).status.code(), Some(0));
    let rejected = &admin.status()["config"]["rejected"];
    assert!(rejected.as_str().is_some_and(|reason| reason.contains("suorce")), "{rejected}");

    workspace.write("gateway.toml", &config);
    let (status, log) = http.terminate();
    assert!(status.success(), "{log}");
    let alone = workspace.run(&["list", "plugins"]);
    assert_eq!(alone.status.code(), Some(0), "{alone:?}");
    let note = output_text(&alone.stderr);
    assert!(
        note.contains("this command loaded the plugins itself")
            && note.contains(&admin.address().to_string()),
        "{note}"
    );
    assert!(output_text(&alone.stdout).contains("notes"), "{alone:?}");
    let unreachable = workspace.run(&["health"]);
    assert_eq!(unreachable.status.code(), Some(4), "{unreachable:?}");
    assert!(output_text(&unreachable.stderr).contains("nothing listens there"), "{unreachable:?}");
}

#[test]
fn unreachable_gateway_errors_carry_hints() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let unused_address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let without = Workspace::new("");
    let with = Workspace::new(RELOAD_ON_REQUEST);
    for (workspace, arguments, hint) in [
        (&without, vec!["reload"], "SIGHUP"),
        (&without, vec!["health"], "`[admin]`"),
        (&with, vec!["reload"], "`--admin`"),
        (&with, vec!["reload", "--admin", &unused_address], "moongate serve"),
        (&with, vec!["list", "plugins", "--admin", &unused_address], "moongate serve"),
    ] {
        let output = workspace.run(&arguments);
        assert_eq!(output.status.code(), Some(4), "{arguments:?}: {output:?}");
        let printed = output_text(&output.stderr);
        assert!(
            printed.starts_with("error: ") && printed.contains("\nhint: ") && printed.contains(hint),
            "{printed}"
        );
    }
    let tools = with.run(&["list", "tools", "--admin", &unused_address]);
    assert_eq!(tools.status.code(), Some(2), "{tools:?}");
    without.write("gateway.toml", "version = 1\nadmn = 1\n");
    let unusable = without.run(&["reload"]);
    assert_eq!(unusable.status.code(), Some(78), "{unusable:?}");
    assert!(output_text(&unusable.stderr).contains("--admin"), "{unusable:?}");
}

/// The old issuer keeps working, so the operator has to be reminded.
#[test]
fn every_reload_reports_a_pending_restart() {
    let text = |issuer: &str| {
        format!(
            "version = 1\n{RELOAD_ON_REQUEST}[http.auth]\n\
             resource = \"https://gate.example/mcp\"\nissuers = [{{ issuer = \"{issuer}\" }}]\n\
             [plugins.time]\nsource = \"{}\"\n",
            moongate_tests::component("time").display()
        )
    };
    let workspace = Workspace::new(&text("http://127.0.0.1:9/first"));
    let http = Http::start(&workspace);
    let admin = http.admin();
    workspace.write("gateway.toml", text("http://127.0.0.1:9/second"));
    for turn in ["found", "known"] {
        let reloaded = run_with_admin(&workspace, admin, &["reload"]);
        assert_eq!(reloaded.status.code(), Some(0), "{turn}: {reloaded:?}");
        let text = output_text(&reloaded.stdout);
        assert!(
            text.contains("needs a restart: `http.auth.issuers`; the old issuers work until then"),
            "{turn}: {text}"
        );
        assert!(!text.contains("in use") && !text.contains("nothing changed"), "{turn}: {text}");
        assert_eq!(admin.reload()["needs_restart"], json!(["http.auth.issuers"]), "{turn}");
    }
    http.wait_for_log("configuration read: needs a restart: `http.auth.issuers`");
    let health = run_with_admin(&workspace, admin, &["health"]);
    let expected = "[!] configuration: needs a restart: `http.auth.issuers`\nready\n";
    assert_eq!((health.status.code(), output_text(&health.stdout)), (Some(0), expected.to_owned()));
}

#[test]
fn admin_endpoints_never_expose_secrets() {
    let workspace = Workspace::new(&format!(
        "{RELOAD_ON_REQUEST}sealing_key = {{ file = \"key\" }}\n[http.auth]\ntokens = [{{ name = \"ann\", token = {{ file = \"token\" }} }}]\n\
         [plugins.notes]\nsource = \"notes.wasm\"\nallow.env = [\"HOME\"]\n[plugins.notes.config]\npassword = {{ file = \"password\" }}\n"
    ));
    let secrets = [
        ("key", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"),
        ("token", "ann-has-a-long-secret"),
        ("password", "a-plugin-has-a-secret"),
    ];
    for (file, secret) in secrets {
        workspace.write(file, secret);
    }
    workspace.write("notes.wasm", Plugin::version(1).build());
    let http = Http::start(&workspace);
    let admin = http.admin();
    workspace.write("password", "another-secret-of-a-plugin");
    workspace.write("token", "another-secret-of-ann");
    let reloaded = admin.reload().to_string();
    let bodies: Vec<String> =
        ["/status.json", "/readyz?verbose", "/metrics"].map(|path| admin.get(path).body).into();
    for text in bodies.iter().chain([&reloaded]) {
        for secret in secrets.map(|(_, secret)| secret).iter().chain(&["another-secret"]) {
            assert!(!text.contains(secret), "{text}");
        }
    }
}

#[test]
fn admin_works_while_a_plugin_is_saturated() {
    // One plugin can't take all permits: this one gets two of three.
    let workspace = Workspace::new(&format!(
        "{RELOAD_ON_REQUEST}concurrency = 3\n[plugins.zoo]\nsource = \"@zoo@\"\nlimits.timeout = \"1h\"\n\
         allow.dirs = [{{ host = \"gate\", guest = \"/gate\", mode = \"ro\" }}]\n"
    ));
    workspace.write("gate/closed", "");
    let http = Http::start(&workspace);
    let admin = http.admin();
    let wait = json!({ "path": "/gate/open" });
    let mut calls = [(); 2].map(|()| start_stateless_call(&http, "zoo_report_and_wait", wait.clone()));
    assert_eq!(admin.metric("moongate_plugin_instances{plugin=\"zoo\"}"), Some(2.0));
    for path in ["/livez", "/readyz", "/status.json"] {
        assert_eq!(admin.get(path).status, 200, "{path}");
    }
    assert_eq!(admin.reload(), json!({ "changed": [], "failed": [], "needs_restart": [] }));
    workspace.write("gate/open", "");
    for call in &mut calls {
        assert_eq!(text(&call.message().unwrap()), "/gate/open is there");
    }
}

#[test]
fn health_probes_on_the_mcp_port_need_no_token() {
    let workspace = Workspace::new(
        "[http]\nhealth = true\nauth.tokens = [{ name = \"ci\", token = { file = \"token\" } }]\n\
         [plugins.zoo]\nsource = \"@zoo@\"\n[plugins.missing]\nsource = \"missing.wasm\"\n",
    );
    workspace.write("token", "a-long-secret-of-this-test-alone");
    let http = Http::start(&workspace);
    for (path, text) in [("/livez", "alive\n"), ("/readyz", "ready\n"), ("/readyz?verbose", "ready\n")] {
        let reply = http.send("GET", path, &[], b"");
        assert_eq!((reply.status, &*reply.body), (200, text), "{path}");
        assert_eq!(http.send("HEAD", path, &[], b"").status, 200);
        assert_eq!(http.send("POST", path, &[], b"{}").status, 405);
        assert_eq!(http.send("GET", path, &[("Origin", "https://evil.example")], b"").status, 403);
        assert_eq!(http.send("GET", path, &[("Host", "evil.example")], b"").status, 403);
    }
    for path in ["/metrics", "/status.json", "/reload", "/livez/"] {
        assert_eq!(http.send("GET", path, &[], b"").status, 404, "{path}");
    }
    drop(http);
    let http = Http::start(&Workspace::with_plugin("zoo"));
    assert_eq!(http.send("GET", "/livez", &[], b"").status, 404, "off by default");
}
