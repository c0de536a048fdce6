//! From a part of a text to its place in the file: through variables that were filled in, and through TOML's escapes.
//!
//! Where the two can't be told apart any more (a variable's own value, a line break that the parser changed) the place
//! is what stands in the file for it: the use of the variable, or the whole value.

use std::ops::Range;

use crate::config::read::reader::{Reading, Text};

/// A stretch of a text whose variables are filled in, and the stretch of the parsed value that it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct Run {
    pub(in crate::config) filled: Range<usize>,
    pub(in crate::config) parsed: Range<usize>,
}

impl Run {
    /// Was it taken over as it is? Then each of its bytes has its own place.
    fn is_plain(&self) -> bool {
        self.filled.len() == self.parsed.len()
    }
}

impl Reading<'_> {
    /// Where in the file the bytes `part` of a text stand.
    pub(in crate::config) fn part(&self, text: &Text, part: Range<usize>) -> Range<usize> {
        let written = self.text.get(text.place.clone()).unwrap_or("");
        written_part(written, &text.parsed, parsed_part(&text.runs, part)).map_or_else(
            || text.place.clone(),
            |found| text.place.start + found.start..text.place.start + found.end,
        )
    }
}

/// The stretch of the parsed value that a stretch of the filled text comes from.
fn parsed_part(runs: &[Run], part: Range<usize>) -> Range<usize> {
    let start = runs.iter().find(|run| part.start < run.filled.end).or(runs.last());
    let end = runs.iter().find(|run| part.end <= run.filled.end).or(runs.last());
    let start = start.map_or(0, |run| {
        let inside = part.start.saturating_sub(run.filled.start);
        if run.is_plain() { (run.parsed.start + inside).min(run.parsed.end) } else { run.parsed.start }
    });
    let end = end.map_or(0, |run| {
        let inside = part.end.saturating_sub(run.filled.start);
        if run.is_plain() { (run.parsed.start + inside).min(run.parsed.end) } else { run.parsed.end }
    });
    start..end.max(start)
}

/// The bytes of a literal, quotes included, that the bytes `part` of its value were written as; none where that can't
/// be told.
pub(in crate::config) fn written_part(written: &str, value: &str, part: Range<usize>) -> Option<Range<usize>> {
    let (read, places) = unescape(written)?;
    if read != value {
        return None;
    }
    let start = places.get(part.start).map(|place| place.start);
    let end = part.end.checked_sub(1).filter(|_| part.end > part.start);
    let end = end.and_then(|last| places.get(last)).map(|place| place.end);
    match (start, end) {
        (Some(start), Some(end)) => Some(start..end),
        (Some(start), None) => Some(start..start),
        // At the very end: before the closing quote.
        (None, _) => {
            let end = places.last().map_or_else(|| quotes(written), |place| place.end);
            Some(end..end)
        }
    }
}

/// How many characters open a literal.
fn quotes(written: &str) -> usize {
    if written.starts_with("\"\"\"") || written.starts_with("'''") { 3 } else { 1 }
}

/// Reads a literal as TOML does, with the place of what each byte of its value was written as.
fn unescape(written: &str) -> Option<(String, Vec<Range<usize>>)> {
    let quotes = quotes(written);
    let has_escapes = written.starts_with('"');
    let mut at = quotes;
    let end = written.len().checked_sub(quotes).filter(|end| *end >= at)?;
    if quotes == 3 {
        let rest = &written[at..];
        at += if rest.starts_with("\r\n") { 2 } else { usize::from(rest.starts_with('\n')) };
    }
    let (mut value, mut places) = (String::new(), Vec::new());
    while at < end {
        let rest = written.get(at..end)?;
        let first = rest.chars().next()?;
        let (c, length) = match first {
            '\\' if has_escapes => match escape(rest)? {
                Escape::Stands(c, length) => (c, length),
                Escape::Nothing(length) => {
                    at += length;
                    continue;
                }
            },
            c => (c, c.len_utf8()),
        };
        value.push(c);
        places.extend(std::iter::repeat_n(at..at + length, c.len_utf8()));
        at += length;
    }
    Some((value, places))
}

/// What stands where a backslash begins.
enum Escape {
    /// A character, and how many bytes it was written as.
    Stands(char, usize),
    /// The end of a line that goes on in the next one.
    Nothing(usize),
}

fn escape(rest: &str) -> Option<Escape> {
    let code = |digits: usize| {
        let number = u32::from_str_radix(rest.get(2..2 + digits)?, 16).ok()?;
        Some(Escape::Stands(char::from_u32(number)?, 2 + digits))
    };
    let stands = |c| Some(Escape::Stands(c, 2));
    match rest[1..].chars().next()? {
        'b' => stands('\u{8}'),
        't' => stands('\t'),
        'n' => stands('\n'),
        'f' => stands('\u{c}'),
        'r' => stands('\r'),
        'e' => stands('\u{1b}'),
        '"' => stands('"'),
        '\\' => stands('\\'),
        'x' => code(2),
        'u' => code(4),
        'U' => code(8),
        ' ' | '\t' | '\r' | '\n' => {
            let blank = rest[1..].find(|c: char| !matches!(c, ' ' | '\t' | '\r' | '\n'));
            Some(Escape::Nothing(1 + blank.unwrap_or(rest.len() - 1)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
