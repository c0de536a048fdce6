//! Hints for bind errors, and connections during shutdown.

use std::net::{IpAddr, Ipv4Addr};

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
async fn hint_for_a_port_in_use_names_its_table() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap();
    for (purpose, table) in [(ListenerPurpose::Mcp, "`[http]`"), (ListenerPurpose::Admin, "`[admin]`")] {
        let error = HttpListener::bind(address, purpose).await.unwrap_err();
        assert_eq!(error.to_string(), format!("can't listen on {address}: the port is in use"));
        assert!(error.hint().contains(table), "{}", error.hint());
    }
}
