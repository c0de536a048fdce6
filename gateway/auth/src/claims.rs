//! The claims of access tokens (RFC 9068, RFC 7662) that are known to be genuine: audience, times, scopes, subject.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use moongate_config::IssuerConfig;
use moongate_model::names::{LOCAL_USER_PREFIX, TokenFacts, TokenSubject};
use moongate_model::text::is_hidden;
use serde_json::{Map, Value};

use crate::authenticator::TokenProblem;
use crate::jwt::{SignedClaims, TokenType};

/// The tolerance for clocks that differ.
pub(crate) const LEEWAY: Duration = Duration::from_secs(60);

/// The longest subject, in bytes. OpenID Connect allows 255 ASCII characters.
const MAX_SUBJECT_BYTES: usize = 255;

/// The start of the subject of an opaque token that belongs to a client and no user. A client's id alone could be the
/// subject of a user (RFC 9700, section 4.15).
const CLIENT_PREFIX: &str = "client:";

/// The claims that only ID tokens have (OpenID Connect Core, 2 and 3.3.2.11).
const ID_TOKEN_CLAIMS: [&str; 3] = ["nonce", "at_hash", "c_hash"];

/// The claims that no role can name: they differ in each token, or there are other conditions for them.
const UNNAMED_CLAIMS: [&str; 8] = ["iss", "sub", "exp", "nbf", "iat", "jti", "scope", "scp"];

/// The most memory that the scopes and claims of one token take for roles, in bytes. Tokens are kept for a minute.
const MAX_FACTS_BYTES: usize = 64 * 1024;

/// The memory that a text takes in addition to its bytes.
const TEXT_OVERHEAD_BYTES: usize = 48;

/// The levels of nested claims that roles can name, such as `resource_access.CLIENT.roles`.
const MAX_CLAIM_DEPTH: usize = 4;

/// The names of an issuer's subjects, as plugins see them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubjectNaming {
    /// No other callers can have the same name.
    Plain,
    /// Subjects of other issuers or static tokens can have the same name, so the issuer is part of it.
    Qualified,
}

/// The rules for the tokens of an issuer.
#[derive(Debug)]
pub(crate) struct ClaimRules {
    pub(crate) issuer: Arc<str>,
    audiences: Vec<String>,
    name_claim: Option<String>,
    naming: SubjectNaming,
}

/// A token that was verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VerifiedToken {
    pub(crate) subject: Arc<TokenSubject>,
    /// The memory that its scopes and claims take, in bytes.
    pub(crate) facts_bytes: usize,
    /// The time after which it isn't accepted any more, [`LEEWAY`] included.
    pub(crate) ends: SystemTime,
    /// The time from which it is accepted, without [`LEEWAY`].
    starts: Option<SystemTime>,
}

impl VerifiedToken {
    /// A token without scopes.
    #[cfg(test)]
    pub(crate) fn fixed(subject: Arc<TokenSubject>, ends: SystemTime) -> Self {
        Self { subject, facts_bytes: 0, ends, starts: None }
    }

    /// # Errors
    /// The token isn't valid at this time.
    pub(crate) fn check_time(&self, now: SystemTime) -> Result<(), TokenProblem> {
        if now > self.ends {
            return Err(TokenProblem::Expired);
        }
        if self.starts.is_some_and(|starts| now + LEEWAY < starts) {
            return Err(TokenProblem::NotYetValid);
        }
        Ok(())
    }
}

impl ClaimRules {
    pub(crate) fn new(issuer: &IssuerConfig, naming: SubjectNaming) -> Self {
        Self {
            issuer: Arc::clone(&issuer.issuer),
            audiences: issuer.audiences.clone(),
            name_claim: issuer.name_claim.clone(),
            naming,
        }
    }

    /// Checks the claims of a signed token.
    ///
    /// # Errors
    /// It isn't an access token for this gateway, or a claim is missing or invalid.
    pub(crate) fn check_signed(&self, signed: &SignedClaims) -> Result<VerifiedToken, TokenProblem> {
        let SignedClaims { token_type, claims } = signed;
        if *token_type == TokenType::Jwt && !is_access_token(claims) {
            return Err(TokenProblem::NotAnAccessToken);
        }
        let subject = claims.get("sub").and_then(Value::as_str).ok_or(TokenProblem::NoSubject)?;
        self.check(claims, subject)
    }

