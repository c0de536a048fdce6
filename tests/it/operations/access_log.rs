//! The access log: one line for each call over HTTP, with its caller and outcome, that no name can forge.

use std::net::Shutdown;
use std::time::Instant;

use moongate_tests::{
    AuthorizationServer, Http, SigningKey, Stdio, Workspace, request, stateless_request, wait_until,
};
use serde_json::{Value, json};

const GATEWAY: &str = r#"
[http]
auth.tokens = [{ name = "ci", token = { file = "ci" } }]
[admin]
listen = "127.0.0.1:0"
[plugins.zoo]
source = "@zoo@"
[plugins.zoo.limits]
timeout = "8s"
cpu_time = "500ms"
concurrency = 1
queue = 0
[plugins.zoo.rates.strange_description]
calls = { rate = "1/d", burst = 1 }
"#;

const TRACE_PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn start(workspace: &Workspace, format: &str) -> Http {
    workspace.write("ci", "ci-has-a-long-secret-of-its-own");
    Http::spawn(workspace.command(&["serve", "--http", "127.0.0.1:0", "--log-format", format]))
}

fn call(http: &Http, token: &str, params: Value) -> Value {
    let name = params["name"].as_str().unwrap().to_owned();
    let token = format!("Bearer {token}");
    let headers = [
        ("Authorization", &*token),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", &*name),
    ];
    let mut message = stateless_request(1, "tools/call", params);
    message["params"]["_meta"]["traceparent"] = TRACE_PARENT.into();
    http.post(&headers, &message).json()
}

/// The lines of the access log. Every other line must be JSON, too.
#[track_caller]
fn lines(log: &str) -> Vec<Value> {
    let lines =
        log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")));
    lines.filter(|line: &Value| line["target"] == "moongate::access").collect()
}

/// Waits for so many lines: they are written after the response.
#[track_caller]
fn wait_for_lines(http: &Http, count: usize) -> Vec<Value> {
    wait_until("the lines of the access log", || lines(&http.log()).len() >= count);
    let all = lines(&http.log());
    assert_eq!(all.len(), count, "{all:#?}");
    all
}

