//! Messages over a fake plugin: the order of checks on each transport, panics and lost connections.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::*;
use crate::call::{CallError, LogLevel, Outcome, ToolResult};
use crate::caller::Caller;
use crate::catalog::fake::{FakePlugin, IntoCatalogPlugin as _, catalog, ready};
use crate::json::Json;
use crate::limiter::ConcurrencyLimiter;
use crate::mcp::{CacheScope, Identity, SealingKey};
use crate::session::SseEvent;

mod cancel;
mod changes;
mod fuzz;
mod headers;
mod hygiene;
mod judged;
mod observer;
mod panics;
mod properties;
mod questions;
mod schemas;
mod shared;
mod unread;

/// Headers from pairs.
struct Pairs(Vec<(&'static str, String)>);

impl Headers for Pairs {
    fn get(&self, name: &str) -> Header<'_> {
        let mut all = self.0.iter().filter(|(key, _)| *key == name);
        match (all.next(), all.next()) {
            (None, _) => Header::Absent,
            (Some((_, value)), None) => Header::Text(value),
            (Some(_), Some(_)) => Header::Invalid,
        }
    }
}

fn none() -> Pairs {
    Pairs(Vec::new())
}

fn server() -> Arc<Server> {
    serving(misbehaving_catalog())
}

fn misbehaving_catalog() -> Arc<crate::catalog::Catalog> {
    let object = json!({ "type": "object" });
    let mut fake = ["fine", "panics", "hangs", "says"]
        .iter()
        .fold(FakePlugin::new("a"), |fake, name| fake.tool(name, &object, None));
    fake.on_tool = Some(Box::new(|context, (name, text)| match name.as_str() {
        "fine" => ready(Ok(Outcome::Done(ToolResult {
            content: vec![crate::call::Content::text(text)],
            ..ToolResult::default()
        }))),
        "panics" => panic!("a bug"),
        "says" => {
            context.sink.progress(1.0, Some(2.0), Some("half"));
            context.sink.progress(1.0, None, None);
            context.sink.log(LogLevel::Debug, None, &Json::string("too low"));
            context.sink.log(LogLevel::Error, Some("me"), &Json::string("careful"));
            context.sink.progress(2.0, Some(2.0), None);
            ready(Ok(Outcome::Done(ToolResult::default())))
        }
        _ => Box::pin(async move {
            context.cancel.cancelled().await;
            Err(CallError::Cancelled)
        }),
    }));
    catalog(vec![fake.into_catalog_plugin(|_| {})])
}

fn serving(catalog: Arc<crate::catalog::Catalog>) -> Arc<Server> {
    let (_keep, seen) = watch::channel(catalog);
    serving_from(seen, Arc::default())
}

fn serving_in_pages(catalog: Arc<crate::catalog::Catalog>, page_size: Option<NonZeroU32>) -> Arc<Server> {
    let (_keep, seen) = watch::channel(catalog);
    serving_with(seen, Arc::default(), page_size, CacheScope::Public)
}

fn serving_for(catalog: Arc<crate::catalog::Catalog>, cache_scope: CacheScope) -> Arc<Server> {
    let (_keep, seen) = watch::channel(catalog);
    serving_with(seen, Arc::default(), None, cache_scope)
}

fn serving_from(
    seen: watch::Receiver<Arc<crate::catalog::Catalog>>,
    updates: Arc<crate::changes::ResourceUpdates>,
) -> Arc<Server> {
    serving_with(seen, updates, None, CacheScope::Public)
}

fn serving_with(
    seen: watch::Receiver<Arc<crate::catalog::Catalog>>,
    updates: Arc<crate::changes::ResourceUpdates>,
    page_size: Option<NonZeroU32>,
    cache_scope: CacheScope,
) -> Arc<Server> {
    serving_observed(seen, updates, page_size, cache_scope, None)
}

fn serving_observed(
    seen: watch::Receiver<Arc<crate::catalog::Catalog>>,
    updates: Arc<crate::changes::ResourceUpdates>,
    page_size: Option<NonZeroU32>,
    cache_scope: CacheScope,
    observer: Option<Arc<dyn Observer>>,
) -> Arc<Server> {
    let dispatcher = Dispatcher::new(seen, Arc::new(ConcurrencyLimiter::new(8)));
    let dispatcher = match observer {
        Some(observer) => dispatcher.with_observer(observer),
        None => dispatcher,
    };
    serving_dispatched(dispatcher, updates, page_size, cache_scope)
}

fn serving_dispatched(
    dispatcher: Dispatcher,
    updates: Arc<crate::changes::ResourceUpdates>,
    page_size: Option<NonZeroU32>,
    cache_scope: CacheScope,
) -> Arc<Server> {
    Server::new(dispatcher, options(updates, page_size, cache_scope))
}

fn options(
    updates: Arc<crate::changes::ResourceUpdates>,
    page_size: Option<NonZeroU32>,
    cache_scope: CacheScope,
) -> ServerOptions {
    ServerOptions {
        protocol: ProtocolOptions {
            identity: Identity::default(),
            cache_scope,
            page_size,
            sealing_key: SealingKey::shared("test"),
            used_states: None,
        },
        max_sessions: 8,
        session_idle: Duration::from_secs(60),
        updates,
        close_streams_after: None,
        shared: None,
        memory: ServerMemory::of_process(2 << 30),
    }
}

fn request(id: u64, method: &str, params: &Value) -> Vec<u8> {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string().into_bytes()
}

fn call(id: u64, tool: &str) -> Vec<u8> {
    request(id, "tools/call", &json!({ "name": tool }))
}

fn initialize_request() -> Vec<u8> {
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    request(0, "initialize", &params)
}

/// Checks every outgoing message against the schema of its revision.
async fn line(server: &Arc<Server>, connection: &Arc<StdioConnection>, line: &[u8]) -> Option<Value> {
    judged::sent(connection, line);
    let messages = match server.stdio_line(connection, line) {
        LineReply::None => Vec::new(),
        LineReply::Ready(text) => vec![text],
        LineReply::Pending(pending) => pending.await.into_iter().collect(),
        LineReply::Stream(messages) => messages.map(OutgoingMessage::into_message).collect().await,
    };
    let messages: Vec<Value> = messages.iter().map(|text| serde_json::from_slice(text).unwrap()).collect();
    messages.iter().for_each(|message| judged::received(connection, message));
    messages.into_iter().next_back()
}

/// Checks every outgoing message against the schema of its revision.
async fn post(server: &Arc<Server>, headers: &Pairs, body: &[u8]) -> HttpReply {
    match server
        .post(HttpPost {
            memory: None,
            caller: &Caller::LOOPBACK,
            headers,
            body,
            streaming: StreamSupport::Unsupported,
        })
        .await
    {
        HttpAnswer::Whole(reply) => {
            judged::posted(headers, body, &reply);
            reply
        }
        HttpAnswer::Events(_) => panic!("a stream to a client that takes none"),
    }
}

fn body(reply: &HttpReply) -> Value {
    serde_json::from_slice(&reply.body).unwrap()
}

async fn session(server: &Arc<Server>) -> Pairs {
    let reply = post(server, &none(), &initialize_request()).await;
    let (_, id) = reply.headers.into_iter().find(|(name, _)| *name == "mcp-session-id").unwrap();
    Pairs(vec![("mcp-session-id", id)])
}

#[tokio::test]
async fn a_panic_is_answered_with_the_request_id() {
    let server = server();
    let connection = StdioConnection::new();
    line(&server, &connection, &initialize_request()).await;
    let answer = line(&server, &connection, &call(1, "a_panics")).await.unwrap();
    assert_eq!(answer["id"], 1);
    assert!(answer["result"]["isError"] == true || answer["error"]["code"] == -32603, "{answer}");
    let answer = line(&server, &connection, &call(2, "a_fine")).await.unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "{}");
}

