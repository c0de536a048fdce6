//! One call: a fresh instance, the question, its limits, and what became of it.
//!
//! Nothing of a call outlives it: the instance and the store are dropped with the future, whenever that is. What the
//! guest does wrong comes back as a [`CallError`].

use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use moongate_core::call::{CallContext, CallError};
use moongate_core::config::PluginConfig;
use tokio::sync::mpsc;
use wasmtime::Store;
use wasmtime::component::{Instance, InstancePre};

use super::classify::classify;
use super::engine::Ticker;
use super::events::{Changes, PluginEvent};
use super::exports::Exports;
use super::grants::GrantError;
use super::meter::{Meter, Metered};
use super::store::{self, State, StoreError};

/// How long a guest that watches for it may go on after its caller has lost interest.
const GRACE: Duration = Duration::from_millis(500);

/// Something to ask an instance.
pub(super) trait Ask: Send {
    /// The answer in the contract's types.
    type Answer: Send;

    /// Asks. An interface that isn't exported is an error of the caller: the catalog knows what there is.
    fn ask(
        self,
        exports: &Exports,
        store: &mut Store<State>,
        instance: &Instance,
    ) -> impl Future<Output = wasmtime::Result<Self::Answer>> + Send;
}

/// A component, ready to be instantiated, with what its instances may do.
pub(super) struct Sandbox {
    pub(super) config: Arc<PluginConfig>,
    pub(super) pre: InstancePre<State>,
    pub(super) exports: Exports,
    pub(super) ticker: Arc<Ticker>,
    pub(super) events: Option<mpsc::Sender<PluginEvent>>,
    /// It asks whether its caller has lost interest, and so may end by itself.
    pub(super) watches_cancel: bool,
}

/// How a call ended.
enum End<T> {
    Answered(wasmtime::Result<T>),
    Panicked,
    TimedOut,
    Cancelled,
}

impl Sandbox {
    /// Makes an instance, asks it, and drops it.
    ///
    /// # Errors
    /// A limit was hit, the guest trapped, or the caller lost interest.
    pub(super) async fn ask<A: Ask>(
        &self,
        context: Arc<CallContext>,
        time: Duration,
        question: A,
    ) -> Result<A::Answer, CallError> {
        let limits = &self.config.limits;
        let cancel = context.cancel.clone();
        if cancel.is_cancelled() {
            return Err(CallError::Cancelled);
        }
        let _running = self.ticker.running();
        let meter = Meter::new(limits.cpu_time);
        let changes = Changes::new(self.config.id.clone(), self.events.clone());
        let mut store = store::store(self.pre.engine(), &self.config, context, time, &meter, changes)
            .map_err(|error| self.no_store(&error))?;
        let end = {
            let work = pin!(async {
                let instance = self.pre.instantiate_async(&mut store).await?;
                question.ask(&self.exports, &mut store, &instance).await
            });
            // A panic can only come from the host's own functions; it ends this call and no other.
            let work = pin!(AssertUnwindSafe(Metered { meter, inner: work }).catch_unwind());
            let grace = if self.watches_cancel { GRACE } else { Duration::ZERO };
            supervise(work, time, &cancel, grace).await
        };
        match end {
            End::Answered(Ok(answer)) => Ok(answer),
            End::Answered(Err(error)) => Err(classify(&error, store.data(), limits)),
            End::Panicked => Err(CallError::Internal("a function of the host panicked".to_owned())),
            End::TimedOut => Err(CallError::Timeout(time)),
            End::Cancelled => Err(CallError::Cancelled),
        }
    }

    /// The paths of this machine are for the log, not for the caller.
    fn no_store(&self, error: &StoreError) -> CallError {
        tracing::error!(plugin = %self.config.id, "{error}");
        CallError::Internal(match error {
            StoreError::Grant(GrantError { guest, host: _, reason: _ }) => {
                format!("the granted directory `{guest}` can't be opened")
            }
            StoreError::Engine(_) => "there is no room for an instance".to_owned(),
        })
    }
}

/// Waits for the call, for its time to be up, or for its caller to lose interest.
async fn supervise<T>(
    mut work: Pin<&mut (impl Future<Output = std::thread::Result<wasmtime::Result<T>>> + Send)>,
    time: Duration,
    cancel: &tokio_util::sync::CancellationToken,
    grace: Duration,
) -> End<T> {
    let end = |result: std::thread::Result<_>| result.map_or(End::Panicked, End::Answered);
    tokio::select! {
        biased;
        result = &mut work => return end(result),
        () = tokio::time::sleep(time) => return End::TimedOut,
        () = cancel.cancelled() => {}
    }
    if !grace.is_zero() {
        // Whatever it answers now, nobody reads it; what it cleans up counts.
        let _ = tokio::time::timeout(grace.min(time), work).await;
    }
    End::Cancelled
}
