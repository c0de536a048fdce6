//! What the host keeps for one call beside the guest: its limits, its context, its output.
//!
//! A store is made for each call and dropped with it, unless the plugin's instances are reused: then the next call
//! takes up the same store, with everything of the earlier call replaced. When a call goes, what the guest printed is
//! shown to the end, and what it said of changes is passed on.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use moongate_core::call::CallContext;
use moongate_core::config::{Limits, PluginConfig};
use moongate_core::names::Principal;
use wasmtime::component::ResourceTable;
use wasmtime::{Engine, ResourceLimiter, Store, UpdateDeadline};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use crate::host::change_inbox::Changes;
use crate::host::diagnostics::output::Output;
use crate::host::engine;
use crate::host::sandbox::cpu_meter::Meter;
use crate::host::sandbox::open_files;
use crate::host::wasi::contract::Reports;
use crate::host::wasi::files::{Homes, Quota};
use crate::host::wasi::grant_audit::{Told, Uses};
use crate::host::wasi::http::{self, Outgoing, Sender};
use crate::host::wasi::keyvalue::types::Memory;
use crate::host::wasi::preopens::{GrantError, Opened};
use crate::host::wasi::stdio;

/// The host's side of one call.
pub(in crate::host) struct State {
    wasi: WasiCtx,
    http: WasiHttpCtx,
    outgoing: Outgoing,
    pub(in crate::host) table: ResourceTable,
    pub(in crate::host) budget: Budget,
    pub(in crate::host) config: Arc<PluginConfig>,
    pub(in crate::host) context: Arc<CallContext>,
    /// When the gateway gives the call up.
    pub(in crate::host) until: Instant,
    pub(in crate::host) reports: Reports,
    pub(in crate::host) changes: Changes,
    pub(in crate::host) memory: Memory,
    pub(in crate::host) uses: Uses,
    /// What the call may still read from files and write to them.
    pub(in crate::host) files: Quota,
    /// Which grant each open file belongs to, and which handles are the granted directories themselves.
    pub(in crate::host) homes: Homes,
    pub(in crate::host) output: Arc<Output>,
    /// The handles of standard streams that it was given; it may have dropped them since.
    pub(in crate::host) standing: BTreeSet<u32>,
    meter: Arc<Meter>,
}

/// Whom an instance serves that waits for its next call.
static NOBODY: LazyLock<Arc<CallContext>> =
    LazyLock::new(|| Arc::new(CallContext::internal(Principal::Anonymous)));

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.outgoing, table: &mut self.table, ctx: &mut self.http }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Why there is no store.
#[derive(Debug, thiserror::Error)]
pub(in crate::host) enum StoreError {
    #[error(transparent)]
    Grant(#[from] GrantError),
    #[error("no room for an instance: {0:#}")]
    Engine(wasmtime::Error),
}

/// What a call has to do with what goes on after it.
pub(in crate::host) struct Reached {
    pub(in crate::host) changes: Changes,
    pub(in crate::host) memory: Memory,
    pub(in crate::host) told: Arc<Told>,
    pub(in crate::host) sender: Arc<Sender>,
    /// The most memory that a call has had, in bytes.
    pub(in crate::host) peak: Arc<AtomicU64>,
    /// How many files it may have open, the granted directories among them.
    pub(in crate::host) open_files: u32,
}

/// A store with every limit set.
///
/// # Errors
/// There is no room for an instance.
pub(in crate::host) fn store(
    engine: &Engine,
    config: &Arc<PluginConfig>,
    opened: Opened,
    context: Arc<CallContext>,
    until: Instant,
    meter: &Arc<Meter>,
    reached: Reached,
) -> Result<Store<State>, StoreError> {
    let limits = &config.limits;
    let Reached { changes, memory, told, sender, peak, open_files } = reached;
    let output = Output::new(config.id.clone(), limits.output.as_u64());
    let mut table = ResourceTable::new();
    table.set_max_capacity(limits.handles as usize);
    let uses = Uses::new(config.id.clone(), context.ledger.clone(), told);
    let state = State {
        http: headers(),
        outgoing: Outgoing::new(sender, uses.clone()),
        wasi: opened.context(&config.allow, &output),
        table,
        budget: Budget::new(limits, peak),
        config: Arc::clone(config),
        files: Quota::new(limits, beside_granted(open_files, config), uses.clone()),
        homes: Homes::default(),
        uses,
        context,
        until,
        reports: Reports::new(limits.log_lines),
        changes,
        memory,
        output,
        standing: BTreeSet::new(),
        meter: Arc::clone(meter),
    };
    let mut store = Store::try_new(engine, state).map_err(StoreError::Engine)?;
    store.limiter(|state| &mut state.budget);
    store.set_hostcall_fuel(usize::try_from(limits.transfer.as_u64()).unwrap_or(usize::MAX));
    store.set_max_component_handles(limits.handles as usize);
    store.epoch_deadline_callback(|store| {
        if store.data().meter.is_over() {
            return Ok(UpdateDeadline::Interrupt);
        }
        // Not the plain yield: that wakes the task at once, and tokio would look at its timers and sockets only at
        // every 61st turn.
        Ok(UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now())))
    });
    store.set_epoch_deadline(1);
    Ok(store)
}

