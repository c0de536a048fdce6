//! The format of log lines on a terminal: calls as one short line each, everything else as in a file.

use std::fmt::{self, Debug};
use std::time::Duration;

use moongate_model::log_field::ACCESS_TARGET;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{Format, Writer};
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::call_line::{CallLine, LineStyle};

/// Formats the access log for people.
#[derive(Debug, Default)]
pub(super) struct TerminalFormat {
    other_lines: Format,
}

impl<S, N> FormatEvent<S, N> for TerminalFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        if event.metadata().target() != ACCESS_TARGET {
            return self.other_lines.format_event(context, writer, event);
        }
        let mut fields = AccessFields::default();
        event.record(&mut fields);
        let style = if writer.has_ansi_escapes() { LineStyle::Colour } else { LineStyle::Plain };
        fields.into_line().write(&mut writer, style)?;
        writeln!(writer)
    }
}

/// The fields of a line of the access log.
#[derive(Debug, Default)]
struct AccessFields {
    line: CallLine,
    plugin: String,
}

impl AccessFields {
    fn into_line(self) -> CallLine {
        let Self { mut line, plugin } = self;
        let mut now = String::new();
        let _ = SystemTime.format_time(&mut Writer::new(&mut now)); // writing to a string can't fail
        line.time = now.get(11..19).unwrap_or_default().to_owned();
        if line.name.is_empty() {
            line.name = plugin;
        }
        line
    }
}

impl Visit for AccessFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        let value = value.to_owned();
        match field.name() {
            "tool" | "prompt" | "name" => self.line.name = value,
            "kind" => self.line.kind = value,
            "outcome" => self.line.outcome = value,
            "reason" => self.line.reason = Some(value),
            "caller" => self.line.caller = value,
            _ => {}
        }
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        if field.name() == "duration_ms" {
            self.line.took = Duration::try_from_secs_f64(value / 1e3).ok();
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "refused" {
            self.line.refused = Some(value);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "plugin" {
            self.plugin = format!("{value:?}");
        }
    }
}
