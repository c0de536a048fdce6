//! Compiling apart: in a process of its own that may use so much memory and so much time, and then is ended.
//!
//! A component of some kilobytes can make the compiler take gigabytes, minutes, or its whole stack, and it can't be
//! interrupted. The program therefore starts itself once more for each component that isn't in the cache: it goes in
//! over stdin, the machine code comes back over stdout. A program that doesn't answer to this (a test, somebody
//! else's that uses the library) compiles in its own process. Used by `load`; `main` calls [`compile_if_asked`] first of all.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitCode, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytesize::ByteSize;
use moongate_core::config::{LimitKey, Limits};
use rustix::process::{Resource, Rlimit, Signal};
use wasmtime::Engine;

use super::error::{LoadError, TooLow};
use crate::host::diagnostics::text;
use crate::host::engine;

/// The argument that asks for this.
const ASKED: &str = "compile-component-from-stdin";

/// How much of what the process says on stderr is read: an error may quote names of the component at length.
const SAID: u64 = 64 << 10;

/// Does this program answer to it?
static ANSWERS: AtomicBool = AtomicBool::new(false);

/// What compiling may use. What isn't set is enough for the largest components of interpreters several times over, even
/// unoptimised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::host) struct Allowance {
    /// Addresses, in bytes.
    memory: u64,
    /// Processor time, in seconds.
    seconds: u64,
}

impl Allowance {
    /// What the table says, or else as much as a component of so many bytes may need.
    pub(in crate::host) fn of(length: usize, limits: &Limits) -> Self {
        let length = length as u64;
        let whole = |time: Duration| time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0));
        Self {
            memory: limits.compile_memory.map_or((1 << 30) + 64 * length, |most| most.as_u64()),
            seconds: limits.compile_time.map_or(30 + (length >> 20) * 6, whole),
        }
    }

    /// As arguments for the process, which reads them with [`Self::read`].
    fn arguments(self) -> [String; 2] {
        [self.memory.to_string(), self.seconds.to_string()]
    }

    fn read(mut arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let mut number = || arguments.next()?.to_str()?.parse().ok();
        Some(Self { memory: number()?, seconds: number()? })
    }

    /// Keeps this process to it.
    fn keep(self) -> io::Result<()> {
        let limit = |resource, most| {
            rustix::process::setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
        };
        limit(Resource::As, self.memory)?;
        limit(Resource::Core, 0)?;
        // The soft end is told apart from being killed for another reason.
        let cpu = Rlimit { current: Some(self.seconds), maximum: Some(self.seconds + 1) };
        rustix::process::setrlimit(Resource::Cpu, cpu)?;
        #[cfg(target_os = "linux")]
        {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            let _ = rustix::process::nice(10);
            // Where memory runs out all the same, this is the process to do without.
            let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
        }
        Ok(())
    }
}

/// Compiles, if this process was started for that; otherwise only notes that this program can be.
///
/// To be called before anything else: no thread runs yet, and nothing was written to stdout.
#[must_use]
pub fn compile_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().as_deref() != Some(OsStr::new(ASKED)) {
        ANSWERS.store(true, Ordering::Relaxed);
        return None;
    }
    let compiled = component(Allowance::read(arguments))
        .and_then(|component| compile_here(&engine::compiling()?, &component));
    let said = match compiled {
        Ok(code) => io::stdout().lock().write_all(&code).map_err(|error| error.to_string()),
        Err(error) => Err(format!("{error:#}")),
    };
    Some(match said {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            let _ = io::stderr().lock().write_all(reason.as_bytes());
            ExitCode::FAILURE
        }
    })
}

/// What comes over stdin; then no more is used than it allows.
fn component(allowance: Option<Allowance>) -> wasmtime::Result<Vec<u8>> {
    let allowance =
        allowance.ok_or_else(|| wasmtime::format_err!("nobody said how much compiling may use"))?;
    let mut component = Vec::new();
    io::stdin().lock().read_to_end(&mut component)?;
    allowance.keep()?;
    Ok(component)
}

fn compile_here(engine: &Engine, component: &[u8]) -> wasmtime::Result<Vec<u8>> {
    engine.precompile_component(component)
}

/// Ends the compiling of a component.
#[derive(Debug, Clone, Default)]
pub(in crate::host) struct Abort(Arc<Mutex<Compiling>>);

/// How far it is.
#[derive(Debug, Default)]
struct Compiling {
    aborted: bool,
    process: Option<Child>,
}

impl Abort {
    /// Ends it when the guard is dropped.
    pub(in crate::host) fn when_dropped(&self) -> AbortWhenDropped {
        AbortWhenDropped(self.clone())
    }

    fn now(&self) {
        let mut compiling = self.lock();
        compiling.aborted = true;
        if let Some(process) = &mut compiling.process {
            let _ = process.kill(); // does nothing once it was waited for
        }
    }

