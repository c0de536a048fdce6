//! Decides when to probe which files, which directories the system has to watch, and which changes to report.
//!
//! The system's reports are hints. Each relevant one starts a burst; after a quiet period, all files are probed, and
//! those whose stamp differs from the last reported one are reported. The same happens at intervals, because network
//! and container mounts report nothing.
//!
//! All of it runs on one thread, with the time as an argument. A call that can block for ever goes through [`Helper`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use moongate_config::WatchConfig;
use moongate_model::log_field::milliseconds;

use super::burst::Burst;
use super::directories::{DirectoryWatches, LostWatches, WantedDirectories, WatchUpdate};
use super::event_sink::SystemReports;
use super::helper::{Helper, JobResult};
use super::mailbox::{Mail, Mailbox, ReportWakeUp};
use super::probe::{DirectoryEntry, FileProbe};
use super::system::System;
use super::tracked_file::{ProbeOutcome, ProbeReason, SystemReport, TrackedFile};
use super::{WatchEvent, WatchMode, WatchTarget};

/// The maximum time between probes if the system doesn't report everything.
const FALLBACK_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The maximum number of consecutive rounds that each found more directories to watch; after that, the next round waits for
/// its time. On some mounts, names lead to a different place each time, and the rounds would never end.
const MAX_PROBE_ROUNDS: u32 = 20;

/// The state of the watch thread.
#[derive(Debug)]
pub(super) struct FileWatcher {
    mailbox: Arc<Mailbox>,
    system: Arc<dyn System>,
    pub(super) helper: Helper,
    config: WatchConfig,
    /// Newly named files may have been read after this time.
    since: SystemTime,
    pub(super) files: BTreeMap<PathBuf, TrackedFile>,
    /// Files whose probe is stalled, and their device if it is known.
    stalled: BTreeMap<PathBuf, Option<u64>>,
    /// Reports from the system since the last probe.
    reports: SystemReports,
    burst: Option<Burst>,
    next_poll: Option<Instant>,
    pub(super) directories: DirectoryState,
    /// Files that have to be reported.
    changed: BTreeSet<PathBuf>,
    /// The mode that was last reported.
    reported_mode: WatchMode,
}

/// The directories that the system watches.
#[derive(Debug)]
pub(super) struct DirectoryState {
    /// `None` while a stalled call works on them.
    pub(super) watches: Option<Box<DirectoryWatches>>,
    /// The directories for which the watches were last updated; `None` at the start and after the configuration changed.
    fitted: Option<WantedDirectories>,
    /// Lost watches that aren't replaced yet.
    lost: LostWatches,
    /// The reason that the system doesn't report everything.
    trouble: Option<String>,
}

impl FileWatcher {
    /// `since` is the time when the caller began to read the files that it names first.
    pub(super) fn new(mailbox: Arc<Mailbox>, system: Arc<dyn System>, since: SystemTime) -> Self {
        let watches = DirectoryWatches::new(Arc::clone(&system), mailbox.event_sink());
        Self {
            helper: Helper::new(Arc::clone(&mailbox)),
            mailbox,
            system,
            config: WatchConfig { watches_files: false, poll_interval: Duration::ZERO },
            since,
            files: BTreeMap::new(),
            stalled: BTreeMap::new(),
            reports: SystemReports::default(),
            burst: None,
            next_poll: None,
            directories: DirectoryState {
                watches: Some(Box::new(watches)),
                fitted: None,
                lost: LostWatches::default(),
                trouble: None,
            },
            changed: BTreeSet::new(),
            reported_mode: WatchMode::Off,
        }
    }

    /// Waits for mail or for the next deadline.
    pub(super) fn wait(&self, now: Instant) {
        let reports = match self.burst {
            Some(_) => ReportWakeUp::AtDeadline,
            None => ReportWakeUp::AtOnce,
        };
        self.mailbox.wait(now, self.next_deadline(now), reports);
    }

    /// The next time at which there is something to do.
    pub(super) fn next_deadline(&self, now: Instant) -> Option<Instant> {
        let next = match self.burst {
            Some(burst) => Some(burst.next_collection(now)),
            None => self.next_recheck(),
        };
        next.into_iter().chain(self.next_poll).min()
    }

    /// Processes mail and deadlines, and returns the events to report.
    pub(super) fn tick(&mut self, now: Instant) -> Vec<WatchEvent> {
        let Mail { reports, target, late_results } = self.mailbox.take();
        self.add_reports(reports, now);
        for result in late_results {
            self.apply_late_result(result, now);
        }
        if let Some(target) = target {
            self.set_target(target, now);
        }
        if self.burst.is_some_and(|burst| burst.due() <= now) {
            self.end_burst(now);
        } else if self.next_poll.is_some_and(|poll| poll <= now) {
            self.check_files(ProbeReason::Poll, &BTreeSet::new(), now);
        } else if self.burst.is_none() && self.next_recheck().is_some_and(|recheck_at| recheck_at <= now) {
            self.extend_burst(now);
        }
        self.events()
    }

