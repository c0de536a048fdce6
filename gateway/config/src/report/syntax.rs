//! Diagnostics for files that aren't valid TOML: the parser's messages, with hints for common mistakes.

use toml::de::Error;

use crate::model::Diagnostic;

/// The fallback hint.
const SYNTAX_HINT: &str =
    "write `key = value`, with strings in quotes, arrays in `[]`, and tables in `{}` or below `[name]`";

/// The diagnostics for a file: the first error of each line, because the others are usually consequences of it.
pub(crate) fn syntax_problems(errors: &[Error], text: &str) -> Vec<Diagnostic> {
    if let Some(problem) = other_format(text) {
        return vec![problem];
    }
    let start = |error: &&Error| error.span().map_or(0, |span| span.start.min(text.len()));
    let mut errors: Vec<_> = errors.iter().collect();
    errors.sort_by_key(start);
    let mut last = None;
    errors.retain(|error| {
        let at = start(error);
        let between = last.replace(at).map(|last| &text.as_bytes()[last..at]);
        between.is_none_or(|between| between.contains(&b'\n'))
    });
    // Every line after an unclosed array is missing a comma.
    errors.dedup_by(|next, error| {
        error.message() == next.message() && error.message().starts_with("missing comma")
    });
    errors.into_iter().map(|error| syntax_problem(error, text)).collect()
}

fn syntax_problem(error: &Error, text: &str) -> Diagnostic {
    let span = error.span().unwrap_or(0..0);
    let span = span.start.min(text.len())..span.end.min(text.len());
    let line_start =
        text.as_bytes()[..span.start].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let line = text[line_start..].lines().next().unwrap_or_default();
    let problem = Diagnostic::error(format!("invalid TOML: {}", error.message())).with_span(span);
    problem.with_hint(match error.message() {
        "duplicate key" => duplicate_hint(line),
        message
            if message.contains("comma") || message.contains("unclosed a") || message.contains("inline") =>
        {
            "close the array with `]` or the inline table with `}`, or add the missing `,`"
        }
        _ => hint(line),
    })
}

fn duplicate_hint(line: &str) -> &'static str {
    if line.trim_start().starts_with("[plugins.") {
        "rename one of the two plugins, or merge their tables"
    } else if line.trim_start().starts_with('[') {
        "merge the two tables"
    } else {
        "remove one of the two"
    }
}

/// The hint for the line of an error.
fn hint(line: &str) -> &'static str {
    let line = line.trim();
    let (key, value) = line.split_once('=').map_or((line, ""), |(key, value)| (key.trim(), value.trim()));
    let word = value.split([' ', '\t', '#', ',']).next().unwrap_or_default();
    let is_word = |words: [&str; 4]| words.iter().any(|it| word.eq_ignore_ascii_case(it));
    let quotes = |quote: char| line.matches(quote).count();
    if line.contains(['“', '”', '„', '‘', '’', '«', '»']) {
        "use straight quotes, `\"` or `'`"
    } else if is_word(["yes", "no", "on", "off"]) || is_word(["True", "False", "true", "false"]) {
        "use `true` or `false`, in lower case"
    } else if ["//", "/*", "--", ";", "<!--"].iter().any(|mark| line.starts_with(mark)) {
        "start a comment with `#`"
    } else if line.starts_with('[') {
        "write a table header alone on its line, such as `[name]`, without spaces in names"
    } else if key.contains(':') {
        "use `=` between a key and its value, not `:`"
    } else if key.contains(' ') {
        "a key can't contain spaces: use `_`"
    } else if quotes('"') % 2 == 1 || quotes('\'') % 2 == 1 {
        "close the string with the same quote, or escape the quote inside it"
    } else if value.contains('\\') {
        "put a string with `\\` in `'`, or write `\\\\`"
    } else if value.starts_with(|c: char| c.is_alphanumeric() || "./~$".contains(c)) {
        "put strings in quotes, including numbers with a unit: `\"30s\"`"
    } else {
        SYNTAX_HINT
    }
}

/// The format of a file that isn't TOML at all.
fn other_format(text: &str) -> Option<Diagnostic> {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let at = text.len() - start.len();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut is_yaml = || {
        let is_mapping = |line: &str| line == "---" || line.ends_with(':') || line.contains(": ");
        !text.contains('=') && lines.next().is_some_and(is_mapping)
    };
    let format = match start.starts_with('{') {
        true => "JSON",
        false if is_yaml() => "YAML",
        false => return None,
    };
    let hint = "start with `version = 1`, and add a table `[plugins.NAME]` with `source = \"NAME.wasm\"` for each plugin";
    let problem = Diagnostic::error(format!("this file is {format}, but the configuration must be TOML"));
    Some(problem.with_span(at..at + 1).with_hint(if text.contains("mcpServers") {
        format!("create a separate file for the gateway, because this is the configuration of an MCP client: {hint}")
    } else {
        hint.to_owned()
    }))
}
