//! The gateway's error codes, as authors and operators read them.

use wasip2::http::types::{DnsErrorPayload, ErrorCode, TlsAlertReceivedPayload};

use super::explain;
use crate::http::{HttpError, Place};

fn said(code: &ErrorCode) -> String {
    explain(code, Place { method: "GET".to_owned(), origin: "https://a.example".to_owned() }).to_string()
}

#[test]
fn what_the_operator_can_change_is_named() {
    let denied = "this GET request to `https://a.example` isn't granted; `http = [\"https://a.example\"]` below \
                  `[plugins.<name>.allow]` in `gateway.toml` grants every request there";
    assert!(said(&ErrorCode::HttpRequestDenied).starts_with(denied));
    assert!(said(&ErrorCode::DestinationIpProhibited).contains("networks = "));
    assert!(said(&ErrorCode::ConnectionLimitReached).contains("`requests_at_once`"));
    assert!(said(&ErrorCode::HttpRequestBodySize(None)).contains("`limits.sent`"));
    assert!(said(&ErrorCode::HttpResponseBodySize(Some(3))).contains("`limits.received`"));
}

#[test]
fn the_words_of_a_gateway_are_kept() {
    let used_up = "the call has sent the 64 requests that `limits.requests` lets it";
    assert_eq!(said(&ErrorCode::InternalError(Some(used_up.to_owned()))), used_up);
}

#[test]
fn what_an_author_may_handle_is_told_apart() {
    let origin = || "https://a.example".to_owned();
    let place = || Place { method: "GET".to_owned(), origin: origin() };
    for code in [
        ErrorCode::ConnectionTimeout,
        ErrorCode::ConnectionReadTimeout,
        ErrorCode::ConnectionWriteTimeout,
        ErrorCode::HttpResponseTimeout,
    ] {
        assert_eq!(explain(&code, place()), HttpError::Timeout { origin: origin() });
    }
    let dns = ErrorCode::DnsError(DnsErrorPayload { rcode: Some("NXDOMAIN".to_owned()), info_code: None });
    assert_eq!(said(&dns), "no address was found for `https://a.example`: NXDOMAIN");
    assert_eq!(said(&ErrorCode::DestinationNotFound), "no address was found for `https://a.example`");
    assert_eq!(said(&ErrorCode::ConnectionRefused), "no connection to `https://a.example`: it was refused");
    assert!(matches!(explain(&ErrorCode::TlsCertificateError, place()), HttpError::Tls { .. }));
    let alert =
        TlsAlertReceivedPayload { alert_id: None, alert_message: Some("handshake failure".to_owned()) };
    assert!(said(&ErrorCode::TlsAlertReceived(alert)).ends_with(": handshake failure"));
}

#[test]
fn other_codes_are_said_in_words() {
    let told = "the answer of `https://a.example` can't be read: ";
    assert_eq!(said(&ErrorCode::HttpResponseIncomplete), format!("{told}http response incomplete"));
    assert_eq!(
        said(&ErrorCode::HttpResponseContentCoding(Some("zip".to_owned()))),
        format!("{told}http response content coding")
    );
    assert_eq!(said(&ErrorCode::InternalError(Some("as it is".to_owned()))), "as it is");
}