#[tokio::test]
async fn a_cancelled_request_has_no_answer_and_frees_its_id() {
    let server = server();
    let connection = StdioConnection::new();
    line(&server, &connection, &initialize_request()).await;
    let LineReply::Pending(pending) = server.stdio_line(&connection, &call(1, "a_hangs")) else {
        panic!("ready")
    };
    let again = line(&server, &connection, &call(1, "a_fine")).await.unwrap();
    assert_eq!(again["error"]["code"], -32600);
    let cancel = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert!(line(&server, &connection, cancel).await.is_none());
    assert_eq!(pending.await, None);
    assert!(line(&server, &connection, &call(1, "a_fine")).await.unwrap().get("result").is_some());
}

#[tokio::test]
async fn closing_a_connection_cancels_running_requests() {
    let server = server();
    let connection = StdioConnection::new();
    line(&server, &connection, &initialize_request()).await;
    let LineReply::Pending(pending) = server.stdio_line(&connection, &call(1, "a_hangs")) else {
        panic!("ready")
    };
    connection.cancel_all();
    assert_eq!(pending.await, None);
}

#[tokio::test]
async fn a_cancelled_post_is_still_answered() {
    let server = server();
    let headers = session(&server).await;
    let hanging = {
        let (server, headers) = (Arc::clone(&server), Pairs(headers.0.clone()));
        tokio::spawn(async move { post(&server, &headers, &call(1, "a_hangs")).await })
    };
    let cancel = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    while !hanging.is_finished() {
        assert_eq!(post(&server, &headers, cancel).await.status, 202);
        tokio::task::yield_now().await;
    }
    let reply = hanging.await.unwrap();
    assert_eq!((reply.status, &body(&reply)["error"]["code"]), (200, &json!(-32800)));
}

