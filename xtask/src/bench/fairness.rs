//! The effect of looping guests on the calls to another plugin: with no loop, one, and the highest number that the limit
//! of the looping plugin allows.
//!
//! The loops are calls over connections that stay open; all must still run when the load ends. The settings take turns in
//! every round, so that a slow moment of the machine affects all of them.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use super::binaries::Binaries;
use super::config::ScratchDirectory;
use super::poll::call_request;
use super::subject::{Era, Subject, gateway};
use super::traffic::{median, run};
use crate::report;
use crate::server::Server;

/// The numbers of looping guests.
const LOOP_COUNTS: [usize; 3] = [0, 1, 8];

/// The connections that call the other plugin: one, which waits for nothing but the loops.
const CONNECTIONS: &str = "1";

/// The time for loops to start and to end.
const SETTLE_TIME: Duration = Duration::from_millis(300);

/// A looping guest; it ends when this is dropped.
struct LoopingCall(TcpStream);

impl LoopingCall {
    fn start(url: &str) -> Result<Self> {
        let address = url.strip_prefix("http://").and_then(|rest| rest.split('/').next());
        let address = address.with_context(|| format!("invalid endpoint `{url}`"))?;
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(call_request(address, "zoo_spin_forever").as_bytes())?;
        stream.set_nonblocking(true)?;
        Ok(Self(stream))
    }

    /// Fails if there is a response, because then the loop ended.
    fn ensure_running(&mut self) -> Result<()> {
        let mut answer = [0; 1024];
        match self.0.read(&mut answer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error).context("the connection of a loop failed"),
            Ok(count) => bail!("a loop ended: {}", String::from_utf8_lossy(&answer[..count])),
        }
    }
}

/// The results of each setting: medians of the rounds.
pub(super) fn all(
    binaries: &Binaries,
    scratch: &ScratchDirectory,
    rounds: usize,
    time: Duration,
) -> Result<Value> {
    report::note("calls during looping guests");
    let config = scratch.fairness(binaries)?;
    drop(Server::start(gateway(binaries, &config, &[]))?); // compiles if nothing is cached
    let server = Server::start(gateway(binaries, &config, &[]))?;
    let mut found: Vec<Vec<Value>> = LOOP_COUNTS.map(|_| Vec::new()).into();
    for round in 0..rounds {
        // Each round starts with another setting.
        for turn in 0..LOOP_COUNTS.len() {
            let at = (turn + round) % LOOP_COUNTS.len();
            found[at].push(load_during_loops(binaries, &server, LOOP_COUNTS[at], time)?);
        }
    }
    let middle = |all: &[Value], key: &str| median(all.iter().filter_map(|one| one[key].as_f64()).collect());
    let entry = |(loops, all): (usize, &Vec<Value>)| {
        let mut entry = json!({ "loops": loops });
        for key in ["calls", "calls_per_second", "p50_us", "p99_us"] {
            entry[key] = json!(middle(all, key));
        }
        entry
    };
    Ok(LOOP_COUNTS.into_iter().zip(&found).map(entry).collect())
}

/// Runs the load during a number of loops.
fn load_during_loops(binaries: &Binaries, server: &Server, loops: usize, time: Duration) -> Result<Value> {
    let mut looping = (0..loops).map(|_| LoopingCall::start(&server.url)).collect::<Result<Vec<_>>>()?;
    thread::sleep(SETTLE_TIME);
    let mut command = Command::new(&binaries.load);
    command.arg("http").args(Subject::Moongate(Era::Stateless).load_flags());
    command.args(["--tool", "echo", "--connections", CONNECTIONS, "--bytes", "100"]);
    command.args(["--seconds", &time.as_secs_f64().to_string()]);
    command.args(["--url", &server.url, "--pid", &server.pid().to_string()]);
    let figures = run(&mut command)?;
    looping.iter_mut().try_for_each(LoopingCall::ensure_running)?;
    ensure!(figures["p99_us"].is_f64(), "the load generator reported no latency: {figures}");
    drop(looping);
    thread::sleep(SETTLE_TIME);
    Ok(figures)
}
