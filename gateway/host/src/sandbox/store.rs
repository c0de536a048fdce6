//! The data of a wasmtime store: one part for each module of `wasi`, and the limits on memory and tables.
//!
//! A store is created for each call and dropped with it, unless the plugin's instances are reused. In that case, the
//! next call takes over the store, with everything of the earlier call replaced. At the end of a call, its remaining
//! output is logged, and the changes that it reported are passed on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use moongate_config::{Limits, PluginConfig};
use moongate_model::call::CallContext;
use moongate_model::caller::Caller;
use moongate_model::trace_context::TraceId;
use moongate_system::background::{self, WorkOwner};
use wasmtime::component::ResourceTable;
use wasmtime::{Engine, ResourceLimiter, Store, UpdateDeadline};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtxView, WasiHttpView};

use crate::change_inbox::CallChanges;
use crate::diagnostics::output::CapturedOutput;
use crate::diagnostics::plugin_log::PluginLog;
use crate::engine;
use crate::sandbox::call::PooledInstance;
use crate::sandbox::cpu_meter::{CpuMeter, MAX_SERVING_TIME};
use crate::sandbox::guest_memory::InstanceMemory;
use crate::sandbox::open_files;
use crate::sandbox::quota::{ByteQuota, CountQuota};
use crate::wasi::cli::{CliState, CliView};
use crate::wasi::contract::{CancellationView, ContractState};
use crate::wasi::files::disk_usage::DiskQuota;
use crate::wasi::files::{FilesCtxView, FilesState, FilesView};
use crate::wasi::grant_audit::{GrantAudit, LoggedWarnings};
use crate::wasi::http::linker::{HttpParts, HttpView};
use crate::wasi::http::{HttpState, RequestSender};
use crate::wasi::keyvalue::StoreAccess;
use crate::wasi::keyvalue::host::{KeyValueState, KeyValueView};
use crate::wasi::preopens::{DirectoryError, OpenedDirectories, new_context};

/// The host's side of one call.
pub(crate) struct StoreState {
    wasi: WasiCtx,
    table: ResourceTable,
    limiter: MemoryLimiter,
    /// True between calls: the last one has ended, with all that is counted and reported at its end.
    is_idle: bool,
    cpu_meter: Arc<CpuMeter>,
    config: Arc<PluginConfig>,
    log: Arc<PluginLog>,
    audit: GrantAudit,
    contract: ContractState,
    cli: CliState,
    files: FilesState,
    http: HttpState,
    key_value: KeyValueState,
}

/// The context of an idle instance.
static IDLE_CONTEXT: LazyLock<Arc<CallContext>> =
    LazyLock::new(|| Arc::new(CallContext::internal(Caller::LOOPBACK)));

impl WasiView for StoreState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl CliView for StoreState {
    fn cli_state(&mut self) -> &mut CliState {
        &mut self.cli
    }
}

impl FilesView for StoreState {
    fn files(&mut self) -> FilesCtxView<'_> {
        FilesCtxView { ctx: &mut self.wasi, table: &mut self.table, state: &mut self.files }
    }
}

impl WasiHttpView for StoreState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        self.http.view(&mut self.table)
    }
}

impl HttpView for StoreState {
    fn http_parts(&mut self) -> HttpParts<'_> {
        HttpParts { state: &mut self.http, table: &mut self.table }
    }
}

impl Drop for StoreState {
    fn drop(&mut self) {
        if !self.is_idle {
            self.finish();
        }
    }
}

/// The reason that there is no store.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error(transparent)]
    Grant(#[from] DirectoryError),
    #[error("no instance slot is free: {0:#}")]
    Engine(wasmtime::Error),
    #[error("there is too little memory (`[gateway] memory`)")]
    Memory,
}

/// The parts of the plugin and the host that a store refers to.
pub(crate) struct StoreDeps {
    pub(crate) log: Arc<PluginLog>,
    pub(crate) changes: CallChanges,
    pub(crate) store_access: StoreAccess,
    pub(crate) logged_warnings: Arc<LoggedWarnings>,
    pub(crate) sender: Arc<RequestSender>,
    pub(crate) disk: DiskQuota,
    /// The maximum memory that any call has used, in bytes.
    pub(crate) peak_memory: Arc<AtomicU64>,
    /// The memory of a new instance. `None` if the call uses an idle one, which has its own.
    pub(crate) memory: Option<InstanceMemory<PooledInstance>>,
    /// The maximum number of files that a call can have open, including the granted directories.
    pub(crate) open_files: u32,
}

