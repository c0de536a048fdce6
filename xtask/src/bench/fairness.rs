//! The calls of an honest client next to neighbours that need much: loops, large results and lists, large fills of memory,
//! expensive checks, and the compiler.
//!
//! The honest client uses one connection, so that it waits for nothing but the neighbours. The cases take turns in every
//! round, so that a slow moment of the machine affects all of them. The clients of the neighbours have the lowest priority,
//! so that they don't compete with the honest client themselves.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use super::binaries::Binaries;
use super::config::{FairnessPlugins, ScratchDirectory};
use super::poll::call_request;
use super::progress::Progress;
use super::reload::add_unique_section;
use super::subject::{Era, Subject, ready_gateway};
use super::throughput::{median, run};
use crate::report;
use crate::server::Server;

/// The connections that call the honest plugin.
const CONNECTIONS: &str = "1";

/// The time for neighbours to start and to end.
const SETTLE_TIME: Duration = Duration::from_millis(300);

/// A compiler that takes longer to start or to end hangs.
const COMPILER_TIMEOUT: Duration = Duration::from_secs(300);

/// The state of the compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CompilerState {
    Running,
    Ended,
}

/// The neighbours of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Neighbours {
    Nobody,
    /// Guests that loop without end.
    Loops(usize),
    /// Calls whose results are 7 MB of text.
    LargeResults(usize),
    /// Requests for a list of tools of 5 MB.
    Lists(usize),
    /// Guests that fill 200 MiB with single instructions.
    MemoryFills(usize),
    /// Calls whose arguments are expensive to check against a pattern.
    PatternChecks(usize),
    /// The compiler, with a component of 20 MB.
    Compiler,
}

impl Neighbours {
    const ALL: [Self; 8] = [
        Self::Nobody,
        Self::Loops(1),
        Self::Loops(8),
        Self::LargeResults(16),
        Self::Lists(4),
        Self::MemoryFills(2),
        Self::PatternChecks(32),
        Self::Compiler,
    ];

    /// The neighbours that must hardly be noticed.
    pub(super) const WITH_GOAL: [Self; 3] = [Self::Loops(8), Self::LargeResults(16), Self::Compiler];

    /// The name in the tables.
    pub(super) fn name(self) -> String {
        match self {
            Self::Nobody => "none".to_owned(),
            Self::Loops(1) => "1 looping guest".to_owned(),
            Self::Loops(count) => format!("{count} looping guests"),
            Self::LargeResults(count) => format!("{count} calls with results of 7 MB"),
            Self::Lists(count) => format!("{count} lists of tools of 5 MB"),
            Self::MemoryFills(count) => format!("{count} guests that fill 200 MiB"),
            Self::PatternChecks(count) => format!("{count} expensive pattern checks"),
            Self::Compiler => "the compiler with 20 MB".to_owned(),
        }
    }
}

/// A gateway with the plugins of all neighbours.
struct FairnessBench<'a> {
    binaries: &'a Binaries,
    server: Server,
    plugins: FairnessPlugins,
    /// The arguments of the calls that are expensive to check.
    words: PathBuf,
    /// The arguments of the calls with large results.
    result_size: PathBuf,
    /// The component that is compiled.
    large_component: Vec<u8>,
}

/// A neighbour at work; it ends when this is dropped.
enum RunningNeighbour {
    /// A looping guest.
    Loop(TcpStream),
    /// A client that repeats a request.
    Client(Child),
}

impl RunningNeighbour {
    /// Fails if the neighbour has stopped.
    fn ensure_running(&mut self) -> Result<()> {
        match self {
            Self::Loop(stream) => {
                let mut answer = [0; 1024];
                match stream.read(&mut answer) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
                    Err(error) => Err(error).context("the connection of a loop failed"),
                    Ok(count) => bail!("a loop ended: {}", String::from_utf8_lossy(&answer[..count])),
                }
            }
            Self::Client(child) => match child.try_wait()? {
                None => Ok(()),
                Some(status) => bail!("the client of a neighbour ended: {status}"),
            },
        }
    }
}

