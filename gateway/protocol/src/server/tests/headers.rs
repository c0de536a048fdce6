//! Headers that repeat the body (2026-07-28): how they are compared, and when in the order of checks.

use crate::dispatch::{StartupStages, StartupWait};

use super::*;

/// A gateway with a tool whose arguments clients repeat in headers.
fn server() -> Arc<Server> {
    let annotated = |kind: &str, name: &str| json!({ "type": kind, "x-mcp-header": name });
    let schema = json!({
        "type": "object",
        "properties": {
            "region": annotated("string", "Region"),
            "level": annotated("integer", "Level"),
            "dry": annotated("boolean", "Dry"),
            "deep": { "type": "object", "properties": { "er": annotated("string", "Deeper") } },
            "plain": { "type": "string" },
        },
        "required": ["region"],
    });
    let mut fake = FakePlugin::new("a").tool("fine", &schema, None);
    fake.on_tool = Some(Box::new(|_, (_, text)| {
        let content = vec![crate::call::Content::text(text)];
        ready(Ok(Outcome::Done(ToolResult { content, ..ToolResult::default() })))
    }));
    serving(catalog(vec![fake.into_catalog_plugin(|_| {})]))
}

fn stateless(id: u64, method: &str, mut params: Value) -> Vec<u8> {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    request(id, method, &params)
}

/// The headers of every call to the tool, and more.
fn with(more: &[(&'static str, &str)]) -> Pairs {
    let standard =
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "a_fine")];
    Pairs(standard.iter().chain(more).map(|(name, value)| (*name, (*value).to_owned())).collect())
}

