//! `[defaults.limits]` and `[plugins.<id>.limits]`.

use super::Limits;
use super::reading::{Reading, Table};

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
