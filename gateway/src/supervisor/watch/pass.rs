//! Looking at all files once, beside the runtime's threads.
//!
//! A look can block for ever: on a network mount whose server is gone even the kernel waits. So a few files are looked
//! at at once, and those that don't answer are left to themselves: nobody waits for them any longer, nobody looks at
//! them again before they answer, and the others go on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, timeout_at};

use super::look::{Look, Spot};
use super::seen::Why;
use super::system::System;

/// How many files are looked at at once.
const AT_ONCE: usize = 4;

/// After so long without an answer a file system counts as dead, until it answers.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// A look that somebody waits for.
pub(super) type Looking = JoinHandle<(PathBuf, Look)>;

/// All files are being looked at.
#[derive(Debug)]
pub(super) struct Pass {
    pub(super) why: Why,
    /// What events told of before it began.
    pub(super) touched: BTreeSet<Spot>,
    waiting: Vec<PathBuf>,
    running: FuturesUnordered<Looking>,
    /// Those that run.
    looked_at: BTreeSet<PathBuf>,
    passed: Passed,
    /// When those that run count as stuck.
    deadline: Instant,
}

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Passed {
    pub(super) looks: BTreeMap<PathBuf, Look>,
    /// Files that don't answer.
    pub(super) stuck: BTreeSet<PathBuf>,
    /// Their looks.
    pub(super) running: FuturesUnordered<Looking>,
}

impl Pass {
    pub(super) fn new(why: Why, touched: BTreeSet<Spot>, files: Vec<PathBuf>, now: Instant) -> Self {
        Self {
            why,
            touched,
            waiting: files,
            running: FuturesUnordered::new(),
            looked_at: BTreeSet::new(),
            passed: Passed::default(),
            deadline: now + PATIENCE,
        }
    }

    /// Goes on until all have answered, or those that are left don't. May be dropped and called again.
    pub(super) async fn end(&mut self, system: &Arc<dyn System>) -> Passed {
        loop {
            while self.running.len() < AT_ONCE
                && let Some(file) = self.waiting.pop()
            {
                self.looked_at.insert(file.clone());
                let system = Arc::clone(system);
                self.running.push(spawn_blocking(move || {
                    let look = system.look(&file);
                    (file, look)
                }));
            }
            match timeout_at(self.deadline, self.running.next()).await {
                Ok(Some(answer)) => {
                    self.deadline = Instant::now() + PATIENCE;
                    // It has failed only where the runtime ends.
                    if let Ok((file, look)) = answer {
                        self.looked_at.remove(&file);
                        self.passed.looks.insert(file, look);
                    }
                }
                Ok(None) => return std::mem::take(&mut self.passed),
                Err(_) => {
                    self.passed.stuck.append(&mut self.looked_at);
                    self.passed.running.extend(std::mem::take(&mut self.running));
                    self.deadline = Instant::now() + PATIENCE;
                }
            }
        }
    }
}
