//! Authentication of requests: the bearer token in their header, and the metadata and challenges for OAuth clients.

use std::future::pending;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, Method, request};
use axum::response::Response;
use moongate_auth::{Authenticated, AuthenticationError, Authenticator, ResourceMetadata, TokenProblem};
use moongate_config::HttpConfig;
use moongate_model::caller::Caller;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::transport::http::MCP_PATH;
use crate::transport::http::caller_load::RequestInProgress;
use crate::transport::http::client_identity::ClientIdentity;
use crate::transport::http::origin;
use crate::transport::http::rejection::Rejection;

/// The methods of the metadata.
const METADATA_METHODS: &str = "GET, HEAD, OPTIONS";

/// The interval at which the token of a stream is verified again. Verified tokens are kept for a minute.
const VERIFICATION_INTERVAL: Duration = Duration::from_secs(30);

/// The caller of a request.
#[derive(Debug)]
pub(super) struct RequestCaller {
    pub(super) caller: Caller,
    pub(super) validity: TokenValidity,
    /// The request, until it is answered.
    pub(super) in_progress: RequestInProgress,
}

/// The time for which a request's token is valid. Streams end with it.
#[derive(Debug, Clone, Default)]
pub(super) struct TokenValidity {
    /// `None` means that the token doesn't expire.
    pub(super) expires_at: Option<Instant>,
    /// Cancelled when the token is revoked.
    pub(super) revocation: Option<CancellationToken>,
    /// The token, if its issuer can revoke it. `None` for a request that isn't a stream: its token was just verified.
    pub(super) of_issuer: Option<IssuedToken>,
}

/// An access token that is verified again while a stream is open.
#[derive(Debug, Clone)]
pub(super) struct IssuedToken {
    authenticator: Arc<Authenticator>,
    token: Arc<[u8]>,
    peer: IpAddr,
}

impl IssuedToken {
    /// Waits until the token is refused.
    async fn refused(&self) {
        refusal(|| {
            let Self { authenticator, token, peer } = self.clone();
            async move { authenticator.verify(&token, peer).await.map(drop) }
        })
        .await;
    }
}

/// Waits until a token is refused. While its issuer doesn't answer, it stays valid.
async fn refusal<F: Future<Output = Result<(), AuthenticationError>>>(verify: impl Fn() -> F) {
    loop {
        sleep(VERIFICATION_INTERVAL).await;
        match verify().await {
            Ok(()) | Err(AuthenticationError::IssuerUnavailable) => {}
            Err(AuthenticationError::Refused(_) | AuthenticationError::InsufficientScope) => return,
        }
    }
}

impl TokenValidity {
    /// Waits until the token is no longer valid.
    pub(super) async fn ended(self) {
        let expired = async {
            match self.expires_at {
                Some(expires_at) => sleep_until(expires_at).await,
                None => pending().await,
            }
        };
        let refused = async {
            match &self.of_issuer {
                Some(token) => token.refused().await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = expired => {}
            () = revoked(self.revocation.as_ref()) => {}
            () = refused => {}
        }
    }

    /// The output of `request`, or its rejection if the token is revoked before.
    pub(super) async fn while_not_revoked<T>(
        &self,
        request: impl Future<Output = T>,
    ) -> Result<T, Rejection> {
        tokio::select! {
            biased; // a token can be revoked while the body is awaited
            () = revoked(self.revocation.as_ref()) => Err(Rejection::InvalidToken(TokenProblem::Unknown)),
            output = request => Ok(output),
        }
    }
}

async fn revoked(revocation: Option<&CancellationToken>) {
    match revocation {
        Some(revocation) => revocation.cancelled().await,
        None => pending().await,
    }
}

/// Authenticates requests.
#[derive(Debug)]
pub(super) struct RequestAuthenticator {
    authenticator: Arc<Authenticator>,
    /// `None` without OAuth.
    metadata: Option<ResourceMetadata>,
}

impl RequestAuthenticator {
    pub(super) fn new(config: &HttpConfig, authenticator: Arc<Authenticator>) -> Self {
        Self { authenticator, metadata: ResourceMetadata::new(&config.oauth, MCP_PATH) }
    }

    /// The holder of the token in a request from `peer` or, without a token, of its connection's client certificate.
    ///
    /// # Errors
    /// A token or certificate is required, and it is missing, not accepted, or can't be verified.
    pub(super) async fn authenticate(
        &self,
        headers: &HeaderMap,
        peer: IpAddr,
        identity: Option<&ClientIdentity>,
    ) -> Result<Authenticated, Rejection> {
        if let Some(anonymous) = self.authenticator.anonymous() {
            return Ok(anonymous);
        }
        let has_token = self.authenticator.accepts_tokens() && headers.contains_key(AUTHORIZATION);
        match identity {
            Some(identity) if !has_token => {
                return identity.authenticate().ok_or(Rejection::ExpiredCertificate);
            }
            None if !self.authenticator.accepts_tokens() => return Err(Rejection::MissingCertificate),
            Some(_) | None => {}
        }
        let mut given = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (given.next(), given.next()) else { return Err(Rejection::MissingToken) };
        let Some(token) = bearer(value.as_bytes()) else { return Err(Rejection::MissingToken) };
        self.authenticator.verify(token, peer).await.map_err(|error| match error {
            AuthenticationError::Refused(problem) => Rejection::InvalidToken(problem),
            AuthenticationError::InsufficientScope => Rejection::InsufficientScope,
            AuthenticationError::IssuerUnavailable => Rejection::IssuerUnavailable,
        })
    }

