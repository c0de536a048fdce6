//! Redaction of everything in the file that excerpts, diagnostics and traces must not show.
//!
//! An excerpt shows the values of the gateway's own keys, even if they are misspelt. It masks the settings of plugins,
//! the values of secret keys and of unknown ones, comments, and anything that contains a credential. If the file isn't
//! valid TOML, it shows only keys, headers and punctuation. Masking replaces byte for byte, so that spans stay valid.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::model::Diagnostic;
use crate::read::environment::is_single_variable;
use crate::read::secret_detection::{contains_secret, is_auth_scheme, is_secret_name, is_secret_ref};
use crate::spec::keys::{Content, HEADER, Key, ROOT, ValueKind};
use moongate_model::names::alike;

/// The longest key that is shown if the file isn't valid TOML.
const MAX_SHOWN_KEY_CHARS: usize = 48;

/// The shortest masked value that is removed from messages, in bytes. A shorter one can occur there by chance.
const MIN_DISTINCTIVE_BYTES: usize = 4;

/// The file with everything masked that excerpts must not show, and the spans of masked values in order. `extra`
/// contains additional spans to mask.
pub(crate) fn redact(text: &str, root: &DeTable<'_>, extra: &[Range<usize>]) -> (String, Vec<Range<usize>>) {
    let mut walk = MaskCollector { shown: Vec::new(), masked: extra.to_vec() };
    walk.table(root, Content::Keys(ROOT), false);
    let MaskCollector { mut shown, mut masked } = walk;
    masked.sort_by_key(|span| span.start);
    shown.extend(masked.iter().cloned());
    shown.sort_by_key(|span| span.start);
    let mut all = masked.clone();
    let mut at = 0;
    for span in shown.into_iter().chain(std::iter::once(text.len()..text.len())) {
        // A `#` outside of keys and values starts a comment.
        let mut start = at;
        for line in text.get(at..span.start).unwrap_or_default().split_inclusive('\n') {
            all.extend(line.find('#').map(|found| start + found + 1..start + line.len()));
            start += line.len();
        }
        at = at.max(span.end);
    }
    (masked_text(text, all), masked)
}

/// Collects the spans of keys and values that are shown, and of values that are masked.
struct MaskCollector {
    shown: Vec<Range<usize>>,
    masked: Vec<Range<usize>>,
}

impl MaskCollector {
    /// `is_secret` is true if the table is part of a secret.
    fn table(&mut self, table: &DeTable<'_>, inside: Content, is_secret: bool) {
        for (key, value) in table.iter() {
            self.shown.push(key.span());
            let name = key.get_ref().as_ref();
            let (kind, has_secret_name) = match inside {
                Content::Keys(keys) | Content::StringOrKeys(keys) => {
                    let found = own_key(keys, name);
                    if found.is_some_and(|key| is_secret_prefix(keys, key, value.get_ref())) {
                        self.masked.push(value.span());
                        continue;
                    }
                    (found.map(|key| &key.kind), is_secret_name(found.map_or(name, |key| key.name)))
                }
                // The name of a plugin doesn't say anything about its table.
                Content::Named(kind @ ValueKind::Table(keys)) if !is_header(keys) => (Some(kind), false),
                Content::Named(kind) => (Some(kind), is_secret_name(name)),
                Content::Nothing | Content::Items(_) | Content::Settings => (None, is_secret_name(name)),
            };
            self.value(value, kind, is_secret || has_secret_name);
        }
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>, kind: Option<&ValueKind>, is_secret: bool) {
        let inside = kind.map_or(Content::Nothing, ValueKind::content);
        let is_secret = is_secret || matches!(kind, None | Some(ValueKind::Settings));
        match value.get_ref() {
            DeValue::Table(table)
                if is_secret_ref(table) && table.values().all(|value| value.get_ref().is_str()) =>
            {
                self.shown.extend(table.iter().flat_map(|(key, value)| [key.span(), value.span()]));
            }
            DeValue::Table(table) => self.table(table, inside, is_secret),
            DeValue::Array(items) => {
                let item = match inside {
                    Content::Items(kind) => Some(kind),
                    _ => None,
                };
                items.iter().for_each(|value| self.value(value, item, is_secret));
            }
            leaf => {
                let is_own = kind.is_some_and(|kind| {
                    matches!(kind, ValueKind::StringOrTable(..))
                        || matches!(kind.content(), Content::Nothing) && !matches!(kind, ValueKind::Secret)
                });
                let text = leaf.as_str().unwrap_or_default();
                let is_masked = is_secret && !is_own && !leaf.is_bool() && !is_single_variable(text);
                let spans =
                    if is_masked || contains_secret(text) { &mut self.masked } else { &mut self.shown };
                spans.push(value.span());
            }
        }
    }
}