/// Creates a store with every limit set.
///
/// # Errors
/// No instance slot is free.
pub(crate) fn new_store(
    engine: &Engine,
    config: &Arc<PluginConfig>,
    opened: OpenedDirectories,
    context: Arc<CallContext>,
    deadline: Instant,
    cpu_meter: &Arc<CpuMeter>,
    deps: StoreDeps,
) -> Result<Store<StoreState>, StoreError> {
    let limits = &config.limits;
    let StoreDeps {
        log,
        changes,
        store_access,
        logged_warnings,
        sender,
        disk,
        peak_memory,
        memory,
        open_files,
    } = deps;
    let output = CapturedOutput::new(config.id.clone(), limits.output.as_u64(), Arc::clone(&log));
    let mut table = ResourceTable::new();
    table.set_max_capacity(limits.handles as usize);
    let run = context.trace.and_then(|trace| trace.span);
    let audit = GrantAudit::new(config.id.clone(), context.grant_report.clone(), logged_warnings)
        .with_grants_of(config)
        .without_directories(opened.unavailable_paths());
    let mut files =
        FilesState::new(Arc::clone(config), open_files_for_guest(open_files, config), disk, audit.clone());
    files.set_preopens(opened.preopens);
    let state = StoreState {
        wasi: new_context(&config.allow, &output),
        table,
        limiter: MemoryLimiter::new(limits, peak_memory, memory),
        is_idle: false,
        cpu_meter: Arc::clone(cpu_meter),
        config: Arc::clone(config),
        contract: ContractState::new(
            Arc::clone(config),
            Arc::clone(&log),
            context,
            deadline,
            changes,
            audit.clone(),
        ),
        cli: CliState::new(output, audit.clone()),
        files,
        http: HttpState::new(sender, audit.clone(), run),
        key_value: KeyValueState::new(store_access, Arc::clone(config), audit.clone()),
        audit,
        log,
    };
    let mut store = Store::try_new(engine, state).map_err(StoreError::Engine)?;
    store.limiter(|state| &mut state.limiter);
    store.set_hostcall_fuel(usize::try_from(limits.transfer.as_u64()).unwrap_or(usize::MAX));
    store.set_max_component_handles(limits.handles as usize);
    store.epoch_deadline_callback(|store| {
        let state = store.data();
        let used = state.cpu_meter.used();
        if used > state.cpu_meter.limit() {
            return Ok(UpdateDeadline::Interrupt);
        }
        if used > MAX_SERVING_TIME && background::can_move() {
            let (plugin, caller) = (state.config.id.clone(), state.contract.caller().clone());
            let moved = async move {
                let owner = WorkOwner { plugin: Some(&plugin), caller: Some(&caller) };
                background::move_to_background(owner).await;
            };
            return Ok(UpdateDeadline::YieldCustom(1, Box::pin(moved)));
        }
        // Not the plain yield, which wakes the task at once: tokio would then check its timers and sockets only at
        // every 61st turn.
        Ok(UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now())))
    });
    store.set_epoch_deadline(1);
    Ok(store)
}

/// The number of open files left for the guest, after the granted directories. A few are always left, because the
/// operator decides on the number of directories.
fn open_files_for_guest(open_files: u32, config: &PluginConfig) -> u32 {
    let granted = u32::try_from(config.allow.dirs.len()).unwrap_or(u32::MAX);
    open_files.saturating_sub(granted).max(open_files::MIN_PER_CALL)
}

impl StoreState {
    pub(crate) fn config(&self) -> &PluginConfig {
        &self.config
    }

    pub(crate) fn log(&self) -> &Arc<PluginLog> {
        &self.log
    }

    pub(crate) fn audit(&self) -> &GrantAudit {
        &self.audit
    }

    pub(crate) fn output(&self) -> &CapturedOutput {
        self.cli.output()
    }

    pub(crate) fn files_state(&self) -> &FilesState {
        &self.files
    }

    pub(crate) fn memory_limiter(&self) -> &MemoryLimiter {
        &self.limiter
    }

    pub(crate) fn memory_limiter_mut(&mut self) -> &mut MemoryLimiter {
        &mut self.limiter
    }

