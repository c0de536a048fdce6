//! Panics: the client gets an error on every transport, and other requests aren't affected.

use super::*;
use crate::caller::Caller;

/// Posts with the headers of a stateless request.
async fn stateless(server: &Arc<Server>, id: u64, streaming: StreamSupport) -> HttpAnswer {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": "p",
    });
    let body = request(id, "tools/call", &json!({ "name": "a_panics", "_meta": meta }));
    let headers = Pairs(
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "a_panics")]
            .map(|(name, value)| (name, value.to_owned()))
            .to_vec(),
    );
    server
        .post(HttpPost { memory: None, caller: &Caller::LOOPBACK, headers: &headers, body: &body, streaming })
        .await
}

fn is_told(answer: &Value, id: u64) {
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(id), &json!(-32603)), "{answer}");
}

#[tokio::test]
async fn a_panic_is_answered_on_every_transport() {
    let server = server();
    let connection = StdioConnection::new();
    line(&server, &connection, &initialize_request()).await;
    is_told(&line(&server, &connection, &call(1, "a_panics")).await.unwrap(), 1);
    let noisy = request(2, "tools/call", &json!({ "name": "a_panics", "_meta": { "progressToken": 1 } }));
    is_told(&line(&server, &connection, &noisy).await.unwrap(), 2);
    assert!(line(&server, &connection, &call(2, "a_fine")).await.unwrap().get("result").is_some());

    let headers = session(&server).await;
    for id in [3, 3] {
        let reply = post(&server, &headers, &call(id, "a_panics")).await;
        assert_eq!(reply.status, 200);
        is_told(&body(&reply), id);
    }
    for streaming in [StreamSupport::Unsupported, StreamSupport::Supported] {
        let HttpAnswer::Whole(reply) = stateless(&server, 4, streaming).await else { panic!("events") };
        assert_eq!(reply.status, 200);
        is_told(&body(&reply), 4);
    }
    assert!(body(&post(&server, &headers, &call(3, "a_fine")).await).get("result").is_some());
}

#[tokio::test]
async fn a_panic_in_a_batch_keeps_the_other_answers() {
    let server = server();
    let greeting = json!({ "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let greeting = request(0, "initialize", &greeting);
    let batch = [call(1, "a_panics"), call(2, "a_fine")].map(|one| String::from_utf8(one).unwrap());
    let batch = format!("[{}]", batch.join(","));
    let connection = StdioConnection::new();
    line(&server, &connection, &greeting).await;
    let over_stdio = line(&server, &connection, batch.as_bytes()).await.unwrap();
    let reply = post(&server, &none(), &greeting).await;
    let headers = Pairs(vec![("mcp-session-id", reply.headers[0].1.clone())]);
    let over_http = body(&post(&server, &headers, batch.as_bytes()).await);
    for answers in [over_stdio, over_http] {
        is_told(&answers[0], 1);
        assert!(answers[1].get("result").is_some(), "{answers}");
    }
}
