//! Names as types: plugins, tools, prompts, resources, digests, principals.
//!
//! Each name is validated once, when it is created. [`PublicName::join`] is the only rule that joins a plugin's prefix
//! with the plugin's own name for a tool or prompt. Public names are looked up, never split.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use crate::text::{is_hidden, is_hidden_in_uri, quotable};

mod local_user;
mod token_subject;

pub use local_user::{LOCAL_USER_PREFIX, LocalUser};
pub use token_subject::{TokenFacts, TokenSubject};

/// The number of hexadecimal digits that identify a shortened public name.
const DIGEST_SUFFIX_DIGITS: usize = 8;

/// The longest public name, in characters. Hosts reject a tool list that contains a longer one.
pub const MAX_PUBLIC_NAME: usize = 64;

/// The longest name that a plugin can give a tool or a prompt, in characters: MCP recommends no more for tools
/// (2025-11-25, server/tools).
pub const MAX_OWN_NAME: usize = 128;

/// A longer public name, in characters, can become too long when a host adds its own prefix (Claude Code adds
/// `mcp__<server>__` and allows 64 in total).
pub const WARN_PUBLIC_NAME: usize = 46;

/// An invalid name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The text is empty.
    #[error("the name is empty")]
    Empty,
    /// The text has too many characters.
    #[error("`{name}` is {length} characters long; at most {most} are allowed")]
    TooLong {
        /// The name, cut if it would fill a screen.
        name: String,
        /// Its length, in characters.
        length: usize,
        /// The allowed length, in characters.
        most: usize,
    },
    /// The text contains a character that isn't allowed in names.
    #[error("`{name}` contains {}; only letters, digits, `_` and `-` are allowed", in_words(*found))]
    BadCharacter {
        /// The name, with unprintable characters escaped.
        name: String,
        /// The first character that isn't allowed.
        found: char,
    },
    /// The text contains a character that isn't allowed in a plugin's own names.
    #[error("`{name}` contains {}", in_words(*found))]
    BadOwnCharacter {
        /// The name, with unprintable characters escaped.
        name: String,
        /// The first character that isn't allowed.
        found: char,
    },
    /// The text isn't an absolute URI.
    #[error("invalid URI `{uri}`: {reason}")]
    BadUri {
        /// The text, with unprintable characters escaped.
        uri: String,
        /// The reason.
        reason: &'static str,
    },
    /// The text isn't a SHA-256 digest.
    #[error("`{0}` isn't a SHA-256 digest: expected 64 hexadecimal digits")]
    BadDigest(String),
}

/// Reports whether `c` is in the alphabet of the gateway's names, which all hosts accept: `[A-Za-z0-9_-]`.
fn is_portable(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Checks the alphabet of the gateway's names, and the length.
fn check_portable(text: &str, most: usize) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty);
    }
    if let Some(found) = text.chars().find(|c| !is_portable(*c)) {
        return Err(NameError::BadCharacter { name: quotable(text), found });
    }
    check_length(text, most)
}

/// Checks a plugin's own name: visible characters, except the two that messages and the configuration use around and
/// instead of names.
fn check_own(text: &str, most: usize) -> Result<(), NameError> {
    if text.trim().is_empty() {
        return Err(NameError::Empty);
    }
    if let Some(found) = text.chars().find(|c| is_hidden(*c) || matches!(c, '`' | '*')) {
        return Err(NameError::BadOwnCharacter { name: quotable(text), found });
    }
    check_length(text, most)
}

fn check_length(text: &str, most: usize) -> Result<(), NameError> {
    match text.chars().count() {
        length if length > most => Err(NameError::TooLong { name: quotable(text), length, most }),
        _ => Ok(()),
    }
}

/// A character as messages show it.
fn in_words(c: char) -> String {
    match c {
        ' ' => "a space".to_owned(),
        '`' => "a backtick".to_owned(),
        c => format!("`{}`", quotable(c.encode_utf8(&mut [0; 4]))),
    }
}

