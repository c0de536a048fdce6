//! Name similarity, for "did you mean …".
//!
//! Tools, keys, settings, variables and files use the same measure. It ignores case and separators, and accepts up to a
//! third of the remaining letters as wrong, but always at least one.

use strsim::{damerau_levenshtein, osa_distance};

/// The longest name that can be similar to another, in bytes: the comparison time grows with both lengths.
const MAX_NAME_BYTES: usize = 128;

/// The maximum number of character pairs to compare for one answer: a few milliseconds' work.
const MAX_CHAR_PAIRS: usize = 2_000_000;

/// The longest text after a dot that counts as a file extension, in bytes.
const MAX_EXTENSION_BYTES: usize = 16;

/// The match of a name with the end of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameSuffix {
    /// The names are equal.
    Whole,
    /// The other name has more words before it.
    Words,
}

/// The remaining work for suggestions. Use one budget for all suggestions of one answer.
#[derive(Debug)]
pub struct MatchBudget {
    char_pairs: usize,
}

/// The name in `candidates` that is most similar to `name`, if one is similar enough. `None` if comparing all of them
/// would take too long.
#[must_use]
pub fn nearest_name<'a>(name: &str, candidates: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    MatchBudget::default().nearest_name(name, candidates)
}

/// The number of letters to change, add, remove or swap. `None` if there are too many for the same name.
#[must_use]
pub fn name_distance(a: &str, b: &str) -> Option<usize> {
    (char_pairs(a, b) > 0).then(|| folded_distance(&folded(a), &folded(b)))?
}

/// The number of letters to change between two file extensions without the dot. A missing extension counts as one
/// change.
#[must_use]
pub fn file_extension_distance(written: &str, actual: &str) -> usize {
    if written.is_empty() && !actual.is_empty() {
        return 1;
    }
    // Longer ones aren't extensions, and the comparison time grows with both lengths.
    if written.len().max(actual.len()) > MAX_EXTENSION_BYTES {
        return usize::from(written != actual) * 3;
    }
    osa_distance(written, actual)
}

/// Reports whether at most one letter of `word` is wrong in `part`.
#[must_use]
pub fn is_one_typo(part: &str, word: &str) -> bool {
    part.len().abs_diff(word.len()) <= 1 && damerau_levenshtein(part, word) <= 1
}

/// Matches the words of `suffix` with the end of `name`. Stops at the first difference.
#[must_use]
pub fn name_suffix(name: &str, suffix: &str) -> Option<NameSuffix> {
    let backwards = |name| with_plain_separators(lower_case(name).rev());
    let mut name = backwards(name);
    if !backwards(suffix).all(|c| name.next() == Some(c)) {
        return None;
    }
    match name.next() {
        None => Some(NameSuffix::Whole),
        Some('_') => Some(NameSuffix::Words),
        Some(_) => None,
    }
}

impl Default for MatchBudget {
    fn default() -> Self {
        Self { char_pairs: MAX_CHAR_PAIRS }
    }
}

impl MatchBudget {
    /// The name in `candidates` that is most similar to `name`, if one is similar enough.
    pub fn nearest_name<'a>(
        &mut self,
        name: &str,
        candidates: impl Iterator<Item = &'a str> + Clone,
    ) -> Option<&'a str> {
        self.nearest(name, candidates.map(|candidate| (candidate, candidate)))
    }

    /// The value of the most similar candidate, the first of equally similar ones. If comparing all of them exceeds the
    /// budget, nothing is compared, now or later.
    pub fn nearest<'a, T>(
        &mut self,
        name: &str,
        candidates: impl Iterator<Item = (&'a str, T)> + Clone,
    ) -> Option<T> {
        let left = candidates
            .clone()
            .try_fold(self.char_pairs, |left, (candidate, _)| left.checked_sub(char_pairs(name, candidate)));
        self.char_pairs = left.unwrap_or_default();
        left?;
        let name_folded = folded(name);
        let rated = candidates.filter(|(candidate, _)| char_pairs(name, candidate) > 0).filter_map(
            |(candidate, value)| Some((folded_distance(&name_folded, &folded(candidate))?, value)),
        );
        rated.reduce(|best, next| if next.0 < best.0 { next } else { best }).map(|(_, value)| value)
    }

    /// The remaining number of character pairs to compare.
    #[must_use]
    pub fn char_pairs_left(&self) -> usize {
        self.char_pairs
    }
}

/// The number of character pairs to compare two names. 0 means that their lengths alone rule out a match.
fn char_pairs(a: &str, b: &str) -> usize {
    if a.len().max(b.len()) > MAX_NAME_BYTES {
        return 0;
    }
    let a_chars = a.chars().count();
    let b_chars = b.chars().count();
    if a_chars.abs_diff(b_chars) > max_distance(a_chars.max(b_chars)) { 0 } else { a_chars * b_chars }
}

fn folded_distance(a: &str, b: &str) -> Option<usize> {
    let letters = a.chars().count().max(b.chars().count());
    Some(osa_distance(a, b)).filter(|distance| *distance <= max_distance(letters))
}

/// The number of letters that can be wrong. A name of a single letter must match exactly.
fn max_distance(letters: usize) -> usize {
    (letters / 3).max(1).min(letters.saturating_sub(1))
}

/// The name in lower case, with `_` for any separator between words.
fn folded(name: &str) -> String {
    with_plain_separators(lower_case(name)).collect()
}

fn lower_case(name: &str) -> impl DoubleEndedIterator<Item = char> {
    name.chars().flat_map(char::to_lowercase)
}

fn with_plain_separators(letters: impl Iterator<Item = char>) -> impl Iterator<Item = char> {
    let mut last = None;
    letters.map(|c| if c.is_alphanumeric() { c } else { '_' }).filter(move |c| {
        let is_repeated = *c == '_' && last == Some('_');
        last = Some(*c);
        !is_repeated
    })
}

#[cfg(test)]
mod tests;
