//! Turns a bearer token into a principal, or returns the reason for refusing it.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use moongate_config::{BearerToken, HttpConfig, OAuthConfig};
use moongate_model::caller::Caller;
use moongate_model::names::{Digest, Principal};
use tokio_util::sync::CancellationToken;

use crate::claims::{ClaimRules, SubjectNaming, VerifiedToken};
use crate::introspection::IntrospectionEndpoint;
use crate::issuer_client::IssuerClient;
use crate::jwt::UnverifiedJwt;
use crate::key_source::KeySource;
use crate::static_tokens::StaticTokens;
use crate::token_cache::TokenCache;

/// The longest access token, in bytes. Tokens with many groups have a few kilobytes.
const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// The time of day. Tests set their own.
#[derive(Clone)]
pub struct WallClock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl WallClock {
    /// A clock that shows what `now` returns.
    pub fn new(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    fn now(&self) -> SystemTime {
        (self.0)()
    }
}

impl Default for WallClock {
    fn default() -> Self {
        Self::new(SystemTime::now)
    }
}

impl fmt::Debug for WallClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WallClock")
    }
}

/// The reason that a token is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenProblem {
    /// It isn't one of the static tokens, and no issuers are configured.
    Unknown,
    /// It is longer than any access token.
    TooLong,
    /// It isn't a token, or its header or claims aren't valid.
    Malformed,
    /// Its algorithm isn't supported, or isn't that of its key.
    Algorithm,
    /// Its header requires extensions (`crit`).
    CriticalHeader,
    /// Its type isn't that of an access token.
    TokenType,
    /// Its issuer isn't configured.
    Issuer,
    /// Its header names no key.
    NoKeyId,
    /// Its issuer has no such key.
    UnknownKey,
    /// Its signature isn't valid.
    Signature,
    /// It is an ID token or has another purpose.
    NotAnAccessToken,
    /// It wasn't issued for this gateway.
    Audience,
    /// It has no valid subject.
    NoSubject,
    /// It never expires.
    NoExpiry,
    /// It has expired.
    Expired,
    /// It isn't valid yet.
    NotYetValid,
    /// It belongs to a key or certificate that only its owner has.
    SenderConstrained,
    /// Its issuer reports that it isn't active, and it was never accepted.
    Inactive,
    /// Its issuer reports that it isn't active any more.
    Revoked,
}

impl TokenProblem {
    /// Reports whether refusing such a token costs a signature or a request to its issuer, and it is refused again later.
    fn is_lasting(self) -> bool {
        match self {
            Self::Signature
            | Self::NotAnAccessToken
            | Self::Audience
            | Self::NoSubject
            | Self::NoExpiry
            | Self::Expired
            | Self::SenderConstrained
            | Self::Inactive
            | Self::Revoked => true,
            Self::Unknown
            | Self::TooLong
            | Self::Malformed
            | Self::Algorithm
            | Self::CriticalHeader
            | Self::TokenType
            | Self::Issuer
            | Self::NoKeyId
            | Self::UnknownKey
            | Self::NotYetValid => false,
        }
    }

    /// A word for metrics and logs.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Unknown => "unknown_token",
            Self::TooLong => "token_too_long",
            Self::Malformed => "malformed_token",
            Self::Algorithm => "token_algorithm",
            Self::CriticalHeader => "token_critical_header",
            Self::TokenType => "token_type",
            Self::Issuer => "token_issuer",
            Self::NoKeyId => "token_no_key_id",
            Self::UnknownKey => "token_unknown_key",
            Self::Signature => "token_signature",
            Self::NotAnAccessToken => "not_an_access_token",
            Self::Audience => "token_audience",
            Self::NoSubject => "token_no_subject",
            Self::NoExpiry => "token_no_expiry",
            Self::Expired => "token_expired",
            Self::NotYetValid => "token_not_yet_valid",
            Self::SenderConstrained => "token_sender_constrained",
            Self::Inactive | Self::Revoked => "token_inactive",
        }
    }

    /// A description for the client. It contains neither quotes nor backslashes.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::Unknown => "unknown bearer token",
            Self::TooLong => "the token is too long",
            Self::Malformed => "the token is malformed",
            Self::Algorithm => "the algorithm of the token is not supported, or does not match its key",
            Self::CriticalHeader => "the token requires unsupported extensions (crit)",
            Self::TokenType => "the type (typ) of the token is not that of an access token",
            Self::Issuer => "the token is from an unknown issuer",
            Self::NoKeyId => "the token has no key id (kid)",
            Self::UnknownKey => "the token is signed with an unknown key",
            Self::Signature => "the signature of the token is invalid",
            Self::NotAnAccessToken => "the token is not an access token",
            Self::Audience => "the token was not issued for this server",
            Self::NoSubject => "the token has no valid subject (sub)",
            Self::NoExpiry => "the token has no expiry (exp)",
            Self::Expired => "the token has expired",
            Self::NotYetValid => "the token is not valid yet",
            Self::SenderConstrained => "tokens bound to a key or certificate (cnf) are not supported",
            Self::Inactive | Self::Revoked => "the token is not active",
        }
    }
}

