//! Ownership and end of sessions.

use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;

use super::*;
use crate::catalog::Catalog;
use crate::dispatch::{CallEnd, RequestEnd, SessionEnd};
use crate::jsonrpc::Id;
use crate::mcp::Params;

/// The memory of streams.
const STREAM_BYTES: u64 = 64 << 20;

fn greeting() -> InitializeParams {
    greeting_with(&json!({}))
}

/// The greeting of a client that answers questions.
fn asked_greeting() -> InitializeParams {
    greeting_with(&json!({ "roots": {} }))
}

fn greeting_with(capabilities: &serde_json::Value) -> InitializeParams {
    let initialize = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "c", "version": "1"}});
    let raw = serde_json::value::to_raw_value(&initialize).unwrap();
    InitializeParams::read(&Params::read(Some((&*raw).into())).unwrap()).unwrap()
}

fn listener() -> ChangeListener {
    let (_, catalog) = watch::channel(Arc::new(Catalog::empty()));
    ChangeListener::new(catalog, &Arc::default(), Principal::Anonymous, [])
}

fn named(name: &str) -> Principal {
    caller(name).principal()
}

fn caller(name: &str) -> Caller {
    Caller::Named(name.into())
}

#[tokio::test(start_paused = true)]
async fn sessions_belong_to_their_owner_and_expire() {
    let sessions = SessionStore::new(10, Duration::from_secs(60), STREAM_BYTES, CancellationToken::new());
    let id = sessions.open(caller("ann"), greeting(), listener()).unwrap().id().to_owned();
    assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_graphic()));
    assert!(sessions.find(&id, &named("bob")).is_none());
    assert!(!sessions.end(&id, &named("bob")));
    tokio::time::advance(Duration::from_secs(50)).await;
    assert!(sessions.find(&id, &named("ann")).is_some());
    tokio::time::advance(Duration::from_secs(50)).await;
    assert!(sessions.find(&id, &named("ann")).is_some(), "using it kept it open");
    tokio::time::advance(Duration::from_secs(61)).await;
    assert!(sessions.find(&id, &named("ann")).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_running_request_keeps_its_session() {
    let sessions = SessionStore::new(10, Duration::from_secs(1), STREAM_BYTES, CancellationToken::new());
    let session = sessions.open(Caller::LOOPBACK, greeting(), listener()).unwrap();
    let running = session.in_flight.begin(&Id::from(1)).unwrap();
    tokio::time::advance(Duration::from_secs(100)).await;
    assert_eq!(sessions.count(), 1);
    assert!(sessions.end(session.id(), &Principal::Anonymous));
    assert!(running.is_cancelled());
    assert_eq!(sessions.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_caller_with_more_sessions_makes_room_for_another() {
    let sessions = SessionStore::new(10, Duration::from_secs(3600), STREAM_BYTES, CancellationToken::new());
    let open =
        |name| sessions.open(caller(name), greeting(), listener()).map(|session| session.id().to_owned());
    let is_open = |name, id: &String| sessions.find(id, &named(name)).is_some();
    let of_ann: Vec<_> = (0..10).map(|_| open("ann").unwrap()).collect();
    let mut of_bob = Vec::new();
    for count in 1..=5 {
        tokio::time::advance(Duration::from_secs(1)).await;
        of_bob.push(open("bob").unwrap());
        assert!(of_bob.iter().all(|id| is_open("bob", id)), "it lost a session");
        assert_eq!(of_ann.iter().filter(|id| is_open("ann", id)).count(), 10 - count);
    }
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(of_bob[1..].iter().all(|id| is_open("bob", id)), "it uses all but the first");
    of_bob.push(open("bob").unwrap());
    assert!(!is_open("bob", &of_bob[0]), "above half, it makes room itself");
    for _ in 0..20 {
        open("ann").unwrap();
    }
    assert!(of_bob[1..].iter().all(|id| is_open("bob", id)));
    assert_eq!(sessions.count(), 10);
}

#[tokio::test(start_paused = true)]
async fn many_callers_with_one_session_lose_the_idlest() {
    let sessions = SessionStore::new(200, Duration::from_secs(3600), STREAM_BYTES, CancellationToken::new());
    let open = |name: &str| sessions.open(caller(name), greeting(), listener()).unwrap().id().to_owned();
    let mut ids = Vec::new();
    for number in 0..200 {
        ids.push(open(&number.to_string()));
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    for number in [0, 1, 2, 10] {
        assert!(sessions.find(&ids[number], &named(&number.to_string())).is_some());
    }
    for expected in [3, 4, 5, 6, 7, 8, 9, 11] {
        open(&format!("new {expected}"));
        assert!(sessions.find(&ids[expected], &named(&expected.to_string())).is_none(), "{expected} stays");
    }
    assert!(sessions.find(&ids[0], &named("0")).is_some());
    assert_eq!(sessions.count(), 200);
}

#[tokio::test(start_paused = true)]
async fn busy_sessions_end_only_for_a_caller_with_less() {
    let sessions = SessionStore::new(3, Duration::from_secs(3600), STREAM_BYTES, CancellationToken::new());
    let open = |name| sessions.open(caller(name), greeting(), listener());
    let of_ann: Vec<_> = (0..3).map(|_| open("ann").unwrap()).collect();
    let running: Vec<_> = of_ann.iter().map(|it| it.in_flight.begin(&Id::from(1)).unwrap()).collect();
    assert_eq!(open("ann").unwrap_err(), SessionError::TooMany);
    let of_bob = open("bob").unwrap();
    assert_eq!(running.iter().filter(|it| it.is_cancelled()).count(), 1, "ann has more than half");
    let _bob_runs = of_bob.in_flight.begin(&Id::from(1)).unwrap();
    open("bob").unwrap();
    assert_eq!(running.iter().filter(|it| it.is_cancelled()).count(), 2, "ann still has more than bob");
    assert!(sessions.find(of_bob.id(), &named("bob")).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_session_that_only_asks_its_client_can_be_replaced() {
    let sessions = SessionStore::new(2, Duration::from_secs(3600), STREAM_BYTES, CancellationToken::new());
    let open = |name| sessions.open(caller(name), asked_greeting(), listener()).unwrap();
    let budget = QuestionBudget::new(64 << 20);
    let asking = [open("ann"), open("ann")];
    let (out, mut messages) = tokio::sync::mpsc::channel(8);
    let mut requests = Vec::new();
    for session in &asking {
        let running = session.in_flight.begin(&Id::from(1)).unwrap();
        let requester = session.pending_requests().unwrap().requester(out.clone(), &budget);
        let question = tokio::spawn(async move { requester.ask("roots/list", None).await });
        messages.recv().await.unwrap();
        requests.push((running, question));
    }
    let _also_runs = asking[0].in_flight.begin(&Id::from(2)).unwrap();
    open("bob");
    let cancelled: Vec<_> = requests.iter().map(|(running, _)| running.is_cancelled()).collect();
    assert_eq!(cancelled, [false, true], "the first one also runs a request that asks nothing");
    requests.iter().for_each(|(_, question)| question.abort());
}

#[tokio::test(start_paused = true)]
async fn opening_examines_few_sessions() {
    let sessions = SessionStore::new(2_000, Duration::from_secs(60), STREAM_BYTES, CancellationToken::new());
    let all: Vec<_> =
        (0..2_000).map(|_| sessions.open(caller("ann"), greeting(), listener()).unwrap()).collect();
    tokio::time::advance(Duration::from_secs(59)).await;
    assert!(all.iter().all(|session| sessions.find(session.id(), &named("ann")).is_some()));
    tokio::time::advance(Duration::from_secs(2)).await; // all positions are outdated
    sessions.open(caller("bob"), greeting(), listener()).unwrap();
    let examined = all.iter().filter(|session| Arc::strong_count(session) == 1).count();
    assert_eq!(examined, 1, "one made room");
    assert_eq!(sessions.count(), 2_000);
    tokio::time::advance(Duration::from_secs(61)).await;
    assert_eq!(sessions.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn evicts_the_idlest_session_of_the_same_owner_first() {
    let sessions = SessionStore::new(2, Duration::from_secs(3600), STREAM_BYTES, CancellationToken::new());
    let bob = sessions.open(caller("bob"), greeting(), listener()).unwrap();
    tokio::time::advance(Duration::from_secs(1)).await;
    let ann = sessions.open(caller("ann"), greeting(), listener()).unwrap();
    tokio::time::advance(Duration::from_secs(1)).await;
    let again = sessions.open(caller("ann"), greeting(), listener()).unwrap();
    assert!(sessions.find(ann.id(), &named("ann")).is_none());
    assert!(sessions.find(bob.id(), &named("bob")).is_some());
    let _bob_runs = bob.in_flight.begin(&Id::from(1)).unwrap();
    let _ann_runs = again.in_flight.begin(&Id::from(1)).unwrap();
    assert_eq!(sessions.open(caller("eve"), greeting(), listener()).unwrap_err(), SessionError::TooMany);
}

#[test]
fn rejects_duplicate_running_ids() {
    let all: Arc<InFlightRequests> = Arc::default();
    let one = all.begin(&Id::from(1)).unwrap();
    assert_eq!(all.begin(&Id::from(1)).unwrap_err(), DuplicateRequestId);
    let text = all.begin(&Id::string("1")).unwrap();
    all.cancel(&Id::from(1));
    assert!(one.is_cancelled() && !text.is_cancelled());
    drop(one);
    assert!(all.begin(&Id::from(1)).is_ok());
}

/// A request can find its session just before it is ended.
#[tokio::test]
async fn requests_that_begin_after_the_end_are_cancelled() {
    let store = SessionStore::new(4, Duration::from_secs(60), STREAM_BYTES, CancellationToken::new());
    let session = store.open(caller("ann"), greeting(), listener()).unwrap();
    let found = store.find(session.id(), &named("ann")).unwrap();
    let before = found.in_flight.begin(&Id::from(1)).unwrap();
    assert!(!before.is_cancelled());
    store.end_all_of(&[named("ann")]);
    assert!(before.is_cancelled());
    assert!(found.in_flight.begin(&Id::from(2)).unwrap().is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_session_is_idle_from_the_end_of_its_last_request() {
    let sessions = SessionStore::new(10, Duration::from_secs(60), STREAM_BYTES, CancellationToken::new());
    let session = sessions.open(Caller::LOOPBACK, greeting(), listener()).unwrap();
    let running = session.in_flight.begin(&Id::from(1)).unwrap();
    tokio::time::advance(Duration::from_secs(100)).await;
    drop(running);
    tokio::time::advance(Duration::from_secs(59)).await;
    assert!(sessions.find(session.id(), &Principal::Anonymous).is_some(), "it ended right after a long call");
}

#[tokio::test(start_paused = true)]
async fn evicts_sessions_with_readers_last() {
    let sessions = SessionStore::new(2, Duration::from_secs(3600), STREAM_BYTES, CancellationToken::new());
    let open = |name| sessions.open(caller(name), greeting(), listener()).unwrap();
    let bob = open("bob");
    let mut listening = bob.open_notification_stream(None);
    assert!(matches!(listening.next().await, Some(SseEvent::Priming { .. })));
    tokio::time::advance(Duration::from_secs(1)).await;
    let eve = open("eve");
    let ann = open("ann");
    assert!(sessions.find(eve.id(), &named("eve")).is_none(), "it has no reader, although it was used later");
    let also = ann.open_notification_stream(None);
    let cyd = open("cyd");
    assert!(sessions.find(bob.id(), &named("bob")).is_none());
    assert_eq!(listening.next().await, None);
    assert!(
        [("ann", &ann), ("cyd", &cyd)]
            .iter()
            .all(|(name, it)| sessions.find(it.id(), &named(name)).is_some())
    );
    drop(also);
}

#[tokio::test(start_paused = true)]
async fn limits_open_questions_of_a_caller() {
    let sessions = SessionStore::new(200, Duration::from_secs(3600), STREAM_BYTES, CancellationToken::new());
    let budget = QuestionBudget::new(64 << 20);
    let (out, mut messages) = tokio::sync::mpsc::channel(8_192);
    let mut questions = Vec::new();
    let mut ask = |name| {
        let session = sessions.open(caller(name), asked_greeting(), listener()).unwrap();
        for _ in 0..crate::mcp::MAX_OPEN_QUESTIONS {
            let requester = session.pending_requests().unwrap().requester(out.clone(), &budget);
            questions.push(tokio::spawn(async move { requester.ask("roots/list", None).await }));
        }
    };
    (0..64).for_each(|_| ask("ann"));
    ask("bob");
    let mut asked = 0;
    while tokio::time::timeout(Duration::from_secs(1), messages.recv()).await.is_ok() {
        asked += 1;
    }
    assert_eq!(asked, 3584 + 64, "ann leaves an eighth to others");
    let refused = questions.iter().filter(|question| question.is_finished()).count();
    assert_eq!(refused, 512);
    questions.iter().for_each(tokio::task::JoinHandle::abort);
}

/// The ended sessions: revision and duration in seconds.
#[derive(Debug, Default)]
struct EndedSessions(Mutex<Vec<(&'static str, u64)>>);

impl Observer for EndedSessions {
    fn call_ended(&self, _: &CallEnd<'_>) {}

    fn request_ended(&self, _: &RequestEnd<'_>) {}

    fn session_ended(&self, session: &SessionEnd) {
        self.0.lock().unwrap().push((session.revision, session.took.as_secs()));
    }
}

#[tokio::test(start_paused = true)]
async fn each_end_of_a_session_is_reported_once() {
    let sessions = SessionStore::new(10, Duration::from_secs(60), STREAM_BYTES, CancellationToken::new());
    let ended = Arc::<EndedSessions>::default();
    let observer: Arc<dyn Observer> = Arc::<EndedSessions>::clone(&ended);
    let open = || {
        let session = sessions.open(caller("ann"), greeting(), listener()).unwrap();
        session.observe(Some(&observer), NetworkTransport::Http);
        session.id().to_owned()
    };
    let take = || std::mem::take(&mut *ended.0.lock().unwrap());
    let idle = open();
    tokio::time::advance(Duration::from_secs(20)).await;
    assert!(sessions.find(&idle, &named("ann")).is_some());
    tokio::time::advance(Duration::from_secs(70)).await;
    assert_eq!((sessions.count(), take()), (0, vec![("2025-11-25", 20)]), "until its last activity");

    let deleted = open();
    tokio::time::advance(Duration::from_secs(5)).await;
    assert!(sessions.end(&deleted, &named("ann")));
    assert_eq!(take(), [("2025-11-25", 5)]);

    open();
    tokio::time::advance(Duration::from_secs(3)).await;
    sessions.report_ends();
    sessions.report_ends();
    drop(sessions);
    assert_eq!(take(), [("2025-11-25", 3)]);
}
