//! One watched file: the last probe and report, and the decision to report the next probe.

use std::time::{Duration, Instant, SystemTime};

use super::probe::{FileProbe, FileStamp};

/// The time after which every file system gives new content a new time.
const STAMP_SETTLE_TIME: Duration = Duration::from_secs(2);

/// One watched file.
#[derive(Debug)]
pub(super) struct TrackedFile {
    last_probe: Option<FileProbe>,
    /// The last reported stamp, or the one that the caller found when naming the file.
    reported: Option<FileStamp>,
    /// The caller may have read the file after this time.
    since: SystemTime,
    /// The time to report the file regardless of its stamp.
    recheck_at: Option<Instant>,
}

/// The purpose of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProbeReason {
    /// To report changes.
    Report,
    /// To find out if anything changed.
    Poll,
}

/// The presence of a report that the file may have new content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SystemReport {
    Changed,
    None,
}

/// The conclusion from a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProbeOutcome {
    Unchanged,
    /// Something changed, or may have changed: wait for a quiet period.
    PossiblyChanged,
    /// The file has to be reported.
    Changed,
}

impl TrackedFile {
    pub(super) fn new(since: SystemTime) -> Self {
        Self { last_probe: None, reported: None, since, recheck_at: None }
    }

    pub(super) fn last_probe(&self) -> Option<&FileProbe> {
        self.last_probe.as_ref()
    }

    /// The time to report the file regardless of its stamp.
    pub(super) fn recheck_at(&self) -> Option<Instant> {
        self.recheck_at
    }

    /// Schedules a report of the file after a quiet period, regardless of its stamp.
    pub(super) fn set_recheck(&mut self, now: Instant) {
        self.recheck_at = Some(now);
    }

    /// Decides from a probe if the file changed.
    pub(super) fn apply(
        &mut self,
        probe: FileProbe,
        reason: ProbeReason,
        report: SystemReport,
        now: Instant,
    ) -> ProbeOutcome {
        let stamp = probe.stamp;
        let is_new_stamp = self.last_probe.as_ref().is_none_or(|before| before.stamp != stamp);
        let Some(reported) = self.reported else {
            // The caller reads the file after this, or read it shortly before.
            self.reported = Some(stamp);
            if probe.may_be_newer_than(self.since) {
                self.recheck_at = Some(now);
            }
            self.last_probe = Some(probe);
            return match self.recheck_at {
                Some(_) => ProbeOutcome::PossiblyChanged,
                None => ProbeOutcome::Unchanged,
            };
        };
        self.last_probe = Some(probe);
        let differs = stamp != reported;
        let is_doubtful = self.recheck_at.is_some_and(|recheck_at| recheck_at <= now);
        match reason {
            ProbeReason::Poll if differs || is_doubtful => ProbeOutcome::PossiblyChanged,
            ProbeReason::Poll => ProbeOutcome::Unchanged,
            ProbeReason::Report if differs => {
                self.reported = Some(stamp);
                let may_hide_a_write = may_hide_a_write(stamp, is_new_stamp, report);
                self.recheck_at = may_hide_a_write.then_some(now + STAMP_SETTLE_TIME);
                ProbeOutcome::Changed
            }
            // Another write right after the last probe leaves the stamp unchanged. Once is enough.
            ProbeReason::Report if is_doubtful || report == SystemReport::Changed => {
                self.recheck_at = None;
                ProbeOutcome::Changed
            }
            ProbeReason::Report => ProbeOutcome::Unchanged,
        }
    }
}

/// True if another write could leave the stamp unchanged and cause no report.
///
/// If the system reports changes, the next write is reported. Otherwise, it depends on the resolution of the times: a
/// stamp that is old enough belongs to the content that is being read now.
fn may_hide_a_write(stamp: FileStamp, is_new: bool, report: SystemReport) -> bool {
    match stamp {
        FileStamp::File { .. } => {
            report == SystemReport::None && (is_new || stamp.granularity() >= STAMP_SETTLE_TIME)
        }
        FileStamp::NotAFile | FileStamp::Missing | FileStamp::Unreachable(_) => false,
    }
}
