//! Sessions that two servers serve together.

use tokio::sync::Notify;

use super::*;
use crate::call::{Content, InputNeeded, InputRequest};
use crate::catalog::Catalog;
use crate::changes::ResourceUpdates;
use crate::names::ResourceUri;
use crate::policy::ClientFeature;
use crate::session::shared::{FakeSharedStore, ReplicaId};

mod streams;

const A: &str = "test://a";

/// Two replicas and their store.
struct Replicas {
    store: Arc<FakeSharedStore>,
    servers: Vec<Arc<Server>>,
    updates: Vec<Arc<ResourceUpdates>>,
    publish: watch::Sender<Arc<Catalog>>,
    /// Lets the calls of `a_slow` end.
    gate: Arc<Notify>,
}

fn offering(gate: &Arc<Notify>, more: &[&str]) -> Arc<Catalog> {
    let object = json!({ "type": "object" });
    let tools = ["fine", "hangs", "says", "asks", "slow", "long", "too_long"].iter().chain(more);
    let mut fake = tools.fold(FakePlugin::new("a"), |fake, name| fake.tool(name, &object, None));
    let gate = Arc::clone(gate);
    fake.on_tool = Some(Box::new(move |context, (name, _)| {
        let done = |text: String| {
            let content = vec![Content::text(text)];
            Ok(Outcome::Done(ToolResult { content, ..ToolResult::default() }))
        };
        match name.as_str() {
            "says" => {
                context.sink.log(LogLevel::Error, None, &Json::string("careful"));
                ready(done("said".to_owned()))
            }
            "asks" if context.answers.is_empty() => {
                let request =
                    InputRequest { key: "roots".to_owned(), method: "roots/list".to_owned(), params: None };
                ready(Ok(Outcome::NeedInput(InputNeeded {
                    requests: vec![request],
                    state: None,
                    meta: Vec::new(),
                    extra: Vec::new(),
                })))
            }
            "asks" => ready(done(context.answers[0].1.get().to_owned())),
            "slow" => {
                let gate = Arc::clone(&gate);
                Box::pin(async move {
                    for step in 1..=3_u8 {
                        context.sink.progress(f64::from(step), None, None);
                        gate.notified().await;
                    }
                    done("slow".to_owned())
                })
            }
            "long" => {
                context.sink.progress(1.0, None, None);
                let gate = Arc::clone(&gate);
                Box::pin(async move {
                    gate.notified().await;
                    done("x".repeat(700_000))
                })
            }
            "too_long" => {
                context.sink.progress(1.0, None, None);
                ready(done("x".repeat(1 << 20)))
            }
            "hangs" => Box::pin(async move {
                context.cancel.cancelled().await;
                Err(CallError::Cancelled)
            }),
            _ => ready(done("fine".to_owned())),
        }
    }));
    catalog(vec![fake.resource(A).into_catalog_plugin(|config| {
        config.client_features = [ClientFeature::Roots].into();
    })])
}

impl Replicas {
    fn start() -> Self {
        let gate = Arc::default();
        let (publish, seen) = watch::channel(offering(&gate, &[]));
        let store: Arc<FakeSharedStore> = Arc::default();
        let updates = vec![Arc::<ResourceUpdates>::default(), Arc::default()];
        let serve = |updates: &Arc<ResourceUpdates>| {
            let dispatcher = Dispatcher::new(seen.clone(), Arc::new(ConcurrencyLimiter::new(8)));
            let store: Arc<dyn crate::session::shared::SharedSessionStore> =
                Arc::<FakeSharedStore>::clone(&store);
            let options = ServerOptions {
                shared: Some(SharedServing { replica: ReplicaId::random().unwrap(), store }),
                ..options(Arc::clone(updates), None, CacheScope::Public)
            };
            Server::new(dispatcher, options)
        };
        let servers = updates.iter().map(serve).collect();
        Self { store, servers, updates, publish, gate }
    }

