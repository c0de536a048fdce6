//! Traces and metrics over OTLP: names, parents and attributes of spans, sampling, and collectors that don't respond.

use std::process::Command;
use std::time::{Duration, Instant};

use moongate_tests::{
    Collector, Http, ReceivedSeries, ReceivedSpan, Stdio, TestServer, Workspace, stateless_request,
    wait_until,
};
use serde_json::{Value, json};

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT_SPAN: &str = "b7ad6b7169203331";
const OTHER_PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

const GATEWAY: &str = r#"
[http]
listen = "127.0.0.1:0"
[admin]
listen = "127.0.0.1:0"
"#;

/// A gateway with the zoo, this telemetry and these grants.
fn workspace(telemetry: &str, allow: &str) -> Workspace {
    let plugin = "[plugins.zoo]\nsource = \"@zoo@\"\n[plugins.zoo.allow]\n";
    Workspace::new(&format!("{GATEWAY}{telemetry}\n{plugin}{allow}\n"))
}

/// The command that serves it, and sends spans at once.
fn command(workspace: &Workspace) -> Command {
    let mut command = workspace.command(&["serve", "--log-format", "json"]);
    command.env("OTEL_BSP_SCHEDULE_DELAY", "1");
    command
}

fn exporting_to(collector: &Collector, more: &str) -> String {
    format!("[telemetry]\notlp = \"{}\"\n{more}", collector.url())
}

/// Calls a tool with this `_meta.traceparent` and this header.
fn call(http: &Http, tool: &str, arguments: &Value, meta: Option<&str>, header: Option<&str>) -> Value {
    let mut message = stateless_request(7, "tools/call", json!({ "name": tool, "arguments": arguments }));
    if let Some(parent) = meta {
        message["params"]["_meta"]["traceparent"] = parent.into();
    }
    let mut headers =
        vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)];
    headers.extend(header.map(|parent| ("traceparent", parent)));
    http.post(&headers, &message).json()
}

#[track_caller]
fn span<'s>(spans: &'s [ReceivedSpan], name: &str) -> &'s ReceivedSpan {
    let found: Vec<_> = spans.iter().filter(|span| span.name == name).collect();
    let [span] = found[..] else { panic!("{name}: {spans:#?}") };
    span
}

#[track_caller]
fn assert_attributes(span: &ReceivedSpan, expected: &[(&str, &str)]) {
    for (key, value) in expected {
        assert_eq!(span.attributes.get(*key).map(String::as_str), Some(*value), "{key} of {span:#?}");
    }
}

#[test]
fn spans_have_names_parents_and_attributes() {
    let collector = Collector::start();
    let remote = TestServer::start();
    remote.put("/bot-hunter2/send?key=hunter2", &[], "sent");
    let url = remote.url("/bot-hunter2/send?key=hunter2");
    let grant = format!(
        "http = [{{ url = \"{}\", networks = [\"127.0.0.1/32\"], trace_context = true }}]",
        remote.origin()
    );
    let workspace = workspace(&exporting_to(&collector, ""), &grant);
    let http = Http::spawn(command(&workspace));
    let arguments = json!({ "request": { "url": url } });
    let answer = call(&http, "zoo_http_request", &arguments, Some(PARENT), Some(OTHER_PARENT));
    assert!(answer["result"]["structuredContent"]["status"] == 200, "{answer}");
    let spans = collector.wait_for_spans(3);

    let server = span(&spans, "tools/call zoo_http_request");
    assert_eq!((&*server.kind, &*server.trace_id, &*server.parent), ("SPAN_KIND_SERVER", TRACE, PARENT_SPAN));
    let link = ("4bf92f3577b34da6a3ce929d0e0e4736".to_owned(), "00f067aa0ba902b7".to_owned());
    assert_eq!((server.is_error, &server.links), (false, &vec![link]));
    assert_attributes(
        server,
        &[
            ("mcp.method.name", "tools/call"),
            ("gen_ai.tool.name", "zoo_http_request"),
            ("gen_ai.operation.name", "execute_tool"),
            ("jsonrpc.request.id", "7"),
            ("mcp.protocol.version", "2026-07-28"),
            ("network.transport", "tcp"),
            ("network.protocol.name", "http"),
            ("client.address", "127.0.0.1"),
        ],
    );
    assert_eq!(server.resource["service.name"], "moongate");
    assert!(server.resource.contains_key("service.instance.id"));

    let run = span(&spans, "run zoo");
    assert_eq!((&*run.kind, &*run.trace_id, &run.parent), ("SPAN_KIND_INTERNAL", TRACE, &server.span_id));
    assert_attributes(
        run,
        &[("moongate.plugin.name", "zoo"), ("moongate.call.kind", "tool"), ("moongate.call.outcome", "ok")],
    );
    assert!(run.nanos <= server.nanos, "{run:#?} {server:#?}");

    let client = span(&spans, "GET");
    assert_eq!((&*client.kind, &*client.trace_id, &client.parent), ("SPAN_KIND_CLIENT", TRACE, &run.span_id));
    let port = remote.address().port().to_string();
    let shown = remote.url("/REDACTED");
    assert_attributes(
        client,
        &[
            ("http.request.method", "GET"),
            ("http.response.status_code", "200"),
            ("server.address", "127.0.0.1"),
            ("server.port", &port),
            ("url.full", &shown),
            ("moongate.plugin.name", "zoo"),
        ],
    );
    let sent = &remote.requests()[0];
    let expected = format!("00-{TRACE}-{}-01", client.span_id);
    assert_eq!(sent.header("traceparent"), Some(&*expected), "{sent:?}");
    http.wait_for_log(&format!("\"trace_id\":\"{TRACE}\""));
    assert!(collector.heads()[0].contains("application/x-protobuf"), "{:?}", collector.heads());
}

