//! A line for each component that is being compiled, if stderr is a terminal: its plugin, its size and the time so far.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use bytesize::ByteSize;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use moongate_model::names::PluginId;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use crate::supervisor::status::{PluginActivity, PluginStatus, SupervisorStatus};
use crate::telemetry::progress_lines;

/// The interval at which lines are drawn again.
const TICK: Duration = Duration::from_millis(100);

/// Shows the lines until it is dropped.
pub(super) struct CompileProgress {
    _task: Option<AbortOnDropHandle<()>>,
}

impl CompileProgress {
    /// Shows the components that are being compiled according to `status`.
    pub(super) fn show(mut status: watch::Receiver<Arc<SupervisorStatus>>) -> Self {
        let Some(lines) = progress_lines() else { return Self { _task: None } };
        let mut shown = CompileLines::new(lines.clone());
        let task = tokio::spawn(async move {
            loop {
                let current = Arc::clone(&status.borrow_and_update());
                shown.update(&current.plugins);
                if status.changed().await.is_err() {
                    return;
                }
            }
        });
        Self { _task: Some(AbortOnDropHandle::new(task)) }
    }
}

/// The lines.
struct CompileLines {
    lines: MultiProgress,
    shown: BTreeMap<PluginId, ProgressBar>,
}

impl CompileLines {
    fn new(lines: MultiProgress) -> Self {
        Self { lines, shown: BTreeMap::new() }
    }

    /// Adds lines for components that are being compiled now, and removes those of others.
    fn update(&mut self, plugins: &[PluginStatus]) {
        let is_compiling = |plugin: &&PluginStatus| plugin.activity == PluginActivity::Compiling;
        let compiling: BTreeMap<_, _> =
            plugins.iter().filter(is_compiling).map(|plugin| (&plugin.id, plugin)).collect();
        self.shown.retain(|id, line| {
            let stays = compiling.contains_key(id);
            if !stays {
                line.finish_and_clear();
            }
            stays
        });
        for (id, plugin) in compiling {
            if !self.shown.contains_key(id) {
                self.shown.insert(id.clone(), self.add(plugin));
            }
        }
    }

    fn add(&self, plugin: &PluginStatus) -> ProgressBar {
        let PluginStatus { id, source, .. } = plugin;
        let size = fs::metadata(source).map(|meta| format!(" ({})", ByteSize(meta.len()).display().iec()));
        let line = self.lines.add(ProgressBar::new_spinner());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            line.set_style(style);
        }
        line.set_message(format!("compiling `{id}`{}", size.unwrap_or_default()));
        line.enable_steady_tick(TICK);
        line
    }
}

impl Drop for CompileLines {
    fn drop(&mut self) {
        self.shown.values().for_each(ProgressBar::finish_and_clear);
    }
}
