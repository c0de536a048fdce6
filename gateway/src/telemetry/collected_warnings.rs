//! Logged warnings and errors, kept for a command that reports all problems itself.

use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

use super::PLUGIN_TARGET;

/// The maximum number of warnings that are kept.
const MAX_COLLECTED_WARNINGS: usize = 100;
/// The target of lines about granted directories, which the command checks itself.
const DIRECTORIES_TARGET: &str = "moongate::directories";

static COLLECTED: Mutex<Vec<CollectedWarning>> = Mutex::new(Vec::new());

/// A logged warning or error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CollectedWarning {
    /// The plugin that it is about.
    pub(crate) plugin: Option<String>,
    pub(crate) message: String,
}

/// The different warnings so far.
pub(crate) fn take_collected_warnings() -> Vec<CollectedWarning> {
    std::mem::take(&mut *COLLECTED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Keeps the lines of the gateway and its plugins.
pub(super) struct WarningCollector;

impl<S: Subscriber> Layer<S> for WarningCollector {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let target = event.metadata().target();
        if target == DIRECTORIES_TARGET || !(target == PLUGIN_TARGET || target.starts_with("moongate")) {
            return;
        }
        let mut warning = CollectedWarning::default();
        event.record(&mut warning);
        let mut collected = COLLECTED.lock().unwrap_or_else(PoisonError::into_inner);
        if collected.len() < MAX_COLLECTED_WARNINGS && !collected.contains(&warning) {
            collected.push(warning);
        }
    }
}

impl Visit for CollectedWarning {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            "plugin" => self.plugin = Some(format!("{value:?}")),
            _ => {}
        }
    }
}