#[test]
fn servers_learn_no_trace_without_a_grant() {
    let collector = Collector::start();
    let remote = TestServer::start();
    let grant = format!("http = [{{ url = \"{}\", networks = [\"127.0.0.1/32\"] }}]", remote.origin());
    let workspace = workspace(&exporting_to(&collector, ""), &grant);
    let http = Http::spawn(command(&workspace));
    let url = remote.url("/hello");
    let _ = call(&http, "zoo_http_request", &json!({ "request": { "url": url } }), None, Some(PARENT));
    let spans = collector.wait_for_spans(3);
    assert_eq!(span(&spans, "GET").trace_id, TRACE, "the header counts if `_meta` has no parent");
    assert_eq!(remote.requests()[0].header("traceparent"), None);
    let _ =
        call(&http, "zoo_http_request", &json!({ "request": { "url": "https://example.com/" } }), None, None);
    let spans = collector.wait_for_spans(6);
    let denied =
        spans.iter().find(|span| span.attributes.get("server.address").is_some_and(|it| it == "example.com"));
    let denied = denied.unwrap();
    assert_eq!((denied.is_error, &*denied.attributes["error.type"]), (true, "denied"));
}

#[test]
fn errors_have_types_and_failed_spans() {
    let collector = Collector::start();
    let workspace = workspace(&exporting_to(&collector, ""), "");
    let http = Http::spawn(command(&workspace));
    let _ = call(&http, "zoo_error_result", &json!({}), None, None);
    let _ = call(&http, "zoo_panic", &json!({}), None, None);
    let _ = call(&http, "zoo_made_up", &json!({}), None, None);
    let spans = collector.wait_for_spans(5);
    let failed = span(&spans, "tools/call zoo_error_result");
    assert!(failed.is_error && failed.parent.is_empty(), "{failed:#?}");
    assert_attributes(failed, &[("error.type", "tool_error")]);
    let trap = span(&spans, "tools/call zoo_panic");
    assert!(trap.is_error);
    assert_attributes(trap, &[("error.type", "tool_error")]);
    // Names that clients make up aren't names of spans.
    let unknown = span(&spans, "tools/call");
    assert_attributes(unknown, &[("error.type", "-32602"), ("rpc.response.status_code", "-32602")]);
    let runs: Vec<_> = spans.iter().filter(|span| span.name == "run zoo").collect();
    let outcomes: Vec<_> = runs.iter().map(|run| &*run.attributes["moongate.call.outcome"]).collect();
    assert_eq!(outcomes, ["tool_error", "trap"]);
}

