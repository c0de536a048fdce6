//! The limits of a plugin, and their values as TOML.

use std::time::Duration;

use bytesize::ByteSize;

/// The limits of a plugin. They apply to one call unless stated otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Time from the start of the call to its result.
    pub timeout: Duration,
    /// CPU time.
    pub cpu_time: Duration,
    /// Linear memory, all memories of the instance together.
    pub memory: ByteSize,
    /// Elements of all WebAssembly tables together.
    pub table_elements: u32,
    /// Handles held at once: streams, files, stores.
    pub handles: u32,
    /// The largest single message between plugin and gateway: a result, a log line or a list.
    pub transfer: ByteSize,
    /// Log lines, and separately progress reports. Any more are dropped and counted.
    pub log_lines: u32,
    /// Output to stdout and stderr. Any more is dropped and counted.
    pub output: ByteSize,
    /// Text in the gateway's log per second, for all calls together. Any more is dropped and counted.
    pub log_rate: ByteSize,
    /// Requests sent.
    pub requests: u32,
    /// Concurrent requests.
    pub requests_at_once: u32,
    /// Time from a request to the head of its response. The plugin can set a shorter timeout.
    pub request_timeout: Duration,
    /// Request bodies, in total.
    pub sent: ByteSize,
    /// Response bodies, in total.
    pub received: ByteSize,
    /// Bytes read from files.
    pub read: ByteSize,
    /// Bytes written to files.
    pub written: ByteSize,
    /// Bytes that all calls together add to writable directories, minus what they remove.
    pub disk: ByteSize,
    /// Concurrent calls.
    pub concurrency: u32,
    /// Calls that wait for a running one to finish.
    pub queue: u32,
    /// State kept between calls: the bytes of all keys and values, plus 64 for each key.
    pub state: ByteSize,
    /// Time for a cancelled call to clean up, if it checks for cancellation.
    pub cancel_grace: Duration,
    /// Size of the component's file.
    pub component: ByteSize,
    /// CPU time for compiling it. `None` derives it from the size of the component.
    pub compile_time: Option<Duration>,
    /// Address space for compiling it. `None` derives it from the size of the component.
    pub compile_memory: Option<ByteSize>,
    /// Time for the plugin to describe itself when it is loaded.
    pub describe_timeout: Duration,
    /// Items of each kind in its lists.
    pub items: u32,
    /// Size of one JSON Schema.
    pub schema: ByteSize,
    /// Nesting depth of one JSON Schema.
    pub schema_depth: u32,
    /// Calls that a reused instance serves.
    pub reuse_calls: u32,
    /// Time that an idle instance is kept for reuse.
    pub reuse_idle: Duration,
    /// An instance with more memory isn't reused. `None` means half of `memory`.
    pub reuse_memory: Option<ByteSize>,
}

impl Limits {
    /// An instance with more memory than this, in bytes, isn't reused.
    #[must_use]
    pub fn max_reusable_memory(&self) -> u64 {
        self.reuse_memory.map_or(self.memory.as_u64() / 2, |most| most.as_u64())
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            cpu_time: Duration::from_secs(10),
            memory: ByteSize::mib(64),
            table_elements: 100_000, // Python and JavaScript runtimes need tens of thousands
            handles: 1_000,
            transfer: ByteSize::mib(8),
            log_lines: 1_000,
            output: ByteSize::kib(64),
            log_rate: ByteSize::kib(32), // 118 MB an hour
            requests: 64,
            requests_at_once: 8,
            request_timeout: Duration::from_secs(30),
            sent: ByteSize::mib(8),
            received: ByteSize::mib(32),
            read: ByteSize::mib(256),
            written: ByteSize::mib(64),
            disk: ByteSize::gib(1),
            concurrency: 16,
            queue: 256,
            state: ByteSize::mib(1),
            cancel_grace: Duration::from_millis(250),
            component: ByteSize::mib(64), // a Python component is 18 MiB
            compile_time: None,
            compile_memory: None,
            describe_timeout: Duration::from_secs(10),
            items: 1_000,
            schema: ByteSize::kib(256),
            schema_depth: 64, // each level of a schema takes two
            reuse_calls: 100,
            reuse_idle: Duration::from_secs(30),
            reuse_memory: None,
        }
    }
}

impl Limits {
    /// The limits that differ from their defaults: each key with its value as TOML.
    #[must_use]
    pub fn non_default(&self) -> Vec<(&'static str, String)> {
        let defaults = Self::default().to_toml();
        let differs = |(own, default): &((&'static str, String), (&'static str, String))| own != default;
        self.to_toml().into_iter().zip(defaults).filter(differs).map(|(own, _)| own).collect()
    }

    /// The value of a limit as TOML. `None` means that there is no such limit, or that it isn't set.
    #[must_use]
    pub fn value_as_toml(&self, key: &str) -> Option<String> {
        let found = self.to_toml().into_iter().find(|(name, _)| *name == key);
        found.map(|(_, value)| value).filter(|value| !value.is_empty())
    }

    /// All limits as TOML, in the order of the key table. Those that aren't set are empty strings.
    fn to_toml(&self) -> Vec<(&'static str, String)> {
        let size = size_to_toml;
        let time = duration_to_toml;
        vec![
            ("timeout", time(self.timeout)),
            ("cpu_time", time(self.cpu_time)),
            ("memory", size(self.memory)),
            ("table_elements", self.table_elements.to_string()),
            ("handles", self.handles.to_string()),
            ("transfer", size(self.transfer)),
            ("log_lines", self.log_lines.to_string()),
            ("output", size(self.output)),
            ("log_rate", size(self.log_rate)),
            ("requests", self.requests.to_string()),
            ("requests_at_once", self.requests_at_once.to_string()),
            ("request_timeout", time(self.request_timeout)),
            ("sent", size(self.sent)),
            ("received", size(self.received)),
            ("read", size(self.read)),
            ("written", size(self.written)),
            ("disk", size(self.disk)),
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

/// A duration as TOML.
pub(crate) fn duration_to_toml(duration: Duration) -> String {
    format!("\"{}\"", humantime::format_duration(duration))
}

/// A size as TOML, in the largest unit in which it is a whole number.
pub(crate) fn size_to_toml(size: ByteSize) -> String {
    let bytes = size.as_u64();
    let units = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let fits = units.into_iter().find(|(unit, _): &(u64, _)| bytes >= *unit && bytes.is_multiple_of(*unit));
    fits.map_or_else(|| format!("\"{bytes}B\""), |(unit, name)| format!("\"{}{name}\"", bytes / unit))
}

#[cfg(test)]
mod tests;
