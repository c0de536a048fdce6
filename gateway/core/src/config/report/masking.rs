//! Values that are probably secrets, made unreadable before a line of the file is shown to anybody.
//!
//! It works on any text, because a mistake in the syntax is shown with its line, too: whoever forgets a quote after a
//! token should not find that token in a log. It only guesses, by the name of the key, and rather hides too much: what
//! follows such a name is hidden whether there is a `=` or not, and so is all that stands in lists and tables there,
//! but for the keys that say where the secret is.

use crate::config::report::secrecy::{gives_away, is_around, is_named_secret, is_variable, sounds_secret, unescaped};

mod broken;

pub(in crate::config) use broken::mask_broken;

/// `text` with such values replaced, byte for byte, so that places stay right.
pub(in crate::config) fn mask(text: &str) -> String {
    let mut masking = Masking {
        text,
        at: 0,
        begins_line: true,
        endless: false,
        hides_line: false,
        open: Vec::new(),
        top: Frame::line(false),
        out: String::new(),
    };
    while masking.at < text.len() {
        masking.step();
    }
    masking.out
}

/// Where it is in the text, and what it knows there.
struct Masking<'t> {
    text: &'t str,
    at: usize,
    /// Whether nothing but blanks was in this line so far.
    begins_line: bool,
    /// Whether a text of several lines was begun that nothing closes: none is looked for again.
    endless: bool,
    /// Whether something in this line is hidden.
    hides_line: bool,
    /// What is open around `top`.
    open: Vec<Frame>,
    top: Frame,
    out: String,
}

/// A line, or a list or table in a value.
#[derive(Clone, Copy)]
struct Frame {
    form: Form,
    /// Whether it stands in the value of a secret as a whole.
    outer: bool,
    /// Whether the key that was seen last sounds like a secret's.
    secret: bool,
    /// Whether what comes is that key's value.
    in_value: bool,
    /// Whether something of the value was there.
    has_value: bool,
    /// How many parts the key has so far.
    parts: u32,
    /// Whether its first part is `plugins`: the operator chooses the second.
    of_plugins: bool,
    /// Whether one of its parts sounds like a secret's.
    sounds: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Line,
    /// The header of a table, to the end of its line.
    Header,
    List,
    Table,
}

impl Frame {
    fn new(form: Form, outer: bool) -> Self {
        let in_value = form == Form::List;
        let (secret, has_value, parts, of_plugins, sounds) = (outer, false, 0, false, false);
        Self { form, outer, secret, in_value, has_value, parts, of_plugins, sounds }
    }

    fn line(outer: bool) -> Self {
        Self { secret: false, ..Self::new(Form::Line, outer) }
    }

    /// Is what isn't a key here a secret?
    fn hides(&self) -> bool {
        self.secret || self.outer && !self.in_value
    }

    /// Takes a part of the key.
    fn key(&mut self, part: &str) {
        self.of_plugins |= self.parts == 0 && part == "plugins";
        self.sounds |= !(self.of_plugins && self.parts == 1) && sounds_secret(part);
        self.parts = self.parts.saturating_add(1);
        let is_around = is_around(part) && (self.outer || self.parts > 1);
        self.secret = !is_around && (self.outer || self.sounds);
    }

    /// Begins another key.
    fn next_key(&mut self) {
        (self.in_value, self.parts, self.of_plugins, self.sounds) = (false, 0, false, false);
    }
}

impl<'t> Masking<'t> {
    fn step(&mut self) {
        let rest = &self.text[self.at..];
        let first = rest.chars().next().expect("there is something left");
        match first {
            '#' => self.comment(rest.split('\n').next().unwrap_or_default()),
            '\n' => self.end_line(),
            '"' | '\'' => self.literal(rest, first),
            '=' => {
                self.top.in_value = true;
                self.copy(1);
            }
            '[' if self.begins_table(rest) => {
                self.open.clear();
                self.top = Frame::new(Form::Header, false);
                self.copy(1);
            }
            '[' | '{' => self.begin(first),
            ']' | '}' => {
                self.top = self.open.pop().unwrap_or(self.top);
                self.copy(1);
            }
            ',' => {
                if self.top.form == Form::Table {
                    self.top.next_key();
                }
                self.copy(1);
            }
            ':' if !self.top.in_value => self.copy(1),
            c if c.is_whitespace() => self.copy(c.len_utf8()),
            c => self.word(rest, c),
        }
        self.begins_line = first == '\n' || self.begins_line && first.is_whitespace();
    }

    /// A comment; behind a secret it may be a part of it, and behind the name of one it may be one.
    fn comment(&mut self, comment: &str) {
        let mut shown = 1;
        if !self.hides_line && !gives_away(comment) {
            let words = comment.split_inclusive(|c: char| !is_bare(c));
            for word in words {
                shown += word.len();
                if is_named_secret(word.trim_end_matches(|c: char| !is_bare(c))) {
                    break;
                }
            }
            shown = (shown - 1).max(1);
        }
        self.copy(shown);
        self.hide(&comment[shown..]);
    }

    fn end_line(&mut self) {
        self.hides_line = false;
        let top = self.top;
        match top.form {
            Form::Line => {
                let is_to_come = top.in_value && !top.has_value && top.secret;
                self.top = Frame { secret: is_to_come, ..Frame::line(top.outer) };
            }
            Form::Header => self.top = Frame::line(top.sounds),
            Form::Table => self.top.next_key(), // or it was never closed
            Form::List => {}
        }
        self.copy(1);
    }

