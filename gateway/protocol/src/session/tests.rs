//! Whose session it is, and when it ends.

use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;

use super::*;
use crate::catalog::Catalog;
use crate::jsonrpc::Id;
use crate::mcp::Params;

fn greeting() -> Greeting {
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    let raw = serde_json::value::to_raw_value(&hello).unwrap();
    Greeting::read(&Params::read(Some(&raw)).unwrap()).unwrap()
}

fn listener() -> Listener {
    let (_, catalog) = watch::channel(Arc::new(Catalog::empty()));
    Listener::new(catalog, &Arc::default(), [])
}

fn named(name: &str) -> Principal {
    Principal::Named(name.into())
}

#[tokio::test(start_paused = true)]
async fn a_session_is_found_only_by_its_owner_and_only_while_it_is_used() {
    let sessions = Sessions::new(10, Duration::from_secs(60), CancellationToken::new());
    let id = sessions.open(named("ann"), greeting(), listener()).unwrap().id().to_owned();
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
async fn a_running_request_keeps_its_session_and_ending_the_session_cancels_it() {
    let sessions = Sessions::new(10, Duration::from_secs(1), CancellationToken::new());
    let session = sessions.open(Principal::Anonymous, greeting(), listener()).unwrap();
    let running = session.in_flight.begin(&Id::from(1)).unwrap();
    tokio::time::advance(Duration::from_secs(100)).await;
    assert_eq!(sessions.count(), 1);
    assert!(sessions.end(session.id(), &Principal::Anonymous));
    assert!(running.is_cancelled());
    assert_eq!(sessions.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_one_that_was_silent_longest_makes_room_its_owners_own_first() {
    let sessions = Sessions::new(2, Duration::from_secs(3600), CancellationToken::new());
    let bob = sessions.open(named("bob"), greeting(), listener()).unwrap();
    tokio::time::advance(Duration::from_secs(1)).await;
    let ann = sessions.open(named("ann"), greeting(), listener()).unwrap();
    tokio::time::advance(Duration::from_secs(1)).await;
    let again = sessions.open(named("ann"), greeting(), listener()).unwrap();
    assert!(sessions.find(ann.id(), &named("ann")).is_none());
    assert!(sessions.find(bob.id(), &named("bob")).is_some());
    let _bob_runs = bob.in_flight.begin(&Id::from(1)).unwrap();
    let _ann_runs = again.in_flight.begin(&Id::from(1)).unwrap();
    assert_eq!(sessions.open(named("eve"), greeting(), listener()).unwrap_err(), OpenError::Full);
}

#[test]
fn an_id_runs_once_at_a_time() {
    let all: Arc<InFlight> = Arc::default();
    let one = all.begin(&Id::from(1)).unwrap();
    assert_eq!(all.begin(&Id::from(1)).unwrap_err(), Duplicate);
    let text = all.begin(&Id::string("1")).unwrap();
    all.cancel(&Id::from(1));
    assert!(one.is_cancelled() && !text.is_cancelled());
    drop(one);
    assert!(all.begin(&Id::from(1)).is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_session_is_idle_from_the_end_of_its_last_request_on() {
    let sessions = Sessions::new(10, Duration::from_secs(60), CancellationToken::new());
    let session = sessions.open(Principal::Anonymous, greeting(), listener()).unwrap();
    let running = session.in_flight.begin(&Id::from(1)).unwrap();
    tokio::time::advance(Duration::from_secs(100)).await;
    drop(running);
    tokio::time::advance(Duration::from_secs(59)).await;
    assert!(sessions.find(session.id(), &Principal::Anonymous).is_some(), "it ended right after a long call");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_listens_is_the_last_to_make_room_and_its_stream_ends_with_its_session() {
    let sessions = Sessions::new(2, Duration::from_secs(3600), CancellationToken::new());
    let open = |name| sessions.open(named(name), greeting(), listener()).unwrap();
    let bob = open("bob");
    let mut listening = bob.listen(None);
    assert!(matches!(listening.next().await, Some(Event::Place { .. })));
    tokio::time::advance(Duration::from_secs(1)).await;
    let eve = open("eve");
    let ann = open("ann");
    assert!(
        sessions.find(eve.id(), &named("eve")).is_none(),
        "nobody listens there, though it was heard of later"
    );
    let also = ann.listen(None);
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