impl Drop for RunningNeighbour {
    fn drop(&mut self) {
        match self {
            Self::Loop(_) => {}
            Self::Client(child) => {
                drop(child.kill()); // it has nothing to clean up
                drop(child.wait());
            }
        }
    }
}

/// The results of each case: medians of the rounds.
pub(super) fn all(
    binaries: &Binaries,
    scratch: &ScratchDirectory,
    rounds: usize,
    time: Duration,
    progress: &Progress,
) -> Result<Value> {
    progress.note("neighbours: compiling their plugins");
    let bench = FairnessBench::start(binaries, scratch)?;
    let mut found: Vec<Vec<Value>> = Neighbours::ALL.map(|_| Vec::new()).into();
    for round in 0..rounds {
        progress.note(&format!("neighbours: round {} of {rounds}", round + 1));
        // Each round starts with another case.
        for turn in 0..Neighbours::ALL.len() {
            let at = (turn + round) % Neighbours::ALL.len();
            let neighbours = Neighbours::ALL[at];
            match bench.measure(neighbours, round, time) {
                Ok(figures) => found[at].push(figures),
                Err(error) => {
                    let log = bench.server.log();
                    report::error(&format!(
                        "next to {}: {error:#}; the gateway's log:\n{log}",
                        neighbours.name()
                    ));
                }
            }
        }
    }
    let is_missing = |(neighbours, all): (Neighbours, &Vec<Value>)| all.is_empty().then(|| neighbours.name());
    let missing: Vec<String> = Neighbours::ALL.into_iter().zip(&found).filter_map(is_missing).collect();
    if !missing.is_empty() {
        report::error(&format!("not measured: p99 next to {}", missing.join(", ")));
    }
    ensure!(!found[0].is_empty(), "nothing to compare with");
    let middle = |all: &[Value], key: &str| median(all.iter().filter_map(|one| one[key].as_f64()).collect());
    let entry = |(neighbours, all): (Neighbours, &Vec<Value>)| {
        let mut entry = json!({ "neighbours": neighbours.name() });
        for key in ["calls", "calls_per_second", "p50_us", "p99_us"] {
            entry[key] = json!(middle(all, key));
        }
        entry
    };
    Ok(Neighbours::ALL.into_iter().zip(&found).map(entry).collect())
}

/// The duration of all cases.
pub(super) fn estimate(rounds: usize, time: Duration) -> Duration {
    let cases = Neighbours::ALL.len() as u32;
    let compilation = Duration::from_secs(15);
    2 * compilation
        + rounds as u32 * (compilation + cases * (time + 2 * SETTLE_TIME + Duration::from_millis(400)))
}

impl<'a> FairnessBench<'a> {
    fn start(binaries: &'a Binaries, scratch: &ScratchDirectory) -> Result<Self> {
        let (config, plugins) = scratch.fairness(binaries)?;
        let words = scratch.file("words.json");
        fs::write(&words, expensive_words().to_string())?;
        let result_size = scratch.file("result-size.json");
        fs::write(&result_size, json!({ "bytes": 7_000_000 }).to_string())?;
        let server = ready_gateway(binaries, &config)?;
        let large_component = fs::read(&plugins.large)?;
        Ok(Self { binaries, server, plugins, words, result_size, large_component })
    }

    /// Runs the honest client next to the neighbours.
    fn measure(&self, neighbours: Neighbours, round: usize, time: Duration) -> Result<Value> {
        let mut running = self.start_neighbours(neighbours)?;
        thread::sleep(SETTLE_TIME);
        let figures = if neighbours == Neighbours::Compiler {
            self.while_compiled(round, time)?
        } else {
            self.honest_load(time)?
        };
        running.iter_mut().try_for_each(RunningNeighbour::ensure_running)?;
        ensure!(figures["p99_us"].is_f64(), "the load generator reported no latency: {figures}");
        drop(running);
        thread::sleep(SETTLE_TIME);
        Ok(figures)
    }

