//! Questions to a client of the handshake era: they are sent on the stream of their request, and any message of the
//! same session can contain the answer.

use futures_util::FutureExt as _;

use super::*;
use crate::call::{Content, InputNeeded, InputRequest};
use crate::caller::Caller;
use crate::policy::ClientFeature;
use crate::session::SseEvent;

/// A gateway whose tool `asks` requests roots under `count` keys and returns the answers.
fn asking() -> Arc<Server> {
    let mut fake = FakePlugin::new("a").tool("asks", &json!({ "type": "object" }), None);
    fake.on_tool = Some(Box::new(|context, (_, arguments)| {
        let arguments: Value = serde_json::from_str(&arguments).unwrap();
        if !context.answers.is_empty() {
            let got: Vec<_> = context.answers.iter().map(|(_, answer)| answer.get()).collect();
            let content = vec![Content::text(got.join(" "))];
            return ready(Ok(Outcome::Done(ToolResult { content, ..ToolResult::default() })));
        }
        let request =
            |key: u64| InputRequest { key: key.to_string(), method: "roots/list".to_owned(), params: None };
        let requests = (0..arguments["count"].as_u64().unwrap_or(1)).map(request).collect();
        ready(Ok(Outcome::NeedInput(InputNeeded {
            requests,
            state: None,
            meta: Vec::new(),
            extra: Vec::new(),
        })))
    }));
    serving(catalog(vec![
        fake.into_catalog_plugin(|config| config.client_features = [ClientFeature::Roots].into()),
    ]))
}

fn hello_in(revision: &str, capabilities: &Value) -> Vec<u8> {
    let client = json!({ "name": "t", "version": "1" });
    let params = json!({ "protocolVersion": revision, "capabilities": capabilities, "clientInfo": client });
    request(0, "initialize", &params)
}

/// A stdio client with roots.
async fn client(server: &Arc<Server>, revision: &str) -> Arc<StdioConnection> {
    let connection = StdioConnection::new();
    line(server, &connection, &hello_in(revision, &json!({ "roots": {} }))).await.unwrap();
    connection
}

fn several(reply: LineReply) -> ResponseStream {
    match reply {
        LineReply::Stream(messages) => messages,
        other => panic!("{other:?}"),
    }
}

async fn next(messages: &mut ResponseStream) -> Option<Value> {
    let message = messages.next().await?;
    Some(serde_json::from_slice(&message.into_message()).unwrap())
}

fn roots(id: &Value, directory: &str) -> Vec<u8> {
    json!({ "jsonrpc": "2.0", "id": id, "result": { "roots": [{ "uri": format!("file:///{directory}") }] } })
        .to_string()
        .into_bytes()
}

fn text(response: &Value) -> &str {
    response["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {response}"))
}

#[tokio::test]
async fn a_question_waits_for_its_answer() {
    let server = asking();
    let connection = client(&server, "2025-11-25").await;
    let mut messages = several(server.stdio_line(&connection, &call(1, "a_asks")));
    let question = next(&mut messages).await.unwrap();
    let params = json!({ "_meta": { "moongate/plugin": "a" } });
    assert_eq!(question, json!({ "jsonrpc": "2.0", "id": "s-1", "method": "roots/list", "params": params }));
    for stray in [json!("s-2"), json!(1), json!(null)] {
        assert!(line(&server, &connection, &roots(&stray, "no")).await.is_none());
    }
    assert!(line(&server, &connection, &roots(&json!("s-1"), "yes")).await.is_none());
    let response = next(&mut messages).await.unwrap();
    assert!(response["id"] == 1 && text(&response).contains("file:///yes"), "{response}");
    assert!(next(&mut messages).await.is_none());
    assert!(line(&server, &connection, &roots(&json!("s-1"), "late")).await.is_none());
    let mut again = several(server.stdio_line(&connection, &call(2, "a_asks")));
    assert_eq!(next(&mut again).await.unwrap()["id"], "s-2", "ids are never used twice");
}