    /// The id of the call's trace, for logs.
    pub(crate) fn trace_id(&self) -> Option<TraceId> {
        self.contract.trace_id()
    }

    pub(crate) fn contract(&mut self) -> &mut ContractState {
        &mut self.contract
    }

    pub(crate) fn cancellation(&mut self) -> CancellationView<'_> {
        CancellationView { state: &mut self.contract, table: &mut self.table }
    }

    pub(crate) fn key_value(&mut self) -> KeyValueView<'_> {
        KeyValueView { state: &mut self.key_value, table: &mut self.table }
    }

    /// Call this once the instance exists.
    pub(crate) fn instantiated(&mut self) {
        self.files.instantiated();
    }

    /// Logs denied growth and remaining output at the end of a call.
    fn finish(&mut self) {
        match self.limiter.refused {
            Some(RefusedGrowth::Memory) => self.audit.report_limit("memory", "was denied more memory"),
            Some(RefusedGrowth::Tables) => {
                self.audit.report_limit("table_elements", "was denied larger tables")
            }
            Some(RefusedGrowth::Gateway) => self.audit.report_derived_limit(
                "[gateway] memory",
                "was denied more memory, because all running calls together use up their part of `[gateway] memory`",
                "to allow more, raise it, or lower `memory` or `concurrency` in the limits of plugins",
            ),
            None => {}
        }
        self.limiter.end_call();
        self.cli.output().finish();
        self.contract.finish();
    }

    /// True if another call from the same principal can use this instance. False if the last call left something behind
    /// that would count against the next one's limits.
    pub(crate) fn is_reusable(&mut self) -> bool {
        let Some(streams) = self.cli.handles(&self.table) else { return false };
        let expected = streams + self.files.preopen_handles();
        let handles = self.table.iter_mut().count();
        if handles > expected {
            let leaked = handles - expected;
            tracing::debug!(plugin = %self.config.id, "instance isn't reused: the call left {leaked} handles open");
        }
        handles == expected && self.limiter.memory.used() <= self.config.limits.max_reusable_memory()
    }

    /// Detaches the instance from its call. Changes that the call reported are passed on now, not with the next call.
    pub(crate) fn detach(&mut self) {
        self.finish();
        self.is_idle = true;
        let audit = self.audit.without_call();
        let changes = CallChanges::new(self.config.id.clone(), Arc::clone(&self.log), None);
        self.contract = ContractState::new(
            Arc::clone(&self.config),
            Arc::clone(&self.log),
            Arc::clone(&IDLE_CONTEXT),
            Instant::now(),
            changes,
            audit.clone(),
        );
        self.cli.renew(audit.clone());
        self.files.renew(self.files.max_open(), audit.clone());
        self.http = self.http.without_call();
        self.key_value = self.key_value.without_call(audit.clone());
        self.audit = audit;
    }

    /// Attaches another call after [`Self::detach`]. Every limit is reset, except for memory and tables, which still
    /// exist.
    pub(crate) fn attach(
        &mut self,
        opened: OpenedDirectories,
        context: Arc<CallContext>,
        deadline: Instant,
        cpu_meter: &Arc<CpuMeter>,
        deps: StoreDeps,
    ) {
        let StoreDeps {
            log: _,
            changes,
            store_access,
            logged_warnings,
            sender,
            disk: _,
            peak_memory: _,
            memory: _,
            open_files,
        } = deps;
        let run = context.trace.and_then(|trace| trace.span);
        let audit = GrantAudit::new(self.config.id.clone(), context.grant_report.clone(), logged_warnings)
            .with_grants_of(&self.config)
            .without_directories(opened.unavailable_paths());
        let config = &self.config;
        self.cli.output().reset(config.limits.output.as_u64());
        let Self {
            wasi,
            table: _,
            limiter,
            is_idle,
            cpu_meter: meter,
            config: _,
            log,
            audit: own_audit,
            contract,
            cli,
            files,
            http,
            key_value,
        } = self;
        *wasi = new_context(&config.allow, cli.output());
        limiter.forget_refusals();
        *is_idle = false;
        *meter = Arc::clone(cpu_meter);
        *contract = ContractState::new(
            Arc::clone(config),
            Arc::clone(log),
            context,
            deadline,
            changes,
            audit.clone(),
        );
        cli.renew(audit.clone());
        files.renew(open_files_for_guest(open_files, config), audit.clone());
        files.set_preopens(opened.preopens);
        *http = HttpState::new(sender, audit.clone(), run);
        *key_value = KeyValueState::new(store_access, Arc::clone(config), audit.clone());
        *own_audit = audit;
    }
}

