//! `judges`: real MCP clients, installed from committed lockfiles, that do through the built gateway all that they can,
//! over each transport and in each revision; official servers, answering the same calls as our plugins; and the
//! official conformance suite.
//!
//! They share no line of code with the gateway, so what they accept others accept too. A judge whose language isn't
//! on the machine is skipped, loudly; with `CI=true` that is a failure.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::install::{self, Missing};
use crate::project::Project;
use crate::report::{self, Tally};
use crate::run::Run;
use crate::server::Server;

mod conformance;
mod inspector;
mod official;
mod python;
mod rust;
mod table;
mod typescript;

use table::Table;

/// A judge: its name, and how it judges.
type Judge = (&'static str, fn(&Project, &mut Table) -> Result<Verdict>);

/// All judges.
const JUDGES: [Judge; 6] = [
    ("typescript", typescript::sdks),
    ("python", python::sdks),
    ("rust", rust::sdk),
    ("inspector", inspector::judge),
    ("official", |project, _| official::servers(project)),
    ("conformance", |project, _| conformance::judge(project)),
];

/// What the clients are served.
const CONFIG: &str = "tests/clients/everything.toml";

/// What says where the file of a plugin is that clients replace while they are connected.
const REPLACED: &str = "MOONGATE_REPLACED";

/// A judge that hasn't ended after this hangs.
const LIMIT: Duration = Duration::from_secs(300);

/// What came of a judge.
#[derive(Debug)]
enum Verdict {
    /// It made its checks.
    Judged(Tally),
    /// It isn't to be had on this machine.
    Skipped(Missing),
}

/// Runs the verb.
pub(crate) fn run(project: &Project, rest: &[String]) -> Result<ExitCode> {
    let names: Vec<&str> = JUDGES.iter().map(|(name, _)| *name).collect();
    if let Some(word) = rest.iter().find(|word| !names.contains(&word.as_str())) {
        bail!("there is no judge `{word}`; there are {}", names.join(", "));
    }
    let tally = if rest.is_empty() {
        all(project)
    } else {
        chosen(project, &mut Table::default(), |name| rest.iter().any(|word| word == name))
    };
    report::say(&format!("\n{}\n", report::line(tally)));
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs all judges, and keeps what the clients were seen to do.
pub(crate) fn all(project: &Project) -> Tally {
    let mut table = Table::default();
    let mut total = chosen(project, &mut table, |_| true);
    if total.skipped == 0 {
        total.add(table.keep(project).unwrap_or_else(|error| {
            report::problem(&format!("{error:#}"));
            Tally::FAIL
        }));
    }
    total
}

/// Runs the judges that are `wanted`.
fn chosen(project: &Project, table: &mut Table, wanted: impl Fn(&str) -> bool) -> Tally {
    let mut total = Tally::default();
    for (name, judge) in JUDGES.into_iter().filter(|(name, _)| wanted(name)) {
        report::say(&format!("\n--- judge: {name}\n"));
        total.add(match judge(project, table) {
            Ok(Verdict::Judged(tally)) => tally,
            Ok(Verdict::Skipped(missing)) => install::skipped(&format!("judge {name}"), &missing),
            Err(error) => {
                report::problem(&format!("judge {name}: {error:#}"));
                Tally::FAIL
            }
        });
    }
    for gap in table.gaps() {
        report::say(&format!("FAILED {gap}: nothing was said of it\n"));
        total.add(Tally::FAIL);
    }
    total
}

/// Starts the built gateway over HTTP, on a port of the system's choice, with a configuration of the checkout.
fn gateway(project: &Project, config: &str) -> Result<Server> {
    let mut command = Command::new(project.gateway());
    command.args(["serve", "--http", "127.0.0.1:0", "-c", config]).current_dir(project.root());
    command.env("MOONGATE_CACHE_DIR", project.code_cache()).env(REPLACED, replaced(project)?);
    Server::start(command).context("the gateway doesn't serve")
}

/// The file of a plugin that clients replace while they are connected, in cargo's target folder.
fn replaced(project: &Project) -> Result<PathBuf> {
    let folder = project.target().join("judges");
    let file = folder.join("replaced.wasm");
    if !file.is_file() {
        fs::create_dir_all(&folder).with_context(|| format!("`{}` can't be made", folder.display()))?;
        let first = project.dist().join("time.wasm");
        fs::copy(&first, &file).with_context(|| format!("`{}` can't be copied", first.display()))?;
    }
    Ok(file)
}

/// Where a server offers the HTTP transport of 2024-11-05.
fn sse(server: &Server) -> String {
    server.url.replace("/mcp", "/sse")
}

/// The command that serves stdio with a configuration of the checkout.
fn stdio(project: &Project, config: &str) -> Vec<String> {
    let program = project.gateway().display().to_string();
    let config = project.root().join(config).display().to_string();
    [program.as_str(), "serve", "--stdio", "-c", &config].map(str::to_owned).into()
}

/// Runs a script that prints a line for each of its checks, counts them and notes what was seen.
fn script(project: &Project, run: Run, table: &mut Table) -> Result<Tally> {
    let mut tally = Tally::default();
    let run = run.env("MOONGATE_CACHE_DIR", project.code_cache()).env(REPLACED, replaced(project)?);
    let run = run.folder(project.root());
    let good = run.lines(LIMIT, |line| tally.add(table.note(line)))?;
    if tally == Tally::default() {
        bail!("the script made no check at all");
    }
    // A script that broke off says so by its exit code only.
    if !good && tally.failed == 0 {
        tally.add(Tally::FAIL);
    }
    Ok(tally)
}

/// Prints what a server wrote, where its judge found fault.
fn explain(server: &Server, tally: Tally) -> Tally {
    if tally.failed > 0 {
        report::note(&format!("--- the gateway's own last words\n{}", server.log()));
    }
    tally
}

#[cfg(test)]
mod tests;
