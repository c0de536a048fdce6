//! What a plugin told the gateway.

use serde_json::Value;

use crate::LogLevel;

/// A line that the plugin logged.
#[derive(Debug, Clone, PartialEq)]
pub struct LogLine {
    /// How serious it is.
    pub level: LogLevel,
    /// The part of the plugin that wrote it.
    pub logger: Option<String>,
    /// The message, or whatever value was logged.
    pub data: Value,
}

/// A report of progress.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// How far the call had come.
    pub current: f64,
    /// How far it had to go.
    pub total: Option<f64>,
    /// What was being done.
    pub message: Option<String>,
}

/// A notice that something isn't true any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The lists of resources and templates.
    Resources,
    /// The list of prompts.
    Prompts,
    /// What the resource of this URI holds.
    Resource(String),
}
