//! Answers that wait for their client, or for the rest of their batch.

use super::*;
use crate::call::Content;

const RESULT_BYTES: usize = 1024 * 1024;

/// A server whose callers can each have 4 MiB of unread answers. Its tool `a_large` returns 1 MiB.
fn server_with_large_results() -> Arc<Server> {
    let mut fake = FakePlugin::new("a").tool("large", &json!({ "type": "object" }), None);
    fake.on_tool = Some(Box::new(|_, _| {
        ready(Ok(Outcome::Done(ToolResult {
            content: vec![Content::text("x".repeat(RESULT_BYTES))],
            ..ToolResult::default()
        })))
    }));
    let (_keep, seen) = watch::channel(catalog(vec![fake.into_catalog_plugin(|_| {})]));
    let dispatcher = Dispatcher::new(seen, Arc::new(ConcurrencyLimiter::new(8)));
    let options = ServerOptions {
        protocol: ProtocolOptions {
            identity: Identity::default(),
            cache_scope: CacheScope::Public,
            page_size: None,
            sealing_key: SealingKey::shared("test"),
        },
        max_sessions: 8,
        session_idle: Duration::from_secs(60),
        updates: Arc::default(),
        close_streams_after: None,
        memory: ServerMemory { responses: 8 * 4 * RESULT_BYTES as u64, ..ServerMemory::of_process(4 << 30) },
    };
    Server::new(dispatcher, options)
}

fn greeting() -> Vec<u8> {
    let params = json!({ "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    request(0, "initialize", &params)
}

fn batch_of_100() -> Vec<u8> {
    let calls: Vec<_> = (1..=100).map(|id| String::from_utf8(call(id, "a_large")).unwrap()).collect();
    format!("[{}]", calls.join(",")).into_bytes()
}

/// A few calls had started before the limit was reached; the others are refused.
fn is_mostly_refused(answers: &Value) {
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 100);
    let is_refused = |answer: &&Value| answer.to_string().contains("unread");
    let refused = answers.iter().filter(is_refused).count();
    assert!((84..=96).contains(&refused), "{refused}");
}

#[tokio::test]
async fn large_answers_of_a_batch_refuse_the_rest_of_it() {
    let server = server_with_large_results();
    let reply = post(&server, &none(), &greeting()).await;
    let headers = Pairs(vec![("mcp-session-id", reply.headers[0].1.clone())]);
    let reply = post(&server, &headers, &batch_of_100()).await;
    is_mostly_refused(&body(&reply));
    assert_eq!(server.gauges().unread_bytes, reply.body.len() as u64, "counted until the transport has it");
    drop(reply);
    assert_eq!(server.gauges().unread_bytes, 0);
}

#[tokio::test]
async fn a_batch_over_stdio_is_answered_completely() {
    let server = server_with_large_results();
    let connection = StdioConnection::new();
    line(&server, &connection, &greeting()).await;
    let LineReply::Pending(answers) = server.stdio_line(&connection, &batch_of_100()) else {
        panic!("not a batch")
    };
    assert!(answers.await.unwrap().len() > 100 * RESULT_BYTES, "some were refused");
}

#[tokio::test]
async fn legacy_sse_counts_answers_until_they_are_read() {
    let server = server_with_large_results();
    let principal = Caller::LOOPBACK.principal();
    let LegacySseConnection { id, mut events } = server.connect_legacy_sse(&Caller::LOOPBACK).unwrap();
    let post = async |message: &[u8]| {
        let memory = server.body_memory(&Caller::LOOPBACK);
        server.post_legacy_message(&principal, &id, message, memory).await.status
    };
    assert_eq!(post(&greeting()).await, 202);
    events.next().await.unwrap();
    for number in 1..=4 {
        assert_eq!(post(&call(number, "a_large")).await, 202);
    }
    while server.gauges().unread_bytes < 4 * RESULT_BYTES as u64 {
        tokio::task::yield_now().await;
    }
    for refused in [call(5, "a_large"), request(6, "tools/list", &json!({})), batch_of_100()] {
        assert_eq!(post(&refused).await, 503);
    }
    for _ in 1..=4 {
        events.next().await.unwrap();
    }
    assert_eq!(server.gauges().unread_bytes, 0);
    assert_eq!(post(&batch_of_100()).await, 202);
    let SseEvent::Message { message, .. } = events.next().await.unwrap() else { panic!("no message") };
    is_mostly_refused(&serde_json::from_slice(&message).unwrap());
}