    /// Starts the process, unless nobody wants its result any more.
    fn start(&self, command: &mut Command) -> io::Result<Pipes> {
        let mut compiling = self.lock();
        if compiling.aborted {
            return Err(io::Error::other("nobody waits for it any more"));
        }
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let process = compiling.process.insert(command.spawn()?);
        let pipes = (process.stdin.take(), process.stdout.take(), process.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::Error::other("it has no pipes"));
        };
        Ok(Pipes { stdin, stdout, stderr })
    }

    /// Waits for its end, which is near: it has closed its outputs.
    fn wait(&self) -> io::Result<ExitStatus> {
        match &mut self.lock().process {
            Some(process) => process.wait(),
            None => Err(io::Error::other("it wasn't started")),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Compiling> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See [`Abort::when_dropped`].
pub(in crate::host) struct AbortWhenDropped(Abort);

impl Drop for AbortWhenDropped {
    fn drop(&mut self) {
        self.0.now();
    }
}

/// The compiling process's ends.
struct Pipes {
    stdin: ChildStdin,
    stdout: ChildStdout,
    stderr: ChildStderr,
}

/// Machine code for `engine`.
///
/// # Errors
/// The component is broken, or takes more than compiling may use; or it was aborted.
pub(in crate::host) fn compile(
    engine: &Engine,
    component: &[u8],
    allowance: Allowance,
    abort: &Abort,
) -> Result<Vec<u8>, LoadError> {
    if !ANSWERS.load(Ordering::Relaxed) {
        return compile_here(engine, component).map_err(|error| broken(&format!("{error:#}")));
    }
    let failed = |error: io::Error| LoadError::Internal(format!("no process for compiling: {error}"));
    let Pipes { mut stdin, stdout, stderr } =
        program(allowance).and_then(|mut program| abort.start(&mut program)).map_err(failed)?;
    // It reads all before it answers, so neither waits for the other. If it ends earlier, its status says why.
    let _ = stdin.write_all(component);
    drop(stdin);
    // Both outputs at once: it ends only when both can be written.
    let (code, said) = std::thread::scope(|scope| {
        let said = scope.spawn(|| some(stderr, SAID));
        (some(stdout, allowance.memory), said.join())
    });
    let status = abort.wait().map_err(failed)?;
    let said = said.unwrap_or_else(|_| Ok(Vec::new())).map_err(failed)?;
    let code = code.map_err(failed)?;
    if status.success() {
        return Ok(code);
    }
    let usual = Allowance::of(component.len(), &Limits::default());
    Err(reason(status, &String::from_utf8_lossy(&said), allowance, usual))
}

/// Reads to the end, but keeps only so much.
fn some(mut output: impl io::Read, most: u64) -> io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    output.by_ref().take(most).read_to_end(&mut kept)?;
    io::copy(&mut output, &mut io::sink())?;
    Ok(kept)
}

/// This program once more, even if its file was replaced since.
fn program(allowance: Allowance) -> io::Result<Command> {
    let running = PathBuf::from("/proc/self/exe");
    let program = if running.exists() { running } else { std::env::current_exe()? };
    let mut command = Command::new(program);
    command
        .arg(ASKED)
        .args(allowance.arguments())
        .env_clear() // it needs none, and some are secrets
        .process_group(0); // what a terminal sends to the gateway isn't meant for it
    Ok(command)
}

/// Why there is no code. `usual`: what it may use where its table says nothing.
fn reason(status: ExitStatus, said: &str, allowed: Allowance, usual: Allowance) -> LoadError {
    let Allowance { memory, seconds } = allowed;
    let needs = |what: String, low| LoadError::Compile { needs: what, low };
    let more_than = |key, allowed: u64, usual: u64| {
        let low = TooLow::wanting(key, allowed.saturating_add(1).max(usual));
        Some(Box::new(TooLow { wanted: None, ..low }))
    };
    let ended_by = |signal: Signal| status.signal() == Some(signal.as_raw());
    if ended_by(Signal::XCPU) {
        let low = more_than(
            LimitKey::CompileTime,
            seconds.saturating_mul(1000),
            usual.seconds.saturating_mul(1000),
        );
        return needs(format!("more than {seconds} seconds"), low);
    }
    // By the system that is out of memory, or by somebody: that says nothing of the component.
    if [Signal::KILL, Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT].into_iter().any(ended_by) {
        return LoadError::Killed;
    }
    if said.contains("memory allocation of") || said.contains("Cannot allocate memory") {
        let low = more_than(LimitKey::CompileMemory, memory, usual.memory);
        let memory = ByteSize::b(memory).display().iec();
        return needs(format!("more than {memory} of memory"), low);
    }
    if status.signal().is_some() || said.contains("panicked at") {
        tracing::warn!("compiling ended by {status}: {}", text::line(said, 4 * text::SENTENCE));
        return needs("more than the compiler can do".to_owned(), None);
    }
    broken(said)
}

fn broken(said: &str) -> LoadError {
    // The engine has it switched off, and says of each part of it that it needs it.
    if said.contains("component model async") {
        return LoadError::Async;
    }
    LoadError::Broken { reason: text::line(said, text::SENTENCE) }
}

#[cfg(test)]
mod tests;