#[tokio::test]
async fn an_error_answers_a_question() {
    let server = asking();
    let connection = client(&server, "2025-06-18").await;
    let mut messages = several(server.stdio_line(&connection, &call(1, "a_asks")));
    next(&mut messages).await.unwrap();
    let refusal = br#"{"jsonrpc":"2.0","id":"s-1","error":{"code":-32601,"message":"no roots today"}}"#;
    line(&server, &connection, refusal).await;
    let response = next(&mut messages).await.unwrap();
    assert_eq!(response["result"]["isError"], true);
    assert!(text(&response).contains("the client refused: no roots today"), "{response}");
}

#[tokio::test]
async fn cancelling_a_call_withdraws_its_questions() {
    let server = asking();
    let connection = client(&server, "2025-11-25").await;
    let params = json!({ "name": "a_asks", "arguments": { "count": 2 } });
    let mut messages = several(server.stdio_line(&connection, &request(1, "tools/call", &params)));
    let asked = [next(&mut messages).await.unwrap(), next(&mut messages).await.unwrap()];
    assert_eq!([&asked[0]["id"], &asked[1]["id"]], ["s-1", "s-2"], "both are open at once");
    let cancel = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    line(&server, &connection, cancel).await;
    let mut withdrawn = Vec::new();
    while let Some(message) = next(&mut messages).await {
        assert_eq!(message["method"], "notifications/cancelled", "{message}");
        withdrawn.push(message["params"]["requestId"].as_str().unwrap().to_owned());
    }
    withdrawn.sort_unstable();
    assert_eq!(withdrawn, ["s-1", "s-2"]);
}

