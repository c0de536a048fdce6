//! Which streams keep their connection's seat.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use futures_util::{FutureExt as _, poll};

use super::*;
use crate::transport::http::seats::Seats;

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_its_answer_keeps_no_connection_from_others() {
    let seats = Seats::new(1);
    let seat = seats.take().await;
    let turn = seat.occupant().turn();
    let seated = Seated::new(Lasts::UntilAnswered, Some(&seat.occupant()), Some(turn));
    let said = stream::iter([b"one".to_vec(), b"two".to_vec()]).chain(stream::pending());
    let mut events = pin!(kept_alive(Box::pin(said), seated, Duration::from_secs(15)));
    assert_eq!(events.next().await.as_deref(), Some(&b"one"[..]));
    assert_eq!(events.next().await.as_deref(), Some(&b"two"[..]));
    let waits = poll_fn(|cx| Poll::Ready(events.poll_next_unpin(cx).is_pending())).await;
    assert!(waits);
    let mut other = pin!(seats.take());
    assert!(poll!(&mut other).is_pending());
    assert!(seat.cleared().now_or_never().is_none(), "it waits for the gateway");
    assert_eq!(events.next().await.as_deref(), Some(COMMENT));
    // From here on nobody asks for more.
    tokio::time::advance(Duration::from_secs(2)).await;
    assert!(poll!(&mut other).is_pending());
    assert!(seat.cleared().now_or_never().is_some(), "it makes room");
}
