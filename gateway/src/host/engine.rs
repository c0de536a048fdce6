//! The one engine of the process, and the thread that ends a guest's turn.
//!
//! Instances come from a pool whose slots are reserved at the start, so that a call maps no memory. Guest code is
//! compiled with a check of the engine's epoch; the [`Ticker`] advances the epoch while calls run, and each running
//! call then yields to the others and has its processor time compared with its limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use wasmtime::{Config, Enabled, Engine, PoolingAllocationConfig, WasmBacktraceDetails};

/// How long a guest runs before others get their turn. One or two of these are what a timer may be late.
const TICK: Duration = Duration::from_millis(2);

/// How many ticks without any call pass before the ticker sleeps: between calls in a row it needn't be woken.
const LINGER: u32 = 50;

/// Slots beyond what the gate lets in: for describing, and for stores that are being dropped.
const SPARE: u32 = 4;

/// The most core instances of one component: a Python interpreter with its libraries has about twenty.
pub(super) const CORE_INSTANCES: u32 = 64;
/// The most memories of one component. Nearly all have one.
pub(super) const MEMORIES: u32 = 4;
/// The most tables of one component; builds of `wit-component` have two.
pub(super) const TABLES: u32 = 32;
/// The most elements of one table, by far: JavaScript and Python need tens of thousands.
pub(super) const TABLE_ELEMENTS: u32 = 100_000;
/// The metadata of one instance; JavaScript and Python need several megabytes.
const INSTANCE_SIZE: usize = 10 << 20;

/// Builds the engine for so many calls at once.
///
/// Where the address space for the pool can't be had (a limit on it, strict overcommit), instances are allocated one
/// by one: slower, but the same otherwise.
pub(super) fn engine(concurrency: u32) -> wasmtime::Result<Engine> {
    let pooled = Engine::new(config().allocation_strategy(pool(concurrency)));
    pooled.or_else(|error| {
        tracing::warn!(
            error = format!("{error:#}"),
            "no address space for a pool of {concurrency} instances; calls will be slower"
        );
        Engine::new(&config())
    })
}

/// An engine that compiles for the others and runs nothing itself, so that it reserves no addresses.
pub(super) fn compiling() -> wasmtime::Result<Engine> {
    Engine::new(&config())
}

fn config() -> Config {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .concurrency_support(false) // the contract has no async functions; the support costs each call 10 %
        .wasm_memory64(false) // needs a bounds check at each access
        .wasm_gc(false)
        .wasm_exceptions(false)
        .wasm_function_references(false)
        .gc_support(false)
        .memory_init_cow(true)
        .max_wasm_stack(512 << 10)
        .async_stack_size(2 << 20)
        .parallel_compilation(false) // calls go on while a plugin is compiled
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .native_unwind_info(false)
        .generate_address_map(false);
    config
}

fn pool(concurrency: u32) -> PoolingAllocationConfig {
    let slots = concurrency.saturating_add(SPARE);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(slots)
        .total_stacks(slots)
        // As many as all instances can have: fewer could all be taken by one plugin that has many, and the others
        // would be turned away. They cost addresses only; a memory takes 4 GiB of them.
        .total_memories(slots.saturating_mul(MEMORIES))
        .total_tables(slots.saturating_mul(TABLES))
        .total_core_instances(slots.saturating_mul(CORE_INSTANCES))
        .max_core_instances_per_component(CORE_INSTANCES)
        .max_memories_per_component(MEMORIES)
        .max_tables_per_component(TABLES)
        .max_memories_per_module(MEMORIES)
        .max_tables_per_module(TABLES)
        .table_elements(TABLE_ELEMENTS as usize)
        .max_component_instance_size(INSTANCE_SIZE)
        .max_core_instance_size(INSTANCE_SIZE)
        .max_unused_warm_slots(64);
    if has_swap() {
        // A page that was swapped out while dirty would keep its content for the next instance.
        pool.pagemap_scan(Enabled::No);
    } else {
        // Keeping pages is a gain only where the dirty ones can be told from the others. After a storm of calls all
        // warm slots together hold 32 MiB.
        pool.pagemap_scan(Enabled::Auto).linear_memory_keep_resident(512 << 10).table_keep_resident(64 << 10);
    }
    pool
}

/// Whether memory may be swapped out; if that can't be told, it may.
fn has_swap() -> bool {
    std::fs::read_to_string("/proc/swaps").map_or(true, |swaps| swaps.lines().count() > 1)
}

/// Advances the engine's epoch while calls run; asleep otherwise.
#[derive(Debug)]
pub(super) struct Ticker {
    shared: Arc<Shared>,
    thread: Thread,
}

#[derive(Debug, Default)]
struct Shared {
    running: AtomicU32,
    asleep: AtomicBool,
    ended: AtomicBool,
}

/// A call is running as long as this lives.
#[derive(Debug)]
pub(super) struct Running<'a>(&'a Shared);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Ticker {
    /// Starts the thread.
    pub(super) fn start(engine: &Engine) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (engine, its) = (engine.weak(), Arc::clone(&shared));
        let thread = thread::Builder::new().name("moongate-ticker".into()).spawn(move || {
            while !its.ended.load(Ordering::SeqCst) {
                its.sleep_unless_needed();
                thread::sleep(TICK);
                let Some(engine) = engine.upgrade() else { return };
                engine.increment_epoch();
            }
        })?;
        Ok(Self { shared, thread: thread.thread().clone() })
    }

    /// Says that a call starts.
    pub(super) fn running(&self) -> Running<'_> {
        self.shared.running.fetch_add(1, Ordering::SeqCst);
        self.wake();
        Running(&self.shared)
    }

    /// How many calls run.
    pub(super) fn count(&self) -> u32 {
        self.shared.running.load(Ordering::SeqCst)
    }

    fn wake(&self) {
        if self.shared.asleep.load(Ordering::SeqCst) && self.shared.asleep.swap(false, Ordering::SeqCst) {
            self.thread.unpark();
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        self.wake();
    }
}

impl Shared {
    /// Returns at once while calls run; otherwise after a while sleeps until one starts.
    fn sleep_unless_needed(&self) {
        for _ in 0..LINGER {
            if self.running.load(Ordering::SeqCst) > 0 || self.ended.load(Ordering::SeqCst) {
                return;
            }
            thread::sleep(TICK);
        }
        self.asleep.store(true, Ordering::SeqCst);
        // Whoever came in before `asleep` was set saw no reason to wake anybody.
        if self.running.load(Ordering::SeqCst) > 0 || self.ended.load(Ordering::SeqCst) {
            self.asleep.store(false, Ordering::SeqCst);
        }
        while self.asleep.load(Ordering::SeqCst) {
            thread::park();
        }
    }
}
