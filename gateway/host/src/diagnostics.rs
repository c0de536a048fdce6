//! Diagnostics of plugins: captured output, crash reports, log-once sets and cleaned text.

pub(crate) mod crash_report;
pub(crate) mod failure_text;
pub(crate) mod log_once;
pub(crate) mod output;
pub(crate) mod text;
