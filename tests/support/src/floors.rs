//! The floors of the house: which module may use which, read from the sources themselves.

use std::collections::BTreeSet;
use std::path::Path;

use crate::sources::Source;

/// A word that only some modules may use.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The beginning of a path in code, such as `wasmtime`.
    pub word: &'static str,
    /// The modules that may use it.
    pub only_in: &'static [&'static str],
}

/// A crate's modules, lowest first, and its foreign words.
#[derive(Debug, Clone, Copy)]
pub struct Floors {
    /// The folder of its sources, below the project's root.
    pub sources: &'static str,
    /// Its top-level modules, in the order of its `lib.rs`.
    pub modules: &'static [&'static str],
    /// Words of other crates.
    pub rules: &'static [Rule],
}

impl Floors {
    /// All that breaks the rules, one sentence each.
    ///
    /// # Panics
    /// A source can't be read.
    #[must_use]
    pub fn broken(&self, root: &Path) -> Vec<String> {
        let mut found = BTreeSet::new();
        for source in Source::below(&root.join(self.sources)) {
            self.broken_in(&source, &mut found);
        }
        found.into_iter().collect()
    }

    fn broken_in(&self, source: &Source, found: &mut BTreeSet<String>) {
        let file = source.path.display();
        let module = source.path.iter().next().expect("a file has a name").to_string_lossy();
        let module = module.trim_end_matches(".rs");
        if module == "lib" || module == "main" || source.path.ends_with("tests.rs") {
            return;
        }
        let Some(floor) = self.floor(module) else {
            found.insert(format!("{file}: module `{module}` isn't on any floor"));
            return;
        };
        let code = source.code();
        for used in words_after(&code, "crate::") {
            if self.floor(used).is_some_and(|other| other > floor) {
                found.insert(format!("{file}: `{module}` uses `{used}`, which stands above it"));
            }
        }
        for rule in self.rules.iter().filter(|rule| !rule.only_in.contains(&module)) {
            if uses(&code, rule.word) {
                found.insert(format!("{file}: `{module}` speaks of `{}`", rule.word));
            }
        }
    }

    fn floor(&self, module: &str) -> Option<usize> {
        self.modules.iter().position(|known| *known == module)
    }
}

/// Does the code name this crate or macro?
fn uses(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = &code[at + word.len()..];
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '"' || c == '`')
            && (word.ends_with('!') || after.starts_with("::") || after.starts_with(';'))
    })
}

/// The identifiers that follow `mark`, also those in braces: `crate::{a, b}`.
fn words_after<'a>(code: &'a str, mark: &str) -> Vec<&'a str> {
    let mut words = Vec::new();
    for (at, _) in code.match_indices(mark) {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let rest = &code[at + mark.len()..];
        let list = match rest.strip_prefix('{') {
            Some(inner) => &inner[..inner.find(['}', ';']).unwrap_or(inner.len())],
            None => rest,
        };
        let end = if rest.starts_with('{') {
            list.len()
        } else {
            list.find(|c: char| !is_word(c)).unwrap_or(list.len())
        };
        words.extend(list[..end].split(',').map(|part| {
            let part = part.trim();
            &part[..part.find(|c: char| !is_word(c)).unwrap_or(part.len())]
        }));
    }
    words
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
