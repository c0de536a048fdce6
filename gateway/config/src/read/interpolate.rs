//! `${VAR}`, `${VAR:-default}` and `$${` inside a parsed string.
//!
//! The value of a variable is never parsed again: it can't close a quote or start a table. Nor does it appear in a
//! diagnostic, because any variable can contain a secret.

use std::env::VarError;
use std::ops::Range;

use super::environment::{Environment, is_variable_name, nearest_variable, variables};
use super::secret_detection::{contains_secret, is_secret_name};
use crate::model::Diagnostic;
use crate::model::diagnostic::{quoted, visible};

/// A string with its variables filled in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct InterpolatedString {
    pub(crate) text: String,
    /// The same with `***` for the values of secret variables.
    pub(crate) shown: String,
    variables: Vec<UsedVariable>,
}

/// One use of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
struct UsedVariable {
    /// The use as written, such as `${HOME}`.
    written: String,
    value: String,
}

impl UsedVariable {
    fn is_secret(&self) -> bool {
        variables(&self.written).any(is_secret_name) || contains_secret(&self.value)
    }
}

impl InterpolatedString {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.shown.push_str(text);
    }

    fn push_variable(&mut self, written: &str, value: String) {
        let used = UsedVariable { written: written.to_owned(), value };
        self.text.push_str(&used.value);
        self.shown.push_str(if used.is_secret() { "***" } else { &used.value });
        self.variables.push(used);
    }

    /// The values of secret variables.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().filter(|used| used.is_secret()).map(|used| used.value.as_str())
    }

    /// The filled-in values: the string as a whole, and each use of a variable. `raw` is the original string, and
    /// `span` its span.
    pub(crate) fn expansions(&self, raw: &str, span: &Range<usize>) -> Vec<VariableExpansion> {
        if self.text == raw {
            return Vec::new();
        }
        let expansion = |value: &str, written: &str| VariableExpansion {
            value: value.to_owned(),
            written: written.to_owned(),
            span: span.clone(),
        };
        let is_default = |used: &UsedVariable| used.written.ends_with(&format!(":-{}}}", used.value));
        let used = self.variables.iter().filter(|used| !used.value.is_empty() && !is_default(used));
        let mut parts: Vec<_> = used.map(|used| expansion(&used.value, &used.written)).collect();
        parts.sort_by_key(|part| std::cmp::Reverse(part.value.len())); // one can be a part of another
        let mut all = vec![expansion(&quoted(&self.text), &quoted(raw)), expansion(&self.text, raw)];
        all.append(&mut parts);
        all
    }
}

/// The shortest value that is replaced in messages, in bytes. A shorter one can occur there by chance.
const MIN_DISTINCTIVE_BYTES: usize = 8;

/// The number of characters at which messages cut a value.
const CUT_CHARS: usize = 80;

/// The value of a variable, and how it is written in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VariableExpansion {
    value: String,
    written: String,
    /// The span of the string with the variable.
    span: Range<usize>,
}

impl VariableExpansion {
    /// The diagnostic with the variable as written instead of its value. Labels keep the actual paths, so that the
    /// operator can find the file.
    pub(crate) fn undo(&self, problem: Diagnostic) -> Diagnostic {
        let is_here =
            |at: &Range<usize>| at.start < self.span.end && self.span.start < at.end.max(at.start + 1);
        if self.value.len() < MIN_DISTINCTIVE_BYTES && !problem.span.as_ref().is_some_and(is_here) {
            return problem;
        }
        let Diagnostic { message, hint, .. } = problem;
        Diagnostic { message: self.undo_in(message), hint: hint.map(|hint| self.undo_in(hint)), ..problem }
    }

    fn undo_in(&self, mut text: String) -> String {
        for spelling in self.spellings() {
            if spelling.len() >= MIN_DISTINCTIVE_BYTES {
                text = text.replace(&spelling, &self.written);
            } else if spelling.contains(char::is_alphanumeric) {
                text = replace_words(&text, &spelling, &self.written);
            }
        }
        text
    }

    /// The spellings of the value in messages: unchanged, in lower case, escaped, and cut.
    fn spellings(&self) -> Vec<String> {
        let cut: String = self.value.chars().take(CUT_CHARS).collect();
        let escaped = [visible(&self.value).into_owned(), self.value.escape_debug().to_string()];
        let trimmed = escaped.each_ref().map(|text| text.trim_end_matches(['.', '/', '=']).to_owned());
        let mut all = vec![self.value.clone(), self.value.to_lowercase()];
        all.extend(trimmed);
        all.extend(escaped);
        if cut.len() < self.value.len() {
            all.extend([format!("{}…", visible(&cut)), format!("{}…", cut.escape_debug())]);
        }
        all.dedup();
        all
    }
}

