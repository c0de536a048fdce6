//! Problems that operators read: what is wrong, where, and how to fix it.
//!
//! Reading the configuration creates most of them; building the catalog and loading plugins add theirs, with places that
//! the resolved configuration keeps.

use std::fmt;
use std::ops::Range;

use crate::text::escape_hidden;

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
        f.write_str(&escape_hidden(&self.message))?;
        match &self.hint {
            Some(hint) => write!(f, " (hint: {})", escape_hidden(hint)),
            None => Ok(()),
        }
    }
}
