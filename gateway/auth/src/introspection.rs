//! Token introspection (RFC 7662): asks the issuer about an opaque token.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::{BoxFuture, FutureExt as _, Shared};
use http::header::HeaderValue;
use moongate_config::IntrospectionConfig;
use moongate_model::caller::Caller;
use moongate_model::caller_budget::CallerBudget;
use moongate_model::json::parse_strict;
use moongate_model::names::Digest;
use moongate_system::log_interval::LogInterval;
use serde_json::Value;
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout};
use url::Url;
use url::form_urlencoded::byte_serialize;

use crate::authenticator::{AuthenticationError, TokenProblem};
use crate::claims::{ClaimRules, VerifiedToken};
use crate::discovery::discover;
use crate::issuer_client::{IssuerClient, IssuerRequestError};

/// The number of requests to the endpoint at once: made-up tokens must not overload the issuer. Peers take turns at them.
const MAX_REQUESTS: u64 = 16;

/// The time for which a token waits for its turn.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(5);

/// The introspection endpoint of an issuer.
pub(crate) struct IntrospectionEndpoint {
    client: Arc<IssuerClient>,
    rules: Arc<ClaimRules>,
    endpoint: OnceCell<Url>,
    authorization: HeaderValue,
    turns: Arc<CallerBudget>,
    /// The tokens that the issuer is being asked about.
    running: Mutex<HashMap<Digest, IntrospectionRequest>>,
    failures: Mutex<LogInterval>,
}

type IntrospectionRequest = Shared<BoxFuture<'static, Result<VerifiedToken, AuthenticationError>>>;

impl std::fmt::Debug for IntrospectionEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IntrospectionEndpoint").field("rules", &self.rules).finish_non_exhaustive()
    }
}

impl IntrospectionEndpoint {
    pub(crate) fn new(
        config: &IntrospectionConfig,
        rules: Arc<ClaimRules>,
        client: Arc<IssuerClient>,
    ) -> Arc<Self> {
        // Both are encoded as in forms (RFC 6749, 2.3.1).
        let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
        let credentials =
            format!("{}:{}", encoded(&config.client_id), encoded(config.client_secret.expose()));
        let mut authorization = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(credentials)))
            .expect("Base64 is valid in headers");
        authorization.set_sensitive(true);
        Arc::new(Self {
            client,
            rules,
            endpoint: OnceCell::new_with(config.endpoint.clone()),
            authorization,
            turns: CallerBudget::new(MAX_REQUESTS),
            running: Mutex::default(),
            failures: Mutex::default(),
        })
    }

    /// Asks about a token that `peer` sent. Requests with the same token are joined, and continue if the caller disconnects.
    ///
    /// # Errors
    /// The token isn't active or isn't for this gateway, or the issuer doesn't answer.
    pub(crate) async fn verify(
        self: &Arc<Self>,
        token: &str,
        digest: Digest,
        peer: &Caller,
    ) -> Result<VerifiedToken, AuthenticationError> {
        let request = self.lock_running().get(&digest).cloned();
        if let Some(request) = request {
            return request.await;
        }
        // Waits as part of the caller's request, so that unknown tokens hold no memory beyond their connection.
        let Ok(turn) = timeout(QUEUE_TIMEOUT, self.turns.reserve(peer, 1)).await else {
            return Err(AuthenticationError::IssuerUnavailable);
        };
        let request = {
            let mut running = self.lock_running();
            match running.get(&digest) {
                Some(request) => request.clone(),
                None => {
                    let form = format!(
                        "token={}&token_type_hint=access_token",
                        byte_serialize(token.as_bytes()).collect::<String>()
                    );
                    let endpoint = Arc::clone(self);
                    let request = async move {
                        let _turn = turn;
                        let result = endpoint.ask(form).await;
                        endpoint.lock_running().remove(&digest);
                        result
                    };
                    let request = request.boxed().shared();
                    running.insert(digest, request.clone());
                    tokio::spawn(request.clone());
                    request
                }
            }
        };
        request.await
    }

    fn lock_running(&self) -> MutexGuard<'_, HashMap<Digest, IntrospectionRequest>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn ask(&self, form: String) -> Result<VerifiedToken, AuthenticationError> {
        let answer = self.request(form).await.map_err(|error| {
            let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(count) = failures.record(Instant::now(), 1) {
                tracing::warn!(issuer = %self.rules.issuer, count, "token introspection failed: {error}");
            }
            AuthenticationError::IssuerUnavailable
        })?;
        let Some(answer) =
            answer.as_object().filter(|answer| answer.get("active") == Some(&Value::Bool(true)))
        else {
            return Err(AuthenticationError::Refused(TokenProblem::Inactive));
        };
        self.rules.check_introspected(answer).map_err(AuthenticationError::Refused)
    }

    async fn request(&self, form: String) -> Result<Value, IssuerRequestError> {
        let endpoint = self.endpoint.get_or_try_init(|| self.discovered()).await?;
        let answer = self.client.post_form(endpoint, self.authorization.clone(), form).await?;
        let answer = str::from_utf8(&answer).ok().and_then(|text| parse_strict(text).ok());
        let answer = answer.filter(|answer| answer["active"].is_boolean());
        answer.ok_or_else(|| {
            IssuerRequestError::new(format!("{endpoint}: the response has no boolean `active`"))
        })
    }

    async fn discovered(&self) -> Result<Url, IssuerRequestError> {
        let metadata = discover(&self.client, &self.rules.issuer).await?;
        metadata.introspection_endpoint.ok_or_else(|| {
            IssuerRequestError::new(
                "its metadata has no `introspection_endpoint`; set `introspection.endpoint`",
            )
        })
    }
}

#[cfg(test)]
mod tests;
