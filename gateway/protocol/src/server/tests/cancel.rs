//! Tests of cancelled requests: how clients cancel, and how the call ends.

use crate::caller::Caller;
use tokio_util::sync::CancellationToken;

use super::*;

#[tokio::test]
async fn supports_cancel_requests_of_generic_clients() {
    let server = server();
    let connection = StdioConnection::new();
    let stateless = json!({ "name": "a_hangs", "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    } });
    line(&server, &connection, &initialize_request()).await;
    for (id, hanging) in [(1, call(1, "a_hangs")), (2, request(2, "tools/call", &stateless))] {
        let LineReply::Pending(pending) = server.stdio_line(&connection, &hanging) else { panic!("ready") };
        let progress =
            json!({ "jsonrpc": "2.0", "method": "$/progress", "params": { "token": 1, "value": {} } });
        assert!(line(&server, &connection, progress.to_string().as_bytes()).await.is_none());
        let cancel = json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": id } });
        assert!(line(&server, &connection, cancel.to_string().as_bytes()).await.is_none());
        assert_eq!(pending.await, None);
    }
    let headers = session(&server).await;
    let hanging = {
        let (server, headers) = (Arc::clone(&server), Pairs(headers.0.clone()));
        tokio::spawn(async move { post(&server, &headers, &call(1, "a_hangs")).await })
    };
    let cancel = br#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#;
    while !hanging.is_finished() {
        assert_eq!(post(&server, &headers, cancel).await.status, 202);
        tokio::task::yield_now().await;
    }
    let progress = br#"{"jsonrpc":"2.0","method":"$/progress","params":{"token":1,"value":{}}}"#;
    assert_eq!(post(&server, &headers, progress).await.status, 202);
    let stateless = Pairs(vec![("mcp-protocol-version", "2026-07-28".to_owned())]);
    for ignored in [&cancel[..], progress] {
        assert_eq!(post(&server, &stateless, ignored).await.status, 202);
    }
}

/// A server with a tool that waits for its cancellation and then cleans up.
fn tidy(started: &CancellationToken, cleaned_up: &CancellationToken) -> Arc<Server> {
    let mut fake = FakePlugin::new("a").tool("run", &json!({ "type": "object" }), None);
    let started = started.clone();
    let cleaned_up = cleaned_up.clone();
    fake.on_tool = Some(Box::new(move |context, _| {
        let started = started.clone();
        let cleaned_up = cleaned_up.clone();
        Box::pin(async move {
            started.cancel();
            context.cancel.cancelled().await;
            tokio::task::yield_now().await;
            cleaned_up.cancel();
            Err(CallError::Cancelled)
        })
    }));
    serving(catalog(vec![fake.into_catalog_plugin(|_| {})]))
}

#[tokio::test]
async fn a_lost_stateless_connection_cancels_with_grace() {
    let headers = Pairs(vec![
        ("mcp-protocol-version", "2026-07-28".to_owned()),
        ("mcp-method", "tools/call".to_owned()),
        ("mcp-name", "a_run".to_owned()),
    ]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/logLevel": "info",
        "progressToken": 1,
    });
    let body = request(1, "tools/call", &json!({ "name": "a_run", "_meta": meta }));
    for streaming in [StreamSupport::Unsupported, StreamSupport::Supported] {
        let started = CancellationToken::new();
        let cleaned_up = CancellationToken::new();
        let server = tidy(&started, &cleaned_up);
        let request =
            HttpPost { memory: None, caller: &Caller::LOOPBACK, headers: &headers, body: &body, streaming };
        tokio::select! {
            _ = server.post(request) => panic!("answered"),
            () = started.cancelled() => {} // the connection is closed
        }
        cleaned_up.cancelled().await;
    }
}

#[tokio::test]
async fn sends_nothing_after_a_cancellation() {
    let mut fake = FakePlugin::new("a").tool("run", &json!({ "type": "object" }), None);
    fake.on_tool = Some(Box::new(move |context, _| {
        Box::pin(async move {
            context.sink.progress(1.0, None, None);
            context.cancel.cancelled().await;
            context.sink.progress(2.0, None, None);
            Ok(Outcome::Done(ToolResult::default()))
        })
    }));
    let server = serving(catalog(vec![fake.into_catalog_plugin(|_| {})]));
    let connection = StdioConnection::new();
    line(&server, &connection, &initialize_request()).await;
    let call = request(1, "tools/call", &json!({ "name": "a_run", "_meta": { "progressToken": "t" } }));
    let LineReply::Stream(mut messages) = server.stdio_line(&connection, &call) else { panic!("ready") };
    assert!(matches!(messages.next().await, Some(OutgoingMessage::Notification(_))));
    let cancel = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert!(line(&server, &connection, cancel).await.is_none());
    assert_eq!(messages.next().await, None);
}

#[tokio::test]
async fn shutdown_cancels_calls_of_lost_connections() {
    let started = CancellationToken::new();
    let cleaned_up = CancellationToken::new();
    let server = tidy(&started, &cleaned_up);
    let headers = session(&server).await;
    assert_eq!(server.gauges(), ServerGauges { sessions: 1, ..ServerGauges::default() });
    let body = call(1, "a_run");
    tokio::select! {
        _ = post(&server, &headers, &body) => panic!("answered"),
        () = started.cancelled() => {} // the connection is closed
    }
    assert!(!cleaned_up.is_cancelled(), "the call continues in its session");
    server.cancel_all();
    cleaned_up.cancelled().await;
}
