//! Authentication of operators and monitors: the token, or a client certificate.
//!
//! Without either, only this machine can reach the listener, and requests need no credentials.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::extract::ConnectInfo;
use axum::http::header::AUTHORIZATION;
use axum::http::request;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use moongate_auth::{StaticTokens, TokenProblem};
use moongate_config::{AdminConfig, BearerToken, Secret};
use moongate_model::caller::Caller;
use moongate_model::names::Digest;
use tokio::sync::watch;

use crate::transport::http::auth::bearer;
use crate::transport::http::client_identity::ClientIdentity;
use crate::transport::http::failed_tokens::FailedTokens;
use crate::transport::http::listener::ListenerPurpose;
use crate::transport::http::refusal_log::RefusalLog;
use crate::transport::http::rejection::Rejection;

/// Authenticates requests to the admin listener.
#[derive(Debug)]
pub(super) struct AdminAuthenticator {
    tokens: StaticTokens,
    /// Without a token, clients need a certificate.
    accepts_certificates: bool,
    failed_tokens: FailedTokens,
    refusals: RefusalLog,
}

impl AdminAuthenticator {
    pub(super) fn new(config: &AdminConfig) -> Self {
        let tokens = StaticTokens::new(&holders(config.token.as_ref()), config.requires_authentication());
        Self {
            tokens,
            accepts_certificates: config.accepts_certificates(),
            failed_tokens: FailedTokens::default(),
            refusals: RefusalLog::new(ListenerPurpose::Admin),
        }
    }

    /// Replaces the token whenever it changes.
    pub(super) async fn follow(&self, mut newest: watch::Receiver<Option<Secret>>) {
        loop {
            // Requests that are being answered are short, except for reloads, which were authorised when they began.
            let _ = self.tokens.replace(&holders(newest.borrow_and_update().as_ref()));
            if newest.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// The owner of the connection of a request with valid credentials. If the client disconnects while its token waits to
    /// be checked, `abandoned` is called.
    ///
    /// # Errors
    /// The credentials are missing or not accepted.
    pub(super) async fn authenticate(
        &self,
        head: &request::Parts,
        abandoned: impl FnOnce(Rejection),
    ) -> Result<Caller, Rejection> {
        if self.tokens.anonymous().is_some() {
            return Ok(Caller::LOOPBACK);
        }
        let peer = peer(head);
        let abandoned = || {
            let rejection = Rejection::TooManyFailedTokens(Duration::ZERO);
            self.refusals.record(peer, rejection);
            abandoned(rejection);
        };
        let checked = self.check(head, peer, abandoned).await;
        checked.inspect_err(|rejection| self.refusals.record(peer, *rejection))
    }

    async fn check(
        &self,
        head: &request::Parts,
        peer: IpAddr,
        abandoned: impl FnOnce(),
    ) -> Result<Caller, Rejection> {
        let mut given = head.headers.get_all(AUTHORIZATION).iter();
        let has_token = head.headers.contains_key(AUTHORIZATION);
        if self.accepts_certificates && (self.tokens.is_empty() || !has_token) {
            match head.extensions.get::<ClientIdentity>().map(ClientIdentity::authenticate) {
                Some(Some(_)) => return Ok(Caller::from_address(peer)),
                Some(None) => return Err(Rejection::ExpiredCertificate),
                None if self.tokens.is_empty() => return Err(Rejection::MissingCertificate),
                None => {}
            }
        }
        let (Some(value), None) = (given.next(), given.next()) else { return Err(Rejection::MissingToken) };
        let Some(token) = token(value.as_bytes()) else { return Err(Rejection::MissingToken) };
        let delayed = self.failed_tokens.delay_check(peer.to_canonical(), &token, abandoned).await;
        if self.tokens.holder(&Digest::of(&token)).is_some() {
            delayed.into_iter().for_each(|token| self.failed_tokens.accept(token));
            return Ok(Caller::from_address(peer));
        }
        match self.failed_tokens.record(peer.to_canonical(), TokenProblem::Unknown) {
            None => Err(Rejection::InvalidToken(TokenProblem::Unknown)),
            Some(wait) => Err(Rejection::TooManyFailedTokens(wait)),
        }
    }
}

/// The token of an `Authorization` header: a bearer token, or the password that a browser asked its user for (RFC 7617).
/// Its user name has no meaning.
fn token(header: &[u8]) -> Option<Cow<'_, [u8]>> {
    if let Some(token) = bearer(header) {
        return Some(Cow::Borrowed(token));
    }
    let (scheme, credentials) = std::str::from_utf8(header).ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let credentials = BASE64_STANDARD.decode(credentials.trim()).ok()?;
    let colon = credentials.iter().position(|byte| *byte == b':')?;
    Some(Cow::Owned(credentials[colon + 1..].to_vec()))
}

/// The address of the peer.
pub(super) fn peer(head: &request::Parts) -> IpAddr {
    let peer = head.extensions.get::<ConnectInfo<SocketAddr>>();
    peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |ConnectInfo(peer)| peer.ip())
}

fn holders(token: Option<&Secret>) -> Vec<BearerToken> {
    let holder =
        |token: &Secret| BearerToken { principal: "admin".into(), token: token.clone(), variable: None };
    token.map(holder).into_iter().collect()
}
