//! Regular expressions as JSON Schema defines them (ECMA-262), for the engine, whose syntax is similar.
//!
//! The validator translates classes such as `\d`. This module does the rest: constructs that the engine reads
//! differently, and lookahead directly after `^`, which becomes an expression of its own. Lookahead elsewhere,
//! lookbehind and backreferences can't be matched in linear time.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use jsonschema::{Keyword, PatternOptions, ValidationError, Validator};
use serde_json::{Map, Value, json};

use crate::check_meter;
use crate::tape::{TapeJson, TapeNode};

use super::pattern::pattern_places;

/// The compiled size of one regular expression, in bytes: enough for a bounded repetition of a large class.
pub(super) const MAX_PATTERN_SIZE: usize = 1 << 20;

/// The compiled regular expressions of a schema, by their text.
pub(super) type PatternMatchers = HashMap<String, Arc<PatternMatcher>>;

/// A compiled regular expression.
#[derive(Debug)]
pub(super) struct PatternMatcher {
    /// The text in the schema.
    pattern: String,
    /// The expressions that have to match.
    required: Vec<Validator<TapeJson>>,
    /// The expressions that must not match.
    forbidden: Vec<Validator<TapeJson>>,
    /// The number of places where a match can be in progress.
    pub(super) places: u64,
}

/// The reason that a regular expression can't be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatternError {
    Invalid,
    Lookahead,
    LookaheadInName,
    Lookbehind,
    Backreference,
    Surrogate,
    TooLarge,
    UnknownProperty,
}

impl PatternError {
    /// The message, for a pattern.
    pub(super) fn message(self, pattern: &str) -> String {
        let pattern = super::describe::quote(pattern);
        let reason = match self {
            Self::Invalid => return format!("invalid regular expression `{pattern}`"),
            Self::Lookahead => "lookahead is only supported directly after `^`",
            Self::LookaheadInName => "lookahead isn't supported in `patternProperties`",
            Self::Lookbehind => "lookbehind isn't supported",
            Self::Backreference => "backreferences aren't supported",
            Self::Surrogate => r"single surrogates aren't supported; write `\u{…}`",
            Self::TooLarge => "it is too large; use smaller repetitions",
            Self::UnknownProperty => "unknown Unicode property, or too large",
        };
        format!("unsupported regular expression `{pattern}`: {reason}")
    }
}

impl PatternMatcher {
    /// Compiles the value of `pattern`.
    pub(super) fn compile(pattern: &str) -> Result<Self, PatternError> {
        let LookaheadParts { required, forbidden } = split_lookaheads(pattern)
            .unwrap_or_else(|| LookaheadParts { required: vec![pattern.to_owned()], forbidden: Vec::new() });
        let mut places: u64 = 0;
        let mut compile_all = |parts: Vec<String>| {
            let compile = |part: String| {
                let translated = translate(&part)?;
                places = places.saturating_add(pattern_places(&translated));
                compile_part(&translated)
            };
            parts.into_iter().map(compile).collect::<Result<Vec<_>, _>>()
        };
        let required = compile_all(required)?;
        let forbidden = compile_all(forbidden)?;
        Ok(Self { pattern: pattern.to_owned(), required, forbidden, places })
    }

    /// Compiles a name in `patternProperties`.
    pub(super) fn compile_name(pattern: &str) -> Result<Self, PatternError> {
        let translated = translate(pattern).map_err(|error| match error {
            PatternError::Lookahead => PatternError::LookaheadInName,
            other => other,
        })?;
        let required = vec![compile_part(&translated)?];
        let places = pattern_places(&translated);
        Ok(Self { pattern: pattern.to_owned(), required, forbidden: Vec::new(), places })
    }

    /// The number of expressions that a pattern is split into.
    pub(super) fn count(pattern: &str) -> usize {
        split_lookaheads(pattern).map_or(1, |parts| parts.required.len() + parts.forbidden.len())
    }

    fn matches(&self, value: TapeNode<'_>) -> bool {
        let Some(text) = value.string() else { return true };
        check_meter::may_match(self.places.saturating_mul(text.len() as u64))
            && (self.required.iter().all(|part| part.is_valid(value))
                && !self.forbidden.iter().any(|part| part.is_valid(value)))
    }
}

/// The keyword `pattern`.
pub(super) struct PatternKeyword(Arc<PatternMatcher>);

