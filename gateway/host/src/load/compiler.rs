//! Compiling in a separate process, with limits on its memory and CPU time.
//!
//! A component of a few kilobytes can make the compiler use gigabytes, minutes, or its whole stack, and compilation
//! can't be interrupted. So for each component that isn't cached, the program starts itself again. It sends the
//! component over stdin, and the process adds the machine code to the cache. So the process finishes its work even if the
//! gateway ends first, because a client lost patience: the next start finds the code, or waits for the process. Without
//! a cache, the machine code comes over stdout, and the process ends with the gateway. A program that doesn't support
//! this (a test, another user of the library) compiles in its own process. `main` calls [`compile_if_requested`] first
//! of all.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitCode, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytesize::ByteSize;
use moongate_config::{LimitKey, Limits};
use moongate_model::names::Digest;
use moongate_system::background::reduce_thread_priority;
use rustix::process::{Resource, Rlimit, Signal};
use wasmtime::Engine;

use super::cache::CodeCache;
use super::engine_error;
use super::error::{LimitTooLow, LoadError};
use crate::diagnostics::text;
use crate::engine;

/// The argument that starts a compiling process.
const COMPILE_ARGUMENT: &str = "compile-component-from-stdin";

/// The maximum number of bytes read from the process's stderr. An error can contain long names from the component.
const MAX_STDERR_BYTES: u64 = 64 << 10;

/// True if this program calls [`compile_if_requested`].
static SUPPORTS_COMPILE_ARGUMENT: AtomicBool = AtomicBool::new(false);

/// The limits of the compiling process. The defaults are several times what the largest interpreter components need,
/// even without optimisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CompileLimits {
    /// Address space, in bytes.
    memory: u64,
    /// CPU time, in seconds.
    seconds: u64,
}

impl CompileLimits {
    /// The configured limits, or defaults for a component of this length.
    pub(crate) fn for_component(length: usize, limits: &Limits) -> Self {
        let length = length as u64;
        let whole_seconds =
            |time: Duration| time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0));
        Self {
            memory: limits.compile_memory.map_or((1 << 30) + 64 * length, |most| most.as_u64()),
            seconds: limits.compile_time.map_or(30 + (length >> 20) * 6, whole_seconds),
        }
    }

    /// Applies the limits to this process.
    fn apply(self) -> io::Result<()> {
        let limit = |resource, most| {
            rustix::process::setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
        };
        limit(Resource::As, self.memory)?;
        limit(Resource::Core, 0)?;
        // Exceeding the soft limit ends the process with a dedicated signal, unlike being killed for another reason.
        let cpu = Rlimit { current: Some(self.seconds), maximum: Some(self.seconds + 1) };
        rustix::process::setrlimit(Resource::Cpu, cpu)?;
        // If the machine runs out of memory all the same, this process should be killed first.
        #[cfg(target_os = "linux")]
        let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
        Ok(())
    }
}

/// The importance of compiling, compared with everything else on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompilePriority {
    /// Requests wait for the plugin, so all cores are used.
    Normal,
    /// The gateway serves calls, which must not become slower.
    Low,
}

/// The job of a compiling process, apart from the component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CompileJob {
    pub(crate) limits: CompileLimits,
    pub(crate) priority: CompilePriority,
    /// The directory of the cache. `None` if code isn't cached.
    pub(crate) cache: Option<PathBuf>,
}

impl CompileJob {
    /// The arguments for the process, which [`Self::parse`] parses.
    fn arguments(&self) -> Vec<OsString> {
        let Self { limits: CompileLimits { memory, seconds }, priority, cache } = self;
        let priority = match priority {
            CompilePriority::Normal => "normal",
            CompilePriority::Low => "low",
        };
        let mut arguments = vec![memory.to_string().into(), seconds.to_string().into(), priority.into()];
        arguments.extend(cache.iter().map(|cache| cache.clone().into_os_string()));
        arguments
    }

    fn parse(mut arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let mut number = || arguments.next()?.to_str()?.parse().ok();
        let limits = CompileLimits { memory: number()?, seconds: number()? };
        let priority = match arguments.next()?.to_str()? {
            "normal" => CompilePriority::Normal,
            "low" => CompilePriority::Low,
            _ => return None,
        };
        Some(Self { limits, priority, cache: arguments.next().map(PathBuf::from) })
    }