    fn begin(&mut self, bracket: char) {
        if self.top.in_value {
            self.top.has_value = true;
            let form = if bracket == '[' { Form::List } else { Form::Table };
            let inner = Frame::new(form, self.top.outer || self.top.secret);
            self.open.push(std::mem::replace(&mut self.top, inner));
        }
        self.copy(1);
    }

    /// Is this the header of a table? Then whatever was open before was never closed.
    fn begins_table(&self, rest: &str) -> bool {
        if !self.begins_line {
            return false;
        }
        let line = rest.split('\n').next().unwrap_or_default();
        let Some((name, after)) = line.trim_start_matches('[').split_once(']') else { return false };
        let after = after.trim_start_matches(']').trim();
        let ends = after.is_empty() || after.starts_with('#');
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        let is_name = match self.top.form {
            Form::Line => !self.top.in_value && !name.contains('='),
            Form::Header => false,
            Form::List | Form::Table => {
                name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(is_plain)
            }
        };
        ends && is_name
    }

    /// A text in quotes; one that isn't closed goes on to the end of its line, or of the file.
    fn literal(&mut self, rest: &'t str, quote: char) {
        let triple = if quote == '"' { "\"\"\"" } else { "'''" };
        let (open, is_long) = if rest.starts_with(triple) { (3, true) } else { (1, false) };
        let inside = &rest[open..];
        let length = if is_long && self.endless { inside.len() } else { end(inside, quote, is_long) };
        let closes = inside[length..].starts_with(quote);
        if is_long && !closes && !self.top.hides() {
            self.endless = true;
            return self.copy(open); // whatever follows may be other keys
        }
        let content = &inside[..length];
        let close = if closes { open } else { 0 };
        let after = &inside[(length + close).min(inside.len())..];
        self.copy(open);
        let words = if quote == '"' { unescaped(content) } else { content.to_owned() };
        if self.is_key(after) {
            self.top.key(&words);
            self.copy(length);
        } else {
            self.raise(&words, is_key(after));
            self.value(content);
        }
        self.copy(close.min(self.text.len() - self.at));
    }

    /// Something without quotes: a key, or a value.
    fn word(&mut self, rest: &'t str, first: char) {
        let length = rest.find(|c| !is_bare(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        if length > 0 && self.is_key(after) {
            word.split('.').filter(|part| !part.is_empty()).for_each(|part| self.top.key(part));
            return self.copy(length);
        }
        if self.top.hides() {
            let ends = |c: char| match self.top.form {
                Form::Line | Form::Header => c.is_whitespace(),
                Form::List | Form::Table => c.is_whitespace() || ",]}\"'".contains(c),
            };
            let length = if rest.starts_with("${") { rest.find('}').map(|at| at + 1) } else { None };
            let length = length.or_else(|| rest.find(ends)).unwrap_or(rest.len());
            let word = &rest[..length];
            self.top.secret |= self.top.outer && !self.top.in_value; // whatever its `=` stands before
            return if matches!(word, "true" | "false") { self.copy(length) } else { self.value(word) };
        }
        self.raise(word, true);
        self.copy(length.max(first.len_utf8()));
    }

    /// Does what is here, with this behind it, belong to a key? The first word of a line does, whatever follows.
    fn is_key(&self, after: &str) -> bool {
        let Frame { form, in_value, parts, .. } = self.top;
        let goes_on = self.out.trim_end_matches([' ', '\t']).ends_with('.');
        match form {
            Form::Header => true,
            Form::List => false,
            Form::Line | Form::Table if in_value => false,
            Form::Line | Form::Table => {
                !self.top.hides() || parts > 0 && goes_on || parts == 0 && is_key(after)
            }
        }
    }

    /// Where a value stands that isn't hidden, a key may follow that should stand on a line of its own.
    fn raise(&mut self, words: &str, is_key: bool) {
        self.top.secret |= is_key && is_named_secret(words);
    }

    fn value(&mut self, content: &'t str) {
        self.top.has_value |= self.top.in_value;
        if self.top.hides() && !is_variable(content) || gives_away(content) {
            self.hides_line = true;
            self.out.extend(content.bytes().map(|byte| if byte == b'\n' { '\n' } else { '*' }));
            self.at += content.len();
        } else {
            self.copy(content.len());
        }
    }

    /// Hides all but blanks.
    fn hide(&mut self, text: &str) {
        hide(text, &mut self.out);
        self.at += text.len();
    }

    fn copy(&mut self, length: usize) {
        self.out.push_str(&self.text[self.at..self.at + length]);
        self.at += length;
    }
}

/// Adds a star for each byte of a text that isn't blank.
fn hide(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            c if c.is_whitespace() => out.push(c),
            c => out.extend(std::iter::repeat_n('*', c.len_utf8())),
        }
    }
}

/// Where a text in quotes ends: before what closes it.
fn end(inside: &str, quote: char, is_long: bool) -> usize {
    let mut escaped = false;
    for (at, c) in inside.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quote == '"' => escaped = true,
            '\n' if !is_long => return at,
            c if c == quote && !is_long => return at,
            c if c == quote && inside[at..].chars().take(3).eq([quote; 3]) => return at,
            _ => {}
        }
    }
    inside.len()
}

/// Does this stand behind a key? A `=` without anything behind it may also be the end of a secret in Base64.
fn is_key(after: &str) -> bool {
    let blank = [' ', '\t'];
    let after = after.trim_start_matches(blank);
    let value = after.strip_prefix('=').map(|value| value.trim_start_matches(blank));
    after.starts_with('.')
        || value
            .is_some_and(|value| !value.is_empty() && !value.starts_with(['=', '}', ']', ',', '\r', '\n']))
}

fn is_bare(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

#[cfg(test)]
mod tests;
