//! Messages on stderr: text, or with `--log-format json` one JSON object per line.

use moongate_config::{ConfigSource, Diagnostic, Severity, render_diagnostics};
use moongate_model::text::{escape_hidden_in_block, escaped_line};
use serde_json::{Map, Value, json};
use tracing::Level;

use super::print::{self, MAX_LINE_CHARS};
use crate::telemetry::{LogFormat, diagnostic_members, json_line, stderr_format};

/// The value of `target` in JSON lines, which log lines have, too.
const TARGET: &str = "moongate::cli";

/// Messages for stderr, in both formats.
#[derive(Debug, Default)]
pub(super) struct StderrMessages {
    text: String,
    objects: Vec<StderrObject>,
}

/// A JSON line.
#[derive(Debug)]
struct StderrObject {
    level: Level,
    message: String,
    members: Map<String, Value>,
}

impl StderrMessages {
    fn new(text: String, level: Level, message: String, members: Map<String, Value>) -> Self {
        Self { text, objects: vec![StderrObject { level, message, members }] }
    }

    /// An error, its details on lines of their own, and its hint.
    pub(super) fn error(message: &str, details: &str, hint: Option<&str>) -> Self {
        let message = escaped_line(message, MAX_LINE_CHARS);
        let hint = hint.map(|hint| escaped_line(hint, MAX_LINE_CHARS));
        let details = escape_hidden_in_block(details.trim_end()).into_owned();
        let mut text = format!("error: {message}\n");
        if !details.is_empty() {
            text += &format!("{details}\n");
        }
        if let Some(hint) = &hint {
            text += &format!("hint: {hint}\n");
        }
        let mut members = Map::new();
        members.extend(hint.map(|hint| ("hint".to_owned(), hint.into())));
        members.extend((!details.is_empty()).then(|| ("details".to_owned(), details.into())));
        Self::new(text, Level::ERROR, message, members)
    }

    /// A warning of one line.
    pub(super) fn warning(text: &str) -> Self {
        let message = escaped_line(text, MAX_LINE_CHARS);
        Self::new(format!("warning: {message}\n"), Level::WARN, message, Map::new())
    }

    /// A note of one line.
    pub(super) fn note(text: &str) -> Self {
        let message = escaped_line(text, MAX_LINE_CHARS);
        Self::new(format!("note: {message}\n"), Level::INFO, message, Map::new())
    }

    /// Several lines. Quoted text must have gone through [`print::inline`].
    pub(super) fn lines(text: &str) -> Self {
        let text = escape_hidden_in_block(text).into_owned();
        let message = text.trim().to_owned();
        if message.is_empty() { Self::default() } else { Self::new(text, Level::INFO, message, Map::new()) }
    }

    /// Several lines, which JSON shows as a message with members instead.
    pub(super) fn summary(text: &str, message: &str, members: Map<String, Value>) -> Self {
        Self::new(escape_hidden_in_block(text).into_owned(), Level::INFO, message.to_owned(), members)
    }

    /// The problems of the configuration.
    pub(super) fn diagnostics(problems: &[Diagnostic], source: &ConfigSource) -> Self {
        if problems.is_empty() {
            return Self::default();
        }
        let objects = problems.iter().map(|problem| {
            let mut members = diagnostic_members(problem, source);
            members.insert("file".to_owned(), source.path.to_string_lossy().into());
            let level = if problem.is_error() { Level::ERROR } else { Level::WARN };
            StderrObject { level, message: problem.message.clone(), members }
        });
        Self { text: render_diagnostics(problems, source, print::style()), objects: objects.collect() }
    }

    /// Adds further messages.
    pub(super) fn append(&mut self, other: Self) {
        let Self { text, objects } = other;
        self.text += &text;
        self.objects.extend(objects);
    }

    /// The messages as text.
    #[cfg(test)]
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Prints the messages.
    pub(super) fn print(self) {
        let Self { text, objects } = self;
        print::stderr(&match stderr_format() {
            LogFormat::Text => text,
            LogFormat::Json => {
                let lines = objects.into_iter().map(|StderrObject { level, message, members }| {
                    json_line(level, TARGET, &message, members)
                });
                lines.collect()
            }
        });
    }
}

/// A diagnostic as a JSON object.
pub(super) fn describe_diagnostic(problem: &Diagnostic, source: &ConfigSource) -> Value {
    let severity = match problem.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut described = json!({ "severity": severity, "message": problem.message });
    if let Some(members) = described.as_object_mut() {
        members.extend(diagnostic_members(problem, source));
    }
    described
}

#[cfg(test)]
mod tests;
