//! Fetches and keeps the keys of an issuer.
//!
//! Keys are fetched once for all requests that wait for them. A key id that isn't known can be a new key, so the keys are
//! fetched again, but not more often than once a minute: tokens with random key ids must not overload the issuer. While
//! the issuer doesn't answer, its last keys stay in use.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _, Shared};
use moongate_config::{IssuerConfig, KeyLocation};
use moongate_system::blocking::BlockingLimiter;
use tokio::time::{Instant, timeout};
use url::Url;

use crate::authenticator::{AuthenticationError, TokenProblem};
use crate::discovery::discover;
use crate::issuer_client::{IssuerClient, IssuerRequestError, MAX_RESPONSE_BYTES};
use crate::jwk::VerificationKeys;

/// The age at which keys are fetched again, so that a key that the issuer withdraws is refused soon.
const MAX_KEY_AGE: Duration = Duration::from_secs(10 * 60);

/// The minimum time between two fetches because of an unknown key id, and between attempts to replace old keys.
const MIN_REFRESH_INTERVAL: Duration = Duration::from_secs(60);

/// The minimum time between two attempts while there are no keys.
const MIN_RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// The number of threads that read a key file.
const KEY_FILE_THREADS: usize = 1;

/// The time for which a token whose key is known waits for newer keys.
const MAX_REFRESH_WAIT: Duration = Duration::from_millis(500);

/// The time limit for reading a key file.
const KEY_FILE_TIMEOUT: Duration = Duration::from_secs(5);

/// The keys of an issuer.
#[derive(Debug)]
pub(crate) struct KeySource {
    issuer: Arc<str>,
    location: KeyLocation,
    client: Arc<IssuerClient>,
    files: BlockingLimiter,
    state: Mutex<KeySourceState>,
}

#[derive(Debug, Default)]
struct KeySourceState {
    keys: Option<Arc<VerificationKeys>>,
    /// The time of the last fetch that succeeded.
    fetched: Option<Instant>,
    /// The time of the last fetch that failed, if none has succeeded since.
    failed: Option<Instant>,
    /// The time of the last fetch because of an unknown key id.
    refreshed: Option<Instant>,
    /// The fetch that is running.
    running: Option<KeyFetch>,
}

type KeyFetch = Shared<BoxFuture<'static, ()>>;

/// The next step to find a key.
enum KeyLookup {
    Use(Arc<VerificationKeys>),
    /// The key is known, but it is time to fetch it again.
    WaitBriefly(KeyFetch),
    Wait(KeyFetch),
    Fail(AuthenticationError),
}

impl KeySource {
    pub(crate) fn new(config: &IssuerConfig, client: Arc<IssuerClient>) -> Arc<Self> {
        Arc::new(Self {
            issuer: Arc::clone(&config.issuer),
            location: config.keys.clone(),
            client,
            files: BlockingLimiter::new(KEY_FILE_THREADS),
            state: Mutex::default(),
        })
    }

    /// Fetches the keys in advance, so that the first request doesn't wait and a wrong address is logged at once.
    pub(crate) fn prefetch(self: &Arc<Self>) {
        drop(self.fetch(&mut self.lock()));
    }

    /// The keys, among which is the one with this id.
    ///
    /// # Errors
    /// There is no such key, or no keys could be fetched so far.
    pub(crate) async fn keys_with(
        self: &Arc<Self>,
        key_id: &str,
    ) -> Result<Arc<VerificationKeys>, AuthenticationError> {
        let mut may_wait = true;
        loop {
            let next = self.look_up(key_id, may_wait);
            match next {
                KeyLookup::Use(keys) => return Ok(keys),
                KeyLookup::Fail(error) => return Err(error),
                KeyLookup::WaitBriefly(fetch) => drop(timeout(MAX_REFRESH_WAIT, fetch).await),
                KeyLookup::Wait(fetch) => fetch.await,
            }
            may_wait = false;
        }
    }

