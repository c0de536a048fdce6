//! One call to a guest: an instance, the call, its limits and its outcome.
//!
//! The instance is new, and nothing of a call outlives it: instance and store are dropped with the future. If the
//! plugin's configuration allows reuse, the instance is kept idle for the next call, see [`instance_pool`]. Failures of
//! the guest are returned as [`CallError`].

use std::cell::LazyCell;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use moongate_config::{InstancePolicy, PluginConfig};
use moongate_model::call::{BusyReason, CallContext, CallError};
use moongate_model::caller::Caller;
use moongate_model::names::Principal;
use moongate_system::background::{WorkOwner, move_to_background};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use wasmtime::Store;
use wasmtime::component::Instance;

use super::cpu_meter::{CpuMeter, MeteredFuture, RecentCalls};
use super::guest_memory::GuestMemory;
use super::instance_pool::{self, IdlePolicy, InstancePool, PluginPool};
use super::store::{self, StoreDeps, StoreError, StoreState};
use super::trap::classify;
use crate::change_inbox::{CallChanges, ChangeInbox};
use crate::diagnostics::access_record::AccessRecords;
use crate::diagnostics::crash_report::StderrTail;
use crate::diagnostics::failure_text::FailureText;
use crate::diagnostics::plugin_log::PluginLog;
use crate::engine::Ticker;
use crate::load::code::{CodeLease, KeepMapped, LoadedCode};
use crate::load::error::LoadError;
use crate::load::exports::Exports;
use crate::wasi::files::LookupOutcome;
use crate::wasi::files::disk_usage::{DiskQuota, DiskUsages};
use crate::wasi::grant_audit::{DirectoryEffect, LoggedWarnings};
use crate::wasi::http::{OutboundHttp, RequestSender};
use crate::wasi::keyvalue::KeyValueStores;
use crate::wasi::preopens::{DirectoryError, DirectoryOpener};

/// A call to one of the guest's exported functions.
pub(crate) trait GuestCall: Send {
    /// The result in the contract's types.
    type Output: Send + FailureText;

    /// Calls the function. The caller must have checked in the catalog that the interface is exported.
    fn invoke(
        self,
        exports: &Exports,
        store: &mut Store<StoreState>,
        instance: &Instance,
    ) -> impl Future<Output = wasmtime::Result<Self::Output>> + Send;
}

/// The parts of the host that all plugins share.
pub(crate) struct HostResources {
    pub(crate) ticker: Ticker,
    /// Receives the changes that plugins report.
    pub(crate) inbox: Option<Arc<ChangeInbox>>,
    pub(crate) stores: KeyValueStores,
    pub(crate) disk_usages: DiskUsages,
    pub(crate) outbound_http: Arc<OutboundHttp>,
    /// The accesses of each plugin's calls, for operators.
    pub(crate) access_records: AccessRecords,
    pub(crate) openings: Arc<DirectoryOpener>,
    /// Idle instances.
    pub(crate) instance_pool: Arc<InstancePool<PooledInstance>>,
    /// The memory of all instances.
    pub(crate) guest_memory: GuestMemory<PooledInstance>,
    /// The maximum number of files that a call can have open.
    pub(crate) open_files: u32,
    /// Limits the plugins that describe themselves at once.
    pub(crate) describing: Semaphore,
    /// The same for plugins that are about to be called.
    pub(crate) describing_for_calls: Semaphore,
}

/// An idle instance in its store.
pub(crate) struct PooledInstance {
    store: Store<StoreState>,
    instance: Instance,
    reuse: ReuseState,
}

/// The properties of an instance that decide if it can serve another call.
struct ReuseState {
    /// The only caller whose calls it serves.
    caller: Caller,
    calls_served: u32,
    /// Device and inode of the granted directories that the instance has open.
    directories: Vec<(u64, u64)>,
    /// [`InstancePool::clearings`] when it was created.
    clearings: u64,
}

/// The origin of a call.
#[derive(Debug)]
enum CallOrigin {
    /// A client. The instance can be reused for this caller; `None` means no reuse.
    Client { reuse_for: Option<Caller> },
    /// The gateway itself, describing the plugin. Changes that the plugin reports meanwhile are ignored.
    Gateway,
}

