//! Slips whose cure holds the operator's own words: headers with blanks, comments of other languages, and a name that
//! two plugins have.

use std::ops::Range;

use crate::config::report::syntax::unclosed::is_header;
use crate::config::report::syntax::{is_outside, line_start};
use crate::config::spec::keys::ROOT;
use crate::names::PluginId;

/// What stands in a line, where and how long, and what to write instead.
pub(in crate::config) struct Slip {
    pub(in crate::config) found: usize,
    pub(in crate::config) length: usize,
    pub(in crate::config) what: &'static str,
    pub(in crate::config) cure: String,
}

/// The first such slip of a line.
pub(in crate::config) fn slip(line: &str) -> Option<Slip> {
    header(line).or_else(|| comment(line))
}

/// The tables that may stand in another one.
const INNER: [&str; 6] = ["auth", "tools", "allow", "limits", "config", "rename"];

/// The header of a table that has blanks in it.
fn header(line: &str) -> Option<Slip> {
    let written = line.split('#').next()?.trim();
    let name = written.strip_prefix('[')?.strip_suffix(']')?.trim_matches(['[', ']']).trim();
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_-. ".contains(c);
    if !name.contains(' ') || name.len() > 120 || !name.chars().all(is_word) {
        return None;
    }
    let mut meant = String::new();
    for part in name.split('.').map(str::trim) {
        for word in part.split_whitespace() {
            let is_table = INNER.contains(&word) || ROOT.iter().any(|key| key.name == meant);
            match meant.chars().last() {
                None | Some('.') => {}
                Some(_) if is_table => meant.push('.'),
                Some(_) => meant.push('-'),
            }
            meant.push_str(word);
        }
        meant.push('.');
    }
    let meant = meant.trim_end_matches('.');
    let (open, close) = if written.starts_with("[[") { ("[[", "]]") } else { ("[", "]") };
    let cure = format!("write `{open}{meant}{close}`");
    let what = "the header of a table holds no blanks";
    Some(Slip { found: line.find(written)?, length: written.len(), what, cure })
}

/// How comments begin elsewhere.
const COMMENTS: [&str; 6] = ["//", "/*", "*/", "<!--", "--", ";"];

/// A comment of another language: a whole line, or behind a value.
fn comment(line: &str) -> Option<Slip> {
    let start = line.len() - line.trim_start().len();
    let begins = |mark: &&&str| {
        let rest = line[start..].strip_prefix(**mark);
        rest.is_some_and(|rest| **mark != "--" || !rest.starts_with('-'))
    };
    let follows = |mark: &&'static str| {
        let found = line.find(&format!(" {mark} ")).filter(|at| is_outside(line, *at))?;
        Some((found + 1, *mark))
    };
    let whole = COMMENTS.iter().find(begins).map(|mark| (start, *mark));
    let (found, mark) = whole.or_else(|| COMMENTS.iter().find_map(follows))?;
    let cure = match mark {
        "/*" | "*/" => "begin each of its lines with `#`, and leave `/*` and `*/` away".to_owned(),
        "<!--" => "begin each of its lines with `#`, and leave `<!--` and `-->` away".to_owned(),
        mark => format!("write `#` instead of `{mark}`"),
    };
    Some(Slip { found, length: mark.len(), what: "a comment begins with `#`", cure })
}

/// Where the comment ends that begins with `/*` at this byte, if it has several lines.
pub(in crate::config) fn end_of_comment(at: usize, text: &str) -> Option<usize> {
    let rest = text[at..].strip_prefix("/*")?;
    let near = &rest.as_bytes()[..rest.len().min(FAR)];
    let end = near.windows(2).position(|bytes| bytes == b"*/")?;
    near[..end].contains(&b'\n').then_some(at + end + 4)
}

/// How many lines of a table are looked at.
const MOST_LINES: usize = 100;
/// How far back the first of two headers is looked for, in bytes.
const FAR: usize = 64 * 1024;

/// How a name is given to the second of two plugins.
const ANOTHER_NAME: &str = "give this one another name";

/// What to do where what stands at `place` a second time belongs to two plugins: they have two sources.
pub(in crate::config) fn two_plugins(place: &Range<usize>, text: &str) -> Option<String> {
    let start = line_start(text, place.start);
    let line = text[start..].lines().next()?;
    if is_header(line) {
        let name = plugin(line)?;
        let from = line_start(text, start.saturating_sub(FAR));
        let earlier = text[from..start].match_indices(line.trim()).map(|(at, _)| from + at);
        let first = earlier.filter(|at| line_start(text, *at) == *at).last()?;
        let (mine, its) = (source_below(start, text)?, source_below(first, text)?);
        return (mine != its).then(|| {
            format!("{ANOTHER_NAME}, such as `[plugins.{name}-2]`, also in the headers of its tables")
        });
    }
    let mine = source(line)?;
    let above = text[line_start(text, start.saturating_sub(FAR))..start].lines().rev().take(MOST_LINES);
    let mut is_other = false;
    for line in above {
        if is_header(line) {
            let name = plugin(line).filter(|_| is_other)?;
            return Some(format!(
                "keep one of the two; another plugin has a table of its own, such as `[plugins.{name}-2]`"
            ));
        }
        is_other |= source(line).is_some_and(|its| its != mine);
    }
    None
}

/// Where the table ends whose header at this byte needs another name: what stands twice in it is explained by that.
pub(in crate::config) fn end_of_second(at: usize, hint: &str, text: &str) -> Option<usize> {
    let mut end = at + text[at..].find('\n').filter(|_| hint.starts_with(ANOTHER_NAME))?;
    for line in text[end..].split_inclusive('\n').take(MOST_LINES).take_while(|line| !is_header(line)) {
        end += line.len();
    }
    Some(end)
}

/// The source that a table names whose header begins at this byte.
fn source_below(at: usize, text: &str) -> Option<&str> {
    let lines = text[at..].lines().skip(1).take(MOST_LINES);
    lines.take_while(|line| !is_header(line)).find_map(source)
}

/// What stands behind `source =` in a line.
fn source(line: &str) -> Option<&str> {
    let (key, value) = line.split_once('=')?;
    (key.trim() == "source").then(|| value.trim())
}

/// The plugin whose table a header begins.
fn plugin(header: &str) -> Option<PluginId> {
    let name = header.split('#').next()?.trim().strip_prefix("[plugins.")?.strip_suffix(']')?;
    PluginId::new(name.trim_matches(['"', '\''])).ok()
}
