//! Messages through a real server.

use super::*;
use crate::test_server::TestServer;

async fn next(events: &mut mpsc::Receiver<StoreEvent>) -> StoreEvent {
    let next = timeout(Duration::from_secs(60), events.recv()).await;
    next.expect("an event in time").expect("the subscription goes on")
}

#[tokio::test]
async fn messages_reach_subscribers_also_after_a_restart() {
    let Some(mut server) = TestServer::start(&[]).await else { return };
    let (sender, receiver) = (server.store().await, server.store().await);
    let (subscriber, mut events) = receiver.subscriber();
    subscriber.subscribe("changes");
    // Once for the connection and, if that was faster, once for the channel.
    while sender_count(&sender).await == 0 {
        tokio::task::yield_now().await;
    }
    let message = |channel: &str, payload: &[u8]| StoreEvent::Message {
        channel: channel.to_owned(),
        payload: payload.to_vec(),
    };
    sender.publish("other", b"x").await.unwrap();
    sender.publish("changes", b"\x001").await.unwrap();
    while next(&mut events).await != message("changes", b"\x001") {}

    server.kill();
    server.restart().await;
    while next(&mut events).await != StoreEvent::Connected {}
    while sender.publish("changes", b"2").await.is_err() {
        tokio::task::yield_now().await;
    }
    while next(&mut events).await != message("changes", b"2") {}
}

/// The subscribers of the channel.
async fn sender_count(store: &SharedStore) -> u64 {
    let mut count = redis::cmd("PUBSUB");
    count.arg("NUMSUB").arg(store.key("changes"));
    let counted: (String, u64) = store.run(crate::StoreUse::Messages, &count).await.unwrap();
    counted.1
}
