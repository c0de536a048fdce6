//! Text that the parser didn't understand: what is a key in it and what a value, nobody knows for sure.
//!
//! So each line is taken for itself, and shown is only what surely is no secret: signs, keys, and what stands behind a
//! key of the gateway's own. Settings of plugins, comments, and everything that stands where nothing should, are hidden.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::{end, hide, is_bare, is_key, mask};
use crate::config::keys::{Inside, Key, Kind, ROOT};
use crate::config::secrecy::sounds_secret;
use crate::names::alike;

/// The keys behind which no secret stands.
static KNOWN: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    let mut known = BTreeSet::new();
    collect(ROOT, &mut known);
    known
});

/// No key that is shown is longer, in bytes.
const LONGEST_KEY: usize = 48;

/// `text` with all that might be a secret replaced, byte for byte, so that places stay right.
pub(in crate::config) fn mask_broken(text: &str) -> String {
    let guessed = mask(text);
    let mut lines = Lines { out: String::with_capacity(text.len()), ..Lines::default() };
    for line in guessed.split_inclusive('\n') {
        lines.line(line);
    }
    lines.out
}

fn collect(keys: &'static [Key], known: &mut BTreeSet<&'static str>) {
    for key in keys {
        if !matches!(key.kind, Kind::Secret | Kind::Settings) {
            known.insert(key.name);
        }
        let mut kind = &key.kind;
        loop {
            match kind.inside() {
                Inside::Named(item) | Inside::Items(item) => kind = item,
                Inside::Keys(keys) | Inside::TextOrKeys(keys) => {
                    collect(keys, known);
                    break;
                }
                Inside::Nothing | Inside::Settings => break,
            }
        }
    }
}

/// What is known on the way through the lines.
#[derive(Default)]
struct Lines {
    /// Whether a plugin's settings may have begun, and no other table after them.
    settings: bool,
    /// Whether the last key is one of the gateway's own.
    known: bool,
    /// Whether a value may come.
    expects: bool,
    /// Whether a key may come: at the beginning of a line, and behind `{` and `,`.
    takes_key: bool,
    out: String,
}

impl Lines {
    fn line(&mut self, line: &str) {
        let blank = line.len() - line.trim_start().len();
        let (indent, mut rest) = line.split_at(blank);
        self.out.push_str(indent);
        if let Some(length) = header(rest) {
            let (header, after) = rest.split_at(length);
            let mut parts = header.split(['[', ']', '.', ' ', '"', '\'']);
            self.settings = parts.any(|part| alike(part, ["config"].into_iter()).is_some());
            (self.known, self.expects) = (false, false);
            self.out.push_str(header);
            rest = after;
        }
        self.known &= self.expects; // or a list goes on
        self.takes_key = true;
        if let Some(length) = blank_key(rest) {
            let (key, after) = rest.split_at(length);
            self.key(&key.trim_end().replace(' ', "_"));
            self.out.push_str(key);
            (self.takes_key, rest) = (false, after);
        }
        while let Some(first) = rest.chars().next() {
            let length = self.step(rest, first);
            self.takes_key = matches!(first, '{' | ',') || self.takes_key && first.is_whitespace();
            rest = &rest[length..];
        }
    }

    /// Adds what is next, and says how long it is.
    fn step(&mut self, rest: &str, first: char) -> usize {
        match first {
            '#' => {
                self.out.push('#');
                hide(&rest[1..], &mut self.out);
                return rest.len();
            }
            '"' | '\'' => return self.literal(rest, first),
            '=' if self.takes_key => (self.known, self.expects) = (false, true), // its key is in another line
            '=' | '[' | ',' | ':' => self.expects = true,
            ']' | '}' => self.expects = false,
            '{' | '*' => {}
            c if c.is_whitespace() => {}
            _ => return self.word(rest, first),
        }
        self.out.push(first);
        first.len_utf8()
    }

