//! The interface between the protocol and a store that several gateways share: rates of calls, and states that are used
//! once. `state` has the interface for plugins' state.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use crate::call_rate::CallRate;

/// The future of an operation on the shared store.
pub type SharedStoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, SharedStoreDown>> + Send + 'a>>;

/// The store can't be used now. The reason is in the gateway's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the gateway's shared store isn't reachable")]
pub struct SharedStoreDown;

/// A rate that is exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExceededRate {
    /// Its index in the list of rates.
    pub index: usize,
    /// The time until one more event is possible.
    pub retry_after: Duration,
}

/// The effect on calls with a rate while the store is unreachable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RatesWhenDown {
    /// Each gateway counts calls by itself.
    #[default]
    Local,
    /// They are refused.
    Refuse,
}

/// Counts events for all gateways together, with the clock of the store.
pub trait SharedRates: fmt::Debug + Send + Sync {
    /// Counts an event for all of these keys, or for none if it exceeds the rate of one. Then, it returns the rate with
    /// the longest time to wait.
    fn count<'a>(&'a self, rates: &'a [(String, CallRate)]) -> SharedStoreFuture<'a, Option<ExceededRate>>;
}

/// Remembers numbers that are used once, for all gateways together.
pub trait SharedOnce: fmt::Debug + Send + Sync {
    /// Marks a number of an issuer as used, for at least this time. False if it was used before.
    fn mark_used(&self, issuer: u64, number: u64, keep: Duration) -> SharedStoreFuture<'_, bool>;
}
