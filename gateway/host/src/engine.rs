//! The process's engine, and the thread that preempts guests.
//!
//! Instances come from a pool whose slots are reserved at startup, so that a call maps no memory. Guest code is
//! compiled with checks of the engine's epoch. The [`Ticker`] advances the epoch while calls run; each running call
//! then yields to the others, and its CPU time is compared with its limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use wasmtime::{Config, Enabled, Engine, PoolingAllocationConfig, WasmBacktraceDetails};

/// The time that a guest runs before it yields. Timers can be late by one or two of these intervals.
const EPOCH_TICK: Duration = Duration::from_millis(2);

/// The number of ticks without a call after which the ticker sleeps. Consecutive calls don't have to wake it.
const IDLE_TICKS: u32 = 50;

/// The maximum number of plugins that describe themselves at once, and of those that do so before a call.
pub(super) const MAX_CONCURRENT_DESCRIPTIONS: u32 = 4;

/// Slots in addition to the limit on concurrent calls: for describing plugins, and for stores that are being dropped.
const SPARE_SLOTS: u32 = 2 * MAX_CONCURRENT_DESCRIPTIONS + 2;

/// The maximum number of core instances in one component. A Python interpreter with its libraries has about twenty.
pub(super) const CORE_INSTANCES: u32 = 64;
/// The maximum number of memories in one component. Nearly all components have one.
pub(super) const MAX_MEMORIES: u32 = 4;
/// The maximum number of tables in one component. Components built with `wit-component` have two.
pub(super) const MAX_TABLES: u32 = 32;
/// The maximum number of elements in one table. JavaScript and Python need tens of thousands.
pub(super) const TABLE_ELEMENTS: u32 = 100_000;
/// The size of one instance's metadata. JavaScript and Python need several megabytes.
const INSTANCE_METADATA_BYTES: usize = 10 << 20;

/// The size of a page of memory.
const PAGE: u64 = 4 << 10;
/// The most that an unused slot keeps of its memory, in bytes.
const FULL_MEMORY: u64 = 512 << 10;
/// The most that an unused slot keeps of its tables, in bytes.
const FULL_TABLE: u64 = 64 << 10;
/// The most that an unused slot keeps of its stack, in bytes: as much as a guest can touch, with some frames of the host.
const FULL_STACK: u64 = 576 << 10;

/// The pages that slots of the pool keep after a call, so that the next one is faster. Each size is in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeptMemory {
    slots: u64,
    memory: u64,
    table: u64,
    stack: u64,
}

/// The engine for this many concurrent calls.
///
/// If the address space for the pool isn't available (because of a limit or strict overcommit), instances are allocated
/// one by one, which is slower.
pub(super) fn engine(concurrency: u32, kept: KeptMemory) -> wasmtime::Result<Engine> {
    let mut config = config();
    if kept.stack < FULL_STACK {
        config.async_stack_zeroing(true);
    }
    let pooled = Engine::new(config.allocation_strategy(pool(concurrency, kept)));
    pooled.or_else(|error| {
        tracing::warn!(
            error = format!("{error:#}"),
            "can't reserve address space for a pool of {concurrency} instances; calls are slower without it"
        );
        Engine::new(&self::config())
    })
}

/// An engine that only compiles, so that it reserves no address space. With `uses_all_cores`, it compiles the functions of
/// a component in parallel.
pub(super) fn compile_only(uses_all_cores: bool) -> wasmtime::Result<Engine> {
    Engine::new(config().parallel_compilation(uses_all_cores))
}

fn config() -> Config {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .concurrency_support(false) // the contract has no async functions; support for them costs each call 10 %
        .wasm_memory64(false) // needs a bounds check for each access
        .wasm_gc(false)
        .wasm_exceptions(false)
        .wasm_function_references(false)
        .gc_support(false)
        .memory_init_cow(true)
        .max_wasm_stack(512 << 10)
        .async_stack_size(2 << 20)
        .parallel_compilation(false) // leave cores for calls while a plugin is compiled
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .native_unwind_info(false)
        .generate_address_map(false);
    config
}

impl KeptMemory {
    /// The pages that unused slots keep: an eighth of `guest_memory` at most.
    pub(super) fn new(guest_memory: u64, concurrency: u32) -> Self {
        let slots = u64::from(concurrency.saturating_add(SPARE_SLOTS));
        let each = guest_memory / 8 / slots;
        if each >= FULL_MEMORY + FULL_TABLE + FULL_STACK {
            return Self { slots, memory: FULL_MEMORY, table: FULL_TABLE, stack: FULL_STACK };
        }
        let pages = |bytes: u64| bytes / PAGE * PAGE;
        Self { slots, memory: pages(each / 2), table: pages(each / 8), stack: pages(each / 4) }
    }