    fn start_neighbours(&self, neighbours: Neighbours) -> Result<Vec<RunningNeighbour>> {
        match neighbours {
            Neighbours::Nobody | Neighbours::Compiler => Ok(Vec::new()),
            Neighbours::Loops(count) => (0..count).map(|_| self.start_loop()).collect(),
            Neighbours::LargeResults(count) => {
                let size = self.result_size.display().to_string();
                self.start_client(count, &["--tool", "zoo_huge_result", "--arguments", &size])
            }
            Neighbours::Lists(count) => self.start_client(count, &["--list"]),
            Neighbours::MemoryFills(count) => self.start_client(count, &["--tool", "fill_version"]),
            Neighbours::PatternChecks(count) => {
                let words = self.words.display().to_string();
                self.start_client(count, &["--tool", "check_version", "--arguments", &words])
            }
        }
    }

    fn start_loop(&self) -> Result<RunningNeighbour> {
        let url = &self.server.url;
        let address = url.strip_prefix("http://").and_then(|rest| rest.split('/').next());
        let address = address.with_context(|| format!("invalid endpoint `{url}`"))?;
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(call_request(address, "zoo_spin_forever").as_bytes())?;
        stream.set_nonblocking(true)?;
        Ok(RunningNeighbour::Loop(stream))
    }

    /// Starts a client that repeats a request on several connections, with the lowest priority.
    fn start_client(&self, connections: usize, flags: &[&str]) -> Result<Vec<RunningNeighbour>> {
        let mut command = Command::new("nice");
        command.args(["-n", "19"]).arg(&self.binaries.load).args(["repeat", "--url", &self.server.url]);
        command.args(["--revision", Era::Stateless.revision(), "--seconds", "3600", "--patience", "600"]);
        command.args(["--connections", &connections.to_string()]).args(flags);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.spawn().context("can't start `nice`")?;
        Ok(vec![RunningNeighbour::Client(child)])
    }

    fn honest_load(&self, time: Duration) -> Result<Value> {
        let mut command = Command::new(&self.binaries.load);
        command.arg("http").args(Subject::Moongate(Era::Stateless).load_flags());
        command.args(["--tool", "echo", "--connections", CONNECTIONS, "--bytes", "100"]);
        command.args(["--seconds", &time.as_secs_f64().to_string()]);
        command.args(["--url", &self.server.url, "--pid", &self.server.pid().to_string()]);
        run(&mut command)
    }

    /// Runs the honest client while a new version of the large component is compiled.
    fn while_compiled(&self, round: usize, time: Duration) -> Result<Value> {
        self.replace_large_component(round)?;
        self.wait_for_compiler(CompilerState::Running)?;
        let figures = self.honest_load(time)?;
        ensure!(self.compiler_state()? == CompilerState::Running, "the compiler ended before the load");
        self.wait_for_compiler(CompilerState::Ended)?;
        Ok(figures)
    }

    fn wait_for_compiler(&self, state: CompilerState) -> Result<()> {
        let end = Instant::now() + COMPILER_TIMEOUT;
        while self.compiler_state()? != state {
            ensure!(Instant::now() < end, "the compiler doesn't become {state:?}");
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// The compiler is the only child process of the gateway.
    fn compiler_state(&self) -> Result<CompilerState> {
        let parent = self.server.pid().to_string();
        for process in fs::read_dir("/proc")?.flatten() {
            // A process that has ended meanwhile has no file.
            let stat = fs::read_to_string(process.path().join("stat")).unwrap_or_default();
            let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
            if after_name.split_ascii_whitespace().nth(1) == Some(&parent) {
                return Ok(CompilerState::Running);
            }
        }
        Ok(CompilerState::Ended)
    }

    fn replace_large_component(&self, version: usize) -> Result<()> {
        let mut bytes = self.large_component.clone();
        add_unique_section(&mut bytes, version);
        let temporary = self.plugins.large.with_extension("new");
        fs::write(&temporary, bytes)?;
        fs::rename(&temporary, &self.plugins.large).context("can't replace the large component")
    }
}

/// Strings whose check against the pattern of the plugin `check` takes long (xorshift, Marsaglia 2003).
fn expensive_words() -> Value {
    let mut state = 1_u32;
    let mut letter = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        if state & 1 == 0 { 'a' } else { 'b' }
    };
    let mut word = || (0..1_000).map(|_| letter()).collect::<String>();
    json!({ "words": (0..100).map(|_| word()).collect::<Vec<_>>() })
}
