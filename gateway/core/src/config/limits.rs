//! `[defaults.limits]` and `[plugins.<id>.limits]`.

use std::time::Duration;

use bytesize::ByteSize;

use super::reading::{Reading, Table};

/// How much a plugin may use: for one call, unless said otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Time from the start of the call to its answer.
    pub timeout: Duration,
    /// Processor time.
    pub cpu_time: Duration,
    /// Linear memory, all of the instance's memories together.
    pub memory: ByteSize,
    /// Elements of all tables together.
    pub table_elements: u32,
    /// Handles held at once: streams, files, stores.
    pub handles: u32,
    /// What crosses between plugin and gateway at once: a result, a log line, a list.
    pub transfer: ByteSize,
    /// Log lines, and as many progress reports; more are dropped and counted.
    pub log_lines: u32,
    /// What it prints to stdout and stderr; more is dropped and counted.
    pub output: ByteSize,
    /// How many requests it sends.
    pub requests: u32,
    /// How many of them run at once.
    pub requests_at_once: u32,
    /// How long the head of an answer may take, from the request on; the plugin itself may ask for less.
    pub request_timeout: Duration,
    /// The bodies of its requests, all together.
    pub sent: ByteSize,
    /// The bodies of the answers to them, all together.
    pub received: ByteSize,
    /// What it reads from files.
    pub read: ByteSize,
    /// What it writes to files.
    pub written: ByteSize,
    /// How many calls run at once.
    pub concurrency: u32,
    /// How many calls may wait for one that runs.
    pub queue: u32,
    /// What it may keep from one call to the next: the bytes of all keys and values, and 64 more for each key.
    pub state: ByteSize,
    /// How long a call that watches for it may go on after its caller has lost interest.
    pub cancel_grace: Duration,
    /// The component's file.
    pub component: ByteSize,
    /// How long it may take to describe itself when it is loaded.
    pub describe_timeout: Duration,
    /// Items of each kind in its lists.
    pub items: u32,
    /// The text of one JSON Schema.
    pub schema: ByteSize,
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
            requests: 64,
            requests_at_once: 8,
            request_timeout: Duration::from_secs(30),
            sent: ByteSize::mib(8),
            received: ByteSize::mib(32),
            read: ByteSize::mib(256),
            written: ByteSize::mib(64),
            concurrency: 16,
            queue: 256,
            state: ByteSize::mib(1),
            cancel_grace: Duration::from_millis(250),
            component: ByteSize::mib(64), // a Python component is 18 MiB
            describe_timeout: Duration::from_secs(10),
            items: 1_000,
            schema: ByteSize::kib(256),
        }
    }
}

impl Reading<'_> {
    /// Reads limits; what the table doesn't say is as in `base`.
    pub(super) fn limits(&mut self, table: &Table<'_>, base: &Limits) -> Limits {
        Limits {
            timeout: self.duration(table, "timeout", base.timeout),
            cpu_time: self.duration(table, "cpu_time", base.cpu_time),
            memory: self.size(table, "memory", base.memory),
            table_elements: self.integer(table, "table_elements", base.table_elements),
            handles: self.integer(table, "handles", base.handles),
            transfer: self.size(table, "transfer", base.transfer),
            log_lines: self.integer(table, "log_lines", base.log_lines),
            output: self.size(table, "output", base.output),
            requests: self.integer(table, "requests", base.requests),
            requests_at_once: self.integer(table, "requests_at_once", base.requests_at_once),
            request_timeout: self.duration(table, "request_timeout", base.request_timeout),
            sent: self.size(table, "sent", base.sent),
            received: self.size(table, "received", base.received),
            read: self.size(table, "read", base.read),
            written: self.size(table, "written", base.written),
            concurrency: self.integer(table, "concurrency", base.concurrency),
            queue: self.integer(table, "queue", base.queue),
            state: self.size(table, "state", base.state),
            cancel_grace: self.duration(table, "cancel_grace", base.cancel_grace),
            component: self.size(table, "component", base.component),
            describe_timeout: self.duration(table, "describe_timeout", base.describe_timeout),
            items: self.integer(table, "items", base.items),
            schema: self.size(table, "schema", base.schema),
        }
    }
}
