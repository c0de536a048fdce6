//! Limits as they are written in the file: for showing which ones hold.

use std::time::Duration;

use bytesize::ByteSize;

use crate::config::model::limits::Limits;

impl Limits {
    /// Each limit that isn't the usual one: its key, and its value as TOML.
    #[must_use]
    pub fn changed(&self) -> Vec<(&'static str, String)> {
        let usual = Self::default().written();
        let differs = |(its, usual): &((&'static str, String), (&'static str, String))| its != usual;
        self.written().into_iter().zip(usual).filter(differs).map(|(its, _)| its).collect()
    }

    /// The value of a limit as TOML; none where the key is no limit's, or what holds depends on something else.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<String> {
        let found = self.written().into_iter().find(|(its, _)| *its == key);
        found.map(|(_, value)| value).filter(|value| !value.is_empty())
    }

    /// All limits in the order of the key table; what isn't set is an empty text. A test
    /// compares it with that table.
    fn written(&self) -> Vec<(&'static str, String)> {
        let (size, time) = (size_text, time_text);
        vec![
            ("timeout", time(self.timeout)),
            ("cpu_time", time(self.cpu_time)),
            ("memory", size(self.memory)),
            ("table_elements", self.table_elements.to_string()),
            ("handles", self.handles.to_string()),
            ("transfer", size(self.transfer)),
            ("log_lines", self.log_lines.to_string()),
            ("output", size(self.output)),
            ("requests", self.requests.to_string()),
            ("requests_at_once", self.requests_at_once.to_string()),
            ("request_timeout", time(self.request_timeout)),
            ("sent", size(self.sent)),
            ("received", size(self.received)),
            ("read", size(self.read)),
            ("written", size(self.written)),
            ("concurrency", self.concurrency.to_string()),
            ("queue", self.queue.to_string()),
            ("state", size(self.state)),
            ("cancel_grace", time(self.cancel_grace)),
            ("component", size(self.component)),
            ("compile_time", self.compile_time.map(time).unwrap_or_default()),
            ("compile_memory", self.compile_memory.map(size).unwrap_or_default()),
            ("describe_timeout", time(self.describe_timeout)),
            ("items", self.items.to_string()),
            ("schema", size(self.schema)),
            ("schema_depth", self.schema_depth.to_string()),
            ("reuse_calls", self.reuse_calls.to_string()),
            ("reuse_idle", time(self.reuse_idle)),
            ("reuse_memory", self.reuse_memory.map(size).unwrap_or_default()),
        ]
    }
}

/// A time as TOML.
pub(in crate::config) fn time_text(time: Duration) -> String {
    format!("\"{}\"", humantime::format_duration(time))
}

/// A size as TOML, in the largest unit in which it is a whole number.
pub(in crate::config) fn size_text(size: ByteSize) -> String {
    let bytes = size.as_u64();
    let units = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let fits = units.into_iter().find(|(unit, _): &(u64, _)| bytes >= *unit && bytes.is_multiple_of(*unit));
    fits.map_or_else(|| format!("\"{bytes}B\""), |(unit, name)| format!("\"{}{name}\"", bytes / unit))
}

#[cfg(test)]
mod tests;
