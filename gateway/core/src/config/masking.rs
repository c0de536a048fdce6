//! Values that are probably secrets, made unreadable before a line of the file is shown to anybody.
//!
//! It works on any text, because a mistake in the syntax is shown with its line, too: whoever forgets a quote after a
//! token should not find that token in a log. It only guesses: by the name of the key.

/// How the names of keys for secrets sound.
const SECRET: [&str; 13] = [
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "authorization",
    "credential",
    "cookie",
    "api_key",
    "apikey",
    "private_key",
    "access_key",
    "sealing_key",
];

/// What such a name ends with where it says only where the secret is, or which.
const ELSEWHERE: [&str; 5] = ["_env", "_file", "_name", "_path", "_url"];

/// `text` with such values replaced, byte for byte, so that places stay right.
pub(super) fn mask(text: &str) -> String {
    let mut masking =
        Masking { text, at: 0, is_secret: false, depth: 0, in_value: false, out: String::new() };
    while masking.at < text.len() {
        masking.step();
    }
    masking.out
}

/// Where it is in the text, and what it knows there.
struct Masking<'t> {
    text: &'t str,
    at: usize,
    /// Whether the key that was seen last sounds like a secret's.
    is_secret: bool,
    /// How many lists and tables are open in the value.
    depth: usize,
    /// Whether what comes is the key's value, or a part of it.
    in_value: bool,
    out: String,
}

impl<'t> Masking<'t> {
    fn step(&mut self) {
        let rest = &self.text[self.at..];
        let first = rest.chars().next().expect("there is something left");
        match first {
            '#' => {
                let end = rest.find('\n').unwrap_or(rest.len());
                self.copy(end);
            }
            '"' | '\'' => self.literal(rest, first),
            '=' => {
                self.in_value = true;
                self.copy(1);
            }
            '\n' => {
                self.in_value &= self.depth > 0;
                self.copy(1);
            }
            '[' if self.begins_table(rest) => {
                (self.in_value, self.depth) = (false, 0);
                self.copy(1);
            }
            '[' | '{' => {
                self.depth += usize::from(self.in_value);
                self.copy(1);
            }
            ']' | '}' => {
                self.depth = self.depth.saturating_sub(1);
                self.copy(1);
            }
            c if is_bare(c) => self.word(rest),
            c => self.copy(c.len_utf8()),
        }
    }

    /// Is this the header of a table? Then whatever was open before was never closed.
    fn begins_table(&self, rest: &str) -> bool {
        if !self.text[..self.at].ends_with('\n') {
            return false;
        }
        let name = rest.lines().next().unwrap_or_default().trim_start_matches('[');
        let length =
            name.find(|c: char| !(c.is_ascii_alphanumeric() || "_-.".contains(c))).unwrap_or(name.len());
        length > 0 && name[length..].starts_with(']')
    }

    /// A text in quotes; one that isn't closed goes on to the end of its line, or of the file.
    fn literal(&mut self, rest: &'t str, quote: char) {
        let triple = if quote == '"' { "\"\"\"" } else { "'''" };
        let (open, is_long) = if rest.starts_with(triple) { (3, true) } else { (1, false) };
        let inside = &rest[open..];
        let length = end(inside, quote, is_long);
        let closes = inside[length..].starts_with(quote);
        let content = &inside[..length];
        let close = if closes { open } else { 0 };
        let after = &inside[(length + close).min(inside.len())..];
        self.copy(open);
        if is_key(after) {
            self.is_secret = is_secret(content);
            self.copy(length);
        } else {
            self.value(content);
        }
        self.copy(close.min(self.text.len() - self.at));
    }

    /// A key without quotes, or a value that needs none.
    fn word(&mut self, rest: &'t str) {
        let length = rest.find(|c| !is_bare(c)).unwrap_or(rest.len());
        if is_key(&rest[length..]) {
            self.is_secret = is_secret(&rest[..length]);
            return self.copy(length);
        }
        let word = &rest[..length];
        let is_plain = matches!(word, "true" | "false") || word.parse::<f64>().is_ok();
        if is_plain { self.copy(length) } else { self.value(word) }
    }

    fn value(&mut self, content: &'t str) {
        let is_variable = content.starts_with("${") && content.ends_with('}');
        if self.in_value && !is_variable && self.is_secret {
            self.out.extend(content.bytes().map(|byte| if byte == b'\n' { '\n' } else { '*' }));
            self.at += content.len();
        } else {
            self.copy(content.len());
        }
    }

    fn copy(&mut self, length: usize) {
        self.out.push_str(&self.text[self.at..self.at + length]);
        self.at += length;
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

/// Does this stand behind a key?
fn is_key(after: &str) -> bool {
    after.trim_start_matches([' ', '\t']).starts_with(['=', '.'])
}

fn is_bare(c: char) -> bool {
    c.is_alphanumeric()
        || matches!(c, '_' | '-' | '.' | '+' | '/' | ':' | '$' | '%' | '@' | '!' | '~' | '&' | '*')
}

/// Does this name of a key or a variable sound like a secret's?
pub(super) fn is_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase().replace('-', "_");
    let sounds = |word: &&str| key.contains(*word) || is_slip(&key, word);
    SECRET.iter().any(sounds) && !ELSEWHERE.iter().any(|word| key.ends_with(word))
}

/// Is one letter of it wrong?
fn is_slip(key: &str, word: &str) -> bool {
    let key = key.rsplit('.').next().unwrap_or(key);
    key.len().abs_diff(word.len()) <= 1 && strsim::damerau_levenshtein(key, word) <= 1
}

#[cfg(test)]
mod tests;