/// The instance of a running call.
struct InstanceLease {
    store: Store<StoreState>,
    /// `None` until the component is instantiated.
    instance: Option<Instance>,
    /// `None` if the instance serves this call only.
    reuse: Option<ReuseState>,
}

/// A component that is ready to be instantiated, with the permissions of its instances.
pub(crate) struct Sandbox {
    pub(crate) config: Arc<PluginConfig>,
    pub(crate) code: Arc<CodeLease>,
    /// The limit on what it adds to its directories.
    pub(crate) disk: DiskQuota,
    /// The rate of its log lines.
    pub(crate) log: Arc<PluginLog>,
    /// The missing grants and exceeded limits that were already logged.
    pub(crate) logged_warnings: Arc<LoggedWarnings>,
    pub(crate) sender: Arc<RequestSender>,
    /// Its idle instances.
    pub(crate) pool: PluginPool<PooledInstance>,
    /// Whether its calls start on the background pool.
    pub(crate) recent_calls: Arc<RecentCalls>,
    pub(crate) shared: Arc<HostResources>,
}

/// The reason that a call has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SandboxError {
    /// The guest wasn't called.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The code can't be mapped.
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("{error}")]
    Call {
        error: CallError,
        /// The amount of memory (bytes) or of table elements that the guest requested and was denied.
        wanted: Option<u64>,
    },
}

impl From<CallError> for SandboxError {
    fn from(error: CallError) -> Self {
        Self::Call { error, wanted: None }
    }
}

/// An error of a running call, before it is classified.
enum RunError {
    Store(StoreError),
    Guest(wasmtime::Error),
}

impl From<StoreError> for RunError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<wasmtime::Error> for RunError {
    fn from(error: wasmtime::Error) -> Self {
        Self::Guest(error)
    }
}

/// The end of a call.
enum CallEnd<T> {
    Returned(Result<T, RunError>),
    Panicked,
    TimedOut,
    Cancelled,
    Replaced,
}

impl Sandbox {
    pub(crate) fn new(config: Arc<PluginConfig>, code: Arc<LoadedCode>, shared: Arc<HostResources>) -> Self {
        shared.stores.prepare(&config);
        let pool = shared.instance_pool.for_plugin(config.id.clone());
        let sender = RequestSender::new(Arc::clone(&shared.outbound_http), Arc::clone(&config));
        Self {
            code: CodeLease::new(code),
            disk: shared.disk_usages.quota(&config),
            log: PluginLog::new(config.id.clone(), config.limits.log_rate),
            logged_warnings: Arc::new(LoggedWarnings::new(shared.access_records.of(&config.id))),
            sender,
            pool,
            recent_calls: Arc::default(),
            config,
            shared,
        }
    }

    /// The same code with another configuration.
    pub(crate) fn with_config(&self, config: Arc<PluginConfig>) -> Self {
        let Self {
            config: before,
            code,
            disk,
            log,
            logged_warnings: warned,
            sender,
            pool: _,
            recent_calls,
            shared,
        } = self;
        let (disk, log, warned, sender) = if Arc::ptr_eq(before, &config) {
            (disk.clone(), Arc::clone(log), Arc::clone(warned), Arc::clone(sender))
        } else {
            let log = PluginLog::new(config.id.clone(), config.limits.log_rate);
            (
                shared.disk_usages.quota(&config),
                log,
                Arc::new(warned.renewed()),
                sender.with_config(Arc::clone(&config)),
            )
        };
        shared.stores.prepare(&config);
        let pool = shared.instance_pool.for_plugin(config.id.clone());
        Self {
            disk,
            config,
            code: code.renew(),
            log,
            logged_warnings: warned,
            sender,
            pool,
            recent_calls: Arc::clone(recent_calls),
            shared: Arc::clone(shared),
        }
    }

