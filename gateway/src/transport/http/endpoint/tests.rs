//! The place where requests without a known caller are answered.

use std::thread;

use moongate_auth::WallClock;
use moongate_config::{BearerToken, Secret};
use moongate_system::background::MovableFuture;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::transport::fake::FakeServer;

/// The status of a request without a body, and whether the connection was on the background pool afterwards.
async fn send(endpoint: &Arc<Endpoint>, method: Method, path: &str, header: (&str, &str)) -> (u16, bool) {
    let request = Request::builder().method(method).uri(path).header("host", "localhost");
    let request = request.header(header.0, header.1).body(Body::empty()).unwrap();
    let endpoint = Arc::clone(endpoint);
    let is_mcp = path == "/mcp";
    MovableFuture::new(async move {
        let response = if is_mcp {
            mcp(State(endpoint), request).await
        } else {
            not_found(State(endpoint), request).await
        };
        let is_in_background = thread::current().name().is_some_and(|name| name.starts_with("moongate-bg"));
        (response.status().as_u16(), is_in_background)
    })
    .await
}

/// Peers can open many connections without a token, and their requests count for no caller.
#[tokio::test]
async fn requests_without_a_known_caller_make_way() {
    let token = BearerToken { principal: "ann".into(), token: Secret::new("t"), variable: None };
    let config = HttpConfig { tokens: vec![token], ..HttpConfig::default() };
    let fake = FakeServer::new(Duration::ZERO);
    let authenticator = Arc::new(Authenticator::start(&config, None, WallClock::default()).await);
    let health = EndpointHealth { loaded: CancellationToken::new(), draining: CancellationToken::new() };
    let server = Arc::clone(&fake.server);
    let endpoint = Endpoint::new(server, &config, authenticator, health, config.listen, None, fake.metrics());
    let endpoint = Arc::new(endpoint);
    for (method, path, header, status, is_in_background) in [
        (Method::GET, "/mcp", ("authorization", "Bearer t"), 400, false),
        (Method::GET, "/mcp", ("authorization", "Bearer guess"), 401, true),
        (Method::GET, "/mcp", ("accept", "*/*"), 401, true),
        (Method::GET, "/mcp", ("origin", "https://evil.example"), 403, true),
        (Method::GET, "/unknown", ("authorization", "Bearer t"), 404, true),
        (Method::OPTIONS, "/mcp", ("origin", "http://localhost"), 204, true),
    ] {
        let answer = send(&endpoint, method.clone(), path, header).await;
        assert_eq!(answer, (status, is_in_background), "{method} {path} {header:?}");
    }
}
