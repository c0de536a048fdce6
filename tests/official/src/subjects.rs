//! What is compared, a module for each official server.

use anyhow::Result;

use crate::bench::Bench;
use crate::difference::Difference;

mod fetch;
mod filesystem;
mod memory;
mod sequential_thinking;
mod time;

/// An official server and the plugin that offers its tools.
#[derive(Debug)]
pub(crate) struct Subject {
    /// The plugin, as its component is called in `plugins/dist`.
    pub(crate) plugin: &'static str,
    /// The official server's package.
    pub(crate) package: &'static str,
    /// What is sent to both: a sentence or two for the page.
    pub(crate) compared: &'static str,
    /// The differences that are meant.
    pub(crate) differences: &'static [Difference],
    /// Starts both and makes the checks.
    pub(crate) check: fn(&mut Bench<'_>) -> Result<()>,
}

/// All, in the order of the page.
pub(crate) const ALL: &[Subject] =
    &[fetch::SUBJECT, filesystem::SUBJECT, memory::SUBJECT, sequential_thinking::SUBJECT, time::SUBJECT];
