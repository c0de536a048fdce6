//! Activity of connections with streams.

use std::net::{IpAddr, Ipv4Addr};
use std::pin::pin;

use futures_util::FutureExt as _;

use super::*;
use crate::transport::http::connections::ConnectionLimiter;

#[tokio::test(start_paused = true)]
async fn a_slow_reader_can_be_evicted() {
    let slot = ConnectionLimiter::new(0).acquire(IpAddr::V4(Ipv4Addr::LOCALHOST)).await;
    let active = slot.handle().begin_request();
    let connection = StreamConnection::new(StreamLifetime::UntilResponse, Some(&slot.handle()), Some(active));
    let sent = stream::iter([Bytes::from("one"), Bytes::from("two")]).chain(stream::pending());
    let mut events = pin!(with_keep_alive(Box::pin(sent), connection, Duration::from_secs(15)));
    let is_idle = async || {
        tokio::time::advance(Duration::from_secs(2)).await;
        slot.idle_for(Duration::from_secs(1)).now_or_never().is_some()
    };
    assert_eq!(events.next().await.as_deref(), Some(&b"one"[..]));
    assert_eq!(events.next().await.as_deref(), Some(&b"two"[..]));
    assert!(events.next().now_or_never().is_none());
    assert!(!is_idle().await, "it waits for the gateway");
    assert_eq!(events.next().await.as_deref(), Some(EMPTY_COMMENT_LINE));
    assert!(is_idle().await, "from here on, the client reads nothing");
}