    /// Calls an instance for a client.
    ///
    /// # Errors
    /// A limit was exceeded, the guest trapped, or the call was cancelled.
    pub(crate) async fn call<C: GuestCall>(
        &self,
        context: Arc<CallContext>,
        call: C,
    ) -> Result<C::Output, CallError> {
        let reuse_for = match self.config.instances {
            InstancePolicy::Reused if instance_pool::can_reuse(&context.caller.principal()) => {
                Some(context.caller.clone())
            }
            InstancePolicy::Reused | InstancePolicy::Fresh => None,
        };
        let result = self.run(context, CallOrigin::Client { reuse_for }, call).await;
        result.map_err(|error| match error {
            SandboxError::Store(error) => self.report_store_error(&error),
            SandboxError::Load(error) => {
                tracing::error!(plugin = %self.config.id, "can't load the plugin's code: {error}");
                CallError::Internal("the plugin's code can't be loaded; see the gateway's log".to_owned())
            }
            SandboxError::Call { error, wanted: _ } => error,
        })
    }

    /// Calls a new instance for the gateway itself.
    ///
    /// # Errors
    /// A limit was exceeded, the guest trapped, or a granted directory can't be opened.
    pub(crate) async fn call_for_gateway<C: GuestCall>(&self, call: C) -> Result<C::Output, SandboxError> {
        let context = Arc::new(CallContext::internal(Caller::Local));
        self.run(context, CallOrigin::Gateway, call).await
    }

    async fn run<C: GuestCall>(
        &self,
        context: Arc<CallContext>,
        origin: CallOrigin,
        call: C,
    ) -> Result<C::Output, SandboxError> {
        let limits = &self.config.limits;
        let (timeout, inbox, reuse_for, keep) = match &origin {
            CallOrigin::Client { reuse_for } => {
                (limits.timeout, self.shared.inbox.clone(), reuse_for.clone(), KeepMapped::WhileLoaded)
            }
            CallOrigin::Gateway => (limits.describe_timeout, None, None, KeepMapped::WhileUsed),
        };
        let cancel = context.cancel.clone();
        if cancel.is_cancelled() {
            return Err(CallError::Cancelled.into());
        }
        if self.recent_calls.were_long() {
            let owner = WorkOwner { plugin: Some(&self.config.id), caller: Some(&context.caller) };
            move_to_background(owner).await;
        }
        let Some(code) = self.code.code() else { return Err(CallError::Replaced.into()) };
        let deadline = context.arrived_at + timeout;
        let mapped = match code.kept() {
            Some(mapped) => mapped,
            None => tokio::select! {
                biased;
                mapped = code.mapped(keep) => mapped?,
                () = tokio::time::sleep_until(deadline) => return Err(CallError::TimeoutBeforeStart(timeout).into()),
                () = cancel.cancelled() => return Err(CallError::Cancelled.into()),
            },
        };
        let _running = self.shared.ticker.running();
        let meter = CpuMeter::new(limits.cpu_time, Arc::clone(&context.cpu_time));
        let changes = CallChanges::new(self.config.id.clone(), Arc::clone(&self.log), inbox);
        let deps = self.store_deps(changes, &code, &context.caller.principal());
        let mut lease = None;
        let end = {
            let work = pin!(async {
                let new = self.lease(&code, reuse_for, context, deadline.into_std(), &meter, deps);
                let lease = lease.insert(new.await?);
                let InstanceLease { store, instance, reuse: _ } = lease;
                let instance = match instance {
                    Some(pooled) => pooled,
                    none => {
                        let new = mapped.pre.instantiate_async(&mut *store).await?;
                        store.data_mut().instantiated();
                        none.insert(new)
                    }
                };
                Ok(call.invoke(&mapped.exports, store, instance).await?)
            });
            // Only the host's own functions can panic. A panic ends only this call.
            let work = pin!(
                AssertUnwindSafe(MeteredFuture { meter: Arc::clone(&meter), inner: work }).catch_unwind()
            );
            // A guest that doesn't check for cancellation would only continue as before.
            let grace = if mapped.watches_cancel { limits.cancel_grace } else { Duration::ZERO };
            supervise(work, deadline, &cancel, grace, self.code.aborted()).await
        };
        self.finish(end, lease, timeout, &origin, &cancel)
    }

