//! The static tokens of the configuration.

use std::sync::Arc;

use moongate_config::BearerToken;
use moongate_model::names::Digest;
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};

/// The digests of the static tokens, each with the name of its holder.
#[derive(Debug)]
pub(crate) struct StaticTokens(Vec<(Arc<str>, Digest)>);

impl StaticTokens {
    pub(crate) fn new(tokens: &[BearerToken]) -> Self {
        let digest =
            |token: &BearerToken| (Arc::clone(&token.principal), Digest::of(token.token.expose().as_bytes()));
        Self(tokens.iter().map(digest).collect())
    }

    /// The holder of the token with this digest.
    ///
    /// All digests are compared, in constant time, so that the duration reveals neither a token's length or content,
    /// nor which token matched.
    pub(crate) fn holder(&self, digest: &Digest) -> Option<&Arc<str>> {
        let mut found = Choice::from(0);
        let mut at = 0_u64;
        for (index, (_, known)) in (0_u64..).zip(&self.0) {
            let equal = known.as_bytes().ct_eq(digest.as_bytes());
            at.conditional_assign(&index, equal);
            found |= equal;
        }
        let holder = usize::try_from(at).ok().and_then(|at| self.0.get(at));
        holder.filter(|_| bool::from(found)).map(|(name, _)| name)
    }
}
