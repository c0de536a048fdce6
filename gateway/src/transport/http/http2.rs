//! HTTP/2 connections, which clients choose in the TLS handshake (ALPN).
//!
//! A stream has the limits of an HTTP/1.1 connection. It counts towards its caller's connections, and its response must
//! be read at the same minimum rate: a stream that waits for its flow-control window for too long is reset, because the
//! connection's own time limit doesn't notice it. So data is handed to the connection only as far as the windows allow.
//! The heads of a connection without an authenticated request have a common limit, and a client that keeps abandoning
//! its requests, or sends many frames that carry none, is disconnected.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::header::{CONNECTION, CONTENT_LENGTH, DATE, HOST, RETRY_AFTER, TRANSFER_ENCODING, UPGRADE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use axum::response::IntoResponse as _;
use bytes::Bytes;
use futures_util::stream;
use h2::server::{Builder, Connection, SendResponse};
use h2::{Ping, PingPong, Reason, RecvStream, SendStream};
use http_body_util::BodyExt as _;
use hyper::body::Body as _;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use moongate_system::background::MovableFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::transport::http::client_identity::ClientIdentity;
use crate::transport::http::client_stream::UnreadTime;
use crate::transport::http::connections::{ConnectionHandle, ConnectionSlot};
use crate::transport::http::listener::ListenerShutdown;

mod frames;

use frames::CountedFrames;

/// The protocol's name in ALPN.
pub(super) const ALPN_NAME: &[u8] = b"h2";

/// The maximum number of concurrent streams of a connection. Browsers and proxies use at most 100.
const MAX_STREAMS: u32 = 100;

/// The maximum size of a request head, in bytes.
const MAX_HEAD_BYTES: u32 = 16 * 1024;

/// The maximum number of headers, the same as in HTTP/1.1.
const MAX_HEADERS: usize = 100;

/// The approximate size of a stream's state and of a header's, in bytes. A short header that the client has sent before
/// arrives as one byte.
const STREAM_BYTES: usize = 4 * 1024;
const HEADER_BYTES: usize = 128;

/// The maximum size of unread request bodies, for a stream and for a connection, in bytes. It is the smallest that
/// every client supports.
const WINDOW_BYTES: u32 = 64 * 1024 - 1;

/// The largest part of a response that is handed to the connection at once, and the most that waits there for a stream.
const MAX_PART_BYTES: usize = 16 * 1024;

/// The maximum number of streams that a client has reset and that the connection still remembers, in each of the ways
/// in which it remembers them.
const MAX_RESET_STREAMS: usize = 20;

/// The maximum number of requests that a client abandons, minus those that are answered. Above it, the client is
/// disconnected: starting requests and resetting them costs it nothing.
const MAX_ABANDONED: u32 = 200;

/// The interval of pings, and the time limit for their answer.
const PING_INTERVAL: Duration = Duration::from_secs(60);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// Everything that the streams of a connection need.
#[derive(Clone)]
pub(super) struct StreamService {
    pub(super) router: Router,
    pub(super) peer: SocketAddr,
    /// The holder of the client certificate.
    pub(super) identity: Option<ClientIdentity>,
}

/// The end of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamEnd {
    /// The whole response was handed to the connection.
    Answered,
    /// The client reset the stream, or read it too slowly.
    Abandoned,
}