/// `text` with each occurrence of `word` as a word replaced.
fn replace_words(text: &str, word: &str, replacement: &str) -> String {
    let mut out = String::new();
    let mut from = 0;
    for (at, _) in text.match_indices(word) {
        let end = at + word.len();
        let is_word_character = |c: char| c.is_alphanumeric() || c == '_';
        let is_word = !text[..at].ends_with(is_word_character)
            && !text[end..].starts_with(is_word_character)
            && !text[..at].ends_with("${"); // already replaced
        if is_word {
            out.extend([&text[from..at], replacement]);
            from = end;
        }
    }
    out.push_str(&text[from..]);
    out
}

/// Fills in the variables of `text`.
///
/// # Errors
/// All invalid uses of variables.
pub(crate) fn interpolate(
    text: &str,
    environment: &dyn Environment,
) -> Result<InterpolatedString, Vec<VariableError>> {
    let mut filled = InterpolatedString::default();
    let mut errors = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        filled.push(&rest[..at]);
        let used = &rest[at..];
        if rest[..at].ends_with('$') {
            filled.push("{"); // the first of the two dollars is there already
            rest = &used[2..];
            continue;
        }
        let end = used.find('}').map_or(used.len(), |end| end + 1);
        match value(&used[..end], environment) {
            Ok(value) => filled.push_variable(&used[..end], value),
            Err(cause) => {
                let at = text.len() - used.len();
                errors.push(VariableError { written: used[..end].to_owned(), at, cause });
            }
        }
        rest = &used[end..];
    }
    filled.push(rest);
    if errors.is_empty() { Ok(filled) } else { Err(errors) }
}

/// The value of one use, which starts with `${`.
fn value(used: &str, environment: &dyn Environment) -> Result<String, ErrorCause> {
    let Some(inner) = used.strip_prefix("${").and_then(|used| used.strip_suffix('}')) else {
        return Err(ErrorCause::Unclosed);
    };
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    if !is_variable_name(name) || default.is_some_and(|default| default.contains("${")) {
        return Err(ErrorCause::BadSyntax);
    }
    match (environment.variable(name), default) {
        (Ok(value), Some(default)) if value.is_empty() => Ok(default.to_owned()),
        (Ok(value), _) => Ok(value),
        (Err(VarError::NotPresent), Some(default)) => Ok(default.to_owned()),
        (Err(VarError::NotPresent), None) => Err(ErrorCause::Unset(name.to_owned())),
        (Err(VarError::NotUnicode(_)), _) => Err(ErrorCause::NotUnicode(name.to_owned())),
    }
}

/// An invalid use of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VariableError {
    /// The use as written, from `${` to `}` or to the end.
    written: String,
    /// Its offset in the string.
    at: usize,
    cause: ErrorCause,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ErrorCause {
    Unset(String),
    NotUnicode(String),
    Unclosed,
    BadSyntax,
}

impl VariableError {
    /// The invalid part of the string.
    pub(crate) fn part(&self) -> Range<usize> {
        self.at..self.at + self.written.len()
    }

    /// The diagnostic for a value with this key. It doesn't contain the default of the variable, which can be a secret.
    pub(crate) fn into_problem(self, path: &str, environment: &dyn Environment) -> Diagnostic {
        match &self.cause {
            ErrorCause::Unset(name) => {
                let problem =
                    Diagnostic::error(format!("environment variable `{name}` in `{path}` isn't set"));
                match nearest_variable(name, environment) {
                    Some(other) => problem.with_hint(format!("did you mean `{other}`, which is set?")),
                    None => problem.with_hint(format!("set it, or add a default: `${{{name}:-…}}`")),
                }
            }
            ErrorCause::NotUnicode(name) => {
                let message = format!("environment variable `{name}` in `{path}` isn't valid UTF-8");
                Diagnostic::error(message).with_hint("set it to valid UTF-8")
            }
            ErrorCause::Unclosed => Diagnostic::error(format!("unclosed `${{` in `{path}`"))
                .with_hint("close it with `}`, or write `$${` for a literal `${`"),
            ErrorCause::BadSyntax => Diagnostic::error(format!("invalid use of a variable in `{path}`"))
                .with_hint("write `${NAME}` or `${NAME:-default}`, or `$${` for a literal `${`"),
        }
    }
}
