//! From a file's bytes to a component that is ready to be instantiated.
//!
//! Refuse what isn't a component, compile or find it compiled, compare its imports and exports with the contract,
//! link.

pub(in crate::host) mod cache;
pub(in crate::host) mod code;
pub(in crate::host) mod compiler;
pub(in crate::host) mod describe;
pub(in crate::host) mod error;
pub(in crate::host) mod exports;
pub(in crate::host) mod file;

use std::sync::Arc;

use moongate_core::config::Limits;
use moongate_core::names::Digest;
use tokio::sync::{Mutex, OwnedMutexGuard};
use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{Engine, Precompiled};

use self::cache::Cache;
use self::compiler::{Abort, Allowance};
use crate::host::diagnostics::text;
use crate::host::load::error::LoadError;
use crate::host::load::exports::Exports;
use crate::host::load::file::Candidate;
use crate::host::sandbox::store::State;
use crate::host::wasi::linker;

/// A component whose imports are there and whose exports have the right names.
pub(super) struct Linked {
    pub(super) pre: InstancePre<State>,
    pub(super) exports: Exports,
    pub(super) imports: linker::Imports,
}

/// Refuses what isn't a component, by its first bytes.
fn recognise(bytes: &[u8]) -> Result<(), LoadError> {
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
                "it is WebAssembly's text format"
            } else if text.starts_with(b"<") {
                "it looks like a web page"
            } else {
                "it doesn't begin with `\\0asm`"
            };
        return Err(LoadError::NotWasm { found });
    }
    // After the magic number: a version and a layer, two bytes each; layer 0 is a core module, layer 1 a component.
    match bytes.get(4..8) {
        Some([1, 0, 0, 0]) => Err(LoadError::CoreModule),
        Some([_, _, 1, 0]) => match cut_short(&bytes[8..]) {
            Some(reason) => Err(LoadError::Broken { reason }),
            None => Ok(()),
        },
        Some(_) => Err(LoadError::Broken { reason: "its version of WebAssembly is unknown".to_owned() }),
        None => Err(LoadError::Broken { reason: "it ends after its first bytes".to_owned() }),
    }
}

/// Goes from section to section, each a number, a length and so many bytes: does the file end before they do? What isn't
/// as it should be otherwise is told by the compiler.
fn cut_short(mut rest: &[u8]) -> Option<String> {
    while let Some((_, after)) = rest.split_first() {
        let end = after.iter().take(5).position(|byte| byte & 0x80 == 0);
        let length =
            end.map(|end| after[..=end].iter().rev().fold(0, |sum, byte| sum << 7 | u64::from(byte & 0x7f)));
        let (end, length) = match (end, length) {
            (Some(end), Some(length)) => (end + 1, length),
            _ if after.len() < 5 => {
                return Some("it is cut short: it ends within a section's head".to_owned());
            }
            _ => return None,
        };
        let there = (after.len() - end) as u64;
        if length > there {
            let lacks = length - there;
            return Some(format!("it is cut short: at least {lacks} bytes are missing at its end"));
        }
        rest = &after[end + usize::try_from(length).ok()?..];
    }
    None
}

/// Compiles a component, and keeps the code if it can. Takes seconds for large ones.
pub(super) fn compile(
    engine: &Engine,
    cache: Option<&Cache>,
    Candidate { bytes, digest }: Candidate,
    allowance: Allowance,
    abort: &Abort,
) -> Result<Component, LoadError> {
    let code = compiler::compile(engine, &bytes, allowance, abort)?;
    drop(bytes);
    let kept = cache.map(|cache| cache.put(engine, &digest, &code));
    match kept {
        Some(Ok(component)) => return Ok(component),
        Some(Err(error)) => tracing::warn!("compiled code can't be kept: {error:#}"),
        None => {}
    }
    cache::unkept(engine, &code).map_err(|error| {
        match reason(&error).split_once("pooling allocator requirements: ") {
            Some((_, what)) => LoadError::Demands { what: what.to_owned() },
            None => LoadError::Broken { reason: reason(&error) },
        }
    })
}

