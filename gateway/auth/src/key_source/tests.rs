//! Fetching and caching keys of issuers.

use std::fs;

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::test_keys::TestKey;

/// An issuer whose keys are in a file.
struct Issuer {
    directory: TempDir,
    source: Arc<KeySource>,
}

impl Issuer {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = IssuerConfig {
            issuer: "https://a.example".into(),
            audiences: Vec::new(),
            keys: KeyLocation::File(directory.path().join("jwks.json")),
            introspection: None,
            name_claim: None,
        };
        let source = KeySource::new(&config, Arc::new(IssuerClient::new(None)));
        Self { directory, source }
    }

    fn publish(&self, ids: &[&str]) {
        let keys: Vec<_> = ids.iter().map(|id| TestKey::ed25519().jwk(id)).collect();
        fs::write(self.directory.path().join("jwks.json"), json!({ "keys": keys }).to_string()).unwrap();
    }

    fn go_down(&self) {
        fs::write(self.directory.path().join("jwks.json"), "an error page").unwrap();
    }

    async fn find(&self, id: &str) -> Result<(), AuthenticationError> {
        self.source.keys_with(id).await.map(|keys| assert!(keys.has(id)))
    }
}

const UNKNOWN: Result<(), AuthenticationError> = Err(AuthenticationError::Refused(TokenProblem::UnknownKey));

#[tokio::test(start_paused = true)]
async fn an_unknown_key_is_looked_up_once_a_minute() {
    let issuer = Issuer::new();
    issuer.publish(&["a"]);
    assert_eq!(issuer.find("a").await, Ok(()));
    issuer.publish(&["a", "b"]);
    assert_eq!(issuer.find("b").await, Ok(()), "the first one is looked up at once");
    issuer.publish(&["b", "c"]);
    assert_eq!(issuer.find("c").await, UNKNOWN);
    assert_eq!(issuer.find("a").await, Ok(()), "not known to be withdrawn");
    tokio::time::advance(MIN_REFRESH_INTERVAL).await;
    assert_eq!(issuer.find("c").await, Ok(()));
    assert_eq!(issuer.find("a").await, UNKNOWN);
}

#[tokio::test(start_paused = true)]
async fn withdrawn_keys_are_refused_after_ten_minutes() {
    let issuer = Issuer::new();
    issuer.publish(&["a"]);
    assert_eq!(issuer.find("a").await, Ok(()));
    issuer.publish(&["b"]);
    tokio::time::advance(MAX_KEY_AGE - Duration::from_secs(1)).await;
    assert_eq!(issuer.find("a").await, Ok(()));
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(issuer.find("a").await, UNKNOWN);
}

#[tokio::test(start_paused = true)]
async fn the_last_keys_stay_while_the_issuer_is_down() {
    let issuer = Issuer::new();
    issuer.publish(&["a"]);
    assert_eq!(issuer.find("a").await, Ok(()));
    issuer.go_down();
    for _ in 0..100 {
        tokio::time::advance(MAX_KEY_AGE).await;
        assert_eq!(issuer.find("a").await, Ok(()));
        assert_eq!(issuer.find("b").await, UNKNOWN);
    }
    issuer.publish(&["b"]);
    tokio::time::advance(MIN_REFRESH_INTERVAL).await;
    assert_eq!(issuer.find("b").await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn an_issuer_that_comes_up_late_is_found_within_seconds() {
    let issuer = Issuer::new();
    assert_eq!(issuer.find("a").await, Err(AuthenticationError::IssuerUnavailable));
    issuer.publish(&["a"]);
    assert_eq!(issuer.find("a").await, Err(AuthenticationError::IssuerUnavailable));
    tokio::time::advance(MIN_RETRY_INTERVAL).await;
    assert_eq!(issuer.find("a").await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_silent_issuer_delays_known_keys_only_briefly() {
    let issuer = Issuer::new();
    issuer.publish(&["a"]);
    assert_eq!(issuer.find("a").await, Ok(()));
    tokio::time::advance(MAX_KEY_AGE).await;
    issuer.source.lock().running = Some(std::future::pending().boxed().shared());
    let asked = Instant::now();
    assert_eq!(issuer.find("a").await, Ok(()));
    assert!(asked.elapsed() <= 2 * MAX_REFRESH_WAIT, "{:?}", asked.elapsed());
}