#[test]
fn each_call_has_one_line_with_its_outcome() {
    let workspace = Workspace::new(GATEWAY);
    let http = start(&workspace, "json");
    let secret = "ci-has-a-long-secret-of-its-own";
    let mut count = 0;
    for (tool, arguments, outcome) in [
        ("echo", json!({ "text": "private words" }), "ok"),
        ("error_result", json!({}), "tool_error"),
        ("echo", json!({ "text": 1 }), "invalid_arguments"),
        ("panic", json!({}), "trap"),
        ("spin_forever", json!({}), "cpu_time"),
        ("sleep_forever", json!({}), "timeout"),
    ] {
        let _ = call(&http, secret, json!({ "name": format!("zoo_{tool}"), "arguments": arguments }));
        count += 1;
        let line = wait_for_lines(&http, count).pop().unwrap();
        assert_eq!(line["outcome"], outcome, "{line}");
    }
    let all = wait_for_lines(&http, count);
    for line in &all {
        assert_eq!(
            (&line["level"], &line["caller"], &line["plugin"]),
            (&json!("INFO"), &json!("ci"), &json!("zoo"))
        );
        assert_eq!(line["kind"], "tool", "{line}");
        assert_eq!(line["trace_id"], "0af7651916cd43dd8448eb211c80319c", "{line}");
        assert!(line["duration_ms"].is_f64(), "{line}");
        assert!(line["tool"].as_str().unwrap().starts_with("zoo_"), "{line}");
    }
    assert!(all[5]["duration_ms"].as_f64().unwrap() >= 8_000.0 && all[5]["waited_ms"].is_f64(), "{}", all[5]);
    let log = http.log();
    assert!(!log.contains("private words") && !log.contains(secret), "{log}");

    // Without a trace context in the message, the HTTP request's counts.
    let mut headers = vec![
        ("Authorization", "Bearer ci-has-a-long-secret-of-its-own"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "zoo_echo"),
    ];
    let message =
        stateless_request(1, "tools/call", json!({ "name": "zoo_echo", "arguments": { "text": "a" } }));
    for (header, id) in [
        (
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            json!("4bf92f3577b34da6a3ce929d0e0e4736"),
        ),
        ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", Value::Null),
        ("not a trace", Value::Null),
    ] {
        headers.push(("traceparent", header));
        assert_eq!(http.post(&headers, &message).status, 200);
        headers.pop();
        count += 1;
        let line = wait_for_lines(&http, count).pop().unwrap();
        assert_eq!(line["trace_id"], id, "{line}");
    }

    // Unknown names belong to the client.
    let _ = call(&http, secret, json!({ "name": "zoo_nobody has \"this\"", "arguments": {} }));
    let unknown = wait_for_lines(&http, count + 1).pop().unwrap();
    assert_eq!((&unknown["outcome"], &unknown["plugin"]), (&json!("unknown"), &Value::Null), "{unknown}");
    assert_eq!(unknown["name"], r#"zoo_nobody has \"this\""#, "{unknown}");
    let headers = [
        ("Authorization", "Bearer ci-has-a-long-secret-of-its-own"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "resources/read"),
        ("Mcp-Name", "zoo://private/page"),
    ];
    let read = stateless_request(1, "resources/read", json!({ "uri": "zoo://private/page" }));
    assert!(http.post(&headers, &read).json()["error"].is_object());
    let unknown = wait_for_lines(&http, count + 2).pop().unwrap();
    assert_eq!((&unknown["kind"], &unknown["name"]), (&json!("resource"), &Value::Null), "{unknown}");
}

#[test]
fn abandoned_refused_and_batched_calls_have_one_line() {
    let workspace = Workspace::new(&GATEWAY.replace("8s", "120s"));
    let http = start(&workspace, "json");
    let token = "Bearer ci-has-a-long-secret-of-its-own";
    let headers = [("Authorization", token)];
    let running = "moongate_plugin_instances{plugin=\"zoo\"}";
    let abandoned = http.start_call_with(&headers, "zoo_sleep_forever", json!({}));
    wait_until("it runs", || http.admin().metric(running) == Some(1.0));
    let echo = json!({ "name": "zoo_echo", "arguments": { "text": "a" } });
    let _ = call(&http, &token["Bearer ".len()..], echo.clone());
    abandoned.shutdown(Shutdown::Both).unwrap();
    wait_until("it ended", || http.admin().metric(running) == Some(0.0));
    let session = http.open_session(&headers, "2025-03-26");
    let headers = [("Authorization", token), ("Mcp-Session-Id", &*session)];
    let sum = json!({ "name": "zoo_strange_description", "arguments": {} });
    let reply = http.post(
        &headers,
        &json!([
            request(2, "tools/call", sum.clone()),
            request(3, "tools/call", sum),
            request(4, "ping", json!({}))
        ]),
    );
    assert_eq!(reply.status, 200, "{reply:?}");
    let mut outcomes: Vec<_> = wait_for_lines(&http, 4)
        .iter()
        .map(|line| format!("{} {} {}", line["tool"], line["outcome"], line["reason"]).replace('"', ""))
        .collect();
    outcomes.sort_unstable();
    let expected = [
        "zoo_echo busy plugin_queue",
        "zoo_sleep_forever cancelled null",
        "zoo_strange_description ok null",
        "zoo_strange_description rate_limited tool_rate",
    ];
    assert_eq!(outcomes, expected);
    for reason in ["plugin_queue", "tool_rate"] {
        let metric = format!("moongate_refused_calls_total{{reason=\"{reason}\"}}");
        assert!(http.admin().metric(&metric).is_some_and(|count| count >= 1.0), "{reason}");
    }
}

/// A caller that is refused without end doesn't fill the log.
#[test]
fn a_flood_of_refused_calls_has_a_line_a_second_for_each_reason() {
    const COUNT: u64 = 50;
    let workspace = Workspace::new(GATEWAY);
    let http = start(&workspace, "json");
    let started = Instant::now();
    for at in 0..COUNT {
        for (tool, arguments) in [
            (&*format!("zoo_nobody_{at}"), json!({})),
            ("zoo_strange_description", json!({})),
            ("zoo_echo", json!({ "text": 1 })),
        ] {
            let _ = call(
                &http,
                "ci-has-a-long-secret-of-its-own",
                json!({ "name": tool, "arguments": arguments }),
            );
        }
    }
    let seconds = started.elapsed().as_secs() + 1;
    for (outcome, most) in [("unknown", COUNT), ("rate_limited", COUNT - 1), ("invalid_arguments", COUNT)] {
        let of_outcome = || {
            let all = lines(&http.log());
            all.into_iter().filter(|line| line["outcome"] == outcome).collect::<Vec<_>>()
        };
        wait_until("the first line is written", || !of_outcome().is_empty());
        let lines = of_outcome();
        assert!(lines.len() as u64 <= seconds, "{outcome}: {lines:#?}");
        let counted: u64 = lines.iter().map(|line| line["refused"].as_u64().unwrap()).sum();
        assert!((1..=most).contains(&counted), "{outcome}: {lines:#?}");
    }
}

#[test]
fn calls_over_stdio_are_logged_at_debug_level() {
    let workspace = Workspace::with_plugin("zoo");
    for (words, count) in [
        (&["serve", "--stdio", "--log-format", "json"][..], 0),
        (&["serve", "--stdio", "--log-format", "json", "-v"], 1),
    ] {
        let mut stdio = Stdio::spawn_initialized(workspace.command(words), "2025-11-25");
        assert!(stdio.call("zoo_echo", json!({ "text": "a" }))["result"].is_object());
        let (_, _, log) = stdio.finish();
        let lines = lines(&log);
        assert_eq!(lines.len(), count, "{log}");
        for line in lines {
            assert_eq!((&line["level"], &line["caller"]), (&json!("DEBUG"), &json!("local")), "{line}");
        }
    }
}

#[test]
fn a_name_from_a_token_forges_no_line_and_is_no_label() {
    let key = SigningKey::p256("k");
    let issuer = AuthorizationServer::start(&[&key]);
    let resource = "https://gate.example/mcp";
    let configuration = format!(
        "[http.auth]\nresource = \"{resource}\"\n[[http.auth.issuers]]\nissuer = \"{}\"\nname_claim = \"nick\"\n\
         [admin]\nlisten = \"127.0.0.1:0\"\n[plugins.zoo]\nsource = \"@zoo@\"\n[callers]\ncalls = {{ rate = \"1/d\", burst = 1 }}\n",
        issuer.issuer()
    );
    let mut claims = issuer.claims(resource, "7\u{2028}\u{85}\u{202e}");
    claims["nick"] = json!("eve\" outcome=\"ok\"\n2026-11-29T00:00:00Z ERROR forged\u{1b}[31m \u{202e}");
    let token = key.token(&claims);
    let workspace = Workspace::new(&configuration);
    for format in ["text", "json"] {
        let http = start(&workspace, format);
        let name = json!({ "name": "zoo_echo", "arguments": { "text": "a" } });
        for _ in 0..2 {
            let _ = call(&http, &token, name.clone());
        }
        http.wait_for_log("rate_limited");
        let log = http.log();
        assert!(log.contains("eve"), "{log}");
        assert!(!log.lines().any(|line| line.trim_start().starts_with("2026-11-29T00:00:00Z")), "{log}");
        assert!(
            !log.contains(['\u{1b}', '\u{85}', '\u{202e}', '\u{2028}']) && !log.contains(&token),
            "{log}"
        );
        assert!(!log.contains("caller=\"eve\" outcome"), "{log}");
        let metrics = http.admin().get("/metrics").body;
        assert!(metrics.contains("outcome=\"rate_limited\"") && !metrics.contains("eve"), "{metrics}");
        assert!(!metrics.contains("moongate_caller_calls_total{"), "{metrics}");
    }
}

#[test]
fn refused_requests_are_warned_about_once_a_second_per_reason() {
    let workspace = Workspace::new(GATEWAY);
    let http = start(&workspace, "json");
    let message = request(1, "ping", json!({}));
    let good = "Bearer ci-has-a-long-secret-of-its-own";
    for _ in 0..20 {
        let _ = http.post(&[], &message);
        let _ = http.post(&[("Authorization", good), ("Origin", "https://evil.example")], &message);
    }
    let _ = http.post(&[("Authorization", "Bearer not-the-secret")], &message);
    let _ = http.send("GET", "/.well-known/oauth-protected-resource", &[], b"");
    let _ = http.send("GET", "/elsewhere?token=in-the-query", &[], b"");
    http.wait_for_log("not found");
    let log = http.log();
    let all: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |reason: &str| all.iter().filter(|line| line["reason"] == reason).collect::<Vec<_>>();
    for (reason, most) in [("missing_token", 20), ("origin", 20), ("unknown_token", 1), ("path", 1)] {
        let lines = of(reason);
        assert!((1..=most).contains(&lines.len()), "{reason}: {log}");
        for line in &lines {
            assert_eq!((&line["level"], &line["address"]), (&json!("WARN"), &json!("127.0.0.1")), "{line}");
            assert!(line["refused"].is_u64(), "{line}");
        }
    }
    assert!(of("origin").len() < 20, "{log}");
    assert!(!log.contains("not-the-secret") && !log.contains("in-the-query"), "{log}");
}