/// Limits the memory and the tables of a store. A component can have several of each, so their sizes are added up.
pub(crate) struct MemoryLimiter {
    memory: ByteQuota,
    table_elements: CountQuota,
    refused: Option<RefusedGrowth>,
    /// The total amount that the denied growth would have led to.
    wanted: Option<u64>,
    /// The maximum memory that any call has used.
    peak: Arc<AtomicU64>,
    /// The instance's part of the memory of all instances. `None` if that has no limit.
    instance: Option<InstanceMemory<PooledInstance>>,
}

/// The last denied growth. The guest can continue without it; if the guest traps, this is the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefusedGrowth {
    Memory,
    Tables,
    /// All instances together have too much memory.
    Gateway,
}

impl MemoryLimiter {
    pub(crate) fn new(
        limits: &Limits,
        peak: Arc<AtomicU64>,
        instance: Option<InstanceMemory<PooledInstance>>,
    ) -> Self {
        Self {
            memory: ByteQuota::new(limits.memory),
            table_elements: CountQuota::new(limits.table_elements),
            refused: None,
            wanted: None,
            peak,
            instance,
        }
    }

    /// Returns the memory that the call didn't use.
    fn end_call(&mut self) {
        if let Some(instance) = &mut self.instance {
            instance.end_call();
        }
    }

    /// Takes memory for values that the gateway passes to the guest. It doesn't count as the guest's own. False if all
    /// instances together have too much.
    pub(crate) fn take_values(&mut self, bytes: u64) -> bool {
        let is_taken = self.instance.as_mut().is_none_or(|instance| instance.grow(bytes));
        if !is_taken {
            self.refuse_for_gateway();
        }
        is_taken
    }

    /// Returns the memory of values.
    pub(crate) fn return_values(&mut self, bytes: u64) {
        if let Some(instance) = &mut self.instance {
            instance.shrink(bytes);
        }
    }

    fn refuse_for_gateway(&mut self) {
        self.refused = Some(RefusedGrowth::Gateway);
        self.wanted = None; // an earlier refusal's
    }

    /// The total amount of memory, or of table elements, that the last denied growth would have led to.
    pub(crate) fn wanted(&self) -> Option<u64> {
        self.wanted
    }

    pub(crate) fn refused(&self) -> Option<RefusedGrowth> {
        self.refused
    }

    /// Forgets denied growth, so that it isn't logged: it is reported in another way, or the next call starts.
    pub(crate) fn forget_refusals(&mut self) {
        self.refused = None;
        self.wanted = None;
    }
}

impl ResourceLimiter for MemoryLimiter {
    // Growth that fails after it was allowed stays counted. Otherwise, a guest that requests more than its memory's own
    // maximum could lower the sum repeatedly.
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let growth = desired.saturating_sub(current) as u64;
        if !self.memory.take(growth) {
            self.refused = Some(RefusedGrowth::Memory);
            self.wanted = Some(self.memory.used().saturating_add(growth));
            return Ok(false);
        }
        if self.instance.as_mut().is_some_and(|instance| !instance.grow(growth)) {
            self.memory.give_back(growth); // it doesn't grow, so nothing stays counted
            self.refuse_for_gateway();
            return Ok(false);
        }
        self.peak.fetch_max(self.memory.used(), Ordering::Relaxed);
        Ok(true)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let growth = desired.saturating_sub(current) as u64;
        if !self.table_elements.take(growth) {
            self.refused = Some(RefusedGrowth::Tables);
            self.wanted = Some(self.table_elements.used().saturating_add(growth));
            return Ok(false);
        }
        if self.instance.as_mut().is_some_and(|instance| !instance.grow_tables(growth)) {
            self.table_elements.give_back(growth);
            self.refuse_for_gateway();
            return Ok(false);
        }
        Ok(true)
    }

    fn instances(&self) -> usize {
        engine::CORE_INSTANCES as usize
    }

    fn memories(&self) -> usize {
        engine::MAX_MEMORIES as usize
    }

    fn tables(&self) -> usize {
        engine::MAX_TABLES as usize
    }
}

#[cfg(test)]
mod tests;
