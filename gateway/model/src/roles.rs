//! Roles: the callers that may see plugins, tools, prompts and resources.
//!
//! A caller has every role with a member that matches it. It sees what one of its roles allows and none of them denies.
//! Names are the public ones, so a role means the same to operators and clients.

use std::ops::Range;
use std::sync::Arc;

use crate::call_rate::CallerLimits;
use crate::names::{LocalUser, PluginId, Principal, TokenFacts, TokenSubject};
use crate::uri_form::{comparable_prefix, comparable_uri, possible_readings};

/// All roles of a configuration, in the order of the file.
#[derive(Debug, Clone, Default)]
pub struct AccessRoles(Vec<AccessRole>);

/// A role.
#[derive(Debug, Clone)]
pub struct AccessRole {
    /// Its name.
    pub name: Arc<str>,
    /// The byte range of its name in the configuration file.
    pub span: Range<usize>,
    /// The callers that have it.
    pub members: Vec<RoleMember>,
    /// The items that its callers see.
    pub allow: ItemPatterns,
    /// The items that its callers don't see, even if this or another of their roles allows them.
    pub deny: ItemPatterns,
    /// The limits of each of its callers, in place of those of all callers.
    pub limits: CallerLimits,
}

impl AccessRole {
    fn has(&self, principal: &Principal) -> bool {
        self.members.iter().any(|member| member.callers.matches(principal))
    }

    /// Compares two roles, ignoring their locations in the file.
    #[must_use]
    pub fn is_equivalent_to(&self, other: &Self) -> bool {
        let Self { name, span: _, members, allow, deny, limits } = self;
        *name == other.name
            && *allow == other.allow
            && *deny == other.deny
            && *limits == other.limits
            && members.iter().map(|it| &it.callers).eq(other.members.iter().map(|it| &it.callers))
    }
}

/// A condition for having a role.
#[derive(Debug, Clone)]
pub struct RoleMember {
    /// The byte range of the condition in the configuration file.
    pub span: Range<usize>,
    /// The callers that meet it.
    pub callers: CallerCondition,
}

/// A condition on callers. Further kinds of principals get variants of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallerCondition {
    /// Every caller.
    Any,
    /// The process that started the gateway over stdio.
    Stdio,
    /// Callers of an endpoint without authentication.
    Anonymous,
    /// The holder of the static token with this name.
    Token(Arc<str>),
    /// The holder of the client certificate with this name, such as `dns:ci.example.com`.
    Certificate(Arc<str>),
    /// This user of this machine, connected to the Unix socket.
    User(LocalUser),
    /// Subjects of an OAuth issuer.
    Subject(SubjectCondition),
}

/// A condition on subjects of an OAuth issuer. All parts must match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubjectCondition {
    /// The issuer of the token.
    pub issuer: Arc<str>,
    /// The subject. `None` means any.
    pub subject: Option<Arc<str>>,
    /// A scope that the token must have.
    pub scope: Option<Arc<str>>,
    /// A claim of the token, and the value that it must have or contain.
    pub claim: Option<(Arc<str>, Arc<str>)>,
}

/// Patterns for plugins and their items.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ItemPatterns {
    /// Whole plugins, by id.
    pub plugins: Vec<NamePattern>,
    /// Tools, by public name.
    pub tools: Vec<NamePattern>,
    /// Prompts, by public name.
    pub prompts: Vec<NamePattern>,
    /// Resources by URI, and templates by their text.
    pub resources: Vec<UriPattern>,
}

/// A name in which `*` matches any text.
#[derive(Debug, Clone)]
pub struct NamePattern {
    text: Box<str>,
    span: Range<usize>,
}

/// A URI in which `*` and each `{…}` match any text.
#[derive(Debug, Clone)]
pub struct UriPattern {
    text: Box<str>,
    span: Range<usize>,
    /// The pattern with `*` only.
    written: Box<[u8]>,
    /// The same for URIs in the form of [`comparable_uri`].
    comparable: Box<[u8]>,
}

/// The roles that a caller has: indices, in ascending order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct RoleSet(Box<[usize]>);

