//! Glob patterns over paths, as the official server's library reads them: `*`, `?`, `**`, classes, braces, `!` before
//! the whole, and of bash's lists `?(…)`, `*(…)`, `+(…)` and `@(…)`. Names that begin with a dot are names like others.
//!
//! A pattern becomes regular expressions, one for each alternative of its braces, so that no pattern takes long.

use regex_lite::Regex;

use crate::fault::Fault;

mod braces; // `{a,b}` and `{1..3}`
mod part; // one part of a path

/// How many alternatives the braces of a pattern may make.
const MOST_ALTERNATIVES: usize = 1000;

/// The longest pattern, in bytes: as long as the longest path.
const LONGEST: usize = 4096;

/// A pattern for whole paths.
#[derive(Debug)]
pub(crate) struct Glob {
    alternatives: Vec<Regex>,
    negated: bool,
}

impl Glob {
    pub(crate) fn new(pattern: &str) -> Result<Self, Fault> {
        let positive = pattern.trim_start_matches('!');
        let negated = (pattern.len() - positive.len()) % 2 == 1;
        if pattern.is_empty() || pattern.starts_with('#') {
            // The library takes the latter for a comment.
            return Ok(Self { alternatives: Vec::new(), negated: false });
        }
        let too_large = || {
            let beginning: String = pattern.chars().take(80).collect();
            Fault::Other(format!("Pattern too large: {beginning}"))
        };
        if pattern.len() > LONGEST {
            return Err(too_large());
        }
        let texts = braces::expanded(positive, MOST_ALTERNATIVES).ok_or_else(too_large)?;
        let mut alternatives = Vec::new();
        for text in texts {
            if let Some(expression) = expression(&text) {
                alternatives.push(Regex::new(&expression).map_err(|_| too_large())?);
            }
        }
        Ok(Self { alternatives, negated })
    }

    /// Does the whole path fit?
    pub(crate) fn fits(&self, path: &str) -> bool {
        self.alternatives.iter().any(|alternative| alternative.is_match(path)) != self.negated
    }
}

/// The regular expression of a pattern without braces; none if no path can fit.
fn expression(pattern: &str) -> Option<String> {
    let mut parts = Vec::new();
    for (at, part) in pattern.split('/').enumerate() {
        match part {
            // No path begins with a slash or ends in one; between parts, several are as good as one.
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

/// Patterns of what to leave out.
#[derive(Debug)]
pub(crate) struct Globs(Vec<Glob>);

impl Globs {
    pub(crate) fn new(patterns: &[String]) -> Result<Self, Fault> {
        patterns.iter().map(|pattern| Glob::new(pattern)).collect::<Result<_, _>>().map(Self)
    }

    /// The same for trees, where a pattern without a star also means every entry of that name, wherever it stands.
    pub(crate) fn of_tree(patterns: &[String]) -> Result<Self, Fault> {
        let mut all = Self::new(patterns)?;
        for pattern in patterns.iter().filter(|pattern| !pattern.contains('*')) {
            all.0.push(Glob::new(&format!("**/{pattern}"))?);
            all.0.push(Glob::new(&format!("**/{pattern}/**"))?);
        }
        Ok(all)
    }

    /// Does any pattern fit this path below the directory that was asked for?
    pub(crate) fn fit(&self, path: &str) -> bool {
        self.0.iter().any(|glob| glob.fits(path))
    }
}

#[cfg(test)]
mod tests;
