//! `[defaults.limits]` and `[plugins.<id>.limits]`.

use std::time::Duration;

use bytesize::ByteSize;

use crate::config::read::reader::{Reading, Table};

mod enough;
mod written;

pub use enough::LimitKey;

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
    /// Processor time for compiling it; none: as much as a component of its size may need.
    pub compile_time: Option<Duration>,
    /// Addresses for compiling it; none: as many as a component of its size may need.
    pub compile_memory: Option<ByteSize>,
    /// How long it may take to describe itself when it is loaded.
    pub describe_timeout: Duration,
    /// Items of each kind in its lists.
    pub items: u32,
    /// The text of one JSON Schema.
    pub schema: ByteSize,
    /// How deep the text of one JSON Schema nests.
    pub schema_depth: u32,
    /// How many calls an instance serves, where instances are reused.
    pub reuse_calls: u32,
    /// How long an instance waits for its next call.
    pub reuse_idle: Duration,
    /// An instance with more memory isn't reused; none: half of `memory`.
    pub reuse_memory: Option<ByteSize>,
}

impl Limits {
    /// An instance with more memory, in bytes, isn't reused.
    #[must_use]
    pub fn reusable_memory(&self) -> u64 {
        self.reuse_memory.map_or(self.memory.as_u64() / 2, |most| most.as_u64())
    }
}

/// Whether calls share instances.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Instances {
    /// Each call has one of its own.
    #[default]
    Fresh,
    /// Calls of the same caller may come to one that served others before.
    Reused,
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

impl Reading<'_> {
    /// Reads limits; what the table doesn't say is as in `base`.
    pub(in crate::config) fn limits(&mut self, table: &Table<'_>, base: &Limits) -> Limits {
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
            compile_time: self.some_duration(table, "compile_time").or(base.compile_time),
            compile_memory: self.some_size(table, "compile_memory").or(base.compile_memory),
            describe_timeout: self.duration(table, "describe_timeout", base.describe_timeout),
            items: self.integer(table, "items", base.items),
            schema: self.size(table, "schema", base.schema),
            schema_depth: self.integer(table, "schema_depth", base.schema_depth),
            reuse_calls: self.integer(table, "reuse_calls", base.reuse_calls),
            reuse_idle: self.duration(table, "reuse_idle", base.reuse_idle),
            reuse_memory: self.some_size(table, "reuse_memory").or(base.reuse_memory),
        }
    }

    /// Reads whether calls share instances.
    pub(in crate::config) fn instances(&mut self, plugin: &Table<'_>) -> Instances {
        match self.text(plugin, "instances").as_ref().map(|word| word.text.as_str()) {
            Some("reused") => Instances::Reused,
            Some(_) | None => Instances::Fresh, // anything else was noted
        }
    }

    fn some_duration(&mut self, table: &Table<'_>, name: &str) -> Option<Duration> {
        table.get(name).map(|_| self.duration(table, name, Duration::ZERO))
    }

    fn some_size(&mut self, table: &Table<'_>, name: &str) -> Option<ByteSize> {
        table.get(name).map(|_| self.size(table, name, ByteSize::b(0)))
    }
}