    /// Opens a session on the first replica, once both receive wake-ups.
    async fn session(&self) -> Client {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let client = json!({ "name": "t", "version": "1" });
        let capabilities = json!({ "roots": {} });
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client });
        let mut client = Client { caller: Caller::Named("ann".into()), headers: Vec::new() };
        let HttpAnswer::Whole(reply) =
            client.post(&self.servers[0], &request(0, "initialize", &params)).await
        else {
            panic!("a stream")
        };
        let (_, id) = reply.headers.into_iter().find(|(name, _)| *name == "mcp-session-id").unwrap();
        client.headers.push(("mcp-session-id", id));
        client
    }

    fn change_lists(&self, tool: &str) {
        self.publish.send_replace(offering(&self.gate, &[tool]));
    }

    fn report(&self, replica: usize) {
        self.updates[replica].report(&ResourceUri::new(A).unwrap());
    }
}

struct Client {
    caller: Caller,
    headers: Vec<(&'static str, String)>,
}

impl Client {
    async fn post(&self, server: &Arc<Server>, body: &[u8]) -> HttpAnswer {
        let headers = Pairs(self.headers.clone());
        let streaming = StreamSupport::Supported;
        server.post(HttpPost { memory: None, caller: &self.caller, headers: &headers, body, streaming }).await
    }

    /// Posts a message and expects one in return, or none.
    async fn send(&self, server: &Arc<Server>, body: &[u8]) -> (u16, Value) {
        match self.post(server, body).await {
            HttpAnswer::Whole(reply) => {
                (reply.status, serde_json::from_slice(&reply.body).unwrap_or(Value::Null))
            }
            HttpAnswer::Events(_) => panic!("a stream"),
        }
    }

    async fn events(&self, server: &Arc<Server>, body: &[u8]) -> EventStream {
        match self.post(server, body).await {
            HttpAnswer::Events(events) => events,
            HttpAnswer::Whole(reply) => panic!("{reply:?}"),
        }
    }

    async fn get(&self, server: &Arc<Server>, last: Option<&str>) -> HttpAnswer {
        let mut headers = self.headers.clone();
        headers.extend(last.map(|last| ("last-event-id", last.to_owned())));
        let headers = Pairs(headers);
        server
            .get(HttpGet { caller: &self.caller, headers: &headers, streaming: StreamSupport::Supported })
            .await
    }

