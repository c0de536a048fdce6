//! Tokens that were verified a short time ago, by their digest.
//!
//! Clients send the same token with every request. The cache keeps it for at most a minute, so that a key that the issuer
//! withdraws, or a token that it revokes, is refused soon. Refused tokens are kept for as long, because verifying a
//! signature takes up to a millisecond, and inactive ones for ten seconds, because the issuer is asked about them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use moongate_model::names::Digest;
use tokio::time::Instant;

use crate::authenticator::TokenProblem;
use crate::claims::VerifiedToken;

/// The time for which a token is kept.
const MAX_TOKEN_AGE: Duration = Duration::from_secs(60);

/// The time for which an inactive token is kept. It is short, because some servers of the issuer might not know a new
/// token yet.
const MAX_INACTIVE_AGE: Duration = Duration::from_secs(10);

/// The maximum number of tokens.
const MAX_TOKENS: usize = 4096;

/// The maximum size of the scopes and claims of all tokens, in bytes.
const MAX_FACTS_BYTES: usize = 16 << 20;

/// The maximum number of refused tokens.
const MAX_REFUSED_TOKENS: usize = 4096;

/// Verified and refused tokens.
#[derive(Debug, Default)]
pub(crate) struct TokenCache {
    verified: Mutex<CachedTokens>,
    refused: Mutex<HashMap<Digest, RefusedToken>>,
}

#[derive(Debug, Clone, Copy)]
struct RefusedToken {
    problem: TokenProblem,
    verified: Instant,
}

impl RefusedToken {
    fn is_current(&self) -> bool {
        let is_inactive = matches!(self.problem, TokenProblem::Inactive | TokenProblem::Revoked);
        self.verified.elapsed() < if is_inactive { MAX_INACTIVE_AGE } else { MAX_TOKEN_AGE }
    }
}

#[derive(Debug, Default)]
struct CachedTokens {
    tokens: HashMap<Digest, CachedToken>,
    /// The size of their scopes and claims.
    facts_bytes: usize,
}

#[derive(Debug)]
struct CachedToken {
    token: VerifiedToken,
    verified: Instant,
}

impl TokenCache {
    /// The token with this digest. The caller checks whether it has expired.
    pub(crate) fn get(&self, digest: &Digest) -> Option<VerifiedToken> {
        let tokens = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = tokens.tokens.get(digest)?;
        (cached.verified.elapsed() < MAX_TOKEN_AGE).then(|| cached.token.clone())
    }

    /// Reports whether a token was accepted before, as long as it isn't forgotten.
    pub(crate) fn was_accepted(&self, digest: &Digest) -> bool {
        self.verified.lock().unwrap_or_else(PoisonError::into_inner).tokens.contains_key(digest)
    }

    /// Keeps a token that was just verified.
    pub(crate) fn insert(&self, digest: Digest, token: VerifiedToken) {
        let mut tokens = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if tokens.is_full() {
            tokens.remove_expired();
        }
        if tokens.is_full() {
            // Only holders of valid tokens get here. Verifying again is cheap, so there is no order to keep.
            *tokens = CachedTokens::default();
        }
        tokens.facts_bytes += token.facts_bytes;
        let before = tokens.tokens.insert(digest, CachedToken { token, verified: Instant::now() });
        tokens.facts_bytes -= before.map_or(0, |before| before.token.facts_bytes);
    }

    /// The problem of a token that was refused a short time ago.
    pub(crate) fn problem(&self, digest: &Digest) -> Option<TokenProblem> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let token = refused.get(digest)?;
        token.is_current().then_some(token.problem)
    }

    /// Keeps a token that was just refused.
    pub(crate) fn insert_refused(&self, digest: Digest, problem: TokenProblem) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() >= MAX_REFUSED_TOKENS {
            refused.retain(|_, token| token.is_current());
        }
        if refused.len() >= MAX_REFUSED_TOKENS {
            refused.clear(); // someone keeps sending new ones
        }
        refused.insert(digest, RefusedToken { problem, verified: Instant::now() });
    }
}

