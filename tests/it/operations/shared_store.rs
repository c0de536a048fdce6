//! Several gateways with one store: what they share, and what happens while the store is away.

use std::io::Write as _;
use std::process::Stdio as Pipe;

use moongate_tests::{
    Http, IssuedCertificate, StoreServer, TestAuthority, Workspace, fixed_address, stateless_request, text,
    wait_until,
};
use serde_json::{Value, json};

const SEALING_KEY: &str = "0123456789abcdef0123456789abcdef";

/// A workspace whose gateway uses this store. Workspaces with the same configuration are those of replicas.
fn replica(store: &StoreServer, more: &str) -> Workspace {
    let workspace = Workspace::new(&format!(
        "[gateway]\nsealing_key = {{ file = \"sealing-key\" }}\n[store]\nurl = \"{}\"\n\
         [admin]\nlisten = \"127.0.0.1:0\"\n{more}",
        store.url()
    ));
    workspace.write("sealing-key", SEALING_KEY);
    workspace
}

const STATEFUL: &str = "[plugins.stateful]\nsource = \"@stateful@\"\nallow.state = true\n";

const ZOO: &str = "[plugins.zoo]\nsource = \"@zoo@\"\nallow.client = [\"elicitation\"]\n";

#[track_caller]
fn call(http: &Http, tool: &str, arguments: Value) -> String {
    text(&http.call(tool, arguments)).to_owned()
}

/// The operations on the store that calls made so far. Sessions also have heartbeats.
fn operations(http: &Http) -> f64 {
    let uses = ["state", "rates", "used_once"];
    let metric = |purpose: &&str| {
        http.admin().metric(&format!("moongate_store_operations_total{{purpose=\"{purpose}\"}}"))
    };
    uses.iter().filter_map(metric).sum()
}

#[test]
fn shared_store_keeps_the_state_of_all_gateways() {
    let Some(store) = StoreServer::start(&[]) else { return };
    let workspaces = [replica(&store, STATEFUL), replica(&store, STATEFUL)];
    let [first, second] = [Http::start(&workspaces[0]), Http::start(&workspaces[1])];
    assert_eq!(call(&first, "stateful_set", json!({ "key": "a", "value": "one" })), "set");
    assert_eq!(call(&second, "stateful_get", json!({ "key": "a" })), "one");
    for http in [&first, &second, &first] {
        let sum = call(http, "stateful_add", json!({ "key": "n" }));
        assert!(sum.parse::<u32>().is_ok(), "{sum}");
    }
    assert_eq!(call(&second, "stateful_get", json!({ "key": "n" })), "3");
    let run = workspaces[1].run(&["call", "stateful_get", "key=a"]);
    assert_eq!(String::from_utf8_lossy(&run.stdout).trim(), "one");
    let status = first.admin().status();
    assert_eq!((&status["store"]["reachable"], &status["store"]["problem"]), (&json!(true), &Value::Null));
    assert_eq!(status["config"]["digest"].as_str().map(str::len), Some(64));
    assert!(!first.log().contains("ERROR"), "{}", first.log());
}

#[test]
fn shared_store_counts_the_calls_of_all_gateways() {
    let Some(store) = StoreServer::start(&[]) else { return };
    let rated = format!("[callers]\ncalls = \"3/h\"\n{ZOO}");
    let workspaces = [replica(&store, &rated), replica(&store, &rated)];
    let [first, second] = [Http::start(&workspaces[0]), Http::start(&workspaces[1])];
    let is_limited = |http: &Http| {
        let answer = http.call("zoo_echo", json!({ "text": "a" }));
        let limited = answer["error"]["data"]["reason"] == "rate_limited";
        assert!(limited || answer["result"].is_object(), "{answer}");
        limited
    };
    assert_eq!([&first, &second, &first, &second, &first].map(is_limited), [false, false, false, true, true]);
}