    /// Checks the answer of an introspection endpoint about an active token.
    ///
    /// # Errors
    /// The token isn't for this gateway, or a member is missing or invalid.
    pub(crate) fn check_introspected(
        &self,
        answer: &Map<String, Value>,
    ) -> Result<VerifiedToken, TokenProblem> {
        if answer.get("iss").is_some_and(|issuer| *issuer != *self.issuer) {
            return Err(TokenProblem::Issuer);
        }
        if let Some(kind) = answer.get("token_type").and_then(Value::as_str)
            && !kind.eq_ignore_ascii_case("bearer")
        {
            // Some servers send the kind of token instead of the scheme.
            match kind {
                "access_token" => {}
                "DPoP" => return Err(TokenProblem::SenderConstrained),
                _ => return Err(TokenProblem::NotAnAccessToken),
            }
        }
        if is_other_kind(answer) {
            return Err(TokenProblem::NotAnAccessToken);
        }
        let text = |name: &str| answer.get(name).and_then(Value::as_str);
        match (text("sub"), text("client_id")) {
            (Some(subject), _) if subject.starts_with(CLIENT_PREFIX) => Err(TokenProblem::NoSubject),
            (Some(subject), _) => self.check(answer, subject),
            (None, Some(client)) => self.check(answer, &format!("{CLIENT_PREFIX}{client}")),
            (None, None) => Err(TokenProblem::NoSubject),
        }
    }

    fn check(&self, claims: &Map<String, Value>, subject: &str) -> Result<VerifiedToken, TokenProblem> {
        if subject.is_empty() || subject.len() > MAX_SUBJECT_BYTES {
            return Err(TokenProblem::NoSubject);
        }
        if !audiences(claims).any(|audience| self.audiences.iter().any(|own| own == audience)) {
            return Err(TokenProblem::Audience);
        }
        // Only its owner's key or certificate would prove that the caller didn't steal it.
        if claims.get("cnf").is_some_and(|confirmation| !confirmation.is_null()) {
            return Err(TokenProblem::SenderConstrained);
        }
        let ends = time(claims, "exp")?.ok_or(TokenProblem::NoExpiry)? + LEEWAY;
        let starts = time(claims, "nbf")?;
        let mut memory = FactsMemory { free: MAX_FACTS_BYTES };
        let facts = facts(claims, &mut memory).ok_or(TokenProblem::TooLong)?;
        Ok(VerifiedToken {
            subject: Arc::new(self.subject(claims, subject).with_facts(facts)),
            facts_bytes: MAX_FACTS_BYTES - memory.free,
            ends,
            starts,
        })
    }

    fn subject(&self, claims: &Map<String, Value>, subject: &str) -> TokenSubject {
        let name = self.name_claim.as_ref().and_then(|name| claims.get(name)?.as_str());
        let is_visible = |c: char| !c.is_whitespace() && !is_hidden(c);
        let name = name.filter(|name| name.contains(is_visible));
        // A subject in place of a missing claim must not look like the claim of another subject.
        let is_substitute = name.is_none() && self.name_claim.is_some();
        let subject = TokenSubject::new(Arc::clone(&self.issuer), subject.into(), name.unwrap_or(subject));
        // Nor like a user at the other end of a Unix socket.
        let is_reserved = subject.name().starts_with(LOCAL_USER_PREFIX);
        match self.naming {
            SubjectNaming::Plain if !is_substitute && !is_reserved => subject,
            SubjectNaming::Plain | SubjectNaming::Qualified => subject.with_qualified_name(),
        }
    }
}

