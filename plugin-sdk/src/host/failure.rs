//! Converts the error codes of `wasi:http` to [`HttpError`].

use wasip2::http::types::ErrorCode;

use crate::http::{HttpError, RequestTarget};

pub(crate) fn explain(code: &ErrorCode, place: RequestTarget) -> HttpError {
    use ErrorCode as E;
    let RequestTarget { method, origin } = place;
    let connect = |origin, reason: &str| HttpError::Connect { origin, reason: reason.to_owned() };
    match code {
        E::HttpRequestDenied => HttpError::NotGranted { method, origin },
        E::DestinationIpProhibited => HttpError::PrivateAddress { origin },
        E::DnsTimeout => HttpError::Dns { origin, reason: "DNS lookup timed out".to_owned() },
        E::DnsError(details) => HttpError::Dns { origin, reason: details.rcode.clone().unwrap_or_default() },
        E::DestinationNotFound => HttpError::Dns { origin, reason: String::new() },
        E::DestinationUnavailable => connect(origin, "host unreachable"),
        E::DestinationIpUnroutable => connect(origin, "no route to its address"),
        E::ConnectionRefused => connect(origin, "connection refused"),
        E::ConnectionTerminated => connect(origin, "connection closed"),
        E::HttpResponseIncomplete => HttpError::Protocol {
            origin,
            reason: "truncated: the server closed the connection before its end".to_owned(),
        },
        E::ConnectionTimeout
        | E::ConnectionReadTimeout
        | E::ConnectionWriteTimeout
        | E::HttpResponseTimeout => HttpError::Timeout { origin },
        E::ConnectionLimitReached => HttpError::TooManyRequests { origin },
        E::TlsProtocolError => {
            HttpError::Tls { origin, reason: "unsupported TLS version, or not TLS".to_owned() }
        }
        E::TlsCertificateError => {
            HttpError::Tls { origin, reason: "certificate verification failed".to_owned() }
        }
        E::TlsAlertReceived(alert) => {
            let reason = alert.alert_message.clone().unwrap_or_else(|| "the server sent an alert".to_owned());
            HttpError::Tls { origin, reason }
        }
        E::HttpRequestBodySize(_) => {
            limit(origin, "`limits.sent`, the total size of a call's request bodies")
        }
        E::HttpResponseBodySize(_) => limit(origin, "`limits.received`, the bytes that a call can receive"),
        E::InternalError(Some(reason)) => HttpError::Other(reason.clone()),
        E::LoopDetected => HttpError::Other(format!("`{origin}` is the gateway itself")),
        E::ConfigurationError | E::InternalError(None) => {
            HttpError::Other(format!("the gateway couldn't send the request to `{origin}`; see its log"))
        }
        other => HttpError::Protocol { origin, reason: describe(other) },
    }
}

fn limit(origin: String, reason: &str) -> HttpError {
    HttpError::Limit { origin, reason: reason.to_owned() }
}

/// A message for the remaining codes, from their names: HTTP violations of a server or proxy.
fn describe(code: &ErrorCode) -> String {
    let debug = format!("{code:?}");
    let name: String = debug.chars().skip_while(|c| !c.is_alphabetic()).collect();
    let mut describe = String::new();
    for c in name.trim_start_matches("ErrorCode::").chars().take_while(|c| c.is_alphanumeric()) {
        if c.is_uppercase() && !describe.is_empty() {
            describe.push(' ');
        }
        describe.extend(c.to_lowercase());
    }
    describe
}

#[cfg(test)]
mod tests;
