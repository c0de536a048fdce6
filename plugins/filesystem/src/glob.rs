//! Glob patterns over paths: `*`, `?`, `**`, classes and braces. Names that begin with a dot are names like others.

/// Patterns of what to leave out.
#[derive(Debug)]
pub(crate) struct Globs<'a>(&'a [String]);

impl<'a> Globs<'a> {
    pub(crate) fn new(patterns: &'a [String]) -> Self {
        Self(patterns)
    }

    /// Does any pattern fit this path below the directory that was asked for?
    pub(crate) fn fit(&self, path: &str) -> bool {
        self.0.iter().any(|pattern| fits(pattern, path))
    }

    /// The same for trees, where a pattern without a star also means every entry of that name, wherever it stands.
    pub(crate) fn leave_out(&self, path: &str) -> bool {
        self.fit(path)
            || self.0.iter().filter(|pattern| !pattern.contains('*')).any(|pattern| {
                fits(&format!("**/{pattern}"), path) || fits(&format!("**/{pattern}/**"), path)
            })
    }
}

/// Does the whole path fit the pattern?
pub(crate) fn fits(pattern: &str, path: &str) -> bool {
    fast_glob::glob_match(pattern, path)
}

#[cfg(test)]
mod tests;
