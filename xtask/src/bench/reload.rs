//! What replacing a plugin costs: the time from the last write of its file to the first answer by the new code, and what
//! calls of another plugin notice of it.
//!
//! There are two generated components of each size. A replacement is the one that doesn't serve, with some bytes at its
//! end that nothing had before, so that its code must be compiled; or, where the cache is measured, without.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::binaries::Binaries;
use super::config::Scratch;
use super::poll::Poll;
use super::subject::{Era, Subject, gateway};
use super::traffic::{median, run};
use crate::report;
use crate::server::Server;

/// How often a plugin is replaced in a round to see how long it takes.
const REPLACEMENTS: usize = 5;

/// A replacement that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// How long is waited between two calls that ask for the version.
const PAUSE: Duration = Duration::from_millis(1);

/// How many connections call the other plugin meanwhile.
const CONNECTIONS: &str = "4";

/// How large the plugin is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Size {
    Small,
    Large,
}

impl Size {
    const ALL: [Self; 2] = [Self::Small, Self::Large];

    fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Large => "large",
        }
    }

    /// How many functions it has that nothing calls: 2,500 are about 3 MB.
    fn functions(self) -> &'static str {
        match self {
            Self::Small => "0",
            Self::Large => "2500",
        }
    }
}

/// Whether there is compiled code for a replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Code {
    New,
    Cached,
}

/// A plugin that is replaced, and its gateway.
struct Bench {
    server: Server,
    file: PathBuf,
    /// Two components, which answer `v1` and `v2`.
    components: [Vec<u8>; 2],
    count: usize,
}

impl Bench {
    fn start(binaries: &Binaries, scratch: &Scratch, size: Size) -> Result<Self> {
        let file = scratch.file(&format!("{}.wasm", size.name()));
        let mut components = [Vec::new(), Vec::new()];
        for (version, component) in (1..).zip(&mut components) {
            let mut make = Command::new(&binaries.generated);
            let version = u32::to_string(&version);
            make.arg(&file).args(["--version", &version, "--functions", size.functions()]);
            let made = make.status().with_context(|| format!("{make:?} can't be started"))?;
            if !made.success() {
                bail!("{make:?} failed");
            }
            *component = fs::read(&file)?;
        }
        fs::write(&file, &components[0])?;
        let config = scratch.replaced(binaries, size.name(), &file)?;
        let server = Server::start(gateway(binaries, &config, &[]))?;
        Ok(Self { server, file, components, count: 0 })
    }

    /// Replaces the plugin by the version that doesn't serve, and waits for its first answer; how long that took, ms.
    fn replace(&mut self, code: Code) -> Result<f64> {
        self.count += 1;
        let version = self.count % 2;
        let mut bytes = self.components[version].clone();
        match code {
            Code::New => mark(&mut bytes, self.count),
            Code::Cached => {}
        }
        let beside = self.file.with_extension("new");
        fs::write(&beside, bytes)?;
        let mut poll = Poll::connect(&self.server.url)?;
        let wanted = format!("\"v{}\"", version + 1);
        fs::rename(&beside, &self.file)?;
        let begun = Instant::now();
        while !poll.call("version")?.contains(&wanted) {
            if begun.elapsed() > LIMIT {
                bail!("a replacement isn't served; the gateway said:\n{}", self.server.log());
            }
            thread::sleep(PAUSE);
        }
        Ok(begun.elapsed().as_secs_f64() * 1e3)
    }
}

/// Ends a component with a section that means nothing and that no other has.
fn mark(component: &mut Vec<u8>, count: usize) {
    const NAME: &[u8] = b"\x04mark";
    let count = count.to_le_bytes();
    component.extend([0, (NAME.len() + count.len()) as u8]);
    component.extend_from_slice(NAME);
    component.extend(count);
}

/// All of it.
pub(super) fn all(binaries: &Binaries, scratch: &Scratch, rounds: usize, time: Duration) -> Result<Value> {
    let mut latency = Vec::new();
    let mut beside = Vec::new();
    for size in Size::ALL {
        report::note(&format!("replacing a {} plugin", size.name()));
        let mut bench = Bench::start(binaries, scratch, size)?;
        latency.push(latencies(&mut bench, size, rounds)?);
        beside.push(traffic(binaries, &mut bench, size, rounds, time)?);
    }
    Ok(json!({ "latency": latency, "beside": beside }))
}

/// How long it takes until the new code answers.
fn latencies(bench: &mut Bench, size: Size, rounds: usize) -> Result<Value> {
    // Each is compiled once, as it is.
    for _ in 0..bench.components.len() {
        bench.replace(Code::Cached)?;
    }
    let (mut new, mut cached) = (Vec::new(), Vec::new());
    for _ in 0..rounds * REPLACEMENTS {
        new.push(bench.replace(Code::New)?);
        cached.push(bench.replace(Code::Cached)?);
    }
    let all = |times: Vec<f64>| {
        let most = times.iter().copied().reduce(f64::max);
        json!({ "p50_ms": median(times), "max_ms": most })
    };
    Ok(json!({
        "plugin": size.name(),
        "bytes": bench.components[0].len(),
        "replacements": new.len(),
        "new": all(new),
        "cached": all(cached),
    }))
}

/// What calls of another plugin take while this one is replaced all the time, and while it isn't, in turn.
fn traffic(
    binaries: &Binaries,
    bench: &mut Bench,
    size: Size,
    rounds: usize,
    time: Duration,
) -> Result<Value> {
    let (mut quiet, mut during, mut count) = (Vec::new(), Vec::new(), 0);
    for _ in 0..rounds {
        quiet.push(load(binaries, &bench.server, time)?);
        let (figures, replaced) = while_replaced(binaries, bench, time)?;
        during.push(figures);
        count += replaced;
    }
    let of = |all: &[Value], key: &str| median(all.iter().filter_map(|one| one[key].as_f64()).collect());
    let both = |key: &str| json!({ "without": of(&quiet, key), "during": of(&during, key) });
    Ok(json!({
        "plugin": size.name(),
        "replacements": count,
        "calls_per_second": both("calls_per_second"),
        "p50_us": both("p50_us"),
        "p99_us": both("p99_us"),
    }))
}

/// The load, while the plugin is replaced by new code again and again; and how often it was.
fn while_replaced(binaries: &Binaries, bench: &mut Bench, time: Duration) -> Result<(Value, usize)> {
    let over = AtomicBool::new(false);
    let server = generator(binaries, &bench.server, time);
    thread::scope(|scope| {
        let replacing = scope.spawn(|| {
            let mut count = 0;
            while !over.load(Ordering::Relaxed) {
                bench.replace(Code::New)?;
                count += 1;
            }
            Ok(count)
        });
        let mut server = server;
        let figures = run(&mut server);
        over.store(true, Ordering::Relaxed);
        let count: Result<usize> = replacing.join().expect("replacing doesn't panic");
        Ok((figures?, count?))
    })
}

fn load(binaries: &Binaries, server: &Server, time: Duration) -> Result<Value> {
    run(&mut generator(binaries, server, time))
}

/// The load generator, which calls the other plugin.
fn generator(binaries: &Binaries, server: &Server, time: Duration) -> Command {
    let mut command = Command::new(&binaries.load);
    command.arg("http").args(Subject::Moongate(Era::Stateless).load_flags());
    command.args(["--connections", CONNECTIONS, "--bytes", "100"]);
    command.args(["--seconds", &time.as_secs_f64().to_string()]);
    command.args(["--url", &server.url, "--pid", &server.pid().to_string()]);
    command
}