/// Defines a type for names that `$check` accepts.
macro_rules! name {
    ($(#[$doc:meta])* $Name:ident, $most:expr, $check:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $Name(Arc<str>);

        impl $Name {
            /// The longest such name, in characters.
            pub const MAX_CHARS: usize = $most;

            /// Validates `text`.
            ///
            /// # Errors
            /// The text is empty, too long, or contains a character that isn't allowed.
            pub fn new(text: &str) -> Result<Self, NameError> {
                $check(text, Self::MAX_CHARS)?;
                Ok(Self(text.into()))
            }

            /// The name as a string.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The name as a shared string, without a copy.
            #[must_use]
            pub fn to_shared(&self) -> Arc<str> {
                Arc::clone(&self.0)
            }
        }

        impl Serialize for $Name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $Name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::new(&String::deserialize(deserializer)?).map_err(D::Error::custom)
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
    /// A plugin's key in `gateway.toml`: letters, digits, `_` and `-`.
    PluginId, 40, check_portable
}
name! {
    /// A plugin's own name for one of its tools: any visible characters except backticks and `*`.
    ToolName, MAX_OWN_NAME, check_own
}
name! {
    /// A plugin's own name for one of its prompts: any visible characters except backticks and `*`.
    PromptName, MAX_OWN_NAME, check_own
}
name! {
    /// The name of a tool or a prompt that clients see: letters, digits, `_` and `-`. It is unique in the whole catalog.
    PublicName, MAX_PUBLIC_NAME, check_portable
}

name! {
    /// The name of a store that several plugins share: letters, digits, `_` and `-`.
    StoreName, 64, check_portable
}

impl ToolName {
    /// The public name, unless the configuration sets another.
    #[must_use]
    pub fn with_prefix(&self, prefix: &str) -> PublicName {
        PublicName::join(prefix, self.as_str())
    }
}

impl PromptName {
    /// The public name, unless the configuration sets another.
    #[must_use]
    pub fn with_prefix(&self, prefix: &str) -> PublicName {
        PublicName::join(prefix, self.as_str())
    }
}

impl PublicName {
    /// Joins a plugin's prefix and its own name for a tool or prompt: `<prefix>_<name>`, or the name alone if the
    /// prefix is empty. `name` isn't empty.
    ///
    /// MCP allows more names than hosts accept. So each other character becomes `_`, and a name that is too long or
    /// that had other characters than ASCII ends with a digest of `name`. The result depends on nothing else, and is
    /// the same after every reload.
    fn join(prefix: &str, name: &str) -> Self {
        let joined = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}_{name}") };
        let mut public: String = joined.chars().map(|c| if is_portable(c) { c } else { '_' }).collect();
        if public.len() > Self::MAX_CHARS || !joined.is_ascii() {
            let digest = Digest::of(name.as_bytes()).to_string();
            public.truncate(Self::MAX_CHARS - DIGEST_SUFFIX_DIGITS - 1);
            public.push('_');
            public.push_str(&digest[..DIGEST_SUFFIX_DIGITS]);
        }
        Self(public.into())
    }
}

/// Reports whether `text` is the scheme of a URI, without `:` (RFC 3986, section 3.1).
pub(crate) fn is_uri_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// Reports whether `text` consists of URI characters (RFC 3986, appendix A). Brackets are allowed around an IPv6
/// address only, and each `%` must start an escape.
fn is_uri_text(text: &str) -> bool {
    let authority =
        text.split_once("://").map_or("", |(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default());
    let brackets = |text: &str| text.bytes().filter(|byte| matches!(byte, b'[' | b']')).count();
    let escape = |rest: &str| rest.len() >= 2 && rest.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte))
        && brackets(text) == brackets(authority)
        && text.split('%').skip(1).all(escape)
}

/// The URI of a resource: absolute, as the plugin gave it (RFC 3986). Only the parts that routing needs are validated.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceUri(Arc<str>);

impl ResourceUri {
    /// The longest URI, in bytes.
    pub const MAX_BYTES: usize = 4096;

    /// Validates `text`.
    ///
    /// # Errors
    /// The text has no scheme, nothing after the scheme, invisible characters or characters that URIs can't contain, or
    /// is too long.
    pub fn new(text: &str) -> Result<Self, NameError> {
        let bad = |reason| Err(NameError::BadUri { uri: quotable(text), reason });
        if text.len() > Self::MAX_BYTES {
            return bad("it is longer than 4,096 bytes");
        }
        let Some((scheme, rest)) = text.split_once(':') else { return bad("it has no scheme") };
        if !is_uri_scheme(scheme) {
            return bad("the part before the first `:` is not a valid scheme");
        }
        if rest.is_empty() {
            return bad("nothing follows the scheme");
        }
        if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return bad("it contains white space or a control character");
        }
        if text.chars().any(is_hidden_in_uri) {
            return bad("it contains an invisible character");
        }
        if !is_uri_text(text) {
            return bad("it contains invalid characters; write them as `%` escapes (RFC 3986)");
        }
        Ok(Self(text.into()))
    }

    /// The URI as a string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Serialize for ResourceUri {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ResourceUri {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(D::Error::custom)
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

impl From<[u8; 32]> for Digest {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl FromStr for Digest {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let bad = || NameError::BadDigest(quotable(text));
        if text.len() != 64 {
            return Err(bad());
        }
        let value = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let (high, low) = value(pair[0]).zip(value(pair[1])).ok_or_else(bad)?;
            *byte = high << 4 | low;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let pairs = self.0.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
        let digits = pairs.map(|digit| char::from(DIGITS[usize::from(digit)]));
        f.write_str(&digits.collect::<String>())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The identity of a caller.
///
/// Sessions belong to their principal, and instances are never shared between two of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Principal {
    /// The process that started the gateway over stdio.
    Local,
    /// An HTTP caller on a gateway without tokens.
    Anonymous,
    /// The holder of the bearer token with this name.
    Named(Arc<str>),
    /// A subject of an OAuth issuer.
    Subject(Arc<TokenSubject>),
    /// The holder of a client certificate with this name, which starts with its type, such as `dns:ci.example.com`. No
    /// token's name contains a colon.
    Certificate(Arc<str>),
    /// A user of this machine, connected to the Unix socket.
    User(LocalUser),
    /// Someone who tries tools on the status page. Operators see everything.
    Operator,
}

impl Principal {
    /// The name that plugins see. `None` if the caller didn't authenticate.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Local | Self::Anonymous | Self::Operator => None,
            Self::Named(name) | Self::Certificate(name) => Some(name),
            Self::Subject(subject) => Some(subject.name()),
            Self::User(user) => Some(user.name()),
        }
    }

    /// Reports whether both are the same principal with the same facts about it, so that both have the same roles.
    #[must_use]
    pub fn has_same_facts(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Subject(a), Self::Subject(b)) => Arc::ptr_eq(a, b) || (a == b && a.facts() == b.facts()),
            (
                Self::Local
                | Self::Anonymous
                | Self::Named(_)
                | Self::Certificate(_)
                | Self::Subject(_)
                | Self::User(_)
                | Self::Operator,
                _,
            ) => self == other,
        }
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::Anonymous => f.write_str("anonymous"),
            Self::Operator => f.write_str("operator"),
            Self::Named(name) | Self::Certificate(name) => f.write_str(name),
            Self::Subject(subject) => f.write_str(subject.name()),
            Self::User(user) => f.write_str(user.name()),
        }
    }
}

#[cfg(test)]
mod tests;
