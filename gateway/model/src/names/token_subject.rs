//! The subject of an OAuth token.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::Digest;
use crate::text;

/// The maximum length of a subject's name, in characters.
const MAX_SUBJECT_NAME_CHARS: usize = 128;

/// The length of the digest in a changed name, in characters.
const DIGEST_CHARS: usize = 12;

/// A subject of an OAuth issuer, such as a user or a client.
///
/// It is the same one in every token that names it. The name is only for people and plugins, and can change. So can the
/// facts that roles depend on: they are those of one token.
#[derive(Debug, Clone)]
pub struct TokenSubject {
    /// The issuer that vouches for it.
    issuer: Arc<str>,
    /// Its identifier, unique within the issuer.
    subject: Arc<str>,
    /// The name that plugins see.
    name: Arc<str>,
    /// The facts in the token that names it now.
    facts: Arc<TokenFacts>,
}

/// The facts in a token that roles depend on. Two tokens of one subject can differ in them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct TokenFacts {
    /// The scopes.
    pub scopes: BTreeSet<String>,
    /// The values of each claim. The names of nested claims are joined with `.`.
    pub claims: BTreeMap<String, Vec<String>>,
}

impl fmt::Debug for TokenFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenFacts").finish_non_exhaustive() // claims can be personal, and are never logged
    }
}

impl TokenSubject {
    /// The subject with this identifier. `name` comes from a token: it is cut, and hidden characters become spaces. A name
    /// that is changed gets a digest of the subject, so that no two subjects look like one to plugins.
    #[must_use]
    pub fn new(issuer: Arc<str>, subject: Arc<str>, name: &str) -> Self {
        let line = text::blanked_line(name, MAX_SUBJECT_NAME_CHARS);
        let shown = line.trim();
        let name = if shown == name && !shown.is_empty() {
            shown.into()
        } else {
            let digest = Digest::of(subject.as_bytes()).to_string();
            format!("{shown} #{}", &digest[..DIGEST_CHARS]).trim().into()
        };
        Self { issuer, subject, name, facts: Arc::default() }
    }

    /// The same subject, named by a token with these facts.
    #[must_use]
    pub fn with_facts(self, facts: TokenFacts) -> Self {
        Self { facts: Arc::new(facts), ..self }
    }

    /// The same subject, with the issuer in its name. Use it if other callers could have the same name.
    #[must_use]
    pub fn with_qualified_name(self) -> Self {
        let name = format!("{} ({})", self.name, self.issuer);
        Self { name: name.into(), ..self }
    }

    /// The issuer.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The identifier within the issuer.
    #[must_use]
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// The name that plugins see.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The facts in the token that names it now.
    #[must_use]
    pub fn facts(&self) -> &TokenFacts {
        &self.facts
    }

    /// The parts that identify it.
    fn identity(&self) -> (&str, &str) {
        (&self.issuer, &self.subject)
    }
}

impl PartialEq for TokenSubject {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for TokenSubject {}

impl PartialOrd for TokenSubject {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TokenSubject {
    fn cmp(&self, other: &Self) -> Ordering {
        self.identity().cmp(&other.identity())
    }
}

impl Hash for TokenSubject {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Principal;

    fn subject(issuer: &str, subject: &str, name: &str) -> TokenSubject {
        TokenSubject::new(issuer.into(), subject.into(), name)
    }

    #[test]
    fn issuer_and_subject_identify_a_subject_not_its_name() {
        let ann = subject("https://a.example", "1", "ann");
        assert_eq!(ann, subject("https://a.example", "1", "Ann Smith"));
        assert_ne!(ann, subject("https://a.example", "2", "ann"));
        assert_ne!(ann, subject("https://b.example", "1", "ann"));
        assert_ne!(Principal::Subject(ann.into()), Principal::Named("ann".into()));
    }

    #[test]
    fn subjects_that_look_alike_have_different_names() {
        let long = "a".repeat(MAX_SUBJECT_NAME_CHARS);
        let subjects =
            ["ann", "ann ", " ann", "ann\u{200b}", "ann\u{202e}", "", "\u{200b}", &long, &format!("{long}b")];
        let named = subjects.map(|it| subject("i", it, it).name().to_owned());
        let names: BTreeSet<_> = named.iter().collect();
        assert_eq!(names.len(), subjects.len(), "{named:?}");
    }

    #[test]
    fn names_from_tokens_are_short_and_visible() {
        let name = |text: &str| subject("i", "s", text).name().to_owned();
        assert!(name(" ann\u{202e}\n\u{200b}bob ").starts_with("ann   bob #"));
        let with_digest = MAX_SUBJECT_NAME_CHARS + 1 + " #".len() + DIGEST_CHARS;
        assert_eq!(name(&"é".repeat(1_000)).chars().count(), with_digest);
        assert_eq!(name("Ann Smith"), "Ann Smith");
        let ann = subject("https://a.example", "1", "ann").with_qualified_name();
        assert_eq!(ann.name(), "ann (https://a.example)");
    }
}
