//! The bounded queue of records, and the thread that writes them.
//!
//! The threads that serve calls only add to the queue. [`AuditLog::room_for`] is checked before a call runs, so the
//! queue exceeds its limit at most by the calls that run already. Callers share it: the arguments of a caller that has
//! used a quarter aren't recorded, and its calls wait once it has used half. What callers cause without a call that
//! runs has a half of its own, so that it displaces neither changes nor calls, and they don't displace it.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use moongate_model::caller::Caller;
use moongate_model::caller_budget::{BudgetShare, CallerBudget};

use crate::chain::ChainHead;
use crate::file_end::MAX_LINE_BYTES;
use crate::key::AuditKey;
use crate::log_file::{AuditFileError, AuditFiles, LogFile};
use crate::record::{AuditEvent, AuditOutcome, AuditRecord};

/// The size of waiting records from which no more are accepted, in bytes.
const MAX_QUEUED_BYTES: usize = 16 << 20;

/// The least that a record counts, in bytes. So the queue has a limit on their number, too.
const MIN_RECORD_BYTES: usize = MAX_QUEUED_BYTES / MAX_QUEUED_RECORDS;

/// The number of waiting records from which no more are accepted.
const MAX_QUEUED_RECORDS: usize = 8192;

/// The part of the queue that a caller can fill with records that contain arguments, in bytes.
const MAX_ARGUMENTS_BYTES: usize = MAX_QUEUED_BYTES / 4;

/// The most that is written at once, in bytes. The lock is held meanwhile: a gateway that is suspended at that time stops
/// all others that share the log.
const MAX_BATCH_BYTES: usize = 64 << 10;

/// The time after which records that the disk hasn't taken keep calls from running.
const MAX_WRITE_TIME: Duration = Duration::from_secs(1);

/// The delay after a failed attempt to write.
const RETRY_DELAY: Duration = Duration::from_millis(500);

/// The interval at which the head is logged, if it has changed.
const HEAD_INTERVAL: Duration = Duration::from_secs(60);

/// The interval at which the head is looked for on the disk before it is logged.
const SYNC_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The time that passes. Tests set their own.
#[derive(Clone)]
struct MonotonicClock(Arc<dyn Fn() -> Instant + Send + Sync>);

impl fmt::Debug for MonotonicClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MonotonicClock")
    }
}

/// The effect on calls if records can't be written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// No call runs without a record: calls are refused.
    #[default]
    Refuse,
    /// Calls run, and records are dropped and counted.
    Drop,
}

/// The room for the record of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueRoom {
    /// It can be taken, or may be dropped.
    Free,
    /// The queue is full, or the caller has used its share. There is room again as soon as records are written.
    Full,
    /// Records can't be written.
    Unavailable,
}

/// The source of a record, which decides whether it can be dropped.
#[derive(Debug, Clone, Copy)]
enum RecordSource<'a> {
    /// A call that ran.
    AdmittedCall(&'a Caller),
    /// A refused call, or failed authentication: anyone can cause any number of them.
    Refusal,
    /// A change, the start or the end of the gateway.
    Change,
}

/// The state of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditStatus {
    /// The end of the chain.
    pub head: ChainHead,
    /// The records that were dropped since the start.
    pub dropped: u64,
    /// The end of the chain when it was last logged.
    pub logged_head: Option<ChainHead>,
    /// The records that wait to be written.
    pub queued: usize,
    /// The reason that the last attempt to write failed.
    pub failure: Option<String>,
}

/// The audit log. Clones share it.
#[derive(Debug, Clone)]
pub struct AuditLog(Arc<SharedLog>);

#[derive(Debug)]
struct SharedLog {
    state: Mutex<LogState>,
    changed: Condvar,
    when_full: WhenFull,
    key: AuditKey,
    /// The queue's bytes that callers have used with calls that ran.
    shares: Arc<CallerBudget>,
    clock: MonotonicClock,
}

