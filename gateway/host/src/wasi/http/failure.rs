//! Conversion of request errors to errors of `wasi:http`.

use std::error::Error as _;
use std::io;

use tokio_rustls::rustls;
use wasmtime_wasi_http::Error;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;

/// The error of a request without a response.
pub(super) fn of_request(error: &hyper::Error) -> Error {
    if error.is_parse_too_large() {
        return Error::HttpResponseHeaderSectionSize(None);
    }
    if error.is_parse() || error.is_user() {
        return Error::HttpProtocolError;
    }
    if error.is_incomplete_message() || is_eof(error) {
        return Error::HttpResponseIncomplete;
    }
    Error::ConnectionTerminated
}

/// True if the connection ended where it can't end: in TLS, without TLS's own end.
pub(super) fn is_eof(error: &hyper::Error) -> bool {
    io_kind(error) == Some(io::ErrorKind::UnexpectedEof)
}

fn io_kind(error: &hyper::Error) -> Option<io::ErrorKind> {
    error.source().and_then(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind)
}

/// The error of an incomplete response.
pub(super) fn of_response(error: &hyper::Error) -> Error {
    if error.is_incomplete_message() {
        return Error::HttpResponseIncomplete;
    }
    match io_kind(error) {
        Some(io::ErrorKind::UnexpectedEof) => Error::HttpResponseIncomplete,
        Some(io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput) => Error::HttpProtocolError,
        Some(_) => Error::ConnectionTerminated,
        None if error.is_parse() => Error::HttpProtocolError,
        None => Error::ConnectionTerminated,
    }
}

/// The error of a failed connection attempt.
pub(super) fn of_connecting(error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Error::ConnectionRefused,
        io::ErrorKind::TimedOut => Error::ConnectionTimeout,
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => Error::DestinationIpUnroutable,
        _ => Error::DestinationUnavailable,
    }
}

/// The error of a failed TLS handshake.
pub(super) fn of_tls(error: &rustls::Error) -> Error {
    match error {
        rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented => {
            Error::TlsCertificateError
        }
        rustls::Error::AlertReceived(alert) => Error::TlsAlertReceived {
            alert_id: Some(u8::from(*alert)),
            alert_message: Some(format!("{alert:?}")),
        },
        _ => Error::TlsProtocolError,
    }
}

/// The code of an error in a response's body. The bindings only recognise errors of requests.
pub(super) fn code(error: &Error) -> ErrorCode {
    match error {
        Error::HttpResponseBodySize(size) => ErrorCode::HttpResponseBodySize(*size),
        Error::HttpResponseTrailerSectionSize(size) => ErrorCode::HttpResponseTrailerSectionSize(*size),
        Error::HttpResponseIncomplete => ErrorCode::HttpResponseIncomplete,
        Error::ConnectionReadTimeout => ErrorCode::ConnectionReadTimeout,
        Error::ConnectionTerminated => ErrorCode::ConnectionTerminated,
        Error::HttpProtocolError => ErrorCode::HttpProtocolError,
        other => ErrorCode::InternalError(Some(other.to_string())),
    }
}