/// Serves a connection until its client closes it or the gateway stops, and then until its streams have ended. It
/// is closed if it was idle for `idle`. Dropping the future ends all streams.
pub(super) async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    service: StreamService,
    slot: &ConnectionSlot,
    idle: Duration,
    shutdown: &ListenerShutdown,
    drained: impl Future<Output = ()>,
) -> Result<(), h2::Error> {
    let handle = slot.handle();
    handle.begin_streams();
    let mut evicted = pin!(slot.evicted());
    let too_many_frames = CancellationToken::new();
    let stream = CountedFrames::new(stream, too_many_frames.clone());
    let handshake = builder().handshake::<_, Bytes>(stream);
    let mut connection = tokio::select! {
        connection = handshake => connection?,
        () = &mut evicted => return Ok(()),
        () = shutdown.last_request() => return Ok(()),
    };
    let mut pings = pin!(unanswered_ping(connection.ping_pong()));
    let mut drained = pin!(drained);
    let mut streams: JoinSet<StreamEnd> = JoinSet::new();
    let mut abandoned = 0_u32;
    let mut is_draining = false;
    loop {
        tokio::select! {
            accepted = connection.accept() => match accepted {
                None => return Ok(()),
                Some(Err(error)) => return Err(error),
                Some(Ok((request, respond))) => {
                    handle.head_completed();
                    let served = serve_stream(request, respond, service.clone(), handle.clone());
                    streams.spawn(MovableFuture::new(served));
                }
            },
            Some(ended) = streams.join_next(), if !streams.is_empty() => {
                abandoned = match ended {
                    Ok(StreamEnd::Answered) => abandoned.saturating_sub(1),
                    Ok(StreamEnd::Abandoned) | Err(_) => abandoned + 1,
                };
                if abandoned > MAX_ABANDONED {
                    return end(&mut connection, Reason::ENHANCE_YOUR_CALM).await;
                }
            }
            () = too_many_frames.cancelled() => return end(&mut connection, Reason::ENHANCE_YOUR_CALM).await,
            () = &mut evicted => return end(&mut connection, Reason::NO_ERROR).await,
            () = slot.idle_for(idle), if streams.is_empty() => {
                return end(&mut connection, Reason::NO_ERROR).await;
            }
            () = &mut pings => return Ok(()), // the peer is gone
            () = shutdown.stop.cancelled(), if !is_draining => {
                connection.graceful_shutdown();
                is_draining = true;
            }
            () = &mut drained, if is_draining => return Ok(()),
        }
    }
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEAD_BYTES)
        .initial_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .max_send_buffer_size(MAX_PART_BYTES)
        .max_concurrent_reset_streams(MAX_RESET_STREAMS)
        .max_pending_accept_reset_streams(MAX_RESET_STREAMS)
        .max_local_error_reset_streams(Some(MAX_RESET_STREAMS));
    builder
}

/// Tells the client why the connection ends, if it reads that at once.
async fn end<S: AsyncRead + AsyncWrite + Unpin>(
    connection: &mut Connection<S, Bytes>,
    reason: Reason,
) -> Result<(), h2::Error> {
    connection.abrupt_shutdown(reason);
    match timeout(Duration::from_secs(1), poll_fn(|context| connection.poll_closed(context))).await {
        Ok(Err(error)) if error.reason() != Some(reason) => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Sends pings until one isn't answered in time.
async fn unanswered_ping(pings: Option<PingPong>) {
    let Some(mut pings) = pings else { return std::future::pending().await };
    loop {
        sleep(PING_INTERVAL).await;
        if !matches!(timeout(PING_TIMEOUT, pings.ping(Ping::opaque())).await, Ok(Ok(_))) {
            return;
        }
    }
}

/// Answers a request.
async fn serve_stream(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    service: StreamService,
    handle: ConnectionHandle,
) -> StreamEnd {
    let (mut head, received) = request.into_parts();
    let is_head = head.method == Method::HEAD;
    let bytes = head.headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum::<usize>();
    let bytes = bytes + head.uri.path().len() + head.uri.query().map_or(0, str::len);
    // A client doesn't need that many requests before the first one is authenticated.
    let Ok(handle) = handle.open_stream(STREAM_BYTES + HEADER_BYTES * head.headers.len() + bytes) else {
        let busy = (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "1")]).into_response();
        return send(busy, is_head, respond, &handle).await;
    };
    let response = if head.headers.len() > MAX_HEADERS {
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE.into_response()
    } else if head.method == Method::CONNECT {
        StatusCode::METHOD_NOT_ALLOWED.into_response()
    } else {
        name_host(&mut head.headers, &head.uri);
        head.extensions.insert(handle.clone());
        head.extensions.insert(ConnectInfo(service.peer));
        if let Some(identity) = &service.identity {
            head.extensions.insert(identity.clone());
        }
        let request = Request::from_parts(head, body_of(received));
        let router = TowerToHyperService::new(service.router);
        let answer = pin!(router.call(request));
        tokio::select! {
            Ok(response) = answer => response,
            _ = poll_fn(|context| respond.poll_reset(context)) => return StreamEnd::Abandoned,
        }
    };
    send(response, is_head, respond, &handle).await // until then, it counts for its caller
}

