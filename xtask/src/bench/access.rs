//! The cost of access control and of the access log, and the calls of one caller while another one floods the gateway.
//!
//! All gateways run at the same time, and their loads take turns in every round, so that a slow moment of the machine affects
//! all of them.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::binaries::Binaries;
use super::config::{ScratchDirectory, Token};
use super::progress::Progress;
use super::subject::{Era, Subject, ready_gateway, ready_server};
use super::throughput::{median, run};
use crate::server::Server;

/// Connections that measure throughput, and those of a flood.
const CONNECTIONS: usize = 32;

/// The time for a flood to start and to end.
const SETTLE_TIME: Duration = Duration::from_millis(300);

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AccessCase {
    /// Neither authentication nor an access log.
    Open,
    AccessLog,
    /// Authentication by a token, roles, rates, and the access log.
    Controlled,
    /// The same on one connection, while nobody else calls.
    Alone,
    /// The same, while another caller calls as often as possible on many connections.
    NextToFlood,
    /// The same, and the other caller's rate is limited.
    NextToLimitedFlood,
}

impl AccessCase {
    const ALL: [Self; 6] = [
        Self::Open,
        Self::AccessLog,
        Self::Controlled,
        Self::Alone,
        Self::NextToFlood,
        Self::NextToLimitedFlood,
    ];

    /// The name in the tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Open => "without access control and access log",
            Self::AccessLog => "with access log",
            Self::Controlled => "with token, role, rates and access log",
            Self::Alone => "one caller on one connection",
            Self::NextToFlood => "next to a caller that floods",
            Self::NextToLimitedFlood => "next to a caller that floods above its rate",
        }
    }

    fn connections(self) -> usize {
        match self {
            Self::Open | Self::AccessLog | Self::Controlled => CONNECTIONS,
            Self::Alone | Self::NextToFlood | Self::NextToLimitedFlood => 1,
        }
    }

    fn flood(self) -> Option<Token> {
        match self {
            Self::NextToFlood => Some(Token::Flood),
            Self::NextToLimitedFlood => Some(Token::LimitedFlood),
            Self::Open | Self::AccessLog | Self::Controlled | Self::Alone => None,
        }
    }
}

/// The gateways of all cases.
struct AccessBench<'a> {
    binaries: &'a Binaries,
    open: Server,
    logged: Server,
    controlled: Server,
    /// Has the configuration of `controlled`, and serves all cases with one connection, so that floods don't affect the
    /// cases that are compared with `open`.
    flooded: Server,
    /// The arguments of the flood's calls.
    arguments: String,
}

/// A client that floods the gateway; it ends when this is dropped.
struct Flood(Child);

impl Drop for Flood {
    fn drop(&mut self) {
        drop(self.0.kill()); // it has nothing to clean up
        drop(self.0.wait());
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
    let bench = AccessBench::start(binaries, scratch)?;
    let mut found: Vec<Vec<Value>> = AccessCase::ALL.map(|_| Vec::new()).into();
    for round in 0..rounds {
        progress.note(&format!("access control: round {} of {rounds}", round + 1));
        // Each round starts with another case.
        for turn in 0..AccessCase::ALL.len() {
            let at = (turn + round) % AccessCase::ALL.len();
            found[at].push(bench.measure(AccessCase::ALL[at], time)?);
        }
    }
    let entry = |(case, rounds): (AccessCase, &Vec<Value>)| {
        let mut entry = json!({ "case": case.name(), "connections": case.connections() });
        for key in ["calls_per_second", "p50_us", "p99_us", "cpu_us_per_call"] {
            entry[key] = json!(median(rounds.iter().filter_map(|one| one[key].as_f64()).collect()));
        }
        entry
    };
    Ok(AccessCase::ALL.into_iter().zip(&found).map(entry).collect())
}

/// The duration of all cases.
pub(super) fn estimate(rounds: usize, time: Duration) -> Duration {
    let cases = AccessCase::ALL.len() as u32;
    rounds as u32 * cases * (time + 2 * SETTLE_TIME + Duration::from_millis(400)) + Duration::from_secs(5)
}

impl<'a> AccessBench<'a> {
    fn start(binaries: &'a Binaries, scratch: &ScratchDirectory) -> Result<Self> {
        let echo = scratch.echo(binaries)?;
        let access = scratch.access(binaries)?;
        let arguments = scratch.file("flood.json");
        fs::write(&arguments, json!({ "text": "x".repeat(100) }).to_string())?;
        let without_log = ("MOONGATE_LOG", "info,moongate::access=off");
        Ok(Self {
            binaries,
            open: ready_server(binaries, &echo, None, &[without_log])?,
            logged: ready_gateway(binaries, &echo)?,
            controlled: ready_server(binaries, &access, Some(Token::Caller), &[])?,
            flooded: ready_server(binaries, &access, Some(Token::Caller), &[])?,
            arguments: arguments.display().to_string(),
        })
    }

    fn measure(&self, case: AccessCase, time: Duration) -> Result<Value> {
        let (server, token) = match case {
            AccessCase::Open => (&self.open, None),
            AccessCase::AccessLog => (&self.logged, None),
            AccessCase::Controlled => (&self.controlled, Some(Token::Caller)),
            AccessCase::Alone | AccessCase::NextToFlood | AccessCase::NextToLimitedFlood => {
                (&self.flooded, Some(Token::Caller))
            }
        };
        let mut flood = case.flood().map(|token| self.start_flood(token)).transpose()?;
        thread::sleep(SETTLE_TIME);
        let mut command = Command::new(&self.binaries.load);
        command.arg("http").args(Subject::Moongate(Era::Stateless).load_flags());
        command.args(["--tool", "echo", "--bytes", "100", "--connections", &case.connections().to_string()]);
        command.args(["--seconds", &time.as_secs_f64().to_string()]);
        command.args(["--url", &server.url, "--pid", &server.pid().to_string()]);
        command.args(token.into_iter().flat_map(|token| ["--token", token.secret()]));
        let figures = run(&mut command)?;
        if let Some(flood) = &mut flood {
            let ended = flood.0.try_wait()?;
            ensure!(ended.is_none(), "the client that floods the gateway ended");
        }
        drop(flood);
        thread::sleep(SETTLE_TIME);
        Ok(figures)
    }

    /// Starts a client with the lowest priority, so that it doesn't compete with the measured client itself.
    fn start_flood(&self, token: Token) -> Result<Flood> {
        let mut command = Command::new("nice");
        command.args(["-n", "19"]).arg(&self.binaries.load).args(["repeat", "--url", &self.flooded.url]);
        command.args(["--revision", Era::Stateless.revision(), "--seconds", "3600", "--tool", "echo"]);
        command.args(["--arguments", &self.arguments, "--connections", &CONNECTIONS.to_string()]);
        command.args(["--token", token.secret()]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.spawn().map(Flood).context("can't start `nice`")
    }
}
