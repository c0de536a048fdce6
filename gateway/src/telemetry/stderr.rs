//! The format of everything on stderr. With JSON, each line is an object with the members of a log line, whatever wrote
//! it: the log, a command, or a panic.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, Write as _};
use std::panic::{self, PanicHookInfo};
use std::sync::OnceLock;
use std::thread;

use serde_json::{Map, Value};
use tracing::Level;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};

use super::LogFormat;

static FORMAT: OnceLock<LogFormat> = OnceLock::new();

/// Sets the format for the whole process, including messages of panics. Only the first call has an effect.
pub fn set_stderr_format(format: LogFormat) {
    if FORMAT.set(format).is_ok() && format == LogFormat::Json {
        panic::set_hook(Box::new(report_panic));
    }
}

/// The format, by default text.
pub(crate) fn stderr_format() -> LogFormat {
    FORMAT.get().copied().unwrap_or_default()
}

/// A line like those of the log, with more members.
pub(crate) fn json_line(level: Level, target: &str, message: &str, members: Map<String, Value>) -> String {
    let mut time = String::new();
    let _ = SystemTime.format_time(&mut Writer::new(&mut time)); // writing to a string can't fail
    let mut line = Map::new();
    line.insert("timestamp".to_owned(), time.into());
    line.insert("level".to_owned(), level.as_str().into());
    line.insert("message".to_owned(), message.into());
    line.extend(members);
    line.insert("target".to_owned(), target.into());
    format!("{}\n", Value::Object(line))
}

fn report_panic(panic: &PanicHookInfo<'_>) {
    let _ = io::stderr().lock().write_all(panic_line(panic).as_bytes()); // a closed stderr can't be reported
}

/// A panic as a line of the log.
pub(super) fn panic_line(panic: &PanicHookInfo<'_>) -> String {
    let text = panic.payload_as_str().unwrap_or("no message");
    let place = panic.location().map(|place| format!(" at {place}")).unwrap_or_default();
    let mut members = Map::new();
    members.insert("thread".to_owned(), thread::current().name().into());
    let backtrace = Backtrace::capture();
    if backtrace.status() == BacktraceStatus::Captured {
        members.insert("backtrace".to_owned(), backtrace.to_string().into());
    }
    json_line(Level::ERROR, "panic", &format!("panicked{place}: {text}"), members)
}