    fn literal(&mut self, rest: &str, quote: char) -> usize {
        let triple = if quote == '"' { "\"\"\"" } else { "'''" };
        let open = if rest.starts_with(triple) { 3 } else { 1 };
        let inside = &rest[open..];
        let length = end(inside, quote, open == 3).min(inside.trim_end_matches(['\r', '\n']).len());
        let content = &inside[..length];
        let closes = inside[length..].starts_with(quote);
        let after = &inside[length..];
        let after = if closes { &after[open.min(after.len())..] } else { after };
        self.out.push_str(&rest[..open]);
        let is_followed = is_key(after) || after.trim_start().starts_with(':');
        if self.takes_key && closes && open == 1 && is_followed && is_plain(content) {
            self.key(content);
            self.out.push_str(content);
        } else if self.known && self.expects && !self.settings && !content.contains(['=', '"', '\'', '#']) {
            self.out.push_str(content);
        } else {
            hide(content, &mut self.out);
        }
        let close = if closes { open } else { 0 };
        self.out.push_str(&inside[length..length + close]);
        self.expects = false;
        open + length + close
    }

    fn word(&mut self, rest: &str, first: char) -> usize {
        let length = rest.find(|c| !is_bare(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        let is_followed = is_key(after) || after.starts_with(':') && !(self.known && self.expects);
        let is_known = || KNOWN.contains(word.rsplit('.').next().unwrap_or(word)) || sounds_secret(word);
        let is_alone = || is_known() && begins_value(after) || is_apart(after);
        if self.takes_key && is_plain(word) && (is_followed || is_alone()) {
            self.key(word);
            self.out.push_str(word);
            return length;
        }
        let ends = |c: char| c.is_whitespace() || ",]}\"'#".contains(c);
        let length = rest.find(ends).unwrap_or(rest.len()).max(first.len_utf8());
        let word = &rest[..length];
        if self.known && self.expects && !self.settings && !word.contains('=') {
            self.out.push_str(word);
        } else {
            hide(word, &mut self.out);
        }
        self.expects = false;
        length
    }

    /// Notes a key: `listen`, or `plugins.notes.config.colour`.
    fn key(&mut self, key: &str) {
        let mut parts = key.split('.');
        self.settings |= parts.any(|part| part == "config");
        self.known = KNOWN.contains(key.rsplit('.').next().unwrap_or(key)) && !sounds_secret(key);
        self.expects = false;
    }
}

/// How long the header of a table is that begins here, if one does: also one that isn't closed.
fn header(rest: &str) -> Option<usize> {
    let name = rest.trim_start_matches('[');
    let brackets = rest.len() - name.len();
    let length = name.find(|c: char| !is_bare(c) && !" \t\"'".contains(c)).unwrap_or(name.len());
    let length = name[..length].trim_end().len();
    let first = name[..length].split(['.', ' ']).next()?.trim().trim_matches(['"', '\'']);
    let is_header = brackets > 0 && alike(first, ROOT.iter().map(|key| key.name)).is_some();
    let close = name[length..].bytes().take_while(|byte| *byte == b']').count();
    (is_header && length <= 4 * LONGEST_KEY).then_some(brackets + length + close)
}

/// Can it be a key as somebody writes it by hand?
fn is_plain(word: &str) -> bool {
    word.len() <= LONGEST_KEY
        && word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
}

/// How long the key is, up to its `=`, that begins here and has blanks where `_` should be.
fn blank_key(rest: &str) -> Option<usize> {
    let (key, _) = rest.split_once('=')?;
    (key.trim().contains(' ') && KNOWN.contains(key.trim().replace(' ', "_").as_str())).then_some(key.len())
}

/// Is there a `=` with a blank before it? Without one it may be the end of a secret in Base64.
fn is_apart(after: &str) -> bool {
    after.starts_with([' ', '\t']) && after.trim_start().starts_with('=')
}

/// Does a value stand here, behind a word that has no `=`?
fn begins_value(after: &str) -> bool {
    let value = after.trim_start_matches([' ', '\t']);
    value.len() < after.len() && value.starts_with(['"', '\'', '[', '{', '='])
        || after.starts_with(['"', '\''])
        || value.trim().is_empty()
}