#[tokio::test]
async fn a_call_in_a_session_outlives_its_connection() {
    let server = server();
    let headers = session(&server).await;
    let body_of_hanging = call(1, "a_hangs");
    {
        let hanging = std::pin::pin!(post(&server, &headers, &body_of_hanging));
        assert!(futures_util::poll!(hanging).is_pending());
    }
    let again = post(&server, &headers, &call(1, "a_fine")).await;
    assert_eq!(body(&again)["error"]["code"], -32600, "the first one still runs");
    assert_eq!(server.delete(&Caller::LOOPBACK, &headers).await.status, 200);
}

#[tokio::test]
async fn an_unreadable_id_is_null_or_omitted_by_revision() {
    let server = server();
    let reply = post(&server, &none(), b"{").await;
    assert_eq!((reply.status, body(&reply).get("id")), (400, Some(&Value::Null)));
    for revision in ["2025-11-25", "2026-07-28"] {
        let headers = Pairs(vec![("mcp-protocol-version", revision.to_owned())]);
        let reply = post(&server, &headers, b"{").await;
        assert_eq!((reply.status, body(&reply).get("id")), (400, None), "{revision}");
    }
}

#[tokio::test]
async fn rejects_duplicate_keys_before_calling_the_plugin() {
    let server = server();
    let connection = StdioConnection::new();
    line(&server, &connection, &initialize_request()).await;
    let twice = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a_fine","arguments":{"x":{"a":1,"a":2}}}}"#;
    let answer = line(&server, &connection, twice).await.unwrap();
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("`a`"), "{answer}");
}

#[tokio::test]
async fn arguments_reach_the_plugin_verbatim() {
    let server = server();
    let connection = StdioConnection::new();
    line(&server, &connection, &initialize_request()).await;
    let exact = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a_fine","arguments":{"z":1.50,"a":123456789012345678901}}}"#;
    let answer = line(&server, &connection, exact).await.unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], r#"{"z":1.50,"a":123456789012345678901}"#);
    for (arguments, code) in [(json!(null), None), (json!([]), Some(-32602)), (json!("x"), Some(-32602))] {
        let params = json!({ "name": "a_fine", "arguments": arguments });
        let answer = line(&server, &connection, &request(2, "tools/call", &params)).await.unwrap();
        assert_eq!(answer["error"]["code"].as_i64(), code, "{answer}");
    }
    let by_place = line(&server, &connection, &request(3, "tools/call", &json!(["a_fine"]))).await.unwrap();
    assert_eq!(by_place["error"]["code"], -32602, "{by_place}");
}

#[tokio::test]
async fn rejects_forged_cursors() {
    let server = server();
    let connection = StdioConnection::new();
    line(&server, &connection, &initialize_request()).await;
    for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
        let answer =
            line(&server, &connection, &request(1, method, &json!({ "cursor": "x" }))).await.unwrap();
        assert_eq!(answer["error"]["code"], -32602, "{method}: {answer}");
        let answer = line(&server, &connection, &request(1, method, &json!({}))).await.unwrap();
        assert!(answer["result"].get("nextCursor").is_none(), "{answer}");
    }
}

