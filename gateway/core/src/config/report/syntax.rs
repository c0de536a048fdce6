//! Text that is no TOML: what the parser found, in the words of whoever wrote it.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;

use toml::de::{DeTable, DeValue, Error};

use self::slips::Slip;
use self::unclosed::{Unclosed, is_header, unclosed};
use crate::config::model::diagnostic::Problem;

mod slips;
mod unclosed;

/// Quotes that only look like those of TOML: word processors and web pages make them.
const CURLY: [char; 7] = ['“', '”', '„', '‘', '’', '«', '»'];

/// What is wrong: of each line the first thing, because the others mostly follow from it.
pub(in crate::config) fn problems(errors: &[Error], parsed: &DeTable<'_>, text: &str) -> Vec<Problem> {
    if let Some(problem) = another_format(text) {
        return vec![problem];
    }
    let earlier = Earlier::new(parsed);
    let mut problems: Vec<Problem> =
        first_of_lines(errors, text).into_iter().map(|error| problem(error, &earlier, text)).collect();
    if let Some(Unclosed { opened, found, close }) = unclosed(errors, text) {
        let is_before = |problem: &Problem, at| problem.place.as_ref().is_some_and(|place| place.start < at);
        problems.retain(|problem| is_before(problem, found));
        // One behind its beginning, such as a quote that is missing, explains it.
        if problems.iter().all(|problem| is_before(problem, opened)) {
            let what = if close == ']' { "list" } else { "table" };
            let problem =
                Problem::error(format!("this isn't TOML: the {what} that begins here is never closed"));
            let is_on_its_line = |before: &Problem| {
                let at = before.place.as_ref().map_or(0, |place| place.start);
                !text.as_bytes()[at..opened].contains(&b'\n')
            };
            if !problems.last().is_some_and(is_on_its_line) {
                problems.push(problem.at(opened..opened + 1).hint(format!("close it with `{close}`")));
            }
        }
    }
    let mut inside = 0;
    problems.retain(|problem| {
        let Some(at) = problem.place.as_ref().map(|place| place.start.min(text.len())) else { return true };
        let is_inside = at < inside;
        let hint = problem.hint.as_deref().unwrap_or_default();
        let explained = slips::end_of_comment(at, text).or_else(|| slips::end_of_second(at, hint, text));
        inside = inside.max(explained.unwrap_or(0));
        !is_inside
    });
    problems
}

/// Of each line the first error, in the order of the lines: only these are worded.
fn first_of_lines<'e>(errors: &'e [Error], text: &str) -> Vec<&'e Error> {
    let start = |error: &Error| error.span().map_or(0, |place| place.start.min(text.len()));
    let mut errors: Vec<_> = errors.iter().collect();
    errors.sort_by_key(|error| start(error));
    let mut last = None;
    errors.retain(|error| {
        let at = start(error);
        let between = last.replace(at).map(|last| &text.as_bytes()[last..at]);
        between.is_none_or(|between| between.contains(&b'\n'))
    });
    errors
}

/// Where the line begins that this byte is in.
fn line_start(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)
}

/// Is the whole file written in something else?
fn another_format(text: &str) -> Option<Problem> {
    let start = text.trim_start_matches('\u{feff}');
    let at = text.len() - start.trim_start().len();
    let is_json = text[at..].starts_with('{');
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let is_yaml =
        !text.contains('=') && lines.next().is_some_and(|line| line == "---" || colon(line).is_some());
    let format = match (is_json, is_yaml) {
        (true, _) => "JSON",
        (false, true) => "YAML",
        (false, false) => return None,
    };
    let problem = Problem::error(format!("this file is written in {format}, and the gateway reads TOML"));
    let problem = problem.at(at..at + 1);
    let begin = "begin with `version = 1`; a plugin is a table `[plugins.name]` with `source = \"name.wasm\"` below it";
    Some(if text.contains("mcpServers") {
        problem.hint(format!(
            "this is a client's configuration, and stays in the client's own file; write another for the gateway: {begin}"
        ))
    } else {
        problem.hint(begin)
    })
}

/// The key before a `:` where a `=` should be, and where in the line that stands.
fn colon(line: &str) -> Option<usize> {
    let at = line.find(':')?;
    let key = line[..at].trim().trim_matches(['"', '\'']);
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    let ends = line[at + 1..].chars().next().is_none_or(|c| c.is_whitespace() || "\"'[{".contains(c));
    (is_key && ends).then_some(at)
}