#[derive(Debug)]
struct LogState {
    queue: VecDeque<QueuedRecord>,
    /// As the records count.
    queued_bytes: usize,
    /// Those of refusals.
    refusal_bytes: usize,
    /// Dropped since the start.
    dropped: u64,
    /// Dropped, and not recorded yet.
    unrecorded: u64,
    head: ChainHead,
    logged_head: Option<ChainHead>,
    failure: Option<String>,
    /// The time at which the thread took the records that it is writing.
    writing_since: Option<Instant>,
    /// The log says that they take long.
    logged_delay: bool,
    is_stopping: bool,
    has_stopped: bool,
}

/// A record that waits.
#[derive(Debug)]
struct QueuedRecord {
    /// The members of its line.
    members: Vec<u8>,
    is_refusal: bool,
    /// The share of the caller whose call ran.
    _share: Option<BudgetShare>,
}

/// Records that are written together.
struct RecordBatch {
    /// The members of each line.
    lines: Vec<Vec<u8>>,
    /// The records that the first line reports as dropped.
    dropped: u64,
}

impl AuditLog {
    /// Opens the log, and starts the thread that writes it.
    ///
    /// # Errors
    /// A file can't be used, or the thread can't be started.
    pub fn open(files: AuditFiles, key: AuditKey, when_full: WhenFull) -> Result<Self, AuditFileError> {
        Self::open_with_clock(files, key, when_full, MonotonicClock(Arc::new(Instant::now)))
    }

    fn open_with_clock(
        files: AuditFiles,
        key: AuditKey,
        when_full: WhenFull,
        clock: MonotonicClock,
    ) -> Result<Self, AuditFileError> {
        let path = files.path.clone();
        let file = LogFile::open(files, key.clone())?;
        let state = LogState {
            queue: VecDeque::new(),
            queued_bytes: 0,
            refusal_bytes: 0,
            dropped: 0,
            unrecorded: 0,
            head: file.head(),
            logged_head: None,
            failure: None,
            writing_since: None,
            logged_delay: false,
            is_stopping: false,
            has_stopped: false,
        };
        let shares = CallerBudget::new(MAX_QUEUED_BYTES as u64);
        let (state, changed) = (Mutex::new(state), Condvar::new());
        let log = Self(Arc::new(SharedLog { state, changed, when_full, key, shares, clock }));
        let writer = LogWriter { log: log.clone(), file, publishing: None, logged_failure: false };
        let spawned = thread::Builder::new().name("audit".to_owned()).spawn(|| writer.run());
        // The thread ends when the log is stopped.
        spawned.map_err(|source| AuditFileError::Io { path, source })?;
        Ok(log)
    }

    /// The key, for hashes of arguments.
    #[must_use]
    pub fn key(&self) -> &AuditKey {
        &self.0.key
    }

    /// The room for the record of a call of this caller.
    #[must_use]
    pub fn room_for(&self, caller: &Caller) -> QueueRoom {
        if self.0.when_full == WhenFull::Drop {
            return QueueRoom::Free;
        }
        let mut state = self.state();
        if state.failure.is_some() || state.is_stopping {
            QueueRoom::Unavailable
        } else if self.is_delayed(&state) {
            if !std::mem::replace(&mut state.logged_delay, true) {
                tracing::error!(
                    "writing to the audit log takes too long; calls are refused until it is done"
                );
            }
            QueueRoom::Full
        } else if self.is_full_for(&state, caller) {
            QueueRoom::Full
        } else {
            QueueRoom::Free
        }
    }

    /// Reports whether the disk has taken too long for the records that are being written.
    fn is_delayed(&self, state: &LogState) -> bool {
        let is_late = |since| (self.0.clock.0)().saturating_duration_since(since) > MAX_WRITE_TIME;
        state.writing_since.is_some_and(is_late)
    }

    fn is_full_for(&self, state: &LogState, caller: &Caller) -> bool {
        state.is_filled(1) || !self.0.shares.may_reserve(caller, MIN_RECORD_BYTES as u64)
    }

    /// Queues the record of a call that was admitted. It is dropped only if the log may drop records.
    pub fn record_admitted(&self, caller: &Caller, record: &AuditRecord) {
        self.push(record, RecordSource::AdmittedCall(caller));
    }

    /// Queues the record of a refused call or of failed authentication. If half of the queue is full, it is dropped and
    /// counted.
    pub fn record_refusal(&self, record: &AuditRecord) {
        self.push(record, RecordSource::Refusal);
    }