impl CachedTokens {
    fn is_full(&self) -> bool {
        self.tokens.len() >= MAX_TOKENS || self.facts_bytes >= MAX_FACTS_BYTES
    }

    fn remove_expired(&mut self) {
        let Self { tokens, facts_bytes } = self;
        tokens.retain(|_, cached| {
            let stays = cached.verified.elapsed() < MAX_TOKEN_AGE;
            *facts_bytes -= if stays { 0 } else { cached.token.facts_bytes };
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::SystemTime;

    use moongate_model::names::TokenSubject;

    use super::*;

    fn token() -> VerifiedToken {
        VerifiedToken::fixed(Arc::new(TokenSubject::new("i".into(), "s".into(), "n")), SystemTime::now())
    }

    #[tokio::test(start_paused = true)]
    async fn tokens_are_kept_for_a_minute() {
        let cache = TokenCache::default();
        let digest = Digest::of(b"a");
        cache.insert(digest, token());
        tokio::time::advance(MAX_TOKEN_AGE - Duration::from_millis(1)).await;
        assert_eq!(cache.get(&digest).map(|token| token.subject.name().to_owned()), Some("n".to_owned()));
        assert_eq!(cache.get(&Digest::of(b"b")), None);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(cache.get(&digest), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_number_of_tokens_is_limited() {
        let cache = TokenCache::default();
        for number in 0..=MAX_TOKENS {
            cache.insert(Digest::of(&number.to_be_bytes()), token());
        }
        assert!(cache.verified.lock().unwrap().tokens.len() <= MAX_TOKENS);
        assert!(cache.get(&Digest::of(&MAX_TOKENS.to_be_bytes())).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn refused_tokens_are_kept_for_a_minute() {
        let cache = TokenCache::default();
        for number in 0..=MAX_REFUSED_TOKENS {
            cache.insert_refused(Digest::of(&number.to_be_bytes()), TokenProblem::Signature);
        }
        assert!(cache.refused.lock().unwrap().len() <= MAX_REFUSED_TOKENS);
        let digest = Digest::of(&MAX_REFUSED_TOKENS.to_be_bytes());
        assert_eq!(cache.problem(&digest), Some(TokenProblem::Signature));
        assert_eq!(cache.get(&digest), None);
        tokio::time::advance(MAX_TOKEN_AGE).await;
        assert_eq!(cache.problem(&digest), None);
    }

    #[tokio::test(start_paused = true)]
    async fn inactive_tokens_are_kept_for_ten_seconds() {
        let cache = TokenCache::default();
        let digest = Digest::of(b"a");
        assert!(!cache.was_accepted(&digest));
        cache.insert_refused(digest, TokenProblem::Inactive);
        assert_eq!(cache.problem(&digest), Some(TokenProblem::Inactive));
        tokio::time::advance(MAX_INACTIVE_AGE).await;
        assert_eq!(cache.problem(&digest), None);
        cache.insert(digest, token());
        tokio::time::advance(MAX_TOKEN_AGE).await;
        assert!(cache.get(&digest).is_none() && cache.was_accepted(&digest));
    }

    #[tokio::test(start_paused = true)]
    async fn the_size_of_scopes_and_claims_is_limited() {
        let cache = TokenCache::default();
        let size = 64 * 1024;
        for number in 0..=MAX_FACTS_BYTES / size {
            let mut token = token();
            token.facts_bytes = size;
            let digest = Digest::of(&number.to_be_bytes());
            cache.insert(digest, token.clone());
            cache.insert(digest, token); // counts once
            assert!(cache.get(&digest).is_some());
        }
        let tokens = cache.verified.lock().unwrap();
        assert_eq!(tokens.facts_bytes, tokens.tokens.len() * size);
        assert!(tokens.facts_bytes <= MAX_FACTS_BYTES, "{}", tokens.facts_bytes);
    }
}
