//! The state that a client carries between the rounds of a call: `requestState` (2026-07-28, basic/patterns/mrtr).
//!
//! The client can neither read nor change it, and it is valid only for the same request: the same plugin in the same
//! version, caller, method and parameters. It is valid for ten minutes and one retry. Used states are remembered in a
//! store that all gateways share or, without one, in this process: if several gateways share only a sealing key, a state
//! can be used once with each of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::call::InputRequest;
use crate::json::Json;
use crate::shared_store::{SharedOnce, SharedStoreDown};

use super::super::SealingKey;
use super::question::Question;
use super::{MAX_CARRIED_BYTES, MAX_STATE_BYTES, STATE_LIFETIME};

mod claim;
mod used;

pub(super) use claim::StateClaim;
pub(super) use used::MarkUsedError;

use used::{StateNumber, UsedStates};

/// The sealing purpose of states.
pub(super) const STATE_PURPOSE: &str = "input";

/// The time for which used states are remembered for other gateways, whose clocks can differ by some minutes.
const SHARED_MEMORY: Duration = STATE_LIFETIME.saturating_mul(2);

/// Seals states, and remembers used ones.
#[derive(Debug)]
pub(in crate::mcp) struct StateStore {
    key: SealingKey,
    /// The random number of this process. `None` if the system provided no random bytes.
    issuer: Option<u64>,
    /// The number of states that this process issued.
    issued: AtomicU64,
    used: Mutex<UsedStates>,
    /// Remembers used states instead of `used`.
    shared: Option<Arc<dyn SharedOnce>>,
}

/// The content of a state.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct RoundState {
    /// The number of rounds so far.
    pub(super) rounds: u32,
    /// The answers so far.
    pub(super) answers: Vec<(String, Json)>,
    /// The unanswered questions.
    pub(super) open: Vec<InputRequest>,
    /// The plugin's own state.
    pub(super) state: Option<Vec<u8>>,
}

/// The content of an opened state.
#[derive(Debug)]
pub(super) struct OpenedState {
    pub(super) rounds: u32,
    pub(super) answers: Vec<(String, Json)>,
    pub(super) open: Vec<(InputRequest, Question)>,
    pub(super) state: Option<Vec<u8>>,
    number: StateNumber,
    expires_at: u64,
}

/// A state that couldn't be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum SealError {
    #[error(
        "its questions, the answers and its state exceed the {} KiB that a client carries",
        MAX_STATE_BYTES / 1024
    )]
    TooLarge,
    #[error("no random bytes available for the request state")]
    NoRandomness,
}

/// A state that isn't accepted. Cases that don't help an honest client aren't distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum StateError {
    #[error("`requestState` doesn't belong to this request; send the request again without `requestState`")]
    Foreign,
    #[error("`requestState` has expired; send the request again without it")]
    Expired,
    #[error("`requestState` was already used; send the request again without it")]
    Used,
    #[error("the plugin was replaced since it asked; send the request again without `requestState`")]
    Replaced,
}

/// The sealed data.
#[derive(Serialize, Deserialize)]
struct SealedState {
    plugin: String,
    version: String,
    caller: String,
    request: String,
    expires_at: u64,
    /// Issuer and number of [`StateNumber`].
    number: (u64, u64),
    rounds: u32,
    answers: Vec<(String, Json)>,
    open: Vec<OpenQuestion>,
    state: Option<String>,
}

/// An unanswered question.
#[derive(Serialize, Deserialize)]
struct OpenQuestion {
    key: String,
    method: String,
    params: Option<Json>,
    /// For a request to the model that was too long to keep: whether it uses tools.
    forgotten: Option<bool>,
}

impl StateStore {
    pub(in crate::mcp) fn new(key: SealingKey, shared: Option<Arc<dyn SharedOnce>>) -> Self {
        let mut issuer = [0; 8];
        let issuer = getrandom::fill(&mut issuer).ok().map(|()| u64::from_ne_bytes(issuer));
        Self { key, issuer, issued: AtomicU64::new(0), used: Mutex::default(), shared }
    }

