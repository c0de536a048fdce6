//! Authentication: bearer tokens and their principals.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use moongate_config::{BearerToken, HttpConfig};
use moongate_model::names::{Digest, Principal};
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};

use crate::transport::http::rejection::Rejection;

/// The known tokens.
#[derive(Debug)]
pub(super) struct TokenAuthenticator {
    /// The configuration has no tokens, so every caller is anonymous.
    allows_anonymous: bool,
    known: Vec<(Arc<str>, Digest)>,
}

impl TokenAuthenticator {
    pub(super) fn new(config: &HttpConfig) -> Self {
        let digest =
            |token: &BearerToken| (Arc::clone(&token.principal), Digest::of(token.token.expose().as_bytes()));
        // Unreadable tokens aren't the same as no tokens: no caller is admitted.
        let allows_anonymous = !config.requires_tokens();
        Self { allows_anonymous, known: config.tokens.iter().map(digest).collect() }
    }

    /// The principal of the request's token.
    ///
    /// All digests are compared, in constant time, so that the duration reveals neither a token's length or content,
    /// nor which token matched.
    ///
    /// # Errors
    /// A token is required, and it is missing or unknown.
    pub(super) fn principal(&self, headers: &HeaderMap) -> Result<Principal, Rejection> {
        if self.allows_anonymous {
            return Ok(Principal::Anonymous);
        }
        let mut given = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (given.next(), given.next()) else { return Err(Rejection::MissingToken) };
        let Some(token) = bearer(value.as_bytes()) else { return Err(Rejection::MissingToken) };
        let digest = Digest::of(token);
        let mut found = Choice::from(0);
        let mut at = 0_u64;
        for (index, (_, known)) in (0_u64..).zip(&self.known) {
            let equal = known.as_bytes().ct_eq(digest.as_bytes());
            at.conditional_assign(&index, equal);
            found |= equal;
        }
        let holder = usize::try_from(at).ok().and_then(|at| self.known.get(at));
        match holder {
            Some((name, _)) if bool::from(found) => Ok(Principal::Named(Arc::clone(name))),
            _ => Err(Rejection::UnknownToken),
        }
    }
}

/// The token of `Bearer <token>` (RFC 6750; the scheme in any case).
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(b"bearer ".len())?;
    let token = token.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"bearer ") && !token.is_empty()).then_some(token)
}