/// Status and error code of a call with these arguments and headers.
async fn judged(
    server: &Arc<Server>,
    arguments: &Value,
    more: &[(&'static str, &str)],
) -> (u16, Option<i64>) {
    let call = stateless(7, "tools/call", json!({ "name": "a_fine", "arguments": arguments }));
    let reply = post(server, &with(more), &call).await;
    let body = body(&reply);
    assert_eq!(body["id"], 7, "{body}");
    (reply.status, body["error"]["code"].as_i64())
}

const FINE: (u16, Option<i64>) = (200, None);
const MISMATCH: (u16, Option<i64>) = (400, Some(-32020));

#[tokio::test]
async fn parameter_headers_must_match_the_arguments() {
    let server = server();
    for (region, header, expected) in [
        ("eu", "eu", FINE),
        ("eu", "EU", MISMATCH),
        ("eu", "us", MISMATCH),
        ("", "", FINE),
        ("Hello", "=?base64?SGVsbG8=?=", FINE),
        ("Hello", "=?base64?SGVsbG8?=", MISMATCH), // no padding
        ("Hello", "=?base64?SGVs!!!bG8=?=", MISMATCH),
        ("Hello", "=?base64?SGVsbG9=?=", MISMATCH), // unused bits
        ("Hello", "=?BASE64?SGVsbG8=?=", MISMATCH),
        ("SGVsbG8=", "SGVsbG8=", FINE),
        ("=?base64?SGVsbG8=", "=?base64?SGVsbG8=", FINE),
        ("=?base64?SGVsbG8=?=", "=?base64?SGVsbG8=?=", MISMATCH),
        ("=?base64?SGVsbG8=?=", "=?base64?PT9iYXNlNjQ/U0dWc2JHOD0/PQ==?=", FINE),
        ("Zürich", "=?base64?WsO8cmljaA==?=", FINE),
        ("Zürich", "=?base64?WvxyaWNo?=", MISMATCH), // not UTF-8
        ("", "=?base64??=", FINE),
    ] {
        let arguments = json!({ "region": region });
        assert_eq!(
            judged(&server, &arguments, &[("mcp-param-region", header)]).await,
            expected,
            "{region} {header}"
        );
    }
}

#[tokio::test]
async fn compares_header_numbers_by_value() {
    let server = server();
    for (level, header, expected) in [
        (json!(42), "42", FINE),
        (json!(42), "42.0", FINE),
        (json!(42), "4.2e1", FINE),
        (json!(42.0), "42", FINE),
        (json!(-7), "-7", FINE),
        (json!(0), "-0", FINE),
        (json!(42), "43", MISMATCH),
        (json!(42), "+42", MISMATCH),
        (json!(42), "042", MISMATCH),
        (json!(42), "0x2a", MISMATCH),
        (json!(42), "4 2", MISMATCH),
        (json!(42), "=?base64?IDQy?=", MISMATCH), // a leading space
        (json!(42), "", MISMATCH),
        (json!(9_007_199_254_740_993_u64), "9007199254740993", FINE),
        (json!(9_007_199_254_740_993_u64), "9007199254740992", MISMATCH),
        (json!(9_007_199_254_740_993_u64), "9007199254740992.0", MISMATCH),
    ] {
        let arguments = json!({ "region": "eu", "level": level });
        let headers = [("mcp-param-region", "eu"), ("mcp-param-level", header)];
        assert_eq!(judged(&server, &arguments, &headers).await, expected, "{level} {header}");
    }
    for (dry, header, expected) in
        [(true, "true", FINE), (false, "false", FINE), (true, "TRUE", MISMATCH), (true, "1", MISMATCH)]
    {
        let arguments = json!({ "region": "eu", "dry": dry });
        let headers = [("mcp-param-region", "eu"), ("mcp-param-dry", header)];
        assert_eq!(judged(&server, &arguments, &headers).await, expected, "{dry} {header}");
    }
}

#[tokio::test]
async fn requires_headers_for_present_arguments_only() {
    let server = server();
    let region = ("mcp-param-region", "eu");
    assert_eq!(judged(&server, &json!({ "region": "eu" }), &[]).await, MISMATCH);
    assert_eq!(judged(&server, &json!({ "region": "eu" }), &[region, region]).await, MISMATCH, "twice");
    let none = json!({ "region": "eu", "level": null });
    assert_eq!(judged(&server, &none, &[region, ("mcp-param-level", "0")]).await, MISMATCH);
    assert_eq!(
        judged(&server, &json!({ "region": "eu" }), &[region, ("mcp-param-dry", "false")]).await,
        MISMATCH
    );
    assert_eq!(judged(&server, &json!({ "region": "eu" }), &[region, ("mcp-param-other", "x")]).await, FINE);
    assert_eq!(judged(&server, &json!({ "region": "eu", "plain": "x" }), &[region]).await, FINE);
    let deep = json!({ "region": "eu", "deep": { "er": "x" } });
    assert_eq!(judged(&server, &deep, &[region]).await, MISMATCH);
    assert_eq!(judged(&server, &deep, &[region, ("mcp-param-deeper", "x")]).await, FINE);
    assert_eq!(judged(&server, &json!({ "region": "eu", "deep": {} }), &[region]).await, FINE);
}

#[tokio::test]
async fn checks_parameter_headers_after_method_before_parameters() {
    let server = server();
    // The standard headers come first.
    let call = stateless(1, "tools/call", json!({ "name": "a_fine", "arguments": { "region": "eu" } }));
    let reply = post(&server, &Pairs(vec![("mcp-protocol-version", "2026-07-28".to_owned())]), &call).await;
    let message = body(&reply)["error"]["message"].as_str().unwrap().to_owned();
    assert!(reply.status == 400 && message.contains("`Mcp-Method`"), "{message}");
    // Then the argument's, although the other argument doesn't match the schema either.
    let wrong = json!({ "region": "eu", "level": "high" });
    assert_eq!(judged(&server, &wrong, &[("mcp-param-level", "high")]).await, MISMATCH);
    // A value that doesn't match the schema is repeated literally, and the model gets the error.
    let both = [("mcp-param-level", "high"), ("mcp-param-region", "eu")];
    assert_eq!(judged(&server, &wrong, &both).await, FINE);
    let list = json!({ "region": ["eu"] });
    assert_eq!(
        judged(&server, &list, &[]).await,
        FINE,
        "no header can express it; the schema reports the error"
    );
    assert_eq!(judged(&server, &list, &[("mcp-param-region", "eu")]).await, MISMATCH);
    // The error names arguments that aren't an object, and unknown tools.
    assert_eq!(judged(&server, &json!([1]), &[]).await, (200, Some(-32602)));
    let call = stateless(1, "tools/call", json!({ "name": "a_none", "arguments": { "region": "eu" } }));
    let mut headers = with(&[]);
    headers.0[2].1 = "a_none".to_owned();
    let reply = post(&server, &headers, &call).await;
    assert_eq!((reply.status, &body(&reply)["error"]["code"]), (200, &json!(-32602)));
}

#[tokio::test]
async fn sessions_and_stdio_ignore_parameter_headers() {
    let server = server();
    let headers = session(&server).await;
    let call = request(1, "tools/call", &json!({ "name": "a_fine", "arguments": { "region": "eu" } }));
    assert!(body(&post(&server, &headers, &call).await).get("result").is_some());
    let call = stateless(1, "tools/call", json!({ "name": "a_fine", "arguments": { "region": "eu" } }));
    let answer = line(&server, &StdioConnection::new(), &call).await.unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], r#"{"region":"eu"}"#);
}

#[tokio::test]
async fn hides_invalid_header_annotations() {
    let schema = json!({
        "type": "object",
        "properties": { "a": { "type": "number", "x-mcp-header": "A" }, "b": { "type": "string", "x-mcp-header": "B" } },
    });
    let catalog_plugin =
        FakePlugin::new("a").tool("fine", &schema, None).into_catalog_plugin(|config| config.place = 3..4);
    let [warning] = catalog_plugin.problems().try_into().unwrap();
    assert!(warning.message.contains("`/properties/a`") && warning.message.contains("`fine`"), "{warning}");
    assert_eq!((warning.is_error(), warning.span), (false, Some(3..4)));
    let server = serving(catalog(vec![catalog_plugin]));
    let connection = StdioConnection::new();
    let answer = line(&server, &connection, &stateless(1, "tools/list", json!({}))).await.unwrap();
    let properties = &answer["result"]["tools"][0]["inputSchema"]["properties"];
    assert_eq!(
        properties,
        &json!({ "a": { "type": "number" }, "b": { "type": "string", "x-mcp-header": "B" } })
    );
}

/// Only a well-formed request waits for plugins that are being loaded.
#[tokio::test(start_paused = true)]
async fn malformed_calls_do_not_wait_for_the_start() {
    let (_keep, seen) = watch::channel(catalog(Vec::new()));
    let dispatcher = Dispatcher::new(seen, Arc::new(ConcurrencyLimiter::new(8)));
    let max_wait = Some(Duration::from_secs(60));
    let dispatcher = dispatcher.with_startup_wait(StartupWait::new(StartupStages::default(), max_wait));
    let server = serving_dispatched(dispatcher, Arc::default(), None, CacheScope::Public);
    let call = stateless(7, "tools/call", json!({ "name": "a_fine", "arguments": {} }));
    let headers = |name: &str, value: &str| {
        let mut headers = with(&[]);
        headers.0.iter_mut().filter(|(known, _)| *known == name).for_each(|(_, its)| *its = value.to_owned());
        headers
    };
    let without_envelope = request(7, "tools/call", &json!({ "name": "a_fine", "arguments": {} }));
    for (headers, call) in [
        (headers("mcp-protocol-version", "2025-11-25"), &call),
        (headers("mcp-method", "tools/list"), &call),
        (headers("mcp-name", "a_other"), &call),
        (with(&[]), &without_envelope),
    ] {
        let started = tokio::time::Instant::now();
        assert_eq!(post(&server, &headers, call).await.status, 400);
        assert_eq!(started.elapsed(), Duration::ZERO);
    }
    let started = tokio::time::Instant::now();
    let reply = post(&server, &with(&[]), &call).await;
    assert!(body(&reply)["error"].is_object());
    assert!(started.elapsed() >= Duration::from_secs(60), "{:?}", started.elapsed());
}
