//! Watching, on the real system and on one that fails.

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;

use super::*;

pub(super) mod fake;

mod failing;
mod file_changes;
mod thread;
mod timing;

use fake::FakeSystem;

const SECOND: Duration = Duration::from_secs(1);

/// A time that no test reaches.
const NEVER: Duration = Duration::from_secs(24 * 3600);

/// A watcher whose clock the test moves.
struct Driver {
    watcher: FileWatcher,
    mailbox: Arc<Mailbox>,
    target: WatchTarget,
    now: Instant,
    events: VecDeque<WatchEvent>,
}

impl Driver {
    /// Watches these files, which are older than the watcher.
    fn start(system: Arc<dyn System>, files: &[&Path], poll: Duration) -> Self {
        let mailbox: Arc<Mailbox> = Arc::default();
        let watcher = FileWatcher::new(Arc::clone(&mailbox), system, SystemTime::now());
        let config = WatchConfig { watches_files: true, poll_interval: poll };
        let target = WatchTarget { files: paths(files), config };
        let mut driver = Self { watcher, mailbox, target, now: Instant::now(), events: VecDeque::new() };
        driver.apply_target();
        driver
    }

    fn set_files(&mut self, files: &[&Path]) {
        self.target.files = paths(files);
        self.apply_target();
    }

    fn set_config(&mut self, config: WatchConfig) {
        self.target.config = config;
        self.apply_target();
    }

    fn apply_target(&mut self) {
        self.mailbox.set_target(self.target.clone());
        self.events.extend(self.watcher.tick(self.now));
    }

    /// Ends a stall, and waits until the late result has arrived.
    fn resume(&mut self, fake: &FakeSystem, path: &Path) {
        fake.resume(path);
        self.mailbox.wait(self.now, None, mailbox::ReportWakeUp::AtDeadline);
    }

    /// The next event, or `None` if there is none within this time.
    fn next_within(&mut self, limit: Duration) -> Option<WatchEvent> {
        let end = self.now + limit;
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            self.events.extend(self.watcher.tick(self.now));
            if self.events.is_empty() {
                let next = self.watcher.next_deadline(self.now).filter(|next| *next <= end);
                self.now = next.unwrap_or(end).max(self.now);
                next?;
            }
        }
    }

    /// The files that are reported next.
    fn next_files(&mut self) -> BTreeSet<PathBuf> {
        match self.next_within(10 * NEVER) {
            Some(WatchEvent::FilesChanged(files)) => files,
            other => panic!("no files but {other:?}"),
        }
    }

    /// The method of detecting changes that is reported next.
    fn next_mode(&mut self) -> WatchMode {
        match self.next_within(10 * NEVER) {
            Some(WatchEvent::ModeChanged(mode)) => mode,
            other => panic!("no mode but {other:?}"),
        }
    }
}

fn paths(paths: &[&Path]) -> BTreeSet<PathBuf> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}