/// Compares imports and exports with the contract, and links.
pub(super) fn link(linker: &Linker<State>, component: &Component) -> Result<Linked, LoadError> {
    let imports = linker::check(linker.engine(), component)?;
    let pre =
        linker.instantiate_pre(component).map_err(|error| LoadError::Import { reason: misfit(&error) })?;
    let exports = Exports::find(&pre)?;
    if let Err(error) = component.initialize_copy_on_write_image() {
        tracing::debug!("no copy-on-write image: {error:#}"); // The first instance makes it then.
    }
    Ok(Linked { pre, exports, imports })
}

/// What the engine said, in one line.
fn reason(error: &wasmtime::Error) -> String {
    text::line(&format!("{error:#}"), text::SENTENCE)
}

/// The same for an import that is offered, but in another shape.
fn misfit(error: &wasmtime::Error) -> String {
    reason(error).replace(", but a matching implementation was not found in the linker", "")
}

/// Runs `work` on a thread of its own that gives way to others, for seconds of computing.
pub(super) async fn in_background<T: Send + 'static>(
    name: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, LoadError> {
    let (done, result) = tokio::sync::oneshot::channel();
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || {
            // On Linux the niceness is the thread's own. Elsewhere it would be the process's.
            #[cfg(target_os = "linux")]
            let _ = rustix::process::nice(10);
            let _ = done.send(work());
        })
        .map_err(|error| LoadError::Internal(format!("no thread for compiling: {error}")))?;
    result.await.map_err(|_| LoadError::Internal("the compiler panicked".to_owned()))
}

/// Everything that loading shares: the engine, what is offered, the cache.
pub(super) struct Loader {
    pub(super) linker: Linker<State>,
    pub(super) cache: Option<Cache>,
    /// One plugin is compiled at a time.
    pub(super) compiling: Arc<Mutex<()>>,
}

impl Loader {
    /// Compiles if need be, and links. If nobody waits for it any more, it isn't compiled further.
    pub(super) async fn load(
        self: &Arc<Self>,
        candidate: Candidate,
        limits: &Limits,
    ) -> Result<Linked, LoadError> {
        let allowance = Allowance::of(candidate.bytes.len(), limits);
        let this = Arc::clone(self);
        let (candidate, found) = blocking(move || {
            recognise(&candidate.bytes)?;
            let found = this.find(&candidate.digest);
            Ok((candidate, found.map(|component| link(&this.linker, &component)).transpose()?))
        })
        .await?;
        if let Some(linked) = found {
            return Ok(linked);
        }
        let turn = Arc::clone(&self.compiling).lock_owned().await;
        let abort = Abort::default();
        let _abort = abort.when_dropped();
        let this = Arc::clone(self);
        in_background("moongate-compile", move || this.compile_in_turn(candidate, allowance, &abort, turn))
            .await?
    }

    /// The turn ends with the work, even where that goes on unnoticed.
    fn compile_in_turn(
        &self,
        candidate: Candidate,
        allowance: Allowance,
        abort: &Abort,
        _turn: OwnedMutexGuard<()>,
    ) -> Result<Linked, LoadError> {
        // Whoever had the turn before may have compiled the same file.
        let component = match self.find(&candidate.digest) {
            Some(component) => component,
            None => compile(self.linker.engine(), self.cache.as_ref(), candidate, allowance, abort)?,
        };
        link(&self.linker, &component)
    }

    /// Does loading it take little?
    pub(super) fn is_compiled(&self, candidate: &Candidate) -> bool {
        let kept = |cache: &Cache| cache.holds(self.linker.engine(), &candidate.digest);
        recognise(&candidate.bytes).is_err() || self.cache.as_ref().is_some_and(kept)
    }

    fn find(&self, digest: &Digest) -> Option<Component> {
        self.cache.as_ref()?.get(self.linker.engine(), digest)
    }
}

/// Runs `work`, which reads files and computes for milliseconds, where it holds up no call.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, LoadError> + Send + 'static,
) -> Result<T, LoadError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(LoadError::Internal(format!("loading broke off: {error}"))))
}

#[cfg(test)]
mod tests;
