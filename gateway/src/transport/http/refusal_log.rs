//! Warnings about refused requests and TLS handshakes: for each reason, at most one a second.

use std::fmt::Display;
use std::net::IpAddr;

use moongate_system::log_interval::LogIntervals;

use crate::transport::http::listener::ListenerPurpose;
use crate::transport::http::rejection::Rejection;

/// Logs the refusals of a listener. The number of reasons is fixed.
#[derive(Debug)]
pub(crate) struct RefusalLog {
    listener: &'static str,
    reasons: LogIntervals<&'static str>,
}

impl RefusalLog {
    pub(crate) fn new(listener: ListenerPurpose) -> Self {
        Self { listener: listener.as_str(), reasons: LogIntervals::default() }
    }

    /// Logs a refused request, or counts it for the next line. Nothing that the client sent is in the line.
    pub(crate) fn record(&self, address: IpAddr, rejection: Rejection) {
        self.record_invalid(address, rejection.reason(), &rejection.message());
    }

    /// The same for a request that isn't valid HTTP. The message must contain nothing that the client sent.
    pub(super) fn record_invalid(&self, address: IpAddr, reason: &'static str, message: &dyn Display) {
        if let Some(refused) = self.reasons.record(reason) {
            tracing::warn!(%address, listener = self.listener, reason, refused, "refused a request: {message}");
        }
    }

    /// The same for a TLS handshake.
    pub(super) fn record_handshake(&self, address: IpAddr, reason: &'static str, message: &dyn Display) {
        if let Some(refused) = self.reasons.record(reason) {
            tracing::warn!(%address, listener = self.listener, reason, refused, "refused a TLS handshake: {message}");
        }
    }
}
