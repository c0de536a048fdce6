//! Loading a plugin: from a file to a component that is ready to be instantiated.
//!
//! The steps, in order: reject files that aren't components, compile or take the code from the cache, compare imports
//! and exports with the contract, link.

pub(crate) mod cache;
pub(crate) mod code;
pub(crate) mod compiler;
pub(crate) mod describe;
pub(crate) mod description_cache;
mod engine_error;
pub(crate) mod error;
pub(crate) mod exports;
pub(crate) mod file;
pub(crate) mod known_files;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use moongate_config::PluginConfig;
use moongate_model::names::Digest;
use moongate_system::background::{self, reduce_thread_priority};
use moongate_system::blocking::PluginBlockingLimiters;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{Engine, Precompiled};

use self::cache::CodeCache;
use self::code::{MappedCode, MappedCount};
use self::compiler::{CompileCancellation, CompileJob, CompileLimits, CompilePriority};
use self::description_cache::{CachedDescription, DescriptionCache};
use self::known_files::KnownFiles;
use crate::diagnostics::text;
use crate::load::error::LoadError;
use crate::load::exports::Exports;
use crate::load::file::ComponentFile;
use crate::sandbox::store::StoreState;
use crate::wasi::linker;

/// A component with linked imports and correctly named exports.
pub(super) struct LinkedComponent {
    pub(super) pre: InstancePre<StoreState>,
    pub(super) exports: Exports,
    pub(super) imports: linker::Imports,
}

/// Rejects files that aren't components, by their first bytes.
fn check_header(bytes: &[u8]) -> Result<(), LoadError> {
    const WASM_MAGIC: &[u8] = b"\0asm";
    match Engine::detect_precompiled(bytes) {
        Some(Precompiled::Component | Precompiled::Module) => return Err(LoadError::Precompiled),
        None => {}
    }
    if bytes.is_empty() {
        return Err(LoadError::NotWasm { found: "it is empty" });
    }
    if !bytes.starts_with(WASM_MAGIC) {
        let text = bytes.trim_ascii_start();
        let found =
            if text.starts_with(b"(component") || text.starts_with(b"(module") || text.starts_with(b";;") {
                "it is in WebAssembly's text format"
            } else if text.starts_with(b"<") {
                "it looks like a web page"
            } else {
                "it doesn't start with `\\0asm`"
            };
        return Err(LoadError::NotWasm { found });
    }
    // After the magic number: a version and a layer, two bytes each. Layer 0 is a core module, layer 1 a component.
    match bytes.get(4..8) {
        Some([1, 0, 0, 0]) => Err(LoadError::CoreModule),
        Some([0x0d, 0, 1, 0]) => match truncation(&bytes[8..]) {
            Some(reason) => Err(LoadError::InvalidComponent { reason }),
            None => Ok(()),
        },
        Some([low, high, 1, 0]) => {
            let version = u16::from_le_bytes([*low, *high]);
            Err(engine_error::load_error(&format!("component version {version} instead of 13")))
        }
        Some(_) => Err(LoadError::InvalidComponent { reason: "unknown version of WebAssembly".to_owned() }),
        None => Err(LoadError::InvalidComponent { reason: "truncated within its header".to_owned() }),
    }
}

/// Walks the sections, each with an id, a length and its contents, and describes where the file is truncated. `None` if
/// it isn't; the compiler reports other faults.
fn truncation(mut rest: &[u8]) -> Option<String> {
    while let Some((_, after)) = rest.split_first() {
        let end = after.iter().take(5).position(|byte| byte & 0x80 == 0);
        let length =
            end.map(|end| after[..=end].iter().rev().fold(0, |sum, byte| sum << 7 | u64::from(byte & 0x7f)));
        let (end, length) = match (end, length) {
            (Some(end), Some(length)) => (end + 1, length),
            _ if after.len() < 5 => {
                return Some("truncated within a section's header".to_owned());
            }
            _ => return None,
        };
        let available = (after.len() - end) as u64;
        if length > available {
            let missing = length - available;
            return Some(format!("truncated: at least {missing} bytes are missing at its end"));
        }
        rest = &after[end + usize::try_from(length).ok()?..];
    }
    None
}