    /// Turns the end of a call into its result, and keeps the instance if it can be reused.
    fn finish<T: FailureText>(
        &self,
        end: CallEnd<T>,
        lease: Option<InstanceLease>,
        timeout: Duration,
        origin: &CallOrigin,
        cancel: &CancellationToken,
    ) -> Result<T, SandboxError> {
        let error = match (end, lease) {
            (CallEnd::Returned(Ok(mut answer)), lease) => {
                if let Some(lease) = &lease {
                    report_missing_grants(lease.store.data(), &mut answer);
                }
                if let Some(lease) = lease.filter(|_| !cancel.is_cancelled()) {
                    self.keep_idle(lease);
                }
                return Ok(answer);
            }
            (CallEnd::Returned(Err(RunError::Store(error))), _) => return Err(error.into()),
            (CallEnd::Returned(Err(RunError::Guest(error))), Some(lease)) => {
                return Err(self.guest_error(&error, lease, origin));
            }
            (CallEnd::Returned(Err(RunError::Guest(error))), None) => {
                CallError::Internal(format!("{error:#}"))
            }
            (CallEnd::Panicked, _) => CallError::Internal("a host function panicked".to_owned()),
            (CallEnd::TimedOut, Some(_)) => CallError::Timeout(timeout),
            // A wait for memory has the same deadline and ends first, so only granted directories are left.
            (CallEnd::TimedOut, None) => match self.shared.openings.timeout_error(&self.config) {
                Some(error) => return Err(StoreError::Grant(error).into()),
                None => CallError::Timeout(timeout),
            },
            (CallEnd::Cancelled, _) => CallError::Cancelled,
            (CallEnd::Replaced, _) => CallError::Replaced,
        };
        Err(error.into())
    }

    /// The reason that the guest failed.
    fn guest_error(
        &self,
        error: &wasmtime::Error,
        mut lease: InstanceLease,
        origin: &CallOrigin,
    ) -> SandboxError {
        let state = lease.store.data();
        let stderr_tail = LazyCell::new(|| state.output().stderr_tail());
        let error = classify(error, state, &self.config.limits, || stderr_tail.as_ref());
        if matches!(error, CallError::Trap(_)) {
            // Python reads source files to print a traceback, so these lookups aren't the call's own.
            if !stderr_tail.as_ref().is_some_and(StderrTail::is_python_traceback) {
                state.files_state().report_ungranted_lookup(LookupOutcome::Failed);
            }
        }
        if !matches!(error, CallError::Memory(_) | CallError::TableElements(_)) {
            return SandboxError::Call { error, wanted: None };
        }
        let wanted = state.memory_limiter().wanted();
        match origin {
            // The load error contains the limit and a sufficient value, so it isn't also logged here.
            CallOrigin::Gateway => lease.store.data_mut().memory_limiter_mut().forget_refusals(),
            CallOrigin::Client { .. } => {}
        }
        SandboxError::Call { error, wanted }
    }

    /// The shared parts that a call uses.
    fn store_deps(&self, changes: CallChanges, code: &LoadedCode, caller: &Principal) -> StoreDeps {
        StoreDeps {
            log: Arc::clone(&self.log),
            changes,
            store_access: self.shared.stores.of(&self.config, caller),
            logged_warnings: Arc::clone(&self.logged_warnings),
            sender: Arc::clone(&self.sender),
            disk: self.disk.clone(),
            peak_memory: Arc::clone(&code.peak),
            memory: None,
            open_files: self.shared.open_files,
        }
    }

    /// An idle instance that the call can reuse, or otherwise a store for a new one. `reuse_for` is the caller that
    /// the instance can be reused for afterwards; `None` means no reuse.
    async fn lease(
        &self,
        code: &LoadedCode,
        reuse_for: Option<Caller>,
        context: Arc<CallContext>,
        deadline: std::time::Instant,
        meter: &Arc<CpuMeter>,
        mut deps: StoreDeps,
    ) -> Result<InstanceLease, StoreError> {
        let opened = self.shared.openings.open(&self.config).await?;
        self.logged_warnings.log_directories(&self.config.id, &opened.unavailable, DirectoryEffect::LeftOut);
        let pooled = reuse_for.as_ref().and_then(|caller| self.pool.take(&caller.principal()));
        if let Some(PooledInstance { mut store, instance, reuse }) =
            pooled.filter(|pooled| pooled.reuse.directories == opened.identities)
        {
            store.data_mut().attach(opened, context, deadline, meter, deps);
            store.set_epoch_deadline(1);
            return Ok(InstanceLease { store, instance: Some(instance), reuse: Some(reuse) });
        }
        let memory = self.shared.guest_memory.admit(&context.caller, &code.typical, deadline.into()).await;
        deps.memory = Some(memory.ok_or(StoreError::Memory)?);
        self.shared.instance_pool.make_room(|| self.shared.ticker.count());
        let directories = opened.identities.clone();
        let store = store::new_store(code.engine(), &self.config, opened, context, deadline, meter, deps)?;
        let clearings = self.shared.instance_pool.clearings();
        let reuse = reuse_for.map(|caller| ReuseState { caller, calls_served: 0, directories, clearings });
        Ok(InstanceLease { store, instance: None, reuse })
    }

