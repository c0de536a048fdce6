//! The body of a request: content type, accepted response types, and reading within limits.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, TRANSFER_ENCODING};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use moongate_protocol::jsonrpc::{MessageOutline, MessageScanner};
use moongate_protocol::server::{RequestBodyMemory, StreamSupport, TooManyLargeRequests};
use tokio::time::timeout;

use crate::transport::http::accept::media_ranges;
use crate::transport::http::rejection::Rejection;

/// The factor by which the buffer of a body exceeds what has arrived, if its announced length is larger still. The buffer
/// usually grows once.
const MAX_GROWTH: usize = 16;

/// The time limit for receiving a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// The time and size limits for reading the rest of an oversized body, so that the client can read the rejection:
/// closing a connection with unread bytes discards the response.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_DRAINED_BYTES: usize = 64 * 1024 * 1024;

/// The format of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseFormat {
    /// `application/json`.
    Json,
    /// One event of a `text/event-stream`.
    Event,
}

/// The response types that a client accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AcceptedTypes {
    /// The format of a single message.
    pub(super) format: ResponseFormat,
    /// The client's support for event streams.
    pub(super) streaming: StreamSupport,
}

/// Checks the content type.
///
/// # Errors
/// The body isn't plain JSON.
pub(crate) fn check_type(headers: &HeaderMap) -> Result<(), Rejection> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(content_type), None) = (types.next(), types.next()) else { return Err(Rejection::ContentType) };
    if !content_type.to_str().is_ok_and(is_json) {
        return Err(Rejection::ContentType);
    }
    let encoded = |value: &str| !value.trim().eq_ignore_ascii_case("identity");
    if headers.get_all(CONTENT_ENCODING).iter().any(|value| value.to_str().map_or(true, encoded)) {
        return Err(Rejection::ContentEncoding);
    }
    // hyper decodes only the last coding.
    if headers.get_all(TRANSFER_ENCODING).iter().any(|it| !it.as_bytes().eq_ignore_ascii_case(b"chunked")) {
        return Err(Rejection::ContentEncoding);
    }
    Ok(())
}

/// Checks the content type, and reads the accepted response types.
///
/// # Errors
/// The body isn't plain JSON, or the client accepts none of the response types.
pub(super) fn check_types(headers: &HeaderMap) -> Result<AcceptedTypes, Rejection> {
    check_type(headers)?;
    let accepts = |types: &[&str]| media_ranges(headers).any(|range| range.accepts(types));
    let events = accepts(&["text/event-stream", "text/*"]);
    // Clients that don't support event streams send `*/*`: they get only the response, if there is one.
    let anything = !headers.contains_key(ACCEPT) || accepts(&["*/*"]);
    let streaming = match (events, anything) {
        (true, _) => StreamSupport::Supported,
        (false, true) => StreamSupport::Unknown,
        (false, false) => StreamSupport::Unsupported,
    };
    if anything || accepts(&["application/json", "application/*"]) {
        Ok(AcceptedTypes { format: ResponseFormat::Json, streaming })
    } else if events {
        Ok(AcceptedTypes { format: ResponseFormat::Event, streaming })
    } else {
        Err(Rejection::Accept)
    }
}

/// True if the client of a GET accepts event streams. Without an `Accept` header, it accepts anything.
pub(super) fn accepts_events(headers: &HeaderMap) -> StreamSupport {
    let is_named = media_ranges(headers).any(|range| range.accepts(&["text/event-stream", "text/*", "*/*"]));
    if is_named || !headers.contains_key(ACCEPT) {
        StreamSupport::Supported
    } else {
        StreamSupport::Unsupported
    }
}

/// `application/json`, without a charset or with UTF-8.
fn is_json(value: &str) -> bool {
    let mut parts = value.split(';').map(str::trim);
    if !parts.next().is_some_and(|it| it.eq_ignore_ascii_case("application/json")) {
        return false;
    }
    parts.filter_map(|parameter| parameter.split_once('=')).all(|(name, value)| {
        let value = value.trim_matches('"');
        !name.eq_ignore_ascii_case("charset")
            || value.eq_ignore_ascii_case("utf-8")
            || value.eq_ignore_ascii_case("utf8")
    })
}

/// A body with a message.
#[derive(Debug)]
pub(crate) enum MessageBody {
    /// The body.
    Complete(Bytes),
    /// A body over the limit, which was discarded except for its outline.
    TooLarge(MessageOutline),
}