/// Adds the `Host` header of a request that has only an `:authority` (RFC 9113, 8.3.1). If it has both, the endpoint
/// compares them.
fn name_host(headers: &mut HeaderMap, uri: &axum::http::Uri) {
    if !headers.contains_key(HOST)
        && let Some(authority) = uri.authority()
        && let Ok(host) = HeaderValue::from_str(authority.as_str())
    {
        headers.insert(HOST, host);
    }
}

/// The body of a request. Reading it makes room for more.
fn body_of(mut received: RecvStream) -> Body {
    if received.is_end_stream() {
        return Body::empty();
    }
    Body::from_stream(stream::poll_fn(move |context| {
        received.poll_data(context).map(|next| {
            next.map(|piece| {
                piece.and_then(|piece| {
                    received.flow_control().release_capacity(piece.len())?;
                    Ok(piece)
                })
            })
        })
    }))
}

/// Sends a response.
async fn send(
    response: Response<Body>,
    is_head: bool,
    mut respond: SendResponse<Bytes>,
    handle: &ConnectionHandle,
) -> StreamEnd {
    let (mut head, mut body) = response.into_parts();
    prepare(&mut head.headers, &body);
    let has_body = !is_head && !body.is_end_stream();
    let head = Response::from_parts(head, ());
    let Ok(mut sender) = respond.send_response(head, !has_body) else { return StreamEnd::Abandoned };
    if !has_body {
        return StreamEnd::Answered;
    }
    let mut unread = UnreadTime::new();
    loop {
        let next = tokio::select! {
            next = body.frame() => next,
            _ = poll_fn(|context| sender.poll_reset(context)) => return StreamEnd::Abandoned,
        };
        let (data, is_last) = match next {
            Some(Ok(frame)) => (frame.into_data().unwrap_or_default(), body.is_end_stream()),
            None => (Bytes::new(), true),
            Some(Err(_)) => {
                sender.send_reset(Reason::INTERNAL_ERROR);
                return StreamEnd::Abandoned;
            }
        };
        if send_data(&mut sender, data, is_last, &mut unread, handle).await.is_none() {
            sender.send_reset(Reason::CANCEL);
            return StreamEnd::Abandoned;
        }
        if is_last {
            return StreamEnd::Answered;
        }
    }
}

/// Sends data as far as the windows allow, and waits for the client to read more. `None` means that it reads too slowly
/// or has reset the stream.
async fn send_data(
    sender: &mut SendStream<Bytes>,
    mut data: Bytes,
    is_last: bool,
    unread: &mut UnreadTime,
    handle: &ConnectionHandle,
) -> Option<()> {
    if data.is_empty() {
        return sender.send_data(data, is_last).ok();
    }
    while !data.is_empty() {
        sender.reserve_capacity(data.len().min(MAX_PART_BYTES));
        if sender.capacity() == 0 {
            let deadline = unread.wait(Instant::now());
            timeout_at(deadline, poll_fn(|context| sender.poll_capacity(context))).await.ok()??.ok()?;
        }
        let part = data.split_to(sender.capacity().min(data.len()).min(MAX_PART_BYTES));
        if part.is_empty() {
            continue;
        }
        unread.progress(Instant::now(), part.len());
        handle.touch();
        sender.send_data(part, is_last && data.is_empty()).ok()?;
    }
    Some(())
}

/// Adds the headers that HTTP/1.1 adds too, and removes those of connections, which HTTP/2 doesn't allow.
fn prepare(headers: &mut HeaderMap, body: &Body) {
    for name in [CONNECTION, TRANSFER_ENCODING, UPGRADE, HeaderName::from_static("keep-alive")] {
        headers.remove(name);
    }
    if let Some(length) = body.size_hint().exact()
        && length > 0
    {
        headers.entry(CONTENT_LENGTH).or_insert(HeaderValue::from(length));
    }
    if let Ok(now) = HeaderValue::from_str(&httpdate::fmt_http_date(SystemTime::now())) {
        headers.entry(DATE).or_insert(now);
    }
}

#[cfg(test)]
mod tests;
