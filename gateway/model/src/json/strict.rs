//! A strict check of JSON text that builds no value: it keeps 8 bytes for each key of the objects that are open.
//!
//! Nearly all text passes a fast check ([`StrictVisitor`]). serde_json reads the rest, and words the errors.

use std::borrow::Cow;
use std::fmt;
use std::hash::{BuildHasher, RandomState};

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::text::quotable;

use super::scan::{AcceptedText, NotAccepted, ScanVisitor, scan};
use super::unescape::{has_escapes, unescape};

/// The number of keys of an object up to which each new key is compared with all others.
const MAX_COMPARED_KEYS: usize = 16;

/// The length of a number, and of its exponent, that is certainly in the range of a 64-bit float: below 10^200.
const MAX_SAFE_DIGITS: usize = 100;
const MAX_SAFE_EXPONENT_DIGITS: usize = 2;

/// Checks `text` quickly. Text that isn't accepted needs [`check`].
pub(super) fn accept(text: &str) -> Result<AcceptedText, NotAccepted> {
    if u32::try_from(text.len()).is_err() {
        return Err(NotAccepted);
    }
    scan(text, &mut StrictVisitor::default())
}

/// Checks `text`, see [`check_strict`](super::check_strict).
pub(super) fn check(text: &str) -> Result<(), serde_json::Error> {
    let mut keys = OpenKeys::default();
    loop {
        let checked = run(text, &mut keys);
        let Some(hash) = keys.duplicate else { return checked };
        // Either the key is there twice, or two keys have the same hash, which happens in one text in a billion.
        keys = OpenKeys { suspect: Some(hash), ..keys };
        keys.restart();
        run(text, &mut keys)?;
        keys = OpenKeys::default();
    }
}

fn run(text: &str, keys: &mut OpenKeys) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    CheckSeed(keys).deserialize(&mut deserializer)?;
    deserializer.end()
}

/// The positions of a key in the text.
#[derive(Clone, Copy)]
struct KeySpan {
    start: u32,
    end: u32,
}

impl KeySpan {
    fn written(self, text: &str) -> &str {
        &text[self.start as usize..self.end as usize]
    }

    fn key(self, text: &str) -> Cow<'_, str> {
        unescape(self.written(text))
    }
}

/// An object that is open.
struct OpenObject {
    /// The number of keys before it.
    first: u32,
    /// True if a key has escapes, so keys can be the same although they are written differently.
    has_escapes: bool,
}

/// The keys of all objects that are open, as positions in the text.
#[derive(Default)]
struct StrictVisitor {
    keys: Vec<KeySpan>,
    objects: Vec<OpenObject>,
}

impl ScanVisitor for StrictVisitor {
    fn open_object(&mut self) {
        let first = u32::try_from(self.keys.len()).unwrap_or(u32::MAX);
        self.objects.push(OpenObject { first, has_escapes: false });
    }

    fn key(&mut self, text: &str, start: usize, end: usize) -> Result<(), NotAccepted> {
        let position = |at| u32::try_from(at).map_err(|_| NotAccepted);
        let span = KeySpan { start: position(start)?, end: position(end)? };
        let object = self.objects.last_mut().ok_or(NotAccepted)?;
        let written = span.written(text);
        object.has_escapes |= has_escapes(written);
        let known = &self.keys[object.first as usize..];
        let is_compared = known.len() < MAX_COMPARED_KEYS && !object.has_escapes;
        if is_compared && known.iter().any(|key| key.written(text) == written) {
            return Err(NotAccepted);
        }
        self.keys.push(span);
        Ok(())
    }

    fn close_object(&mut self, text: &str) -> Result<(), NotAccepted> {
        let OpenObject { first, has_escapes } = self.objects.pop().ok_or(NotAccepted)?;
        let first = first as usize;
        let keys = &self.keys[first..];
        if keys.len() > MAX_COMPARED_KEYS || has_escapes {
            let state = RandomState::new();
            let mut hashes: Vec<u64> = keys.iter().map(|key| state.hash_one(&*key.key(text))).collect();
            hashes.sort_unstable();
            if hashes.windows(2).any(|pair| pair[0] == pair[1]) {
                return Err(NotAccepted);
            }
        }
        self.keys.truncate(first);
        Ok(())
    }

    fn number(&mut self, written: &str) -> Result<(), NotAccepted> {
        let exponent = written.find(['e', 'E']).map_or("", |at| &written[at + 1..]);
        let digits = exponent.trim_start_matches(['+', '-']).len();
        let is_safe = written.len() <= MAX_SAFE_DIGITS && digits <= MAX_SAFE_EXPONENT_DIGITS;
        if is_safe { Ok(()) } else { Err(NotAccepted) }
    }
}

/// The keys of all objects that are open.
#[derive(Default)]
struct OpenKeys {
    state: RandomState,
    hashes: Vec<u64>,
    /// The hash of a key that is probably there twice, found without a suspect.
    duplicate: Option<u64>,
    /// The only hash whose keys are compared. `None` compares all hashes.
    suspect: Option<u64>,
}

impl OpenKeys {
    fn restart(&mut self) {
        self.hashes.clear();
        self.duplicate = None;
    }

    /// Adds a key to the object whose keys start at `first`. False if its hash is there already.
    fn push(&mut self, first: usize, hash: u64) -> bool {
        let known = &self.hashes[first..];
        let is_new = known.len() >= MAX_COMPARED_KEYS || !known.contains(&hash);
        self.hashes.push(hash);
        is_new
    }

    /// Removes the keys of an object. Returns a hash that is there twice.
    fn close(&mut self, first: usize) -> Option<u64> {
        let keys = &mut self.hashes[first..];
        let mut duplicate = None;
        if keys.len() > MAX_COMPARED_KEYS {
            keys.sort_unstable();
            duplicate = keys.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        }
        self.hashes.truncate(first);
        duplicate
    }
}

/// Checks a value.
struct CheckSeed<'k>(&'k mut OpenKeys);

/// Reads a key as its hash. With a suspect, the keys with its hash are kept.
struct KeySeed<'k>(&'k OpenKeys);

/// A key.
struct CheckedKey {
    hash: u64,
    /// The text of a suspect.
    suspect: Option<String>,
}

impl<'de> DeserializeSeed<'de> for CheckSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for CheckSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(CheckSeed(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let Self(keys) = self;
        let first = keys.hashes.len();
        let mut suspects: Vec<String> = Vec::new();
        while let Some(CheckedKey { hash, suspect }) = members.next_key_seed(KeySeed(keys))? {
            let is_new = keys.suspect.is_some() || keys.push(first, hash);
            members.next_value_seed(CheckSeed(keys))?;
            if !is_new {
                keys.duplicate = Some(hash);
                return Err(de::Error::custom("duplicate key"));
            }
            if let Some(key) = suspect {
                if suspects.contains(&key) {
                    return Err(de::Error::custom(format_args!("duplicate key `{}`", quotable(&key))));
                }
                suspects.push(key);
            }
        }
        keys.duplicate = keys.close(first);
        if keys.duplicate.is_some() { Err(de::Error::custom("duplicate key")) } else { Ok(()) }
    }
}

impl<'de> DeserializeSeed<'de> for KeySeed<'_> {
    type Value = CheckedKey;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<CheckedKey, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeySeed<'_> {
    type Value = CheckedKey;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<CheckedKey, E> {
        let hash = self.0.state.hash_one(key);
        let suspect = (self.0.suspect == Some(hash)).then(|| key.to_owned());
        Ok(CheckedKey { hash, suspect })
    }
}
