//! Content types and accepted types.

use axum::http::{HeaderName, HeaderValue};

use futures_util::FutureExt as _;
use moongate_model::caller::Caller;
use moongate_model::caller_budget::CallerBudget;

use super::*;

fn check(headers: &[(HeaderName, &str)]) -> Result<ResponseFormat, Rejection> {
    let headers = headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap()));
    check_types(&headers.collect()).map(|accepted| accepted.format)
}

#[test]
fn streams_require_an_explicit_accept() {
    for (accept, streaming) in [
        ("application/json, text/event-stream", StreamSupport::Supported),
        ("text/event-stream", StreamSupport::Supported),
        ("application/json", StreamSupport::Unsupported),
        ("*/*", StreamSupport::Unknown),
    ] {
        let headers = [(CONTENT_TYPE, "application/json"), (ACCEPT, accept)];
        let headers = headers.map(|(name, value)| (name, HeaderValue::from_str(value).unwrap()));
        assert_eq!(check_types(&HeaderMap::from_iter(headers)).unwrap().streaming, streaming, "{accept}");
    }
}

#[test]
fn accepts_json_without_charset_or_as_utf_8() {
    for fine in [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        "application/json;charset=\"UTF-8\"",
        "application/json; profile=x",
    ] {
        assert_eq!(check(&[(CONTENT_TYPE, fine)]), Ok(ResponseFormat::Json), "{fine}");
    }
    for bad in
        ["text/plain", "application/jsonx", "application/json; charset=latin1", "", "json", "text/json"]
    {
        assert_eq!(check(&[(CONTENT_TYPE, bad)]), Err(Rejection::ContentType), "{bad}");
    }
    assert_eq!(check(&[]), Err(Rejection::ContentType));
}

#[test]
fn rejects_compressed_bodies() {
    let json = (CONTENT_TYPE, "application/json");
    assert_eq!(check(&[json.clone(), (CONTENT_ENCODING, "gzip")]), Err(Rejection::ContentEncoding));
    assert_eq!(check(&[json, (CONTENT_ENCODING, "identity")]), Ok(ResponseFormat::Json));
}

#[test]
fn parses_accept_headers() {
    let json = (CONTENT_TYPE, "application/json");
    for fine in [
        "application/json, text/event-stream",
        "application/json",
        "*/*",
        "text/html, */*;q=0.1",
        "application/*",
    ] {
        assert_eq!(check(&[json.clone(), (ACCEPT, fine)]), Ok(ResponseFormat::Json), "{fine}");
    }
    for events in ["text/event-stream", "text/*", "application/json;q=0, text/event-stream"] {
        assert_eq!(check(&[json.clone(), (ACCEPT, events)]), Ok(ResponseFormat::Event), "{events}");
    }
    for bad in ["text/html", "image/png, application/xml", "application/json;q=0"] {
        assert_eq!(check(&[json.clone(), (ACCEPT, bad)]), Err(Rejection::Accept), "{bad}");
    }
}

/// The memory of a request, from a budget of this size.
fn memory(budget: u64) -> RequestBodyMemory {
    RequestBodyMemory::new(&CallerBudget::new(budget), &Caller::LOOPBACK)
}

#[tokio::test]
async fn a_body_counts_before_and_while_it_is_read() {
    let budget = CallerBudget::new(1 << 20);
    let other = Caller::Named("other".into());
    let _others = [300, 300].map(|kib| budget.try_reserve(&other, kib << 10).unwrap());
    let piece = Bytes::from(vec![b' '; 10 << 10]);
    let body = |count| {
        let pieces = vec![piece.clone(); count].into_iter().map(Ok::<_, std::io::Error>);
        Body::from_stream(futures_util::stream::iter(pieces))
    };
    let length = |count: usize| {
        HeaderMap::from_iter([(
            CONTENT_LENGTH,
            HeaderValue::from_str(&(count * piece.len()).to_string()).unwrap(),
        )])
    };
    for (count, headers, refused) in [
        (5, length(5), false),
        (5, HeaderMap::new(), false),
        (25, length(25), true), // twice 250 KiB, with 424 KiB left
        (25, HeaderMap::new(), true),
    ] {
        let mut memory = RequestBodyMemory::new(&budget, &Caller::LOOPBACK);
        let read = read_message(&headers, body(count), 1 << 20, &mut memory).await;
        assert_eq!(read.err(), refused.then_some(Rejection::RequestMemory), "{count} {headers:?}");
        let held = budget.held_by(&Caller::LOOPBACK);
        assert!(refused || held == 2 * (count * piece.len()) as u64, "{count} {headers:?} {held}");
    }
    // Over the limit, nothing of the body is kept.
    let mut memory = RequestBodyMemory::new(&budget, &Caller::LOOPBACK);
    let read = read_message(&HeaderMap::new(), body(5), 20 << 10, &mut memory).await;
    assert!(matches!(read, Ok(MessageBody::TooLarge(_))), "{read:?}");
    assert_eq!(budget.held_by(&Caller::LOOPBACK), 0);
    // An announced length alone reserves nothing.
    let silent = Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
    let headers = length(25);
    let waiting = read_message(&headers, silent, 1 << 20, &mut memory);
    assert!(waiting.now_or_never().is_none());
    assert_eq!(budget.held_by(&Caller::LOOPBACK), 0);
    let response = Rejection::RequestMemory.respond(Rejection::RequestMemory.error());
    assert_eq!(
        (response.status().as_u16(), &response.headers()["connection"]),
        (503, &HeaderValue::from_static("close"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stops_is_refused_after_30_seconds() {
    let started = tokio::time::Instant::now();
    let body = || {
        let start =
            futures_util::stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"{\"jsonrpc\""))]);
        Body::from_stream(start.chain(futures_util::stream::pending()))
    };
    let message = read_message(&HeaderMap::new(), body(), 1 << 20, &mut memory(64 << 20)).await;
    assert_eq!(message.err(), Some(Rejection::BodyTimeout));
    assert_eq!(started.elapsed(), BODY_TIMEOUT);
    assert_eq!(read(&HeaderMap::new(), body(), 1 << 20).await.err(), Some(Rejection::BodyTimeout));
    assert_eq!(Rejection::BodyTimeout.status(), 408);
}
