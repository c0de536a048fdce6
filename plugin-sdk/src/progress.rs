//! How far a call has come. Nothing happens where the client didn't ask.

use crate::host::progress;

/// Reports `current` of `total`. Each report needs a larger `current` than the one before.
pub fn report(current: f64, total: impl Into<Option<f64>>) {
    progress::report(current, total.into(), None);
}

/// Reports `current` of `total` and says what is being done.
pub fn report_with(current: f64, total: impl Into<Option<f64>>, message: &str) {
    progress::report(current, total.into(), Some(message));
}
