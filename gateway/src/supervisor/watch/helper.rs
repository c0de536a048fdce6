//! Calls that can block for ever run on a helper thread, with a limit on waiting for them.
//!
//! On a network mount whose server is gone, even `stat` waits in the kernel. If a call takes too long, its helper
//! thread is abandoned and the next call gets a new one. The late result goes to the mailbox.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use super::directories::{DirectoryWatches, WatchUpdate};
use super::mailbox::Mailbox;
use super::probe::FileProbe;

/// The time after which a call is stalled. Its file system counts as dead until the call returns.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(2);

/// Identifies a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JobId(u64);

type Job = Box<dyn FnOnce() -> JobResult + Send>;

/// The result of a job.
#[derive(Debug)]
pub(super) enum JobResult {
    Probed(PathBuf, FileProbe),
    DirectoriesUpdated(Box<DirectoryWatches>, WatchUpdate),
}

/// Runs jobs one after another.
#[derive(Debug)]
pub(super) struct Helper {
    mailbox: Arc<Mailbox>,
    /// The channel to the thread that runs jobs; `None` before the first job and after a stalled one.
    jobs: Option<mpsc::Sender<(JobId, Job)>>,
    next_id: u64,
    timeout: Duration,
}

impl Helper {
    pub(super) fn new(mailbox: Arc<Mailbox>) -> Self {
        Self { mailbox, jobs: None, next_id: 0, timeout: CALL_TIMEOUT }
    }

    /// The time limit for each job.
    #[cfg(test)]
    pub(super) fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// Runs a job and waits for its result. `None` if it stalls, or if the watch thread must end.
    pub(super) fn run(&mut self, job: impl FnOnce() -> JobResult + Send + 'static) -> Option<JobResult> {
        let id = JobId(self.next_id);
        self.next_id += 1;
        let jobs = match self.jobs.take() {
            Some(jobs) => jobs,
            None => match self.spawn() {
                Ok(jobs) => jobs,
                Err(error) => {
                    tracing::warn!(%error, "can't start a thread to watch files");
                    return Some(job());
                }
            },
        };
        jobs.send((id, Box::new(job))).ok()?;
        let result = self.mailbox.wait_for_result(id, self.timeout)?;
        self.jobs = Some(jobs);
        Some(result)
    }

    /// Starts a thread, which ends when its sender is dropped.
    fn spawn(&self) -> io::Result<mpsc::Sender<(JobId, Job)>> {
        let (sender, jobs) = mpsc::channel::<(JobId, Job)>();
        let mailbox = Arc::clone(&self.mailbox);
        let run = move || {
            for (id, job) in jobs {
                mailbox.put_result(id, job());
            }
        };
        thread::Builder::new().name("watch-helper".to_owned()).spawn(run)?;
        Ok(sender)
    }
}
