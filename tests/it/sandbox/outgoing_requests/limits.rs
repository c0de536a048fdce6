//! Limits of outgoing requests, and misbehaving servers. The plugin gets an error for each.

use moongate_tests::{ResourceUsage, Stdio, TestServer, text};
use serde_json::{Value, json};

use super::{all_of, get, refused, request, zoo};

#[test]
fn exceeded_request_limits_are_errors_for_the_plugin() {
    let remote = TestServer::start();
    let workspace = zoo(&format!(
        "{}\n[plugins.zoo.limits]\nrequests = 5\nrequests_at_once = 3\nsent = \"64KiB\"\nreceived = \"1MiB\"",
        all_of(&remote)
    ));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let mut call =
        |tool: &str, arguments: Value| text(&stdio.call(&format!("zoo_{tool}"), arguments)).to_owned();
    let many = call("http_many", json!({ "url": remote.url("/hello") }));
    let all = "this call has used all its 5 requests (`limits.requests`)";
    assert!(many.starts_with("5 answered, then refused: InternalError(") && many.contains(all), "{many}");
    let at_once = call("http_at_once", json!({ "url": remote.url("/stall") }));
    assert_eq!(at_once, "3 open, then refused: ConnectionLimitReached");
    let all = call("http_upload", json!({ "url": remote.url("/echo"), "bytes": 65536 }));
    assert_eq!(all, "200, all written");
    let more = call("http_upload", json!({ "url": remote.url("/echo"), "bytes": 65537 }));
    assert_eq!(more, "refused: HttpRequestBodySize(Some(65536))");
    let all = get(&mut stdio, &remote.url("/bytes/1048576"));
    assert_eq!((&all["refused"], &all["read"]), (&Value::Null, &json!(1_048_576)));
    for path in ["/bytes/1048577", "/flood"] {
        let more = get(&mut stdio, &remote.url(path));
        assert_eq!(more["refused"], "HttpResponseBodySize(Some(1048576))", "{path}");
        assert!(more["read"].as_u64().unwrap() <= 1_048_576, "{path}");
    }
    let (_, _, log) = stdio.finish();
    for key in ["requests", "requests_at_once", "sent", "received"] {
        let expected = format!("raise `{key}` in `[plugins.zoo.limits]`");
        assert_eq!(log.matches(&expected).count(), 1, "{key}: {log}");
    }
}

#[test]
fn times_out_slow_responses() {
    let remote = TestServer::start();
    let workspace = zoo(&format!("{}\n[plugins.zoo.limits]\nrequest_timeout = \"1s\"", all_of(&remote)));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let silent = get(&mut stdio, &remote.url("/hang"));
    assert_eq!(silent["refused"], "HttpResponseTimeout");
    let silent = get(&mut stdio, &remote.url("/stall"));
    assert_eq!((&silent["refused"], &silent["read"]), (&json!("ConnectionReadTimeout"), &json!(1)));
    let (_, _, log) = stdio.finish();
    assert!(log.contains("`request_timeout` in `[plugins.zoo.limits]`"), "{log}");
}

#[test]
fn a_plugin_can_set_a_shorter_timeout() {
    let remote = TestServer::start();
    let workspace = zoo(&format!(
        "{}\n[plugins.zoo.limits]\ntimeout = \"1h\"\nrequest_timeout = \"1h\"",
        all_of(&remote)
    ));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for milliseconds in [0, 50] {
        let got = request(&mut stdio, json!({ "url": remote.url("/hang"), "first_byte_ms": milliseconds }));
        assert!(
            ["HttpResponseTimeout", "ConnectionTimeout"].contains(&got["refused"].as_str().unwrap()),
            "{got}"
        );
        let got =
            request(&mut stdio, json!({ "url": remote.url("/stall"), "between_bytes_ms": milliseconds }));
        assert_eq!(got["refused"], "ConnectionReadTimeout", "{got}");
    }
    remote.wait_for_open_connections(0);
}

#[test]
fn misbehaving_servers_cause_errors_without_blocking() {
    let remote = TestServer::start();
    let workspace = zoo(&all_of(&remote));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for (path, error) in [
        ("/heads", "HttpResponseHeaderSectionSize(None)"),
        ("/many-headers", "HttpResponseHeaderSectionSize(None)"),
        ("/short", "HttpResponseIncomplete"),
        ("/cut", "HttpResponseIncomplete"),
        ("/upgrade", "HttpUpgradeFailed"),
        ("/announce", "HttpResponseHeaderSectionSize(Some(262144))"),
        ("/bare", "HttpProtocolError"),
        ("/folded", "HttpProtocolError"),
        ("/split", "HttpProtocolError"),
    ] {
        assert_eq!(refused(&mut stdio, &remote.url(path)), error, "{path}");
        remote.wait_for_open_connections(0);
    }
    let early = stdio.call("zoo_http_upload", json!({ "url": remote.url("/early"), "bytes": 1_000_000 }));
    assert!(text(&early).starts_with("413"), "{early}");
    assert_eq!(get(&mut stdio, &remote.url("/hello"))["status"], 200);
}