/// The reason that a request isn't authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthenticationError {
    /// The token isn't valid.
    Refused(TokenProblem),
    /// The token is valid, but doesn't have all required scopes.
    InsufficientScope,
    /// The issuer doesn't answer, so the token can't be verified now.
    IssuerUnavailable,
}

/// The caller of an authenticated request.
#[derive(Debug, Clone)]
pub struct Authenticated {
    /// The caller.
    pub principal: Principal,
    /// The time for which its token is still valid. `None` means that it doesn't expire.
    pub valid_for: Option<Duration>,
    /// Cancelled when its token is revoked. `None` if only the issuer can revoke it.
    pub revocation: Option<CancellationToken>,
}

/// Verifies bearer tokens.
#[derive(Debug)]
pub struct Authenticator {
    static_tokens: StaticTokens,
    /// Without tokens, callers need a client certificate.
    accepts_certificates: bool,
    /// `None` means that there are no issuers.
    access_tokens: Option<AccessTokenVerifier>,
}

/// Verifies access tokens.
#[derive(Debug)]
struct AccessTokenVerifier {
    issuers: HashMap<Arc<str>, TokenIssuer>,
    introspection: Option<Arc<IntrospectionEndpoint>>,
    scopes: Vec<String>,
    cache: TokenCache,
    clock: WallClock,
}

/// An issuer of JWTs.
#[derive(Debug)]
struct TokenIssuer {
    rules: Arc<ClaimRules>,
    keys: Arc<KeySource>,
}

impl Authenticator {
    /// Starts to fetch the keys of the issuers. Requests to issuers trust `ca_file` in addition to the system.
    pub async fn start(config: &HttpConfig, ca_file: Option<PathBuf>, clock: WallClock) -> Self {
        let access_tokens = if config.oauth.issuers.is_empty() {
            None
        } else {
            let client = Arc::new(IssuerClient::start(ca_file).await);
            let is_only_source = config.tokens.is_empty() && !config.accepts_certificates();
            let naming = if is_only_source && config.oauth.issuers.len() == 1 {
                SubjectNaming::Plain
            } else {
                SubjectNaming::Qualified
            };
            let verifier = AccessTokenVerifier::new(&config.oauth, naming, &client, clock);
            verifier.issuers.values().for_each(|issuer| issuer.keys.prefetch());
            Some(verifier)
        };
        Self {
            // Unreadable tokens aren't the same as no tokens: no caller is admitted.
            static_tokens: StaticTokens::new(
                &config.tokens,
                config.unreadable_tokens > 0 || access_tokens.is_some() || config.accepts_certificates(),
            ),
            accepts_certificates: config.accepts_certificates() && config.unreadable_tokens == 0,
            access_tokens,
        }
    }

    /// The caller of a request without a token and without a client certificate. `None` if requests need one.
    #[must_use]
    pub fn anonymous(&self) -> Option<Authenticated> {
        let revocation = self.static_tokens.anonymous()?;
        Some(Authenticated { principal: Principal::Anonymous, valid_for: None, revocation: Some(revocation) })
    }

    /// Replaces the static tokens, and returns the principals whose tokens were revoked.
    #[must_use]
    pub fn replace_static_tokens(&self, tokens: &[BearerToken]) -> Vec<Principal> {
        self.static_tokens.replace(tokens)
    }

    /// Reports whether a token can authenticate a request.
    #[must_use]
    pub fn accepts_tokens(&self) -> bool {
        self.access_tokens.is_some() || !self.static_tokens.is_empty() || !self.accepts_certificates
    }

    /// Reports whether a token can be accepted or refused without verifying a signature.
    #[must_use]
    pub fn is_known(&self, token: &[u8]) -> bool {
        let digest = Digest::of(token);
        self.static_tokens.holder(&digest).is_some()
            || self.access_tokens.as_ref().is_none_or(|verifier| verifier.is_known(&digest))
    }

    /// Reports whether only its issuer can verify a token, because it isn't a JWT.
    #[must_use]
    pub fn is_opaque(&self, token: &[u8]) -> bool {
        std::str::from_utf8(token).is_ok_and(|token| UnverifiedJwt::parse(token).is_none())
    }

    /// Verifies a token that a client at the address `peer` sent.
    ///
    /// # Errors
    /// The token isn't accepted, or can't be verified now.
    pub async fn verify(&self, token: &[u8], peer: IpAddr) -> Result<Authenticated, AuthenticationError> {
        let digest = Digest::of(token);
        if let Some(holder) = self.static_tokens.holder(&digest) {
            return Ok(Authenticated {
                principal: Principal::Named(holder.name),
                valid_for: None,
                revocation: Some(holder.revocation),
            });
        }
        match &self.access_tokens {
            Some(verifier) => verifier.verify(token, digest, peer).await,
            None => Err(AuthenticationError::Refused(TokenProblem::Unknown)),
        }
    }
}

