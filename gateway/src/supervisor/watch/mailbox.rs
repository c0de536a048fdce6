//! The mailbox of the watch thread: the system's reports, the files to watch, results of helpers, and the stop request.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

use super::WatchTarget;
use super::event_sink::{EventSink, ReportBuffer, SystemReports};
use super::helper::{JobId, JobResult};

/// State that is exchanged with the watch thread.
#[derive(Debug, Default)]
pub(in crate::supervisor) struct Mailbox {
    pub(super) reports: Arc<ReportBuffer>,
    /// Locked only briefly, never during file access.
    state: Mutex<MailboxState>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct MailboxState {
    /// The target that the thread hasn't received yet.
    new_target: Option<WatchTarget>,
    /// The last target, even after the thread has received it.
    target: WatchTarget,
    results: Vec<(JobId, JobResult)>,
    is_stopped: bool,
}

/// Mail for the watch thread.
#[derive(Debug, Default)]
pub(super) struct Mail {
    pub(super) reports: SystemReports,
    pub(super) target: Option<WatchTarget>,
    /// Results that arrived too late for the caller.
    pub(super) late_results: Vec<JobResult>,
}

/// The urgency of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportWakeUp {
    AtOnce,
    /// The thread collects them at its deadline.
    AtDeadline,
}

impl Wake for Mailbox {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // A thread that has just found no reports holds the lock until it waits, so it can't miss this.
        drop(self.lock());
        self.wake.notify_all();
    }
}

impl Mailbox {
    /// A sink whose reports arrive here.
    pub(super) fn event_sink(self: &Arc<Self>) -> EventSink {
        EventSink::new(Arc::clone(&self.reports), Waker::from(Arc::clone(self)))
    }

    pub(super) fn set_target(&self, target: WatchTarget) {
        let mut state = self.lock();
        if state.target == target {
            return;
        }
        state.target = target.clone();
        state.new_target = Some(target);
        drop(state);
        self.wake.notify_all();
    }

    /// The last target that was set.
    #[cfg(test)]
    pub(in crate::supervisor) fn target(&self) -> WatchTarget {
        self.lock().target.clone()
    }

    pub(super) fn put_result(&self, id: JobId, result: JobResult) {
        self.lock().results.push((id, result));
        self.wake.notify_all();
    }

    /// Requests the thread to end.
    pub(super) fn stop(&self) {
        self.lock().is_stopped = true;
        self.wake.notify_all();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.lock().is_stopped
    }

    /// Takes all mail.
    pub(super) fn take(&self) -> Mail {
        let reports = self.reports.take();
        let mut state = self.lock();
        let results = std::mem::take(&mut state.results);
        Mail {
            reports,
            target: state.new_target.take(),
            late_results: results.into_iter().map(|(_, result)| result).collect(),
        }
    }

    /// Waits until there is mail, until the deadline, or until the thread must end.
    pub(super) fn wait(&self, now: Instant, deadline: Option<Instant>, reports: ReportWakeUp) {
        let has_mail = |state: &MailboxState| {
            state.is_stopped
                || state.new_target.is_some()
                || !state.results.is_empty()
                || (reports == ReportWakeUp::AtOnce && !self.reports.is_empty())
        };
        drop(self.wait_until(deadline.map(|deadline| deadline.saturating_duration_since(now)), has_mail));
    }

    /// Waits for the result of a job, no longer than `limit` and not after [`Self::stop`].
    pub(super) fn wait_for_result(&self, id: JobId, limit: Duration) -> Option<JobResult> {
        let is_done =
            |state: &MailboxState| state.is_stopped || state.results.iter().any(|(result, _)| *result == id);
        let mut state = self.wait_until(Some(limit), is_done);
        let at = state.results.iter().position(|(result, _)| *result == id)?;
        Some(state.results.swap_remove(at).1)
    }

    fn wait_until(
        &self,
        limit: Option<Duration>,
        is_done: impl Fn(&MailboxState) -> bool,
    ) -> MutexGuard<'_, MailboxState> {
        let state = self.lock();
        match limit {
            Some(limit) => {
                let waited = self.wake.wait_timeout_while(state, limit, |state| !is_done(state));
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => {
                let waited = self.wake.wait_while(state, |state| !is_done(state));
                waited.unwrap_or_else(PoisonError::into_inner)
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, MailboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
