//! `[defaults.limits]` and `[plugins.NAME.limits]`.

use std::time::Duration;

use bytesize::ByteSize;

use crate::model::Limits;
use crate::read::{ConfigReader, TomlTable};

/// Reads limits. Those that the table doesn't set are taken from `base`.
pub(crate) fn read_limits(reader: &mut ConfigReader<'_>, table: &TomlTable<'_>, base: &Limits) -> Limits {
    Limits {
        timeout: reader.duration(table, "timeout", base.timeout),
        cpu_time: reader.duration(table, "cpu_time", base.cpu_time),
        memory: reader.size(table, "memory", base.memory),
        table_elements: reader.integer(table, "table_elements", base.table_elements),
        handles: reader.integer(table, "handles", base.handles),
        transfer: reader.size(table, "transfer", base.transfer),
        log_lines: reader.integer(table, "log_lines", base.log_lines),
        output: reader.size(table, "output", base.output),
        log_rate: reader.size(table, "log_rate", base.log_rate),
        requests: reader.integer(table, "requests", base.requests),
        requests_at_once: reader.integer(table, "requests_at_once", base.requests_at_once),
        request_timeout: reader.duration(table, "request_timeout", base.request_timeout),
        sent: reader.size(table, "sent", base.sent),
        received: reader.size(table, "received", base.received),
        read: reader.size(table, "read", base.read),
        written: reader.size(table, "written", base.written),
        disk: reader.size(table, "disk", base.disk),
        concurrency: reader.integer(table, "concurrency", base.concurrency),
        queue: reader.integer(table, "queue", base.queue),
        state: reader.size(table, "state", base.state),
        cancel_grace: reader.duration(table, "cancel_grace", base.cancel_grace),
        component: reader.size(table, "component", base.component),
        compile_time: optional_duration(reader, table, "compile_time").or(base.compile_time),
        compile_memory: optional_size(reader, table, "compile_memory").or(base.compile_memory),
        describe_timeout: reader.duration(table, "describe_timeout", base.describe_timeout),
        items: reader.integer(table, "items", base.items),
        schema: reader.size(table, "schema", base.schema),
        schema_depth: reader.integer(table, "schema_depth", base.schema_depth),
        reuse_calls: reader.integer(table, "reuse_calls", base.reuse_calls),
        reuse_idle: reader.duration(table, "reuse_idle", base.reuse_idle),
        reuse_memory: optional_size(reader, table, "reuse_memory").or(base.reuse_memory),
    }
}

fn optional_duration(reader: &mut ConfigReader<'_>, table: &TomlTable<'_>, name: &str) -> Option<Duration> {
    table.get(name).map(|_| reader.duration(table, name, Duration::ZERO))
}

fn optional_size(reader: &mut ConfigReader<'_>, table: &TomlTable<'_>, name: &str) -> Option<ByteSize> {
    table.get(name).map(|_| reader.size(table, name, ByteSize::b(0)))
}