impl PatternKeyword {
    /// The keyword with this value. Values in parts of the schema that nothing refers to aren't compiled beforehand.
    pub(super) fn of(value: &Value, known: &PatternMatchers) -> Result<Self, ValidationError<'static>> {
        let Some(pattern) = value.as_str() else {
            return Err(ValidationError::custom("`pattern` must be a string"));
        };
        if let Some(matcher) = known.get(pattern) {
            return Ok(Self(Arc::clone(matcher)));
        }
        let compiled = PatternMatcher::compile(pattern);
        compiled
            .map(|matcher| Self(Arc::new(matcher)))
            .map_err(|error| ValidationError::custom(error.message(pattern)))
    }
}

impl<'i> Keyword<'i, TapeJson> for PatternKeyword {
    /// The error's message is the pattern.
    fn validate(&self, value: TapeNode<'i>) -> Result<(), ValidationError<'i>> {
        if self.0.matches(value) { Ok(()) } else { Err(ValidationError::custom(&self.0.pattern)) }
    }

    fn is_valid(&self, value: TapeNode<'i>) -> bool {
        self.0.matches(value)
    }
}

/// Options for expressions that are matched in linear time.
pub(super) fn pattern_options() -> PatternOptions<jsonschema::Regex> {
    PatternOptions::regex().size_limit(MAX_PATTERN_SIZE)
}

/// Translates the names in every `patternProperties`.
pub(super) fn translate_names(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::Object(named)) = members.get_mut("patternProperties") {
                let is_plain = |name: &String| matches!(translate(name), Ok(Cow::Borrowed(_)) | Err(_));
                if !named.keys().all(is_plain) {
                    let translated = std::mem::take(named).into_iter().map(|(name, schema)| {
                        let translated = translate(&name).map(Cow::into_owned);
                        (translated.unwrap_or(name), schema)
                    });
                    // Two names can become one, whose schemas then both apply.
                    let mut all = Map::new();
                    for (name, schema) in translated {
                        match all.get_mut(&name) {
                            Some(other) => *other = json!({ "allOf": [std::mem::take(other), schema] }),
                            None => drop(all.insert(name, schema)),
                        }
                    }
                    *named = all;
                }
            }
            members.values_mut().for_each(translate_names);
        }
        Value::Array(items) => items.iter_mut().for_each(translate_names),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Compiles one translated expression.
fn compile_part(translated: &str) -> Result<Validator<TapeJson>, PatternError> {
    let compiled = jsonschema::options_for::<TapeJson>()
        .with_pattern_options(pattern_options())
        .offline()
        .build(&json!({ "pattern": translated }));
    compiled.map_err(|_| {
        let syntax = jsonschema::options().should_validate_formats(true).build(&json!({ "format": "regex" }));
        let is_valid = syntax.is_ok_and(|syntax| syntax.is_valid(&json!(translated)));
        match is_valid {
            false => PatternError::Invalid,
            true if translated.contains(r"\p{") || translated.contains(r"\P{") => {
                PatternError::UnknownProperty
            }
            true => PatternError::TooLarge,
        }
    })
}

/// The parts of an expression that starts with `^` and lookahead.
#[derive(Debug, Default, PartialEq, Eq)]
struct LookaheadParts {
    required: Vec<String>,
    forbidden: Vec<String>,
}

/// Splits `^(?=A)(?!B)C` into `^(?:A)` and `^(?:C)`, which have to match, and `^(?:B)`, which must not. `None` if the
/// expression doesn't have this form.
fn split_lookaheads(pattern: &str) -> Option<LookaheadParts> {
    let mut rest = pattern.strip_prefix('^')?;
    let mut parts = LookaheadParts::default();
    while let Some(after) = rest.strip_prefix("(?=").or_else(|| rest.strip_prefix("(?!")) {
        let end = find_outside_groups(after, ')')?;
        let list = if rest.starts_with("(?=") { &mut parts.required } else { &mut parts.forbidden };
        list.push(format!("^(?:{})", &after[..end]));
        rest = &after[end + 1..];
    }
    let has_lookaheads = !parts.required.is_empty() || !parts.forbidden.is_empty();
    if !has_lookaheads || rest.starts_with(['*', '+', '?', '{']) || find_outside_groups(rest, '|').is_some() {
        return None;
    }
    parts.required.push(format!("^(?:{rest})"));
    Some(parts)
}

