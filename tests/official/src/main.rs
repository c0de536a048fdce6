//! `official`: starts an official MCP server and the gateway with the plugin that offers the same tools, sends both
//! the same calls, and compares the answers. `cargo xtask interop official` installs the servers and runs this program.
//!
//! The program doesn't link to the gateway: both sides are processes that use MCP over stdio. The comparisons and the
//! intended differences, with their reasons, are data from which `docs/official-servers.md` is generated.

#![forbid(unsafe_code)]

use std::process::ExitCode;

mod comparison; // one comparison: its checks, mismatches and intended differences
mod difference; // mismatches of two answers, and intended differences
mod normal; // the normal form of answers
mod options; // the command line
mod page; // `docs/official-servers.md`
mod random; // random calls from a seed
mod report; // printing
mod server; // an MCP server process on stdio
mod subjects; // the comparisons, one module per server

use options::Options;

fn main() -> ExitCode {
    let result = Options::read(std::env::args().skip(1)).and_then(|options| run(&options));
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            report::note(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs the selected comparisons and updates the page. Returns whether all of them passed.
fn run(options: &Options) -> anyhow::Result<bool> {
    let mut passed = true;
    for subject in subjects::ALL.iter().filter(|subject| options.includes(subject.plugin)) {
        passed &= comparison::run(subject, options);
    }
    if let (true, Some(path)) = (passed, &options.page) {
        page::update(path)?;
    }
    Ok(passed)
}