#[test]
fn strangers_do_not_decide_what_is_traced() {
    let collector = Collector::start();
    let workspace = workspace(&exporting_to(&collector, "sample_percent = 0"), "");
    let http = Http::spawn(command(&workspace));
    let admin = http.admin();
    let _ = call(&http, "zoo_echo", &json!({ "text": "a" }), Some(OTHER_PARENT), None);
    http.wait_for_log("\"trace_id\":\"4bf92f3577b34da6a3ce929d0e0e4736\"");
    for outcome in ["exported", "dropped", "failed"] {
        let metric = format!("moongate_otlp_spans_total{{outcome=\"{outcome}\"}}");
        assert_eq!(admin.metric(&metric), Some(0.0));
    }
    assert!(http.terminate().0.success());
    assert_eq!(collector.spans().len(), 0);

    let workspace =
        self::workspace(&exporting_to(&collector, "sample_percent = 0\nfollow_callers = true"), "");
    let http = Http::spawn(command(&workspace));
    let _ = call(&http, "zoo_echo", &json!({ "text": "a" }), Some(OTHER_PARENT), None);
    let spans = collector.wait_for_spans(2);
    assert_eq!(spans[0].trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
}

#[test]
fn metrics_are_exported_when_the_gateway_stops() {
    let collector = Collector::start();
    let workspace = workspace(&exporting_to(&collector, "signals = [\"metrics\"]"), "");
    let http = Http::spawn(command(&workspace));
    let _ = call(&http, "zoo_echo", &json!({ "text": "a" }), None, None);
    let _ = call(&http, "zoo_error_result", &json!({}), None, None);
    assert!(http.terminate().0.success());
    let all = collector.series();
    let series: Vec<_> = all.iter().filter(|one| one.name == "mcp.server.operation.duration").collect();
    let of = |tool: &str| {
        let is =
            |one: &&&ReceivedSeries| one.attributes.get("gen_ai.tool.name").is_some_and(|name| name == tool);
        series.iter().find(is).unwrap_or_else(|| panic!("{tool}: {all:#?}"))
    };
    let echo = of("zoo_echo");
    assert_eq!((&*echo.unit, echo.count, &echo.bounds[..2]), ("s", 1, &[0.01, 0.02][..]));
    assert_eq!(echo.attributes["mcp.method.name"], "tools/call");
    assert_eq!(of("zoo_error_result").attributes["error.type"], "tool_error");
    assert_eq!(collector.spans().len(), 0);
}

#[test]
fn durations_of_sessions_are_exported() {
    let collector = Collector::start();
    let workspace = workspace(&exporting_to(&collector, "signals = [\"metrics\"]"), "");
    let http = Http::spawn(command(&workspace));
    let ended = http.open_session(&[], "2025-06-18");
    let _ = http.open_session(&[], "2025-11-25"); // ends with the gateway
    let reply = http.send("DELETE", "/mcp", &[("MCP-Session-Id", &ended)], b"");
    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(http.terminate().0.success());
    let all = collector.series();
    let series: Vec<_> = all.iter().filter(|one| one.name == "mcp.server.session.duration").collect();
    assert_eq!(series.len(), 2, "{all:#?}");
    for revision in ["2025-06-18", "2025-11-25"] {
        let of = |one: &&&ReceivedSeries| one.attributes["mcp.protocol.version"] == revision;
        let one = series.iter().find(of).unwrap_or_else(|| panic!("{revision}: {all:#?}"));
        assert_eq!((&*one.unit, one.count, one.bounds.last()), ("s", 1, Some(&300.0)));
        assert_eq!(one.attributes["network.transport"], "tcp");
        assert_eq!(one.attributes["network.protocol.name"], "http");
    }

    let collector = Collector::start();
    let workspace = self::workspace(&exporting_to(&collector, ""), "");
    let stdio = Stdio::spawn_initialized(workspace.command(&["serve", "--stdio"]), "2025-11-25");
    assert!(stdio.finish().1.success());
    let all = collector.series();
    let series: Vec<_> = all.iter().filter(|one| one.name == "mcp.server.session.duration").collect();
    let [one] = series[..] else { panic!("{all:#?}") };
    assert_eq!((&*one.attributes["network.transport"], one.count), ("pipe", 1));
}

#[test]
fn standard_variables_turn_the_export_on() {
    let collector = Collector::start();
    let workspace = workspace("", "");
    let mut exporting = command(&workspace);
    exporting.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url());
    exporting.env("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=acme");
    exporting
        .env("OTEL_SERVICE_NAME", "front-door")
        .env("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test");
    let http = Http::spawn(exporting);
    let _ = call(&http, "zoo_echo", &json!({ "text": "a" }), None, None);
    let spans = collector.wait_for_spans(2);
    assert_eq!(spans[0].resource["service.name"], "front-door");
    assert_eq!(spans[0].resource["deployment.environment.name"], "test");
    assert!(collector.heads()[0].contains("x-tenant: acme"), "{:?}", collector.heads());
    http.wait_for_log(&format!("\"telemetry\":\"{}\"", collector.url()));
    drop(http);

    let mut disabled = command(&workspace);
    disabled.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()).env("OTEL_SDK_DISABLED", "true");
    let received = collector.heads().len();
    let http = Http::spawn(disabled);
    let _ = call(&http, "zoo_echo", &json!({ "text": "a" }), None, None);
    assert!(http.terminate().0.success());
    assert_eq!(collector.heads().len(), received);
}

