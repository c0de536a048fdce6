//! `official`: starts an official MCP server and the gateway with the plugin that offers the same tools, sends both
//! the same calls, and compares what comes back. `cargo xtask interop official` installs the servers and runs it.
//!
//! It links to nothing of the gateway: both sides are processes that are spoken to over stdio. What is compared, and
//! what may differ and why, is data; `docs/official-servers.md` is written from it.

#![forbid(unsafe_code)]

use std::process::ExitCode;

mod bench; // one comparison: checks, what they found, and what of it is meant
mod difference; // where two answers differ, and differences that are meant
mod normal; // the form in which answers are compared
mod options; // the command line
mod page; // `docs/official-servers.md`
mod random; // calls made up from a seed
mod report; // printing
mod server; // a process that speaks MCP over stdio
mod subjects; // what is compared, a module for each server

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

/// Compares what is wanted and keeps the page; gives back whether nothing went wrong.
fn run(options: &Options) -> anyhow::Result<bool> {
    let mut good = true;
    for subject in subjects::ALL.iter().filter(|subject| options.wants(subject.plugin)) {
        good &= bench::compare(subject, options);
    }
    if let (true, Some(path)) = (good, &options.page) {
        page::keep(path)?;
    }
    Ok(good)
}
