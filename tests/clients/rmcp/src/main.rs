//! What the official Rust SDK, as a client, sees of the fixture: over both transports, in every revision.
//!
//! Usage: `rmcp-client [--http URL] [--stdio COMMAND…]`. Each check prints a line: `ok`, `FAILED` or `-` (the client
//! can't), then client, transport, revision and capability.

mod checks;
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
const CLIENT: &str = "rmcp-3.11.0";

/// The time after which a check hangs.
const LIMIT: Duration = Duration::from_secs(120);

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

/// A client, what it was told, and its revision.
pub(crate) struct Connection {
    pub(crate) service: Service,
    pub(crate) seen: Seen,
    pub(crate) revision: ProtocolVersion,
}

impl Connection {
    /// Whether the revision has no sessions.
    pub(crate) fn stateless(&self) -> bool {
        self.revision >= ProtocolVersion::V_2026_07_28
    }
}

/// A server to connect to.
enum Target {
    Http(String),
    Stdio(Vec<String>),
}

impl Target {
    fn name(&self) -> &'static str {
        match self {
            Self::Http(_) => "http",
            Self::Stdio(_) => "stdio",
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut failed = 0;
    match targets() {
        Ok(targets) => {
            for target in &targets {
                for revision in REVISIONS {
                    failed += judge(target, &revision).await;
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

/// The command line.
fn targets() -> Result<Vec<Target>> {
    let mut words = std::env::args().skip(1);
    let mut targets = Vec::new();
    while let Some(word) = words.next() {
        match (word.as_str(), words.next()) {
            ("--http", Some(url)) => targets.push(Target::Http(url)),
            ("--stdio", Some(program)) => {
                targets.push(Target::Stdio(std::iter::once(program).chain(words.by_ref()).collect()));
            }
            (word, _) => bail!("unknown argument `{word}`"),
        }
    }
    if targets.is_empty() {
        bail!("give `--http URL` or `--stdio COMMAND…`");
    }
    Ok(targets)
}

/// All checks of one way to connect; gives back how many failed.
async fn judge(target: &Target, revision: &ProtocolVersion) -> usize {
    let label = format!("{CLIENT} {} {revision}", target.name());
    let connection = match timeout(LIMIT, connect(target, revision)).await {
        Ok(Ok(connection)) => connection,
        Ok(Err(error)) => return told(&label, "connect", Err(error)),
        Err(_late) => return told(&label, "connect", Err(anyhow::anyhow!("no answer"))),
    };
    let mut failed = told(&label, "connect", Ok(()));
    for (name, check) in checks::CHECKS {
        let checked: LocalBoxFuture<'_, Result<()>> = check(&connection);
        let end = timeout(LIMIT, checked).map(|end| end.unwrap_or_else(|late| Err(late.into())));
        failed += told(&label, name, end.await);
    }
    drop(connection.service.cancel().await);
    failed
}

/// Prints how a check went; 1 where it failed.
fn told(label: &str, name: &str, end: Result<()>) -> usize {
    match end {
        Ok(()) => println!("ok {label} {name}"),
        Err(error) if error.is::<checks::Lacks>() => println!("- {label} {name}: {error}"),
        Err(error) => {
            println!("FAILED {label} {name}: {}", format!("{error:#}").replace('\n', " "));
            return 1;
        }
    }
    0
}

/// Connects, with the handshake or without, and makes sure of the revision.
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
        Target::Stdio(words) => {
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]);
            handler.serve_with_lifecycle(TokioChildProcess::new(command)?, lifecycle).await?
        }
    };
    let spoken = service.peer().peer_info().map(|info| info.protocol_version.clone());
    if spoken.as_ref() != Some(revision) {
        bail!("it speaks {spoken:?}");
    }
    Ok(Connection { service, seen, revision: revision.clone() })
}
