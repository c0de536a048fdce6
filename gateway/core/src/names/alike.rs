//! How alike two names are: for "did you mean …".
//!
//! The one measure of it, for tools, keys, settings, variables and files: case and what stands between words count for
//! nothing, and of what is left a third may be wrong, at least one letter.

use strsim::osa_distance;

/// Longer ones are like nothing, in bytes: comparing takes time that grows with both lengths.
const LONGEST: usize = 128;

/// How many pairs of letters may be compared for one answer: some milliseconds' work.
const CELLS: usize = 2_000_000;

/// How a name is the end of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It is all of it.
    Whole,
    /// Words stand before it.
    Part,
}

/// What may still be done to find what was meant. Whoever answers somebody who waits has one for the whole answer.
#[derive(Debug)]
pub(crate) struct Effort {
    cells: usize,
}

/// The one of `all` that is most like `asked`, if one is. Among so many that finding it would take long, none is.
#[must_use]
pub fn alike<'a>(asked: &str, all: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    Effort::default().alike(asked, all)
}

/// Does `whole` end with the words of `part`? Looks no further than where they differ.
pub(crate) fn ending(whole: &str, part: &str) -> Option<Ending> {
    let backwards = |name| plain(lower(name).rev());
    let mut whole = backwards(whole);
    if !backwards(part).all(|c| whole.next() == Some(c)) {
        return None;
    }
    match whole.next() {
        None => Some(Ending::Whole),
        Some('_') => Some(Ending::Part),
        Some(_) => None,
    }
}

impl Default for Effort {
    fn default() -> Self {
        Self { cells: CELLS }
    }
}

impl Effort {
    /// The one of `all` that is most like `asked`, if one is.
    pub(crate) fn alike<'a>(
        &mut self,
        asked: &str,
        all: impl Iterator<Item = &'a str> + Clone,
    ) -> Option<&'a str> {
        self.nearest(asked, all.map(|name| (name, name)))
    }

    /// What stands beside the name that is most like `asked`, the first of those that are equally like it. Where comparing
    /// all of them takes more than is left, none is compared, and none later either.
    pub(crate) fn nearest<'a, T>(
        &mut self,
        asked: &str,
        all: impl Iterator<Item = (&'a str, T)> + Clone,
    ) -> Option<T> {
        let left = all.clone().try_fold(self.cells, |left, (name, _)| left.checked_sub(cells(asked, name)));
        self.cells = left.unwrap_or_default();
        left?;
        let asked_folded = folded(asked);
        let rated = all
            .filter(|(name, _)| cells(asked, name) > 0)
            .filter_map(|(name, it)| Some((slips_of_folded(&asked_folded, &folded(name))?, it)));
        rated.reduce(|best, next| if next.0 < best.0 { next } else { best }).map(|(_, it)| it)
    }

    /// How many pairs of letters may still be compared.
    #[cfg(test)]
    pub(crate) fn left(&self) -> usize {
        self.cells
    }
}

/// How many pairs of letters are compared to tell how alike two names are; 0: their lengths alone say that they aren't.
fn cells(a: &str, b: &str) -> usize {
    if a.len().max(b.len()) > LONGEST {
        return 0;
    }
    let (a, b) = (a.chars().count(), b.chars().count());
    if a.abs_diff(b) > slips_in(a.max(b)) { 0 } else { a * b }
}

fn slips_of_folded(a: &str, b: &str) -> Option<usize> {
    let letters = a.chars().count().max(b.chars().count());
    Some(osa_distance(a, b)).filter(|slips| *slips <= slips_in(letters))
}

/// How many letters of so many may be wrong: of a single one nothing would be left.
fn slips_in(letters: usize) -> usize {
    (letters / 3).max(1).min(letters.saturating_sub(1))
}

/// The name in small letters, with `_` for whatever stands between its words.
fn folded(name: &str) -> String {
    plain(lower(name)).collect()
}

fn lower(name: &str) -> impl DoubleEndedIterator<Item = char> {
    name.chars().flat_map(char::to_lowercase)
}

fn plain(letters: impl Iterator<Item = char>) -> impl Iterator<Item = char> {
    let mut last = None;
    letters.map(|c| if c.is_alphanumeric() { c } else { '_' }).filter(move |c| {
        let is_again = *c == '_' && last == Some('_');
        last = Some(*c);
        !is_again
    })
}

#[cfg(test)]
mod tests;
