//! Problems of the configuration and of plugins in the log: with JSON, in members, as in the messages of commands.

use moongate_config::{ConfigSource, Diagnostic, RenderStyle, Severity, render_diagnostics};
use serde_json::{Map, Value, json};

use super::{LogFormat, stderr_format};

/// Logs the problems of a configuration below a title.
pub(crate) fn log_problems(title: &str, severity: Severity, problems: &[Diagnostic], source: &ConfigSource) {
    if stderr_format() == LogFormat::Text {
        let rendered = render_diagnostics(problems, source, RenderStyle::Plain);
        let rendered = rendered.trim_end();
        return match severity {
            Severity::Error => tracing::error!("{title}:\n{rendered}"),
            Severity::Warning => tracing::warn!("{title}:\n{rendered}"),
        };
    }
    for problem in problems {
        let Diagnostic { severity, span, message, label, hint, related: _ } = problem;
        let place = span.as_ref().and_then(|place| position(&source.text, place.start));
        let line = place.map(|(line, _)| line);
        let column = place.map(|(_, column)| column);
        let label = label.as_deref();
        let hint = hint.as_deref();
        let file = source.path.display();
        match severity {
            Severity::Error => tracing::error!(%file, line, column, label, hint, "{title}: {message}"),
            Severity::Warning => tracing::warn!(%file, line, column, label, hint, "{title}: {message}"),
        }
    }
}

/// Logs a failure of a plugin.
pub(crate) fn log_failure(plugin: &str, severity: Severity, message: &str, hint: Option<&str>) {
    let is_json = stderr_format() == LogFormat::Json;
    let shown = match hint.filter(|_| !is_json) {
        Some(hint) => format!("{message} (hint: {hint})"),
        None => message.to_owned(),
    };
    let hint = hint.filter(|_| is_json);
    match severity {
        Severity::Error => tracing::error!(plugin, hint, "{shown}"),
        Severity::Warning => tracing::warn!(plugin, hint, "{shown}"),
    }
}

/// The members of a diagnostic besides its severity and message.
pub(crate) fn diagnostic_members(problem: &Diagnostic, source: &ConfigSource) -> Map<String, Value> {
    let Diagnostic { severity: _, span: place, message: _, label, hint, related } = problem;
    let mut members = Map::new();
    if let Some((line, column)) = place.as_ref().and_then(|place| position(&source.text, place.start)) {
        members.insert("line".to_owned(), json!(line));
        members.insert("column".to_owned(), json!(column));
    }
    for (name, text) in [("label", label), ("hint", hint)] {
        if let Some(text) = text {
            members.insert(name.to_owned(), json!(text));
        }
    }
    let related: Vec<Value> = related
        .iter()
        .filter_map(|(place, label)| {
            let (line, column) = position(&source.text, place.start)?;
            Some(json!({ "line": line, "column": column, "label": label }))
        })
        .collect();
    if !related.is_empty() {
        members.insert("related".to_owned(), json!(related));
    }
    members
}

/// The line and column of a byte offset, both starting at one. Columns count characters.
fn position(text: &str, at: usize) -> Option<(usize, usize)> {
    let before = text.get(..at)?;
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    Some((line, before[start..].chars().count() + 1))
}
