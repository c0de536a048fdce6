//! `demo`: from a fresh checkout to a serving gateway. What is loaded, where it listens and a call to paste are the
//! gateway's own words.

use std::env;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};

use crate::project::Project;
use crate::{build_plugins, report};

/// Runs the verb.
pub(crate) fn run(project: &Project, rest: &[String]) -> Result<ExitCode> {
    let (stdio, rest): (Vec<&String>, Vec<&String>) = rest.iter().partition(|word| *word == "--stdio");
    crate::no_more("demo", &rest)?;
    // With --stdio, stdout carries nothing but JSON-RPC: whatever is built talks on stderr.
    build_plugins::build(project)?;
    // Chosen from the whole workspace, so that its features, and with them its dependencies, are those of the tests.
    project.cargo(&["build", "--workspace", "--bin", "moongate"]).quiet_stdout().done()?;

    let mut gateway = gateway(project);
    if !stdio.is_empty() {
        gateway.arg("--stdio");
    }
    serve(gateway)
}

/// `moongate serve`, in so few words as the folder allows: the gateway repeats them in the call that it proposes.
fn gateway(project: &Project) -> Command {
    let (path, root) = (project.gateway(), project.root());
    let is_here = env::current_dir().is_ok_and(|here| here == root);
    match path.strip_prefix(root) {
        Ok(short) if is_here => {
            let mut gateway = Command::new(short);
            gateway.arg("serve").env_remove("MOONGATE_CONFIG");
            gateway
        }
        Ok(_) | Err(_) => {
            let mut gateway = Command::new(&path);
            gateway.arg("serve").arg("-c").arg(root.join("gateway.toml"));
            gateway
        }
    }
}

/// Hands the terminal over to the gateway: signals, stdin and stdout are its own from here.
#[cfg(unix)]
fn serve(mut gateway: Command) -> Result<ExitCode> {
    use std::os::unix::process::CommandExt as _;

    report::command(&format!("{gateway:?}"));
    Err(gateway.exec()).context("the gateway can't be started")
}

/// Waits for the gateway and passes its end on.
#[cfg(not(unix))]
fn serve(mut gateway: Command) -> Result<ExitCode> {
    report::command(&format!("{gateway:?}"));
    let status = gateway.status().context("the gateway can't be started")?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
