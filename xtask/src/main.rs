//! `cargo xtask`: the project's chores, each a verb with a file of its own.
//!
//! It depends on nothing heavy, so that it is built in a second or two on a fresh machine; everything else it does
//! by starting cargo and the tools beside it. People and CI start it; nothing links to it.

#![forbid(unsafe_code)]

mod bench;
mod build_plugins;
mod demo;
mod foreign_plugins;
mod install;
mod judges;
mod picture;
mod project;
mod report;
mod run;
mod server;
mod soak;
mod test;
mod tidy;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::project::Project;

/// What `--help` prints.
const HELP: &str = "\
The project's chores.

Usage: cargo xtask <verb> [options]

Verbs:
  demo [--stdio]         build the gateway and the plugins, then serve `gateway.toml` over HTTP (or over stdio)
  test [--fast]          everything that CI runs; --fast leaves out clippy, docs and the judges
  ci                     the same as `test`
  judges [name…]         real MCP clients against the built gateway; names: typescript, python, rust, inspector, official, conformance
  build-plugins          build all guests and copy them to `plugins/dist/<name>.wasm`; those in JavaScript and Python
                         only where npm and Python are there
  picture                draw the terminal of the README, `docs/terminal.svg`, with the built gateway
  tidy                   check the habits of files that no compiler checks
  bench [options]        measure the gateway and its peers (release build); `bench reload`, `bench fairness`: only that
  soak [--minutes N]     repeat the tests and judges for a time (default: 30 minutes), and reloads, kills and hostile calls more often

Environment:
  MOONGATE_TOOLS_DIR     where packages from npm and PyPI are installed; default: `tools` in cargo's target folder
  MOONGATE_OFFICIAL      which plugins the judge `official` compares, such as `memory time`; default: all
  CI=true                what can't be installed is a failure, not a skip
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(code) => code,
        Err(error) => {
            report::problem(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs the verb that `arguments` names.
fn dispatch(arguments: &[String]) -> Result<ExitCode> {
    let Some((verb, rest)) = arguments.split_first() else {
        report::say(HELP);
        return Ok(ExitCode::from(2));
    };
    if rest.iter().any(|word| word == "--help" || word == "-h") && verb != "bench" {
        report::say(HELP);
        return Ok(ExitCode::SUCCESS);
    }
    let project = Project::find()?;
    match verb.as_str() {
        "help" | "--help" | "-h" => {
            report::say(HELP);
            Ok(ExitCode::SUCCESS)
        }
        "build-plugins" => build_plugins::run(&project, rest),
        "demo" => demo::run(&project, rest),
        "test" | "ci" => test::run(&project, rest),
        "judges" => judges::run(&project, rest),
        "picture" => picture::run(&project, rest),
        "tidy" => tidy::run(&project, rest),
        "bench" => bench::run(&project, rest),
        "soak" => soak::run(&project, rest),
        other => bail!("there is no verb `{other}`; `cargo xtask --help` lists them"),
    }
}

/// Refuses words that a verb doesn't know.
fn no_more(verb: &str, rest: &[&String]) -> Result<()> {
    match rest.first() {
        None => Ok(()),
        Some(word) => bail!("`cargo xtask {verb}` doesn't know `{word}`; see `cargo xtask --help`"),
    }
}
