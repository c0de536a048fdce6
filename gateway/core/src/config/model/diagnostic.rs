//! Diagnostics for operators: what is wrong with a configuration, where, and how to fix it.
//!
//! The reader produces most of them. The catalog and the host add their own, with spans that the resolved configuration
//! keeps.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use crate::names::{alike, is_hidden};

/// The longest text that a message quotes, in characters.
const MAX_QUOTED_CHARS: usize = 80;

/// The severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The configuration isn't used.
    Error,
    /// The configuration is used, but it probably isn't what was intended.
    Warning,
}

/// A diagnostic.
///
/// Texts are lower case, without a period, and name things in backticks. They can contain anything from a file or a
/// plugin: unsafe characters are escaped when they are rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The severity.
    pub severity: Severity,
    /// The bytes of the source that it is about. `None` means that it isn't about a part of the file.
    pub place: Option<Range<usize>>,
    /// What is wrong.
    pub message: String,
    /// A few words to show at the place itself.
    pub label: Option<String>,
    /// How to fix it.
    pub hint: Option<String>,
    /// Other relevant places, each with a label.
    pub related: Vec<(Range<usize>, String)>,
}

impl Problem {
    /// An error, which keeps the configuration from being used.
    #[must_use]
    pub fn error(message: impl Into<String>) -> Self {
        Self::new(Severity::Error, message.into())
    }

    /// A warning.
    #[must_use]
    pub fn warning(message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, message.into())
    }

    fn new(severity: Severity, message: String) -> Self {
        Self { severity, place: None, message, label: None, hint: None, related: Vec::new() }
    }

    /// The same diagnostic as an error.
    #[must_use]
    pub fn into_error(self) -> Self {
        Self { severity: Severity::Error, ..self }
    }

    /// Sets the place.
    #[must_use]
    pub fn at(self, place: Range<usize>) -> Self {
        Self { place: Some(place), ..self }
    }

    /// Sets the label at the place itself.
    #[must_use]
    pub fn label(self, label: impl Into<String>) -> Self {
        Self { label: Some(label.into()), ..self }
    }

    /// Sets the hint.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Sets a hint with the valid word nearest to `word`, or else with all of them.
    #[must_use]
    pub(crate) fn hint_nearest<'k>(self, word: &str, valid: impl Iterator<Item = &'k str> + Clone) -> Self {
        match alike(word, valid.clone()) {
            Some(near) => self.hint(format!("did you mean `{near}`?")),
            None => {
                let all: Vec<String> = valid.map(|word| format!("`{word}`")).collect();
                self.hint(format!("valid here: {}", all.join(", ")))
            }
        }
    }

    /// Adds another relevant place.
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

/// One line, for a log.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&visible(&self.message))?;
        match &self.hint {
            Some(hint) => write!(f, " (hint: {})", visible(hint)),
            None => Ok(()),
        }
    }
}

/// `text` with all characters escaped that aren't safe to show.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_hidden(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// `text` in backticks, cut to [`MAX_QUOTED_CHARS`].
pub(crate) fn quoted(text: &str) -> String {
    let end = text.char_indices().nth(MAX_QUOTED_CHARS).map(|(at, _)| at);
    match end {
        Some(end) => format!("`{}…`", visible(&text[..end])),
        None => format!("`{}`", visible(text)),
    }
}
