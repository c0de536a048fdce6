//! Diagnostics for operators: the problem, its location, and how to fix it.
//!
//! Most of them come from reading the configuration. Building the catalog and loading plugins add more, with locations
//! that the loaded configuration keeps.

use std::fmt;
use std::ops::Range;

use crate::text::{escape_hidden, nearest_name};

/// The severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The configuration is rejected.
    Error,
    /// The configuration is accepted but probably not as intended.
    Warning,
}

/// One diagnostic.
///
/// Texts are lower case, without a period, and put names in backticks. They may contain anything from a file or a
/// plugin: unsafe characters are escaped when they are rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The severity.
    pub severity: Severity,
    /// The byte range in the source. `None` if the diagnostic isn't about a part of the file.
    pub span: Option<Range<usize>>,
    /// The problem.
    pub message: String,
    /// A short label for the location.
    pub label: Option<String>,
    /// The hint: how to fix the problem.
    pub hint: Option<String>,
    /// Other relevant locations, each with a short label.
    pub related: Vec<(Range<usize>, String)>,
}

impl Diagnostic {
    /// An error: the configuration is rejected.
    #[must_use]
    pub fn error(message: impl Into<String>) -> Self {
        Self::new(Severity::Error, message.into())
    }

    /// A warning about a probable mistake.
    #[must_use]
    pub fn warning(message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, message.into())
    }

    fn new(severity: Severity, message: String) -> Self {
        Self { severity, span: None, message, label: None, hint: None, related: Vec::new() }
    }

    /// The same diagnostic as an error.
    #[must_use]
    pub fn into_error(self) -> Self {
        Self { severity: Severity::Error, ..self }
    }

    /// Sets the location.
    #[must_use]
    pub fn with_span(self, place: Range<usize>) -> Self {
        Self { span: Some(place), ..self }
    }

    /// Sets the label of the location.
    #[must_use]
    pub fn with_label(self, label: impl Into<String>) -> Self {
        Self { label: Some(label.into()), ..self }
    }

    /// Sets the hint.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Sets a hint with the valid word nearest to `word`, or with all valid words if none is near.
    #[must_use]
    pub fn hint_nearest<'k>(self, word: &str, valid: impl Iterator<Item = &'k str> + Clone) -> Self {
        match nearest_name(word, valid.clone()) {
            Some(near) => self.with_hint(format!("did you mean `{near}`?")),
            None => {
                let all: Vec<String> = valid.map(|word| format!("`{word}`")).collect();
                self.with_hint(format!("use one of {}", all.join(", ")))
            }
        }
    }

    /// Adds another relevant location.
    #[must_use]
    pub fn with_related(mut self, place: Range<usize>, label: impl Into<String>) -> Self {
        self.related.push((place, label.into()));
        self
    }

    /// Reports whether the diagnostic rejects the configuration.
    #[must_use]
    pub fn is_error(&self) -> bool {
        match self.severity {
            Severity::Error => true,
            Severity::Warning => false,
        }
    }
}

/// The diagnostic on one line, for logs.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escape_hidden(&self.message))?;
        match &self.hint {
            Some(hint) => write!(f, " (hint: {})", escape_hidden(hint)),
            None => Ok(()),
        }
    }
}
