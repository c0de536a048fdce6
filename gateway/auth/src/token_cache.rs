//! Tokens that were verified a short time ago, by their digest.
//!
//! Clients send the same token with every request. The cache keeps it for at most a minute, so that a key that the issuer
//! withdraws, or a token that it revokes, is refused soon.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use moongate_model::names::Digest;
use tokio::time::Instant;

use crate::claims::VerifiedToken;

/// The time for which a token is kept.
const MAX_TOKEN_AGE: Duration = Duration::from_secs(60);

/// The maximum number of tokens.
const MAX_TOKENS: usize = 4096;

/// Verified tokens.
#[derive(Debug, Default)]
pub(crate) struct TokenCache(Mutex<HashMap<Digest, CachedToken>>);

#[derive(Debug)]
struct CachedToken {
    token: VerifiedToken,
    verified: Instant,
}

impl TokenCache {
    /// The token with this digest. The caller checks whether it has expired.
    pub(crate) fn get(&self, digest: &Digest) -> Option<VerifiedToken> {
        let tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = tokens.get(digest)?;
        (cached.verified.elapsed() < MAX_TOKEN_AGE).then(|| cached.token.clone())
    }

    /// Keeps a token that was just verified.
    pub(crate) fn insert(&self, digest: Digest, token: VerifiedToken) {
        let mut tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if tokens.len() >= MAX_TOKENS {
            tokens.retain(|_, cached| cached.verified.elapsed() < MAX_TOKEN_AGE);
        }
        if tokens.len() >= MAX_TOKENS {
            // Only holders of valid tokens get here. Verifying again is cheap, so there is no order to keep.
            tokens.clear();
        }
        tokens.insert(digest, CachedToken { token, verified: Instant::now() });
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
        assert!(cache.0.lock().unwrap().len() <= MAX_TOKENS);
        assert!(cache.get(&Digest::of(&MAX_TOKENS.to_be_bytes())).is_some());
    }
}
