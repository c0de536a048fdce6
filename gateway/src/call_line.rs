//! An ended call in one line, for people at a terminal: of `moongate serve`, and of `moongate logs`.

use std::fmt::{self, Write};
use std::time::Duration;

use moongate_model::text::escape_hidden;

/// The widths of the columns, in characters. Longer values move the rest of their line.
const OUTCOME_WIDTH: usize = 10;
const DURATION_WIDTH: usize = 7;
const NAME_WIDTH: usize = 28;

/// The style of a terminal's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineStyle {
    /// Without colours.
    Plain,
    /// With colours.
    Colour,
}

/// The parts of a line. Text from callers may contain anything.
#[derive(Debug, Default)]
pub struct CallLine {
    /// The time of day in UTC, such as `12:10:03`.
    pub time: String,
    /// A stable word for the outcome.
    pub outcome: String,
    /// The duration. `None` for a request that named nothing that exists.
    pub took: Option<Duration>,
    /// The name of the tool or prompt, or the plugin.
    pub name: String,
    /// A stable word for the kind of call.
    pub kind: String,
    /// The caller.
    pub caller: String,
    /// The reason of a failure or refusal.
    pub reason: Option<String>,
    /// The number of refused calls that the line stands for.
    pub refused: Option<u64>,
}

impl CallLine {
    /// Writes the line, without a line break.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut impl Write, style: LineStyle) -> fmt::Result {
        let Self { time, outcome, took, name, kind, caller, reason, refused } = self;
        let paint = |colour: &'static str| if style == LineStyle::Colour { colour } else { "" };
        let (dim, end) = (paint("\x1b[2m"), paint("\x1b[0m"));
        let colour = paint(match outcome.as_str() {
            "ok" => "\x1b[32m",
            "input_required" | "cancelled" => "\x1b[33m",
            _ => "\x1b[31m",
        });
        let took = took.map_or("-".to_owned(), short_duration);
        let kind = if kind == "tool" { "" } else { kind.as_str() };
        let name = [&*escape_hidden(name), kind].join(" ");
        let (name, outcome) = (name.trim(), escape_hidden(outcome));
        write!(out, "{dim}{}{end} {colour}{outcome:OUTCOME_WIDTH$}{end}", escape_hidden(time))?;
        write!(out, " {took:>DURATION_WIDTH$}  {name:NAME_WIDTH$}  {dim}{}{end}", escape_hidden(caller))?;
        if let Some(reason) = reason.as_deref().filter(|reason| *reason != outcome) {
            write!(out, "  {colour}{}{end}", escape_hidden(reason))?;
        }
        match refused {
            Some(calls) if *calls > 1 => write!(out, "  {dim}{calls} calls{end}"),
            Some(_) | None => Ok(()),
        }
    }
}

/// A duration with two or three significant digits.
#[must_use]
pub fn short_duration(took: Duration) -> String {
    let micros = took.as_secs_f64() * 1e6;
    let (value, unit) = match micros {
        micros if micros < 1e3 => (micros, "µs"),
        micros if micros < 1e6 => (micros / 1e3, "ms"),
        micros => (micros / 1e6, "s"),
    };
    if value < 10.0 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(style: LineStyle, change: impl FnOnce(&mut CallLine)) -> String {
        let mut line = CallLine {
            time: "12:10:03".to_owned(),
            outcome: "ok".to_owned(),
            took: Some(Duration::from_micros(41_204)),
            name: "search_web".to_owned(),
            kind: "tool".to_owned(),
            caller: "ci".to_owned(),
            reason: None,
            refused: None,
        };
        change(&mut line);
        let mut text = String::new();
        line.write(&mut text, style).unwrap();
        text
    }

    #[test]
    fn a_call_is_one_line_in_columns() {
        let text = line(LineStyle::Plain, |_| {});
        assert_eq!(text, "12:10:03 ok           41 ms  search_web                    ci");
        let refused = line(LineStyle::Plain, |line| {
            line.outcome = "busy".to_owned();
            line.reason = Some("max_concurrent".to_owned());
            line.refused = Some(3);
            line.kind = "prompt".to_owned();
        });
        assert!(refused.ends_with("search_web prompt             ci  max_concurrent  3 calls"), "{refused}");
    }

    #[test]
    fn only_the_colours_of_the_gateway_reach_the_terminal() {
        let hostile = |line: &mut CallLine| line.caller = "\x1b[31mroot\n12:10:03 ok".to_owned();
        assert!(!line(LineStyle::Plain, hostile).contains(['\x1b', '\n']));
        let coloured = line(LineStyle::Colour, hostile);
        assert!(coloured.contains("\x1b[32mok        \x1b[0m"), "{coloured:?}");
        assert!(!coloured.contains("\x1b[31m") && !coloured.contains('\n'), "{coloured:?}");
    }
}
