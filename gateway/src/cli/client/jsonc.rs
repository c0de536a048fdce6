//! Sets one member in the text of a JSON file, and keeps everything else as it is: comments, trailing commas, order and
//! indentation.
//!
//! Comments and trailing commas are replaced by blanks of the same length. The result is strict JSON, whose values are
//! at the same places as in the original text, so that an edit only replaces or inserts text. Every edit is checked by
//! reading its result.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The indentation of a new file.
const DEFAULT_INDENT: &str = "  ";

/// A file that can't be edited.
#[derive(Debug, thiserror::Error)]
pub(super) enum JsonEditError {
    #[error("it isn't valid JSON: {0}")]
    Syntax(#[from] serde_json::Error),
    #[error("`{0}` isn't an object")]
    NotAnObject(String),
    #[error("the edit failed")]
    Unexpected,
}

/// The value at a path. `None` if there is none.
///
/// # Errors
/// The text isn't JSON with comments.
pub(super) fn member(text: &str, path: &[&str]) -> Result<Option<Value>, JsonEditError> {
    let mut value: Value = parse(&Blanked::new(text))?;
    for name in path {
        match value.get_mut(*name) {
            Some(inner) => value = inner.take(),
            None => return Ok(None),
        }
    }
    Ok(Some(value))
}

/// The text with the member at `path` set to `value`. Objects on the way are created.
///
/// # Errors
/// The text isn't JSON with comments, or a value on the way isn't an object.
pub(super) fn set_member(text: &str, path: &[&str], value: &Value) -> Result<String, JsonEditError> {
    let blanked = Blanked::new(text);
    let before: Value = parse(&blanked)?;
    let style = TextStyle::of(text);
    let mut edited = text.to_owned();
    if blanked.text.trim().is_empty() {
        let root = style.render(&nested(path, value), 0);
        edited.push_str(&format!("{root}{}", style.line_end));
    } else {
        let start = blanked.text.len() - blanked.text.trim_start().len();
        let root = start..blanked.text.trim_end().len();
        for (range, new) in edits(&blanked, root, path, value, &style)?.into_iter().rev() {
            edited.replace_range(range, &new);
        }
    }
    let mut expected = before;
    set_value(&mut expected, path, value);
    let after: Value = parse(&Blanked::new(&edited))?;
    if after == expected { Ok(edited) } else { Err(JsonEditError::Unexpected) }
}

/// The value of a text; an empty one is an empty object.
fn parse(blanked: &Blanked) -> Result<Value, JsonEditError> {
    if blanked.text.trim().is_empty() {
        return Ok(json!({}));
    }
    let value: Value = serde_json::from_str(&blanked.text)?;
    if value.is_object() { Ok(value) } else { Err(JsonEditError::NotAnObject("the file".to_owned())) }
}

/// Objects around a value.
fn nested(path: &[&str], value: &Value) -> Value {
    path.iter().rev().fold(value.clone(), |inner, name| json!({ *name: inner }))
}

fn set_value(object: &mut Value, path: &[&str], value: &Value) {
    match path {
        [] => *object = value.clone(),
        [name, rest @ ..] => set_value(&mut object[*name], rest, value),
    }
}

/// A text without comments and trailing commas, of the same length.
struct Blanked {
    text: String,
    /// The places of the trailing commas.
    trailing_commas: Vec<usize>,
}

impl Blanked {
    fn new(text: &str) -> Self {
        let mut bytes = text.as_bytes().to_vec();
        let mut trailing_commas = Vec::new();
        let mut last_comma = None;
        let mut at = 0;
        while let Some(byte) = text.as_bytes().get(at).copied() {
            let end = match byte {
                b'"' => string_end(text, at),
                b'/' => match comment_end(text, at) {
                    Some(end) => {
                        blank(&mut bytes[at..end]);
                        at = end;
                        continue;
                    }
                    None => at + 1,
                },
                _ => at + 1,
            };
            match byte {
                b',' => last_comma = Some(at),
                b'}' | b']' => {
                    if let Some(comma) = last_comma.take() {
                        bytes[comma] = b' ';
                        trailing_commas.push(comma);
                    }
                }
                _ if byte.is_ascii_whitespace() => {}
                _ => last_comma = None,
            }
            at = end;
        }
        // Only ASCII characters and whole comments were replaced.
        let text = String::from_utf8(bytes).unwrap_or_default();
        Self { text, trailing_commas }
    }
}

/// Replaces everything but line ends with spaces.
fn blank(bytes: &mut [u8]) {
    bytes.iter_mut().filter(|byte| !matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
}

/// The end of the string that starts at `start`.
fn string_end(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The end of the comment that starts at `start`, if there is one.
fn comment_end(text: &str, start: usize) -> Option<usize> {
    let rest = &text[start..];
    if rest.starts_with("//") {
        Some(rest.find('\n').map_or(text.len(), |at| start + at))
    } else if rest.starts_with("/*") {
        Some(rest.find("*/").map_or(text.len(), |at| start + at + 2))
    } else {
        None
    }
}

/// The indentation and line ends of a text.
struct TextStyle {
    indent: String,
    line_end: &'static str,
}

impl TextStyle {
    fn of(text: &str) -> Self {
        let indented = text.lines().find(|line| line.trim_start().starts_with('"') && !line.starts_with('"'));
        let indent = indented.map_or(DEFAULT_INDENT, |line| &line[..line.len() - line.trim_start().len()]);
        let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Self { indent: indent.to_owned(), line_end }
    }

    /// A line end and the indentation at this depth.
    fn line_start(&self, depth: usize) -> String {
        format!("{}{}", self.line_end, self.indent.repeat(depth))
    }

    /// A value, indented for this depth except for its first line.
    fn render(&self, value: &Value, depth: usize) -> String {
        let pretty = format!("{value:#}");
        let mut lines = pretty.lines();
        let mut text = lines.next().unwrap_or_default().to_owned();
        for line in lines {
            let content = line.trim_start_matches(' ');
            let level = (line.len() - content.len()) / DEFAULT_INDENT.len();
            text.push_str(&self.line_start(depth + level));
            text.push_str(content);
        }
        text
    }
}

/// The replacements in the object at `object` that set the member, in the order of the text.
fn edits(
    blanked: &Blanked,
    object: Range<usize>,
    path: &[&str],
    value: &Value,
    style: &TextStyle,
) -> Result<Vec<(Range<usize>, String)>, JsonEditError> {
    let mut object = object;
    for (depth, name) in path.iter().enumerate() {
        let rest = &path[depth + 1..];
        let members: BTreeMap<String, &RawValue> = serde_json::from_str(&blanked.text[object.clone()])?;
        let place = |raw: &RawValue| {
            let start = raw.get().as_ptr() as usize - blanked.text.as_ptr() as usize;
            start..start + raw.get().len()
        };
        match members.get(*name).map(|raw| place(raw)) {
            Some(found) if rest.is_empty() => return Ok(vec![(found, style.render(value, depth + 1))]),
            Some(found) if blanked.text[found.clone()].starts_with('{') => object = found,
            Some(_) => return Err(JsonEditError::NotAnObject((*name).to_owned())),
            None => {
                let value = style.render(&nested(rest, value), depth + 1);
                let new = format!("{}: {value}", Value::from(*name));
                let last = members.values().map(|raw| place(raw).end).max();
                return Ok(insertion(blanked, &object, last, &new, depth + 1, style));
            }
        }
    }
    Err(JsonEditError::Unexpected)
}

/// The replacements that add a member to an object, whose last member ends at `last`.
fn insertion(
    blanked: &Blanked,
    object: &Range<usize>,
    last: Option<usize>,
    new: &str,
    depth: usize,
    style: &TextStyle,
) -> Vec<(Range<usize>, String)> {
    let close = object.end - 1;
    let line = format!("{}{new}", style.line_start(depth));
    let Some(last) = last else {
        let start = object.start + 1;
        return vec![(start..start, format!("{line}{}", style.line_start(depth - 1)))];
    };
    let trailing_comma = blanked.trailing_commas.iter().copied().find(|comma| (last..close).contains(comma));
    let end = trailing_comma.map_or(last, |comma| comma + 1);
    // A comment on the same line stays with the member that it is about.
    let line_end = blanked.text[end..close].find(['\r', '\n']).map(|at| end + at);
    match (trailing_comma, line_end) {
        (Some(_), Some(line_end)) => vec![(line_end..line_end, format!("{line},"))],
        (Some(_), None) => vec![(end..end, format!(" {new},"))],
        (None, Some(line_end)) => vec![(last..last, ",".to_owned()), (line_end..line_end, line)],
        (None, None) => vec![(last..last, format!(", {new}"))],
    }
}

#[cfg(test)]
mod tests;