    /// Keeps the instance of a successful call idle for the next one, if it can be reused.
    fn keep_idle(&self, lease: InstanceLease) {
        let InstanceLease { mut store, instance: Some(instance), reuse: Some(mut reuse) } = lease else {
            return;
        };
        let limits = &self.config.limits;
        reuse.calls_served += 1;
        if reuse.calls_served >= limits.reuse_calls || !store.data_mut().is_reusable() {
            return;
        }
        store.data_mut().detach();
        let caller = reuse.caller.clone();
        if self.shared.guest_memory.is_awaited(&caller) {
            return; // a call waits for this instance's memory
        }
        let policy = IdlePolicy {
            expires_at: Instant::now() + limits.reuse_idle,
            clearings: reuse.clearings,
            max_idle: limits.concurrency,
        };
        let pooled = PooledInstance { store, instance, reuse };
        self.pool.put(caller.principal(), pooled, policy, || self.shared.ticker.count());
        self.shared.guest_memory.evict_for_waiting(&caller); // calls that began to wait meanwhile
    }

    /// Logs the reason that there is no store. The caller's error doesn't contain paths of this machine.
    fn report_store_error(&self, error: &StoreError) -> CallError {
        let id = &self.config.id;
        let grant = match error {
            StoreError::Grant(grant) => grant,
            StoreError::Memory => return CallError::Busy(BusyReason::Memory),
            StoreError::Engine(_) => {
                tracing::error!(plugin = %id, "{error}");
                return CallError::Internal("no instance slot is free".to_owned());
            }
        };
        self.logged_warnings.log_directories(id, [grant], DirectoryEffect::CallsFail);
        CallError::Directory(match grant {
            DirectoryError::Failed { guest, .. } => {
                format!("the granted directory `{guest}` can't be opened")
            }
            DirectoryError::NotResponding { guest, .. } => {
                format!("the granted directory `{guest}` doesn't respond")
            }
            DirectoryError::NotStarted => grant.to_string(),
        })
    }
}

/// Reports lookups without a grant, and appends the note about a missing grant to a failed answer, unless the answer
/// already names the same access.
fn report_missing_grants<T: FailureText>(state: &StoreState, answer: &mut T) {
    if !answer.is_failure() {
        state.files_state().report_ungranted_lookup(LookupOutcome::Succeeded);
        return;
    }
    state.files_state().report_ungranted_lookup(LookupOutcome::Failed);
    if let Some(note) = state.audit().caller_note()
        && !note.wanted.as_ref().is_some_and(|wanted| answer.mentions(wanted))
    {
        answer.append_note(&note.text);
    }
}

/// Runs the call until it returns, times out, is cancelled, or is aborted with its code.
async fn supervise<T>(
    mut work: Pin<&mut (impl Future<Output = std::thread::Result<Result<T, RunError>>> + Send)>,
    deadline: Instant,
    cancel: &CancellationToken,
    grace: Duration,
    aborted: &CancellationToken,
) -> CallEnd<T> {
    tokio::select! {
        biased;
        result = &mut work => return result.map_or(CallEnd::Panicked, CallEnd::Returned),
        () = tokio::time::sleep_until(deadline) => return CallEnd::TimedOut,
        () = cancel.cancelled() => {}
        () = aborted.cancelled() => return CallEnd::Replaced,
    }
    if !grace.is_zero() {
        // The call's answer is no longer read, but the call can clean up.
        let _ = tokio::time::timeout_at(deadline.min(Instant::now() + grace), work).await;
    }
    CallEnd::Cancelled
}
