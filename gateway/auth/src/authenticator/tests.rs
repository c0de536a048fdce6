//! Tokens of several issuers and the cache of verified tokens.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::UNIX_EPOCH;

use moongate_config::{BearerToken, IssuerConfig, KeyLocation, ProtectedResource, Secret};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::test_keys::TestKey;

const RESOURCE: &str = "https://gate.example/mcp";

/// An authenticator with one issuer, at a time that the test sets.
struct Gateway {
    _keys: TempDir,
    key: TestKey,
    seconds: Arc<AtomicU64>,
    authenticator: Authenticator,
}

impl Gateway {
    async fn start(tokens: Vec<BearerToken>) -> Self {
        let key = TestKey::p256();
        let keys = tempfile::tempdir().unwrap();
        let file = keys.path().join("jwks.json");
        std::fs::write(&file, json!({ "keys": [key.jwk("k")] }).to_string()).unwrap();
        let oauth = OAuthConfig {
            resource: Some(ProtectedResource { text: RESOURCE.into(), url: RESOURCE.parse().unwrap() }),
            scopes: vec!["use".to_owned()],
            issuers: vec![IssuerConfig {
                issuer: "https://a.example".into(),
                audiences: vec![RESOURCE.to_owned()],
                keys: KeyLocation::File(file),
                introspection: None,
                name_claim: None,
            }],
        };
        let config = HttpConfig { oauth, tokens, ..HttpConfig::default() };
        let seconds = Arc::new(AtomicU64::new(1_000));
        let shown = Arc::clone(&seconds);
        let clock = WallClock::new(move || UNIX_EPOCH + Duration::from_secs(shown.load(Ordering::Relaxed)));
        let authenticator = Authenticator::start(&config, None, clock).await;
        Self { _keys: keys, key, seconds, authenticator }
    }

    fn token(&self, others: &Value) -> String {
        let mut claims =
            json!({ "iss": "https://a.example", "sub": "1", "aud": RESOURCE, "exp": 2_000, "scope": "use" });
        for (name, value) in others.as_object().unwrap() {
            claims[name] = value.clone();
        }
        self.key.token(&claims)
    }

    async fn verify(&self, token: &str) -> Result<VerifiedCaller, AuthenticationError> {
        let authenticated = self.authenticator.verify(token.as_bytes(), IpAddr::from([127, 0, 0, 1])).await?;
        Ok(VerifiedCaller { principal: authenticated.principal, valid_for: authenticated.valid_for })
    }
}

/// The comparable part of [`Authenticated`].
#[derive(Debug, PartialEq, Eq)]
struct VerifiedCaller {
    principal: Principal,
    valid_for: Option<Duration>,
}

fn refused(problem: TokenProblem) -> Result<VerifiedCaller, AuthenticationError> {
    Err(AuthenticationError::Refused(problem))
}

#[tokio::test]
async fn only_tokens_in_other_forms_than_jwts_are_opaque() {
    let gateway = Gateway::start(Vec::new()).await;
    let is_opaque = |token: &str| gateway.authenticator.is_opaque(token.as_bytes());
    assert!(!is_opaque(&gateway.token(&json!({}))));
    assert!(is_opaque("2YotnFZFEjr1zCsicMWpAA") && is_opaque("a.b.c"));
}

#[tokio::test]
async fn a_cached_token_expires_with_the_clock() {
    let gateway = Gateway::start(Vec::new()).await;
    let token = gateway.token(&json!({}));
    for (now, rest) in [(1_000, Some(1_060)), (2_060, Some(0)), (2_061, None), (1_500, Some(560))] {
        gateway.seconds.store(now, Ordering::Relaxed);
        let verified = gateway.verify(&token).await;
        match rest {
            Some(rest) => assert_eq!(verified.unwrap().valid_for, Some(Duration::from_secs(rest)), "{now}"),
            None => assert_eq!(verified, refused(TokenProblem::Expired), "{now}"),
        }
    }
}

