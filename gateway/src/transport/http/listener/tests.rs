//! Hints for bind errors, and connections during shutdown.

use std::net::{IpAddr, Ipv4Addr};

use axum::routing::get;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

/// Sends a request, and returns the response and everything until the connection is closed.
async fn request(stream: &mut TcpStream) -> String {
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    response.to_ascii_lowercase()
}

/// Serves until `stop` and then `drained` are cancelled.
fn serve(
    listener: HttpListener,
    stop: &CancellationToken,
    drained: &CancellationToken,
) -> impl Future<Output = usize> + use<> {
    let limits = ListenerLimits { connections: 64, idle: Duration::from_secs(60) };
    let shutdown =
        ListenerShutdown { stop: stop.clone(), drained: drained.clone(), last_request: LAST_REQUEST_TIME };
    let router = Router::new().route("/", get(|| async { "served" }));
    listener.serve(router, None, limits, shutdown, sleep(Duration::from_secs(60)))
}

#[tokio::test]
async fn requests_in_transit_at_shutdown_are_served() {
    let listener = HttpListener::bind("127.0.0.1:0".parse().unwrap(), ListenerPurpose::Mcp).await.unwrap();
    let address = listener.address();
    let stop = CancellationToken::new();
    let served = tokio::spawn(serve(listener, &stop, &stop));
    let mut kept = TcpStream::connect(address).await.unwrap();
    kept.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    let mut first = [0; 6];
    kept.read_exact(&mut first).await.unwrap(); // so the connection was accepted, and so are those before
    let mut fresh = TcpStream::connect(address).await.unwrap();
    stop.cancel();
    for stream in [&mut fresh, &mut kept] {
        let response = request(stream).await;
        assert!(response.ends_with("\r\n\r\nserved") && response.contains("connection: close"), "{response}");
    }
    assert_eq!(served.await.unwrap(), 0);
}

#[tokio::test]
async fn connections_in_the_queue_at_shutdown_are_served() {
    let listener = HttpListener::bind("127.0.0.1:0".parse().unwrap(), ListenerPurpose::Mcp).await.unwrap();
    let mut queued = TcpStream::connect(listener.address()).await.unwrap();
    let stop = CancellationToken::new();
    stop.cancel();
    let served = tokio::spawn(serve(listener, &stop, &stop));
    assert!(request(&mut queued).await.ends_with("served"));
    assert_eq!(served.await.unwrap(), 0);
}

#[tokio::test]
async fn connections_are_accepted_while_a_load_balancer_notices_the_shutdown() {
    let listener = HttpListener::bind("127.0.0.1:0".parse().unwrap(), ListenerPurpose::Mcp).await.unwrap();
    let address = listener.address();
    let (stop, drained) = (CancellationToken::new(), CancellationToken::new());
    stop.cancel();
    let served = tokio::spawn(serve(listener, &stop, &drained));
    for _ in 0..2 {
        assert!(request(&mut TcpStream::connect(address).await.unwrap()).await.ends_with("served"));
    }
    drained.cancel();
    assert_eq!(served.await.unwrap(), 0);
    assert!(TcpStream::connect(address).await.is_err());
}

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
