//! `interop`: tests with programs that share no code with the gateway.
//!
//! Real MCP clients, installed from committed lockfiles, use everything that they support through the built gateway, over
//! each transport and in each revision. A browser uses the status page, and a collector receives traces. Official servers
//! answer the same calls as our plugins, and the official conformance suite runs against the gateway. The clients and the
//! conformance suite also run against three gateways behind a load balancer. A suite whose language isn't installed is
//! skipped with a warning; with `CI=true` it fails.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::install::{self, MissingTool};
use crate::project::Project;
use crate::report::{self, Tally};
use crate::run::ProcessRun;
use crate::server::Server;

mod browser;
mod conformance;
mod inspector;
mod oauth;
mod official;
mod otel;
mod page;
mod python;
mod replicas;
mod rust;
mod table;
mod tls;
mod typescript;

use table::ClientTable;
use tls::TlsGateway;

/// A suite's name and the function that runs it.
type Suite = (&'static str, fn(&Project, &mut ClientTable) -> Result<SuiteOutcome>);

/// All suites.
const SUITES: [Suite; 10] = [
    ("typescript", typescript::run),
    ("python", python::run),
    ("rust", rust::run),
    ("inspector", inspector::run),
    ("oauth", oauth::run),
    ("browser", |project, _| browser::run(project)),
    ("otel", |project, _| otel::run(project)),
    ("official", |project, _| official::run(project)),
    ("conformance", |project, _| conformance::run(project)),
    ("replicas", |project, _| replicas::run(project)),
];

/// The configuration that clients are tested with.
const CLIENTS_CONFIG: &str = "tests/clients/everything.toml";

/// The variable with the path of the plugin that clients replace while they are connected.
const REPLACED_PLUGIN_VARIABLE: &str = "MOONGATE_REPLACED";

/// A suite that takes longer hangs. On a busy machine, comparing the official servers can take half of this time, because
/// the gateway runs long calls at the lowest priority.
const SUITE_TIMEOUT: Duration = Duration::from_secs(1200);

/// The end of a suite.
#[derive(Debug)]
enum SuiteOutcome {
    /// Its checks were made.
    Checked(Tally),
    /// A tool that it needs isn't installed.
    Skipped(MissingTool),
}

/// Runs the verb.
pub(crate) fn run(project: &Project, rest: &[String]) -> Result<ExitCode> {
    let names: Vec<&str> = SUITES.iter().map(|(name, _)| *name).collect();
    if let Some(word) = rest.iter().find(|word| !names.contains(&word.as_str())) {
        bail!("unknown suite `{word}`; the suites are {}", names.join(", "));
    }
    let tally = if rest.is_empty() {
        run_all(project)
    } else {
        run_suites(project, &mut ClientTable::default(), |name| rest.iter().any(|word| word == name))
    };
    report::print(&format!("\n{}\n", report::summary(tally)));
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs all suites and updates the page of client results.
pub(crate) fn run_all(project: &Project) -> Tally {
    let mut table = ClientTable::default();
    let mut total = run_suites(project, &mut table, |_| true);
    if total.skipped == 0 {
        total.add(table.update_page(project).unwrap_or_else(|error| {
            report::error(&format!("{error:#}"));
            Tally::FAIL
        }));
    }
    total
}

/// Runs the suites that are `wanted`.
fn run_suites(project: &Project, table: &mut ClientTable, wanted: impl Fn(&str) -> bool) -> Tally {
    let mut total = Tally::default();
    for (name, run) in SUITES.into_iter().filter(|(name, _)| wanted(name)) {
        report::print(&format!("\n--- interop: {name}\n"));
        total.add(match run(project, table) {
            Ok(SuiteOutcome::Checked(tally)) => tally,
            Ok(SuiteOutcome::Skipped(missing)) => install::skip_loudly(&format!("interop {name}"), &missing),
            Err(error) => {
                report::error(&format!("interop {name}: {error:#}"));
                Tally::FAIL
            }
        });
    }
    for check in table.missing_checks() {
        report::print(&format!("FAILED {check}: the client's script didn't report it\n"));
        total.add(Tally::FAIL);
    }
    total
}

/// Starts the built gateway over HTTP, on a port that the system chooses, and over a Unix socket, with a configuration of
/// the checkout.
fn start_gateway(project: &Project, config: &str) -> Result<Server> {
    let mut command = Command::new(project.gateway());
    command.args(["serve", "--http", "127.0.0.1:0", "-c", config]).current_dir(project.root());
    command.args(["--listen", &socket_address(project, "plain")]);
    command.env("MOONGATE_CACHE_DIR", project.code_cache());
    command.env(REPLACED_PLUGIN_VARIABLE, replaced_plugin(project)?);
    Server::start(command).context("the gateway didn't start")
}

/// The plugin that clients replace while they are connected, in cargo's target directory.
fn replaced_plugin(project: &Project) -> Result<PathBuf> {
    let directory = project.target().join("interop");
    let file = directory.join("replaced.wasm");
    if !file.is_file() {
        fs::create_dir_all(&directory).with_context(|| format!("can't create `{}`", directory.display()))?;
        let first = project.dist().join("time.wasm");
        fs::copy(&first, &file).with_context(|| format!("can't copy `{}`", first.display()))?;
    }
    Ok(file)
}

/// The address of a gateway's Unix socket. A gateway that was killed leaves it behind, and the next one replaces it.
fn socket_address(project: &Project, name: &str) -> String {
    format!("unix:{}", project.target().join(format!("interop/run/{name}.sock")).display())
}

/// The URL of a WebSocket.
fn websocket_url(server: &Server) -> String {
    server.url.replacen("http", "ws", 1)
}

/// The URL of the HTTP transport of 2024-11-05.
fn sse_url(server: &Server) -> String {
    server.url.replace("/mcp", "/sse")
}

/// The command that serves stdio with a configuration of the checkout.
fn stdio_command(project: &Project, config: &str) -> Vec<String> {
    let program = project.gateway().display().to_string();
    let config = project.root().join(config).display().to_string();
    [program.as_str(), "serve", "--stdio", "-c", &config].map(str::to_owned).into()
}

/// Runs a script that prints a line for each of its checks, and counts and records these.
fn run_script(project: &Project, run: ProcessRun, table: &mut ClientTable) -> Result<Tally> {
    let mut tally = Tally::default();
    let run = run.env("MOONGATE_CACHE_DIR", project.code_cache());
    let run = run.env(REPLACED_PLUGIN_VARIABLE, replaced_plugin(project)?).current_dir(project.root());
    let is_success = run.for_each_line(SUITE_TIMEOUT, |line| tally.add(table.record(line)))?;
    if tally == Tally::default() {
        bail!("the script made no checks");
    }
    // Only the exit code shows that a script stopped early.
    if !is_success && tally.failed == 0 {
        tally.add(Tally::FAIL);
    }
    Ok(tally)
}

/// Runs a script that prints a line for each check, and counts them.
fn count_lines(run: ProcessRun) -> Result<SuiteOutcome> {
    let mut tally = Tally::default();
    let is_success = run.for_each_line(SUITE_TIMEOUT, |line| {
        tally.add(match line.split(' ').next() {
            Some("ok") => Tally::PASS,
            Some("FAILED") => Tally::FAIL,
            Some(_) | None => Tally::default(),
        });
    })?;
    if !is_success && tally.failed == 0 {
        tally.add(Tally::FAIL);
    }
    Ok(SuiteOutcome::Checked(tally))
}

/// Prints the log of a gateway if a check failed.
fn print_log_on_failure(server: &Server, tally: Tally) -> Tally {
    if tally.failed > 0 {
        report::note(&format!("--- the end of the gateway's log\n{}", server.log()));
    }
    tally
}

#[cfg(test)]
mod tests;