    /// The access token of a request.
    pub(super) fn issued_token(&self, headers: &HeaderMap, peer: IpAddr) -> Option<IssuedToken> {
        let token = headers.get(AUTHORIZATION).and_then(|value| bearer(value.as_bytes()))?;
        Some(IssuedToken { authenticator: Arc::clone(&self.authenticator), token: token.into(), peer })
    }

    /// The bearer token of a request.
    pub(super) fn token<'a>(&self, headers: &'a HeaderMap) -> Option<&'a [u8]> {
        let value = headers.get(AUTHORIZATION).filter(|_| self.authenticator.accepts_tokens());
        value.and_then(|value| bearer(value.as_bytes()))
    }

    /// Reports whether only its issuer can verify the token of a request.
    pub(super) fn has_opaque_token(&self, headers: &HeaderMap) -> bool {
        self.token(headers).is_some_and(|token| self.authenticator.is_opaque(token))
    }

    /// Reports whether the token of a request has to be verified first.
    pub(super) fn is_unknown(&self, headers: &HeaderMap) -> bool {
        self.token(headers).is_some_and(|token| !self.authenticator.is_known(token))
    }

    /// The `WWW-Authenticate` header of a rejection.
    ///
    /// A challenge has a parameter at least (RFC 6750, 3), and an error only if a token was sent (3.1).
    pub(super) fn challenge(&self, rejection: Rejection) -> Option<HeaderValue> {
        let challenge = match (rejection, &self.metadata) {
            (Rejection::MissingToken, None) => r#"Bearer realm="moongate""#.to_owned(),
            (Rejection::MissingToken, Some(metadata)) => metadata.challenge(),
            (Rejection::InvalidToken(problem), Some(metadata)) => metadata.invalid_token(problem),
            (Rejection::InvalidToken(problem), None) => realm_challenge(problem),
            (Rejection::InsufficientScope, metadata) => metadata.as_ref()?.insufficient_scope(),
            (
                Rejection::Host
                | Rejection::Origin
                | Rejection::Path
                | Rejection::MissingCertificate
                | Rejection::ExpiredCertificate
                | Rejection::TooManyFailedTokens(_)
                | Rejection::IssuerUnavailable
                | Rejection::Method(_)
                | Rejection::ContentType
                | Rejection::ContentEncoding
                | Rejection::Accept
                | Rejection::BodyTooLarge(_)
                | Rejection::BodyTimeout
                | Rejection::IncompleteBody
                | Rejection::WebSocketVersion
                | Rejection::WebSocketHandshake
                | Rejection::Connections
                | Rejection::RequestMemory,
                _,
            ) => return None,
        };
        HeaderValue::try_from(challenge).ok()
    }

    /// The answer to a request for the metadata, which needs no token. `None` if it is at another path.
    pub(super) fn metadata(&self, head: &request::Parts) -> Option<Result<Response, Rejection>> {
        let document = self.metadata.as_ref()?.document_at(head.uri.path())?;
        Some(match head.method {
            Method::OPTIONS => Ok(origin::preflight_response(head, METADATA_METHODS)),
            Method::GET | Method::HEAD => {
                let mut response = Response::new(Body::from(document.to_owned()));
                response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                Ok(response)
            }
            _ => Err(Rejection::Method(METADATA_METHODS)),
        })
    }
}

/// The challenge without OAuth.
fn realm_challenge(problem: TokenProblem) -> String {
    let description = problem.description();
    format!(r#"Bearer realm="moongate", error="invalid_token", error_description="{description}""#)
}

/// The token of `Bearer <token>` (RFC 6750; the scheme in any case).
pub(crate) fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(b"bearer ".len())?;
    let token = token.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"bearer ") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_stream_ends_when_its_issuer_revokes_the_token() {
        let unavailable = Err(AuthenticationError::IssuerUnavailable);
        let refused = Err(AuthenticationError::Refused(TokenProblem::Inactive));
        let scope = Err(AuthenticationError::InsufficientScope);
        for (answers, verified) in [
            (vec![Ok(()), unavailable, Ok(()), refused], 4),
            (vec![unavailable, scope], 2),
            (vec![refused], 1),
        ] {
            let (begun, count) = (Instant::now(), Cell::new(0));
            refusal(|| std::future::ready(answers[count.replace(count.get() + 1)])).await;
            assert_eq!(count.get(), verified);
            assert_eq!(begun.elapsed(), VERIFICATION_INTERVAL * u32::try_from(verified).unwrap());
        }
    }
}
