//! Connections without TLS, with a client that sends frames of its own.

use std::net::{IpAddr, Ipv4Addr};

use moongate_model::caller::Caller;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::task::JoinHandle;

use super::*;
use crate::transport::http::connections::ConnectionLimiter;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const EMPTY_SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

/// A connection to a router without routes. With a caller, it already had an authenticated request.
async fn connect(caller: Option<&str>, idle: Duration) -> (DuplexStream, JoinHandle<Duration>) {
    let limiter = ConnectionLimiter::new(64);
    let slot = limiter.acquire(IpAddr::V4(Ipv4Addr::LOCALHOST)).await;
    if let Some(caller) = caller {
        slot.handle().authenticate(&Caller::Named(caller.into())).unwrap();
    }
    let (client, server) = duplex(64 * 1024);
    let service = StreamService { router: Router::new(), peer: ([127, 0, 0, 1], 1).into(), identity: None };
    let served = tokio::spawn(async move {
        let started = Instant::now();
        let never = CancellationToken::new();
        let shutdown = ListenerShutdown { stop: never.clone(), drained: never, last_request: Duration::ZERO };
        let _ = serve(server, service, &slot, idle, &shutdown, std::future::pending()).await;
        started.elapsed()
    });
    (client, served)
}

/// Reads and discards everything.
fn discard(mut client: DuplexStream) {
    tokio::spawn(async move {
        let mut bytes = [0; 4096];
        while client.read(&mut bytes).await.is_ok_and(|count| count > 0) {}
    });
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_answers_no_ping_is_disconnected() {
    let (mut client, served) = connect(Some("ann"), Duration::from_secs(620)).await;
    client.write_all(&[PREFACE, EMPTY_SETTINGS].concat()).await.unwrap();
    discard(client);
    let elapsed = served.await.unwrap();
    assert!(elapsed >= PING_INTERVAL + PING_TIMEOUT && elapsed.as_secs() <= 81, "{elapsed:?}");
}

#[tokio::test(start_paused = true)]
async fn idle_and_half_open_connections_end() {
    let (mut client, served) = connect(Some("ann"), Duration::from_secs(30)).await;
    client.write_all(&[PREFACE, EMPTY_SETTINGS].concat()).await.unwrap();
    discard(client);
    let elapsed = served.await.unwrap();
    assert!((30..40).contains(&elapsed.as_secs()), "{elapsed:?}");

    // A head that never ends: HEADERS without END_HEADERS.
    let headers: &[u8] = &[0, 0, 1, 1, 0, 0, 0, 0, 1, 0x82];
    for start in [
        &[][..],
        &PREFACE[..10],
        PREFACE,
        &[PREFACE, EMPTY_SETTINGS].concat(),
        &[PREFACE, EMPTY_SETTINGS, headers].concat(),
    ] {
        let (mut client, served) = connect(None, Duration::from_secs(620)).await;
        client.write_all(start).await.unwrap();
        discard(client);
        let elapsed = served.await.unwrap();
        assert!(elapsed.as_secs() <= 15, "{elapsed:?} after {start:?}");
    }
}

/// The settings, and this many pings.
fn pings(count: usize) -> Vec<u8> {
    let ping: &[u8] = &[0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    [PREFACE.to_vec(), EMPTY_SETTINGS.to_vec(), ping.repeat(count)].concat()
}

/// Nobody else waits for the frames of a client that sends nothing but small ones.
#[tokio::test(start_paused = true)]
async fn a_client_with_too_many_small_frames_is_disconnected() {
    for (count, is_ended) in [(100, false), (2_000, true)] {
        let (mut client, served) = connect(Some("ann"), Duration::from_secs(30)).await;
        client.write_all(&pings(count)).await.unwrap();
        let mut received = Vec::new();
        let _ = client.read_to_end(&mut received).await;
        // GOAWAY with the last stream and the error code.
        let calm = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11];
        assert_eq!(received.windows(calm.len()).any(|part| part == calm), is_ended, "{count}: {received:?}");
        assert_eq!(served.await.unwrap() < Duration::from_secs(30), is_ended, "{count}");
    }
}
