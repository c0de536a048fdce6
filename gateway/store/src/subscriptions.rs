//! Messages between gateways: subscriptions to channels, on a connection of their own that is opened again after a
//! failure.
//!
//! A message can be lost. It only means that something changed; its receiver compares. [`StoreEvent::Connected`] means
//! that messages might have been lost, so everything must be compared. Between [`StoreEvent::Disconnected`] and the next
//! [`StoreEvent::Connected`], no messages arrive.

use std::collections::BTreeSet;
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

/// Changes the channels of a subscription. Dropping it ends the subscription.
#[derive(Debug)]
pub struct StoreSubscriber {
    changes: mpsc::UnboundedSender<ChannelChange>,
    _task: AbortOnDropHandle<()>,
}

/// An event of a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreEvent {
    /// The channels so far are subscribed to, for the first time or again. Earlier messages might have been lost.
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

#[derive(Debug)]
enum ChannelChange {
    Subscribe(String),
    Unsubscribe(String),
}

/// The receiver is gone, so the subscription ends.
struct ReceiverGone;

impl StoreSubscriber {
    /// Subscribes to a channel, also after the connection was lost.
    pub fn subscribe(&self, channel: impl Into<String>) {
        let _ = self.changes.send(ChannelChange::Subscribe(channel.into())); // it ended with its receiver
    }

    /// Ends the subscription to a channel. Messages that are under way can still arrive.
    pub fn unsubscribe(&self, channel: impl Into<String>) {
        let _ = self.changes.send(ChannelChange::Unsubscribe(channel.into()));
    }
}

impl SharedStore {
    /// A subscription to channels, without any at first, and its events.
    #[must_use]
    pub fn subscriber(&self) -> (StoreSubscriber, mpsc::Receiver<StoreEvent>) {
        let (changes, changed) = mpsc::unbounded_channel();
        let (events, received) = mpsc::channel(MAX_WAITING_EVENTS);
        let subscription =
            Subscription { store: self.clone(), channels: BTreeSet::new(), changed, events, has_lost: false };
        let task = self.link().runtime().spawn(subscription.run());
        (StoreSubscriber { changes, _task: AbortOnDropHandle::new(task) }, received)
    }
}

struct Subscription {
    store: SharedStore,
    channels: BTreeSet<String>,
    changed: mpsc::UnboundedReceiver<ChannelChange>,
    events: mpsc::Sender<StoreEvent>,
    /// True if a message was dropped since the last [`StoreEvent::Connected`].
    has_lost: bool,
}

impl Subscription {
    async fn run(mut self) {
        loop {
            // Problems are logged there, and an unsuitable server isn't used.
            if self.store.connected().await.is_ok()
                && let Ok((sink, stream)) = self.connect().await
                && (self.serve(sink, stream).await.is_err()
                    || self.events.send(StoreEvent::Disconnected).await.is_err())
            {
                return;
            }
            if self.events.is_closed() {
                return;
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
    async fn serve(&mut self, mut sink: PubSubSink, mut stream: PubSubStream) -> Result<(), ReceiverGone> {
        while let Ok(change) = self.changed.try_recv() {
            self.apply(change);
        }
        let keys: Vec<String> = self.channels.iter().map(|channel| self.store.key(channel)).collect();
        if !keys.is_empty() && !self.confirmed(sink.subscribe(&keys)).await {
            return Ok(());
        }
        self.events.send(StoreEvent::Connected).await.map_err(|_| ReceiverGone)?;
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
                change = self.changed.recv() => {
                    let change = change.ok_or(ReceiverGone)?;
                    match self.apply(change) {
                        Some(ChannelChange::Subscribe(channel)) => {
                            let key = self.store.key(&channel);
                            let subscribed = self.confirmed(sink.subscribe(key)).await;
                            // What changed before the subscription must be compared.
                            self.has_lost = true;
                            subscribed
                        }
                        Some(ChannelChange::Unsubscribe(channel)) => {
                            let key = self.store.key(&channel);
                            self.confirmed(sink.unsubscribe(key)).await
                        }
                        None => true,
                    }
                }
                _ = pings.tick() => self.confirmed(sink.ping::<redis::Value>()).await,
            };
            if !is_connected {
                return Ok(());
            }
            if self.has_lost {
                match self.events.try_send(StoreEvent::Connected) {
                    Ok(()) => self.has_lost = false,
                    Err(mpsc::error::TrySendError::Full(_)) => {}
                    Err(mpsc::error::TrySendError::Closed(_)) => return Err(ReceiverGone),
                }
            }
        }
    }

    /// Applies a change. `None` if it changes nothing.
    fn apply(&mut self, change: ChannelChange) -> Option<ChannelChange> {
        let is_new = match &change {
            ChannelChange::Subscribe(channel) => self.channels.insert(channel.clone()),
            ChannelChange::Unsubscribe(channel) => self.channels.remove(channel),
        };
        is_new.then_some(change)
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