#[tokio::test]
async fn a_subject_is_the_same_with_every_token() {
    let gateway = Gateway::start(Vec::new()).await;
    let first = gateway.verify(&gateway.token(&json!({}))).await.unwrap().principal;
    let refreshed = gateway.verify(&gateway.token(&json!({ "exp": 3_000, "jti": "2" }))).await.unwrap();
    assert_eq!(first, refreshed.principal);
    let other = gateway.verify(&gateway.token(&json!({ "sub": "2" }))).await.unwrap();
    assert_ne!(first, other.principal);
    assert_eq!(first.name(), Some("1"));
}

#[tokio::test]
async fn static_tokens_and_access_tokens_are_told_apart() {
    let token = BearerToken {
        principal: "1".into(),
        token: Secret::new("a-static-token-of-some-length"),
        variable: None,
    };
    let gateway = Gateway::start(vec![token]).await;
    let named = gateway.verify("a-static-token-of-some-length").await.unwrap();
    assert_eq!(named, VerifiedCaller { principal: Principal::Named("1".into()), valid_for: None });
    let subject = gateway.verify(&gateway.token(&json!({}))).await.unwrap().principal;
    assert_eq!(subject.name(), Some("1 (https://a.example)"), "not that of the static token");
    for token in ["a-static-token-of-some-lengtH", "", "x y", "é", &"x".repeat(100)] {
        assert_eq!(gateway.verify(token).await, refused(TokenProblem::Malformed), "{token}");
    }
    let long = "x".repeat(MAX_TOKEN_BYTES + 1);
    assert_eq!(gateway.verify(&long).await, refused(TokenProblem::TooLong));
}

#[tokio::test]
async fn scopes_are_required_of_valid_tokens_only() {
    let gateway = Gateway::start(Vec::new()).await;
    let weak = gateway.token(&json!({ "scope": "read" }));
    assert_eq!(gateway.verify(&weak).await, Err(AuthenticationError::InsufficientScope));
    assert_eq!(
        gateway.verify(&weak).await,
        Err(AuthenticationError::InsufficientScope),
        "also from the cache"
    );
    let expired = gateway.token(&json!({ "scope": "read", "exp": 900 }));
    assert_eq!(gateway.verify(&expired).await, refused(TokenProblem::Expired));
    let foreign = gateway.token(&json!({ "iss": "https://b.example" }));
    assert_eq!(gateway.verify(&foreign).await, refused(TokenProblem::Issuer));
}

/// An address that guesses can't make the gateway verify the same signature again and again.
#[tokio::test]
async fn a_token_is_refused_again_without_verifying_it() {
    let gateway = Gateway::start(Vec::new()).await;
    let is_known = |token: &str| gateway.authenticator.is_known(token.as_bytes());
    let valid = gateway.token(&json!({}));
    let forged = format!("{}AAAA", &valid[..valid.len() - 4]);
    let lasting = [
        (forged, TokenProblem::Signature),
        (gateway.token(&json!({ "exp": 900 })), TokenProblem::Expired),
        (gateway.token(&json!({ "aud": "https://b.example" })), TokenProblem::Audience),
    ];
    for (token, problem) in lasting {
        assert!(!is_known(&token), "{problem:?}");
        for _ in 0..2 {
            assert_eq!(gateway.verify(&token).await, refused(problem));
            assert!(is_known(&token), "{problem:?}");
        }
    }
    // These can become valid.
    let early = gateway.token(&json!({ "nbf": 1_500 }));
    assert_eq!(gateway.verify(&early).await, refused(TokenProblem::NotYetValid));
    assert!(!is_known(&early));
    gateway.seconds.store(1_600, Ordering::Relaxed);
    assert!(gateway.verify(&early).await.is_ok() && is_known(&early));
    assert!(!is_known(&valid));
    assert!(gateway.verify(&valid).await.is_ok() && is_known(&valid));
}