/// The items that the callers with one set of roles see.
#[derive(Debug, Clone)]
pub struct VisibleItems {
    roles: Arc<AccessRoles>,
    set: RoleSet,
}

impl NamePattern {
    /// The pattern at this byte range of the configuration file.
    #[must_use]
    pub fn new(text: &str, span: Range<usize>) -> Self {
        Self { text: text.into(), span }
    }

    /// Reports whether it matches the whole name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        matches(self.text.as_bytes(), name.as_bytes())
    }

    /// The pattern as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its byte range in the configuration file.
    #[must_use]
    pub fn span(&self) -> &Range<usize> {
        &self.span
    }
}

impl UriPattern {
    /// The pattern at this byte range of the configuration file.
    #[must_use]
    pub fn new(text: &str, span: Range<usize>) -> Self {
        let written = without_expressions(text);
        let comparable = comparable_uri(&written).into();
        Self { text: text.into(), span, written: written.into_bytes().into(), comparable }
    }

    /// Reports whether the URI surely is one of these: as written, and in every equivalent spelling.
    #[must_use]
    pub fn is_surely(&self, uri: &str) -> bool {
        matches(&self.written, uri.as_bytes())
            && possible_readings(uri).into_iter().all(|uri| self.matches_comparable(uri))
    }

    /// Reports whether the URI could be one of these: as written, or in an equivalent spelling.
    #[must_use]
    pub fn may_be(&self, uri: &str) -> bool {
        matches(&self.written, uri.as_bytes())
            || possible_readings(uri).into_iter().any(|uri| self.matches_comparable(uri))
    }

    fn matches_comparable(&self, uri: &str) -> bool {
        // With and without the slash at its end, which `a/*` needs.
        matches(&self.comparable, &comparable_uri(uri)) || matches(&self.comparable, &comparable_prefix(uri))
    }

    /// The pattern as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its byte range in the configuration file.
    #[must_use]
    pub fn span(&self) -> &Range<usize> {
        &self.span
    }
}

impl PartialEq for NamePattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for NamePattern {}

impl PartialEq for UriPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for UriPattern {}

/// The text with `*` in place of each `{…}`.
fn without_expressions(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((_, after)) = after.split_once('}') else { break };
        plain.push_str(before);
        plain.push('*');
        rest = after;
    }
    plain.push_str(rest);
    plain
}