/// How many of a call's open files are left when the granted directories are open: a few at least, because how many of
/// those there are is the operator's word.
fn beside_granted(open_files: u32, config: &PluginConfig) -> u32 {
    let granted = u32::try_from(config.allow.dirs.len()).unwrap_or(u32::MAX);
    open_files.saturating_sub(granted).max(open_files::LEAST)
}

/// How large headers may be.
fn headers() -> WasiHttpCtx {
    let mut http = WasiHttpCtx::new();
    http.set_field_size_limit(http::FIELDS);
    http
}

impl State {
    /// Something of a request or an answer is about to be kept here.
    ///
    /// # Errors
    /// With all that is kept already it is too much.
    pub(in crate::host) fn holds(&mut self, bytes: usize) -> wasmtime::Result<()> {
        self.outgoing.holds(&mut self.table, bytes)
    }

    /// So much that followed the bodies of answers was fetched.
    pub(in crate::host) fn fetched_trailers(&self, bytes: usize) {
        self.outgoing.fetched_trailers(bytes);
    }

    /// Says what there is to say at the end of a call.
    fn finish(&mut self) {
        match self.budget.refused {
            Some(Refused::Memory) => self.uses.exceeded("memory", "was refused more memory"),
            Some(Refused::Tables) => self.uses.exceeded("table_elements", "was refused larger tables"),
            None => {}
        }
        self.output.finish();
        self.reports.finish(&self.config.id);
    }

    /// May another call of the same caller come to this instance? Not where the last one left something behind that
    /// the next one would have to pay for.
    pub(in crate::host) fn is_reusable(&mut self) -> bool {
        let Some(standing) = stdio::count(self) else { return false };
        let held = self.table.iter_mut().count();
        if held > standing {
            tracing::debug!(plugin = %self.config.id, "its instance isn't used again: {} handles are left", held - standing);
        }
        held == standing && self.budget.memory <= self.config.limits.reusable_memory()
    }

    /// Lets go of the call that it served. What that one said is passed on now, not when the next one comes.
    pub(in crate::host) fn rest(&mut self) {
        self.finish();
        self.context = Arc::clone(&NOBODY);
        self.changes = Changes::new(self.config.id.clone(), None);
        self.uses = self.uses.of_nobody();
        self.outgoing.rest();
        self.files = self.files.again(&self.config.limits, self.uses.clone());
    }