#[test]
fn shared_store_lets_a_request_state_be_used_once_in_all() {
    let Some(store) = StoreServer::start(&[]) else { return };
    let workspaces = [replica(&store, ZOO), replica(&store, ZOO)];
    let [first, second] = [Http::start(&workspaces[0]), Http::start(&workspaces[1])];
    let post = |http: &Http, more: Value| {
        let mut params = json!({ "name": "zoo_ask_name", "arguments": {} });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut message = stateless_request(1, "tools/call", params);
        message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
            json!({ "elicitation": { "form": {} } });
        let headers = [
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", "zoo_ask_name"),
        ];
        http.post(&headers, &message).json()
    };
    let asked = post(&first, json!({}));
    let state = asked["result"]["requestState"].as_str().unwrap();
    let answers = json!({ "name": { "action": "accept", "content": { "name": "Ann" } } });
    let retry = json!({ "requestState": state, "inputResponses": answers });
    assert_eq!(text(&post(&second, retry.clone())), "Hello, Ann!");
    for http in [&first, &second] {
        let again = post(http, retry.clone());
        assert!(again["error"]["message"].as_str().unwrap().contains("already used"), "{again}");
    }
}

#[test]
fn shared_store_is_not_used_without_state_and_rates() {
    let Some(store) = StoreServer::start(&[]) else { return };
    let workspace = replica(&store, ZOO);
    let http = Http::start(&workspace);
    http.wait_for_log("the shared store");
    for _ in 0..5 {
        assert_eq!(call(&http, "zoo_echo", json!({ "text": "a" })), "a");
    }
    assert_eq!(operations(&http), 0.0);
}

#[test]
fn gateways_show_each_other_and_their_differences() {
    let Some(mut store) = StoreServer::start(&[]) else { return };
    let workspaces = [replica(&store, ZOO), replica(&store, ZOO)];
    let [first, second] = [Http::start(&workspaces[0]), Http::start(&workspaces[1])];
    let differs = |status: &Value| {
        let others = status["gateways"].as_array().unwrap().iter().filter(|one| one["own"] == false);
        others.map(|other| other["differs"].clone()).collect::<Vec<_>>()
    };
    let same = first.admin().wait_until_status("the other is shown", |status| differs(status) == [json!([])]);
    let gateways = same["gateways"].as_array().unwrap();
    assert_eq!(gateways.len(), 2, "{same}");
    for (http, status) in [(&first, &same), (&second, &second.admin().status())] {
        let own = gateways.iter().find(|one| one["pid"] == http.pid()).unwrap();
        assert_eq!(own["endpoint"], http.address().to_string());
        assert_eq!(own["config_digest"], status["config"]["digest"]);
    }
    assert!(!first.admin().get("/").body.contains("differ from this one"));

    let text = std::fs::read_to_string(workspaces[1].config()).unwrap();
    let changed = text.replace("allow.client", "limits.timeout = \"7s\"\nallow.client");
    assert_ne!(text, changed);
    workspaces[1].write("gateway.toml", changed);
    let _ = first.admin().wait_until_status("another configuration is shown", |status| {
        differs(status) == [json!(["configuration"])]
    });
    let page = first.admin().get("/").body;
    assert!(page.contains("differ from this one") && page.contains("other configuration"), "{page}");

    // One that stops is forgotten at once, and the store's outage hides the others.
    assert!(second.terminate().0.success());
    let _ = first.admin().wait_until_status("the other is forgotten", |status| differs(status).is_empty());
    store.kill();
    let _ = first.admin().wait_until_status("nothing is known", |status| status["gateways"] == json!([]));
    assert!(first.admin().get("/").body.contains("the store isn't available"));
}

