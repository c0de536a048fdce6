//! Warnings about refused requests: for each reason, at most one a second.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use moongate_system::log_interval::LogInterval;
use tokio::time::Instant;

use crate::transport::http::rejection::Rejection;

/// The last warning about each reason. The number of reasons is fixed.
#[derive(Debug, Default)]
pub(crate) struct RefusalLog(Mutex<HashMap<&'static str, LogInterval>>);

impl RefusalLog {
    /// Logs a refused request, or counts it for the next line. Nothing that the client sent is in the line.
    pub(crate) fn record(&self, address: IpAddr, rejection: Rejection) {
        let reason = rejection.reason();
        let mut intervals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let due = intervals.entry(reason).or_default().record(Instant::now(), 1);
        drop(intervals);
        if let Some(refused) = due {
            let message = rejection.message();
            tracing::warn!(%address, reason, refused, "refused a request: {message}");
        }
    }
}
