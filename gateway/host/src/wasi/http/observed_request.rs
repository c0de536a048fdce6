//! Observation of plugins' requests, for traces: each one is reported once, even if its future is dropped.

use std::sync::Arc;
use std::time::Instant;

use http::{Method, Request, Response, Uri};
use moongate_model::names::PluginId;
use moongate_model::trace_context::{OutgoingRequestEnd, OutgoingRequestObserver, Span};
use wasmtime_wasi_http::{Error, WasiBody};

/// A request that an observer receives when it ends.
#[derive(Debug)]
pub(super) struct ObservedRequest {
    observer: Arc<dyn OutgoingRequestObserver>,
    plugin: PluginId,
    span: Option<Span>,
    method: Method,
    uri: Uri,
    started: Instant,
    status: Option<u16>,
    /// Requests that are dropped have ended without a response.
    error: Option<&'static str>,
}

impl ObservedRequest {
    pub(super) fn start(
        observer: &Arc<dyn OutgoingRequestObserver>,
        plugin: &PluginId,
        span: Option<Span>,
        request: &Request<WasiBody>,
    ) -> Self {
        Self {
            observer: Arc::clone(observer),
            plugin: plugin.clone(),
            span,
            method: request.method().clone(),
            uri: request.uri().clone(),
            started: Instant::now(),
            status: None,
            error: Some("cancelled"),
        }
    }

    /// Reports the result.
    pub(super) fn finish<T>(mut self, result: &Result<Response<T>, Error>) {
        match result {
            Ok(response) => (self.status, self.error) = (Some(response.status().as_u16()), None),
            Err(error) => self.error = Some(error_word(error)),
        }
    }
}

impl Drop for ObservedRequest {
    fn drop(&mut self) {
        let Self { observer, plugin, span, method, uri, started, status, error } = self;
        observer.outgoing_request_ended(&OutgoingRequestEnd {
            plugin,
            span: *span,
            method: method.as_str(),
            scheme: uri.scheme_str().unwrap_or_default(),
            host: uri.host().unwrap_or_default(),
            port: uri.port_u16(),
            status: *status,
            error: *error,
            took: started.elapsed(),
        });
    }
}

/// The reason why there is no response, as a stable word.
fn error_word(error: &Error) -> &'static str {
    match error {
        Error::HttpRequestDenied | Error::DestinationIpProhibited | Error::LoopDetected => "denied",
        Error::DnsError { .. } | Error::DnsTimeout => "dns",
        Error::Connect(_)
        | Error::ConnectionRefused
        | Error::DestinationUnavailable
        | Error::DestinationNotFound => "unreachable",
        Error::ConnectionTimeout | Error::HttpResponseTimeout => "timeout",
        Error::ConnectionTerminated => "connection_closed",
        Error::Tls(_)
        | Error::TlsProtocolError
        | Error::TlsCertificateError
        | Error::TlsAlertReceived { .. } => "tls",
        _ => "_OTHER",
    }
}
