//! WebSockets on the path of the MCP endpoint: the handshake (RFC 6455, 4.2), and the connection after it.
//!
//! The handshake is a request like any other: host, origin and token are checked first. Browsers always send the origin
//! of a page, so a page can't connect unless its origin is allowed. Afterwards, the connection is one session, as over
//! stdio, and keeps its place among the connections of its caller. It ends with the token.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION,
    UPGRADE,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, request};
use axum::response::Response;
use futures_util::future::BoxFuture;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use moongate_model::caller::Caller;
use moongate_protocol::dispatch::NetworkTransport;
use moongate_protocol::server::StdioConnection;
use moongate_system::background;
use tokio::io::split;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::transport::http::auth::{RequestCaller, TokenValidity};
use crate::transport::http::caller_load::CallerLoad;
use crate::transport::http::connections::ConnectionHandle;
use crate::transport::http::endpoint::Endpoint;
use crate::transport::http::rejection::Rejection;
use crate::transport::stdio::{MAX_LINE_BYTES, StreamPeer, serve_stream};
use crate::transport::trace::Tap;
use crate::transport::websocket::{
    CloseReason, CloseReasonSlot, SUBPROTOCOL, SUPPORTED_VERSION, WebSocketLines, accept_value,
};
use crate::transport::{GRACE_WITHOUT_CLIENT, TransportShutdown};

/// The length of a key: 16 bytes in base64.
const KEY_LENGTH: usize = 24;

/// The time without a message after which a connection is closed, as the default of a Unix socket's. A client that is
/// gone is noticed earlier, because it doesn't answer pings.
const IDLE_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// The use of a connection after an upgrade. Requests over HTTP/1.1 carry it as an extension.
#[derive(Clone)]
pub(super) struct ConnectionUpgrade {
    /// Cancelled when the gateway stops.
    stop: CancellationToken,
    task: Arc<Mutex<Option<BoxFuture<'static, ()>>>>,
}

impl ConnectionUpgrade {
    pub(super) fn new(stop: CancellationToken) -> Self {
        Self { stop, task: Arc::default() }
    }

    fn set(&self, task: BoxFuture<'static, ()>) {
        *self.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
    }

    /// Takes the task that serves the upgraded connection. `None` if it wasn't upgraded.
    pub(super) fn take(&self) -> Option<BoxFuture<'static, ()>> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Reports whether a request asks for a WebSocket.
pub(super) fn is_upgrade(headers: &HeaderMap) -> bool {
    words(headers, &UPGRADE).any(|word| word.eq_ignore_ascii_case("websocket"))
}

/// The words of a comma-separated header.
fn words<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'h str> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

/// Accepts a WebSocket of an authenticated caller. It is served once the response is sent.
///
/// # Errors
/// The handshake is incomplete, or the client doesn't offer the subprotocol.
pub(super) fn accept(
    endpoint: &Arc<Endpoint>,
    head: &request::Parts,
    RequestCaller { caller, validity, in_progress: _until_accepted }: RequestCaller,
    tap: Tap,
) -> Result<Response, Rejection> {
    let headers = &head.headers;
    if !words(headers, &SEC_WEBSOCKET_VERSION).any(|version| version == SUPPORTED_VERSION) {
        return Err(Rejection::WebSocketVersion);
    }
    let is_complete = words(headers, &CONNECTION).any(|word| word.eq_ignore_ascii_case("upgrade"))
        && words(headers, &SEC_WEBSOCKET_PROTOCOL).any(|offered| offered == SUBPROTOCOL);
    let key = headers.get(SEC_WEBSOCKET_KEY).filter(|key| key.len() == KEY_LENGTH && is_complete);
    let handle = head.extensions.get::<ConnectionHandle>().cloned();
    let upgrade = head.extensions.get::<ConnectionUpgrade>().cloned();
    let on_upgrade = head.extensions.get::<OnUpgrade>().cloned();
    let (Some(key), Some(handle), Some(upgrade), Some(on_upgrade)) = (key, handle, upgrade, on_upgrade)
    else {
        return Err(Rejection::WebSocketHandshake);
    };
    let accepted = HeaderValue::try_from(accept_value(key.as_bytes()));
    let accepted = accepted.map_err(|_| Rejection::WebSocketHandshake)?;
    handle.begin_streams(); // no more request heads follow
    let socket = AcceptedWebSocket {
        endpoint: Arc::clone(endpoint),
        validity: endpoint.of_stream(validity, head, &caller),
        caller,
        handle,
        tap,
        stop: upgrade.stop.clone(),
    };
    upgrade.set(Box::pin(socket.serve(on_upgrade)));
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers_out = response.headers_mut();
    headers_out.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers_out.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers_out.insert(SEC_WEBSOCKET_ACCEPT, accepted);
    headers_out.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUBPROTOCOL));
    Ok(response)
}

/// A WebSocket whose handshake was accepted.
struct AcceptedWebSocket {
    endpoint: Arc<Endpoint>,
    caller: Caller,
    validity: TokenValidity,
    handle: ConnectionHandle,
    tap: Tap,
    stop: CancellationToken,
}

impl AcceptedWebSocket {
    /// Serves until the client disconnects, its token or certificate is no longer valid, the connection has been idle, or
    /// the gateway stops.
    async fn serve(self, on_upgrade: OnUpgrade) {
        let Self { endpoint, caller, validity, handle, tap, stop } = self;
        let stream = match on_upgrade.await {
            Ok(stream) => TokioIo::new(stream),
            Err(error) => return tracing::debug!(%error, "a WebSocket ended before it was open"),
        };
        background::request_return(); // the handshake may have made way for requests of others
        let close = CloseReasonSlot::default();
        let max_message = endpoint.max_body.min(MAX_LINE_BYTES);
        let stream = WebSocketLines::server(stream, max_message, endpoint.keep_alive, close.clone());
        let (input, output) = split(stream);
        let ending = TransportShutdown::default();
        let connection = StdioConnection::with_transport(caller, NetworkTransport::WebSocket);
        let load = Some(CallerLoad::of_process());
        let peer = StreamPeer { connection, handle: Some(handle.clone()), load };
        let server = Arc::clone(&endpoint.server);
        let mut served = pin!(serve_stream(server, peer, input, output, tap, ending.clone()));
        let mut invalid = pin!(validity.ended());
        let reason = tokio::select! {
            _ = &mut served => return,
            () = ending.peer_gone.cancelled() => {
                if timeout(GRACE_WITHOUT_CLIENT, &mut served).await.is_err() {
                    ending.time_up.cancel();
                    served.await;
                }
                return;
            }
            () = &mut invalid => CloseReason::CredentialEnded,
            () = stop.cancelled() => CloseReason::GatewayStops,
            () = handle.idle_for(IDLE_TIMEOUT) => CloseReason::Idle,
        };
        let is_valid = reason != CloseReason::CredentialEnded;
        close.set(reason);
        ending.stop_accepting.cancel();
        if is_valid {
            tokio::select! {
                _ = &mut served => return,
                () = invalid => {}
            }
        }
        ending.time_up.cancel(); // its calls end too
        served.await;
    }
}
