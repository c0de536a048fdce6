//! One watched file: what was probed and reported last, and whether the next probe has to be reported.

use std::time::{Duration, Instant, SystemTime};

use super::probe::{FileProbe, FileStamp};

/// After this long, every file system gives new content a new time.
const STAMP_SETTLE_TIME: Duration = Duration::from_secs(2);

/// One watched file.
#[derive(Debug)]
pub(super) struct TrackedFile {
    last_probe: Option<FileProbe>,
    /// The stamp that was reported last, or that the caller found when naming the file.
    reported: Option<FileStamp>,
    /// The caller may have read the file after this time.
    since: SystemTime,
    /// When to report the file whatever its stamp.
    doubt: Option<Instant>,
}

/// Why files are probed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProbeReason {
    /// To report what changed.
    Report,
    /// To find out whether anything changed.
    Poll,
}

/// Whether the system reported that the file may have new content.
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
        Self { last_probe: None, reported: None, since, doubt: None }
    }

    pub(super) fn last_probe(&self) -> Option<&FileProbe> {
        self.last_probe.as_ref()
    }

    /// When to report the file whatever its stamp.
    pub(super) fn doubt(&self) -> Option<Instant> {
        self.doubt
    }

    /// Has the file reported after a quiet period, whatever its stamp.
    pub(super) fn set_doubt(&mut self, now: Instant) {
        self.doubt = Some(now);
    }

    /// Takes a probe and concludes whether the file changed.
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
                self.doubt = Some(now);
            }
            self.last_probe = Some(probe);
            return match self.doubt {
                Some(_) => ProbeOutcome::PossiblyChanged,
                None => ProbeOutcome::Unchanged,
            };
        };
        self.last_probe = Some(probe);
        let differs = stamp != reported;
        let is_doubtful = self.doubt.is_some_and(|doubt| doubt <= now);
        match reason {
            ProbeReason::Poll if differs || is_doubtful => ProbeOutcome::PossiblyChanged,
            ProbeReason::Poll => ProbeOutcome::Unchanged,
            ProbeReason::Report if differs => {
                self.reported = Some(stamp);
                let may_hide_a_write = may_hide_a_write(stamp, is_new_stamp, report);
                self.doubt = may_hide_a_write.then_some(now + STAMP_SETTLE_TIME);
                ProbeOutcome::Changed
            }
            // Another write right after the last probe leaves the stamp as it was. Once is enough.
            ProbeReason::Report if is_doubtful || report == SystemReport::Changed => {
                self.doubt = None;
                ProbeOutcome::Changed
            }
            ProbeReason::Report => ProbeOutcome::Unchanged,
        }
    }
}

/// True if the file could be written again without getting another stamp and without a report.
///
/// If the system reports changes, the next write is reported. Otherwise it depends on how exact the times are: a stamp
/// that existed a while ago belongs to the content that is read now.
fn may_hide_a_write(stamp: FileStamp, is_new: bool, report: SystemReport) -> bool {
    match stamp {
        FileStamp::File { .. } => {
            report == SystemReport::None && (is_new || stamp.granularity() >= STAMP_SETTLE_TIME)
        }
        FileStamp::NotAFile | FileStamp::Missing | FileStamp::Unreachable(_) => false,
    }
}
