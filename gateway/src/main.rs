//! The process: parses the arguments, starts logging, runs the command, and exits.

use std::process::ExitCode;
use std::time::Duration;

use moongate::cli::{Cli, ExitKind};
use moongate::telemetry::Telemetry;
use moongate_host::compile_if_requested;

/// How long the exit waits for uninterruptible work: a read from a terminal, or a guest between two ticks.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(200);

fn main() -> ExitCode {
    if let Some(exit) = compile_if_requested() {
        return exit;
    }
    let cli = match Cli::read() {
        Ok(cli) => cli,
        Err(exit) => return exit.into(),
    };
    let _telemetry = match Telemetry::start(cli.log_format(), cli.verbosity(), cli.warning_destination()) {
        Ok(telemetry) => telemetry,
        Err(error) => {
            return cli.fail(&error.into(), ExitKind::Usage).into();
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let error = anyhow::Error::new(error).context("can't start threads");
            return cli.fail(&error, ExitKind::Failure).into();
        }
    };
    let exit = runtime.block_on(cli.run());
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    exit.into()
}