    /// The memory of all unused slots.
    pub(super) fn total(self) -> u64 {
        self.slots * (self.memory + self.table + self.stack)
    }
}

fn pool(concurrency: u32, kept: KeptMemory) -> PoolingAllocationConfig {
    let slots = concurrency.saturating_add(SPARE_SLOTS);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(slots)
        .total_stacks(slots)
        // Enough for all instances: with fewer, one plugin with many could use them all, and other plugins' calls would be
        // rejected. They cost only address space: 4 GiB for each memory.
        .total_memories(slots.saturating_mul(MAX_MEMORIES))
        .total_tables(slots.saturating_mul(MAX_TABLES))
        .total_core_instances(slots.saturating_mul(CORE_INSTANCES))
        .max_core_instances_per_component(CORE_INSTANCES)
        .max_memories_per_component(MAX_MEMORIES)
        .max_tables_per_component(MAX_TABLES)
        .max_memories_per_module(MAX_MEMORIES)
        .max_tables_per_module(MAX_TABLES)
        .table_elements(TABLE_ELEMENTS as usize)
        .max_component_instance_size(INSTANCE_METADATA_BYTES)
        .max_core_instance_size(INSTANCE_METADATA_BYTES)
        .max_unused_warm_slots(64);
    if has_swap() {
        // A page that was swapped out while dirty would keep its contents for the next instance.
        pool.pagemap_scan(Enabled::No);
    } else {
        // Keeping pages is faster only if dirty pages can be recognised.
        let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        pool.pagemap_scan(Enabled::Auto)
            .linear_memory_keep_resident(bytes(kept.memory))
            .table_keep_resident(bytes(kept.table));
    }
    if kept.stack < FULL_STACK {
        pool.async_stack_keep_resident(usize::try_from(kept.stack).unwrap_or(usize::MAX));
    }
    pool
}

/// True if memory can be swapped out, or if that is unknown.
fn has_swap() -> bool {
    std::fs::read_to_string("/proc/swaps").map_or(true, |swaps| swaps.lines().count() > 1)
}

/// Advances the engine's epoch while calls run, and sleeps otherwise.
#[derive(Debug)]
pub(super) struct Ticker {
    shared: Arc<TickerState>,
    thread: Thread,
}

#[derive(Debug, Default)]
struct TickerState {
    running_calls: AtomicU32,
    asleep: AtomicBool,
    stopped: AtomicBool,
}

/// Counts a call as running until it is dropped.
#[derive(Debug)]
pub(super) struct RunningCall<'a>(&'a TickerState);

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        self.0.running_calls.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Ticker {
    /// Starts the thread.
    pub(super) fn start(engine: &Engine) -> std::io::Result<Self> {
        let shared = Arc::new(TickerState::default());
        let engine = engine.weak();
        let state = Arc::clone(&shared);
        let thread = thread::Builder::new().name("moongate-ticker".into()).spawn(move || {
            while !state.stopped.load(Ordering::SeqCst) {
                state.sleep_unless_needed();
                thread::sleep(EPOCH_TICK);
                let Some(engine) = engine.upgrade() else { return };
                engine.increment_epoch();
            }
        })?;
        Ok(Self { shared, thread: thread.thread().clone() })
    }

    /// Starts a call.
    pub(super) fn running(&self) -> RunningCall<'_> {
        self.shared.running_calls.fetch_add(1, Ordering::SeqCst);
        self.wake();
        RunningCall(&self.shared)
    }

    /// The number of running calls.
    pub(super) fn count(&self) -> u32 {
        self.shared.running_calls.load(Ordering::SeqCst)
    }

    fn wake(&self) {
        if self.shared.asleep.load(Ordering::SeqCst) && self.shared.asleep.swap(false, Ordering::SeqCst) {
            self.thread.unpark();
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        self.wake();
    }
}

impl TickerState {
    /// Returns immediately while calls run. Otherwise sleeps, after [`IDLE_TICKS`], until one starts.
    fn sleep_unless_needed(&self) {
        for _ in 0..IDLE_TICKS {
            if self.running_calls.load(Ordering::SeqCst) > 0 || self.stopped.load(Ordering::SeqCst) {
                return;
            }
            thread::sleep(EPOCH_TICK);
        }
        self.asleep.store(true, Ordering::SeqCst);
        // A call that started before `asleep` was set didn't wake this thread.
        if self.running_calls.load(Ordering::SeqCst) > 0 || self.stopped.load(Ordering::SeqCst) {
            self.asleep.store(false, Ordering::SeqCst);
        }
        while self.asleep.load(Ordering::SeqCst) {
            thread::park();
        }
    }
}
