//! Eviction of connections with streams.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use futures_util::{FutureExt as _, poll};

use super::*;
use crate::transport::http::connections::ConnectionLimiter;

#[tokio::test(start_paused = true)]
async fn a_slow_reader_can_be_evicted() {
    let limiter = ConnectionLimiter::new(1);
    let slot = limiter.acquire().await;
    let active = slot.handle().begin_request();
    let connection = StreamConnection::new(StreamLifetime::UntilResponse, Some(&slot.handle()), Some(active));
    let said = stream::iter([b"one".to_vec(), b"two".to_vec()]).chain(stream::pending());
    let mut events = pin!(with_keep_alive(Box::pin(said), connection, Duration::from_secs(15)));
    assert_eq!(events.next().await.as_deref(), Some(&b"one"[..]));
    assert_eq!(events.next().await.as_deref(), Some(&b"two"[..]));
    let waits = poll_fn(|cx| Poll::Ready(events.poll_next_unpin(cx).is_pending())).await;
    assert!(waits);
    let mut other = pin!(limiter.acquire());
    assert!(poll!(&mut other).is_pending());
    assert!(slot.evicted().now_or_never().is_none(), "it waits for the gateway");
    assert_eq!(events.next().await.as_deref(), Some(COMMENT));
    // From here on, the client reads nothing.
    tokio::time::advance(Duration::from_secs(2)).await;
    assert!(poll!(&mut other).is_pending());
    assert!(slot.evicted().now_or_never().is_some(), "the connection is evicted");
}
