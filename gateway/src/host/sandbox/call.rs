//! One call: an instance, the question, its limits, and what became of it.
//!
//! The instance is a fresh one, and nothing of a call outlives it: instance and store are dropped with the future,
//! whenever that is. Only where the plugin's table has it so an instance that has answered waits for another call, see
//! [`reuse`]. What the guest does wrong comes back as a [`CallError`].

use std::cell::LazyCell;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use moongate_core::call::{CallContext, CallError};
use moongate_core::config::{Instances, PluginConfig};
use moongate_core::names::Principal;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use wasmtime::Store;
use wasmtime::component::Instance;

use super::store::{self, StoreDeps, State, StoreError};
use crate::host::change_inbox::{Changes, Inbox};
use crate::host::diagnostics::crash_report::How;
use crate::host::diagnostics::failure_text::FailureText;
use crate::host::engine::Ticker;
use crate::host::load::code::{Code, Lease};
use crate::host::load::exports::Exports;
use crate::host::sandbox::cpu_meter::{Meter, Metered};
use crate::host::sandbox::instance_pool::{self, Own, Stay, Waiting};
use crate::host::sandbox::trap::classify;
use crate::host::wasi::files::LookupOutcome;
use crate::host::wasi::grant_audit::LoggedWarnings;
use crate::host::wasi::http::{OutboundHttp, RequestSender};
use crate::host::wasi::keyvalue::{StoreAccess, KeyValueStores};
use crate::host::wasi::preopens::{GrantError, Openings};

/// Something to ask an instance.
pub(in crate::host) trait Ask: Send {
    /// The answer in the contract's types.
    type Answer: Send + FailureText;

    /// Asks. An interface that isn't exported is an error of the caller: the catalog knows what there is.
    fn ask(
        self,
        exports: &Exports,
        store: &mut Store<State>,
        instance: &Instance,
    ) -> impl Future<Output = wasmtime::Result<Self::Answer>> + Send;
}

/// What all plugins share.
pub(in crate::host) struct Shared {
    pub(in crate::host) ticker: Ticker,
    /// Where plugins say what has changed.
    pub(in crate::host) inbox: Option<Arc<Inbox>>,
    pub(in crate::host) stores: KeyValueStores,
    pub(in crate::host) outlet: Arc<OutboundHttp>,
    pub(in crate::host) openings: Arc<Openings>,
    /// Instances that wait for their next call.
    pub(in crate::host) waiting: Arc<Waiting<Warm>>,
    /// How many files a call may have open.
    pub(in crate::host) open_files: u32,
}

/// An instance in its store.
pub(in crate::host) struct Warm {
    store: Store<State>,
    instance: Instance,
    reuse: Reuse,
}

/// What decides whether a call may come to an instance that has served others.
struct Reuse {
    /// Whom it serves.
    principal: Principal,
    /// How many calls it has served.
    served: u32,
    /// The granted directories that it knows.
    places: Vec<(u64, u64)>,
}

/// Who asks, and what follows from that.
#[derive(Debug)]
enum Asker {
    /// A caller. `sharer`: who may have the instance afterwards; none: nobody.
    Caller { sharer: Option<Principal> },
    /// The gateway itself, which wants to know what the plugin offers: that this has changed is no news then.
    Gateway,
}

/// Where a call is served.
struct Seat {
    store: Store<State>,
    /// None: it is still to be made.
    instance: Option<Instance>,
    /// None: it is for this call only.
    reuse: Option<Reuse>,
}

