//! Progress reports. They do nothing if the client didn't request progress.

use crate::host::progress;

/// Reports `current` of `total`. `current` must increase with each report.
pub fn report(current: f64, total: impl Into<Option<f64>>) {
    progress::report(current, total.into(), None);
}

/// Reports `current` of `total` with a message.
pub fn report_with(current: f64, total: impl Into<Option<f64>>, message: &str) {
    progress::report(current, total.into(), Some(message));
}
