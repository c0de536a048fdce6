//! Messages between gateways: subscriptions to channels, on a connection of their own that is opened again after a
//! failure.
//!
//! A message can be lost. It only means that something changed; its receiver compares. [`StoreEvent::Connected`] means
//! that messages might have been lost, so everything must be compared. Between [`StoreEvent::Disconnected`] and the next
//! [`StoreEvent::Connected`], no messages arrive.

use std::time::Duration;

use futures_util::StreamExt as _;
use redis::RedisResult;
use redis::aio::{PubSub, PubSubSink, PubSubStream};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use crate::connection::SharedStore;
use crate::error::StoreError;

/// The events that wait for the receiver. If there is no room, messages are dropped, and [`StoreEvent::Connected`] follows.
const MAX_WAITING_EVENTS: usize = 1_024;

/// The interval of pings, which find a connection that is broken without a sign.
const PING_INTERVAL: Duration = Duration::from_secs(5);

/// The time after a failure until the next attempt.
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);

/// A subscription to channels. It ends when it is dropped.
#[derive(Debug)]
pub struct StoreSubscription {
    events: mpsc::Receiver<StoreEvent>,
    _task: AbortOnDropHandle<()>,
}

/// An event of a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreEvent {
    /// All channels are subscribed to, for the first time or again. Earlier messages might have been lost.
    Connected,
    /// The connection was lost.
    Disconnected,
    /// A message.
    Message {
        /// The channel, without the prefix.
        channel: String,
        /// The content.
        payload: Vec<u8>,
    },
}

impl StoreSubscription {
    /// Waits for the next event. `None` means that the runtime is shutting down.
    pub async fn next(&mut self) -> Option<StoreEvent> {
        self.events.recv().await
    }
}

impl SharedStore {
    /// Subscribes to these channels, at least one.
    #[must_use]
    pub fn subscribe(&self, channels: &[&str]) -> StoreSubscription {
        let (events, received) = mpsc::channel(MAX_WAITING_EVENTS);
        let keys = channels.iter().map(|channel| self.key(channel)).collect();
        let subscriber = Subscriber { store: self.clone(), keys, events, has_lost: false };
        let task = self.link().runtime().spawn(subscriber.run());
        StoreSubscription { events: received, _task: AbortOnDropHandle::new(task) }
    }
}

/// The task of a subscription.
struct Subscriber {
    store: SharedStore,
    keys: Vec<String>,
    events: mpsc::Sender<StoreEvent>,
    /// True if a message was dropped since the last [`StoreEvent::Connected`].
    has_lost: bool,
}

impl Subscriber {
    /// Subscribes again and again. The task is aborted when its subscription is dropped.
    async fn run(mut self) {
        loop {
            // Problems are logged there, and an unsuitable server isn't used.
            if self.store.connected().await.is_ok()
                && let Ok((sink, stream)) = self.connect().await
            {
                self.serve(sink, stream).await;
                let _ = self.events.send(StoreEvent::Disconnected).await;
            }
            sleep(RECONNECT_PAUSE).await;
        }
    }

    async fn connect(&mut self) -> Result<(PubSubSink, PubSubStream), StoreError> {
        let link = self.store.link();
        let open = async {
            let stream = link.dialer().dial().await?;
            Ok::<_, StoreError>(PubSub::new(&link.login(), stream).await?.split())
        };
        timeout(link.config().connect_timeout, open).await.unwrap_or(Err(StoreError::Timeout))
    }

    /// Forwards messages until the connection is lost.
    async fn serve(&mut self, mut sink: PubSubSink, mut stream: PubSubStream) {
        // All channels first: a message that follows the first event must not be missed.
        if !self.confirmed(sink.subscribe(&self.keys)).await {
            return;
        }
        let _ = self.events.send(StoreEvent::Connected).await;
        self.has_lost = false;
        let mut pings = interval(PING_INTERVAL);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let is_connected = tokio::select! {
                message = stream.next() => match message {
                    Some(message) => {
                        self.forward(message.get_channel_name(), message.get_payload_bytes());
                        true
                    }
                    None => false,
                },
                _ = pings.tick() => self.confirmed(sink.ping::<redis::Value>()).await,
            };
            if !is_connected {
                return;
            }
            if self.has_lost && self.events.try_send(StoreEvent::Connected).is_ok() {
                self.has_lost = false;
            }
        }
    }

    fn forward(&mut self, key: &str, payload: &[u8]) {
        let Some(channel) = key.strip_prefix(&self.store.key("")) else { return };
        let message = StoreEvent::Message { channel: channel.to_owned(), payload: payload.to_vec() };
        if self.events.try_send(message).is_err() {
            self.has_lost = true;
        }
    }

    /// Waits for the server's confirmation.
    async fn confirmed<T>(&self, request: impl Future<Output = RedisResult<T>>) -> bool {
        let limit = self.store.link().config().response_timeout;
        timeout(limit, request).await.is_ok_and(|confirmed| confirmed.is_ok())
    }
}

#[cfg(test)]
mod tests;
