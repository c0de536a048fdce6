//! Diagnostics of plugins: captured output, crash reports, log-once sets and cleaned texts.

pub(in crate::host) mod crash_report;
pub(in crate::host) mod failure_text;
pub(in crate::host) mod log_once;
pub(in crate::host) mod output;
pub(in crate::host) mod text;
