//! The life of the process: arguments, log, the verb, the end.

use std::process::ExitCode;
use std::time::Duration;

use moongate::cli::{Cli, Exit};
use moongate::host::compile_if_asked;
use moongate::telemetry::Telemetry;

/// How long the end waits for what can't be interrupted: a read of a terminal, a guest between two ticks.
const PATIENCE: Duration = Duration::from_millis(200);

fn main() -> ExitCode {
    if let Some(exit) = compile_if_asked() {
        return exit;
    }
    let cli = match Cli::read() {
        Ok(cli) => cli,
        Err(exit) => return exit.into(),
    };
    let _telemetry = match Telemetry::start(cli.log_format(), cli.verbosity()) {
        Ok(telemetry) => telemetry,
        Err(error) => {
            return cli.fail(&error.into(), Exit::Usage).into();
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let error = anyhow::Error::new(error).context("the threads can't be started");
            return cli.fail(&error, Exit::Failure).into();
        }
    };
    let exit = runtime.block_on(cli.run());
    runtime.shutdown_timeout(PATIENCE);
    exit.into()
}