/// Reports whether the pattern, in which `*` matches any text, matches the whole text.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut read) = (0, 0);
    // The position after the last `*`, and the end of the text that it matches so far.
    let mut star: Option<(usize, usize)> = None;
    while read < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                at += 1;
                star = Some((at, read));
            }
            Some(byte) if *byte == text[read] => {
                at += 1;
                read += 1;
            }
            _ => {
                let Some((after, end)) = &mut star else { return false };
                *end += 1;
                (at, read) = (*after, *end);
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

impl CallerCondition {
    /// Reports whether the principal meets the condition.
    #[must_use]
    pub fn matches(&self, principal: &Principal) -> bool {
        match (self, principal) {
            (Self::Any, _) | (Self::Stdio, Principal::Local) | (Self::Anonymous, Principal::Anonymous) => {
                true
            }
            (Self::Certificate(wanted), Principal::Certificate(name)) => wanted == name,
            (Self::User(wanted), Principal::User(user)) => wanted == user,
            (Self::Token(name), Principal::Named(holder)) => name == holder,
            (Self::Subject(condition), Principal::Subject(subject)) => condition.matches(subject),
            (
                Self::Stdio
                | Self::Anonymous
                | Self::Token(_)
                | Self::Certificate(_)
                | Self::User(_)
                | Self::Subject(_),
                _,
            ) => false,
        }
    }
}

impl SubjectCondition {
    fn matches(&self, token: &TokenSubject) -> bool {
        let Self { issuer, subject, scope, claim } = self;
        let TokenFacts { scopes, claims } = token.facts();
        **issuer == *token.issuer()
            && subject.as_ref().is_none_or(|subject| **subject == *token.subject())
            && scope.as_ref().is_none_or(|scope| scopes.contains(&**scope))
            && claim.as_ref().is_none_or(|(name, value)| {
                claims.get(&**name).is_some_and(|values| values.iter().any(|its| **its == **value))
            })
    }
}

impl RoleSet {
    /// Reports whether it contains no role.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl AccessRoles {
    /// These roles.
    #[must_use]
    pub fn new(roles: Vec<AccessRole>) -> Self {
        Self(roles)
    }

    /// The roles, in the order of the file.
    #[must_use]
    pub fn roles(&self) -> &[AccessRole] {
        &self.0
    }

    /// The roles of this principal.
    #[must_use]
    pub fn of(&self, principal: &Principal) -> RoleSet {
        RoleSet(self.0.iter().enumerate().filter(|(_, role)| role.has(principal)).map(|(at, _)| at).collect())
    }

    /// The limits of a caller with this principal: for each limit, the highest that one of its roles sets or, if none
    /// does, the one in `each`.
    #[must_use]
    pub fn limits_of(&self, principal: &Principal, each: CallerLimits) -> CallerLimits {
        let limiting = self.0.iter().filter(|role| role.limits != CallerLimits::default());
        let own = limiting.filter(|role| role.has(principal)).map(|role| role.limits);
        own.reduce(CallerLimits::highest).unwrap_or_default().or(each)
    }

    /// The names of these roles.
    pub fn names<'a>(&'a self, set: &'a RoleSet) -> impl Iterator<Item = &'a str> {
        set.0.iter().filter_map(|at| self.0.get(*at)).map(|role| &*role.name)
    }

    /// Compares two sets of roles, ignoring their locations in the file.
    #[must_use]
    pub fn is_equivalent_to(&self, other: &Self) -> bool {
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| a.is_equivalent_to(b))
    }

    /// The same for configurations in which there can be no roles.
    #[must_use]
    pub fn are_equivalent(a: Option<&Arc<Self>>, b: Option<&Arc<Self>>) -> bool {
        match (a, b) {
            (Some(a), Some(b)) => a.is_equivalent_to(b),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }
}

impl VisibleItems {
    /// The items that `set` of `roles` shows.
    #[must_use]
    pub fn new(roles: Arc<AccessRoles>, set: RoleSet) -> Self {
        Self { roles, set }
    }

    /// Reports whether the tool with this public name is visible.
    #[must_use]
    pub fn has_tool(&self, plugin: &PluginId, name: &str) -> bool {
        self.has(plugin, |patterns, _| patterns.tools.iter().any(|pattern| pattern.matches(name)))
    }

    /// Reports whether the prompt with this public name is visible.
    #[must_use]
    pub fn has_prompt(&self, plugin: &PluginId, name: &str) -> bool {
        self.has(plugin, |patterns, _| patterns.prompts.iter().any(|pattern| pattern.matches(name)))
    }

    /// Reports whether the resource or template is visible. A spelling that could mean a denied resource isn't.
    #[must_use]
    pub fn has_resource(&self, plugin: &PluginId, uri: &str) -> bool {
        self.has(plugin, |patterns, effect| {
            patterns.resources.iter().any(|pattern| match effect {
                PatternEffect::Allow => pattern.is_surely(uri),
                PatternEffect::Deny => pattern.may_be(uri),
            })
        })
    }

    /// The names of the roles.
    pub fn role_names(&self) -> impl Iterator<Item = &str> {
        self.roles.names(&self.set)
    }

    fn has(&self, plugin: &PluginId, names: impl Fn(&ItemPatterns, PatternEffect) -> bool) -> bool {
        let covers = |patterns: &ItemPatterns, effect| {
            patterns.plugins.iter().any(|pattern| pattern.matches(plugin.as_str())) || names(patterns, effect)
        };
        let own = || self.set.0.iter().filter_map(|at| self.roles.0.get(*at));
        own().any(|role| covers(&role.allow, PatternEffect::Allow))
            && !own().any(|role| covers(&role.deny, PatternEffect::Deny))
    }
}

/// The effect of a pattern.
#[derive(Clone, Copy)]
enum PatternEffect {
    Allow,
    Deny,
}

#[cfg(test)]
mod tests;
