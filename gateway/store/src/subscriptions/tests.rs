//! Messages through a real server.

use super::*;
use crate::test_server::TestServer;

async fn next(subscription: &mut StoreSubscription) -> StoreEvent {
    let next = timeout(Duration::from_secs(60), subscription.next()).await;
    next.expect("an event in time").expect("the subscription goes on")
}

#[tokio::test(flavor = "multi_thread")]
async fn no_message_after_the_first_event_is_missed() {
    let Some(server) = TestServer::start(&[]).await else { return };
    let (sender, receiver) = (server.store().await, server.store().await);
    sender.publish("two", b"0").await.unwrap(); // it is ready to send at once
    for _ in 0..100 {
        let mut subscription = receiver.subscribe(&["one", "two"]);
        assert_eq!(next(&mut subscription).await, StoreEvent::Connected);
        sender.publish("two", b"1").await.unwrap();
        let expected = StoreEvent::Message { channel: "two".to_owned(), payload: b"1".to_vec() };
        assert_eq!(next(&mut subscription).await, expected);
    }
}

#[tokio::test]
async fn messages_reach_subscribers_also_after_a_restart() {
    let Some(mut server) = TestServer::start(&[]).await else { return };
    let (sender, receiver) = (server.store().await, server.store().await);
    let mut subscription = receiver.subscribe(&["changes"]);
    assert_eq!(next(&mut subscription).await, StoreEvent::Connected);
    let message = |channel: &str, payload: &[u8]| StoreEvent::Message {
        channel: channel.to_owned(),
        payload: payload.to_vec(),
    };
    sender.publish("other", b"x").await.unwrap();
    sender.publish("changes", b"\x001").await.unwrap();
    assert_eq!(next(&mut subscription).await, message("changes", b"\x001"));

    server.kill();
    server.restart().await;
    while next(&mut subscription).await != StoreEvent::Connected {}
    while sender.publish("changes", b"2").await.is_err() {
        tokio::task::yield_now().await;
    }
    while next(&mut subscription).await != message("changes", b"2") {}
}