    /// Does the job in this process. Returns the code unless it is in the cache.
    fn run(&self) -> wasmtime::Result<Vec<u8>> {
        let mut component = Vec::new();
        io::stdin().lock().read_to_end(&mut component)?;
        #[cfg(target_os = "linux")]
        if self.cache.is_none() {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        }
        if self.priority == CompilePriority::Low {
            reduce_thread_priority();
        }
        self.limits.apply()?;
        let engine = engine::compile_only(self.priority == CompilePriority::Normal)?;
        let compile = || compile_in_process(&engine, &component);
        match self.cache.as_deref().map(CodeCache::open) {
            Some(Ok(cache)) => {
                // The other process has the same limit.
                let max_wait = Duration::from_secs(self.limits.seconds);
                cache.compile_once(&engine, &Digest::of(&component), max_wait, compile)
            }
            Some(Err(_)) | None => compile(),
        }
    }
}

/// Compiles if this process was started for it. Otherwise, only records that this program supports it.
///
/// Call it before anything else, while no other thread runs and nothing has been written to stdout.
#[must_use]
pub fn compile_if_requested() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().as_deref() != Some(OsStr::new(COMPILE_ARGUMENT)) {
        SUPPORTS_COMPILE_ARGUMENT.store(true, Ordering::Relaxed);
        return None;
    }
    let job = CompileJob::parse(arguments);
    let job = job.ok_or_else(|| wasmtime::format_err!("the arguments of the compiler are missing"));
    let result = match job.and_then(|job| job.run()) {
        Ok(code) => io::stdout().lock().write_all(&code).map_err(|error| error.to_string()),
        Err(error) => Err(format!("{error:#}")),
    };
    Some(match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            let _ = io::stderr().lock().write_all(reason.as_bytes());
            ExitCode::FAILURE
        }
    })
}

fn compile_in_process(engine: &Engine, component: &[u8]) -> wasmtime::Result<Vec<u8>> {
    engine.precompile_component(component)
}

/// Cancels the compilation of a component.
#[derive(Debug, Clone, Default)]
pub(crate) struct CompileCancellation(Arc<Mutex<Compilation>>);

#[derive(Debug, Default)]
struct Compilation {
    aborted: bool,
    process: Option<Child>,
}

impl CompileCancellation {
    /// Cancels compilation when the guard is dropped.
    pub(crate) fn when_dropped(&self) -> CancelOnDrop {
        CancelOnDrop(self.clone())
    }

    fn cancel(&self) {
        let mut compilation = self.lock();
        compilation.aborted = true;
        if let Some(process) = &mut compilation.process {
            let _ = process.kill(); // no effect once it was waited for
        }
    }

