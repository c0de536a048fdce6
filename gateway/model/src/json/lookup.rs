//! Reads parts of valid JSON text without building a value.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::Key;

/// The characters of a string, borrowed if it has no escapes. `None` for other values.
#[must_use]
pub fn string_value(text: &str) -> Option<Cow<'_, str>> {
    let text = text.trim_ascii();
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        return serde_json::from_str(text).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inner))
}

/// The type of the value with this text, in JSON Schema's terms.
#[must_use]
pub fn type_of_text(text: &str) -> &'static str {
    match text.trim_ascii_start().bytes().next() {
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b'"') => "string",
        Some(b't' | b'f') => "boolean",
        Some(b'-' | b'0'..=b'9') => "number",
        _ => "null",
    }
}

/// Visits the members of an object in their order, until the first error. Other values have none.
///
/// # Errors
/// The error of `visit`.
pub fn visit_members<'a, E>(
    text: &'a str,
    visit: impl FnMut(Cow<'a, str>, &'a RawValue) -> Result<(), E>,
) -> Result<(), E> {
    let mut failed = None;
    let visitor = MemberVisitor { visit, failed: &mut failed };
    // It fails at other values, and where `visit` does.
    let _ = serde_json::Deserializer::from_str(text).deserialize_map(visitor);
    failed.map_or(Ok(()), Err)
}

/// Visits the elements of an array in their order, until the first error. Other values have none.
///
/// # Errors
/// The error of `visit`.
pub fn visit_elements<'a, E>(
    text: &'a str,
    visit: impl FnMut(&'a RawValue) -> Result<(), E>,
) -> Result<(), E> {
    let mut failed = None;
    let visitor = ElementVisitor { visit, failed: &mut failed };
    let _ = serde_json::Deserializer::from_str(text).deserialize_seq(visitor);
    failed.map_or(Ok(()), Err)
}

/// The texts at several paths of member names, found in one pass. The result has an entry for each path.
#[must_use]
pub fn at_paths<'a>(text: &'a str, paths: &[&[String]]) -> Vec<Option<&'a RawValue>> {
    let mut found = vec![None; paths.len()];
    let wanted = paths.iter().enumerate().map(|(index, path)| WantedPath { index, rest: path });
    find_paths(text, wanted.collect(), &mut found);
    found
}

/// The rest of a path.
#[derive(Clone, Copy)]
struct WantedPath<'p> {
    index: usize,
    rest: &'p [String],
}

/// The recursion is as deep as the longest path.
fn find_paths<'a>(text: &'a str, wanted: Vec<WantedPath<'_>>, found: &mut [Option<&'a RawValue>]) {
    let mut by_name: HashMap<&str, Vec<WantedPath<'_>>> = HashMap::new();
    for WantedPath { index, rest } in wanted {
        if let Some((name, rest)) = rest.split_first() {
            by_name.entry(name).or_default().push(WantedPath { index, rest });
        }
    }
    let _: Result<(), ()> = visit_members(text, |name, value| {
        let Some(wanted) = by_name.remove(&*name) else { return Ok(()) };
        let (here, deeper): (Vec<_>, Vec<_>) = wanted.into_iter().partition(|path| path.rest.is_empty());
        here.iter().for_each(|path| found[path.index] = Some(value));
        if !deeper.is_empty() {
            find_paths(value.get(), deeper, found);
        }
        if by_name.is_empty() { Err(()) } else { Ok(()) }
    });
}

struct MemberVisitor<'f, F, E> {
    visit: F,
    failed: &'f mut Option<E>,
}

impl<'de, F, E> Visitor<'de> for MemberVisitor<'_, F, E>
where
    F: FnMut(Cow<'de, str>, &'de RawValue) -> Result<(), E>,
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        while self.failed.is_none() {
            let Some((Key(name), value)) = members.next_entry()? else { return Ok(()) };
            *self.failed = (self.visit)(name, value).err();
        }
        Err(de::Error::custom("stopped"))
    }
}

struct ElementVisitor<'f, F, E> {
    visit: F,
    failed: &'f mut Option<E>,
}

impl<'de, F, E> Visitor<'de> for ElementVisitor<'_, F, E>
where
    F: FnMut(&'de RawValue) -> Result<(), E>,
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        while self.failed.is_none() {
            let Some(item) = items.next_element()? else { return Ok(()) };
            *self.failed = (self.visit)(item).err();
        }
        Err(de::Error::custom("stopped"))
    }
}