    /// Seals the content of a state.
    pub(super) fn seal(
        &self,
        claim: &StateClaim,
        carried: &RoundState,
        now: SystemTime,
    ) -> Result<String, SealError> {
        let issuer = self.issuer.ok_or(SealError::NoRandomness)?;
        let number = (issuer, self.issued.fetch_add(1, Ordering::Relaxed));
        let StateClaim { plugin, version, caller, request } = claim;
        let sealed = SealedState {
            plugin: plugin.clone(),
            version: version.clone(),
            caller: caller.clone(),
            request: request.clone(),
            expires_at: seconds(now) + STATE_LIFETIME.as_secs(),
            number,
            rounds: carried.rounds,
            answers: carried.answers.clone(),
            open: carried.open.iter().map(OpenQuestion::of).collect(),
            state: carried.state.as_ref().map(|state| STANDARD_NO_PAD.encode(state)),
        };
        let text = serde_json::to_vec(&sealed).expect("it has text keys and no fallible parts");
        if text.len() > MAX_STATE_BYTES / 4 * 3 {
            return Err(SealError::TooLarge);
        }
        self.key.seal(STATE_PURPOSE, &text).map_err(|_| SealError::NoRandomness)
    }

    /// Opens a state, which doesn't use it up.
    pub(super) fn open(
        &self,
        claim: &StateClaim,
        state: &str,
        now: SystemTime,
    ) -> Result<OpenedState, StateError> {
        if state.len() > MAX_STATE_BYTES * 2 {
            return Err(StateError::Foreign);
        }
        let text = self.key.open(STATE_PURPOSE, state).ok_or(StateError::Foreign)?;
        let sealed: SealedState = serde_json::from_slice(&text).map_err(|_| StateError::Foreign)?;
        let StateClaim { plugin, version, caller, request } = claim;
        if (&sealed.caller, &sealed.request, &sealed.plugin) != (caller, request, plugin) {
            return Err(StateError::Foreign);
        }
        if sealed.expires_at <= seconds(now) {
            return Err(StateError::Expired);
        }
        if sealed.version != *version {
            return Err(StateError::Replaced);
        }
        let state = sealed.state.map(|state| STANDARD_NO_PAD.decode(state)).transpose();
        let open = sealed.open.into_iter().map(OpenQuestion::read).collect::<Option<_>>();
        Ok(OpenedState {
            rounds: sealed.rounds,
            answers: sealed.answers,
            open: open.ok_or(StateError::Foreign)?,
            state: state.map_err(|_| StateError::Foreign)?,
            number: StateNumber { issuer: sealed.number.0, number: sealed.number.1 },
            expires_at: sealed.expires_at,
        })
    }

    /// Marks a state as used, for all gateways if they share a store.
    pub(super) async fn use_up(&self, opened: &OpenedState, now: SystemTime) -> Result<(), MarkUsedError> {
        let Some(shared) = &self.shared else { return self.mark_used(opened, now) };
        let StateNumber { issuer, number } = opened.number;
        match shared.mark_used(issuer, number, SHARED_MEMORY).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(MarkUsedError::Already),
            Err(SharedStoreDown) => Err(MarkUsedError::StoreDown),
        }
    }

    /// Marks a state as used in this process.
    pub(super) fn mark_used(&self, opened: &OpenedState, now: SystemTime) -> Result<(), MarkUsedError> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.mark(opened.number, opened.expires_at, seconds(now))
    }
}

impl OpenQuestion {
    fn of(request: &InputRequest) -> Self {
        let InputRequest { key, method, params } = request;
        let long = params.as_ref().is_some_and(|params| params.get().len() > MAX_CARRIED_BYTES);
        let question = if long { Question::read(request).ok() } else { None };
        let forgotten = question.and_then(|question| question.offers_tools());
        let params = if forgotten.is_some() { None } else { params.clone() };
        Self { key: key.clone(), method: method.clone(), params, forgotten }
    }

    fn read(self) -> Option<(InputRequest, Question)> {
        let Self { key, method, params, forgotten } = self;
        let request = InputRequest { key, method, params };
        let question = match forgotten {
            Some(tools) => Question::without_content(request.key.clone(), tools),
            None => Question::read(&request).ok()?,
        };
        Some((request, question))
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
