//! Verifies the credentials of callers over HTTP, and turns them into a principal.
//!
//! Two kinds of bearer tokens are accepted: the static tokens of the configuration, and OAuth access tokens of the
//! configured issuers (MCP 2026-07-28, basic/authorization; RFC 6750). Access tokens are verified here if they are JWTs,
//! and by their issuer if they are opaque. The gateway handles HTTP itself: this crate sees only the token.
//!
//! - [`authenticator`]: the entry, from a token to a principal or a reason to refuse it.
//! - `static_tokens`: the tokens of the configuration.
//! - `jwt`: the form and signature of JWTs.
//! - `claims`: the claims of a token whose signature was verified.
//! - `jwk`: an issuer's keys.
//! - `key_source`: fetches and keeps these keys.
//! - `introspection`: asks the issuer about opaque tokens.
//! - `discovery`: an issuer's metadata.
//! - `issuer_client`: HTTP requests to issuers.
//! - `token_cache`: verified tokens.
//! - [`resource_metadata`]: the metadata and challenges that lead clients to the issuers.

pub mod authenticator;
pub mod resource_metadata;
mod claims;
mod discovery;
#[cfg(any(test, feature = "fuzz"))]
mod fuzz;
mod introspection;
mod issuer_client;
mod jwk;
mod jwt;
mod key_source;
mod static_tokens;
mod token_cache;
#[cfg(test)]
mod test_keys;

pub use authenticator::{Authenticated, AuthenticationError, Authenticator, TokenProblem, WallClock};
#[cfg(any(test, feature = "fuzz"))]
pub use fuzz::fuzz_token;
pub use resource_metadata::ResourceMetadata;
pub use static_tokens::StaticTokens;
