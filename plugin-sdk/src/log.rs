//! Lines for the gateway's log, and for the client where it asked for them.
//!
//! A message is only made if somebody will see it: `log::debug(format_args!("{x}"))` costs nothing otherwise. Never log
//! a secret: the client may see the line.

use std::fmt::Display;

use serde::Serialize;
use serde_json::Value;

use crate::LogLevel;
use crate::host::log;

/// Would a line of this level be written anywhere?
#[must_use]
pub fn enabled(level: LogLevel) -> bool {
    log::enabled(level)
}

/// Writes a message.
pub fn write(level: LogLevel, message: impl Display) {
    if enabled(level) {
        write_json(level, None, &message.to_string());
    }
}

/// Writes any value, as the part of the plugin that `logger` names. A value that can't be written as JSON is written as
/// a message that says so.
pub fn data(level: LogLevel, logger: Option<&str>, data: &impl Serialize) {
    if enabled(level) {
        write_json(level, logger, data);
    }
}

/// Details for finding a fault.
pub fn debug(message: impl Display) {
    write(LogLevel::Debug, message);
}

/// The normal course of events.
pub fn info(message: impl Display) {
    write(LogLevel::Info, message);
}

/// Normal, but worth knowing.
pub fn notice(message: impl Display) {
    write(LogLevel::Notice, message);
}

/// Might become a problem.
pub fn warning(message: impl Display) {
    write(LogLevel::Warning, message);
}

/// An operation failed.
pub fn error(message: impl Display) {
    write(LogLevel::Error, message);
}

fn write_json(level: LogLevel, logger: Option<&str>, data: &impl Serialize) {
    let json = serde_json::to_string(data)
        .unwrap_or_else(|error| Value::from(format!("can't be written as JSON: {error}")).to_string());
    log::write(level, logger, &json);
}