/// Compiles a component and caches the code if possible. Takes seconds for large components.
pub(super) fn compile(
    engine: &Engine,
    cache: Option<&CodeCache>,
    ComponentFile { bytes, digest, settled: _ }: ComponentFile,
    job: &CompileJob,
    abort: &CompileCancellation,
) -> Result<Component, LoadError> {
    let code = compiler::compile(engine, &bytes, job, abort)?;
    drop(bytes);
    let Some(code) = code else {
        let added = cache.ok_or_else(|| LoadError::Internal("the compiled code is missing".to_owned()))?;
        return added
            .load_added(engine, &digest)
            .map_err(|error| engine_error::load_error(&format!("{error:#}")));
    };
    let cached = cache.map(|cache| cache.put(engine, &digest, &code));
    let cache_error = match cached {
        Some(Ok(component)) => return Ok(component),
        Some(Err(error)) => Some(error),
        None => None,
    };
    let component = cache::load_uncached(engine, &code)
        .map_err(|error| engine_error::load_error(&format!("{error:#}")))?;
    if let Some(error) = cache_error {
        tracing::warn!("can't cache compiled code: {error:#}");
    }
    Ok(component)
}

/// Compares imports and exports with the contract, and links.
pub(super) fn link(linker: &Linker<StoreState>, component: &Component) -> Result<LinkedComponent, LoadError> {
    let imports = linker::check(linker.engine(), component)?;
    let pre = linker
        .instantiate_pre(component)
        .map_err(|error| LoadError::ImportMismatch { reason: link_reason(&error) })?;
    let exports = Exports::find(&pre)?;
    if let Err(error) = component.initialize_copy_on_write_image() {
        tracing::debug!("no copy-on-write image: {error:#}"); // the first instance then creates it
    }
    Ok(LinkedComponent { pre, exports, imports })
}

/// The engine's message on one line.
fn reason(error: &wasmtime::Error) -> String {
    text::clean_line(&format!("{error:#}"), text::MAX_SENTENCE_BYTES)
}

/// The linker's message about an import with a different type.
fn link_reason(error: &wasmtime::Error) -> String {
    reason(error).replace(", but a matching implementation was not found in the linker", "")
}

/// Runs `work`, which computes for seconds, on a separate thread.
async fn in_background<T: Send + 'static>(
    name: &'static str,
    priority: CompilePriority,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, LoadError> {
    let (done, result) = tokio::sync::oneshot::channel();
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || {
            if priority == CompilePriority::Low {
                reduce_thread_priority();
            }
            let _ = done.send(work());
        })
        .map_err(|error| LoadError::Internal(format!("can't start a thread for the compiler: {error}")))?;
    result.await.map_err(|_| LoadError::Internal("the compiler panicked".to_owned()))
}

/// The parts that all loads share: the engine with its linker, and the cache.
pub(super) struct ComponentLoader {
    pub(super) linker: Linker<StoreState>,
    pub(super) cache: Option<Arc<CodeCache>>,
    /// `None` if descriptions can't be cached.
    pub(super) descriptions: Option<DescriptionCache>,
    /// `None` if there is no cache.
    pub(super) known_files: Option<KnownFiles>,
    pub(super) mapped: MappedCount,
    /// Limits reads of components' files to one at a time per plugin.
    pub(super) file_reads: PluginBlockingLimiters,
    pub(super) compile_slots: CompileSlots,
}

/// The maximum number of components that are compiled at once at a start. Each needs up to a few hundred megabytes.
pub const MAX_CONCURRENT_COMPILES: u32 = 4;

/// Limits compilation: to one component per core while nobody is served, and to one afterwards, with low priority.
pub(super) struct CompileSlots {
    slots: Arc<Semaphore>,
    is_serving: AtomicBool,
}

impl Default for CompileSlots {
    fn default() -> Self {
        let slots = Arc::new(Semaphore::new(MAX_CONCURRENT_COMPILES as usize));
        Self { slots, is_serving: AtomicBool::new(false) }
    }
}

impl CompileSlots {
    /// From now on, calls are more important than compiling.
    pub(super) fn start_serving(&self) {
        self.is_serving.store(true, Ordering::Relaxed);
    }

    pub(super) async fn acquire(&self) -> Result<(OwnedSemaphorePermit, CompilePriority), LoadError> {
        let priority = match self.is_serving.load(Ordering::Relaxed) {
            true => CompilePriority::Low,
            false => CompilePriority::Normal,
        };
        let count = match priority {
            CompilePriority::Low => MAX_CONCURRENT_COMPILES,
            CompilePriority::Normal => MAX_CONCURRENT_COMPILES / startup_compiles(),
        };
        let permit = Arc::clone(&self.slots).acquire_many_owned(count).await;
        let permit = permit.map_err(|error| LoadError::Internal(error.to_string()))?;
        Ok((permit, priority))
    }
}

/// The number of components that are compiled at once at a start: one per core.
#[must_use]
pub fn startup_compiles() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    u32::try_from(cores).unwrap_or(MAX_CONCURRENT_COMPILES).min(MAX_CONCURRENT_COMPILES)
}

