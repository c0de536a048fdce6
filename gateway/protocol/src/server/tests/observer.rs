//! Each request is told once, whatever comes of it, on each transport.

use std::sync::Mutex;

use super::*;
use crate::call::Failure;

/// What was told: transport, revision, method, tool, error.
type Told = (&'static str, &'static str, &'static str, String, &'static str);

#[derive(Debug, Default)]
struct Notes(Mutex<Vec<Told>>);

impl Observer for Notes {
    fn answered(&self, request: &Answered<'_>) {
        let &Answered { method, tool, revision, carrier, error, took: _ } = request;
        let told = (
            carrier.as_str(),
            revision.map_or("", Revision::as_str),
            method.map_or("?", Method::as_str),
            tool.map(ToString::to_string).unwrap_or_default(),
            error.unwrap_or("fine"),
        );
        self.0.lock().unwrap().push(told);
    }
}

impl Notes {
    fn take(&self) -> Vec<Told> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn observed(catalog: Arc<crate::catalog::Catalog>) -> (Arc<Server>, Arc<Notes>) {
    let notes = Arc::<Notes>::default();
    let (_keep, seen) = watch::channel(catalog);
    let observer: Arc<dyn Observer> = Arc::<Notes>::clone(&notes);
    (serving_observed(seen, Arc::default(), None, CacheScope::Public, Some(observer)), notes)
}

const OLD: &str = "2025-11-25";
const NEW: &str = "2026-07-28";

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": NEW,
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// A call in the stateless revision, with the headers that it needs over HTTP.
fn stateless(id: u64, tool: &str) -> (Pairs, Vec<u8>) {
    let headers = [("mcp-protocol-version", NEW), ("mcp-method", "tools/call"), ("mcp-name", tool)];
    let headers = headers.map(|(name, value)| (name, value.to_owned())).to_vec();
    (Pairs(headers), request(id, "tools/call", &json!({ "name": tool, "_meta": meta() })))
}

#[tokio::test]
async fn a_request_is_told_once_on_each_transport() {
    let (server, notes) = observed(misbehaving());
    let connection = StdioConnection::new();
    line(&server, &connection, &hello()).await;
    line(&server, &connection, &call(1, "a_fine")).await;
    line(&server, &connection, &stateless(2, "a_fine").1).await;
    line(&server, &connection, &request(3, "tools/list", &json!({}))).await;
    let tool = || "a_fine".to_owned();
    assert_eq!(
        notes.take(),
        [
            ("pipe", OLD, "initialize", String::new(), "fine"),
            ("pipe", OLD, "tools/call", tool(), "fine"),
            ("pipe", NEW, "tools/call", tool(), "fine"),
            ("pipe", OLD, "tools/list", String::new(), "fine"),
        ]
    );
    let headers = session(&server).await;
    post(&server, &headers, &call(1, "a_fine")).await;
    let (headers, body) = stateless(2, "a_fine");
    post(&server, &headers, &body).await;
    assert_eq!(
        notes.take(),
        [
            ("tcp", OLD, "initialize", String::new(), "fine"),
            ("tcp", OLD, "tools/call", tool(), "fine"),
            ("tcp", NEW, "tools/call", tool(), "fine"),
        ]
    );
}

#[tokio::test]
async fn what_a_client_makes_up_is_no_label() {
    let (server, notes) = observed(misbehaving());
    let connection = StdioConnection::new();
    line(&server, &connection, &call(1, "a_fine")).await;
    line(&server, &connection, &hello()).await;
    line(&server, &connection, &call(1, "a_made_up")).await;
    line(&server, &connection, &request(2, "made/up", &json!({}))).await;
    line(&server, &connection, br#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":[]}"#).await;
    let headers = Pairs(vec![("mcp-session-id", "made up".to_owned())]);
    post(&server, &headers, &call(1, "a_fine")).await;
    let none = String::new;
    assert_eq!(
        notes.take(),
        [
            ("pipe", "", "tools/call", "a_fine".to_owned(), "-32600"),
            ("pipe", OLD, "initialize", none(), "fine"),
            ("pipe", OLD, "tools/call", none(), "-32602"),
            ("pipe", OLD, "?", none(), "-32601"),
            ("pipe", "", "tools/call", none(), "-32602"),
            ("tcp", "", "tools/call", "a_fine".to_owned(), "-32001"),
        ]
    );
}

#[tokio::test]
async fn tool_errors_and_a_plugins_own_codes_have_their_words() {
    let object = json!({ "type": "object" });
    let mut fake = Fake::new("a").tool("fails", &object, None).tool("refuses", &object, None);
    fake.on_tool = Some(Box::new(|_, (name, _)| {
        ready(match name.as_str() {
            "fails" => Ok(Outcome::Done(ToolResult::error("no".to_owned()))),
            _ => Err(CallError::Refused(Failure::Custom { code: 7, message: "no".to_owned(), data: None })),
        })
    }));
    let (server, notes) = observed(catalog(vec![fake.member(|_| {})]));
    let connection = StdioConnection::new();
    line(&server, &connection, &hello()).await;
    line(&server, &connection, &call(1, "a_fails")).await;
    line(&server, &connection, &call(2, "a_refuses")).await;
    let words: Vec<_> = notes.take().into_iter().map(|(.., error)| error).collect();
    assert_eq!(words, ["fine", "tool_error", "_OTHER"]);
}

#[tokio::test]
async fn cancelled_requests_lost_connections_and_panics_are_told() {
    let (server, notes) = observed(misbehaving());
    let connection = StdioConnection::new();
    line(&server, &connection, &hello()).await;
    notes.take();

    let LineReply::Pending(pending) = server.stdio_line(&connection, &call(1, "a_hangs")) else { panic!() };
    let twice = line(&server, &connection, &call(1, "a_fine")).await.unwrap();
    assert_eq!(twice["error"]["code"], -32600);
    let cancel = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    line(&server, &connection, cancel).await;
    assert_eq!(pending.await, None);

    let LineReply::Pending(dropped) = server.stdio_line(&connection, &call(2, "a_hangs")) else { panic!() };
    drop(dropped);

    line(&server, &connection, &call(3, "a_panics")).await;
    let told: Vec<_> = notes.take().into_iter().map(|(.., tool, error)| (tool, error)).collect();
    let told: Vec<_> = told.iter().map(|(tool, error)| (tool.as_str(), *error)).collect();
    assert_eq!(
        told,
        [("", "-32600"), ("a_hangs", "cancelled"), ("a_hangs", "cancelled"), ("a_panics", "-32603")]
    );

    let (headers, body) = stateless(4, "a_hangs");
    let request =
        Post { principal: &Principal::Anonymous, headers: &headers, body: &body, hear: Hear::Response };
    tokio::select! {
        biased;
        _ = server.post(request) => panic!("answered"),
        () = tokio::task::yield_now() => {} // and the connection is gone
    }
    assert_eq!(notes.take(), [("tcp", NEW, "tools/call", "a_hangs".to_owned(), "cancelled")]);
}

#[tokio::test]
async fn a_stream_of_changes_ends_without_an_error_when_its_client_leaves() {
    let (server, notes) = observed(misbehaving());
    let headers = [("mcp-protocol-version", NEW), ("mcp-method", "subscriptions/listen")];
    let headers = Pairs(headers.map(|(name, value)| (name, value.to_owned())).to_vec());
    let params = json!({ "notifications": { "toolsListChanged": true }, "_meta": meta() });
    let body = request(1, "subscriptions/listen", &params);
    let request =
        Post { principal: &Principal::Anonymous, headers: &headers, body: &body, hear: Hear::Notifications };
    let answer = server.post(request).await;
    assert!(matches!(answer, HttpAnswer::Events(_)), "{answer:?}");
    assert_eq!((server.gauges().listening, notes.take()), (1, vec![]));
    drop(answer);
    assert_eq!(server.gauges().listening, 0);
    assert_eq!(notes.take(), [("tcp", NEW, "subscriptions/listen", String::new(), "fine")]);
}

#[tokio::test]
async fn each_request_of_a_batch_is_told() {
    let (server, notes) = observed(misbehaving());
    let greets = json!({ "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let reply = post(&server, &none(), &request(0, "initialize", &greets)).await;
    let (_, id) = reply.headers.into_iter().find(|(name, _)| *name == "mcp-session-id").unwrap();
    notes.take();
    let batch = [call(1, "a_fine"), request(2, "ping", &json!({})), call(3, "a_made_up")].join(&b","[..]);
    let batch = [b"[", &batch[..], b"]"].concat();
    post(&server, &Pairs(vec![("mcp-session-id", id)]), &batch).await;
    let mut told = notes.take();
    told.sort_unstable();
    let old = "2025-03-26";
    assert_eq!(
        told,
        [
            ("tcp", old, "ping", String::new(), "fine"),
            ("tcp", old, "tools/call", String::new(), "-32602"),
            ("tcp", old, "tools/call", "a_fine".to_owned(), "fine"),
        ]
    );
}
