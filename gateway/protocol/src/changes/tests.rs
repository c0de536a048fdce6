//! Tests of change notifications: none without a change, and one for a burst.

use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::json;
use tokio::sync::watch;

use super::*;
use crate::catalog::fake::{FakePlugin, IntoCatalogPlugin as _, catalog};

fn uri(text: &str) -> ResourceUri {
    ResourceUri::new(text).unwrap()
}

/// A catalog of these tools and resources.
fn offering(tools: &[&str], resources: &[&str]) -> Arc<Catalog> {
    let fake = tools
        .iter()
        .fold(FakePlugin::new("a"), |fake, name| fake.tool(name, &json!({ "type": "object" }), None));
    catalog(vec![resources.iter().fold(fake, |fake, uri| fake.resource(uri)).into_catalog_plugin(|_| {})])
}

/// A listener for all kinds, with its catalog and updates.
fn listener(first: Arc<Catalog>) -> (watch::Sender<Arc<Catalog>>, Arc<ResourceUpdates>, ChangeListener) {
    let (publish, seen) = watch::channel(first);
    let updates: Arc<ResourceUpdates> = Arc::default();
    let listener = ChangeListener::new(seen, &updates, Principal::Anonymous, ListKind::ALL);
    (publish, updates, listener)
}

/// All pending changes.
fn heard(listener: &ChangeListener) -> Vec<ChangeEvent> {
    std::iter::from_fn(|| listener.next().now_or_never()).collect()
}

#[tokio::test]
async fn merges_repeated_list_changes() {
    let (publish, _, listener) = listener(offering(&["one"], &[]));
    assert_eq!(heard(&listener), []);
    for tools in [&["one", "two"][..], &["two"], &["three"]] {
        publish.send_replace(offering(tools, &["test://a"]));
    }
    assert_eq!(
        heard(&listener),
        [ChangeEvent::ListChanged(ListKind::Tools), ChangeEvent::ListChanged(ListKind::Resources)]
    );
    assert_eq!(heard(&listener), []);
}

#[tokio::test]
async fn repeats_a_list_once_if_another_replica_was_later() {
    let (publish, updates, listener) = listener(offering(&["one"], &[]));
    publish.send_replace(offering(&["two"], &[]));
    assert_eq!(heard(&listener), [ChangeEvent::ListChanged(ListKind::Tools)]);
    updates.repeat_lists(ListKind::Tools);
    updates.repeat_lists(ListKind::Tools);
    assert_eq!(heard(&listener), [ChangeEvent::ListChanged(ListKind::Tools)]);
    assert_eq!(heard(&listener), []);
    listener.set_known([(ListKind::Prompts, publish.borrow().digest(ListKind::Prompts))]);
    updates.repeat_lists(ListKind::Tools);
    assert_eq!(heard(&listener), [], "the client didn't ask for tools");
}

#[tokio::test]
async fn ignores_reverted_changes() {
    let (publish, _, listener) = listener(offering(&["one"], &[]));
    publish.send_replace(offering(&["two"], &[]));
    publish.send_replace(offering(&["one"], &[]));
    assert_eq!(heard(&listener), []);
    publish.send_replace(offering(&["two"], &[]));
    assert_eq!(heard(&listener), [ChangeEvent::ListChanged(ListKind::Tools)]);
    publish.send_replace(offering(&["one"], &[]));
    assert_eq!(
        heard(&listener),
        [ChangeEvent::ListChanged(ListKind::Tools)],
        "the client was notified of `two`, so `one` is a change"
    );
}

#[tokio::test]
async fn reports_requested_kinds_only() {
    let with_template =
        catalog(vec![FakePlugin::new("a").template("test://a/{id}").into_catalog_plugin(|_| {})]);
    let (publish, _, all) = listener(Arc::new(Catalog::empty()));
    let tools =
        ChangeListener::new(publish.subscribe(), &Arc::default(), Principal::Anonymous, [ListKind::Tools]);
    publish.send_replace(with_template);
    assert_eq!(heard(&all), [ChangeEvent::ListChanged(ListKind::Resources)]);
    assert_eq!(heard(&tools), []);
    publish.send_replace(offering(&["one"], &[]));
    assert_eq!(heard(&tools), [ChangeEvent::ListChanged(ListKind::Tools)]);
}

#[tokio::test]
async fn merges_updates_for_subscribers() {
    let (publish, updates, one) = listener(Arc::new(Catalog::empty()));
    let two = ChangeListener::new(publish.subscribe(), &updates, Principal::Anonymous, []);
    one.subscribe(&Caller::LOOPBACK, &uri("test://a")).unwrap();
    one.subscribe(&Caller::LOOPBACK, &uri("test://a")).unwrap();
    one.subscribe(&Caller::LOOPBACK, &uri("test://b")).unwrap();
    two.subscribe(&Caller::LOOPBACK, &uri("test://b")).unwrap();
    for text in ["test://b", "test://a", "test://b", "test://c"] {
        updates.report(&uri(text));
    }
    assert_eq!(heard(&one), [ChangeEvent::Updated(uri("test://b")), ChangeEvent::Updated(uri("test://a"))]);
    assert_eq!(heard(&two), [ChangeEvent::Updated(uri("test://b"))]);
    updates.report(&uri("test://a"));
    assert_eq!(
        heard(&one),
        [ChangeEvent::Updated(uri("test://a"))],
        "a resource can change again after its notification"
    );
}