#[test]
fn shared_store_outage_ends_without_a_restart() {
    let Some(mut store) = StoreServer::start(&[]) else { return };
    let refusing = "rates_when_down = \"refuse\"\n[admin]";
    // Far above the calls that wait for the store.
    let rated = format!("[callers]\ncalls = \"1000000/h\"\n{STATEFUL}{ZOO}");
    let local = replica(&store, &rated);
    let strict = replica(&store, &rated);
    let text_of = std::fs::read_to_string(strict.config()).unwrap();
    strict.write("gateway.toml", text_of.replace("[admin]", refusing));
    let [http, strict_http] = [Http::start(&local), Http::start(&strict)];
    assert_eq!(call(&http, "stateful_set", json!({ "key": "a", "value": "one" })), "set");

    store.kill();
    let failed = http.call("stateful_get", json!({ "key": "a" })).to_string();
    assert!(failed.contains("shared store") && failed.contains("try again"), "{failed}");
    assert_eq!(call(&http, "zoo_echo", json!({ "text": "a" })), "a", "it is counted by this gateway alone");
    let refused = strict_http.call("zoo_echo", json!({ "text": "a" }));
    assert!(refused.to_string().contains("shared store isn't reachable"), "{refused}");
    let status =
        http.admin().wait_until_status("the store is down", |status| status["store"]["reachable"] == false);
    assert!(status["store"]["problem"]["hint"].is_string(), "{status}");
    http.wait_for_log("can't be used");

    store.restart();
    wait_until("the store is used again", || {
        let set = http.call("stateful_set", json!({ "key": "b", "value": "two" }));
        set["result"].is_object() && set["result"]["isError"] != true
    });
    assert_eq!(call(&http, "stateful_get", json!({ "key": "b" })), "two");
    assert_eq!(call(&http, "stateful_get", json!({ "key": "a" })), "nothing", "the store lost its memory");
    http.wait_for_log("can be used again");
    wait_until("calls are counted again", || {
        strict_http.call("zoo_echo", json!({ "text": "a" }))["result"].is_object()
    });
}

#[test]
fn shared_store_with_a_wrong_password_is_named_in_the_log() {
    let Some(store) = StoreServer::start(&["--requirepass", "right-password"]) else { return };
    let workspace = replica(&store, &format!("{STATEFUL}{ZOO}"));
    let text_of = std::fs::read_to_string(workspace.config()).unwrap();
    let with_password = text_of.replace("[store]\n", "[store]\npassword = { file = \"password\" }\n");
    workspace.write("gateway.toml", with_password);
    workspace.write("password", "wrong-password");
    let check = workspace.run(&["check"]);
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
    let http = Http::start(&workspace);
    http.wait_for_log("the server refused the user or the password");
    assert!(!http.log().contains("wrong-password"), "{}", http.log());
    assert_eq!(call(&http, "zoo_echo", json!({ "text": "a" })), "a");
    let failed = http.call("stateful_get", json!({ "key": "a" }));
    assert_eq!(failed["result"]["isError"], true, "{failed}");
    // The password can be corrected with a restart.
    drop(http);
    workspace.write("password", "right-password");
    let http = Http::start(&workspace);
    assert_eq!(call(&http, "stateful_set", json!({ "key": "a", "value": "one" })), "set");
}

#[test]
fn shared_store_over_tls_needs_a_trusted_certificate() {
    let files = Workspace::new("");
    let authority = TestAuthority::new();
    let IssuedCertificate { certificate, key } = authority.server();
    files.write("store.pem", certificate);
    files.write("store.key", key);
    files.write("authority.pem", authority.certificate());
    let path = |name: &str| files.path().join(name).display().to_string();
    let [plain, tls] = [fixed_address(), fixed_address()].map(|address| address.port());
    let (tls_port, plain_port) = (tls.to_string(), plain.to_string());
    let Some(_store) = StoreServer::start(&[
        "--bind",
        "127.0.0.1",
        "--port",
        &plain_port,
        "--tls-port",
        &tls_port,
        "--tls-cert-file",
        &path("store.pem"),
        "--tls-key-file",
        &path("store.key"),
        "--tls-ca-cert-file",
        &path("authority.pem"),
        "--tls-auth-clients",
        "no",
    ]) else {
        return;
    };
    let workspace = |authority: &str, url: &str| {
        let workspace = Workspace::new(&format!(
            "[gateway]\nsealing_key = {{ file = \"sealing-key\" }}\nca_file = \"authority.pem\"\n[store]\n\
             url = \"{url}\"\n{STATEFUL}"
        ));
        workspace.write("sealing-key", SEALING_KEY);
        workspace.write("authority.pem", authority);
        workspace
    };
    let trusted = authority.certificate();
    let with_tls = workspace(trusted, &format!("rediss://localhost:{tls}"));
    let http = Http::start(&with_tls);
    assert_eq!(call(&http, "stateful_set", json!({ "key": "a", "value": "one" })), "set");
    let run = with_tls.run(&["state", "get", "plugin:stateful", "a"]);
    assert_eq!(String::from_utf8_lossy(&run.stdout), "one\n");
    let unknown = TestAuthority::new();
    for (authority, url, problem, hint) in [
        (unknown.certificate(), format!("rediss://localhost:{tls}"), "with TLS", "set `ca_file`"),
        (trusted, format!("rediss://localhost:{plain}"), "no response in time", "`redis://` for one without"),
        (trusted, format!("redis://localhost:{tls}"), "connection was lost", "write `rediss://`"),
    ] {
        let run = workspace(authority, &url).run(&["state", "list"]);
        let error = String::from_utf8_lossy(&run.stderr);
        assert!(!run.status.success() && error.contains(problem) && error.contains(hint), "{url}: {error}");
    }
}

