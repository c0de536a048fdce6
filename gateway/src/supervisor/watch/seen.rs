//! What is known of one file, and whether its next look is news.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::look::{Look, Stamp};

/// After so long no file system gives a new content the old time.
const SURE: Duration = Duration::from_secs(2);

/// What is known of one file.
#[derive(Debug)]
pub(super) struct Seen {
    /// Its last look.
    look: Option<Look>,
    /// What was reported last, or what the caller found when it named the file.
    reported: Option<Stamp>,
    /// The caller may have read it before this.
    since: SystemTime,
    /// When to report it whatever its stamp.
    doubt: Option<Instant>,
}

/// Why a file is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// It is time to say what changed.
    Report,
    /// To find out whether anything changed.
    Check,
}

/// Whether events said that the file may hold something new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Yes,
    No,
}

/// What a look means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum News {
    /// Nothing.
    None,
    /// Something changed, or may have: wait until it is quiet.
    Stirred,
    /// The file is to be reported.
    Report,
}

impl Seen {
    pub(super) fn new(since: SystemTime) -> Self {
        Self { look: None, reported: None, since, doubt: None }
    }

    pub(super) fn look(&self) -> Option<&Look> {
        self.look.as_ref()
    }

    /// When to look at it again in any case.
    pub(super) fn doubt(&self) -> Option<Instant> {
        self.doubt
    }

    /// It is to be reported as soon as it is quiet, whatever its stamp.
    pub(super) fn in_doubt(&mut self, now: Instant) {
        self.doubt = Some(now);
    }

    /// Takes a look, and says what it means.
    pub(super) fn take(&mut self, look: Look, why: Why, told: Told, now: Instant) -> News {
        let stamp = look.stamp;
        let is_fresh = self.look.as_ref().is_none_or(|before| before.stamp != stamp);
        let Some(reported) = self.reported else {
            // The caller reads it after this, or has done so shortly before.
            self.reported = Some(stamp);
            let is_news = look.may_be_newer_than(self.since);
            if is_news {
                self.doubt = Some(now);
            }
            self.look = Some(look);
            return if self.doubt.is_some() { News::Stirred } else { News::None };
        };
        self.look = Some(look);
        let differs = stamp != reported;
        let doubtful = self.doubt.is_some_and(|doubt| doubt <= now);
        match why {
            Why::Check if differs || doubtful => News::Stirred,
            Why::Check => News::None,
            Why::Report if differs => {
                self.reported = Some(stamp);
                self.doubt = is_doubtful(stamp, is_fresh, told).then_some(now + SURE);
                News::Report
            }
            // One more write right after the last look leaves the stamp as it was; once is enough.
            Why::Report if doubtful || told == Told::Yes => {
                self.doubt = None;
                News::Report
            }
            Why::Report => News::None,
        }
    }
}

/// Could the file be written once more without getting another stamp, and nobody say so?
///
/// Where events come, the next write makes one. Otherwise it depends on how exact the times are: a stamp that was there
/// a while ago belongs to what is read now.
fn is_doubtful(stamp: Stamp, is_fresh: bool, told: Told) -> bool {
    match stamp {
        Stamp::File { .. } => told == Told::No && (is_fresh || stamp.granularity() >= SURE),
        Stamp::NoFile | Stamp::NotThere | Stamp::Unreachable(_) => false,
    }
}