impl AccessTokenVerifier {
    fn new(
        config: &OAuthConfig,
        naming: SubjectNaming,
        client: &Arc<IssuerClient>,
        clock: WallClock,
    ) -> Self {
        let mut issuers = HashMap::new();
        let mut introspection = None;
        for issuer in &config.issuers {
            let rules = Arc::new(ClaimRules::new(issuer, naming));
            if let Some(endpoint) = &issuer.introspection {
                let rules = Arc::clone(&rules);
                introspection = Some(IntrospectionEndpoint::new(endpoint, rules, Arc::clone(client)));
            }
            let keys = KeySource::new(issuer, Arc::clone(client));
            issuers.insert(Arc::clone(&issuer.issuer), TokenIssuer { rules, keys });
        }
        Self { issuers, introspection, scopes: config.scopes.clone(), cache: TokenCache::default(), clock }
    }

    async fn verify(
        &self,
        token: &[u8],
        digest: Digest,
        peer: IpAddr,
    ) -> Result<Authenticated, AuthenticationError> {
        let verified = match self.cache.get(&digest) {
            Some(cached) => cached,
            None => self.verify_and_keep(token, digest, peer).await?,
        };
        let now = self.clock.now();
        verified.check_time(now).map_err(AuthenticationError::Refused)?;
        if !self.scopes.iter().all(|scope| verified.subject.facts().scopes.contains(scope)) {
            return Err(AuthenticationError::InsufficientScope);
        }
        Ok(Authenticated {
            principal: Principal::Subject(verified.subject),
            valid_for: Some(verified.ends.duration_since(now).unwrap_or_default()),
            revocation: None,
        })
    }

    fn is_known(&self, digest: &Digest) -> bool {
        self.cache.get(digest).is_some() || self.cache.problem(digest).is_some()
    }

    /// Verifies a token that isn't among those that were verified a short time ago.
    async fn verify_and_keep(
        &self,
        token: &[u8],
        digest: Digest,
        peer: IpAddr,
    ) -> Result<VerifiedToken, AuthenticationError> {
        if let Some(problem) = self.cache.problem(&digest) {
            return Err(AuthenticationError::Refused(problem));
        }
        let verified = match self.verify_uncached(token, digest, peer).await {
            Ok(verified) => {
                let checked = verified.check_time(self.clock.now());
                checked.map(|()| verified).map_err(AuthenticationError::Refused)
            }
            Err(AuthenticationError::Refused(TokenProblem::Inactive)) if self.cache.was_accepted(&digest) => {
                Err(AuthenticationError::Refused(TokenProblem::Revoked))
            }
            Err(error) => Err(error),
        };
        match &verified {
            Ok(verified) => self.cache.insert(digest, verified.clone()),
            Err(AuthenticationError::Refused(problem)) if problem.is_lasting() => {
                self.cache.insert_refused(digest, *problem);
            }
            Err(_) => {}
        }
        verified
    }

    async fn verify_uncached(
        &self,
        token: &[u8],
        digest: Digest,
        peer: IpAddr,
    ) -> Result<VerifiedToken, AuthenticationError> {
        let refused = AuthenticationError::Refused;
        if token.len() > MAX_TOKEN_BYTES {
            return Err(refused(TokenProblem::TooLong));
        }
        let token = token_text(token).ok_or(refused(TokenProblem::Malformed))?;
        match (UnverifiedJwt::parse(token), &self.introspection) {
            (Some(parsed), _) => self.verify_jwt(parsed.map_err(refused)?).await,
            (None, Some(endpoint)) => endpoint.verify(token, digest, &Caller::from_address(peer)).await,
            (None, None) => Err(refused(TokenProblem::Malformed)),
        }
    }

    async fn verify_jwt(&self, jwt: UnverifiedJwt<'_>) -> Result<VerifiedToken, AuthenticationError> {
        let refused = AuthenticationError::Refused;
        let issuer = jwt.issuer().and_then(|issuer| self.issuers.get(issuer));
        let issuer = issuer.ok_or(refused(TokenProblem::Issuer))?;
        let keys = issuer.keys.keys_with(jwt.key_id()).await?;
        let claims = jwt.verify(&keys).map_err(refused)?;
        issuer.rules.check_signed(&claims).map_err(refused)
    }
}

/// The token as text, if it has only the characters of bearer tokens (RFC 6750, 2.1).
fn token_text(token: &[u8]) -> Option<&str> {
    let is_token_byte = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(byte);
    if token.iter().all(is_token_byte) { str::from_utf8(token).ok() } else { None }
}

#[cfg(test)]
mod tests;