#[test]
fn shared_store_needs_a_sealing_key() {
    let workspace = Workspace::new("[store]\nurl = \"redis://127.0.0.1:1\"\n");
    let check = workspace.run(&["check"]);
    let problems = String::from_utf8_lossy(&check.stderr);
    assert!(!check.status.success() && problems.contains("sealing_key"), "{problems}");
}

#[test]
fn state_moves_from_a_directory_to_the_shared_store_and_back() {
    let Some(store) = StoreServer::start(&[]) else { return };
    let on_disk = Workspace::new(&format!("gateway.state = \"state\"\n{STATEFUL}"));
    for (key, value) in [("a", "one"), ("b", "zwei\n\u{e4}")] {
        let arguments = [format!("key={key}"), format!("value={value}")];
        let run = on_disk.run(&["call", "stateful_set", &arguments[0], &arguments[1]]);
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    }
    let succeed = |workspace: &Workspace, arguments: &[&str], input: &str| {
        let mut command = workspace.command(arguments);
        command.stdin(Pipe::piped()).stdout(Pipe::piped()).stderr(Pipe::piped());
        let mut process = command.spawn().unwrap();
        process.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = process.wait_with_output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let exported = succeed(&on_disk, &["state", "export"], "");
    let lines: Vec<Value> = exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0], json!({ "owner": "plugin:stateful", "key": "a", "value": "one" }));
    // The plugin also counts how often it was asked for its lists.
    assert_eq!(lines.len(), 3, "{exported}");

    let shared = replica(&store, STATEFUL);
    let binary = "{\"owner\":\"plugin:stateful\",\"key\":\"bytes\",\"base64\":\"AP8=\"}\n";
    succeed(&shared, &["state", "import"], &format!("{exported}{binary}"));
    assert_eq!(call(&Http::start(&shared), "stateful_get", json!({ "key": "b" })), "zwei\n\u{e4}");
    assert!(succeed(&shared, &["state", "list"], "").starts_with("plugin:stateful  "));
    assert_eq!(succeed(&shared, &["state", "list", "plugin:stateful"], ""), "a\nasked\nb\nbytes\n");
    assert_eq!(succeed(&shared, &["state", "get", "plugin:stateful", "a"], ""), "one\n");
    succeed(&shared, &["state", "rm", "plugin:stateful", "a"], "");
    let exported = succeed(&shared, &["state", "export"], "");
    assert!(exported.ends_with(binary) && exported.lines().count() == 3, "{exported}");

    succeed(&on_disk, &["state", "rm", "plugin:stateful", "--all"], "");
    assert_eq!(succeed(&on_disk, &["state", "export"], ""), "");
    succeed(&on_disk, &["state", "import"], &exported);
    assert_eq!(succeed(&on_disk, &["state", "export"], ""), exported);
    let refused = on_disk.run(&["state", "list", "notes"]);
    assert_eq!(refused.status.code(), Some(2), "an owner has a kind");
}