    /// Watches these files and no others.
    pub(super) fn set_target(&mut self, target: WatchTarget, now: Instant) {
        let WatchTarget { files, config } = target;
        let files = if config.watches_files { files } else { BTreeSet::new() };
        if self.config != config {
            self.config = config;
            self.directories.fitted = None;
            self.directories.trouble = None;
        }
        self.files.retain(|file, _| files.contains(file));
        self.changed.retain(|file| files.contains(file));
        for file in files {
            self.files.entry(file).or_insert_with(|| TrackedFile::new(self.since));
        }
        self.check_files(ProbeReason::Poll, &BTreeSet::new(), now);
    }

    /// The current method of detecting changes.
    pub(super) fn mode(&self) -> WatchMode {
        match (self.config.watches_files, &self.directories.trouble) {
            (false, _) => WatchMode::Off,
            (true, None) => WatchMode::Events,
            (true, Some(reason)) => WatchMode::Polling(reason.clone()),
        }
    }

    /// The interval for probing all files.
    fn poll_interval(&self) -> Option<Duration> {
        match (self.config.watches_files, &self.directories.trouble) {
            (false, _) => None,
            (true, None) => (!self.config.poll_interval.is_zero()).then_some(self.config.poll_interval),
            (true, Some(_)) if self.config.poll_interval.is_zero() => Some(FALLBACK_POLL_INTERVAL),
            (true, Some(_)) => Some(self.config.poll_interval.min(FALLBACK_POLL_INTERVAL)),
        }
    }

    /// The next time to report a file regardless of its stamp.
    fn next_recheck(&self) -> Option<Instant> {
        let responding = self.files.iter().filter(|(file, _)| !self.is_stalled(file));
        responding.filter_map(|(_, file)| file.recheck_at()).min()
    }

    fn add_reports(&mut self, reports: SystemReports, now: Instant) {
        if !reports.is_empty() {
            self.reports.merge(reports);
            self.extend_burst(now);
        }
    }

    fn extend_burst(&mut self, now: Instant) {
        match &mut self.burst {
            Some(burst) => burst.extend(now),
            None => self.burst = Some(Burst::new(now)),
        }
    }

    /// Probes all files and reports those that changed.
    fn end_burst(&mut self, now: Instant) {
        self.burst = None;
        self.reports.merge(self.mailbox.reports.take());
        let SystemReports { any_change: _, changed_entries, removed_directories, overflowed, failed } =
            std::mem::take(&mut self.reports);
        let lost = &mut self.directories.lost;
        lost.removed.extend(removed_directories);
        lost.all |= overflowed;
        lost.failed = lost.failed.take().or(failed);
        self.check_files(ProbeReason::Report, &changed_entries, now);
    }

    /// Probes all files and watches their directories. Repeats this until no more directories are found.
    fn check_files(&mut self, reason: ProbeReason, changed_entries: &BTreeSet<DirectoryEntry>, now: Instant) {
        self.probe_files(reason, changed_entries, now);
        for _ in 0..MAX_PROBE_ROUNDS {
            // A change in a directory can be missed before it is watched, and its path may lead elsewhere by now.
            if !self.update_directories(now) {
                break;
            }
            self.probe_files(ProbeReason::Poll, &BTreeSet::new(), now);
        }
        self.next_poll = self.poll_interval().map(|interval| now + interval);
    }

    fn probe_files(&mut self, reason: ProbeReason, changed_entries: &BTreeSet<DirectoryEntry>, now: Instant) {
        let files: Vec<PathBuf> = self.files.keys().cloned().collect();
        let mut probes = Vec::new();
        for file in files {
            // Also if an earlier file has just shown that the mount is dead.
            if self.is_stalled(&file) {
                continue;
            }
            match self.probe(&file) {
                Some(probe) => probes.push((file, probe)),
                None if self.mailbox.is_stopped() => return,
                None => {
                    tracing::warn!(file = %file.display(), "can't stat the file: its file system isn't responding");
                    let device = self.device(&file);
                    self.stalled.insert(file, device);
                }
            }
        }
        for (file, probe) in probes {
            self.apply_probe(file, probe, reason, changed_entries, now);
        }
    }

    fn probe(&mut self, file: &Path) -> Option<FileProbe> {
        let system = Arc::clone(&self.system);
        let file = file.to_owned();
        let result = self.helper.run(move || {
            let probe = system.probe(&file);
            JobResult::Probed(file, probe)
        });
        match result? {
            JobResult::Probed(_, probe) => Some(probe),
            JobResult::DirectoriesUpdated(..) => None,
        }
    }