impl ComponentLoader {
    /// Compiles if necessary, and links. Dropping the future cancels compilation, unless the code is for the cache.
    pub(super) async fn load(
        self: &Arc<Self>,
        candidate: ComponentFile,
        config: &PluginConfig,
    ) -> Result<Arc<MappedCode>, LoadError> {
        let limits = CompileLimits::for_component(candidate.bytes.len(), &config.limits);
        check_header(&candidate.bytes)?;
        if let Some(mapped) = self.map(candidate.digest).await? {
            return Ok(mapped);
        }
        let (permit, priority) = self.compile_slots.acquire().await?;
        let cache = self.cache.as_ref().map(|cache| cache.path().to_owned());
        let job = CompileJob { limits, priority, cache };
        let abort = CompileCancellation::default();
        let _abort = job.cache.is_none().then(|| abort.when_dropped());
        let this = Arc::clone(self);
        let (id, size) = (&config.id, candidate.size());
        let started = Instant::now();
        tracing::info!(plugin = %id, bytes = size.as_u64(), "compiling `{id}` ({})", size.display().iec());
        let linked = in_background("moongate-compile", priority, move || {
            this.compile_and_link(candidate, &job, &abort, permit)
        });
        let linked = linked.await??; // the caller logs an error
        let took = started.elapsed();
        let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        tracing::info!(plugin = %id, duration_ms, "compiled `{id}` in {:.1} s", took.as_secs_f64());
        Ok(MappedCode::new(linked, self.mapped.add()))
    }

    /// Maps cached code, and links. `None` if it isn't cached.
    pub(super) async fn map(self: &Arc<Self>, digest: Digest) -> Result<Option<Arc<MappedCode>>, LoadError> {
        let this = Arc::clone(self);
        let linked = blocking(move || {
            let found = this.find(&digest);
            found.map(|component| link(&this.linker, &component)).transpose()
        });
        Ok(linked.await?.map(|linked| MappedCode::new(linked, self.mapped.add())))
    }

    /// The digest and the cached description of the component at this path with this configuration, if the file hasn't
    /// changed since it was read. A built-in component doesn't change, and isn't unpacked for this.
    pub(super) fn find_described(&self, config: &PluginConfig) -> Option<(Digest, CachedDescription)> {
        let (digest, size) = match config.builtin {
            Some(plugin) => {
                let component = moongate_builtin_plugins::component(plugin);
                (component.digest(), component.size())
            }
            None => self.known_files.as_ref()?.find(&config.source)?,
        };
        let is_pinned = config.sha256.is_none_or(|pinned| pinned == digest);
        if !is_pinned || size > config.limits.component.as_u64() {
            return None;
        }
        Some((digest, self.find_description(&digest, config)?))
    }

    /// The cached description of a component with this configuration.
    pub(super) fn find_description(
        &self,
        digest: &Digest,
        config: &PluginConfig,
    ) -> Option<CachedDescription> {
        self.descriptions.as_ref()?.get(self.linker.engine(), digest, config)
    }

    /// The permit is released with the work, even if the caller no longer waits for its result.
    fn compile_and_link(
        &self,
        candidate: ComponentFile,
        job: &CompileJob,
        abort: &CompileCancellation,
        _permit: OwnedSemaphorePermit,
    ) -> Result<LinkedComponent, LoadError> {
        // The previous holder of the permit may have compiled the same file.
        let component = match self.find(&candidate.digest) {
            Some(component) => component,
            None => compile(self.linker.engine(), self.cache.as_deref(), candidate, job, abort)?,
        };
        link(&self.linker, &component)
    }

    /// True if loading is fast, because the code is cached or the file isn't a component.
    pub(super) fn is_compiled(&self, candidate: &ComponentFile) -> bool {
        let is_cached = |cache: &CodeCache| cache.contains(self.linker.engine(), &candidate.digest);
        check_header(&candidate.bytes).is_err() || self.cache.as_deref().is_some_and(is_cached)
    }

    fn find(&self, digest: &Digest) -> Option<Component> {
        self.cache.as_ref()?.get(self.linker.engine(), digest)
    }
}

/// Runs `work`, which reads files and computes for milliseconds, on a thread where it doesn't block calls. Work on the
/// background pool stays there: a thousand plugins that are described again at startup mustn't delay the first list.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, LoadError> + Send + 'static,
) -> Result<T, LoadError> {
    if background::is_pool_thread() {
        // Like that of a blocking thread, a panic ends only this load.
        let done = catch_unwind(AssertUnwindSafe(work));
        return done.unwrap_or_else(|_| Err(LoadError::Internal("loading panicked".to_owned())));
    }
    let result = tokio::task::spawn_blocking(work).await;
    result.unwrap_or_else(|error| Err(LoadError::Internal(format!("loading panicked: {error}"))))
}

#[cfg(test)]
mod tests;
