//! Hints for bind errors, and connections during shutdown.

use std::net::{IpAddr, Ipv4Addr};

use axum::routing::get;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

#[tokio::test(start_paused = true)]
async fn idle_streams_have_time_for_their_result() {
    let slot = ConnectionLimiter::new(1).acquire(IpAddr::V4(Ipv4Addr::LOCALHOST)).await;
    tokio::time::advance(2 * IDLE_BEFORE_CLOSE).await;
    let stopped = tokio::time::Instant::now();
    wait_until_idle(&slot).await;
    assert!(stopped.elapsed() >= MIN_CLOSE_DELAY, "it was closed at once");
}

#[tokio::test]
async fn connections_that_wait_at_shutdown_are_served() {
    let listener = HttpListener::bind((Ipv4Addr::LOCALHOST, 0).into(), ListenerPurpose::Mcp).await.unwrap();
    let mut clients = Vec::new();
    for _ in 0..20 {
        let mut client = TcpStream::connect(listener.address()).await.unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
        clients.push(client);
    }
    let stop = CancellationToken::new();
    stop.cancel();
    let router = Router::new().route("/", get(async || "served"));
    let limits = ListenerLimits { connections: 100, idle: Duration::from_secs(60) };
    let served = tokio::spawn(listener.serve(router, None, limits, stop, std::future::pending()));
    for mut client in clients {
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("served"), "{answer}");
    }
    assert_eq!(served.await.unwrap(), 0);
}

#[tokio::test]
async fn hint_for_a_port_in_use_names_its_table() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap();
    for (purpose, table) in [(ListenerPurpose::Mcp, "`[http]`"), (ListenerPurpose::Admin, "`[admin]`")] {
        let error = HttpListener::bind(address, purpose).await.unwrap_err();
        assert_eq!(error.to_string(), format!("can't listen on {address}: the port is in use"));
        assert!(error.hint().contains(table), "{}", error.hint());
    }
}
