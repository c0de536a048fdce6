//! `cargo xtask`: the project's chores, one verb a file.
//!
//! xtask has few dependencies so that it builds in a second or two on a fresh machine; it does everything else by
//! running cargo and other tools. Contributors and CI run it; nothing links to it.

#![forbid(unsafe_code)]

mod balancer;
mod bench;
mod build_plugins;
mod demo;
mod deny;
mod dist;
mod foreign_plugins;
mod install;
mod interop;
mod project;
mod report;
mod run;
mod server;
mod shared_store;
mod site;
mod soak;
mod terminal_svg;
mod test;
mod tidy;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::project::Project;

/// The text of `--help`.
const HELP: &str = "\
The project's chores.

Usage: cargo xtask <verb> [options]

Verbs:
  demo [--stdio]         build the gateway and the plugins, then serve `gateway.toml` over HTTP (or stdio)
  test [--fast]          run everything that CI runs; --fast skips clippy, docs, site, cargo-deny and interop tests
  interop [suite…]       test the built gateway with real MCP clients; suites: typescript, python, rust, inspector,
                         oauth, browser, official, conformance, replicas
  build-plugins          build all guests and copy them to `plugins/dist/<name>.wasm`; JavaScript and Python guests
                         need npm and Python
  dist [part…]           write the files of a release: static binary, packages, container image; `dist --help` lists
                         the parts
  site                   build the documentation site in `target/site` with mdBook, and check its links
  terminal-svg           redraw `docs/terminal.svg`, the terminal in the README, with the built gateway
  tidy                   check file conventions that no compiler checks
  bench [part…]          measure the gateway and its peers (release build), or write `docs/performance.md` from the
                         results; `bench --help` lists the parts
  soak [--minutes N]     repeat the tests and the interop tests (default: 30 minutes), with more reloads, kills and
                         hostile calls

Environment:
  MOONGATE_TOOLS_DIR     where packages from npm and PyPI are installed; default: `tools` in cargo's target directory
  MOONGATE_OFFICIAL      the plugins that the suite `official` compares, such as `memory time`; default: all
  CI=true                fail instead of skipping when a tool is missing
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run_verb(&arguments) {
        Ok(code) => code,
        Err(error) => {
            report::error(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs the verb that is the first argument.
fn run_verb(arguments: &[String]) -> Result<ExitCode> {
    let Some((verb, rest)) = arguments.split_first() else {
        report::print(HELP);
        return Ok(ExitCode::from(2));
    };
    if rest.iter().any(|word| word == "--help" || word == "-h") && !["bench", "dist"].contains(&verb.as_str())
    {
        report::print(HELP);
        return Ok(ExitCode::SUCCESS);
    }
    let project = Project::find()?;
    match verb.as_str() {
        "help" | "--help" | "-h" => {
            report::print(HELP);
            Ok(ExitCode::SUCCESS)
        }
        "build-plugins" => build_plugins::run(&project, rest),
        "demo" => demo::run(&project, rest),
        "test" => test::run(&project, rest),
        "interop" => interop::run(&project, rest),
        "terminal-svg" => terminal_svg::run(&project, rest),
        "tidy" => tidy::run(&project, rest),
        "dist" => dist::run(&project, rest),
        "bench" => bench::run(&project, rest),
        "site" => site::run(&project, rest),
        "soak" => soak::run(&project, rest),
        other => bail!("unknown verb `{other}`; see `cargo xtask --help`"),
    }
}

/// Rejects arguments that a verb doesn't take.
fn reject_arguments(verb: &str, rest: &[&String]) -> Result<()> {
    match rest.first() {
        None => Ok(()),
        Some(word) => bail!("`cargo xtask {verb}` doesn't take `{word}`; see `cargo xtask --help`"),
    }
}