#[tokio::test]
async fn unsubscribing_discards_pending_updates() {
    let (_publish, updates, listener) = listener(Arc::new(Catalog::empty()));
    listener.unsubscribe(&uri("test://never"));
    for text in ["test://a", "test://b"] {
        listener.subscribe(&Caller::LOOPBACK, &uri(text)).unwrap();
        updates.report(&uri(text));
    }
    listener.unsubscribe(&uri("test://a"));
    updates.report(&uri("test://a"));
    assert_eq!(heard(&listener), [ChangeEvent::Updated(uri("test://b"))]);
    listener.subscribe(&Caller::LOOPBACK, &uri("test://a")).unwrap();
    assert_eq!(heard(&listener), [], "an update from before the subscription");
}

#[tokio::test]
async fn dropping_a_listener_ends_its_subscriptions() {
    let (publish, updates, one) = listener(Arc::new(Catalog::empty()));
    let two = ChangeListener::new(publish.subscribe(), &updates, Principal::Anonymous, []);
    for listener in [&one, &two] {
        listener.subscribe(&Caller::LOOPBACK, &uri("test://a")).unwrap();
    }
    one.subscribe(&Caller::LOOPBACK, &uri("test://b")).unwrap();
    assert_eq!(updates.subscribed(), 2);
    drop(one);
    assert_eq!(updates.subscribed(), 1);
    two.unsubscribe(&uri("test://a"));
    assert_eq!(updates.subscribed(), 0);
}

#[tokio::test]
async fn limits_subscriptions_of_a_listener() {
    let (_publish, _, listener) = listener(Arc::new(Catalog::empty()));
    for number in 0..1024 {
        listener.subscribe(&Caller::LOOPBACK, &uri(&format!("test://{number}"))).unwrap();
    }
    assert_eq!(
        listener.subscribe(&Caller::LOOPBACK, &uri("test://more")),
        Err(SubscriptionLimitError::Listener)
    );
    assert_eq!(
        listener.subscribe(&Caller::LOOPBACK, &uri("test://7")),
        Ok(()),
        "the listener is already subscribed to this one"
    );
    listener.unsubscribe(&uri("test://7"));
    let long = |number: usize| uri(&format!("test://{number}/{}", "x".repeat(4_000)));
    assert_eq!(listener.subscribe(&Caller::LOOPBACK, &long(0)), Ok(()));
    for number in 0..1024 {
        listener.unsubscribe(&uri(&format!("test://{number}")));
    }
    let taken =
        (1..1024).take_while(|number| listener.subscribe(&Caller::LOOPBACK, &long(*number)).is_ok()).count();
    assert!((60..66).contains(&taken), "{taken} URIs of four thousand bytes");
}

#[tokio::test]
async fn catalogs_and_updates_wake_a_waiting_listener() {
    let (publish, updates, listener) = listener(Arc::new(Catalog::empty()));
    listener.subscribe(&Caller::LOOPBACK, &uri("test://a")).unwrap();
    let listener = Arc::new(listener);
    let wait = || {
        let listener = Arc::clone(&listener);
        tokio::spawn(async move { listener.next().await })
    };
    let waiting = wait();
    tokio::task::yield_now().await;
    publish.send_replace(offering(&["one"], &[]));
    assert_eq!(waiting.await.unwrap(), ChangeEvent::ListChanged(ListKind::Tools));
    drop(publish); // there will be no other catalog, and updates still come
    let waiting = wait();
    tokio::task::yield_now().await;
    updates.report(&uri("test://a"));
    assert_eq!(waiting.await.unwrap(), ChangeEvent::Updated(uri("test://a")));
}

#[tokio::test]
async fn cancelled_wait_loses_no_change() {
    let (publish, updates, listener) = listener(Arc::new(Catalog::empty()));
    listener.subscribe(&Caller::LOOPBACK, &uri("test://a")).unwrap();
    let mut given_up = Box::pin(listener.next());
    assert!(futures_util::poll!(&mut given_up).is_pending());
    publish.send_replace(offering(&["one"], &[]));
    updates.report(&uri("test://a"));
    drop(given_up);
    assert_eq!(
        heard(&listener),
        [ChangeEvent::ListChanged(ListKind::Tools), ChangeEvent::Updated(uri("test://a"))]
    );
}

#[test]
fn limits_subscriptions_of_a_caller() {
    let (_publish, seen) = watch::channel(Arc::new(Catalog::empty()));
    let updates: Arc<ResourceUpdates> = Arc::default();
    let long = |number: usize| uri(&format!("test://{number:04}{}", "x".repeat(4_000)));
    let listen = || ChangeListener::new(seen.clone(), &updates, Principal::Anonymous, []);
    let ann = Caller::Named("ann".into());
    let bob = Caller::Named("bob".into());
    let mut listeners = Vec::new();
    let error = loop {
        let listener = listen();
        let error = (0..64).find_map(|number| listener.subscribe(&ann, &long(number)).err());
        listeners.push(listener);
        if let Some(error) = error {
            break error;
        }
    };
    assert_eq!(error, SubscriptionLimitError::Total);
    assert!((100..200).contains(&listeners.len()), "{}", listeners.len());
    assert_eq!(listen().subscribe(&bob, &long(0)), Ok(()), "another caller has a part of its own");
    let last = listeners.pop().unwrap();
    last.unsubscribe(&long(0));
    assert_eq!(last.subscribe(&ann, &long(1000)), Ok(()), "one that ends makes room");
    drop((listeners, last));
    assert_eq!(updates.subscribed(), 0);
}