/// A component, ready to be instantiated, with what its instances may do.
pub(in crate::host) struct Sandbox {
    pub(in crate::host) config: Arc<PluginConfig>,
    pub(in crate::host) code: Arc<Lease>,
    /// What it may keep from one call to the next.
    pub(in crate::host) access: StoreAccess,
    /// What the operator was told that it wants and isn't granted.
    pub(in crate::host) told: Arc<LoggedWarnings>,
    pub(in crate::host) sender: Arc<RequestSender>,
    /// Its instances that wait for their next call.
    pub(in crate::host) own: Own<Warm>,
    pub(in crate::host) shared: Arc<Shared>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(in crate::host) enum Unanswered {
    /// Nobody was asked.
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{error}")]
    Call {
        error: CallError,
        /// Where it is memory or tables that it needed more of: how much there would have been then.
        wanted: Option<u64>,
    },
}

impl From<CallError> for Unanswered {
    fn from(error: CallError) -> Self {
        Self::Call { error, wanted: None }
    }
}

/// The same, while it isn't known yet what it means.
enum Failed {
    Store(StoreError),
    Guest(wasmtime::Error),
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<wasmtime::Error> for Failed {
    fn from(error: wasmtime::Error) -> Self {
        Self::Guest(error)
    }
}

/// How a call ended.
enum End<T> {
    Answered(Result<T, Failed>),
    Panicked,
    TimedOut,
    Cancelled,
    Replaced,
}

impl Sandbox {
    pub(in crate::host) fn new(config: Arc<PluginConfig>, code: Arc<Code>, shared: Arc<Shared>) -> Self {
        let (access, own) = (shared.stores.of(&config), shared.waiting.own(config.id.clone()));
        let sender = RequestSender::new(Arc::clone(&shared.outlet), Arc::clone(&config));
        Self { config, code: Lease::new(code), access, told: Arc::default(), sender, own, shared }
    }

    /// The same code under another table.
    pub(in crate::host) fn under(&self, config: Arc<PluginConfig>) -> Self {
        let Self { config: before, code, access: _, told, sender, own: _, shared } = self;
        let (told, sender) = if Arc::ptr_eq(before, &config) {
            (Arc::clone(told), Arc::clone(sender))
        } else {
            (Arc::default(), sender.with_config(Arc::clone(&config)))
        };
        let (access, own) = (shared.stores.of(&config), shared.waiting.own(config.id.clone()));
        Self { access, config, code: code.another(), told, sender, own, shared: Arc::clone(shared) }
    }

    /// Asks an instance for somebody.
    ///
    /// # Errors
    /// A limit was hit, the guest trapped, or the caller lost interest.
    pub(in crate::host) async fn ask<A: Ask>(
        &self,
        context: Arc<CallContext>,
        question: A,
    ) -> Result<A::Answer, CallError> {
        let sharer = match self.config.instances {
            Instances::Reused if instance_pool::shares(&context.principal) => Some(context.principal.clone()),
            Instances::Reused | Instances::Fresh => None,
        };
        let answer = self.run(context, Asker::Caller { sharer }, question).await;
        answer.map_err(|error| match error {
            Unanswered::Store(error) => self.no_store(&error),
            Unanswered::Call { error, wanted: _ } => error,
        })
    }

    /// Asks a fresh instance for the gateway itself.
    ///
    /// # Errors
    /// A limit was hit, the guest trapped, or a granted directory can't be opened.
    pub(in crate::host) async fn ask_itself<A: Ask>(&self, question: A) -> Result<A::Answer, Unanswered> {
        let context = Arc::new(CallContext::internal(Principal::Local));
        self.run(context, Asker::Gateway, question).await
    }

