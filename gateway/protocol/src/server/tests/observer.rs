//! Each request is observed once, whatever its outcome, on each transport.

use std::sync::Mutex;

use super::*;
use crate::call::PluginError;
use crate::caller::Caller;
use crate::dispatch::{CallEnd, RequestEnd};

/// An observed request: transport, revision, method, tool, error.
type EndedRequest = (&'static str, &'static str, &'static str, String, &'static str);

#[derive(Debug, Default)]
struct Recorder(Mutex<Vec<EndedRequest>>);

impl Observer for Recorder {
    fn call_ended(&self, _: &CallEnd<'_>) {}

    fn request_ended(&self, request: &RequestEnd<'_>) {
        let &RequestEnd { method, tool, revision, transport, error, took: _, traced: _ } = request;
        let ended = (
            transport.as_str(),
            revision.unwrap_or_default(),
            method.unwrap_or("?"),
            tool.map(ToString::to_string).unwrap_or_default(),
            error.unwrap_or("ok"),
        );
        self.0.lock().unwrap().push(ended);
    }
}

impl Recorder {
    fn take(&self) -> Vec<EndedRequest> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn observed(catalog: Arc<crate::catalog::Catalog>) -> (Arc<Server>, Arc<Recorder>) {
    let recorder = Arc::<Recorder>::default();
    let (_keep, seen) = watch::channel(catalog);
    let observer: Arc<dyn Observer> = Arc::<Recorder>::clone(&recorder);
    (serving_observed(seen, Arc::default(), None, CacheScope::Public, Some(observer)), recorder)
}

const OLD: &str = "2025-11-25";
const NEW: &str = "2026-07-28";

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": NEW,
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// A call in the stateless revision, with its HTTP headers.
fn stateless(id: u64, tool: &str) -> (Pairs, Vec<u8>) {
    let headers = [("mcp-protocol-version", NEW), ("mcp-method", "tools/call"), ("mcp-name", tool)];
    let headers = headers.map(|(name, value)| (name, value.to_owned())).to_vec();
    (Pairs(headers), request(id, "tools/call", &json!({ "name": tool, "_meta": meta() })))
}

#[tokio::test]
async fn observes_each_request_once_per_transport() {
    let (server, recorder) = observed(misbehaving_catalog());
    let connection = StdioConnection::new();
    line(&server, &connection, &initialize_request()).await;
    line(&server, &connection, &call(1, "a_fine")).await;
    line(&server, &connection, &stateless(2, "a_fine").1).await;
    line(&server, &connection, &request(3, "tools/list", &json!({}))).await;
    let tool = || "a_fine".to_owned();
    assert_eq!(
        recorder.take(),
        [
            ("pipe", OLD, "initialize", String::new(), "ok"),
            ("pipe", OLD, "tools/call", tool(), "ok"),
            ("pipe", NEW, "tools/call", tool(), "ok"),
            ("pipe", OLD, "tools/list", String::new(), "ok"),
        ]
    );
    let headers = session(&server).await;
    post(&server, &headers, &call(1, "a_fine")).await;
    let (headers, body) = stateless(2, "a_fine");
    post(&server, &headers, &body).await;
    assert_eq!(
        recorder.take(),
        [
            ("tcp", OLD, "initialize", String::new(), "ok"),
            ("tcp", OLD, "tools/call", tool(), "ok"),
            ("tcp", NEW, "tools/call", tool(), "ok"),
        ]
    );
}

#[tokio::test]
async fn client_input_never_becomes_a_label() {
    let (server, recorder) = observed(misbehaving_catalog());
    let connection = StdioConnection::new();
    line(&server, &connection, &call(1, "a_fine")).await;
    line(&server, &connection, &initialize_request()).await;
    line(&server, &connection, &call(1, "a_made_up")).await;
    line(&server, &connection, &request(2, "made/up", &json!({}))).await;
    line(&server, &connection, br#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":[]}"#).await;
    let headers = Pairs(vec![("mcp-session-id", "made up".to_owned())]);
    post(&server, &headers, &call(1, "a_fine")).await;
    let none = String::new;
    assert_eq!(
        recorder.take(),
        [
            ("pipe", "", "tools/call", "a_fine".to_owned(), "-32600"),
            ("pipe", OLD, "initialize", none(), "ok"),
            ("pipe", OLD, "tools/call", none(), "-32602"),
            ("pipe", OLD, "?", none(), "-32601"),
            ("pipe", "", "tools/call", none(), "-32602"),
            ("tcp", "", "tools/call", "a_fine".to_owned(), "-32001"),
        ]
    );
}

#[tokio::test]
async fn observes_tool_errors_and_custom_codes() {
    let object = json!({ "type": "object" });
    let mut fake = FakePlugin::new("a").tool("fails", &object, None).tool("refuses", &object, None);
    fake.on_tool = Some(Box::new(|_, (name, _)| {
        ready(match name.as_str() {
            "fails" => Ok(Outcome::Done(ToolResult::error("no".to_owned()))),
            _ => {
                Err(CallError::Refused(PluginError::Custom { code: 7, message: "no".to_owned(), data: None }))
            }
        })
    }));
    let (server, recorder) = observed(catalog(vec![fake.into_catalog_plugin(|_| {})]));
    let connection = StdioConnection::new();
    line(&server, &connection, &initialize_request()).await;
    line(&server, &connection, &call(1, "a_fails")).await;
    line(&server, &connection, &call(2, "a_refuses")).await;
    let words: Vec<_> = recorder.take().into_iter().map(|(.., error)| error).collect();
    assert_eq!(words, ["ok", "tool_error", "_OTHER"]);
}

#[tokio::test]
async fn observes_cancellations_disconnects_and_panics() {
    let (server, recorder) = observed(misbehaving_catalog());
    let connection = StdioConnection::new();
    line(&server, &connection, &initialize_request()).await;
    recorder.take();

    let LineReply::Pending(pending) = server.stdio_line(&connection, &call(1, "a_hangs")) else { panic!() };
    let twice = line(&server, &connection, &call(1, "a_fine")).await.unwrap();
    assert_eq!(twice["error"]["code"], -32600);
    let cancel = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    line(&server, &connection, cancel).await;
    assert_eq!(pending.await, None);

    let LineReply::Pending(dropped) = server.stdio_line(&connection, &call(2, "a_hangs")) else { panic!() };
    drop(dropped);

    line(&server, &connection, &call(3, "a_panics")).await;
    let ended: Vec<_> = recorder.take().into_iter().map(|(.., tool, error)| (tool, error)).collect();
    let ended: Vec<_> = ended.iter().map(|(tool, error)| (tool.as_str(), *error)).collect();
    assert_eq!(
        ended,
        [("", "-32600"), ("a_hangs", "cancelled"), ("a_hangs", "cancelled"), ("a_panics", "-32603")]
    );

    let (headers, body) = stateless(4, "a_hangs");
    let request = HttpPost {
        memory: None,
        caller: &Caller::LOOPBACK,
        headers: &headers,
        body: &body,
        streaming: StreamSupport::Unsupported,
    };
    tokio::select! {
        biased;
        _ = server.post(request) => panic!("answered"),
        () = tokio::task::yield_now() => {} // the connection is closed
    }
    assert_eq!(recorder.take(), [("tcp", NEW, "tools/call", "a_hangs".to_owned(), "cancelled")]);
}

#[tokio::test]
async fn a_closed_listen_stream_is_no_error() {
    let (server, recorder) = observed(misbehaving_catalog());
    let headers = [("mcp-protocol-version", NEW), ("mcp-method", "subscriptions/listen")];
    let headers = Pairs(headers.map(|(name, value)| (name, value.to_owned())).to_vec());
    let params = json!({ "notifications": { "toolsListChanged": true }, "_meta": meta() });
    let body = request(1, "subscriptions/listen", &params);
    let request = HttpPost {
        memory: None,
        caller: &Caller::LOOPBACK,
        headers: &headers,
        body: &body,
        streaming: StreamSupport::Supported,
    };
    let answer = server.post(request).await;
    assert!(matches!(answer, HttpAnswer::Events(_)), "{answer:?}");
    assert_eq!((server.gauges().listen_streams, recorder.take()), (1, vec![]));
    drop(answer);
    assert_eq!(server.gauges().listen_streams, 0);
    assert_eq!(recorder.take(), [("tcp", NEW, "subscriptions/listen", String::new(), "ok")]);
}

#[tokio::test]
async fn observes_each_request_of_a_batch() {
    let (server, recorder) = observed(misbehaving_catalog());
    let initialize = json!({ "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let reply = post(&server, &none(), &request(0, "initialize", &initialize)).await;
    let (_, id) = reply.headers.into_iter().find(|(name, _)| *name == "mcp-session-id").unwrap();
    recorder.take();
    let batch = [call(1, "a_fine"), request(2, "ping", &json!({})), call(3, "a_made_up")].join(&b","[..]);
    let batch = [b"[", &batch[..], b"]"].concat();
    post(&server, &Pairs(vec![("mcp-session-id", id)]), &batch).await;
    let mut ended = recorder.take();
    ended.sort_unstable();
    let old = "2025-03-26";
    assert_eq!(
        ended,
        [
            ("tcp", old, "ping", String::new(), "ok"),
            ("tcp", old, "tools/call", String::new(), "-32602"),
            ("tcp", old, "tools/call", "a_fine".to_owned(), "ok"),
        ]
    );
}
