//! The client's side of the handshake of a WebSocket (RFC 6455, 4.1).

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{
    AUTHORIZATION, CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use hyper::upgrade::Upgraded;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::time::timeout;
use url::Url;

use crate::cli::client_tls::ClientTlsOptions;
use crate::cli::connection_failure::ConnectionFailure;
use crate::cli::error::CommandError;
use crate::cli::mcp_client::{self, CONNECT_TIMEOUT, HttpTransport, TOKEN_VARIABLE};
use crate::cli::{CommonOptions, ExitKind, print};
use crate::transport::websocket::{
    CloseReasonSlot, SUBPROTOCOL, SUPPORTED_VERSION, WebSocketLines, accept_value, new_key,
};

/// The hint if no gateway responds.
const SILENCE_HINT: &str = "start the gateway with `moongate serve` and `websocket = true` in `[http]`";

/// Opens a WebSocket to the gateway at `url`.
///
/// # Errors
/// No gateway responds, or it refuses the connection.
pub(super) async fn open(
    url: &Url,
    tls: &ClientTlsOptions,
    common: &CommonOptions,
    close: CloseReasonSlot,
) -> Result<WebSocketLines<TokioIo<Upgraded>>, CommandError> {
    let endpoint = http_url(url);
    let transport = HttpTransport::to(&endpoint, common.config.as_deref(), tls)?;
    let token = mcp_client::bearer_token()?;
    if token.is_some() && mcp_client::is_exposed(&endpoint) {
        print::note("the token is sent to another machine unencrypted; use wss");
    }
    let key = new_key();
    let mut request = Request::get(endpoint.as_str())
        .header(CONNECTION, "Upgrade")
        .header(UPGRADE, "websocket")
        .header(SEC_WEBSOCKET_VERSION, SUPPORTED_VERSION)
        .header(SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL)
        .header(SEC_WEBSOCKET_KEY, &key);
    if let Some(token) = token {
        request = request.header(AUTHORIZATION, token);
    }
    let request = request.body(Full::<Bytes>::default()).map_err(anyhow::Error::new)?;
    let failed = |failure: ConnectionFailure| failure.to_error(url, SILENCE_HINT);
    let response = timeout(CONNECT_TIMEOUT, transport.send(request))
        .await
        .map_err(|_| failed(ConnectionFailure::Silence("timed out while connecting".to_owned())))?
        .map_err(|error| failed(ConnectionFailure::of(&error, url.scheme() == "wss")))?;
    check(url, &key, &response)?;
    let stream =
        hyper::upgrade::on(response).await.map_err(|error| failed(ConnectionFailure::of(&error, false)))?;
    Ok(WebSocketLines::client(TokioIo::new(stream), close))
}

/// The URL of the same endpoint over HTTP.
fn http_url(url: &Url) -> Url {
    let scheme = if url.scheme() == "wss" { "https" } else { "http" };
    let mut endpoint = url.clone();
    let _ = endpoint.set_scheme(scheme); // all four schemes can replace each other
    endpoint
}

/// Checks that the gateway has accepted the WebSocket.
fn check<B>(url: &Url, key: &str, response: &Response<B>) -> Result<(), CommandError> {
    let refused = |exit, hint: &str| {
        let message = format!("the gateway at {url} refused the connection: {}", response.status());
        Err(CommandError::new(exit).message(&message, Some(hint)))
    };
    match response.status() {
        StatusCode::SWITCHING_PROTOCOLS => {}
        StatusCode::UNAUTHORIZED => {
            let hint = format!("set the variable {TOKEN_VARIABLE} to one of the tokens in `[http.auth]`");
            return refused(ExitKind::Unauthorized, &hint);
        }
        StatusCode::FORBIDDEN => {
            return refused(ExitKind::Unauthorized, "the gateway's log has the reason");
        }
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            return refused(ExitKind::Unreachable, "try again later");
        }
        _ => {
            let hint = if url.scheme() == "ws" {
                "set `websocket = true` in `[http]` and restart the gateway; the path of the endpoint is `/mcp`; if the \
                 gateway uses TLS, write wss:// instead of ws://"
            } else {
                "set `websocket = true` in `[http]` and restart the gateway; the path of the endpoint is `/mcp`"
            };
            return refused(ExitKind::Unreachable, hint);
        }
    }
    let accepted = response.headers().get(SEC_WEBSOCKET_ACCEPT);
    if accepted.is_none_or(|value| value.as_bytes() != accept_value(key.as_bytes()).as_bytes()) {
        return refused(ExitKind::Unreachable, "the server isn't a gateway");
    }
    Ok(())
}
