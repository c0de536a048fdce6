//! What calls of an honest plugin notice of guests that loop: none, one, and as many as their plugin may have at once.
//!
//! The loops are calls over connections that stay open; none may have ended when the load has. Each setting takes its
//! turn in every round, so that a slow moment of the machine hits all alike.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use super::binaries::Binaries;
use super::config::Scratch;
use super::poll::request;
use super::subject::{Era, Subject, gateway};
use super::traffic::{median, run};
use crate::report;
use crate::server::Server;

/// How many guests loop.
const LOOPS: [usize; 3] = [0, 1, 8];

/// How many connections call the honest plugin: one that has nobody to wait for but the loops.
const CONNECTIONS: &str = "1";

/// How long loops get to begin, and to end.
const SETTLE: Duration = Duration::from_millis(300);

/// A guest that loops; it ends when this is dropped.
struct Loop(TcpStream);

impl Loop {
    fn begin(url: &str) -> Result<Self> {
        let address = url.strip_prefix("http://").and_then(|rest| rest.split('/').next());
        let address = address.with_context(|| format!("`{url}` is no endpoint"))?;
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(request(address, "zoo_spin_forever").as_bytes())?;
        stream.set_nonblocking(true)?;
        Ok(Self(stream))
    }

    /// It has said nothing, so it loops.
    fn goes_on(&mut self) -> Result<()> {
        let mut answer = [0; 1024];
        match self.0.read(&mut answer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error).context("a loop was cut off"),
            Ok(count) => bail!("a loop ended: {}", String::from_utf8_lossy(&answer[..count])),
        }
    }
}

/// The figures of each setting: medians of the rounds.
pub(super) fn all(binaries: &Binaries, scratch: &Scratch, rounds: usize, time: Duration) -> Result<Value> {
    report::note("an honest plugin beside guests that loop");
    let config = scratch.fairness(binaries)?;
    drop(Server::start(gateway(binaries, &config, &[]))?); // compiles, if that wasn't done yet
    let server = Server::start(gateway(binaries, &config, &[]))?;
    let mut found: Vec<Vec<Value>> = LOOPS.map(|_| Vec::new()).into();
    for round in 0..rounds {
        // Whoever comes first in one round comes later in the next.
        for turn in 0..LOOPS.len() {
            let at = (turn + round) % LOOPS.len();
            found[at].push(beside(binaries, &server, LOOPS[at], time)?);
        }
    }
    let of = |all: &[Value], key: &str| median(all.iter().filter_map(|one| one[key].as_f64()).collect());
    let entry = |(loops, all): (usize, &Vec<Value>)| {
        let mut entry = json!({ "loops": loops });
        for key in ["calls", "calls_per_second", "p50_us", "p99_us"] {
            entry[key] = json!(of(all, key));
        }
        entry
    };
    Ok(LOOPS.into_iter().zip(&found).map(entry).collect())
}

/// The load beside so many loops.
fn beside(binaries: &Binaries, server: &Server, loops: usize, time: Duration) -> Result<Value> {
    let mut looping = (0..loops).map(|_| Loop::begin(&server.url)).collect::<Result<Vec<_>>>()?;
    thread::sleep(SETTLE);
    let mut command = Command::new(&binaries.load);
    command.arg("http").args(Subject::Moongate(Era::Stateless).load_flags());
    command.args(["--tool", "echo", "--connections", CONNECTIONS, "--bytes", "100"]);
    command.args(["--seconds", &time.as_secs_f64().to_string()]);
    command.args(["--url", &server.url, "--pid", &server.pid().to_string()]);
    let figures = run(&mut command)?;
    looping.iter_mut().try_for_each(Loop::goes_on)?;
    ensure!(figures["p99_us"].is_f64(), "a run without figures: {figures}");
    drop(looping);
    thread::sleep(SETTLE);
    Ok(figures)
}