#[tokio::test]
async fn a_refusal_withdraws_the_other_questions_of_its_round() {
    let server = asking();
    let connection = client(&server, "2025-11-25").await;
    let params = json!({ "name": "a_asks", "arguments": { "count": 2 } });
    let mut messages = several(server.stdio_line(&connection, &request(1, "tools/call", &params)));
    next(&mut messages).await.unwrap();
    next(&mut messages).await.unwrap();
    line(&server, &connection, br#"{"jsonrpc":"2.0","id":"s-2","error":{"code":-1,"message":"no"}}"#).await;
    let withdrawal = next(&mut messages).await.unwrap();
    assert_eq!(withdrawal["params"]["requestId"], "s-1", "{withdrawal}");
    assert_eq!(next(&mut messages).await.unwrap()["result"]["isError"], true);
}

#[tokio::test(start_paused = true)]
async fn questions_time_out() {
    let server = asking();
    let connection = client(&server, "2025-11-25").await;
    let mut messages = several(server.stdio_line(&connection, &call(1, "a_asks")));
    next(&mut messages).await.unwrap();
    let before = tokio::time::Instant::now();
    let withdrawal = next(&mut messages).await.unwrap();
    assert_eq!(before.elapsed(), Duration::from_secs(600));
    assert_eq!(withdrawal["params"], json!({ "requestId": "s-1", "reason": "no answer in time" }));
    let response = next(&mut messages).await.unwrap();
    assert!(text(&response).contains("didn't answer within 10m"), "{response}");
}

#[tokio::test]
async fn questions_end_when_the_client_closes_its_side() {
    let server = asking();
    let connection = client(&server, "2025-11-25").await;
    let mut messages = several(server.stdio_line(&connection, &call(1, "a_asks")));
    next(&mut messages).await.unwrap();
    connection.close_streams();
    assert_eq!(next(&mut messages).await.unwrap()["method"], "notifications/cancelled");
    assert!(text(&next(&mut messages).await.unwrap()).contains("the client can't answer any more"));

    let me = Caller::LOOPBACK;
    let headers = session(&server, &me, "2025-11-25").await;
    let post = HttpPost {
        memory: None,
        caller: &me,
        headers: &headers,
        body: &call(1, "a_asks"),
        streaming: StreamSupport::Supported,
    };
    let HttpAnswer::Events(mut events) = server.post(post).await else { panic!("no stream") };
    next_event(&mut events).await.unwrap();
    server.close_streams();
    assert_eq!(next_event(&mut events).await.unwrap()["method"], "notifications/cancelled");
    assert!(text(&next_event(&mut events).await.unwrap()).contains("the client can't answer any more"));
}

#[tokio::test]
async fn limits_open_questions_per_session() {
    let server = asking();
    let connection = client(&server, "2025-11-25").await;
    let mut open = Vec::new();
    for id in 1..=4 {
        let params = json!({ "name": "a_asks", "arguments": { "count": 16 } });
        let mut messages = several(server.stdio_line(&connection, &request(id, "tools/call", &params)));
        for _ in 0..16 {
            assert_eq!(next(&mut messages).await.unwrap()["method"], "roots/list");
        }
        open.push(messages);
    }
    let mut more = several(server.stdio_line(&connection, &call(5, "a_asks")));
    let response = next(&mut more).await.unwrap();
    assert!(text(&response).contains("64 questions to this client are already open"), "{response}");
    for id in 1..=16 {
        line(&server, &connection, &roots(&json!(format!("s-{id}")), "x")).await;
    }
    assert!(text(&next(&mut open[0]).await.unwrap()).contains("file:///x"));
    let mut again = several(server.stdio_line(&connection, &call(6, "a_asks")));
    assert_eq!(next(&mut again).await.unwrap()["method"], "roots/list");
}

#[tokio::test]
async fn ignores_answers_of_clients_without_questions() {
    let server = asking();
    let connection = StdioConnection::new();
    line(&server, &connection, &initialize_request()).await.unwrap();
    let response = line(&server, &connection, &call(1, "a_asks")).await.unwrap();
    assert!(text(&response).contains("the client doesn't support: roots"), "{response}");
}

#[tokio::test]
async fn batches_accept_answers_but_ask_no_questions() {
    let server = asking();
    let connection = client(&server, "2025-03-26").await;
    let mut messages = several(server.stdio_line(&connection, &call(1, "a_asks")));
    let id = next(&mut messages).await.unwrap()["id"].clone();
    let [asks, answers] = [call(2, "a_asks"), roots(&id, "batched")].map(|it| String::from_utf8(it).unwrap());
    let batch = line(&server, &connection, format!("[{answers},{asks}]").as_bytes()).await.unwrap();
    assert!(text(&batch[0]).contains("came in a batch"), "{batch}");
    assert!(text(&next(&mut messages).await.unwrap()).contains("file:///batched"));
}

/// The next message of an event stream.
async fn next_event(events: &mut EventStream) -> Option<Value> {
    loop {
        if let SseEvent::Message { message, .. } = events.next().await? {
            return Some(serde_json::from_slice(&message).unwrap());
        }
    }
}

/// Opens a session over HTTP.
async fn session(server: &Arc<Server>, caller: &Caller, revision: &str) -> Pairs {
    let body = hello_in(revision, &json!({ "roots": {} }));
    let reply = server
        .post(HttpPost {
            memory: None,
            caller,
            headers: &none(),
            body: &body,
            streaming: StreamSupport::Supported,
        })
        .await;
    let HttpAnswer::Whole(reply) = reply else { panic!("{reply:?}") };
    Pairs(vec![("mcp-session-id", reply.headers[0].1.clone())])
}

#[tokio::test]
async fn only_the_asked_session_can_answer() {
    let server = asking();
    let [ann, bob] = ["ann", "bob"].map(|name| Caller::Named(name.into()));
    let asked = session(&server, &ann, "2025-11-25").await;
    let other = session(&server, &ann, "2025-11-25").await;
    let bobs = session(&server, &bob, "2025-11-25").await;
    let say = async |caller: &Caller, headers: &Pairs, body: &[u8]| {
        server
            .post(HttpPost { memory: None, caller, headers, body, streaming: StreamSupport::Supported })
            .await
    };
    let HttpAnswer::Events(mut events) = say(&ann, &asked, &call(1, "a_asks")).await else {
        panic!("no stream")
    };
    let question = next_event(&mut events).await.unwrap();
    assert_eq!(question["method"], "roots/list", "the question upgrades the answer to a stream");
    let id = &question["id"];
    for (caller, headers, status) in [(&ann, &other, 202), (&bob, &bobs, 202), (&bob, &asked, 404)] {
        let HttpAnswer::Whole(reply) = say(caller, headers, &roots(id, "forged")).await else { panic!() };
        assert_eq!(reply.status, status, "{reply:?}");
    }
    let HttpAnswer::Whole(reply) = say(&ann, &asked, &roots(id, "true")).await else { panic!() };
    assert_eq!((reply.status, &*reply.body), (202, &b""[..]));
    let response = next_event(&mut events).await.unwrap();
    assert!(text(&response).contains("file:///true"), "{response}");
}

#[tokio::test]
async fn http_batches_accept_answers_but_ask_no_questions() {
    let server = asking();
    let me = Caller::LOOPBACK;
    let headers = session(&server, &me, "2025-03-26").await;
    let post = HttpPost {
        memory: None,
        caller: &me,
        headers: &headers,
        body: &call(1, "a_asks"),
        streaming: StreamSupport::Supported,
    };
    let HttpAnswer::Events(mut events) = server.post(post).await else { panic!("no stream") };
    let id = next_event(&mut events).await.unwrap()["id"].clone();
    let answers = String::from_utf8(roots(&id, "batched")).unwrap();
    let batch = format!("[{answers}]").into_bytes();
    let post = HttpPost {
        memory: None,
        caller: &me,
        headers: &headers,
        body: &batch,
        streaming: StreamSupport::Supported,
    };
    let HttpAnswer::Whole(reply) = server.post(post).await else { panic!() };
    assert_eq!(reply.status, 202);
    assert!(text(&next_event(&mut events).await.unwrap()).contains("file:///batched"));
    let deaf = HttpPost {
        memory: None,
        caller: &me,
        headers: &headers,
        body: &call(2, "a_asks"),
        streaming: StreamSupport::Unsupported,
    };
    let HttpAnswer::Whole(reply) = server.post(deaf).await else {
        panic!("a stream to a client that takes none")
    };
    assert!(text(&body(&reply)).contains("without accepting an event stream"));
}

#[tokio::test]
async fn ending_a_session_ends_its_questions() {
    let server = asking();
    let me = Caller::LOOPBACK;
    let headers = session(&server, &me, "2025-11-25").await;
    let post = HttpPost {
        memory: None,
        caller: &me,
        headers: &headers,
        body: &call(1, "a_asks"),
        streaming: StreamSupport::Supported,
    };
    let HttpAnswer::Events(mut events) = server.post(post).await else { panic!("no stream") };
    let id = next_event(&mut events).await.unwrap()["id"].clone();
    assert_eq!(server.delete(&me, &headers).await.status, 200);
    while let Some(message) = next_event(&mut events).await {
        assert_eq!(message["method"], "notifications/cancelled", "{message}");
    }
    let late = roots(&id, "late");
    let post = HttpPost {
        memory: None,
        caller: &me,
        headers: &headers,
        body: &late,
        streaming: StreamSupport::Supported,
    };
    let HttpAnswer::Whole(reply) = server.post(post).await else { panic!() };
    assert_eq!(reply.status, 404);
}

/// Lets calls continue that run in tasks of their own.
async fn let_calls_run() {
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn limits_memory_of_waiting_requests() {
    let server = asking();
    let connection = client(&server, "2025-11-25").await;
    let padding = "x".repeat(8 << 20);
    let large = |id| request(id, "tools/call", &json!({ "name": "a_asks", "arguments": { "x": padding } }));
    let mut waiting = Vec::new();
    let refused = loop {
        match server.stdio_line(&connection, &large(waiting.len() as u64)) {
            LineReply::Stream(mut messages) => {
                next(&mut messages).await.unwrap();
                waiting.push(messages);
            }
            LineReply::Ready(refused) => break refused,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(waiting.len(), 15, "of 8 MiB each, which count twice, in 256 MiB");
    let refused: Value = serde_json::from_slice(&refused).unwrap();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(15), &json!(-32603)), "{refused}");
    let small = json!({ "name": "a_asks", "arguments": { "x": "x".repeat(60_000) } });
    let mut messages = several(server.stdio_line(&connection, &request(99, "tools/call", &small)));
    next(&mut messages).await.unwrap();
    waiting.pop();
    let_calls_run().await;
    let mut messages = several(server.stdio_line(&connection, &large(100)));
    assert_eq!(next(&mut messages).await.unwrap()["method"], "roots/list", "one more fits again");
}

#[tokio::test]
async fn one_caller_leaves_memory_to_others() {
    let server = asking();
    let [first, second] = ["first", "second"].map(|name| Caller::Named(name.into()));
    let params = serde_json::value::to_raw_value(&json!({ "x": "x".repeat(4 << 20) })).unwrap();
    let request = jsonrpc::Request {
        id: Id::string("1"),
        method: "tools/call".into(),
        params: Some((&*params).into()),
    };
    let reserve_all = |caller: &Caller| {
        let reserve = || server.request_memory.reserve(caller, &request);
        std::iter::repeat_with(reserve).map_while(Result::ok).collect::<Vec<_>>()
    };
    let of_first = reserve_all(&first);
    let of_second = reserve_all(&second);
    assert_eq!((of_first.len(), of_second.len()), (27, 4), "alone, a caller leaves an eighth");
    drop(of_first);
    assert_eq!(reserve_all(&first).len(), 15, "while another caller holds some, half");
    drop(of_second);
}

#[tokio::test]
async fn limits_memory_of_waiting_answers() {
    let server = asking();
    let connection = client(&server, "2025-11-25").await;
    let long = |id: &Value| {
        let root = json!({ "uri": "file:///a", "name": "x".repeat(1_000_000) });
        json!({ "jsonrpc": "2.0", "id": id, "result": { "roots": [root] } }).to_string().into_bytes()
    };
    let params = json!({ "name": "a_asks", "arguments": { "count": 4 } });
    let mut waiting = Vec::new();
    let refused = loop {
        let request = request(waiting.len() as u64, "tools/call", &params);
        let mut messages = several(server.stdio_line(&connection, &request));
        let mut asked = Vec::new();
        for _ in 0..4 {
            asked.push(next(&mut messages).await.unwrap()["id"].clone());
        }
        for id in &asked[..3] {
            line(&server, &connection, &long(id)).await;
        }
        let_calls_run().await;
        match next(&mut messages).now_or_never() {
            None => waiting.push(messages),
            Some(withdrawal) => {
                assert_eq!(withdrawal.unwrap()["params"]["requestId"], asked[3]);
                break next(&mut messages).await.unwrap();
            }
        }
    };
    assert_eq!(waiting.len(), 22, "of 3 MB each, in 64 MiB");
    assert!(text(&refused).contains("too many large questions or answers are pending"), "{refused}");
    drop(waiting);
    let_calls_run().await;
    let mut messages = several(server.stdio_line(&connection, &call(99, "a_asks")));
    let question = next(&mut messages).await.unwrap();
    line(&server, &connection, &long(&question["id"])).await;
    let response = next(&mut messages).await.unwrap();
    assert!(text(&response).contains("file:///a"), "one more fits again");
}

#[tokio::test]
async fn the_memory_of_a_line_counts_once_and_until_its_requests_end() {
    const LINE_BYTES: usize = 1 << 20;
    let server = asking();
    let connection = client(&server, "2025-11-25").await;
    let memory = |line: &[u8]| {
        let mut memory = server.body_memory(connection.caller());
        memory.grow_to(line.len()).unwrap();
        memory
    };
    let padding = "x".repeat(LINE_BYTES);
    let call = request(7, "tools/call", &json!({ "name": "a_asks", "arguments": { "x": padding } }));
    let mut messages = several(server.counted_line(&connection, &call, memory(&call)));
    next(&mut messages).await.unwrap();
    assert_eq!(server.request_memory.used(), 2 * call.len() as u64);
    let progress =
        json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "x": padding } });
    let progress = progress.to_string().into_bytes();
    let broken = padding.into_bytes();
    for line in [&progress, &broken] {
        let _ = server.counted_line(&connection, line, memory(line));
        assert_eq!(server.request_memory.used(), 2 * call.len() as u64, "only the request still counts");
    }
    drop(messages);
    let_calls_run().await;
    assert_eq!(server.request_memory.used(), 0);
}