#[tokio::test]
async fn a_cancelled_id_can_be_reused_at_once() {
    let server = server();
    let connection = StdioConnection::new();
    line(&server, &connection, &initialize_request()).await;
    let cancel = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let LineReply::Pending(first) = server.stdio_line(&connection, &call(1, "a_hangs")) else {
        panic!("ready")
    };
    assert!(line(&server, &connection, cancel).await.is_none());
    let LineReply::Pending(second) = server.stdio_line(&connection, &call(1, "a_hangs")) else {
        panic!("the id of a cancelled request is still in use")
    };
    assert_eq!(first.await, None);
    let third = line(&server, &connection, &call(1, "a_fine")).await.unwrap();
    assert_eq!(third["error"]["code"], -32600, "the end of the first one freed the second one's id: {third}");
    assert!(line(&server, &connection, cancel).await.is_none());
    assert_eq!(second.await, None);
}

#[tokio::test]
async fn malformed_responses_and_notifications_get_no_answer() {
    let server = server();
    let initialize = json!({ "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let initialize = request(0, "initialize", &initialize);
    let connection = StdioConnection::new();
    line(&server, &connection, &initialize).await;
    let reply = post(&server, &none(), &initialize).await;
    let session = Pairs(vec![("mcp-session-id", reply.headers[0].1.clone())]);
    for (broken, status) in [
        (r#"{"jsonrpc":"2.0","id":3,"error":5}"#, 400),
        (r#"{"jsonrpc":"2.0","id":3,"result":1,"error":{"code":1,"message":"x"}}"#, 400),
        (r#"{"jsonrpc":"1.0","id":3,"result":1}"#, 400),
        (r#"{"jsonrpc":"2.0","method":"notifications/x","params":5}"#, 202),
    ] {
        assert_eq!(line(&server, &connection, broken.as_bytes()).await, None, "{broken}");
        let reply = post(&server, &session, broken.as_bytes()).await;
        assert_eq!(reply.status, status, "{broken}");
        if status == 400 {
            assert_eq!(
                body(&reply).get("id"),
                None,
                "it looks like the answer to the client's own request 3"
            );
        }
        let batch = format!(r#"[{broken},{{"jsonrpc":"2.0","id":4,"method":"ping"}}]"#);
        let expected = json!([{ "jsonrpc": "2.0", "id": 4, "result": {} }]);
        assert_eq!(line(&server, &connection, batch.as_bytes()).await, Some(expected.clone()), "{broken}");
        assert_eq!(body(&post(&server, &session, batch.as_bytes()).await), expected, "{broken}");
    }
}

#[tokio::test]
async fn a_batch_rejects_requests_of_revisions_without_batches() {
    let server = server();
    let initialize = json!({ "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let initialize = request(0, "initialize", &initialize);
    let connection = StdioConnection::new();
    line(&server, &connection, &initialize).await;
    let reply = post(&server, &none(), &initialize).await;
    let session = Pairs(vec![("mcp-session-id", reply.headers[0].1.clone())]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let stateless =
        json!([{ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta } }]);
    let greeting = json!([serde_json::from_slice::<Value>(&initialize).unwrap()]);
    for batch in [stateless, greeting] {
        let batch = batch.to_string().into_bytes();
        let answer = line(&server, &connection, &batch).await.unwrap();
        assert_eq!(answer["error"]["code"], -32600, "{answer}");
        let reply = post(&server, &session, &batch).await;
        assert_eq!((reply.status, &body(&reply)["error"]["code"]), (400, &json!(-32600)));
    }
}

#[tokio::test]
async fn delete_with_an_unknown_revision_ends_no_session() {
    let server = server();
    let mut headers = session(&server).await;
    headers.0.push(("mcp-protocol-version", "1999-01-01".to_owned()));
    assert_eq!(server.delete(&Caller::LOOPBACK, &headers).await.status, 400);
    headers.0.pop();
    assert_eq!(server.delete(&Caller::LOOPBACK, &headers).await.status, 200);
}

/// All messages of a call, as JSON, from either kind of stream.
async fn all(messages: impl futures_util::Stream<Item = OutgoingMessage>) -> Vec<Value> {
    messages.map(|message| serde_json::from_slice(&message.into_message()).unwrap()).collect().await
}

/// All messages of an event stream, as JSON.
async fn collect_events(events: EventStream) -> Vec<Value> {
    let message = |event| async move {
        match event {
            SseEvent::Message { message, .. } => Some(serde_json::from_slice(&message).unwrap()),
            SseEvent::Priming { .. } => None,
        }
    };
    events.filter_map(message).collect().await
}

fn noisy_call(meta: &Value) -> Vec<u8> {
    request(1, "tools/call", &json!({ "name": "a_says", "_meta": meta }))
}

#[tokio::test]
async fn requested_notifications_precede_the_response() {
    let server = server();
    let connection = StdioConnection::new();
    line(&server, &connection, &initialize_request()).await;
    let quiet = server.stdio_line(&connection, &noisy_call(&json!({})));
    assert!(matches!(quiet, LineReply::Pending(_)), "nothing was requested");
    drop(quiet);
    let set =
        line(&server, &connection, &request(2, "logging/setLevel", &json!({ "level": "warning" }))).await;
    assert_eq!(set.unwrap()["result"], json!({}));
    let noisy = server.stdio_line(&connection, &noisy_call(&json!({ "progressToken": "t" })));
    let LineReply::Stream(messages) = noisy else { panic!("{noisy:?}") };
    let received = all(messages).await;
    let params: Vec<&Value> = received.iter().map(|message| &message["params"]).collect();
    assert_eq!(params[0], &json!({ "progressToken": "t", "progress": 1, "total": 2, "message": "half" }));
    assert_eq!(params[1], &json!({ "level": "error", "logger": "me", "data": "careful" }));
    assert_eq!(params[2], &json!({ "progressToken": "t", "progress": 2, "total": 2 }));
    assert_eq!((received.len(), &received[3]["id"]), (4, &json!(1)), "the response comes last: {received:?}");
}

#[tokio::test]
async fn upgrades_to_sse_only_for_side_messages() {
    let server = server();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/logLevel": "info",
        "progressToken": 7,
    });
    let headers = |tool: &str| {
        Pairs(vec![
            ("mcp-protocol-version", "2026-07-28".to_owned()),
            ("mcp-method", "tools/call".to_owned()),
            ("mcp-name", tool.to_owned()),
        ])
    };
    let (noisy, quiet) = (headers("a_says"), headers("a_fine"));
    let body_of = |tool: &str| request(1, "tools/call", &json!({ "name": tool, "_meta": meta }));
    let post = |headers, body, streaming| {
        let server = Arc::clone(&server);
        async move {
            server.post(HttpPost { memory: None, caller: &Caller::LOOPBACK, headers, body, streaming }).await
        }
    };
    let (noisy_body, quiet_body) = (body_of("a_says"), body_of("a_fine"));
    let HttpAnswer::Events(events) = post(&noisy, &noisy_body, StreamSupport::Supported).await else {
        panic!("no events")
    };
    let received = collect_events(events).await;
    assert_eq!(received[0]["params"]["progressToken"], 7, "the token keeps its type: {received:?}");
    assert_eq!(received.last().unwrap()["id"], 1);
    for (headers, body, streaming) in [
        (&quiet, &quiet_body, StreamSupport::Supported),
        (&noisy, &noisy_body, StreamSupport::Unsupported),
        (&noisy, &noisy_body, StreamSupport::Unknown),
    ] {
        let HttpAnswer::Whole(reply) = post(headers, body, streaming).await else { panic!("events") };
        assert_eq!(reply.status, 200);
    }
}

#[tokio::test]
async fn rejects_unknown_log_levels() {
    let server = server();
    let connection = StdioConnection::new();
    line(&server, &connection, &initialize_request()).await;
    for params in [json!({}), json!({ "level": "noisy" }), json!({ "level": 3 })] {
        let answer = line(&server, &connection, &request(2, "logging/setLevel", &params)).await.unwrap();
        assert_eq!(
            (&answer["error"]["code"], &answer["error"]["data"]["at"]),
            (&json!(-32602), &json!("/level"))
        );
    }
}

#[tokio::test]
async fn legacy_sse_clients_are_limited() {
    let (_keep, seen) = watch::channel(catalog(Vec::new()));
    let dispatcher = Dispatcher::new(seen, Arc::new(ConcurrencyLimiter::new(8)));
    let options = ServerOptions { max_sessions: 1_000, ..options(Arc::default(), None, CacheScope::Public) };
    let server = Server::new(dispatcher, options);
    let mut legacy_sse_clients: Vec<_> =
        (0..256).map(|_| server.connect_legacy_sse(&Caller::LOOPBACK).unwrap()).collect();
    assert_eq!(server.connect_legacy_sse(&Caller::LOOPBACK).unwrap_err().status, 503);
    legacy_sse_clients.pop();
    assert!(server.connect_legacy_sse(&Caller::LOOPBACK).is_ok(), "one has ended");
}
