//! Which types are taken.

use axum::http::{HeaderName, HeaderValue};

use super::*;

fn check(headers: &[(HeaderName, &str)]) -> Result<Shape, Refusal> {
    let headers = headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap()));
    check_types(&headers.collect()).map(|accepted| accepted.shape)
}

#[test]
fn only_who_names_events_gets_several_messages() {
    for (accept, hear) in [
        ("application/json, text/event-stream", Hear::Notifications),
        ("text/event-stream", Hear::Notifications),
        ("application/json", Hear::Response),
        ("*/*", Hear::Anything),
    ] {
        let headers = [(CONTENT_TYPE, "application/json"), (ACCEPT, accept)];
        let headers = headers.map(|(name, value)| (name, HeaderValue::from_str(value).unwrap()));
        assert_eq!(check_types(&HeaderMap::from_iter(headers)).unwrap().hear, hear, "{accept}");
    }
}

#[test]
fn json_is_taken_with_no_charset_or_utf_8() {
    for fine in [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        "application/json;charset=\"UTF-8\"",
        "application/json; profile=x",
    ] {
        assert_eq!(check(&[(CONTENT_TYPE, fine)]), Ok(Shape::Json), "{fine}");
    }
    for bad in
        ["text/plain", "application/jsonx", "application/json; charset=latin1", "", "json", "text/json"]
    {
        assert_eq!(check(&[(CONTENT_TYPE, bad)]), Err(Refusal::ContentType), "{bad}");
    }
    assert_eq!(check(&[]), Err(Refusal::ContentType));
}

#[test]
fn compressed_bodies_are_refused() {
    let json = (CONTENT_TYPE, "application/json");
    assert_eq!(check(&[json.clone(), (CONTENT_ENCODING, "gzip")]), Err(Refusal::ContentEncoding));
    assert_eq!(check(&[json, (CONTENT_ENCODING, "identity")]), Ok(Shape::Json));
}

#[test]
fn accept_is_read_as_clients_write_it() {
    let json = (CONTENT_TYPE, "application/json");
    for fine in [
        "application/json, text/event-stream",
        "application/json",
        "*/*",
        "text/html, */*;q=0.1",
        "application/*",
    ] {
        assert_eq!(check(&[json.clone(), (ACCEPT, fine)]), Ok(Shape::Json), "{fine}");
    }
    for events in ["text/event-stream", "text/*", "application/json;q=0, text/event-stream"] {
        assert_eq!(check(&[json.clone(), (ACCEPT, events)]), Ok(Shape::Event), "{events}");
    }
    for bad in ["text/html", "image/png, application/xml", "application/json;q=0"] {
        assert_eq!(check(&[json.clone(), (ACCEPT, bad)]), Err(Refusal::Accept), "{bad}");
    }
}
