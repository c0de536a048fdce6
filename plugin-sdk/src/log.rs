//! Log messages for the gateway's log, and for clients that requested them.
//!
//! Messages are only formatted if the level is enabled: otherwise `log::debug(format_args!("{x}"))` costs almost
//! nothing. Never log a secret, because the client can see the message.

use std::fmt::Display;

use serde::Serialize;
use serde_json::Value;

use crate::LogLevel;
use crate::host::log;

/// Returns `true` if messages of this level are written anywhere.
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

/// Writes any value. `logger` names the part of the plugin. If the value can't be serialized as JSON, an error
/// message is logged instead.
pub fn data(level: LogLevel, logger: Option<&str>, data: &impl Serialize) {
    if enabled(level) {
        write_json(level, logger, data);
    }
}

/// Writes a debug message: details for troubleshooting.
pub fn debug(message: impl Display) {
    write(LogLevel::Debug, message);
}

/// Writes an info message: normal operation.
pub fn info(message: impl Display) {
    write(LogLevel::Info, message);
}

/// Writes a notice: normal but significant.
pub fn notice(message: impl Display) {
    write(LogLevel::Notice, message);
}

/// Writes a warning: a potential problem.
pub fn warning(message: impl Display) {
    write(LogLevel::Warning, message);
}

/// Writes an error: a failed operation.
pub fn error(message: impl Display) {
    write(LogLevel::Error, message);
}

fn write_json(level: LogLevel, logger: Option<&str>, data: &impl Serialize) {
    let json = serde_json::to_string(data)
        .unwrap_or_else(|error| Value::from(format!("cannot serialize as JSON: {error}")).to_string());
    log::write(level, logger, &json);
}
