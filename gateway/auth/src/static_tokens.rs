//! The static tokens of the configuration, which can change while requests are authenticated.

use std::sync::{Arc, PoisonError, RwLock};

use moongate_config::BearerToken;
use moongate_model::names::{Digest, Principal};
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};
use tokio_util::sync::CancellationToken;

/// The static tokens in use.
#[derive(Debug)]
pub struct StaticTokens {
    current: RwLock<Arc<TokenSet>>,
    /// Requests need a token even if there are no static tokens.
    requires_tokens: bool,
}

/// The static tokens of one configuration.
#[derive(Debug)]
struct TokenSet {
    holders: Vec<TokenHolder>,
    /// `None` if requests need a token. Cancelled once they do.
    anonymous: Option<CancellationToken>,
}

/// A static token's digest and its holder.
#[derive(Debug, Clone)]
pub struct TokenHolder {
    digest: Digest,
    /// The holder's name.
    pub name: Arc<str>,
    /// Cancelled when the token is replaced or removed.
    pub revocation: CancellationToken,
}

impl StaticTokens {
    /// The tokens at the start. With `requires_tokens`, requests need one even if there are none.
    #[must_use]
    pub fn new(tokens: &[BearerToken], requires_tokens: bool) -> Self {
        let set = TokenSet::new(tokens, requires_tokens, None);
        Self { current: RwLock::new(Arc::new(set)), requires_tokens }
    }

    fn current(&self) -> Arc<TokenSet> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The holder of the token with this digest.
    #[must_use]
    pub fn holder(&self, digest: &Digest) -> Option<TokenHolder> {
        self.current().holder(digest).cloned()
    }

    /// Reports whether there are no tokens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.current().holders.is_empty()
    }

    /// If requests need no token: cancelled once they do, which they then do until a restart.
    #[must_use]
    pub fn anonymous(&self) -> Option<CancellationToken> {
        self.current().anonymous.clone()
    }

    /// Replaces all tokens, and returns the principals whose tokens were revoked.
    #[must_use]
    pub fn replace(&self, tokens: &[BearerToken]) -> Vec<Principal> {
        let before = {
            let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
            let set = Arc::new(TokenSet::new(tokens, self.requires_tokens, Some(&**current)));
            std::mem::replace(&mut *current, set)
        };
        let now = self.current();
        let mut revoked = Vec::new();
        for holder in before.holders.iter().filter(|holder| !now.contains(holder)) {
            holder.revocation.cancel();
            revoked.push(Principal::Named(Arc::clone(&holder.name)));
        }
        if now.anonymous.is_none()
            && let Some(anonymous) = &before.anonymous
        {
            anonymous.cancel();
            revoked.push(Principal::Anonymous);
        }
        revoked
    }
}

impl TokenSet {
    /// The set of `tokens`. Tokens that are also in `before` keep their state.
    fn new(tokens: &[BearerToken], requires_tokens: bool, before: Option<&Self>) -> Self {
        let holder = |token: &BearerToken| {
            let new = TokenHolder {
                digest: Digest::of(token.token.expose().as_bytes()),
                name: Arc::clone(&token.principal),
                revocation: CancellationToken::new(),
            };
            let kept = before.and_then(|before| before.holders.iter().find(|holder| holder.is_same(&new)));
            kept.cloned().unwrap_or(new)
        };
        // Once callers need a token, they need one until a restart: removing the last token refuses everyone.
        let anonymous = match before {
            _ if requires_tokens || !tokens.is_empty() => None,
            Some(before) => before.anonymous.clone(),
            None => Some(CancellationToken::new()),
        };
        Self { holders: tokens.iter().map(holder).collect(), anonymous }
    }

    fn contains(&self, holder: &TokenHolder) -> bool {
        self.holders.iter().any(|known| known.is_same(holder))
    }

    /// The holder of the token with this digest.
    ///
    /// All digests are compared, in constant time, so that the duration reveals neither a token's length or content,
    /// nor which token matched.
    fn holder(&self, digest: &Digest) -> Option<&TokenHolder> {
        let mut found = Choice::from(0);
        let mut at = 0_u64;
        for (index, known) in (0_u64..).zip(&self.holders) {
            let equal = known.digest.as_bytes().ct_eq(digest.as_bytes());
            at.conditional_assign(&index, equal);
            found |= equal;
        }
        let holder = usize::try_from(at).ok().and_then(|at| self.holders.get(at));
        holder.filter(|_| bool::from(found))
    }
}

impl TokenHolder {
    /// Reports whether both are the same token of the same holder.
    fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.digest == other.digest
    }
}

#[cfg(test)]
mod tests {
    use moongate_config::Secret;

    use super::*;

    fn token(name: &str, token: &str) -> BearerToken {
        BearerToken { principal: name.into(), token: Secret::new(token), variable: None }
    }

    #[test]
    fn only_replaced_and_removed_tokens_are_revoked() {
        let tokens = StaticTokens::new(&[token("ann", "a"), token("bob", "b"), token("eve", "e")], false);
        let holder = |token: &str| tokens.holder(&Digest::of(token.as_bytes()));
        let [ann, bob, eve] = ["a", "b", "e"].map(|token| holder(token).unwrap());
        let revoked = tokens.replace(&[token("dan", "d"), token("bob", "new"), token("ann", "a")]);
        assert_eq!(revoked, ["bob", "eve"].map(|name| Principal::Named(name.into())));
        assert_eq!(
            [&ann, &bob, &eve].map(|holder| holder.revocation.is_cancelled()),
            [false, true, true],
            "ann's token is the same"
        );
        assert_eq!(
            ["a", "b", "new", "d", "e"].map(|token| holder(token).is_some()),
            [true, false, true, true, false]
        );
        assert!(!holder("a").unwrap().revocation.is_cancelled());
    }

    #[test]
    fn a_token_that_gets_another_name_is_revoked() {
        let tokens = StaticTokens::new(&[token("ann", "a")], false);
        let before = tokens.holder(&Digest::of(b"a")).unwrap();
        assert_eq!(tokens.replace(&[token("eve", "a")]), [Principal::Named("ann".into())]);
        assert!(before.revocation.is_cancelled());
        assert_eq!(&*tokens.holder(&Digest::of(b"a")).unwrap().name, "eve");
    }

    #[test]
    fn removing_the_last_token_admits_no_anonymous_callers() {
        let tokens = StaticTokens::new(&[], false);
        let anonymous = tokens.anonymous().unwrap();
        assert_eq!(tokens.replace(&[]), []);
        assert_eq!(tokens.replace(&[token("ann", "a")]), [Principal::Anonymous]);
        assert!(anonymous.is_cancelled() && tokens.anonymous().is_none());
        assert_eq!(tokens.replace(&[]), [Principal::Named("ann".into())]);
        assert!(tokens.anonymous().is_none());
        let with_issuers = StaticTokens::new(&[], true);
        assert_eq!(with_issuers.replace(&[token("ann", "a")]), []);
        let _ = with_issuers.replace(&[]);
        assert!(with_issuers.anonymous().is_none());
    }
}