/// Reports whether a JWT of no specific type is an access token: these have scopes or roles. ID tokens and others that an
/// issuer signs with the same key don't.
fn is_access_token(claims: &Map<String, Value>) -> bool {
    let has = |name: &&str| claims.contains_key(*name);
    !is_other_kind(claims)
        && !ID_TOKEN_CLAIMS.iter().any(&has)
        && !has(&"events") // security events and logout tokens
        && (["scope", "scp"].iter().any(&has)
            // ID tokens of Entra ID can have roles, but don't name the client that asked for them.
            || (has(&"roles") && ["azp", "appid", "idtyp"].iter().any(has)))
}

/// Reports whether a claim marks a token as something other than an access token, as Keycloak does.
fn is_other_kind(claims: &Map<String, Value>) -> bool {
    claims.get("typ").and_then(Value::as_str).is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer"))
}

/// The audiences: a string or an array.
fn audiences(claims: &Map<String, Value>) -> impl Iterator<Item = &str> {
    strings(claims.get("aud"))
}

/// The memory that is left for the facts of a token.
struct FactsMemory {
    free: usize,
}

impl FactsMemory {
    /// `None` if no memory is left for this text.
    fn take(&mut self, text: &str) -> Option<()> {
        self.free = self.free.checked_sub(text.len() + TEXT_OVERHEAD_BYTES)?;
        Some(())
    }
}

/// The facts that roles depend on. `None` if they take too much memory.
fn facts(claims: &Map<String, Value>, memory: &mut FactsMemory) -> Option<TokenFacts> {
    Some(TokenFacts { scopes: scopes(claims, memory)?, claims: flat_claims(claims, memory)? })
}

/// The scopes in `scope`, or in `scp` as Okta and Entra ID send them.
fn scopes(claims: &Map<String, Value>, memory: &mut FactsMemory) -> Option<BTreeSet<String>> {
    let all = strings(claims.get("scope")).chain(strings(claims.get("scp")));
    let mut scopes = BTreeSet::new();
    for scope in all.flat_map(str::split_ascii_whitespace) {
        memory.take(scope)?;
        scopes.insert(scope.to_owned());
    }
    Some(scopes)
}

/// The claims that roles can name: strings, numbers and booleans, alone, in arrays, or nested in objects. A claim whose
/// own name contains a `.` takes precedence over a nested one.
fn flat_claims(
    claims: &Map<String, Value>,
    memory: &mut FactsMemory,
) -> Option<BTreeMap<String, Vec<String>>> {
    let mut flat = BTreeMap::new();
    let mut level: Vec<(String, &Map<String, Value>)> = vec![(String::new(), claims)];
    for _ in 0..MAX_CLAIM_DEPTH {
        let mut below = Vec::new();
        for (prefix, object) in level {
            for (name, value) in object {
                let path = format!("{prefix}{name}");
                memory.take(&path)?;
                if let Some(object) = value.as_object() {
                    below.push((format!("{path}."), object));
                } else if !UNNAMED_CLAIMS.contains(&path.as_str()) {
                    let values = texts(value);
                    values.iter().try_for_each(|value| memory.take(value))?;
                    flat.entry(path).or_insert(values);
                }
            }
        }
        level = below;
    }
    Some(flat)
}

/// The values of a claim as texts.
fn texts(value: &Value) -> Vec<String> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    match value {
        Value::Array(values) => values.iter().filter_map(text).collect(),
        value => text(value).into_iter().collect(),
    }
}

/// A string, or the strings of an array.
fn strings(value: Option<&Value>) -> impl Iterator<Item = &str> {
    let several = value.and_then(Value::as_array).into_iter().flatten();
    value.and_then(Value::as_str).into_iter().chain(several.filter_map(Value::as_str))
}

/// A time in seconds since 1970, which can have a fraction (RFC 7519, 2).
fn time(claims: &Map<String, Value>, name: &str) -> Result<Option<SystemTime>, TokenProblem> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    let seconds = value.as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    // The leeway is added later.
    let time = seconds.and_then(|seconds| UNIX_EPOCH.checked_add(seconds.checked_add(LEEWAY)?));
    time.map(|time| Some(time - LEEWAY)).ok_or(TokenProblem::Malformed)
}

#[cfg(test)]
mod tests;