    /// Queues the record of a change. It is dropped only if the queue is twice its size: operators cause few of them.
    pub fn record_change(&self, record: &AuditRecord) {
        self.push(record, RecordSource::Change);
    }

    fn push(&self, record: &AuditRecord, source: RecordSource<'_>) {
        let mut members = record.members();
        let has_value = record.arguments.as_ref().is_some_and(|arguments| arguments.value.is_some());
        let is_above_share = match source {
            RecordSource::AdmittedCall(caller) => {
                self.0.shares.held_by(caller) + counted(&members) as u64 > MAX_ARGUMENTS_BYTES as u64
            }
            RecordSource::Refusal | RecordSource::Change => false,
        };
        if has_value && is_above_share || members.len() > MAX_LINE_BYTES / 2 {
            let mut shorter = record.clone();
            if let Some(arguments) = &mut shorter.arguments {
                arguments.value = None;
            }
            members = shorter.members();
        }
        let bytes = counted(&members);
        let mut state = self.state();
        let is_dropped = match source {
            RecordSource::AdmittedCall(caller) => {
                self.0.when_full == WhenFull::Drop && self.is_full_for(&state, caller)
            }
            RecordSource::Refusal => state.refusal_bytes >= MAX_QUEUED_BYTES / 2,
            RecordSource::Change => state.is_filled(2),
        };
        if is_dropped {
            state.dropped += 1;
            state.unrecorded += 1;
            return;
        }
        let share = match source {
            RecordSource::AdmittedCall(caller) => Some(self.0.shares.charge(caller, bytes as u64)),
            RecordSource::Refusal | RecordSource::Change => None,
        };
        let is_refusal = matches!(source, RecordSource::Refusal);
        state.queued_bytes += bytes;
        state.refusal_bytes += if is_refusal { bytes } else { 0 };
        state.queue.push_back(QueuedRecord { members, is_refusal, _share: share });
        drop(state);
        self.0.changed.notify_all();
    }

    /// The state of the log.
    #[must_use]
    pub fn status(&self) -> AuditStatus {
        let state = self.state();
        AuditStatus {
            head: state.head,
            dropped: state.dropped,
            logged_head: state.logged_head,
            queued: state.queue.len(),
            failure: state
                .failure
                .clone()
                .or_else(|| self.is_delayed(&state).then(|| "writing takes too long".to_owned())),
        }
    }

    /// Writes everything that is queued, and ends the thread. It waits at most this long.
    pub fn stop(&self, limit: Duration) {
        let begun = Instant::now();
        let mut state = self.state();
        state.is_stopping = true;
        self.0.changed.notify_all();
        while !state.has_stopped {
            let Some(rest) = limit.checked_sub(begun.elapsed()) else { break };
            state = self.0.changed.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
        if !state.queue.is_empty() {
            tracing::error!(records = state.queue.len(), "the audit log ends without its last records");
        }
    }

    fn state(&self) -> MutexGuard<'_, LogState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogState {
    /// Reports whether this many times the size of the queue is full.
    fn is_filled(&self, times: usize) -> bool {
        self.queued_bytes >= times * MAX_QUEUED_BYTES
    }

    /// Takes the records that are written together.
    fn take_batch(&mut self) -> RecordBatch {
        let mut lines = Vec::new();
        let dropped = std::mem::take(&mut self.unrecorded);
        if dropped > 0 {
            let mut record = AuditRecord::new(AuditEvent::LogDropped, AuditOutcome::Failed);
            record.count = Some(dropped);
            lines.push(record.members());
        }
        let mut bytes = 0;
        while bytes < MAX_BATCH_BYTES
            && let Some(QueuedRecord { members, is_refusal, .. }) = self.queue.pop_front()
        {
            let counted = counted(&members);
            self.queued_bytes -= counted;
            self.refusal_bytes -= if is_refusal { counted } else { 0 };
            bytes += members.len();
            lines.push(members);
        }
        RecordBatch { lines, dropped }
    }
}

/// The bytes of the queue that a record counts.
fn counted(members: &[u8]) -> usize {
    members.len().max(MIN_RECORD_BYTES)
}

/// The thread.
struct LogWriter {
    log: AuditLog,
    file: LogFile,
    /// The head that is logged once it is on the disk.
    publishing: Option<ChainHead>,
    logged_failure: bool,
}

impl LogWriter {
    fn run(mut self) {
        let mut next_publication = Instant::now();
        while let Some(batch) = self.next_batch(next_publication) {
            if !batch.lines.is_empty() && !self.write(&batch) {
                break;
            }
            if Instant::now() >= next_publication {
                next_publication = Instant::now() + self.publish();
            }
        }
        self.file.sync();
        self.log_head(self.file.head());
        self.log.state().has_stopped = true;
        self.log.0.changed.notify_all();
    }

