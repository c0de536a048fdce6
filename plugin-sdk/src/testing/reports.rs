//! The plugin's reports to the gateway.

use serde_json::Value;

use crate::LogLevel;

/// A log message of the plugin.
#[derive(Debug, Clone, PartialEq)]
pub struct LogLine {
    /// The level.
    pub level: LogLevel,
    /// The part of the plugin that logged it.
    pub logger: Option<String>,
    /// The message or logged value.
    pub data: Value,
}

/// A progress report.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// The current value.
    pub current: f64,
    /// The total, if it is known.
    pub total: Option<f64>,
    /// The message.
    pub message: Option<String>,
}

/// A change notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The lists of resources and templates.
    Resources,
    /// The list of prompts.
    Prompts,
    /// The resource with this URI.
    Resource(String),
}
