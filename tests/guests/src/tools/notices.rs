//! Tools with a lot of output or invalid output next to their result: logs, progress, changes, standard streams.

use moongate_sdk::LogLevel;
use moongate_sdk::prelude::*;

use crate::{output, says, wild};

/// Tools with a lot of output next to their result.
#[derive(Debug, Default)]
pub(crate) struct Notices;

#[plugin(part)]
impl Notices {
    /// Write log messages: by default 100,000. For the limit of log messages.
    #[tool]
    fn log_flood(&self, lines: Option<u32>) -> String {
        says::log_flood(lines.unwrap_or(100_000))
    }

    /// Write one log message: by default of 16 MiB. For the limit of a log message.
    #[tool]
    fn huge_log_line(&self, bytes: Option<usize>) -> &'static str {
        log::write(LogLevel::Info, output::letters(bytes.unwrap_or(16 << 20)));
        "the log line was written"
    }

    /// Use a long logger name and progress message: by default a mebibyte each. For the limit of strings.
    #[tool]
    fn long_words(&self, bytes: Option<usize>) -> &'static str {
        says::long_words(&output::letters(bytes.unwrap_or(1 << 20)))
    }

    /// Log and return text that was cut inside an emoji. For clients with strict JSON parsers.
    #[tool]
    fn cut_emoji(&self) -> ToolResult {
        says::cut_emoji()
    }

    /// Report progress: by default 100,000 times. For the limit of progress reports.
    #[tool]
    fn progress_flood(&self, reports: Option<u32>) -> String {
        says::progress_flood(reports.unwrap_or(100_000))
    }

    /// Report progress that decreases. For progress, which must increase.
    #[tool]
    fn progress_backwards(&self) -> &'static str {
        for current in [3.0, 2.0, f64::NAN, f64::INFINITY, 4.0] {
            progress::report(current, 5.0);
        }
        "reported 3, 2, not a number, infinity and 4"
    }

    /// Report changes: by default 100,000 times. For notifications: clients get one.
    #[tool]
    fn changes_flood(&self, count: Option<u32>) -> String {
        says::changes_flood(count.unwrap_or(100_000))
    }

    /// Write to standard output: by default 16 MiB. For the limit of output.
    #[tool]
    fn stdout_flood(&self, bytes: Option<usize>) -> String {
        says::flood(&mut std::io::stdout(), bytes.unwrap_or(16 << 20))
    }

    /// Write to standard error: by default 16 MiB. For the limit of output.
    #[tool]
    fn stderr_flood(&self, bytes: Option<usize>) -> String {
        says::flood(&mut std::io::stderr(), bytes.unwrap_or(16 << 20))
    }

    /// Print JSON-RPC messages to standard output. For the gateway's standard output: they must not appear there.
    #[tool]
    fn print_json_rpc(&self) -> String {
        says::print_json_rpc()
    }

    /// Write forged log lines, terminal control sequences and invalid UTF-8 to both streams. For the log.
    #[tool]
    fn print_bytes(&self) -> String {
        wild::print_bytes()
    }

    /// Write as many zeros as possible to standard output in one call.
    #[tool]
    fn write_zeros(&self) -> String {
        wild::write_zeros()
    }

    /// Write more to standard output than permitted.
    #[tool]
    fn write_unasked(&self) -> String {
        wild::write_unasked()
    }
}