    /// Takes up another call after [`Self::rest`]: every limit begins anew, but for memory and tables, which are still
    /// there.
    pub(in crate::host) fn take_up(
        &mut self,
        opened: Opened,
        context: Arc<CallContext>,
        until: Instant,
        meter: &Arc<Meter>,
        reached: Reached,
    ) {
        let Reached { changes, memory, told, sender, peak: _, open_files } = reached;
        let uses = Uses::new(self.config.id.clone(), context.ledger.clone(), told);
        let limits = &self.config.limits;
        self.output.renew(limits.output.as_u64());
        // Complete, so that whoever adds a field says here what the next call finds in it.
        *self = Self {
            wasi: opened.context(&self.config.allow, &self.output),
            http: headers(),
            outgoing: Outgoing::new(sender, uses.clone()),
            table: std::mem::take(&mut self.table),
            budget: self.budget.again(),
            config: Arc::clone(&self.config),
            files: Quota::new(limits, beside_granted(open_files, &self.config), uses.clone()),
            homes: std::mem::take(&mut self.homes).again(),
            uses,
            context,
            until,
            reports: Reports::new(limits.log_lines),
            changes,
            memory,
            output: Arc::clone(&self.output),
            standing: std::mem::take(&mut self.standing),
            meter: Arc::clone(meter),
        };
    }
}

/// Memory and tables, summed over the whole store: a component may have several of each.
#[derive(Debug)]
pub(in crate::host) struct Budget {
    memory: u64,
    most_memory: u64,
    elements: u64,
    most_elements: u64,
    refused: Option<Refused>,
    /// How much there would have been with what was refused.
    wanted: Option<u64>,
    /// The most memory that any call has had.
    peak: Arc<AtomicU64>,
}

/// What the guest was refused last. It may cope; when it traps, this is why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::host) enum Refused {
    Memory,
    Tables,
}

impl Budget {
    pub(in crate::host) fn new(limits: &Limits, peak: Arc<AtomicU64>) -> Self {
        Self {
            memory: 0,
            most_memory: limits.memory.as_u64(),
            elements: 0,
            most_elements: u64::from(limits.table_elements),
            refused: None,
            wanted: None,
            peak,
        }
    }

    /// How much memory, or how many elements of tables, there would have been with what was refused last.
    pub(in crate::host) fn wanted(&self) -> Option<u64> {
        self.wanted
    }

    pub(in crate::host) fn refused(&self) -> Option<Refused> {
        self.refused
    }

    /// Whoever reads why the call failed reads that it was refused something: there is no more to say of it.
    pub(in crate::host) fn is_told(&mut self) {
        self.refused = None;
    }

    /// The same memory, of which nothing was refused yet.
    fn again(&self) -> Self {
        let Self { memory, most_memory, elements, most_elements, refused: _, wanted: _, peak } = self;
        Self {
            memory: *memory,
            most_memory: *most_memory,
            elements: *elements,
            most_elements: *most_elements,
            refused: None,
            wanted: None,
            peak: Arc::clone(peak),
        }
    }
}

impl ResourceLimiter for Budget {
    // Growth that fails after it was allowed stays counted: taking it back would let a guest that asks for more than
    // its memory's own maximum lower the sum again and again.
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let sum = self.memory.saturating_add(desired.saturating_sub(current) as u64);
        if sum > self.most_memory {
            (self.refused, self.wanted) = (Some(Refused::Memory), Some(sum));
            return Ok(false);
        }
        self.memory = sum;
        self.peak.fetch_max(sum, Ordering::Relaxed);
        Ok(true)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let sum = self.elements.saturating_add(desired.saturating_sub(current) as u64);
        if sum > self.most_elements {
            (self.refused, self.wanted) = (Some(Refused::Tables), Some(sum));
            return Ok(false);
        }
        self.elements = sum;
        Ok(true)
    }

    fn instances(&self) -> usize {
        engine::CORE_INSTANCES as usize
    }

    fn memories(&self) -> usize {
        engine::MEMORIES as usize
    }

    fn tables(&self) -> usize {
        engine::TABLES as usize
    }
}

#[cfg(test)]
mod tests;
