//! Content types and accepted types.

use axum::http::{HeaderName, HeaderValue};

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

#[tokio::test(start_paused = true)]
async fn a_body_that_stops_is_refused_after_30_seconds() {
    let started = tokio::time::Instant::now();
    let body = || {
        let start =
            futures_util::stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"{\"jsonrpc\""))]);
        Body::from_stream(start.chain(futures_util::stream::pending()))
    };
    let message = read_message(&HeaderMap::new(), body(), 1 << 20).await;
    assert_eq!(message.err(), Some(Rejection::BodyTimeout));
    assert_eq!(started.elapsed(), BODY_TIMEOUT);
    assert_eq!(read(&HeaderMap::new(), body(), 1 << 20).await.err(), Some(Rejection::BodyTimeout));
    assert_eq!(Rejection::BodyTimeout.status(), 408);
}
