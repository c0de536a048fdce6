//! Messages for the gateway's error codes.

use wasip2::http::types::{DnsErrorPayload, ErrorCode, TlsAlertReceivedPayload};

use super::explain;
use crate::http::{HttpError, RequestTarget};

fn message(code: &ErrorCode) -> String {
    explain(code, RequestTarget { method: "GET".to_owned(), origin: "https://a.example".to_owned() })
        .to_string()
}

#[test]
fn names_the_refusal_and_the_limit() {
    let denied = "the request GET https://a.example isn't granted; an operator can allow it";
    assert!(message(&ErrorCode::HttpRequestDenied).starts_with(denied));
    assert!(message(&ErrorCode::DestinationIpProhibited).contains("no public address"));
    assert!(message(&ErrorCode::ConnectionLimitReached).contains("`limits.requests_at_once`"));
    assert!(message(&ErrorCode::HttpRequestBodySize(None)).contains("`limits.sent`"));
    assert!(message(&ErrorCode::HttpResponseBodySize(Some(3))).contains("`limits.received`"));
}

#[test]
fn keeps_the_gateways_message() {
    let used_up = "the call has sent the 64 requests that `limits.requests` lets it";
    assert_eq!(message(&ErrorCode::InternalError(Some(used_up.to_owned()))), used_up);
}

#[test]
fn distinguishes_errors_to_handle() {
    let origin = || "https://a.example".to_owned();
    let place = || RequestTarget { method: "GET".to_owned(), origin: origin() };
    for code in [
        ErrorCode::ConnectionTimeout,
        ErrorCode::ConnectionReadTimeout,
        ErrorCode::ConnectionWriteTimeout,
        ErrorCode::HttpResponseTimeout,
    ] {
        assert_eq!(explain(&code, place()), HttpError::Timeout { origin: origin() });
    }
    let dns = ErrorCode::DnsError(DnsErrorPayload { rcode: Some("NXDOMAIN".to_owned()), info_code: None });
    assert_eq!(message(&dns), "cannot resolve `https://a.example`: NXDOMAIN");
    assert_eq!(message(&ErrorCode::DestinationNotFound), "cannot resolve `https://a.example`");
    assert_eq!(
        message(&ErrorCode::ConnectionRefused),
        "cannot connect to `https://a.example`: connection refused"
    );
    assert!(matches!(explain(&ErrorCode::TlsCertificateError, place()), HttpError::Tls { .. }));
    let alert =
        TlsAlertReceivedPayload { alert_id: None, alert_message: Some("handshake failure".to_owned()) };
    assert!(message(&ErrorCode::TlsAlertReceived(alert)).ends_with(": handshake failure"));
}

#[test]
fn describes_other_codes() {
    let prefix = "invalid response from `https://a.example`: ";
    assert_eq!(
        message(&ErrorCode::HttpResponseIncomplete),
        format!("{prefix}truncated: the server closed the connection before its end")
    );
    assert_eq!(
        message(&ErrorCode::HttpResponseContentCoding(Some("zip".to_owned()))),
        format!("{prefix}http response content coding")
    );
    assert_eq!(message(&ErrorCode::InternalError(Some("as it is".to_owned()))), "as it is");
}
