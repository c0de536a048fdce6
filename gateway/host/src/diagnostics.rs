//! Diagnostics of plugins: access records, captured output, the rate of log lines, crash reports, log-once sets and
//! cleaned text.

pub(crate) mod access_record;
pub(crate) mod crash_report;
pub(crate) mod failure_text;
pub(crate) mod log_once;
pub(crate) mod output;
pub(crate) mod plugin_log;
pub(crate) mod text;