#[test]
fn an_unsolicited_response_answers_no_other_request() {
    let remote = TestServer::start();
    let workspace = zoo(&all_of(&remote));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    assert_eq!(get(&mut stdio, &remote.url("/hints"))["body"], "hello");
    for _ in 0..20 {
        assert_eq!(get(&mut stdio, &remote.url("/poison"))["status"], 204);
        assert_eq!(get(&mut stdio, &remote.url("/hello"))["body"], "hello");
        // If the response has both lengths, the chunked encoding applies.
        assert_eq!(get(&mut stdio, &remote.url("/both"))["body"], "hello");
        assert_eq!(get(&mut stdio, &remote.url("/hello"))["body"], "hello");
    }
}

#[test]
fn limits_memory_of_unsent_requests() {
    let workspace = zoo("");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for what in ["headers", "copies", "requests", "paths", "bodies"] {
        let answer = stdio.call("zoo_http_hoard", json!({ "what": what }));
        assert_eq!(answer["result"]["isError"], true, "{what}: {answer}");
        assert!(
            text(&answer).contains("the plugin's requests and responses hold more than 1 MiB"),
            "{what}: {answer}"
        );
    }
    // Dropped requests don't count, and a normal call is below the limit.
    for (what, count, expected) in
        [("dropped", 3_000, "0 kept"), ("requests", 32, "32 kept"), ("bodies", 8, "8 kept")]
    {
        let answer = stdio.call("zoo_http_hoard", json!({ "what": what, "count": count }));
        assert_eq!(text(&answer), expected, "{what}: {answer}");
    }
}

#[test]
fn distinguishes_refused_connections_and_dns_errors() {
    let url = "http://127.0.0.1:1";
    let workspace =
        zoo(&format!("http = [{{ url = \"{url}\", networks = [\"127.0.0.0/8\"] }}, \"http://*.invalid\"]"));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    assert_eq!(refused(&mut stdio, url), "ConnectionRefused");
    assert!(refused(&mut stdio, "http://nowhere.invalid/").starts_with("DnsError"));
}

#[test]
fn ending_a_call_closes_its_requests() {
    let remote = TestServer::start();
    let workspace = zoo(&format!("{}\n[plugins.zoo.limits]\ntimeout = \"1s\"", all_of(&remote)));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for path in ["/hang", "/stall", "/flood"] {
        let answer = stdio.call("zoo_http_and_hang", json!({ "url": remote.url(path) }));
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        remote.wait_for_open_connections(0);
    }
    for path in ["/hang", "/drip"] {
        let answer = stdio.call("zoo_http_request", json!({ "request": { "url": remote.url(path) } }));
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        remote.wait_for_open_connections(0);
    }
    assert!(remote.connections() > 0, "no request reached the server");
}

#[test]
fn cancelling_a_call_closes_its_requests() {
    let remote = TestServer::start();
    let workspace = zoo(&format!("{}\n[plugins.zoo.limits]\ntimeout = \"1h\"", all_of(&remote)));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for (id, path) in [(70, "/hang"), (71, "/stall"), (72, "/flood")] {
        let arguments = json!({ "url": remote.url(path) });
        let call = json!({ "name": "zoo_http_and_hang", "arguments": arguments });
        stdio.send(&moongate_tests::request(id, "tools/call", call));
        remote.wait_for_open_connections(1);
        let cancel = json!({ "requestId": id });
        stdio.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel }));
        remote.wait_for_open_connections(0);
    }
}

#[test]
fn abandoned_requests_leave_no_connection_open() {
    let remote = TestServer::start();
    let workspace = zoo(&all_of(&remote));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let mut calls = |rounds: u64| {
        for id in 0..rounds {
            for (tool, path) in
                [("http_at_once", "/stall"), ("http_at_once", "/flood"), ("http_upload", "/early")]
            {
                let arguments = json!({ "url": remote.url(path) });
                let answer = stdio.call(&format!("zoo_{tool}"), arguments);
                assert!(answer["result"]["content"].is_array(), "{id} {tool}: {answer}");
            }
        }
        remote.wait_for_open_connections(0);
        ResourceUsage::of(stdio.pid()).descriptors
    };
    let before = calls(2);
    let after = calls(20);
    assert!(after <= before + 2, "{before} descriptors became {after}");
}

#[test]
fn limits_memory_of_kept_responses() {
    let remote = TestServer::start();
    let heavy: Vec<String> = (0..60).map(|at| format!("X-{at}: {}", "x".repeat(900))).collect();
    let heavy: Vec<&str> = heavy.iter().map(String::as_str).collect();
    remote.put("/heavy", &heavy, "hello");
    let limits = "[plugins.zoo.limits]\nrequests = 1000\nrequests_at_once = 1000";
    let workspace = zoo(&format!("{}\n{limits}", all_of(&remote)));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let answer =
        stdio.call("zoo_http_hoard_answers", json!({ "what": "trailers", "url": remote.url("/trailers") }));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(text(&answer).contains("the plugin's requests and responses hold more than 1 MiB"), "{answer}");
    for (what, path, count, expected) in [
        ("heads", "/heavy", 20, "16 kept"),
        ("unfetched", "/trailers", 100, "84 kept, then HttpResponseTrailerSectionSize(None)"),
        // Dropped responses don't count, and a normal call is below the limit.
        ("heads", "/heavy", 8, "8 kept"),
        ("trailers", "/trailers", 64, "64 kept"),
        ("dropped", "/trailers", 300, "0 kept"),
    ] {
        let arguments = json!({ "what": what, "url": remote.url(path), "count": count });
        let answer = stdio.call("zoo_http_hoard_answers", arguments);
        assert_eq!(text(&answer), expected, "{what}: {answer}");
    }
}
