//! The cost of being watched: the admin listener, an open status page, and traces that are exported to a collector.
//!
//! All gateways run at the same time, and their loads take turns in every round. Each figure is compared with the one of the
//! same round without anything that watches, because the costs are small.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::binaries::Binaries;
use super::config::ScratchDirectory;
use super::progress::Progress;
use super::subject::{Era, Subject, ready_server};
use super::throughput::{median, run};
use crate::server::Server;

/// Connections of the load.
const CONNECTIONS: usize = 32;

/// The interval at which the gateways export spans, in milliseconds: shorter than the default, so that short loads have some.
const EXPORT_INTERVAL: &str = "500";

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SightCase {
    /// Neither an admin listener nor telemetry.
    Unwatched,
    /// An unused admin listener.
    Admin,
    /// The same, with one open status page.
    OpenPage,
    /// Traces with the default limit per second, and metrics.
    Traces,
    /// A trace of every request, and metrics.
    AllTraces,
}

impl SightCase {
    const ALL: [Self; 5] = [Self::Unwatched, Self::Admin, Self::OpenPage, Self::Traces, Self::AllTraces];

    /// The name in the tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Unwatched => "neither admin listener nor traces",
            Self::Admin => "admin listener, no open page",
            Self::OpenPage => "one open status page",
            Self::Traces => "traces, 100 per second (default), and metrics",
            Self::AllTraces => "a trace of every request, and metrics",
        }
    }
}

/// The gateways of all cases, and the collector.
struct SightBench<'a> {
    binaries: &'a Binaries,
    unwatched: Server,
    admin: Server,
    admin_address: String,
    traced: Server,
    all_traced: Server,
    collector: Collector,
}

/// A collector that accepts everything and counts its bytes.
#[derive(Debug)]
struct Collector {
    url: String,
    received: Arc<AtomicU64>,
}

/// A status page that follows its events; it is closed when this is dropped.
struct OpenPage {
    connection: TcpStream,
    received: Arc<AtomicU64>,
}

/// The results of each case: medians of the rounds.
pub(super) fn all(
    binaries: &Binaries,
    scratch: &ScratchDirectory,
    rounds: usize,
    time: Duration,
    progress: &Progress,
) -> Result<Value> {
    let bench = SightBench::start(binaries, scratch)?;
    let mut found: Vec<Vec<Value>> = SightCase::ALL.map(|_| Vec::new()).into();
    for round in 0..rounds {
        progress.note(&format!("page and traces: round {} of {rounds}", round + 1));
        // Each round starts with another case.
        for turn in 0..SightCase::ALL.len() {
            let at = (turn + round) % SightCase::ALL.len();
            found[at].push(bench.measure(SightCase::ALL[at], time)?);
        }
    }
    ensure!(bench.collector.received.load(Ordering::Relaxed) > 0, "the collector received nothing");
    let rate = |figures: &Value| figures["calls_per_second"].as_f64();
    let entry = |(case, rounds): (SightCase, &Vec<Value>)| {
        let mut entry = json!({ "case": case.name(), "connections": CONNECTIONS });
        for key in ["calls_per_second", "p50_us", "p99_us", "cpu_us_per_call"] {
            entry[key] = json!(median(rounds.iter().filter_map(|one| one[key].as_f64()).collect()));
        }
        let ratios =
            rounds.iter().zip(&found[0]).filter_map(|(with, without)| Some(rate(with)? / rate(without)?));
        entry["ratio"] = json!(median(ratios.collect()));
        entry
    };
    Ok(SightCase::ALL.into_iter().zip(&found).map(entry).collect())
}

/// The duration of all cases.
pub(super) fn estimate(rounds: usize, time: Duration) -> Duration {
    let cases = SightCase::ALL.len() as u32;
    rounds as u32 * cases * (time + Duration::from_millis(400)) + Duration::from_secs(5)
}

