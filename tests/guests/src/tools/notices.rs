//! Tools that say much, or what isn't theirs to say, beside their result: logs, progress, changes, standard streams.

use moongate_sdk::LogLevel;
use moongate_sdk::prelude::*;

use crate::{output, says, wild};

/// Tools that say much beside their result.
#[derive(Debug, Default)]
pub(crate) struct Notices;

#[plugin(part)]
impl Notices {
    /// Writes log lines: by default 100,000. For the limit of log lines.
    #[tool]
    fn log_flood(&self, lines: Option<u32>) -> String {
        says::log_flood(lines.unwrap_or(100_000))
    }

    /// Writes one log line: by default of 16 MiB. For the limit of a log line.
    #[tool]
    fn huge_log_line(&self, bytes: Option<usize>) -> &'static str {
        log::write(LogLevel::Info, output::letters(bytes.unwrap_or(16 << 20)));
        "the log line was written"
    }

    /// Names a log line and words progress: by default with a mebibyte each. For what is kept of words.
    #[tool]
    fn long_words(&self, bytes: Option<usize>) -> &'static str {
        says::long_words(&output::letters(bytes.unwrap_or(1 << 20)))
    }

    /// Reports progress: by default 100,000 times. For the limit of progress.
    #[tool]
    fn progress_flood(&self, reports: Option<u32>) -> String {
        says::progress_flood(reports.unwrap_or(100_000))
    }

    /// Reports progress that goes backwards. For progress, which only grows.
    #[tool]
    fn progress_backwards(&self) -> &'static str {
        for current in [3.0, 2.0, f64::NAN, f64::INFINITY, 4.0] {
            progress::report(current, 5.0);
        }
        "reported 3, 2, not a number, infinity and 4"
    }

    /// Tells of changes: by default 100,000 times. For notifications: clients hear once.
    #[tool]
    fn changes_flood(&self, count: Option<u32>) -> String {
        says::changes_flood(count.unwrap_or(100_000))
    }

    /// Writes to its standard output: by default 16 MiB. For the limit of output that is kept.
    #[tool]
    fn stdout_flood(&self, bytes: Option<usize>) -> String {
        says::flood(&mut std::io::stdout(), bytes.unwrap_or(16 << 20))
    }

    /// Writes to its standard error: by default 16 MiB. For the limit of output that is kept.
    #[tool]
    fn stderr_flood(&self, bytes: Option<usize>) -> String {
        says::flood(&mut std::io::stderr(), bytes.unwrap_or(16 << 20))
    }

    /// Writes JSON-RPC messages to its standard output. For the gateway's own, where they may not appear.
    #[tool]
    fn print_json_rpc(&self) -> String {
        says::print_json_rpc()
    }

    /// Writes forged log lines, commands to a terminal and what is no UTF-8 to its streams. For the log.
    #[tool]
    fn print_bytes(&self) -> String {
        wild::print_bytes()
    }

    /// Writes as many zeros as a number can say to its standard output.
    #[tool]
    fn write_zeros(&self) -> String {
        wild::write_zeros()
    }

    /// Writes more to its standard output than it was told that it may.
    #[tool]
    fn write_unasked(&self) -> String {
        wild::write_unasked()
    }
}