/// The key with this name, or the one with the nearest name.
fn own_key<'k>(keys: &'k [Key], name: &str) -> Option<&'k Key> {
    let find = |name: &str| keys.iter().find(|key| key.name == name);
    find(name).or_else(|| find(alike(name, keys.iter().map(|key| key.name))?))
}

fn is_header(keys: &[Key]) -> bool {
    std::ptr::eq(keys, HEADER)
}

/// Reports whether the prefix of a header can be the secret itself.
fn is_secret_prefix(keys: &[Key], key: &Key, value: &DeValue<'_>) -> bool {
    let is_harmless = |text: &str| is_auth_scheme(text) || is_single_variable(text);
    is_header(keys) && key.name == "prefix" && !value.as_str().is_some_and(is_harmless)
}

/// A file that isn't valid TOML, with everything masked except keys, headers and punctuation.
pub(crate) fn redact_invalid(text: &str) -> String {
    let mut spans = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let shown = match line.split_once('=') {
            Some((key, _)) if is_plain_key(key) => key.len(),
            _ if is_own_header(line) => line.find('#').unwrap_or(line.len()),
            Some(_) | None => 0,
        };
        spans.push(start + shown..start + line.len());
        start += line.len();
    }
    masked_text(text, spans)
}

/// Reports whether it looks like a key, and not like the end of a secret in Base64.
fn is_plain_key(key: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_lowercase() || "_-. \t\"'".contains(c);
    key.len() <= MAX_SHOWN_KEY_CHARS && key.replace("sha256", "sha").chars().all(is_allowed)
}

/// Reports whether it is the header of one of the gateway's own tables, perhaps an invalid one.
fn is_own_header(line: &str) -> bool {
    let header = line.split('#').next().unwrap_or_default().trim();
    let name = header.trim_matches(['[', ']']);
    let first = name.split(['.', ' ']).next().unwrap_or_default();
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "_-. \"'".contains(c);
    header.starts_with('[') && ROOT.iter().any(|key| key.name == first) && name.chars().all(is_allowed)
}

/// The text with everything in these spans masked, except white space and TOML punctuation.
fn masked_text(text: &str, mut spans: Vec<Range<usize>>) -> String {
    spans.sort_by_key(|span| span.start);
    let mut out = String::with_capacity(text.len());
    for span in spans {
        let span = span.start.max(out.len())..span.end.max(out.len());
        let (Some(before), Some(masked)) = (text.get(out.len()..span.start), text.get(span)) else {
            continue;
        };
        out.push_str(before);
        for c in masked.chars() {
            match c {
                c if c.is_whitespace() || "[]{}\"'=,#:".contains(c) => out.push(c),
                '“' | '”' | '„' | '‘' | '’' => out.push(c), // errors point at them
                c => out.extend(std::iter::repeat_n('*', c.len_utf8())),
            }
        }
    }
    out.push_str(&text[out.len()..]);
    out
}

/// Removes masked values from the texts of a diagnostic about the same lines. `masked` is in order.
pub(crate) fn scrub(problem: Diagnostic, text: &str, masked: &[Range<usize>]) -> Diagnostic {
    let Some(place) = &problem.span else { return problem };
    let end = place.end.min(text.len());
    let start = text.as_bytes()[..place.start.min(end)].iter().rposition(|byte| *byte == b'\n');
    let end = text.as_bytes()[end..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |at| end + at);
    let first = masked.partition_point(|span| span.end <= start.unwrap_or(0));
    let here = masked[first..].iter().take_while(|span| span.start < end);
    let values: Vec<&str> = here
        .filter_map(|span| Some(text.get(span.clone())?.trim_matches(['"', '\''])))
        .filter(|value| value.len() >= MIN_DISTINCTIVE_BYTES)
        .collect();
    let clean = |text: String| values.iter().fold(text, |text, value| text.replace(value, "…"));
    let Diagnostic { message, label, hint, .. } = problem;
    Diagnostic { message: clean(message), label: label.map(clean), hint: hint.map(clean), ..problem }
}

#[cfg(test)]
mod tests;