    async fn listen(&self, server: &Arc<Server>, last: Option<&str>) -> EventStream {
        match self.get(server, last).await {
            HttpAnswer::Events(events) => events,
            HttpAnswer::Whole(reply) => panic!("{reply:?}"),
        }
    }
}

/// The id of the next event, and its message. `Null` if it has none.
async fn next(events: &mut EventStream) -> Option<(String, Value)> {
    let wait = tokio::time::timeout(Duration::from_secs(60), events.next());
    Some(match wait.await.expect("no event in time")? {
        SseEvent::Priming { id, .. } => (id, Value::Null),
        SseEvent::Message { id, message } => (id.unwrap(), serde_json::from_slice(&message).unwrap()),
    })
}

/// Reports that nothing arrives for longer than a heartbeat takes.
async fn is_silent(events: &mut EventStream) -> bool {
    tokio::time::timeout(Duration::from_secs(20), events.next()).await.is_err()
}

/// The last event of a change of lists. Each replica that has the new lists can repeat the notification, because an earlier
/// list may have been read at another one.
async fn last_of_change(events: &mut EventStream) -> String {
    let (mut last, changed) = next(events).await.unwrap();
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    if let Ok(Some(repeated)) = tokio::time::timeout(Duration::from_secs(20), next(events)).await {
        assert_eq!(repeated.1["method"], "notifications/tools/list_changed");
        last = repeated.0;
        assert!(is_silent(events).await, "each of two replicas notifies at most once");
    }
    last
}

/// A call of a tool that reports progress.
fn streaming(id: u64, tool: &str) -> Vec<u8> {
    request(id, "tools/call", &json!({ "name": tool, "_meta": { "progressToken": 1 } }))
}

#[tokio::test(start_paused = true)]
async fn any_replica_serves_a_session() {
    let replicas = Replicas::start();
    let client = replicas.session().await;
    let [a, b] = &replicas.servers[..] else { unreachable!() };
    for server in [b, a, b] {
        let (status, answer) = client.send(server, &call(1, "a_fine")).await;
        assert_eq!((status, &answer["result"]["content"][0]["text"]), (200, &json!("fine")));
    }
    let level = request(2, "logging/setLevel", &json!({ "level": "error" }));
    assert_eq!(client.send(a, &level).await.0, 200);
    tokio::time::sleep(Duration::from_millis(10)).await; // the wake-up
    let mut events = client.events(b, &call(3, "a_says")).await;
    next(&mut events).await.unwrap();
    assert_eq!(next(&mut events).await.unwrap().1["params"]["data"], "careful");
}

#[tokio::test(start_paused = true)]
async fn calls_cost_no_operation() {
    let replicas = Replicas::start();
    let client = replicas.session().await;
    client.send(&replicas.servers[1], &call(1, "a_fine")).await;
    let before = replicas.store.operations();
    for _ in 0..100 {
        for server in &replicas.servers {
            assert_eq!(client.send(server, &call(1, "a_fine")).await.0, 200);
        }
    }
    assert_eq!(replicas.store.operations(), before);
}

#[tokio::test(start_paused = true)]
async fn sessions_are_refused_to_other_principals() {
    let replicas = Replicas::start();
    let client = replicas.session().await;
    let stranger = Client { caller: Caller::Named("bob".into()), headers: client.headers.clone() };
    for server in &replicas.servers {
        assert_eq!(stranger.send(server, &call(1, "a_fine")).await.0, 404);
        let headers = Pairs(stranger.headers.clone());
        assert_eq!(server.delete(&stranger.caller, &headers).await.status, 404);
    }
    let unknown = Client { headers: vec![("mcp-session-id", "*".to_owned())], caller: client.caller.clone() };
    assert_eq!(unknown.send(&replicas.servers[1], &call(1, "a_fine")).await.0, 404);
    assert_eq!(client.send(&replicas.servers[1], &call(1, "a_fine")).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn deleting_a_session_ends_it_everywhere() {
    let replicas = Replicas::start();
    let client = replicas.session().await;
    let [a, b] = &replicas.servers[..] else { unreachable!() };
    let mut listening = client.listen(a, None).await;
    next(&mut listening).await.unwrap();
    let body = call(1, "a_hangs");
    let running = client.send(a, &body);
    let delete = async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let headers = Pairs(client.headers.clone());
        assert_eq!(b.delete(&client.caller, &headers).await.status, 200);
    };
    let ((_, answer), ()) = tokio::join!(running, delete);
    assert_eq!(answer["error"]["code"], -32800);
    assert_eq!(next(&mut listening).await, None);
    for server in [a, b] {
        assert_eq!(client.send(server, &call(2, "a_fine")).await.0, 404);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_reaches_the_replica_that_asked() {
    for is_lossy in [false, true] {
        let replicas = Replicas::start();
        let client = replicas.session().await;
        let [a, b] = &replicas.servers[..] else { unreachable!() };
        if is_lossy {
            replicas.store.lose_wake_ups();
        }
        let mut events = client.events(a, &call(1, "a_asks")).await;
        next(&mut events).await.unwrap();
        let (_, question) = next(&mut events).await.unwrap();
        assert_eq!(question["method"], "roots/list");
        let roots = json!({ "roots": [{ "uri": "file:///here" }] });
        let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": roots });
        assert_eq!(client.send(b, answer.to_string().as_bytes()).await.0, 202);
        let (_, response) = next(&mut events).await.unwrap();
        assert!(response["result"]["content"][0]["text"].as_str().unwrap().contains("here"), "{response}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_cant_be_forwarded_is_refused() {
    let replicas = Replicas::start();
    let client = replicas.session().await;
    let [a, b] = &replicas.servers[..] else { unreachable!() };
    let mut events = client.events(a, &call(1, "a_asks")).await;
    next(&mut events).await.unwrap();
    let (_, question) = next(&mut events).await.unwrap();
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "roots": [] } }).to_string();
    replicas.store.end_leases(); // as after an outage of the store
    let (status, refusal) = client.send(b, answer.as_bytes()).await;
    assert_eq!((status, &refusal["error"]["data"]["reason"]), (503, &json!("store_unavailable")));
    tokio::time::sleep(Duration::from_secs(5)).await; // a heartbeat
    assert_eq!(client.send(b, answer.as_bytes()).await.0, 202);
    let (_, response) = next(&mut events).await.unwrap();
    assert_eq!(response["id"], 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_too_long_for_the_store_is_unreadable() {
    let replicas = Replicas::start();
    let client = replicas.session().await;
    let [a, b] = &replicas.servers[..] else { unreachable!() };
    let mut events = client.events(a, &call(1, "a_asks")).await;
    next(&mut events).await.unwrap();
    let (_, question) = next(&mut events).await.unwrap();
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "long": "a".repeat(1 << 20) } });
    assert_eq!(client.send(b, answer.to_string().as_bytes()).await.0, 202);
    let (_, response) = next(&mut events).await.unwrap();
    let text = response["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("longer than 1 MiB"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_answer_reaches_the_replica_that_asked() {
    let replicas = Replicas::start();
    let client = replicas.session().await;
    let [a, b] = &replicas.servers[..] else { unreachable!() };
    let mut events = client.events(a, &call(1, "a_asks")).await;
    next(&mut events).await.unwrap();
    let (_, question) = next(&mut events).await.unwrap();
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": 1, "error": 1 });
    assert_eq!(client.send(b, answer.to_string().as_bytes()).await.0, 400);
    let (_, response) = next(&mut events).await.unwrap();
    assert_eq!(response["result"]["isError"], true, "{response}");
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_reaches_the_replica_of_the_call() {
    let replicas = Replicas::start();
    let client = replicas.session().await;
    let [a, b] = &replicas.servers[..] else { unreachable!() };
    let body = call(1, "a_hangs");
    let running = client.send(a, &body);
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let cancel = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
        assert_eq!(client.send(b, cancel).await.0, 202);
    };
    let ((_, answer), ()) = tokio::join!(running, cancel);
    assert_eq!(answer["error"]["code"], -32800);
}

#[tokio::test(start_paused = true)]
async fn notifications_follow_the_newest_stream() {
    let replicas = Replicas::start();
    let client = replicas.session().await;
    let [a, b] = &replicas.servers[..] else { unreachable!() };
    let mut on_b = client.listen(b, None).await;
    next(&mut on_b).await.unwrap();
    replicas.change_lists("two");
    let id = last_of_change(&mut on_b).await;
    let mut on_a = client.listen(a, Some(&id)).await;
    next(&mut on_a).await.unwrap();
    assert!(is_silent(&mut on_a).await, "the client knows the change");
    replicas.change_lists("three");
    last_of_change(&mut on_a).await;
    assert!(is_silent(&mut on_b).await, "each notification is sent on one stream");
    drop(on_a);
    replicas.change_lists("four");
    let (_, changed) = next(&mut on_b).await.unwrap();
    assert_eq!(changed["method"], "notifications/tools/list_changed", "the older stream has them again");
}

#[tokio::test(start_paused = true)]
async fn a_second_stream_on_the_same_replica_loses_nothing() {
    let replicas = Replicas::start();
    let client = replicas.session().await;
    let a = &replicas.servers[0];
    let mut older = client.listen(a, None).await;
    next(&mut older).await.unwrap();
    let mut newer = client.listen(a, None).await;
    next(&mut newer).await.unwrap();
    for lists in ["two", "three", "four"] {
        replicas.change_lists(lists);
        let (_, changed) = next(&mut newer).await.unwrap();
        assert_eq!(changed["method"], "notifications/tools/list_changed", "{lists}");
        assert!(is_silent(&mut older).await, "{lists}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_whose_client_left_while_it_opened_keeps_nothing() {
    let replicas = Replicas::start();
    let client = replicas.session().await;
    let [a, b] = &replicas.servers[..] else { unreachable!() };
    let mut older = client.listen(a, None).await;
    next(&mut older).await.unwrap();
    client.send(b, &call(1, "a_fine")).await;
    let before = replicas.store.operations();
    let mut opening = Box::pin(client.get(b, None));
    while replicas.store.operations() == before {
        assert!(futures_util::poll!(&mut opening).is_pending());
        tokio::task::yield_now().await;
    }
    drop(opening);
    tokio::time::sleep(Duration::from_millis(10)).await;
    replicas.change_lists("two");
    let (_, changed) = next(&mut older).await.unwrap();
    assert_eq!(changed["method"], "notifications/tools/list_changed");
}

#[tokio::test(start_paused = true)]
async fn a_claimed_notification_is_delivered_on_another_replica() {
    let replicas = Replicas::start();
    let client = replicas.session().await;
    let [a, b] = &replicas.servers[..] else { unreachable!() };
    let mut on_b = client.listen(b, None).await;
    let (id, _) = next(&mut on_b).await.unwrap();
    replicas.change_lists("two");
    tokio::time::sleep(Duration::from_millis(10)).await;
    // The connection is half open: the replica has sent the event, but the client hasn't received it.
    let mut on_a = client.listen(a, Some(&id)).await;
    let mut events = Vec::new();
    while let Ok(Some((_, event))) = tokio::time::timeout(Duration::from_secs(20), next(&mut on_a)).await {
        events.push(event["method"].clone());
    }
    assert_eq!(events[0], "notifications/tools/list_changed");
    assert_eq!(
        events.iter().filter(|method| method.is_null()).count(),
        1,
        "the first event of the stream: {events:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn subscriptions_count_on_every_replica() {
    let replicas = Replicas::start();
    let client = replicas.session().await;
    let [a, b] = &replicas.servers[..] else { unreachable!() };
    let mut on_b = client.listen(b, None).await;
    next(&mut on_b).await.unwrap();
    let subscribe = |id, method: &str| request(id, method, &json!({ "uri": A }));
    assert_eq!(client.send(a, &subscribe(1, "resources/subscribe")).await.0, 200);
    replicas.report(0);
    let (id, updated) = next(&mut on_b).await.unwrap();
    assert_eq!(
        (&updated["method"], &updated["params"]["uri"]),
        (&json!("notifications/resources/updated"), &json!(A))
    );
    replicas.report(1);
    let (id, _) = next(&mut on_b).await.unwrap_or((id, Value::Null));
    drop(on_b);
    tokio::time::sleep(Duration::from_millis(10)).await;
    replicas.report(1); // while the client isn't connected
    tokio::time::sleep(Duration::from_millis(10)).await;
    let mut on_a = client.listen(a, Some(&id)).await;
    next(&mut on_a).await.unwrap();
    assert_eq!(next(&mut on_a).await.unwrap().1["params"]["uri"], A);
    assert!(is_silent(&mut on_a).await, "it is sent once");
    assert_eq!(client.send(b, &subscribe(2, "resources/unsubscribe")).await.0, 200);
    tokio::time::sleep(Duration::from_millis(10)).await;
    replicas.report(0);
    assert!(is_silent(&mut on_a).await);
}

#[tokio::test(start_paused = true)]
async fn updates_during_an_outage_reach_other_replicas_afterwards() {
    let replicas = Replicas::start();
    let client = replicas.session().await;
    let [a, b] = &replicas.servers[..] else { unreachable!() };
    let subscribe = request(1, "resources/subscribe", &json!({ "uri": A }));
    assert_eq!(client.send(a, &subscribe).await.0, 200);
    let mut on_b = client.listen(b, None).await;
    next(&mut on_b).await.unwrap();
    replicas.store.set_failing(true);
    replicas.report(0);
    tokio::time::sleep(Duration::from_secs(10)).await;
    replicas.store.set_failing(false);
    assert_eq!(next(&mut on_b).await.unwrap().1["params"]["uri"], A);
}

#[tokio::test(start_paused = true)]
async fn sessions_survive_an_outage_of_the_store() {
    let replicas = Replicas::start();
    let client = replicas.session().await;
    let server = &replicas.servers[0];
    let mut events = client.events(server, &streaming(7, "a_slow")).await;
    next(&mut events).await.unwrap();
    replicas.store.set_failing(true);
    tokio::time::sleep(Duration::from_secs(10)).await;
    let (status, answer) = client.send(server, &call(1, "a_fine")).await;
    let data = json!({ "reason": "store_unavailable", "retry": true });
    assert_eq!((status, &answer["error"]["code"], &answer["error"]["data"]), (503, &json!(-32603), &data));
    for _ in 0..3 {
        replicas.gate.notify_one();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let (id, _) = next(&mut events).await.unwrap();
    drop(events);
    replicas.store.set_failing(false);
    tokio::time::sleep(Duration::from_secs(10)).await;
    for server in &replicas.servers {
        assert_eq!(client.send(server, &call(1, "a_fine")).await.0, 200);
    }
    let mut events = client.listen(&replicas.servers[1], Some(&id)).await;
    let mut last = Value::Null;
    while let Some((_, message)) = next(&mut events).await {
        last = message;
    }
    assert_eq!(last["id"], 7, "events during the outage were stored later");
    replicas.store.clear();
    tokio::time::sleep(Duration::from_secs(10)).await;
    for server in &replicas.servers {
        assert_eq!(client.send(server, &call(2, "a_fine")).await.0, 404);
    }
}
