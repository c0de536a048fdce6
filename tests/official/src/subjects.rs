//! The subjects of comparison, one module per official server.

use anyhow::Result;

use crate::comparison::Comparison;
use crate::difference::Difference;

mod everything;
mod fetch;
mod filesystem;
mod git;
mod memory;
mod sequential_thinking;
mod time;

/// An official server and the plugin that offers its tools.
#[derive(Debug)]
pub(crate) struct Subject {
    /// The plugin, named like its component in `plugins/dist`.
    pub(crate) plugin: &'static str,
    /// The official server's package.
    pub(crate) package: &'static str,
    /// The requests that are sent, described for the page.
    pub(crate) compared: &'static str,
    /// The intended differences.
    pub(crate) differences: &'static [Difference],
    /// Starts both servers and runs the checks.
    pub(crate) check: fn(&mut Comparison<'_>) -> Result<()>,
}

/// All subjects, in the order of the page.
pub(crate) const ALL: &[Subject] = &[
    everything::SUBJECT,
    fetch::SUBJECT,
    filesystem::SUBJECT,
    git::SUBJECT,
    memory::SUBJECT,
    sequential_thinking::SUBJECT,
    time::SUBJECT,
];