    /// Waits for records. The batch is empty if it is time to log the head. `None` means that the log is stopped.
    fn next_batch(&self, publish_at: Instant) -> Option<RecordBatch> {
        let mut state = self.log.state();
        loop {
            let batch = state.take_batch();
            if !batch.lines.is_empty() {
                state.writing_since = Some((self.log.0.clock.0)());
                return Some(batch);
            }
            if state.is_stopping {
                return None;
            }
            let rest = publish_at.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return Some(batch);
            }
            state = self.log.0.changed.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Writes a batch, or drops it if the log may drop records. Returns false if the log is stopped before.
    fn write(&mut self, batch: &RecordBatch) -> bool {
        loop {
            let Err(error) = self.file.append(&batch.lines) else {
                if std::mem::take(&mut self.logged_failure) {
                    tracing::info!("the audit log can be written again");
                }
                let mut state = self.log.state();
                (state.failure, state.writing_since) = (None, None);
                state.head = self.file.head();
                if std::mem::take(&mut state.logged_delay) {
                    tracing::info!("the audit log is written again");
                }
                return true;
            };
            if !std::mem::replace(&mut self.logged_failure, true) {
                let effect = match self.log.0.when_full {
                    WhenFull::Refuse => "calls are refused until it can be written",
                    WhenFull::Drop => "records are dropped until it can be written",
                };
                tracing::error!("{error}; {effect}");
            }
            let mut state = self.log.state();
            state.failure = Some(error.to_string());
            if state.is_stopping {
                tracing::error!(records = batch.lines.len(), "the audit log ends without these records");
                return false;
            }
            let is_dropped = self.log.0.when_full == WhenFull::Drop;
            if is_dropped {
                let records = (batch.lines.len() - usize::from(batch.dropped > 0)) as u64;
                state.dropped += records;
                state.unrecorded += records + batch.dropped;
                state.writing_since = None;
            }
            let changed = &self.log.0.changed;
            // Not at each new record, but soon when the log is stopped.
            let wait = changed.wait_timeout_while(state, RETRY_DELAY, |state| !state.is_stopping);
            drop(wait.unwrap_or_else(PoisonError::into_inner));
            if is_dropped {
                return true;
            }
        }
    }

    /// Logs the head, if it has changed, once it is on the disk: a head that a power failure removes would look like a
    /// cut log. Returns the time until this is called again.
    fn publish(&mut self) -> Duration {
        let sync = self.file.background_sync();
        let Some(head) = self.publishing else {
            let head = self.file.head();
            if head.sequence == 0 || self.log.state().logged_head == Some(head) {
                return HEAD_INTERVAL;
            }
            self.publishing = Some(head);
            self.file.begin_sync();
            return SYNC_POLL_INTERVAL;
        };
        let is_synced = sync.synced().is_some_and(|synced| synced.head.sequence >= head.sequence);
        if !is_synced && !sync.has_failed() {
            self.file.begin_sync(); // unless one is running
            return SYNC_POLL_INTERVAL;
        }
        self.publishing = None;
        if is_synced {
            self.log_head(head);
        }
        HEAD_INTERVAL
    }

    /// Logs the head. If it is kept elsewhere, a cut log is detected.
    fn log_head(&self, head: ChainHead) {
        if self.log.state().logged_head != Some(head) && head.sequence > 0 {
            self.log.state().logged_head = Some(head);
            tracing::info!(sequence = head.sequence, hash = %head.hash, "head of the audit log");
        }
    }
}

#[cfg(test)]
mod tests;
