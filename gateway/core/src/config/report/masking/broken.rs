//! Text that the parser didn't understand: what is a key in it and what a value, nobody knows for sure.
//!
//! So each line is taken for itself, and shown is only what surely is no secret: signs, keys, and the values of the
//! gateway's own keys where these stand in their own tables. Settings of plugins, comments, and everything that stands
//! where nothing should, are hidden.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::config::report::masking::{end, hide, is_bare, is_key, mask};
use crate::config::read::interpolate::is_variable_name;
use crate::config::spec::keys::{HEADER, Inside, Key, Kind, ROOT, SECRET};
use crate::config::report::secrecy::{is_scheme, sounds_secret};
use crate::names::alike;

/// The keys of the gateway's own, but for those of secrets and settings.
static KNOWN: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    let mut known = BTreeSet::new();
    collect(ROOT, &mut known);
    known
});

/// No key that is shown is longer, in bytes.
const LONGEST_KEY: usize = 48;

/// No number and no word that is known is longer, with its unit, in bytes.
const LONGEST_WORD: usize = 24;

/// `text` with all that might be a secret replaced, byte for byte, so that places stay right.
pub(in crate::config) fn mask_broken(text: &str) -> String {
    let guessed = mask(text);
    let mut lines = Lines::new(text.len());
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
struct Lines {
    /// The keys of the table whose header came last; none: nobody knows that table.
    base: Option<Inside>,
    /// What is open in a value.
    open: Vec<Frame>,
    /// Whether what comes may be a plugin's setting, or stand in a table that nobody knows, up to the next header.
    strays: bool,
    /// What may come where a value is expected; none: something that nobody knows.
    known: Option<Known>,
    /// Whether the key of `known` is what came last, so that a `=` belongs to it.
    has_key: bool,
    /// Whether a value may come.
    expects: bool,
    /// Whether a key may come: at the beginning of a line, and behind `{` and `,`.
    takes_key: bool,
    /// Whether nothing but blanks was in this line so far.
    begins_line: bool,
    out: String,
}

/// A list or a table in a value.
#[derive(Clone, Copy)]
enum Frame {
    List(Option<Known>),
    Table(Inside),
}

impl Lines {
    fn new(length: usize) -> Self {
        Self {
            base: Some(Inside::Keys(ROOT)),
            open: Vec::new(),
            strays: false,
            known: None,
            has_key: false,
            expects: false,
            takes_key: true,
            begins_line: true,
            out: String::with_capacity(length),
        }
    }

    fn line(&mut self, line: &str) {
        let blank = line.len() - line.trim_start().len();
        let (indent, mut rest) = line.split_at(blank);
        self.out.push_str(indent);
        let goes_on = self.expects && matches!(self.open.last(), Some(Frame::List(_)));
        self.known = self.known.filter(|_| goes_on);
        (self.has_key, self.takes_key, self.begins_line) = (false, true, true);
        if let Some(length) = header(rest) {
            let (header, after) = rest.split_at(length);
            self.header(header);
            self.out.push_str(header);
            rest = after;
        }
        if let Some(length) = blank_key(rest) {
            let (key, after) = rest.split_at(length);
            self.key(&key.trim_end().replace(' ', "_"));
            self.out.push_str(key);
            (self.takes_key, rest) = (false, after);
        }
        while let Some(first) = rest.chars().next() {
            let length = self.step(rest, first);
            self.takes_key = matches!(first, '{' | ',') || self.takes_key && first.is_whitespace();
            self.begins_line &= first.is_whitespace();
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
            '=' | ':' => {
                self.known = self.known.filter(|_| self.has_key);
                (self.has_key, self.expects) = (false, true);
            }
            '[' | '{' => self.begin(first),
            ']' | '}' => {
                self.open.pop();
                self.nothing();
            }
            ',' => {
                self.nothing();
                if let Some(Frame::List(item)) = self.open.last() {
                    (self.known, self.expects) = (*item, true);
                }
            }
            '(' | ')' => {}
            c if c.is_whitespace() => {}
            _ => return self.word(rest, first),
        }
        self.out.push(first);
        first.len_utf8()
    }

    /// No value is expected any more.
    fn nothing(&mut self) {
        (self.known, self.has_key, self.expects) = (None, false, false);
    }

    fn begin(&mut self, bracket: char) {
        let known = self.known.filter(|_| self.expects);
        self.nothing();
        let inside = known.map(|known| known.inside());
        match (bracket, known, inside) {
            ('[', Some(known), Some(Inside::Items(item))) => {
                let item = Some(Known { kind: *item, ..known });
                self.open.push(Frame::List(item));
                (self.known, self.expects) = (item, true);
            }
            ('[', _, _) => {
                self.strays |= self.begins_line; // it may be the header of a table
                self.open.push(Frame::List(None));
            }
            (_, _, Some(inside @ (Inside::Keys(_) | Inside::TextOrKeys(_) | Inside::Named(_)))) => {
                self.open.push(Frame::Table(inside));
            }
            _ => {
                self.strays = true;
                self.open.push(Frame::Table(Inside::Nothing));
            }
        }
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
        } else {
            self.strays |= open == 3 && self.known.is_none(); // its other lines may look like keys
            self.value(content);
        }
        let close = if closes { open } else { 0 };
        self.out.push_str(&inside[length..length + close]);
        open + length + close
    }

    fn word(&mut self, rest: &str, first: char) -> usize {
        let length = rest.find(|c| !is_bare(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        let is_value = self.known.is_some() && self.expects;
        let is_followed = is_key(after) || after.starts_with(':') && !is_value;
        let is_known = || KNOWN.contains(word.rsplit('.').next().unwrap_or(word)) || sounds_secret(word);
        let is_alone = || is_known() && begins_value(after) || is_apart(after);
        if self.takes_key && is_plain(word) && (is_followed || is_alone()) {
            self.key(word);
            self.out.push_str(word);
            return length;
        }
        let ends = |c: char| c.is_whitespace() || ",]}\"'#".contains(c);
        let length = rest.find(ends).unwrap_or(rest.len()).max(first.len_utf8());
        self.value(&rest[..length]);
        length
    }

    /// Adds what isn't a key. Only what is known to be harmless where it stands is shown.
    fn value(&mut self, content: &str) {
        let known = self.known.filter(|_| self.expects && !self.strays);
        if known.is_some_and(|known| known.shows(content)) {
            self.out.push_str(content);
        } else {
            hide(content, &mut self.out);
        }
        self.nothing();
    }

    /// Notes the header of a table.
    fn header(&mut self, header: &str) {
        self.nothing();
        self.open.clear();
        let header = header.trim_matches(['[', ']']);
        let mut parts = header.split('.').map(|part| part.trim().trim_matches(['"', '\'']));
        let root = Known { name: "", kind: Kind::Table(ROOT), adds: false };
        let table = parts.try_fold(root, |table, part| Known::below(table.item(), part));
        self.base = table.map(Known::item);
        self.strays = !matches!(self.base, Some(Inside::Keys(_) | Inside::TextOrKeys(_) | Inside::Named(_)));
    }

    /// Notes a key: `listen`, or `plugins.notes.config.colour`.
    fn key(&mut self, key: &str) {
        let here = match self.open.last() {
            None => self.base,
            Some(Frame::Table(inside)) => Some(*inside),
            Some(Frame::List(_)) => None,
        };
        let mut known = here.and_then(|table| Known::at(table, key));
        if known.is_none() && self.begins_line && !self.open.is_empty() {
            // What is open was never closed, perhaps.
            known = self.base.and_then(|table| Known::at(table, key));
            if known.is_some() {
                self.open.clear();
            }
        }
        self.strays |= known.is_none() && key.contains('.');
        (self.known, self.has_key, self.expects) = (known, true, false);
    }
}

/// The value of a key of the gateway's own.
#[derive(Clone, Copy)]
struct Known {
    /// What the key is called; empty: the operator chose that.
    name: &'static str,
    kind: Kind,
    /// Whether it says what is added to requests.
    adds: bool,
}

impl Known {
    /// The value of a key, with dots or without, in a table with these.
    fn at(table: Inside, key: &str) -> Option<Self> {
        let mut parts = key.split('.');
        let first = Self::below(table, parts.next()?)?;
        parts.try_fold(first, |known, part| Self::below(known.inside(), part))
    }

    fn below(table: Inside, part: &str) -> Option<Self> {
        match table {
            Inside::Keys(keys) | Inside::TextOrKeys(keys) => {
                let key = keys.iter().find(|key| key.name == part)?;
                Some(Self { name: key.name, kind: key.kind, adds: std::ptr::eq(keys, HEADER) })
            }
            Inside::Named(kind) => Some(Self { name: "", kind: *kind, adds: false }),
            Inside::Nothing | Inside::Items(_) | Inside::Settings => None,
        }
    }

    fn inside(self) -> Inside {
        match self.kind {
            Kind::Secret => Inside::Keys(SECRET),
            kind => kind.inside(),
        }
    }

    /// The same under the header of a table, which may begin an item of a list.
    fn item(self) -> Inside {
        match self.inside() {
            Inside::Items(item) => item.inside(),
            inside => inside,
        }
    }

    /// Is this text, which may stand there or nearly, no secret for sure?
    fn shows(self, text: &str) -> bool {
        !text.contains(['=', '"', '\'', '#'])
            && match self.kind {
                Kind::Version
                | Kind::Integer(_)
                | Kind::Duration(_)
                | Kind::Size(_)
                | Kind::Boolean
                | Kind::NameOrBoolean(_)
                | Kind::Word(_) => text.len() <= LONGEST_WORD,
                Kind::Text(_) | Kind::Path(_) | Kind::TextOrTable(..) => match self.name {
                    "env" => is_variable_name(text),
                    "prefix" if self.adds => is_scheme(text),
                    _ => true,
                },
                Kind::List(item) => Self { kind: *item, ..self }.shows(text),
                Kind::Secret | Kind::Table(_) | Kind::Named(_) | Kind::Settings => false,
            }
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
