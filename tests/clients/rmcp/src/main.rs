//! Tests the official Rust SDK as a client of the fixture, over each transport and in every revision.
//!
//! Usage: `rmcp-client [--http URL] [--unix ADDRESS] [--websocket URL] [--stdio COMMAND…]`, or `rmcp-client --oauth`.
//! Each check prints a line: `ok`, `FAILED` or `-` (not supported by the client), then client, transport, revision and capability.

mod checks;
mod oauth;
mod seen;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;
use rmcp::model::ProtocolVersion;
use rmcp::service::RunningService;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientLifecycleMode, ClientServiceExt as _, RoleClient};
use tokio::process::Command;
use tokio::time::timeout;

use crate::seen::{Handler, Seen};

/// The version that `Cargo.toml` pins.
pub(crate) const CLIENT: &str = "rmcp-3.11.0";

/// The maximum time for a check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(120);

/// The revisions, the first stateless one last.
const REVISIONS: [ProtocolVersion; 5] = [
    ProtocolVersion::V_2024_11_05,
    ProtocolVersion::V_2025_03_26,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

/// A connected client.
pub(crate) type Service = RunningService<RoleClient, Handler>;

/// A client with its received messages and its revision.
pub(crate) struct Connection {
    pub(crate) service: Service,
    pub(crate) seen: Seen,
    pub(crate) revision: ProtocolVersion,
}

impl Connection {
    /// True if the revision has no sessions.
    pub(crate) fn stateless(&self) -> bool {
        self.revision >= ProtocolVersion::V_2026_07_28
    }
}

/// A server to connect to.
enum Target {
    Http(String),
    Stdio(Vec<String>),
    /// The transport's name, and the command of the bridge to it.
    Bridged(&'static str, Vec<String>),
}

impl Target {
    fn name(&self) -> &'static str {
        match self {
            Self::Http(_) => "http",
            Self::Stdio(_) => "stdio",
            Self::Bridged(name, _) => name,
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    if std::env::args().nth(1).is_some_and(|word| word == "--oauth") {
        return match oauth::serve_commands().await {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error:#}");
                ExitCode::FAILURE
            }
        };
    }
    let mut failed = 0;
    match targets() {
        Ok(targets) => {
            for target in &targets {
                for revision in REVISIONS {
                    failed += run_checks(target, &revision).await;
                }
            }
        }
        Err(error) => {
            eprintln!("{error}");
            failed += 1;
        }
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Parses the command line.
fn targets() -> Result<Vec<Target>> {
    let mut words = std::env::args().skip(1);
    let mut targets = Vec::new();
    let mut addresses = Vec::new();
    while let Some(word) = words.next() {
        match (word.as_str(), words.next()) {
            ("--http", Some(url)) => targets.push(Target::Http(url)),
            ("--unix", Some(address)) => addresses.push(("unix", address)),
            ("--websocket", Some(url)) => addresses.push(("websocket", url)),
            ("--stdio", Some(program)) => {
                let bridge = |address| vec![program.clone(), "connect".to_owned(), address];
                let bridged = addresses.drain(..).map(|(name, address)| Target::Bridged(name, bridge(address)));
                let bridged: Vec<_> = bridged.collect();
                targets.push(Target::Stdio(std::iter::once(program).chain(words.by_ref()).collect()));
                targets.extend(bridged);
            }
            (word, _) => bail!("unknown argument `{word}`"),
        }
    }
    if targets.is_empty() {
        bail!("`--http URL` or `--stdio COMMAND…` is required");
    }
    Ok(targets)
}

/// Runs all checks over one connection. Returns the number of failures.
async fn run_checks(target: &Target, revision: &ProtocolVersion) -> usize {
    let label = format!("{CLIENT} {} {revision}", target.name());
    let connection = match timeout(CHECK_TIMEOUT, connect(target, revision)).await {
        Ok(Ok(connection)) => connection,
        Ok(Err(error)) => return report(&label, "connect", Err(error)),
        Err(_late) => return report(&label, "connect", Err(anyhow::anyhow!("no answer"))),
    };
    let mut failed = report(&label, "connect", Ok(()));
    for (name, check) in checks::CHECKS {
        let checked: LocalBoxFuture<'_, Result<()>> = check(&connection);
        let end = timeout(CHECK_TIMEOUT, checked).map(|end| end.unwrap_or_else(|late| Err(late.into())));
        failed += report(&label, name, end.await);
    }
    drop(connection.service.cancel().await);
    failed
}

/// Prints the result of a check. Returns the number of failures, 0 or 1.
fn report(label: &str, name: &str, end: Result<()>) -> usize {
    match end {
        Ok(()) => println!("ok {label} {name}"),
        Err(error) if error.is::<checks::Unsupported>() => println!("- {label} {name}: {error}"),
        Err(error) => {
            println!("FAILED {label} {name}: {}", format!("{error:#}").replace('\n', " "));
            return 1;
        }
    }
    0
}

/// Connects, with or without the handshake, and checks the revision.
async fn connect(target: &Target, revision: &ProtocolVersion) -> Result<Connection> {
    let seen = Seen::default();
    let handler = Handler::new(seen.clone(), revision.clone());
    let lifecycle = if *revision >= ProtocolVersion::V_2026_07_28 {
        ClientLifecycleMode::Auto { preferred_versions: vec![revision.clone()], legacy_version: None }
    } else {
        ClientLifecycleMode::Initialize
    };
    let service = match target {
        Target::Http(url) => {
            let transport = StreamableHttpClientTransport::from_uri(url.as_str());
            handler.serve_with_lifecycle(transport, lifecycle).await?
        }
        Target::Stdio(words) | Target::Bridged(_, words) => {
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]);
            handler.serve_with_lifecycle(TokioChildProcess::new(command)?, lifecycle).await?
        }
    };
    let actual = service.peer().peer_info().map(|info| info.protocol_version.clone());
    if actual.as_ref() != Some(revision) {
        bail!("the connection uses revision {actual:?}");
    }
    Ok(Connection { service, seen, revision: revision.clone() })
}