    async fn run<A: Ask>(
        &self,
        context: Arc<CallContext>,
        asker: Asker,
        question: A,
    ) -> Result<A::Answer, Unanswered> {
        let limits = &self.config.limits;
        let (time, inbox, sharer) = match &asker {
            Asker::Caller { sharer } => (limits.timeout, self.shared.inbox.clone(), sharer.clone()),
            Asker::Gateway => (limits.describe_timeout, None, None),
        };
        let cancel = context.cancel.clone();
        if cancel.is_cancelled() {
            return Err(CallError::Cancelled.into());
        }
        let Some(code) = self.code.code() else { return Err(CallError::Replaced.into()) };
        let _running = self.shared.ticker.running();
        let meter = Meter::new(limits.cpu_time);
        let until = std::time::Instant::now() + time;
        let reached = self.reached(Changes::new(self.config.id.clone(), inbox), &code);
        let mut seat = None;
        let end = {
            let work = pin!(async {
                let seat = seat.insert(self.seat(&code, sharer, context, until, &meter, reached).await?);
                let Seat { store, instance, reuse: _ } = seat;
                let instance = match instance {
                    Some(warm) => warm,
                    none => {
                        let fresh = code.pre.instantiate_async(&mut *store).await?;
                        store.data_mut().instantiated();
                        none.insert(fresh)
                    }
                };
                Ok(question.ask(&code.exports, store, instance).await?)
            });
            // A panic can only come from the host's own functions; it ends this call and no other.
            let work =
                pin!(AssertUnwindSafe(Metered { meter: Arc::clone(&meter), inner: work }).catch_unwind());
            // One that doesn't watch for it would only go on as before.
            let grace = if code.watches_cancel { limits.cancel_grace } else { Duration::ZERO };
            supervise(work, time, &cancel, grace, self.code.over()).await
        };
        self.came_of(end, seat, time, &asker, &cancel)
    }

    /// What came of a call.
    fn came_of<T: FailureText>(
        &self,
        end: End<T>,
        seat: Option<Seat>,
        time: Duration,
        asker: &Asker,
        cancel: &CancellationToken,
    ) -> Result<T, Unanswered> {
        Err(match (end, seat) {
            (End::Answered(Ok(mut answer)), seat) => {
                if let Some(seat) = &seat {
                    let state = seat.store.data();
                    report_to_caller(state, &mut answer);
                }
                if let Some(seat) = seat.filter(|_| !cancel.is_cancelled()) {
                    self.park(seat);
                }
                return Ok(answer);
            }
            (End::Answered(Err(Failed::Store(error))), _) => return Err(error.into()),
            (End::Answered(Err(Failed::Guest(error))), Some(seat)) => {
                return Err(self.failed(&error, seat, asker));
            }
            (End::Answered(Err(Failed::Guest(error))), None) => CallError::Internal(format!("{error:#}")),
            (End::Panicked, _) => CallError::Internal("a function of the host panicked".to_owned()),
            (End::TimedOut, Some(_)) => CallError::Timeout(time),
            // Until there is a store, only directories are waited for.
            (End::TimedOut, None) => match self.shared.openings.silent(&self.config) {
                Some(error) => return Err(StoreError::Grant(error).into()),
                None => CallError::Timeout(time),
            },
            (End::Cancelled, _) => CallError::Cancelled,
            (End::Replaced, _) => CallError::Replaced,
        }
        .into())
    }

    /// Why the guest failed.
    fn failed(&self, error: &wasmtime::Error, mut seat: Seat, asker: &Asker) -> Unanswered {
        let state = seat.store.data();
        let last_words = LazyCell::new(|| state.output().last_words());
        let error = classify(error, state, &self.config.limits, || last_words.as_ref());
        if matches!(error, CallError::Trap(_)) {
            // Python reads source files to show a traceback, which looks like a lookup of the call.
            if !last_words.as_ref().is_some_and(|words| words.how == How::Raised) {
                state.files_state().report_ungranted_lookup(LookupOutcome::Failed);
            }
        }
        if !matches!(error, CallError::Memory(_) | CallError::Tables(_)) {
            return Unanswered::Call { error, wanted: None };
        }
        let wanted = state.memory_limiter().wanted();
        match asker {
            // The operator reads it with the limit and a value that is likely to do, at every attempt to load it.
            Asker::Gateway => seat.store.data_mut().memory_limiter_mut().forget_refusals(),
            Asker::Caller { .. } => {}
        }
        Unanswered::Call { error, wanted }
    }

