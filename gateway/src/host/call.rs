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
use moongate_core::names::Principal;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use wasmtime::Store;
use wasmtime::component::Instance;

use super::classify::classify;
use super::code::{Code, Lease};
use super::engine::Ticker;
use super::events::{Changes, Inbox};
use super::exports::Exports;
use super::grants::GrantError;
use super::http::{Outlet, Sender};
use super::imports::stores::Memory;
use super::meter::{Meter, Metered};
use super::state::{Access, Stores};
use super::store::{self, Reached, State, StoreError};
use super::uses::Told;

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

/// What all plugins share.
pub(super) struct Shared {
    pub(super) ticker: Ticker,
    /// Where plugins say what has changed.
    pub(super) inbox: Option<Arc<Inbox>>,
    pub(super) stores: Stores,
    pub(super) outlet: Arc<Outlet>,
}

/// A component, ready to be instantiated, with what its instances may do.
pub(super) struct Sandbox {
    pub(super) config: Arc<PluginConfig>,
    pub(super) code: Arc<Lease>,
    /// What it may keep from one call to the next.
    pub(super) access: Access,
    /// What the operator was told that it wants and isn't granted.
    pub(super) told: Arc<Told>,
    pub(super) sender: Arc<Sender>,
    pub(super) shared: Arc<Shared>,
}

/// How a call ended.
enum End<T> {
    Answered(wasmtime::Result<T>),
    Panicked,
    TimedOut,
    Cancelled,
    Replaced,
}

impl Sandbox {
    pub(super) fn new(config: Arc<PluginConfig>, code: Arc<Code>, shared: Arc<Shared>) -> Self {
        let access = shared.stores.of(&config);
        let sender = Sender::new(Arc::clone(&shared.outlet), Arc::clone(&config));
        Self { config, code: Lease::new(code), access, told: Arc::default(), sender, shared }
    }

    /// The same code under another table.
    pub(super) fn under(&self, config: Arc<PluginConfig>) -> Self {
        let Self { config: before, code, access: _, told, sender, shared } = self;
        let (told, sender) = if Arc::ptr_eq(before, &config) {
            (Arc::clone(told), Arc::clone(sender))
        } else {
            (Arc::default(), sender.under(Arc::clone(&config)))
        };
        let access = shared.stores.of(&config);
        Self { access, config, code: code.another(), told, sender, shared: Arc::clone(shared) }
    }

    /// Makes an instance, asks it for somebody, and drops it.
    ///
    /// # Errors
    /// A limit was hit, the guest trapped, or the caller lost interest.
    pub(super) async fn ask<A: Ask>(
        &self,
        context: Arc<CallContext>,
        question: A,
    ) -> Result<A::Answer, CallError> {
        let changes = Changes::new(self.config.id.clone(), self.shared.inbox.clone());
        self.run(context, self.config.limits.timeout, changes, question).await
    }

    /// The same for the gateway itself, which asks what the plugin offers: that this has changed is no news then.
    ///
    /// # Errors
    /// A limit was hit, or the guest trapped.
    pub(super) async fn ask_itself<A: Ask>(&self, question: A) -> Result<A::Answer, CallError> {
        let context = Arc::new(CallContext::internal(Principal::Local));
        let changes = Changes::new(self.config.id.clone(), None);
        self.run(context, self.config.limits.describe_timeout, changes, question).await
    }

    async fn run<A: Ask>(
        &self,
        context: Arc<CallContext>,
        time: Duration,
        changes: Changes,
        question: A,
    ) -> Result<A::Answer, CallError> {
        let limits = &self.config.limits;
        let cancel = context.cancel.clone();
        if cancel.is_cancelled() {
            return Err(CallError::Cancelled);
        }
        let Some(code) = self.code.code() else { return Err(CallError::Replaced) };
        let _running = self.shared.ticker.running();
        let meter = Meter::new(limits.cpu_time);
        let reached = Reached {
            changes,
            memory: Memory::new(self.access.clone()),
            told: Arc::clone(&self.told),
            sender: Arc::clone(&self.sender),
            peak: Arc::clone(&code.peak),
        };
        let mut store = store::store(code.pre.engine(), &self.config, context, time, &meter, reached)
            .map_err(|error| self.no_store(&error))?;
        let end = {
            let work = pin!(async {
                let instance = code.pre.instantiate_async(&mut store).await?;
                question.ask(&code.exports, &mut store, &instance).await
            });
            // A panic can only come from the host's own functions; it ends this call and no other.
            let work = pin!(AssertUnwindSafe(Metered { meter, inner: work }).catch_unwind());
            // One that doesn't watch for it would only go on as before.
            let grace = if code.watches_cancel { limits.cancel_grace } else { Duration::ZERO };
            supervise(work, time, &cancel, grace, self.code.over()).await
        };
        match end {
            End::Answered(Ok(answer)) => Ok(answer),
            End::Answered(Err(error)) => Err(classify(&error, store.data(), limits)),
            End::Panicked => Err(CallError::Internal("a function of the host panicked".to_owned())),
            End::TimedOut => Err(CallError::Timeout(time)),
            End::Cancelled => Err(CallError::Cancelled),
            End::Replaced => Err(CallError::Replaced),
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

/// Waits for the call, for its time to be up, for its caller to lose interest, or for the code to be given back.
async fn supervise<T>(
    mut work: Pin<&mut (impl Future<Output = std::thread::Result<wasmtime::Result<T>>> + Send)>,
    time: Duration,
    cancel: &CancellationToken,
    grace: Duration,
    over: &CancellationToken,
) -> End<T> {
    let end = |result: std::thread::Result<_>| result.map_or(End::Panicked, End::Answered);
    let until = Instant::now() + time;
    tokio::select! {
        biased;
        result = &mut work => return end(result),
        () = tokio::time::sleep_until(until) => return End::TimedOut,
        () = cancel.cancelled() => {}
        () = over.cancelled() => return End::Replaced,
    }
    if !grace.is_zero() {
        // Whatever it answers now, nobody reads it; what it cleans up counts.
        let _ = tokio::time::timeout_at(until.min(Instant::now() + grace), work).await;
    }
    End::Cancelled
}
