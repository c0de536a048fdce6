//! Ownership and end of sessions.

use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;

use super::*;
use crate::catalog::Catalog;
use crate::jsonrpc::Id;
use crate::mcp::Params;

fn greeting() -> InitializeParams {
    let initialize = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let raw = serde_json::value::to_raw_value(&initialize).unwrap();
    InitializeParams::read(&Params::read(Some(&raw)).unwrap()).unwrap()
}

fn listener() -> ChangeListener {
    let (_, catalog) = watch::channel(Arc::new(Catalog::empty()));
    ChangeListener::new(catalog, &Arc::default(), [])
}

fn named(name: &str) -> Principal {
    caller(name).principal()
}

fn caller(name: &str) -> Caller {
    Caller::Named(name.into())
}

#[tokio::test(start_paused = true)]
async fn sessions_belong_to_their_owner_and_expire() {
    let sessions = SessionStore::new(10, Duration::from_secs(60), CancellationToken::new());
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
    let sessions = SessionStore::new(10, Duration::from_secs(1), CancellationToken::new());
    let session = sessions.open(Caller::LOOPBACK, greeting(), listener()).unwrap();
    let running = session.in_flight.begin(&Id::from(1)).unwrap();
    tokio::time::advance(Duration::from_secs(100)).await;
    assert_eq!(sessions.count(), 1);
    assert!(sessions.end(session.id(), &Principal::Anonymous));
    assert!(running.is_cancelled());
    assert_eq!(sessions.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn evicts_the_idlest_session_of_the_same_owner_first() {
    let sessions = SessionStore::new(2, Duration::from_secs(3600), CancellationToken::new());
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

#[tokio::test(start_paused = true)]
async fn a_session_is_idle_from_the_end_of_its_last_request() {
    let sessions = SessionStore::new(10, Duration::from_secs(60), CancellationToken::new());
    let session = sessions.open(Caller::LOOPBACK, greeting(), listener()).unwrap();
    let running = session.in_flight.begin(&Id::from(1)).unwrap();
    tokio::time::advance(Duration::from_secs(100)).await;
    drop(running);
    tokio::time::advance(Duration::from_secs(59)).await;
    assert!(sessions.find(session.id(), &Principal::Anonymous).is_some(), "it ended right after a long call");
}

#[tokio::test(start_paused = true)]
async fn evicts_sessions_with_readers_last() {
    let sessions = SessionStore::new(2, Duration::from_secs(3600), CancellationToken::new());
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
