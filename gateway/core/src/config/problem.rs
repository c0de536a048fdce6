//! What is wrong with a configuration: where, and what to do about it.
//!
//! Reading makes most of them; building the catalog and loading plugins add theirs, with places that the resolved
//! configuration keeps.

use std::path::PathBuf;

use super::secrecy::gives_away;
use crate::text::{escape_hidden, first_chars};

pub(super) use crate::diagnostic::{Problem, Severity};
pub(super) use crate::text::escape_hidden as visible;

/// The text that places point into.
#[derive(Debug, Clone)]
pub struct Source {
    /// The file, as the operator named it.
    pub path: PathBuf,
    /// What it holds; empty where it couldn't be read.
    pub text: String,
}

/// `text` in backticks, no longer than a line, and not if it gives a secret away.
pub(super) fn quoted(text: &str) -> String {
    if gives_away(text) {
        return "`…`".to_owned();
    }
    let (start, is_cut) = first_chars(text, 80);
    format!("`{}{}`", escape_hidden(start), if is_cut { "…" } else { "" })
}
