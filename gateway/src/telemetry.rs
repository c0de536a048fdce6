//! Logging: structured lines on stderr that never block the gateway, and the format of everything else on stderr.
//!
//! stdout belongs to the protocol and to the output of commands. A filter such as `info,moongate::host=debug` selects
//! log lines. Guests' lines have the target `plugin` and name the plugin. `main` starts logging once and keeps the
//! [`Telemetry`] until the process exits.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::SubscriberBuilder;
use tracing_subscriber::fmt::format::{DefaultFields, Format};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};
use tracing_subscriber::{EnvFilter, Registry, fmt};

mod collected_warnings;
mod log_queue;
mod log_writer;
mod problems;
mod progress;
mod stderr;
mod terminal_format;
mod text_lines;

use collected_warnings::WarningCollector;
use log_writer::LogWriter;
use progress::StderrAboveProgress;
use terminal_format::TerminalFormat;
use text_lines::TextLines;

pub(crate) use collected_warnings::{CollectedWarning, take_collected_warnings};
pub(crate) use problems::{diagnostic_members, log_failure, log_problems};
pub(crate) use progress::{above_progress_lines, progress_lines};
pub use stderr::set_stderr_format;
pub(crate) use stderr::{json_line, stderr_format};

/// The default filter. wasmtime and its compiler log a lot, and the file watcher warns about each removed directory,
/// which is harmless.
const DEFAULT_FILTER: &str = "info,wasmtime=warn,cranelift=warn,notify=error,wasmtime_wasi_http=error";

/// The target of plugins' own log lines and standard streams.
const PLUGIN_TARGET: &str = "plugin";

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// Readable text.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// The amount of logging.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verbosity {
    /// Nothing: the command reports everything itself.
    Silent,
    /// Only errors.
    Quiet,
    /// Problems of a plugin that runs without grants: missing grants aren't logged.
    Ungranted,
    /// Problems.
    Low,
    /// Problems, calls, changes of the configuration, and the plugin's own lines: everything that a plugin author needs.
    Author,
    /// Problems and events that matter to an operator.
    #[default]
    Normal,
    /// All of the above, and the gateway's own steps.
    Verbose,
    /// Everything.
    Debugging,
}

impl Verbosity {
    fn log_filter(self) -> &'static str {
        match self {
            Self::Silent => "off",
            Self::Quiet => "error",
            Self::Ungranted => "warn,moongate::grants=error,notify=error,wasmtime_wasi_http=error",
            Self::Low => "warn,notify=error,wasmtime_wasi_http=error",
            Self::Author => {
                "warn,moongate::access=info,moongate::supervisor::reconciler::configure=info,plugin=info,notify=error,wasmtime_wasi_http=error"
            }
            Self::Normal => DEFAULT_FILTER,
            Self::Verbose => {
                "info,moongate=debug,plugin=debug,wasmtime=warn,cranelift=warn,notify=error,wasmtime_wasi_http=error"
            }
            Self::Debugging => "debug,moongate=trace,plugin=trace,cranelift=info,wasmtime_wasi_http=error",
        }
    }
}

/// The destination of warnings and errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarningDestination {
    /// Only the log.
    Log,
    /// They are also kept for the command, which reports them itself.
    Command,
}

/// An error when starting logging.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// An environment variable contains an invalid filter.
    #[error("invalid log filter `{filter}` in {variable}: {reason}")]
    Filter {
        /// The filter.
        filter: String,
        /// The variable.
        variable: &'static str,
        /// The parser's message.
        reason: String,
    },
    /// A thread that writes the log can't be started.
    #[error("can't start the threads that write the log")]
    Threads(#[source] io::Error),
    /// Logging was started before.
    #[error("logging was already started")]
    Twice(#[source] TryInitError),
}

/// Keeps logging alive. Dropping it writes the queued lines.
pub struct Telemetry {
    _log_writer: LogWriter,
}

impl std::fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Telemetry")
    }
}

impl Telemetry {
    /// Starts logging for the whole process.
    ///
    /// The environment variables `MOONGATE_LOG` and `RUST_LOG`, in this order, override `verbosity`.
    ///
    /// # Errors
    /// A variable contains an invalid filter, a thread can't be started, or logging was started before.
    pub fn start(
        format: LogFormat,
        verbosity: Verbosity,
        warnings: WarningDestination,
    ) -> Result<Self, TelemetryError> {
        let filter = filter(verbosity, |name| std::env::var(name).ok())?;
        let log_writer = LogWriter::new(StderrAboveProgress, format).map_err(TelemetryError::Threads)?;
        let is_terminal = io::stderr().is_terminal();
        let use_colour = is_terminal && std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty());
        if warnings == WarningDestination::Command {
            let lines = fmt::layer()
                .with_writer(log_writer.handle())
                .with_ansi(use_colour)
                .log_internal_errors(false);
            let lines = match format {
                LogFormat::Text => lines.boxed(),
                LogFormat::Json => lines.json().flatten_event(true).boxed(),
            };
            let subscriber = Registry::default().with(lines.with_filter(filter));
            init(subscriber.with(WarningCollector.with_filter(LevelFilter::WARN)))?;
            return Ok(Self { _log_writer: log_writer });
        }
        let builder: SubscriberBuilder<DefaultFields, Format> = tracing_subscriber::fmt();
        let builder = builder
            .with_env_filter(filter)
            .with_writer(log_writer.handle())
            .with_ansi(use_colour)
            .log_internal_errors(false); // printing them to a closed stderr would end the process
        match format {
            LogFormat::Text if is_terminal => init(builder.event_format(TerminalFormat::default()).finish())?,
            LogFormat::Text => init(builder.event_format(TextLines::default()).finish())?,
            LogFormat::Json => init(builder.json().flatten_event(true).finish())?,
        }
        Ok(Self { _log_writer: log_writer })
    }
}

fn init(subscriber: impl Into<tracing::Dispatch>) -> Result<(), TelemetryError> {
    subscriber.try_init().map_err(TelemetryError::Twice)
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
    Ok(EnvFilter::new(verbosity.log_filter()))
}

#[cfg(test)]
pub(crate) mod tests;
