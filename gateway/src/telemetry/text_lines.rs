//! Log lines as text, for everything but terminals. The general format goes through a formatter for each part of a line.
//! The access log has a line for each call, which this takes longer to write than to count, so its lines are written
//! directly, with the same text.

use std::fmt::{self, Debug};

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{Format, Writer};
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use moongate_model::log_field::ACCESS_TARGET;

/// The text of a line.
#[derive(Default)]
pub(super) struct TextLines(Format);

impl<S, N> FormatEvent<S, N> for TextLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let metadata = event.metadata();
        if metadata.target() != ACCESS_TARGET {
            return self.0.format_event(context, writer, event);
        }
        SystemTime.format_time(&mut writer)?;
        let level = metadata.level().as_str();
        writer.write_str(if level.len() < 5 { "  " } else { " " })?;
        for part in [level, " ", ACCESS_TARGET, ":"] {
            writer.write_str(part)?;
        }
        let mut fields = FieldWriter { writer, result: Ok(()) };
        event.record(&mut fields);
        let FieldWriter { mut writer, result } = fields;
        result?;
        writer.write_char('\n')
    }
}

/// Writes the fields of an event, each after a space.
struct FieldWriter<'a> {
    writer: Writer<'a>,
    result: fmt::Result,
}

impl FieldWriter<'_> {
    /// Writes the name, and then the value.
    fn field(&mut self, field: &Field, value: impl FnOnce(&mut Writer<'_>) -> fmt::Result) {
        let write = || {
            self.writer.write_char(' ')?;
            if field.name() != "message" {
                self.writer.write_str(field.name())?;
                self.writer.write_char('=')?;
            }
            value(&mut self.writer)
        };
        if self.result.is_ok() {
            self.result = write();
        }
    }
}

impl Visit for FieldWriter<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        let is_plain = value.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\'));
        self.field(field, |writer| {
            if !is_plain {
                return write!(writer, "{value:?}");
            }
            writer.write_char('"')?;
            writer.write_str(value)?;
            writer.write_char('"')
        });
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.field(field, |writer| write!(writer, "{value:?}"));
    }
}