    fn look_up(self: &Arc<Self>, key_id: &str, may_wait: bool) -> KeyLookup {
        let now = Instant::now();
        let mut state = self.lock();
        let since = |time: Option<Instant>| time.map_or(Duration::MAX, |time| now.duration_since(time));
        let known = state.keys.clone();
        match &known {
            Some(keys) if keys.has(key_id) => {
                let is_old = since(state.fetched) >= MAX_KEY_AGE;
                if is_old && since(state.failed) >= MIN_REFRESH_INTERVAL {
                    // If the issuer answered last time, it is worth waiting.
                    let is_reachable = state.failed.is_none();
                    let fetch = self.fetch(&mut state);
                    if is_reachable && may_wait {
                        return KeyLookup::WaitBriefly(fetch);
                    }
                }
                KeyLookup::Use(Arc::clone(keys))
            }
            _ if !may_wait => KeyLookup::Fail(unknown_key(known.is_some())),
            _ if let Some(running) = &state.running => KeyLookup::Wait(running.clone()),
            Some(_) if since(state.refreshed) >= MIN_REFRESH_INTERVAL => {
                state.refreshed = Some(now);
                KeyLookup::Wait(self.fetch(&mut state))
            }
            None if since(state.failed) >= MIN_RETRY_INTERVAL => KeyLookup::Wait(self.fetch(&mut state)),
            Some(_) | None => KeyLookup::Fail(unknown_key(known.is_some())),
        }
    }

    /// Starts to fetch the keys, or joins the fetch that is running. It continues even if nobody waits any more, so that
    /// clients that disconnect don't use up the attempts.
    fn fetch(self: &Arc<Self>, state: &mut KeySourceState) -> KeyFetch {
        if let Some(running) = &state.running {
            return running.clone();
        }
        let source = Arc::clone(self);
        let fetch = async move { source.fetch_now().await }.boxed().shared();
        state.running = Some(fetch.clone());
        tokio::spawn(fetch.clone());
        fetch
    }

    async fn fetch_now(&self) {
        let fetched = self.read().await;
        let now = Instant::now();
        let mut state = self.lock();
        state.running = None;
        match fetched {
            Ok(keys) => {
                if state.failed.is_some() {
                    tracing::info!(issuer = %self.issuer, "fetched the issuer's keys again");
                }
                // It replaces the last keys all the same: an issuer withdraws all of them in this way.
                if keys.is_empty() {
                    tracing::warn!(
                        issuer = %self.issuer,
                        "no usable key in the issuer's key set: a key needs a `kid`, and must be RSA, P-256, P-384 or Ed25519"
                    );
                }
                state.keys = Some(Arc::new(keys));
                state.fetched = Some(now);
                state.failed = None;
            }
            Err(error) => {
                let consequence = if state.keys.is_some() {
                    "its last keys stay in use"
                } else {
                    "its tokens can't be verified"
                };
                tracing::warn!(issuer = %self.issuer, "can't fetch the issuer's keys ({consequence}): {error}");
                state.failed = Some(now);
            }
        }
    }

    async fn read(&self) -> Result<VerificationKeys, IssuerRequestError> {
        let document = match &self.location {
            KeyLocation::File(path) => self.read_file(path.clone()).await?,
            KeyLocation::Address(url) => self.client.get(url).await?.to_vec(),
            KeyLocation::Discovered => {
                let url = self.discovered().await?;
                self.client.get(&url).await?.to_vec()
            }
        };
        VerificationKeys::parse(&document).map_err(|error| IssuerRequestError::new(error.to_string()))
    }

    async fn discovered(&self) -> Result<Url, IssuerRequestError> {
        let metadata = discover(&self.client, &self.issuer).await?;
        metadata.jwks_uri.ok_or_else(|| {
            IssuerRequestError::new("its metadata has no `jwks_uri`; set `jwks_uri` or `jwks_file`")
        })
    }

    async fn read_file(&self, path: PathBuf) -> Result<Vec<u8>, IssuerRequestError> {
        let shown = path.display().to_string();
        let failed = |reason: &dyn std::fmt::Display| IssuerRequestError::new(format!("{shown}: {reason}"));
        match timeout(KEY_FILE_TIMEOUT, self.files.run(move || read_small_file(&path))).await {
            Ok(Ok(Ok(content))) => Ok(content),
            Ok(Ok(Err(error))) => Err(failed(&error)),
            Ok(Err(_)) | Err(_) => Err(failed(&"the file system doesn't respond")),
        }
    }

    fn lock(&self) -> MutexGuard<'_, KeySourceState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unknown_key(has_keys: bool) -> AuthenticationError {
    if has_keys {
        AuthenticationError::Refused(TokenProblem::UnknownKey)
    } else {
        AuthenticationError::IssuerUnavailable
    }
}

fn read_small_file(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;

    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut content = Vec::new();
    let limit = MAX_RESPONSE_BYTES as u64;
    std::fs::File::open(path)?.take(limit + 1).read_to_end(&mut content)?;
    if content.len() as u64 > limit {
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, "longer than 256 KiB"));
    }
    Ok(content)
}

#[cfg(test)]
mod tests;