    /// Starts the process, unless compilation was cancelled.
    fn start(&self, command: &mut Command) -> io::Result<Pipes> {
        let mut compilation = self.lock();
        if compilation.aborted {
            return Err(io::Error::other("compilation was cancelled"));
        }
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let process = compilation.process.insert(command.spawn()?);
        let pipes = (process.stdin.take(), process.stdout.take(), process.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::Error::other("the process has no pipes"));
        };
        Ok(Pipes { stdin, stdout, stderr })
    }

    /// Waits for the process to exit. It has already closed its outputs.
    fn wait(&self) -> io::Result<ExitStatus> {
        match &mut self.lock().process {
            Some(process) => process.wait(),
            None => Err(io::Error::other("the process wasn't started")),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Compilation> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`CompileCancellation::when_dropped`].
pub(crate) struct CancelOnDrop(CompileCancellation);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// The pipes of the compiling process.
struct Pipes {
    stdin: ChildStdin,
    stdout: ChildStdout,
    stderr: ChildStderr,
}

/// Machine code for `engine`. `None` if it was added to the cache.
///
/// # Errors
/// The component is broken or exceeds a limit, or compilation was cancelled.
pub(crate) fn compile(
    engine: &Engine,
    component: &[u8],
    job: &CompileJob,
    abort: &CompileCancellation,
) -> Result<Option<Vec<u8>>, LoadError> {
    let limits = job.limits;
    if !SUPPORTS_COMPILE_ARGUMENT.load(Ordering::Relaxed) {
        return compile_in_process(engine, component)
            .map(Some)
            .map_err(|error| engine_error::load_error(&format!("{error:#}")));
    }
    let failed = |error: io::Error| LoadError::Internal(format!("can't start the compiler process: {error}"));
    let Pipes { mut stdin, stdout, stderr } =
        program(job).and_then(|mut program| abort.start(&mut program)).map_err(failed)?;
    // The process reads everything before it writes, so neither blocks the other. If it exits earlier, its status
    // contains the reason.
    let _ = stdin.write_all(component);
    drop(stdin);
    // Both outputs are read concurrently, because the process exits only after writing both.
    let (code, errors) = std::thread::scope(|scope| {
        let errors = scope.spawn(|| read_at_most(stderr, MAX_STDERR_BYTES));
        (read_at_most(stdout, limits.memory), errors.join())
    });
    let status = abort.wait().map_err(failed)?;
    let errors = errors.unwrap_or_else(|_| Ok(Vec::new())).map_err(failed)?;
    let code = code.map_err(failed)?;
    if status.success() {
        return Ok((!code.is_empty()).then_some(code));
    }
    let default = CompileLimits::for_component(component.len(), &Limits::default());
    Err(exit_error(status, &String::from_utf8_lossy(&errors), limits, default))
}

/// Reads to the end, but keeps only the first `max` bytes.
fn read_at_most(mut output: impl io::Read, max: u64) -> io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    output.by_ref().take(max).read_to_end(&mut kept)?;
    io::copy(&mut output, &mut io::sink())?;
    Ok(kept)
}

/// The path of this program, even if its file was replaced in the meantime.
fn program(job: &CompileJob) -> io::Result<Command> {
    let running = PathBuf::from("/proc/self/exe");
    let program = if running.exists() { running } else { std::env::current_exe()? };
    let mut command = Command::new(program);
    command
        .arg(COMPILE_ARGUMENT)
        .args(job.arguments())
        .env_clear() // the compiler needs no variables, and some contain secrets
        .process_group(0); // so that signals from the terminal don't reach it
    Ok(command)
}

/// The reason that the process failed. `default` contains the limits without configuration.
fn exit_error(status: ExitStatus, errors: &str, limits: CompileLimits, default: CompileLimits) -> LoadError {
    let CompileLimits { memory, seconds } = limits;
    let needs = |what: String, low| LoadError::CompileLimit { needs: what, low };
    let too_low = |key, limit: u64, default: u64| {
        let low = LimitTooLow::needing(key, limit.saturating_add(1).max(default));
        Some(Box::new(LimitTooLow { needed: None, ..low }))
    };
    let ended_by = |signal: Signal| status.signal() == Some(signal.as_raw());
    if ended_by(Signal::XCPU) {
        let low = too_low(
            LimitKey::CompileTime,
            seconds.saturating_mul(1000),
            default.seconds.saturating_mul(1000),
        );
        return needs(format!("more than {seconds} seconds"), low);
    }
    // Killed by the system when out of memory, or by a user: the component isn't at fault.
    if [Signal::KILL, Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT].into_iter().any(ended_by) {
        return LoadError::CompilerKilled;
    }
    // At the limit, the stack can't grow either. An overflow of the stack itself is reported on stderr.
    let is_stack_at_limit = ended_by(Signal::SEGV) && errors.is_empty();
    if is_stack_at_limit
        || errors.contains("memory allocation of")
        || errors.contains("Cannot allocate memory")
    {
        let low = too_low(LimitKey::CompileMemory, memory, default.memory);
        let memory = ByteSize::b(memory).display().iec();
        return needs(format!("more than {memory} of memory"), low);
    }
    if status.signal().is_some() || errors.contains("panicked at") {
        tracing::warn!(
            "the compiler ended with {status}: {}",
            text::clean_line(errors, 4 * text::MAX_SENTENCE_BYTES)
        );
        return needs("more than the compiler can handle".to_owned(), None);
    }
    engine_error::load_error(errors)
}

#[cfg(test)]
mod tests;
