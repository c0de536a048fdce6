//! Answers that wait for their client, or for the rest of their batch.

use futures_util::stream::BoxStream;
use tokio_util::sync::CancellationToken;

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
            used_states: None,
        },
        max_sessions: 8,
        session_idle: Duration::from_secs(60),
        updates: Arc::default(),
        close_streams_after: None,
        shared: None,
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
    let LegacySseConnection { id, mut events } = server.connect_legacy_sse(&Caller::LOOPBACK).unwrap();
    let post = async |message: &[u8]| {
        let memory = server.body_memory(&Caller::LOOPBACK);
        server.post_legacy_message(&Caller::LOOPBACK, &id, message, memory, ()).await.status
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

/// A server whose tool `a_noisy` reports progress 1,000 times, pauses often, and then returns 1 MiB. `ended` is set when
/// it ends.
fn server_with_a_noisy_tool(ended: &CancellationToken) -> Arc<Server> {
    let mut fake = FakePlugin::new("a").tool("noisy", &json!({ "type": "object" }), None);
    let ended = ended.clone();
    fake.on_tool = Some(Box::new(move |context, _| {
        let ended = ended.clone();
        Box::pin(async move {
            for step in 1..=1_000 {
                context.sink.progress(f64::from(step), None, None);
                tokio::task::yield_now().await;
            }
            ended.cancel();
            let content = vec![Content::text("x".repeat(RESULT_BYTES))];
            Ok(Outcome::Done(ToolResult { content, ..ToolResult::default() }))
        })
    }));
    serving(catalog(vec![fake.into_catalog_plugin(|_| {})]))
}

/// Calls `a_noisy` in this era, over HTTP or stdio, and returns its messages. Only the first one is read.
async fn noisy_call(server: &Arc<Server>, is_stateless: bool, is_http: bool) -> BoxStream<'static, Vec<u8>> {
    let mut meta = json!({ "progressToken": 1 });
    if is_stateless {
        meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
        meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    }
    let call = request(1, "tools/call", &json!({ "name": "a_noisy", "_meta": meta }));
    let mut messages = if is_http {
        let headers = if is_stateless {
            Pairs(vec![
                ("mcp-protocol-version", "2026-07-28".to_owned()),
                ("mcp-method", "tools/call".to_owned()),
                ("mcp-name", "a_noisy".to_owned()),
            ])
        } else {
            session(server).await
        };
        let post = HttpPost {
            caller: &Caller::LOOPBACK,
            headers: &headers,
            body: &call,
            memory: None,
            streaming: StreamSupport::Supported,
        };
        let HttpAnswer::Events(events) = server.post(post).await else { panic!("no stream") };
        let text = |event| {
            std::future::ready(match event {
                SseEvent::Message { message, .. } => Some(message.to_vec()),
                SseEvent::Priming { .. } => None,
            })
        };
        events.filter_map(text).boxed()
    } else {
        let connection = StdioConnection::new();
        if !is_stateless {
            line(server, &connection, &initialize_request()).await;
        }
        let LineReply::Stream(messages) = server.stdio_line(&connection, &call) else { panic!("no stream") };
        messages.map(|message| message.into_message().to_vec()).boxed()
    };
    messages.next().await.expect("a progress report");
    messages
}

#[tokio::test]
async fn calls_end_even_if_their_notifications_are_not_read() {
    for (is_stateless, is_http) in [(true, true), (true, false), (false, true), (false, false)] {
        let ended = CancellationToken::new();
        let server = server_with_a_noisy_tool(&ended);
        let messages = noisy_call(&server, is_stateless, is_http).await;
        ended.cancelled().await;
        let rest: Vec<_> = messages.collect().await;
        let response: Value = serde_json::from_slice(rest.last().unwrap()).unwrap();
        assert!(response["result"].is_object(), "{response}");
        assert!(rest.len() < 300, "{} messages were kept", rest.len());
        assert_eq!(server.gauges().unread_bytes, 0);
    }
}

#[tokio::test]
async fn a_response_counts_while_the_notifications_before_it_are_not_read() {
    for is_http in [true, false] {
        let ended = CancellationToken::new();
        let server = server_with_a_noisy_tool(&ended);
        let mut messages = noisy_call(&server, true, is_http).await;
        while server.gauges().unread_bytes < RESULT_BYTES as u64 {
            tokio::task::yield_now().await;
        }
        messages.next().await.unwrap();
        assert!(server.gauges().unread_bytes >= RESULT_BYTES as u64);
        drop(messages);
        while server.gauges().unread_bytes > 0 {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn dropping_an_unread_stream_cancels_a_stateless_call() {
    let mut fake = FakePlugin::new("a").tool("noisy", &json!({ "type": "object" }), None);
    let cancelled = CancellationToken::new();
    let seen = cancelled.clone();
    fake.on_tool = Some(Box::new(move |context, _| {
        let seen = seen.clone();
        Box::pin(async move {
            context.sink.progress(1.0, None, None);
            context.cancel.cancelled().await;
            tokio::task::yield_now().await;
            seen.cancel();
            Err(CallError::Cancelled)
        })
    }));
    let server = serving(catalog(vec![fake.into_catalog_plugin(|_| {})]));
    let messages = noisy_call(&server, true, true).await;
    tokio::task::yield_now().await;
    drop(messages);
    cancelled.cancelled().await;
}

#[tokio::test]
async fn few_large_log_lines_wait_to_be_read() {
    let mut fake = FakePlugin::new("a").tool("logs", &json!({ "type": "object" }), None);
    fake.on_tool = Some(Box::new(|context, _| {
        for size in [20_000, 100] {
            for _ in 0..100 {
                context.sink.log(LogLevel::Error, None, &Json::string(&"x".repeat(size)));
            }
        }
        ready(Ok(Outcome::Done(ToolResult::default())))
    }));
    let server = serving(catalog(vec![fake.into_catalog_plugin(|_| {})]));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/logLevel": "debug",
    });
    let call = request(1, "tools/call", &json!({ "name": "a_logs", "_meta": meta }));
    let LineReply::Stream(messages) = server.stdio_line(&StdioConnection::new(), &call) else {
        panic!("no stream")
    };
    let sizes: Vec<_> = messages.map(|message| message.into_message().len()).collect().await;
    assert_eq!(sizes.iter().filter(|size| **size > 10_000).count(), 8);
    assert_eq!(sizes.len(), 64 + 1, "small ones fill the rest, and the response follows");
}