    /// True if the file's probe, or one on the same device, is stalled.
    fn is_stalled(&self, file: &Path) -> bool {
        let device = self.device(file);
        self.stalled.contains_key(file)
            || (device.is_some() && self.stalled.values().any(|stalled| *stalled == device))
    }

    fn device(&self, file: &Path) -> Option<u64> {
        self.files.get(file)?.last_probe()?.device()
    }

    fn apply_probe(
        &mut self,
        file: PathBuf,
        probe: FileProbe,
        reason: ProbeReason,
        changed_entries: &BTreeSet<DirectoryEntry>,
        now: Instant,
    ) {
        let Some(tracked) = self.files.get_mut(&file) else { return };
        let report =
            if probe.passes_through(changed_entries) { SystemReport::Changed } else { SystemReport::None };
        match tracked.apply(probe, reason, report, now) {
            ProbeOutcome::Unchanged => {}
            ProbeOutcome::PossiblyChanged => self.extend_burst(now),
            ProbeOutcome::Changed => drop(self.changed.insert(file)),
        }
    }

    /// Watches the directories that the last probes passed through. True if a directory is newly watched.
    fn update_directories(&mut self, now: Instant) -> bool {
        let steps = self.files.values().filter_map(TrackedFile::last_probe).flat_map(|probe| &probe.steps);
        let wanted = WantedDirectories::from_steps(steps);
        let is_done = self.directories.fitted.as_ref() == Some(&wanted)
            && self.directories.lost.is_empty()
            && self.directories.trouble.is_none();
        if is_done || self.mailbox.is_stopped() {
            return false;
        }
        let Some(mut watches) = self.directories.watches.take() else { return false };
        let lost = std::mem::take(&mut self.directories.lost);
        // Before the first report can arrive.
        self.mailbox.reports.set_watched_names(wanted.names());
        self.directories.fitted = Some(wanted.clone());
        let is_on = self.config.watches_files;
        let result = self.helper.run(move || {
            let outcome = if is_on {
                watches.watch_only(&wanted, lost, now)
            } else {
                watches.clear();
                WatchUpdate::default()
            };
            JobResult::DirectoriesUpdated(watches, outcome)
        });
        match result {
            Some(JobResult::DirectoriesUpdated(watches, outcome)) => {
                self.apply_watch_update(watches, outcome)
            }
            Some(JobResult::Probed(..)) | None => {
                let reason = "can't watch a directory yet: its file system isn't responding";
                self.directories.trouble.get_or_insert_with(|| reason.to_owned());
                false
            }
        }
    }

    fn apply_watch_update(&mut self, watches: Box<DirectoryWatches>, outcome: WatchUpdate) -> bool {
        self.directories.watches = Some(watches);
        self.directories.trouble = outcome.trouble;
        outcome.grown
    }

    /// Handles the result of a call that had stalled.
    fn apply_late_result(&mut self, result: JobResult, now: Instant) {
        match result {
            JobResult::Probed(file, probe) => {
                tracing::info!(file = %file.display(), "the file system responds again");
                self.stalled.remove(&file);
                if let Some(tracked) = self.files.get_mut(&file)
                    && tracked.last_probe().is_none()
                {
                    // The caller has read the file in the meantime.
                    tracked.set_recheck(now);
                }
                self.apply_probe(file, probe, ProbeReason::Poll, &BTreeSet::new(), now);
            }
            JobResult::DirectoriesUpdated(watches, outcome) => {
                self.apply_watch_update(watches, outcome);
            }
        }
        self.check_files(ProbeReason::Poll, &BTreeSet::new(), now);
    }

    /// All events to report.
    fn events(&mut self) -> Vec<WatchEvent> {
        let mut events = Vec::new();
        // An interrupted call looks like a stall.
        if self.mailbox.is_stopped() {
            return events;
        }
        let mode = self.mode();
        if mode != self.reported_mode {
            self.log_mode(&mode);
            self.reported_mode = mode.clone();
            events.push(WatchEvent::ModeChanged(mode));
        }
        if !self.changed.is_empty() {
            self.since = SystemTime::now();
            events.push(WatchEvent::FilesChanged(std::mem::take(&mut self.changed)));
        }
        events
    }

    fn log_mode(&self, mode: &WatchMode) {
        match (&self.reported_mode, mode) {
            (_, WatchMode::Polling(reason)) => {
                let interval_ms = milliseconds(self.poll_interval().unwrap_or_default());
                tracing::warn!(
                    interval_ms,
                    "polling files, because the system doesn't report all changes: {reason}"
                );
            }
            (WatchMode::Polling(_), WatchMode::Events) => {
                tracing::info!("the system reports file changes again");
            }
            (WatchMode::Off | WatchMode::Events, WatchMode::Events) => {}
            (_, WatchMode::Off) => tracing::warn!("files are no longer watched"),
        }
    }
}