#[test]
fn configured_headers_replace_those_of_the_environment() {
    let collector = Collector::start();
    let header = "headers = { authorization = { env = \"COLLECTOR_TOKEN\", prefix = \"Bearer \" } }";
    let workspace = workspace(&exporting_to(&collector, header), "");
    let mut exporting = command(&workspace);
    exporting.env("COLLECTOR_TOKEN", "to%2Bken");
    exporting.env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20other,x-tenant=acme");
    let http = Http::spawn(exporting);
    let _ = call(&http, "zoo_echo", &json!({ "text": "a" }), None, None);
    let _ = collector.wait_for_spans(2);
    let head = &collector.heads()[0];
    assert!(head.contains("authorization: Bearer to%2Bken\r\n"), "{head}");
    assert!(head.contains("content-type: application/x-protobuf\r\n"), "{head}");
    assert!(!head.contains("x-tenant") && !head.contains("other"), "{head}");
}

#[test]
fn dead_collector_delays_neither_calls_nor_the_stop() {
    let address = "127.0.0.1:1"; // nobody listens there
    let workspace = workspace(&format!("[telemetry]\notlp = \"http://{address}\""), "");
    let http = Http::spawn(command(&workspace));
    let answer = call(&http, "zoo_echo", &json!({ "text": "a" }), None, None);
    assert!(answer["result"].is_object(), "{answer}");
    http.wait_for_log(&format!("can't export traces to http://{address}"));
    let stopping = Instant::now();
    assert!(http.terminate().0.success());
    assert!(stopping.elapsed() < Duration::from_secs(60), "{:?}", stopping.elapsed());
}

#[test]
fn slow_collector_delays_neither_calls_nor_the_stop() {
    let collector = Collector::start_hanging();
    let workspace = workspace(&exporting_to(&collector, "traces_per_second = 100000"), "");
    let mut command = command(&workspace);
    // Longer than the test waits for anything.
    command.env("OTEL_EXPORTER_OTLP_TIMEOUT", "600000").env("OTEL_BSP_MAX_QUEUE_SIZE", "4");
    let http = Http::spawn(command);
    let admin = http.admin();
    wait_until("spans are dropped", || {
        let answer = call(&http, "zoo_echo", &json!({ "text": "a" }), None, None);
        assert!(answer["result"].is_object(), "{answer}");
        admin.metric("moongate_otlp_spans_total{outcome=\"dropped\"}").is_some_and(|dropped| dropped > 0.0)
    });
    let stopping = Instant::now();
    assert!(http.terminate().0.success());
    assert!(stopping.elapsed() < Duration::from_secs(60), "{:?}", stopping.elapsed());
}

#[test]
fn spans_that_a_collector_rejects_are_counted_and_logged() {
    let collector = Collector::start_rejecting();
    let workspace = workspace(&exporting_to(&collector, ""), "");
    let http = Http::spawn(command(&workspace));
    let answer = call(&http, "zoo_echo", &json!({ "text": "a" }), None, None);
    assert!(answer["result"].is_object(), "{answer}");
    let spans = |outcome: &str| {
        http.admin()
            .metric(&format!("moongate_otlp_spans_total{{outcome=\"{outcome}\"}}"))
            .unwrap_or_default()
    };
    wait_until("the run and the request are exported", || spans("exported") + spans("failed") >= 2.0);
    assert!(spans("failed") >= 1.0, "{} failed", spans("failed"));
    http.wait_for_log("rejected some of the traces: too");
    assert!(!http.log().contains('\u{1b}'), "{}", http.log());
}
