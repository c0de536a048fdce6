//! Who calls: bearer tokens and the principals they stand for.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use moongate_core::config::{HttpConfig, Token};
use moongate_model::names::{Digest, Principal};
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};

use crate::transport::http::refusal::Refusal;

/// Who is let in.
#[derive(Debug)]
pub(super) struct Tokens {
    /// The file names no tokens: everybody is, as nobody in particular.
    nobody_is_asked: bool,
    known: Vec<(Arc<str>, Digest)>,
}

impl Tokens {
    pub(super) fn new(config: &HttpConfig) -> Self {
        let digest = |token: &Token| (Arc::clone(&token.name), Digest::of(token.token.expose().as_bytes()));
        // Tokens that can't be read aren't none: then nobody is let in.
        let nobody_is_asked = !config.asks_for_tokens();
        Self { nobody_is_asked, known: config.tokens.iter().map(digest).collect() }
    }

    /// Whom the request's token stands for.
    ///
    /// Digests are compared, so that neither length nor content of a token shows in the time it takes, and all of
    /// them, so that it doesn't show which one was met.
    ///
    /// # Errors
    /// A token is asked for, and there is none or another one.
    pub(super) fn principal(&self, headers: &HeaderMap) -> Result<Principal, Refusal> {
        if self.nobody_is_asked {
            return Ok(Principal::Anonymous);
        }
        let mut given = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (given.next(), given.next()) else { return Err(Refusal::NoToken) };
        let Some(token) = bearer(value.as_bytes()) else { return Err(Refusal::NoToken) };
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
            _ => Err(Refusal::BadToken),
        }
    }
}

/// The token of `Bearer <token>` (RFC 6750; the scheme in any case).
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(b"bearer ".len())?;
    let token = token.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"bearer ") && !token.is_empty()).then_some(token)
}