impl<'a> SightBench<'a> {
    fn start(binaries: &'a Binaries, scratch: &ScratchDirectory) -> Result<Self> {
        let collector = Collector::start()?;
        let variables =
            [("MOONGATE_LOG", "info,moongate::access=off"), ("OTEL_BSP_SCHEDULE_DELAY", EXPORT_INTERVAL)];
        let serve = |name: &str, tables: &str| {
            ready_server(binaries, &scratch.watched(binaries, name, tables)?, None, &variables)
        };
        let telemetry = format!("[telemetry]\notlp = \"{}\"\n", collector.url);
        let admin = serve("admin", "[admin]\nlisten = \"127.0.0.1:0\"\n")?;
        Ok(Self {
            binaries,
            unwatched: serve("unwatched", "")?,
            admin_address: admin_address(&admin)?,
            admin,
            traced: serve("traced", &telemetry)?,
            all_traced: serve("all-traced", &format!("{telemetry}traces_per_second = 1000000\n"))?,
            collector,
        })
    }

    fn measure(&self, case: SightCase, time: Duration) -> Result<Value> {
        let server = match case {
            SightCase::Unwatched => &self.unwatched,
            SightCase::Admin | SightCase::OpenPage => &self.admin,
            SightCase::Traces => &self.traced,
            SightCase::AllTraces => &self.all_traced,
        };
        let page = match case {
            SightCase::OpenPage => Some(OpenPage::open(&self.admin_address)?),
            _ => None,
        };
        let mut command = Command::new(&self.binaries.load);
        command.arg("http").args(Subject::Moongate(Era::Stateless).load_flags());
        command.args(["--tool", "echo", "--bytes", "100", "--connections", &CONNECTIONS.to_string()]);
        command.args(["--seconds", &time.as_secs_f64().to_string()]);
        command.args(["--url", &server.url, "--pid", &server.pid().to_string()]);
        let figures = run(&mut command)?;
        if let Some(page) = page {
            ensure!(page.received.load(Ordering::Relaxed) > 0, "the open page received no events");
        }
        Ok(figures)
    }
}

/// The address of the admin listener, which the gateway prints.
fn admin_address(server: &Server) -> Result<String> {
    let log = server.log();
    let line = log.lines().find_map(|line| line.strip_prefix("admin ")?.trim().strip_prefix("http://"));
    Ok(line.with_context(|| format!("the gateway printed no admin address; its log:\n{log}"))?.to_owned())
}

impl OpenPage {
    fn open(address: &str) -> Result<Self> {
        let mut connection = TcpStream::connect(address).context("can't open the status page")?;
        write!(connection, "GET /events HTTP/1.1\r\nHost: {address}\r\n\r\n")?;
        let received = Arc::<AtomicU64>::default();
        let (mut reader, count) = (connection.try_clone()?, Arc::clone(&received));
        thread::spawn(move || {
            let mut buffer = [0; 64 * 1024];
            while let Ok(length @ 1..) = reader.read(&mut buffer) {
                count.fetch_add(length as u64, Ordering::Relaxed);
            }
        });
        Ok(Self { connection, received })
    }
}

impl Drop for OpenPage {
    fn drop(&mut self) {
        drop(self.connection.shutdown(Shutdown::Both)); // the gateway may have closed it
    }
}

impl Collector {
    fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("no free port")?;
        let url = format!("http://{}", listener.local_addr()?);
        let received = Arc::<AtomicU64>::default();
        let count = Arc::clone(&received);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let count = Arc::clone(&count);
                // A broken connection is opened again.
                thread::spawn(move || drop(accept_exports(stream, &count)));
            }
        });
        Ok(Self { url, received })
    }
}

/// Answers the exports on one connection without reading what they contain.
fn accept_exports(stream: TcpStream, received: &AtomicU64) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        let mut line = String::new();
        while reader.read_line(&mut line)? > 0 && line != "\r\n" {
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
            line.clear();
        }
        if line.is_empty() {
            return Ok(()); // closed
        }
        std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink())?;
        received.fetch_add(length, Ordering::Relaxed);
        let response = "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n";
        reader.get_mut().write_all(response.as_bytes())?;
    }
}
