//! Glob patterns for paths, as in the official server's library: `*`, `?`, `**`, classes, braces, a leading `!`, and
//! bash's extended globs `?(…)`, `*(…)`, `+(…)` and `@(…)`. Names with a leading dot aren't special.
//!
//! A pattern is compiled to one regular expression for each alternative of its braces, so that matching is always
//! fast.

use regex_lite::Regex;

use crate::fault::FsError;

mod braces; // `{a,b}` and `{1..3}`
mod part; // one part of a path

/// The maximum number of alternatives in the braces of a pattern.
const MAX_ALTERNATIVES: usize = 1000;

/// The maximum length of a pattern in bytes, equal to that of a path.
const MAX_PATTERN_BYTES: usize = 4096;

/// A compiled pattern for whole paths.
#[derive(Debug)]
pub(crate) struct Glob {
    alternatives: Vec<Regex>,
    negated: bool,
}

impl Glob {
    pub(crate) fn new(pattern: &str) -> Result<Self, FsError> {
        let positive = pattern.trim_start_matches('!');
        let negated = (pattern.len() - positive.len()) % 2 == 1;
        if pattern.is_empty() || pattern.starts_with('#') {
            // The library treats `#` as a comment.
            return Ok(Self { alternatives: Vec::new(), negated: false });
        }
        let too_large = || {
            let beginning: String = pattern.chars().take(80).collect();
            FsError::Other(format!("Pattern too large: {beginning}"))
        };
        if pattern.len() > MAX_PATTERN_BYTES {
            return Err(too_large());
        }
        let texts = braces::expanded(positive, MAX_ALTERNATIVES).ok_or_else(too_large)?;
        let mut alternatives = Vec::new();
        for text in texts {
            if let Some(expression) = expression(&text) {
                alternatives.push(Regex::new(&expression).map_err(|_| too_large())?);
            }
        }
        Ok(Self { alternatives, negated })
    }

    /// Returns `true` if the whole path matches.
    pub(crate) fn fits(&self, path: &str) -> bool {
        self.alternatives.iter().any(|alternative| alternative.is_match(path)) != self.negated
    }
}

/// The regular expression of a pattern without braces. `None` if no path can match.
fn expression(pattern: &str) -> Option<String> {
    let mut parts = Vec::new();
    for (at, part) in pattern.split('/').enumerate() {
        match part {
            // Paths have no leading or trailing slash, and several slashes are equal to one.
            "" if at == 0 => return None,
            "" => {}
            "**" if parts.last() == Some(&"**") => {}
            ".." if parts.last().is_some_and(|last| !matches!(*last, ".." | "**")) => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    if pattern.ends_with('/') {
        return None;
    }
    let mut expression = "^".to_owned();
    let last = parts.len().checked_sub(1)?;
    for (at, part) in parts.into_iter().enumerate() {
        match (part, at == last) {
            ("**", true) => expression.push_str("[^/]+(?:/[^/]+)*"),
            ("**", false) => expression.push_str("(?:[^/]+/)*"),
            (part, true) => part::push(part, &mut expression),
            (part, false) => {
                part::push(part, &mut expression);
                expression.push('/');
            }
        }
    }
    expression.push('$');
    Some(expression)
}

/// Patterns to exclude.
#[derive(Debug)]
pub(crate) struct Globs(Vec<Glob>);

impl Globs {
    pub(crate) fn new(patterns: &[String]) -> Result<Self, FsError> {
        patterns.iter().map(|pattern| Glob::new(pattern)).collect::<Result<_, _>>().map(Self)
    }

    /// Patterns for a tree, in which a pattern without a star also matches every entry with that name at any depth.
    pub(crate) fn of_tree(patterns: &[String]) -> Result<Self, FsError> {
        let mut all = Self::new(patterns)?;
        for pattern in patterns.iter().filter(|pattern| !pattern.contains('*')) {
            all.0.push(Glob::new(&format!("**/{pattern}"))?);
            all.0.push(Glob::new(&format!("**/{pattern}/**"))?);
        }
        Ok(all)
    }

    /// Returns `true` if any pattern matches this path, relative to the start directory.
    pub(crate) fn fit(&self, path: &str) -> bool {
        self.0.iter().any(|glob| glob.fits(path))
    }
}

#[cfg(test)]
mod tests;
