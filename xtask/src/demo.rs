//! `demo`: builds everything from a fresh checkout and serves. The gateway itself prints the plugins, its address and
//! a call to try.

use std::env;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};

use crate::project::Project;
use crate::{build_plugins, report};

/// Runs the verb.
pub(crate) fn run(project: &Project, rest: &[String]) -> Result<ExitCode> {
    let (stdio, rest): (Vec<&String>, Vec<&String>) = rest.iter().partition(|word| *word == "--stdio");
    crate::reject_arguments("demo", &rest)?;
    // With --stdio, stdout carries JSON-RPC only, so the build prints on stderr.
    build_plugins::build(project)?;
    // Selected from the whole workspace, so that features and dependencies are built as for the tests.
    project.cargo(&["build", "--workspace", "--bin", "moongate"]).stdout_to_stderr().run()?;

    let mut gateway = serve_command(project);
    if !stdio.is_empty() {
        gateway.arg("--stdio");
    }
    serve(gateway)
}

/// `moongate serve`, as short as the current directory allows, because the gateway repeats the command in its example.
fn serve_command(project: &Project) -> Command {
    let path = project.gateway();
    let root = project.root();
    let is_in_root = env::current_dir().is_ok_and(|here| here == root);
    match path.strip_prefix(root) {
        Ok(short) if is_in_root => {
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

/// Replaces this process by the gateway, which then owns signals, stdin and stdout.
#[cfg(unix)]
fn serve(mut gateway: Command) -> Result<ExitCode> {
    use std::os::unix::process::CommandExt as _;

    report::command(&format!("{gateway:?}"));
    Err(gateway.exec()).context("can't start the gateway")
}

/// Runs the gateway and returns its exit code.
#[cfg(not(unix))]
fn serve(mut gateway: Command) -> Result<ExitCode> {
    report::command(&format!("{gateway:?}"));
    let status = gateway.status().context("can't start the gateway")?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
