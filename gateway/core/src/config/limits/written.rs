//! Limits as they are written in the file: for showing which ones hold.

use std::time::Duration;

use bytesize::ByteSize;

use super::Limits;

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

    /// All limits in the order of the key table; what isn't set is an empty text.
    fn written(&self) -> Vec<(&'static str, String)> {
        let size = |size: ByteSize| format!("\"{}\"", size_text(size));
        let time = |time: Duration| format!("\"{}\"", humantime::format_duration(time));
        let Self {
            timeout,
            cpu_time,
            memory,
            table_elements,
            handles,
            transfer,
            log_lines,
            output,
            requests,
            requests_at_once,
            request_timeout,
            sent,
            received,
            read,
            written,
            concurrency,
            queue,
            state,
            cancel_grace,
            component,
            compile_time,
            compile_memory,
            describe_timeout,
            items,
            schema,
            schema_depth,
            reuse_calls,
            reuse_idle,
            reuse_memory,
        } = self;
        vec![
            ("timeout", time(*timeout)),
            ("cpu_time", time(*cpu_time)),
            ("memory", size(*memory)),
            ("table_elements", table_elements.to_string()),
            ("handles", handles.to_string()),
            ("transfer", size(*transfer)),
            ("log_lines", log_lines.to_string()),
            ("output", size(*output)),
            ("requests", requests.to_string()),
            ("requests_at_once", requests_at_once.to_string()),
            ("request_timeout", time(*request_timeout)),
            ("sent", size(*sent)),
            ("received", size(*received)),
            ("read", size(*read)),
            ("written", size(*written)),
            ("concurrency", concurrency.to_string()),
            ("queue", queue.to_string()),
            ("state", size(*state)),
            ("cancel_grace", time(*cancel_grace)),
            ("component", size(*component)),
            ("compile_time", compile_time.map(time).unwrap_or_default()),
            ("compile_memory", compile_memory.map(size).unwrap_or_default()),
            ("describe_timeout", time(*describe_timeout)),
            ("items", items.to_string()),
            ("schema", size(*schema)),
            ("schema_depth", schema_depth.to_string()),
            ("reuse_calls", reuse_calls.to_string()),
            ("reuse_idle", time(*reuse_idle)),
            ("reuse_memory", reuse_memory.map(size).unwrap_or_default()),
        ]
    }
}

/// The size in the largest unit in which it is a whole number.
fn size_text(size: ByteSize) -> String {
    let bytes = size.as_u64();
    let units = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let fits = units.into_iter().find(|(unit, _): &(u64, _)| bytes >= *unit && bytes.is_multiple_of(*unit));
    fits.map_or_else(|| format!("{bytes}B"), |(unit, name)| format!("{}{name}", bytes / unit))
}

#[cfg(test)]
mod tests;