/// Reads a body with a message, of at most `most` bytes. The ids in a larger one are found, so that they can be
/// answered: many clients write the id last. The body counts towards `memory` as it arrives: an announced length is no
/// reason to refuse the bodies of others.
///
/// # Errors
/// The body takes too long, or is incomplete, or there is no memory for it.
pub(crate) async fn read_message(
    headers: &HeaderMap,
    body: Body,
    most: usize,
    memory: &mut RequestBodyMemory,
) -> Result<MessageBody, Rejection> {
    let mut scanner = MessageScanner::default();
    let mut stream = body.into_data_stream();
    if has_length_above(headers, most) {
        // A client that waits for permission to send the body (100-continue) needn't send it to be refused.
        if headers.contains_key(EXPECT) {
            tokio::spawn(drain(stream, drop));
            return Ok(MessageBody::TooLarge(scanner.finish()));
        }
    } else {
        let length = length(headers).and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
        let reserve = |length| memory.grow_to(length);
        match timeout(BODY_TIMEOUT, collect(&mut stream, length, most, reserve)).await {
            Ok(Ok(Collected::Complete(body))) => return Ok(MessageBody::Complete(body)),
            Ok(Ok(Collected::TooLarge(pieces))) => {
                for piece in pieces {
                    scanner.read(&piece);
                }
                memory.release();
            }
            Ok(Err(Rejection::RequestMemory)) => {
                tokio::spawn(drain(stream, drop));
                return Err(Rejection::RequestMemory);
            }
            Ok(Err(rejection)) => return Err(rejection),
            Err(_) => return Err(Rejection::BodyTimeout),
        }
    }
    drain(stream, |piece| scanner.read(&piece)).await;
    Ok(MessageBody::TooLarge(scanner.finish()))
}

/// Reads a body of at most `most` bytes.
///
/// # Errors
/// The body is too large, takes too long, or is incomplete.
pub(crate) async fn read(headers: &HeaderMap, body: Body, most: usize) -> Result<Bytes, Rejection> {
    let mut stream = body.into_data_stream();
    if !has_length_above(headers, most) {
        match timeout(BODY_TIMEOUT, collect(&mut stream, 0, most, |_| Ok(()))).await {
            Ok(Ok(Collected::Complete(body))) => return Ok(body),
            Ok(Ok(Collected::TooLarge(_))) => {}
            Ok(Err(rejection)) => return Err(rejection),
            Err(_) => return Err(Rejection::BodyTimeout),
        }
    }
    tokio::spawn(drain(stream, drop));
    Err(Rejection::BodyTooLarge(most))
}

fn has_length_above(headers: &HeaderMap, most: usize) -> bool {
    length(headers).is_some_and(|length| length > most as u64)
}

fn length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok())
}

/// The outcome of [`collect`].
enum Collected {
    Complete(Bytes),
    /// The pieces up to the limit and the first one above it.
    TooLarge([Bytes; 2]),
}

/// Reads a body. `expected` is its length as announced, or 0. `reserve` gets the length with the next piece.
async fn collect(
    stream: &mut BodyDataStream,
    expected: usize,
    most: usize,
    mut reserve: impl FnMut(usize) -> Result<(), TooManyLargeRequests>,
) -> Result<Collected, Rejection> {
    let mut whole: Option<BytesMut> = None;
    let mut first = Bytes::new();
    while let Some(piece) = stream.next().await {
        let piece = piece.map_err(|_| Rejection::IncompleteBody)?;
        let before = whole.as_ref().map_or(first.len(), BytesMut::len);
        if before + piece.len() > most {
            return Ok(Collected::TooLarge([whole.map_or(first, BytesMut::freeze), piece]));
        }
        reserve(before + piece.len())?;
        match &mut whole {
            Some(whole) => whole.extend_from_slice(&piece),
            None if first.is_empty() => first = piece, // most bodies come in one piece and aren't copied
            None => {
                let received = first.len() + piece.len();
                let capacity = expected.min(received.saturating_mul(MAX_GROWTH)).max(received * 2);
                let mut joined = BytesMut::with_capacity(capacity);
                joined.extend_from_slice(&first);
                joined.extend_from_slice(&piece);
                whole = Some(joined);
            }
        }
    }
    Ok(Collected::Complete(whole.map_or(first, BytesMut::freeze)))
}

/// Reads the rest of a rejected body; `take` gets each piece.
async fn drain(mut stream: BodyDataStream, mut take: impl FnMut(Bytes)) {
    let drain = async {
        let mut taken = 0;
        while let Some(Ok(piece)) = stream.next().await {
            taken += piece.len();
            take(piece);
            if taken > MAX_DRAINED_BYTES {
                return;
            }
        }
    };
    let _ = timeout(DRAIN_TIMEOUT, drain).await;
}

#[cfg(test)]
mod tests;
