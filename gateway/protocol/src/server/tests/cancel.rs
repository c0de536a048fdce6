//! Requests that nobody waits for any more: how clients say so, and what the call may still do.

use tokio_util::sync::CancellationToken;

use super::*;

#[tokio::test]
async fn generic_json_rpc_clients_cancel_in_their_own_words() {
    let server = server();
    let connection = StdioConnection::new();
    let stateless = json!({ "name": "a_hangs", "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    } });
    line(&server, &connection, &hello()).await;
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

/// A server with one tool that waits until it is told to end, and tidies up after that.
fn tidy(begun: &CancellationToken, tidied: &CancellationToken) -> Arc<Server> {
    let mut fake = Fake::new("a").tool("run", &json!({ "type": "object" }), None);
    let (begun, tidied) = (begun.clone(), tidied.clone());
    fake.on_tool = Some(Box::new(move |context, _| {
        let (begun, tidied) = (begun.clone(), tidied.clone());
        Box::pin(async move {
            begun.cancel();
            context.cancel.cancelled().await;
            tokio::task::yield_now().await;
            tidied.cancel();
            Err(CallError::Cancelled)
        })
    }));
    serving(catalog(vec![fake.member(|_| {})]))
}

#[tokio::test]
async fn a_lost_connection_of_a_stateless_revision_cancels_and_leaves_the_call_its_grace() {
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
    for hear in [Hear::Response, Hear::Notifications] {
        let (begun, tidied) = (CancellationToken::new(), CancellationToken::new());
        let server = tidy(&begun, &tidied);
        let request = Post { principal: &Principal::Anonymous, headers: &headers, body: &body, hear };
        tokio::select! {
            _ = server.post(request) => panic!("answered"),
            () = begun.cancelled() => {} // and the connection is gone
        }
        tidied.cancelled().await;
    }
}

#[tokio::test]
async fn whoever_cancelled_hears_nothing_that_is_said_later() {
    let mut fake = Fake::new("a").tool("run", &json!({ "type": "object" }), None);
    fake.on_tool = Some(Box::new(move |context, _| {
        Box::pin(async move {
            context.sink.progress(1.0, None, None);
            context.cancel.cancelled().await;
            context.sink.progress(2.0, None, None);
            Ok(Outcome::Done(ToolResult::default()))
        })
    }));
    let server = serving(catalog(vec![fake.member(|_| {})]));
    let connection = StdioConnection::new();
    line(&server, &connection, &hello()).await;
    let call = request(1, "tools/call", &json!({ "name": "a_run", "_meta": { "progressToken": "t" } }));
    let LineReply::Several(mut messages) = server.stdio_line(&connection, &call) else { panic!("ready") };
    assert!(matches!(messages.next().await, Some(Said::Notification(_))));
    let cancel = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert!(line(&server, &connection, cancel).await.is_none());
    assert_eq!(messages.next().await, None);
}

#[tokio::test]
async fn when_time_is_up_a_call_is_told_though_its_connection_is_long_gone() {
    let (begun, tidied) = (CancellationToken::new(), CancellationToken::new());
    let server = tidy(&begun, &tidied);
    let headers = session(&server).await;
    assert_eq!(server.gauges(), Gauges { sessions: 1, listening: 0, visitors: 0 });
    let body = call(1, "a_run");
    tokio::select! {
        _ = post(&server, &headers, &body) => panic!("answered"),
        () = begun.cancelled() => {} // and the connection is gone
    }
    assert!(!tidied.is_cancelled(), "it goes on in its session");
    server.give_up();
    tidied.cancelled().await;
}
