//! Loading a plugin: from a file to a component that is ready to be instantiated.
//!
//! The steps, in order: reject files that aren't components, compile or take the code from the cache, compare imports
//! and exports with the contract, link.

pub(crate) mod cache;
pub(crate) mod code;
pub(crate) mod compiler;
pub(crate) mod describe;
pub(crate) mod error;
pub(crate) mod exports;
pub(crate) mod file;

use std::sync::Arc;

use moongate_config::Limits;
use moongate_model::names::Digest;
use tokio::sync::{Mutex, OwnedMutexGuard};
use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{Engine, Precompiled};

use self::cache::CodeCache;
use self::compiler::{CompileCancellation, CompileLimits};
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
    const MAGIC: &[u8] = b"\0asm";
    match Engine::detect_precompiled(bytes) {
        Some(Precompiled::Component | Precompiled::Module) => return Err(LoadError::Precompiled),
        None => {}
    }
    if bytes.is_empty() {
        return Err(LoadError::NotWasm { found: "it is empty" });
    }
    if !bytes.starts_with(MAGIC) {
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
        Some([_, _, 1, 0]) => match truncation(&bytes[8..]) {
            Some(reason) => Err(LoadError::InvalidComponent { reason }),
            None => Ok(()),
        },
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
    ComponentFile { bytes, digest }: ComponentFile,
    limits: CompileLimits,
    abort: &CompileCancellation,
) -> Result<Component, LoadError> {
    let code = compiler::compile(engine, &bytes, limits, abort)?;
    drop(bytes);
    let cached = cache.map(|cache| cache.put(engine, &digest, &code));
    match cached {
        Some(Ok(component)) => return Ok(component),
        Some(Err(error)) => tracing::warn!("can't cache compiled code: {error:#}"),
        None => {}
    }
    cache::load_uncached(engine, &code).map_err(|error| {
        match reason(&error).split_once("pooling allocator requirements: ") {
            Some((_, what)) => LoadError::InstanceTooLarge { what: what.to_owned() },
            None => LoadError::InvalidComponent { reason: reason(&error) },
        }
    })
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

/// Runs `work`, which computes for seconds, on a separate low-priority thread.
pub(super) async fn in_background<T: Send + 'static>(
    name: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, LoadError> {
    let (done, result) = tokio::sync::oneshot::channel();
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || {
            // On Linux, niceness belongs to the thread; elsewhere, to the process.
            #[cfg(target_os = "linux")]
            let _ = rustix::process::nice(10);
            let _ = done.send(work());
        })
        .map_err(|error| LoadError::Internal(format!("can't start a thread for the compiler: {error}")))?;
    result.await.map_err(|_| LoadError::Internal("the compiler panicked".to_owned()))
}

/// The parts that all loads share: the engine with its linker, and the cache.
pub(super) struct ComponentLoader {
    pub(super) linker: Linker<StoreState>,
    pub(super) cache: Option<CodeCache>,
    /// Limits compilation to one plugin at a time.
    pub(super) compiling: Arc<Mutex<()>>,
}

impl ComponentLoader {
    /// Compiles if necessary, and links. Dropping the future cancels compilation.
    pub(super) async fn load(
        self: &Arc<Self>,
        candidate: ComponentFile,
        limits: &Limits,
    ) -> Result<LinkedComponent, LoadError> {
        let compile_limits = CompileLimits::for_component(candidate.bytes.len(), limits);
        let this = Arc::clone(self);
        let (candidate, found) = blocking(move || {
            check_header(&candidate.bytes)?;
            let found = this.find(&candidate.digest);
            Ok((candidate, found.map(|component| link(&this.linker, &component)).transpose()?))
        })
        .await?;
        if let Some(linked) = found {
            return Ok(linked);
        }
        let permit = Arc::clone(&self.compiling).lock_owned().await;
        let abort = CompileCancellation::default();
        let _abort = abort.when_dropped();
        let this = Arc::clone(self);
        in_background("moongate-compile", move || {
            this.compile_and_link(candidate, compile_limits, &abort, permit)
        })
        .await?
    }

    /// The permit is released with the work, even if the caller no longer waits for its result.
    fn compile_and_link(
        &self,
        candidate: ComponentFile,
        limits: CompileLimits,
        abort: &CompileCancellation,
        _permit: OwnedMutexGuard<()>,
    ) -> Result<LinkedComponent, LoadError> {
        // The previous holder of the permit may have compiled the same file.
        let component = match self.find(&candidate.digest) {
            Some(component) => component,
            None => compile(self.linker.engine(), self.cache.as_ref(), candidate, limits, abort)?,
        };
        link(&self.linker, &component)
    }

    /// True if loading is fast, because the code is cached or the file isn't a component.
    pub(super) fn is_compiled(&self, candidate: &ComponentFile) -> bool {
        let is_cached = |cache: &CodeCache| cache.contains(self.linker.engine(), &candidate.digest);
        check_header(&candidate.bytes).is_err() || self.cache.as_ref().is_some_and(is_cached)
    }

    fn find(&self, digest: &Digest) -> Option<Component> {
        self.cache.as_ref()?.get(self.linker.engine(), digest)
    }
}

/// Runs `work`, which reads files and computes for milliseconds, on a thread where it doesn't block calls.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, LoadError> + Send + 'static,
) -> Result<T, LoadError> {
    let result = tokio::task::spawn_blocking(work).await;
    result.unwrap_or_else(|error| Err(LoadError::Internal(format!("loading panicked: {error}"))))
}

#[cfg(test)]
mod tests;
