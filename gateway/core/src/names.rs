//! Names as types: plugins, tools, prompts, resources, digests, principals.
//!
//! Each name is checked once, where it enters, and can't be wrong afterwards. The one rule that joins a plugin's
//! prefix and the plugin's own name for a tool is [`PublicName::join`]; public names are looked up, never split.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

mod alike;

pub use alike::alike;
pub(crate) use alike::{Effort, Ending, ending};

/// The longest public name, in characters: hosts refuse a tool list with a longer one in it.
pub const MAX_PUBLIC_NAME: usize = 64;

/// Above this many characters a public name may become too long once a host has put its own prefix before it
/// (Claude Code writes `mcp__<server>__` and counts the whole against 64).
pub const WARN_PUBLIC_NAME: usize = 46;

/// Why a text is no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The text is empty.
    #[error("the name is empty")]
    Empty,
    /// The text has too many characters.
    #[error("`{name}` is {length} characters long; at most {most} are allowed")]
    TooLong {
        /// The name, cut where it would fill a screen.
        name: String,
        /// How long it is, in characters.
        length: usize,
        /// How long it may be, in characters.
        most: usize,
    },
    /// The text holds a character that names don't have.
    #[error("`{name}` holds {}; only letters, digits, `_` and `-` are allowed", in_words(*found))]
    BadCharacter {
        /// The name, with what can't be shown escaped.
        name: String,
        /// The first character that isn't allowed.
        found: char,
    },
    /// The text isn't an absolute URI.
    #[error("`{uri}` is no absolute URI: {reason}")]
    BadUri {
        /// What was given, with what can't be shown escaped.
        uri: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The text isn't a SHA-256 digest.
    #[error("`{0}` is no SHA-256 digest: it takes 64 hexadecimal digits")]
    BadDigest(String),
}

/// Checks the alphabet that all names share, `[A-Za-z0-9_-]`, and the length.
fn check(text: &str, most: usize) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty);
    }
    if let Some(found) = text.chars().find(|c| !(c.is_ascii_alphanumeric() || *c == '_' || *c == '-')) {
        return Err(NameError::BadCharacter { name: shown(text), found });
    }
    if text.len() > most {
        return Err(NameError::TooLong { name: shown(text), length: text.len(), most });
    }
    Ok(())
}

/// A text as it may appear in a message, in backticks: what can't be shown escaped, nothing that ends the backticks, and
/// no longer than a line.
pub(crate) fn shown(text: &str) -> String {
    let mut out: String = text.chars().take(80).flat_map(char::escape_debug).collect();
    out = out.replace('`', "'");
    if text.chars().nth(80).is_some() {
        out.push('…');
    }
    out
}

/// A character as a message names it.
fn in_words(c: char) -> String {
    match c {
        ' ' => "a blank".to_owned(),
        '`' => "a backtick".to_owned(),
        c => format!("`{}`", shown(c.encode_utf8(&mut [0; 4]))),
    }
}

/// Defines a name over the common alphabet.
macro_rules! name {
    ($(#[$doc:meta])* $Name:ident, $most:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $Name(Arc<str>);

        impl $Name {
            /// The longest such name, in characters.
            pub const MAX: usize = $most;

            /// Checks `text`.
            ///
            /// # Errors
            /// It is empty, too long, or holds a character other than letters, digits, `_` and `-`.
            pub fn new(text: &str) -> Result<Self, NameError> {
                check(text, Self::MAX)?;
                Ok(Self(text.into()))
            }

            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $Name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::new(text)
            }
        }

        impl fmt::Display for $Name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $Name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl std::borrow::Borrow<str> for $Name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

name! {
    /// The key of a plugin's table in `gateway.toml`.
    PluginId, 40
}
name! {
    /// What a plugin itself calls one of its tools.
    ToolName, 64
}
name! {
    /// What a plugin itself calls one of its prompts.
    PromptName, 64
}
name! {
    /// What clients call a tool or a prompt: unique in the whole catalog.
    PublicName, MAX_PUBLIC_NAME
}

name! {
    /// What several plugins call a store that they share.
    StoreName, 64
}

impl PublicName {
    /// Joins a plugin's prefix and its own name for a tool or prompt: `<prefix>_<name>`, or the name alone where
    /// the prefix is empty.
    ///
    /// # Errors
    /// The whole is longer than [`MAX_PUBLIC_NAME`] or holds a character that names don't have.
    pub fn join(prefix: &str, name: &str) -> Result<Self, NameError> {
        if prefix.is_empty() { Self::new(name) } else { Self::new(&format!("{prefix}_{name}")) }
    }
}

/// Is it a character that a reader doesn't see, or that makes others stand elsewhere? Where such a one may stand all the
/// same, such as a line break in a text of several lines, the caller says so.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Breaks of lines and paragraphs.
            '\u{2028}' | '\u{2029}'
            // Bidirectional marks, embeddings, overrides and isolates.
            | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            // Without width or sense of their own: blanks, operators, marks of the byte order and of annotations. The
            // joiners stay, which emoji and some scripts need.
            | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            // Tags and the rarer variation selectors: each a copy of ASCII or of all bytes that nothing shows.
            | '\u{e0000}'..='\u{e0fff}')
}

