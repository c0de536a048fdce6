//! The process: parses the arguments, starts logging, runs the command, and exits.

use std::process::ExitCode;
use std::time::Duration;

use moongate::cli::{Cli, ExitKind};
use moongate::telemetry::Telemetry;
use moongate_host::compile_if_requested;

/// How long the exit waits for uninterruptible work: a read from a terminal, or a guest between two ticks.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(200);

/// glibc's allocator keeps most of the memory of a burst for good: after 32 requests of 3 MB, it kept 1.6 GB, and jemalloc
/// 30 MB more than before. musl's allocator has one lock for all threads.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    if let Some(exit) = compile_if_requested() {
        return exit;
    }
    let mut cli = match Cli::read() {
        Ok(cli) => cli,
        Err(exit) => return exit.into(),
    };
    if let Err(error) = cli.take_passed_sockets() {
        return cli.fail(&error.into(), ExitKind::Failure).into();
    }
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
    moongate_system::background::stop(SHUTDOWN_TIMEOUT);
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    exit.into()
}