fn problem(error: &Error, earlier: &Earlier<'_>, text: &str) -> Problem {
    let place = error.span().unwrap_or(0..0);
    let place = place.start.min(text.len())..place.end.min(text.len());
    let start = line_start(text, place.start);
    let line = text[start..].split('\n').next().unwrap_or_default();
    let at = |found: usize, length: usize| start + found..start + found + length;
    if let Some(Slip { found, length, what, cure }) = slips::slip(line) {
        return Problem::error(format!("this isn't TOML: {what}")).at(at(found, length)).hint(cure);
    }
    if error.message() == "duplicate key" {
        return twice(place, earlier, text);
    }
    let (place, what, cure) = if let Some((found, length, what, cure)) = slip(line) {
        (at(found, length), what, cure)
    } else if let Some((found, c)) =
        line.char_indices().find(|(at, c)| CURLY.contains(c) && is_outside(line, *at))
    {
        (at(found, c.len_utf8()), "these quotes are typographic ones", "write straight ones, `\"` or `'`")
    } else if let Some(found) =
        colon(line).filter(|found| error.message().contains("`=`") || place.start == start + found)
    {
        (at(found, 1), "`=` stands between key and value, not `:`", "write `=` instead")
    } else {
        let (what, cure) = in_words(error.message(), line);
        (place, what, cure)
    };
    Problem::error(format!("this isn't TOML: {what}")).at(place).hint(cure)
}

/// What people write who are used to other languages: where in the line, how long, and what to write instead.
fn slip(line: &str) -> Option<(usize, usize, &'static str, &'static str)> {
    let end = line.trim_end().len();
    let (key, value) = line.split_once('=').unwrap_or((line, ""));
    let start = line.len() - value.trim_start().len();
    let word = value.trim().split([' ', '\t', '#', ',', ';']).next().unwrap_or_default();
    let is = |words: [&str; 3]| word.len() > 1 && words.iter().any(|it| word.eq_ignore_ascii_case(it));
    let name = key.trim();
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_-. ".contains(c);
    if is(["yes", "on", "true"]) && word != "true" {
        Some((start, word.len(), "a switch is `true` or `false`", "write `true`"))
    } else if is(["no", "off", "false"]) && word != "false" {
        Some((start, word.len(), "a switch is `true` or `false`", "write `false`"))
    } else if line[..end].ends_with(';') && is_outside(line, end) {
        Some((end - 1, 1, "no `;` ends a line", "leave it away"))
    } else if let Some(found) = line.find(" //").filter(|found| is_outside(line, *found)) {
        Some((found + 1, 2, "a comment begins with `#`", "write `#` instead of `//`"))
    } else if value.trim_start().starts_with('(') {
        Some((start, 1, "a list stands in `[]`", "write it as `[\"a\", \"b\"]`"))
    } else if !value.is_empty() && name.contains(' ') && name.chars().all(is_word) {
        let found = line.find(name)?;
        Some((found, name.len(), "a key holds no blanks", "write `_` instead of each blank"))
    } else {
        None
    }
}

/// Is this place in a line outside of texts in straight quotes?
fn is_outside(line: &str, at: usize) -> bool {
    ['"', '\''].iter().all(|quote| line[..at].matches(*quote).count() % 2 == 0)
}

/// A key or a table that stands there already.
fn twice(place: Range<usize>, earlier: &Earlier<'_>, text: &str) -> Problem {
    let name = text[place.clone()].trim_matches(['"', '\'']);
    let (what, cure) = if is_header(&text[line_start(text, place.start)..]) {
        ("the header of a table", "keep one of the two, and put the keys of both below it")
    } else {
        ("a key", "keep one of the two")
    };
    let first = earlier.only(name, place.start);
    let problem = Problem::error(format!("this isn't TOML: {what} stands here a second time"));
    let cure = slips::two_plugins(&place, text).unwrap_or_else(|| cure.to_owned());
    let problem = problem.at(place).hint(cure);
    match first {
        Some(first) => problem.related(first, "first here"),
        None => problem,
    }
}

/// Where keys stand, by their names: all that the parser took. The tables are walked once, when somebody asks.
struct Earlier<'t> {
    parsed: &'t DeTable<'t>,
    places: OnceCell<HashMap<&'t str, Vec<Range<usize>>>>,
}

impl<'t> Earlier<'t> {
    fn new(parsed: &'t DeTable<'t>) -> Self {
        Self { parsed, places: OnceCell::new() }
    }

    /// The only key of this name before a place; none: there are several, or none.
    fn only(&self, name: &str, before: usize) -> Option<Range<usize>> {
        let places = self.places.get_or_init(|| {
            let mut places: HashMap<_, Vec<_>> = HashMap::new();
            keys(self.parsed, &mut |key, its| places.entry(key).or_default().push(its));
            places.values_mut().for_each(|places| places.sort_by_key(|place| place.start));
            places
        });
        let mut before = places.get(name)?.iter().take_while(|place| place.start < before);
        before.next().filter(|_| before.next().is_none()).cloned()
    }
}

