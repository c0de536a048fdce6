//! What is wrong with a configuration: where, and what to do about it.
//!
//! Reading makes most of them; building the catalog and loading plugins add theirs, with places that the resolved
//! configuration keeps.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use crate::config::report::secrecy::gives_away;
use crate::names::is_hidden;

/// The text that places point into.
#[derive(Debug, Clone)]
pub struct Source {
    /// The file, as the operator named it.
    pub path: PathBuf,
    /// What it holds; empty where it couldn't be read.
    pub text: String,
}

/// How much a problem matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The configuration isn't used.
    Error,
    /// It is used; it probably isn't what was meant.
    Warning,
}

/// One thing that is wrong.
///
/// Texts are lower case, without a period, and name things in backticks. They may hold anything that a file or a
/// plugin says: what can't be shown safely is escaped when they are rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// How much it matters.
    pub severity: Severity,
    /// The bytes of the source that it is about; none where it isn't about a part of the file.
    pub place: Option<Range<usize>>,
    /// What is wrong.
    pub message: String,
    /// What to say at the place itself, in a few words.
    pub label: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// Other places that have to do with it, and what to say there.
    pub related: Vec<(Range<usize>, String)>,
}

impl Problem {
    /// Something that keeps the configuration from being used.
    #[must_use]
    pub fn error(message: impl Into<String>) -> Self {
        Self::new(Severity::Error, message.into())
    }

    /// Something that probably isn't what was meant.
    #[must_use]
    pub fn warning(message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, message.into())
    }

    fn new(severity: Severity, message: String) -> Self {
        Self { severity, place: None, message, label: None, hint: None, related: Vec::new() }
    }

    /// The same, so grave that what it is about can't be used.
    #[must_use]
    pub fn into_error(self) -> Self {
        Self { severity: Severity::Error, ..self }
    }

    /// Says where.
    #[must_use]
    pub fn at(self, place: Range<usize>) -> Self {
        Self { place: Some(place), ..self }
    }

    /// Says something at the place itself.
    #[must_use]
    pub fn label(self, label: impl Into<String>) -> Self {
        Self { label: Some(label.into()), ..self }
    }

    /// Says what to do about it.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Points at another place that has to do with it.
    #[must_use]
    pub fn related(mut self, place: Range<usize>, label: impl Into<String>) -> Self {
        self.related.push((place, label.into()));
        self
    }

    /// Does it keep the configuration from being used?
    #[must_use]
    pub fn is_error(&self) -> bool {
        match self.severity {
            Severity::Error => true,
            Severity::Warning => false,
        }
    }
}

/// One line: for a log, where a caret has no place.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&visible(&self.message))?;
        match &self.hint {
            Some(hint) => write!(f, " (hint: {})", visible(hint)),
            None => Ok(()),
        }
    }
}

/// `text` with every character that can't be shown safely escaped.
pub(in crate::config) fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_hidden(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// `text` in backticks, no longer than a line, and not if it gives a secret away.
pub(in crate::config) fn quoted(text: &str) -> String {
    if gives_away(text) {
        return "`…`".to_owned();
    }
    let end = text.char_indices().nth(80).map(|(at, _)| at);
    match end {
        Some(end) => format!("`{}…`", visible(&text[..end])),
        None => format!("`{}`", visible(text)),
    }
}
