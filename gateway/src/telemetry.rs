//! Log lines: structured, on stderr, and never in anybody's way.
//!
//! stdout belongs to the protocol and to what commands print. What is logged is decided by a filter such as
//! `info,moongate::host=debug`; guests' lines have the target `plugin` and name the plugin. `main` starts this once
//! and keeps the [`Telemetry`] until the end.

use std::fmt;
use std::io::{self, IsTerminal as _};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::SubscriberBuilder;
use tracing_subscriber::fmt::format::{DefaultFields, Format};
use tracing_subscriber::util::TryInitError;

mod outlet;

use outlet::Outlet;

/// What is logged where nobody says otherwise. wasmtime and its compiler say a lot; what watches files warns of each
/// folder that is removed, which is no trouble.
const DEFAULT: &str = "info,wasmtime=warn,cranelift=warn,notify=error,wasmtime_wasi_http=error";

/// The target of what plugins say themselves, in log lines and on their standard streams.
const PLUGIN: &str = "plugin";

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verbosity {
    /// Only errors.
    Quiet,
    /// What is wrong with a plugin as such, for one that nothing was granted: that it lacks grants is no news.
    Ungranted,
    /// What is wrong.
    Low,
    /// What an operator wants to know.
    #[default]
    Normal,
    /// And what the gateway does.
    Verbose,
    /// And everything else.
    Debugging,
}

impl Verbosity {
    fn filter(self) -> &'static str {
        match self {
            Self::Quiet => "error",
            Self::Ungranted => "warn,moongate::grants=error,notify=error,wasmtime_wasi_http=error",
            Self::Low => "warn,notify=error,wasmtime_wasi_http=error",
            Self::Normal => DEFAULT,
            Self::Verbose => {
                "info,moongate=debug,moongate_core=debug,plugin=debug,wasmtime=warn,cranelift=warn,notify=error,wasmtime_wasi_http=error"
            }
            Self::Debugging => {
                "debug,moongate=trace,moongate_core=trace,plugin=trace,cranelift=info,wasmtime_wasi_http=error"
            }
        }
    }
}

/// Logging can't be started.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// A filter doesn't read.
    #[error("`{filter}` in {variable} is no filter for log lines: {reason}")]
    Filter {
        /// What stands there.
        filter: String,
        /// The variable.
        variable: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// Somebody logs already.
    #[error("logging was started twice")]
    Twice(#[source] TryInitError),
    /// The thread that writes can't be started.
    #[error("the thread that writes log lines can't be started")]
    Thread(#[source] io::Error),
}

/// Keeps logging alive; dropping it writes what is left.
pub struct Telemetry {
    _outlet: Outlet,
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Telemetry")
    }
}

impl Telemetry {
    /// Starts logging for the whole process.
    ///
    /// The variables `MOONGATE_LOG` and, after it, `RUST_LOG` go before `verbosity`.
    ///
    /// # Errors
    /// A variable holds no filter, or logging was started before.
    pub fn start(format: LogFormat, verbosity: Verbosity) -> Result<Self, TelemetryError> {
        let filter = filter(verbosity, |name| std::env::var(name).ok())?;
        let outlet = Outlet::new(io::stderr()).map_err(TelemetryError::Thread)?;
        let colour =
            io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty());
        let builder: SubscriberBuilder<DefaultFields, Format> = tracing_subscriber::fmt();
        let builder = builder
            .with_env_filter(filter)
            .with_writer(outlet.writer())
            .with_ansi(colour)
            .log_internal_errors(false); // it would print to stderr, and end the process where that is closed
        match format {
            LogFormat::Text => init(builder.finish()),
            LogFormat::Json => init(builder.json().flatten_event(true).finish()),
        }
        .map_err(TelemetryError::Twice)?;
        Ok(Self { _outlet: outlet })
    }
}

fn init(subscriber: impl Into<tracing::Dispatch>) -> Result<(), TryInitError> {
    use tracing_subscriber::util::SubscriberInitExt as _;
    subscriber.try_init()
}

fn filter(
    verbosity: Verbosity,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<EnvFilter, TelemetryError> {
    for name in ["MOONGATE_LOG", "RUST_LOG"] {
        if let Some(filter) = variable(name).filter(|it| !it.trim().is_empty()) {
            return EnvFilter::try_new(&filter).map_err(|error| TelemetryError::Filter {
                filter,
                variable: name,
                reason: error.to_string(),
            });
        }
    }
    Ok(EnvFilter::new(verbosity.filter()))
}

#[cfg(test)]
pub(crate) mod tests;