    /// What a call has to do with what goes on after it.
    fn reached(&self, changes: Changes, code: &Code) -> StoreDeps {
        StoreDeps {
            changes,
            store_access: self.access.clone(),
            logged_warnings: Arc::clone(&self.told),
            sender: Arc::clone(&self.sender),
            peak_memory: Arc::clone(&code.peak),
            open_files: self.shared.open_files,
        }
    }

    /// Where to serve a call of `sharer`: an instance that waits for that, or else a store for a fresh one. `sharer`:
    /// who may have it afterwards; none: nobody.
    async fn seat(
        &self,
        code: &Code,
        sharer: Option<Principal>,
        context: Arc<CallContext>,
        until: std::time::Instant,
        meter: &Arc<Meter>,
        reached: StoreDeps,
    ) -> Result<Seat, StoreError> {
        let opened = self.shared.openings.open(&self.config).await?;
        let warm = sharer.as_ref().and_then(|principal| self.own.take(principal));
        if let Some(Warm { mut store, instance, reuse }) =
            warm.filter(|warm| warm.reuse.places == opened.places)
        {
            store.data_mut().attach(opened, context, until, meter, reached);
            store.set_epoch_deadline(1);
            return Ok(Seat { store, instance: Some(instance), reuse: Some(reuse) });
        }
        self.shared.waiting.make_room(|| self.shared.ticker.count());
        let places = opened.places.clone();
        let store = store::store(code.pre.engine(), &self.config, opened, context, until, meter, reached)?;
        let reuse = sharer.map(|principal| Reuse { principal, served: 0, places });
        Ok(Seat { store, instance: None, reuse })
    }

    /// Lets the instance of a call that was answered wait for the next one, if it may.
    fn park(&self, seat: Seat) {
        let Seat { mut store, instance: Some(instance), reuse: Some(mut reuse) } = seat else { return };
        let limits = &self.config.limits;
        reuse.served += 1;
        if reuse.served >= limits.reuse_calls || !store.data_mut().is_reusable() {
            return;
        }
        store.data_mut().detach();
        let stay = Stay { until: Instant::now() + limits.reuse_idle, most: limits.concurrency };
        let principal = reuse.principal.clone();
        self.own.park(principal, Warm { store, instance, reuse }, stay, || self.shared.ticker.count());
    }

    /// The paths of this machine are for the log, not for the caller.
    fn no_store(&self, error: &StoreError) -> CallError {
        let id = &self.config.id;
        let StoreError::Grant(grant) = error else {
            tracing::error!(plugin = %id, "{error}");
            return CallError::Internal("there is no room for an instance".to_owned());
        };
        tracing::error!(plugin = %id, "{grant}; calls of `{id}` fail until it can be opened (hint: {})", grant.hint(None));
        CallError::Directory(match grant {
            GrantError::Failed { guest, .. } => format!("the granted directory `{guest}` can't be opened"),
            GrantError::Silent { guest, .. } => format!("the granted directory `{guest}` doesn't answer"),
            GrantError::Unbegun => grant.to_string(),
        })
    }
}

/// Reports lookups without a grant, and appends the note about a missing grant to a failed answer, unless the answer shows
/// the same line already.
fn report_to_caller<T: FailureText>(state: &State, answer: &mut T) {
    if !answer.is_failure() {
        state.files_state().report_ungranted_lookup(LookupOutcome::Succeeded);
        return;
    }
    state.files_state().report_ungranted_lookup(LookupOutcome::Failed);
    if let Some(note) = state.audit().caller_note()
        && !note.fix.as_ref().is_some_and(|fix| answer.mentions(fix))
    {
        answer.append_note(&note.text);
    }
}

/// Waits for the call, for its time to be up, for its caller to lose interest, or for the code to be given back.
async fn supervise<T>(
    mut work: Pin<&mut (impl Future<Output = std::thread::Result<Result<T, Failed>>> + Send)>,
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