/// The position of the first `wanted` outside escapes, classes and groups.
fn find_outside_groups(pattern: &str, wanted: char) -> Option<usize> {
    let mut depth = 0_usize;
    let mut is_in_class = false;
    let mut characters = pattern.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '\\' => drop(characters.next()),
            '[' if !is_in_class => is_in_class = true,
            ']' if is_in_class => is_in_class = false,
            _ if is_in_class => {}
            _ if c == wanted && depth == 0 => return Some(at),
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    None
}

/// Replaces constructs that the engine reads differently.
pub(super) fn translate(pattern: &str) -> Result<Cow<'_, str>, PatternError> {
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern;
    let mut is_in_class = false;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let (length, replacement): (usize, Cow<'_, str>) = match c {
            '\\' => translate_escape(rest, is_in_class)?,
            '[' if is_in_class => (1, r"\[".into()),
            '[' if after.starts_with(']') => (2, r"[^\s\S]".into()),
            '[' if after.starts_with("^]") => (3, r"[\s\S]".into()),
            '[' => {
                is_in_class = true;
                let length = if after.starts_with('^') { 2 } else { 1 };
                (length, rest[..length].into())
            }
            ']' if is_in_class => {
                is_in_class = false;
                (1, "]".into())
            }
            _ if is_in_class => (c.len_utf8(), rest[..c.len_utf8()].into()),
            '(' if after.starts_with("?=") || after.starts_with("?!") => return Err(PatternError::Lookahead),
            '(' if after.starts_with("?<=") || after.starts_with("?<!") => {
                return Err(PatternError::Lookbehind);
            }
            '{' if !is_repetition(after) => (1, r"\{".into()),
            '{' => {
                let length = rest.find('}').map_or(1, |end| end + 1);
                (length, rest[..length].into())
            }
            '}' => (1, r"\}".into()),
            ']' => (1, r"\]".into()),
            _ => (c.len_utf8(), rest[..c.len_utf8()].into()),
        };
        out.push_str(&replacement);
        rest = &rest[length..];
    }
    Ok(if out == pattern { Cow::Borrowed(pattern) } else { Cow::Owned(out) })
}

/// The length of the escape at the start of `text`, and its replacement.
fn translate_escape(text: &str, is_in_class: bool) -> Result<(usize, Cow<'_, str>), PatternError> {
    let Some(escaped) = text[1..].chars().next() else { return Ok((1, text[..1].into())) };
    let length = 1 + escaped.len_utf8();
    let after = &text[length..];
    let unchanged = |length: usize| (length, Cow::Borrowed(&text[..length]));
    Ok(match escaped {
        '0' if !after.starts_with(|next: char| next.is_ascii_digit()) => (length, r"\x00".into()),
        'b' if is_in_class => (length, r"\x08".into()),
        '1'..='9' if !is_in_class => return Err(PatternError::Backreference),
        'k' if after.starts_with('<') => return Err(PatternError::Backreference),
        // The engine has its own meaning for the first two, and refuses the others.
        '<' | '>' => (length, text[1..length].into()),
        _ if !escaped.is_ascii() => (length, text[1..length].into()),
        'p' | 'P' | 'u' | 'x' if after.starts_with('{') => {
            unchanged(text.find('}').map_or(length, |end| end + 1))
        }
        'u' => match (code_unit(text), text.get(6..).and_then(code_unit)) {
            (Some(high @ 0xd800..=0xdbff), Some(low @ 0xdc00..=0xdfff)) => {
                let point = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                (12, format!(r"\u{{{point:x}}}").into())
            }
            (Some(0xd800..=0xdfff), _) => return Err(PatternError::Surrogate),
            _ => unchanged(length),
        },
        _ => unchanged(length),
    })
}

/// The number in `\uXXXX` at the start of `text`.
fn code_unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix(r"\u")?.get(..4)?;
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

/// Reports whether `{` and the text after it are a repetition.
fn is_repetition(after: &str) -> bool {
    let Some((bounds, _)) = after.split_once('}') else { return false };
    let (least, most) = bounds.split_once(',').unwrap_or((bounds, ""));
    let is_number = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    is_number(least) && is_number(most) && !(least.is_empty() && most.is_empty())
}

#[cfg(test)]
mod tests;