/// The same in a URI, where joiners aren't needed either: such characters stand there as `%` escapes (RFC 3987, section
/// 4.1).
pub(crate) fn is_hidden_in_uri(c: char) -> bool {
    is_hidden(c) || matches!(c, '\u{200c}' | '\u{200d}')
}

/// Is it made of what URIs are made of (RFC 3986, appendix A)? Brackets stand around an IPv6 address and nowhere else,
/// and each `%` begins an escape.
fn is_uri_text(text: &str) -> bool {
    let authority =
        text.split_once("://").map_or("", |(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default());
    let brackets = |text: &str| text.bytes().filter(|byte| matches!(byte, b'[' | b']')).count();
    let escape = |rest: &str| rest.len() >= 2 && rest.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte))
        && brackets(text) == brackets(authority)
        && text.split('%').skip(1).all(escape)
}

/// The URI of a resource: absolute, as the plugin gave it (RFC 3986; only what routing needs is checked).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceUri(Arc<str>);

impl ResourceUri {
    /// The longest URI, in bytes.
    pub const MAX: usize = 4096;

    /// Checks `text`.
    ///
    /// # Errors
    /// It has no scheme, nothing after the scheme, characters in it that no URI has or that nobody sees, or is too
    /// long.
    pub fn new(text: &str) -> Result<Self, NameError> {
        let bad = |reason| Err(NameError::BadUri { uri: shown(text), reason });
        if text.len() > Self::MAX {
            return bad("it is longer than 4,096 bytes");
        }
        let Some((scheme, rest)) = text.split_once(':') else { return bad("it has no scheme") };
        if !scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            || !scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        {
            return bad("what stands before the first `:` is no scheme");
        }
        if rest.is_empty() {
            return bad("nothing follows the scheme");
        }
        if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return bad("it holds white space or a control character");
        }
        if text.chars().any(is_hidden_in_uri) {
            return bad("it holds a character that nobody sees");
        }
        if !is_uri_text(text) {
            return bad("it holds characters that can't stand there; write them as `%` escapes (RFC 3986)");
        }
        Ok(Self(text.into()))
    }

    /// The URI as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ResourceUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ResourceUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl std::borrow::Borrow<str> for ResourceUri {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// The SHA-256 digest of some content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The first twelve hexadecimal digits, for people.
    #[must_use]
    pub fn short(&self) -> String {
        self.to_string()[..12].to_owned()
    }

    /// The 32 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl FromStr for Digest {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let bad = || NameError::BadDigest(shown(text));
        if text.len() != 64 || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(bad());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| bad())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| bad())?;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Whom the gateway takes the caller for.
///
/// Sessions belong to their principal, and instances are never shared between two of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Principal {
    /// The process that started the gateway over stdio.
    Local,
    /// Somebody over HTTP where nobody is asked for a token.
    Anonymous,
    /// The holder of the bearer token of this name.
    Named(Arc<str>),
}

impl Principal {
    /// The name that a plugin is told: none where nobody was asked.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Local | Self::Anonymous => None,
            Self::Named(name) => Some(name),
        }
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::Anonymous => f.write_str("anonymous"),
            Self::Named(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests;
