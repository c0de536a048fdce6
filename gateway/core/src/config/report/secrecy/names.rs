//! Names of keys and variables that sound like a secret's.

/// What they have in them.
const SECRET: [&str; 13] = [
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "authorization",
    "credential",
    "cookie",
    "api_key",
    "apikey",
    "private_key",
    "access_key",
    "sealing_key",
];

/// What may follow without a mark between: `tokenizer` only begins like a secret's name, `tokenvalue` is one.
const COMPOUND: [&str; 6] = ["key", "value", "text", "string", "hash", "header"];

/// What such a name ends with where it says only where the secret is, which one, or how much there is of it.
const BESIDE: [&str; 13] = [
    "_env",
    "_file",
    "_name",
    "_path",
    "_url",
    "_ttl",
    "_timeout",
    "_lifetime",
    "_limit",
    "_count",
    "_size",
    "_length",
    "_budget",
];

/// The keys of a secret's table that say where it is, whose it is and what stands before it.
const AROUND: [&str; 5] = ["env", "file", "prefix", "name", "origin"];

/// Does a part of a key, between dots, sound like a secret's?
pub(in crate::config) fn sounds_secret(part: &str) -> bool {
    let plain = part.to_ascii_lowercase().replace('-', "_");
    let is_beside = BESIDE.iter().any(|end| plain.ends_with(end))
        || ["max_", "min_"].iter().any(|start| plain.starts_with(start));
    // In capitals alone they say nothing of where a word begins.
    let cased = if part.contains(char::is_lowercase) { part } else { &plain };
    let sounds = |word: &&str| {
        let mut found = plain.match_indices(*word);
        found.any(|(at, _)| ends_word(&cased[at + word.len()..])) || is_slip(&plain, word)
    };
    !is_beside && SECRET.iter().any(sounds)
}

/// May the word end before this?
fn ends_word(rest: &str) -> bool {
    let is_end = |rest: &str| !rest.starts_with(|c: char| c.is_lowercase());
    let lower = rest.to_ascii_lowercase();
    is_end(rest)
        || rest.strip_prefix(['s', 'S']).is_some_and(is_end)
        || COMPOUND.iter().any(|word| lower.starts_with(word))
}

/// Is one letter of it wrong?
fn is_slip(part: &str, word: &str) -> bool {
    part.len().abs_diff(word.len()) <= 1 && strsim::damerau_levenshtein(part, word) <= 1
}

/// Is this a key of a secret's table whose value is none?
pub(in crate::config) fn is_around(part: &str) -> bool {
    AROUND.contains(&part)
}

/// A key in double quotes as it is read.
pub(in crate::config) fn unescaped(content: &str) -> String {
    let mut out = String::with_capacity(content.len());
    let mut rest = content;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let length = match after.chars().next() {
            Some('x') => 2,
            Some('u') => 4,
            Some('U') => 8,
            Some(_) | None => 0,
        };
        let code = after.get(1..=length).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        rest = match code.and_then(char::from_u32) {
            Some(c) => {
                out.push(c);
                &after[1 + length..]
            }
            None => after,
        };
    }
    out.push_str(rest);
    out
}
