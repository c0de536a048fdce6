//! Keys that nobody knows, and what was probably meant.

use super::super::keys::{Inside, Key, Kind, ROOT};
use super::super::problem::{Problem, quoted};
use super::{Reading, Table};

impl Reading<'_> {
    /// Notes each key of `table` that its key table doesn't have, and gives those that were probably meant.
    pub(super) fn note_unknown(&mut self, table: &Table<'_>) -> Vec<&'static str> {
        let mut meant = Vec::new();
        for (name, value) in table.entries() {
            if table.keys.iter().any(|key| key.name == name) {
                continue;
            }
            let message = format!("unknown key {}{}", quoted(name), table.within());
            let problem = Problem::error(message).at(value.key_place);
            let known = table.keys.iter().map(|key| key.name);
            self.note(match nearest(name, known).or_else(|| other_word(name, table)) {
                Some(near) => {
                    meant.push(near);
                    problem.hint(format!("did you mean `{near}`?"))
                }
                None => cure(name, table, problem),
            });
        }
        meant
    }
}

/// The key of a plugin's table that is called so elsewhere.
fn other_word(name: &str, table: &Table<'_>) -> Option<&'static str> {
    let words = ["url", "uri", "path", "file", "wasm", "module", "component", "src", "command"];
    let is_source = words.iter().any(|word| name.eq_ignore_ascii_case(word));
    let source = table.keys.iter().find(|key| key.name == "source")?;
    (is_source && !table.has(source.name)).then_some(source.name)
}

/// Adds what to do about a key that is like none here: the same key elsewhere, or else all keys that there are.
fn cure(name: &str, table: &Table<'_>, problem: Problem) -> Problem {
    let mut homes = Vec::new();
    find_homes(name, ROOT, "", &mut homes);
    if !homes.is_empty() {
        return problem.hint(format!("`{name}` belongs into {}", homes.join(" or ")));
    }
    suggest(name, table.keys.iter().map(|key| key.name), problem)
}

/// Adds the word that was probably meant, or else all that there are.
pub(super) fn suggest<'k>(
    word: &str,
    known: impl Iterator<Item = &'k str> + Clone,
    problem: Problem,
) -> Problem {
    match nearest(word, known.clone()) {
        Some(near) => problem.hint(format!("did you mean `{near}`?")),
        None => {
            let all: Vec<String> = known.map(|word| format!("`{word}`")).collect();
            problem.hint(format!("known here: {}", all.join(", ")))
        }
    }
}

/// No key and no word that is known is longer, in bytes.
const LONGEST_WORD: usize = 32;

/// The word that differs least, if it could be a slip of the same word.
pub(crate) fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    if word.len() > 4 * LONGEST_WORD {
        return None; // comparing takes time that grows with its length
    }
    let plain = |word: &str| word.to_ascii_lowercase().replace('-', "_");
    let word = plain(word);
    let known = known.filter(|candidate| candidate.len() <= 4 * LONGEST_WORD);
    let scored = known.map(|candidate| (strsim::damerau_levenshtein(&word, candidate), candidate));
    let (distance, candidate) = scored.min_by_key(|(distance, _)| *distance)?;
    let slips = (word.chars().count().max(candidate.len()) / 3).max(1);
    (distance <= slips).then_some(candidate)
}

/// Collects the tables in which a key of exactly this name is known.
fn find_homes(name: &str, keys: &[Key], path: &str, homes: &mut Vec<String>) {
    if !path.is_empty() && keys.iter().any(|key| key.name == name) {
        homes.push(format!("`[{path}]`"));
    }
    for key in keys {
        let path = super::join(path, key.name);
        match key.kind.inside() {
            Inside::Keys(keys) => find_homes(name, keys, &path, homes),
            Inside::Named(Kind::Table(keys)) => find_homes(name, keys, &format!("{path}.<name>"), homes),
            Inside::Nothing
            | Inside::TextOrKeys(_)
            | Inside::Named(_)
            | Inside::Items(_)
            | Inside::Settings => {}
        }
    }
}