/// Tells of each key in a table and in those inside, by name and place.
fn keys<'t>(table: &'t DeTable<'t>, found: &mut impl FnMut(&'t str, Range<usize>)) {
    #[cfg(test)]
    tests::note_walk();
    for (key, value) in table.iter() {
        found(key.get_ref(), key.span());
        if let DeValue::Table(inner) = value.get_ref() {
            keys(inner, found);
        }
    }
}

/// A `=` has nothing behind it.
const MISSING: (&str, &str) = (
    "a value is missing behind `=`",
    "write one on the same line: a text in quotes, a number, `true` or `false`, a list in `[]`",
);

/// What the parser calls it, and our words for it with what to do about it. The first that fits counts.
const WORDS: [(&[&str], (&str, &str)); 16] = [
    (
        &["escape", "unicode"],
        (
            "a `\\` has a meaning of its own in a text between `\"`",
            "put the text between `'` instead, or write `\\\\` for each",
        ),
    ),
    (
        &["invalid multi-line"],
        ("a text of several lines is never closed", "close it with the three quotes that it begins with"),
    ),
    (
        &["invalid basic string", "invalid literal string"],
        (
            "a text is never closed on its line",
            "close it with the quote that it begins with; a `\"` inside it is written `\\\"`",
        ),
    ),
    (
        &["unclosed table", "unclosed array table"],
        (
            "the header of a table is never closed",
            "close it with `]`, and write it alone on its line: `[name]`",
        ),
    ),
    (&["unclosed array"], ("a list is never closed", "close it with `]`")),
    (&["unclosed inline table"], ("a table in `{}` is never closed", "close it with `}`")),
    (&["missing comma between array"], ("a `,` is missing in a list", "write a list as `[\"a\", \"b\"]`")),
    (
        &["missing comma between key-value", "missing key for inline", "invalid inline table"],
        ("a `,` or a `}` is missing before this", "write a table in one line as `{ a = 1, b = 2 }`"),
    ),
    (&["extra comma"], ("there is a `,` too many", "remove it")),
    (
        &["extra `=`", "extra assignment", "unexpected `=`"],
        ("there is a `=` too many", "remove it, or put the text that it belongs to in quotes"),
    ),
    (&["missing value", "invalid value"], MISSING),
    (
        &["key with no value", "missing assignment"],
        ("this has no `=` and no value", "write `key = value`, or the header of a table as `[name]`"),
    ),
    (
        &["unexpected content", "unexpected key or value"],
        (
            "something follows where the line should end",
            "put a text in quotes as a whole, begin a new line for another key, and a comment with `#`",
        ),
    ),
    (&["key"], ("this can't be a key", "write keys in letters, digits, `_` and `-`, or in quotes")),
    (
        &["number", "digits", "radix", "zero", "sign", "integer", "float"],
        ("this is no number", "write one such as `30`; with a unit it is a text, such as `\"30s\"`"),
    ),
    (
        &["carriage return"],
        (
            "a line ends in a way that TOML doesn't know",
            "save the file with the line ends of Unix or Windows",
        ),
    ),
];

/// The parser's words in ours, and what to do about it.
fn in_words(message: &str, line: &str) -> (&'static str, &'static str) {
    let value = line.split_once('=').map_or("", |(_, value)| value.trim_start());
    if value.starts_with(['.', '/', '~']) || message.contains("string values must be quoted") {
        return unquoted(line);
    }
    // What it would have expected stands behind the comma.
    let what = message.split(", expected").next().unwrap_or(message);
    let fits = |(words, _): &&(&[&str], _)| words.iter().any(|word| what.contains(word));
    WORDS.iter().find(fits).map_or(OTHER, |(_, ours)| *ours)
}

/// Anything else.
const OTHER: (&str, &str) = (
    "this can't be read",
    "write lines as `key = value`: texts in quotes, lists in `[]`, tables in `{}` or below `[name]`",
);

/// A text that stands without quotes.
fn unquoted(line: &str) -> (&'static str, &'static str) {
    let value = line.split_once('=').map_or(line, |(_, value)| value).trim();
    if value.is_empty() {
        return MISSING;
    }
    (
        "a text stands without quotes",
        "put it in quotes, `\"` or `'`; only `true`, `false`, numbers and times stand without",
    )
}

#[cfg(test)]
mod tests;
