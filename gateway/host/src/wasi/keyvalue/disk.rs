//! Stores on disk: the threads that access the database, and its status while it can't be used.
//!
//! One thread reads and one writes, each with its own connection, so no runtime worker ever waits for a disk, and
//! readers don't wait for the writer. SQLite allows only one writer at a time anyway. Operations wait in a bounded
//! queue, and those of ended calls are skipped. A confirmed operation is committed; an abandoned one may be committed
//! or not. If another process has locked the database, the operation is retried until [`LOCK_TIMEOUT`] or the end of
//! the call.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use moongate_model::state::{
    KeyPage, StateBackend, StateDiagnostic, StateError, StateFuture, StateOwner, StoredValue, SwapConflict,
};
use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use super::database::{
    ConnectionRole, DATABASE_FILE, DatabaseConnection, DatabaseError, FileIdentity, StateDir, identity,
};
use super::entries::{OperationResult, StoreEntries, owners};

/// The length of each thread's queue. Further operations wait for a place. Each can contain a value.
const QUEUE_LENGTH: usize = 32;
/// The time limit for waiting for other processes, from the start of an operation.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// The first delay before a locked database is tried again. Each further delay is twice as long.
const FIRST_RETRY_PAUSE: Duration = Duration::from_micros(100);
/// The maximum delay.
const MAX_RETRY_PAUSE: Duration = Duration::from_millis(5);
/// The delay after a failure to open the database.
const REOPEN_PAUSE: Duration = Duration::from_secs(1);
/// The number of writes between two checks of the log's size.
const WRITES_PER_CHECKPOINT: u32 = 64;

/// The database in the state directory. Its threads start when the first store is opened.
pub(super) struct StateDatabase {
    dir: PathBuf,
    queues: OnceLock<WorkerQueues>,
    health: Arc<DatabaseHealth>,
}

/// The queues of the threads. `None` if a thread couldn't be started.
struct WorkerQueues {
    reader: Option<mpsc::Sender<Job>>,
    writer: Option<mpsc::Sender<Job>>,
}

/// The state that both threads share.
#[derive(Default)]
struct DatabaseHealth {
    /// The current problems, which were logged, by thread.
    problems: Mutex<BTreeMap<ConnectionRole, StateDiagnostic>>,
    /// A damaged file, and the kind of damage. No thread uses the file again.
    damaged: Mutex<Option<(FileIdentity, String)>>,
}

type Job = Box<dyn DatabaseJob>;

/// An operation on the database.
trait DatabaseJob: Send {
    /// Runs the operation, possibly as a retry. False means that nothing must be committed.
    fn attempt(&mut self, db: &Connection) -> rusqlite::Result<bool>;
    /// Sends the result, once it is committed.
    fn answer(self: Box<Self>, done: Result<(), StateError>);
    /// True if the call has ended.
    fn is_abandoned(&self) -> bool;
    /// The time at which the operation is abandoned.
    fn deadline(&self) -> Instant;
}

struct Operation<F, T> {
    run: F,
    result: Option<Result<T, StateError>>,
    answer: oneshot::Sender<Result<T, StateError>>,
    deadline: Instant,
}

impl<F, T> DatabaseJob for Operation<F, T>
where
    F: FnMut(&Connection) -> OperationResult<T> + Send,
    T: Send,
{
    fn attempt(&mut self, db: &Connection) -> rusqlite::Result<bool> {
        let result = (self.run)(db)?;
        let commit = result.is_ok();
        self.result = Some(result);
        Ok(commit)
    }

    fn answer(self: Box<Self>, done: Result<(), StateError>) {
        let Self { run: _, result, answer, deadline: _ } = *self;
        let result = done.and_then(|()| result.unwrap_or(Err(StateError::Unavailable)));
        let _ = answer.send(result); // the call may have ended
    }

    fn is_abandoned(&self) -> bool {
        self.answer.is_closed()
    }

    fn deadline(&self) -> Instant {
        self.deadline
    }
}

impl fmt::Debug for StateDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateDatabase").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl StateDatabase {
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir, queues: OnceLock::new(), health: Arc::default() }
    }

    fn queues(&self) -> &WorkerQueues {
        self.queues.get_or_init(|| WorkerQueues {
            reader: self.start_worker(ConnectionRole::Reader),
            writer: self.start_worker(ConnectionRole::Writer),
        })
    }

    fn start_worker(&self, role: ConnectionRole) -> Option<mpsc::Sender<Job>> {
        let (queue, jobs) = mpsc::channel(QUEUE_LENGTH);
        let name = match role {
            ConnectionRole::Reader => "state-reads",
            ConnectionRole::Writer => "state-writes",
        };
        let worker = DatabaseWorker {
            role,
            dir: self.dir.clone(),
            health: Arc::clone(&self.health),
            database: None,
            retry_at: None,
            failed: false,
            writes: 0,
        };
        let started = thread::Builder::new().name(name.to_owned()).spawn(move || worker.run(jobs));
        match started {
            Ok(_) => Some(queue),
            Err(error) => {
                tracing::error!("plugin state can't be used: can't start its thread: {error}");
                None
            }
        }
    }

    /// Runs an operation on one of the threads.
    async fn run<T: Send + 'static>(
        &self,
        role: ConnectionRole,
        run: impl FnMut(&Connection) -> OperationResult<T> + Send + 'static,
    ) -> Result<T, StateError> {
        let (answer, answered) = oneshot::channel();
        let job = Box::new(Operation { run, result: None, answer, deadline: Instant::now() + LOCK_TIMEOUT });
        let queues = self.queues();
        let queue = match role {
            ConnectionRole::Reader => &queues.reader,
            ConnectionRole::Writer => &queues.writer,
        };
        let Some(queue) = queue else { return Err(StateError::Unavailable) };
        queue.send(job).await.map_err(|_| StateError::Unavailable)?;
        answered.await.unwrap_or(Err(StateError::Unavailable))
    }
}

impl StateDatabase {
    pub(super) fn on_entries<'a, T: Send + 'static>(
        &'a self,
        role: ConnectionRole,
        owner: &StateOwner,
        mut run: impl FnMut(StoreEntries<'_>) -> OperationResult<T> + Send + 'static,
    ) -> StateFuture<'a, T> {
        let owner = owner.clone();
        Box::pin(self.run(role, move |db| run(StoreEntries { db, owner: owner.as_str() })))
    }
}

impl StateBackend for StateDatabase {
    /// Starts the threads, which log problems. Repeated calls change nothing.
    fn start(&self) {
        self.queues();
    }

    fn get<'a>(&'a self, owner: &'a StateOwner, key: String) -> StateFuture<'a, Option<StoredValue>> {
        self.on_entries(ConnectionRole::Reader, owner, move |entries| entries.get(&key).map(Ok))
    }

    fn exists<'a>(&'a self, owner: &'a StateOwner, key: String) -> StateFuture<'a, bool> {
        self.on_entries(ConnectionRole::Reader, owner, move |entries| entries.exists(&key).map(Ok))
    }

    fn set<'a>(
        &'a self,
        owner: &'a StateOwner,
        key: String,
        value: StoredValue,
        limit: u64,
    ) -> StateFuture<'a, ()> {
        self.on_entries(ConnectionRole::Writer, owner, move |entries| entries.put(&key, &value, limit))
    }

    fn delete<'a>(&'a self, owner: &'a StateOwner, key: String) -> StateFuture<'a, ()> {
        self.on_entries(ConnectionRole::Writer, owner, move |entries| entries.delete(&key).map(Ok))
    }

    fn page<'a>(&'a self, owner: &'a StateOwner, cursor: Option<String>) -> StateFuture<'a, KeyPage> {
        self.on_entries(ConnectionRole::Reader, owner, move |entries| entries.page(cursor.as_deref()).map(Ok))
    }

    fn increment<'a>(
        &'a self,
        owner: &'a StateOwner,
        key: String,
        delta: i64,
        limit: u64,
    ) -> StateFuture<'a, i64> {
        self.on_entries(ConnectionRole::Writer, owner, move |entries| entries.increment(&key, delta, limit))
    }

    fn swap<'a>(
        &'a self,
        owner: &'a StateOwner,
        key: String,
        seen: Option<StoredValue>,
        value: StoredValue,
        limit: u64,
    ) -> StateFuture<'a, Result<(), SwapConflict>> {
        let swap = move |entries: StoreEntries<'_>| entries.swap(&key, seen.as_ref(), &value, limit);
        self.on_entries(ConnectionRole::Writer, owner, swap)
    }

    fn owners(&self) -> StateFuture<'_, Vec<(StateOwner, u64)>> {
        Box::pin(self.run(ConnectionRole::Reader, |db| owners(db).map(Ok)))
    }

    fn problem(&self) -> Pin<Box<dyn Future<Output = Option<StateDiagnostic>> + Send + '_>> {
        Box::pin(async {
            self.queues.get()?;
            for role in [ConnectionRole::Reader, ConnectionRole::Writer] {
                let _ = self.run(role, |_| Ok(Ok(()))).await;
            }
            self.health.problems.lock().unwrap_or_else(PoisonError::into_inner).values().next().cloned()
        })
    }
}

/// One of the threads.
struct DatabaseWorker {
    role: ConnectionRole,
    dir: PathBuf,
    health: Arc<DatabaseHealth>,
    database: Option<DatabaseConnection>,
    /// The earliest time to open the database again.
    retry_at: Option<Instant>,
    /// True if the last attempt failed.
    failed: bool,
    writes: u32,
}

impl DatabaseWorker {
    fn run(mut self, mut jobs: mpsc::Receiver<Job>) {
        // Not only for the first operation, so that problems are logged at the start.
        match self.open().map(drop) {
            Ok(()) | Err(DatabaseError::Busy) => {}
            Err(error) => self.report(&error),
        }
        while let Some(mut job) = jobs.blocking_recv() {
            if !job.is_abandoned() {
                let done = self.run_job(&mut *job);
                job.answer(done);
            }
        }
    }

    fn run_job(&mut self, job: &mut dyn DatabaseJob) -> Result<(), StateError> {
        let mut pause = FIRST_RETRY_PAUSE;
        loop {
            if self.retry_at.is_some_and(|retry_at| Instant::now() < retry_at) {
                return Err(StateError::Unavailable);
            }
            match self.attempt(job) {
                Ok(()) => {
                    if self.failed {
                        self.failed = false;
                        self.health.recovered(self.role);
                    }
                    return Ok(());
                }
                Err(DatabaseError::Busy) if job.is_abandoned() => return Err(StateError::Busy),
                Err(DatabaseError::Busy) if Instant::now() < job.deadline() => {
                    thread::sleep(pause);
                    pause = (pause * 2).min(MAX_RETRY_PAUSE);
                }
                Err(error) => {
                    self.report(&error);
                    return Err(match error {
                        DatabaseError::Busy => StateError::Busy,
                        DatabaseError::DiskFull(_) => StateError::NoSpace,
                        DatabaseError::ReadOnly(_) => StateError::ReadOnly,
                        _ => StateError::Unavailable,
                    });
                }
            }
        }
    }

    fn attempt(&mut self, job: &mut dyn DatabaseJob) -> Result<(), DatabaseError> {
        let role = self.role;
        let database = self.open()?;
        let done = match role {
            ConnectionRole::Reader => job.attempt(&database.connection).map(drop),
            ConnectionRole::Writer => write(&mut database.connection, job),
        };
        done.map_err(|error| database.database_error(&error))?;
        if role == ConnectionRole::Writer {
            self.writes += 1;
            if self.writes.is_multiple_of(WRITES_PER_CHECKPOINT)
                && let Some(database) = &self.database
            {
                database.checkpoint();
            }
        }
        Ok(())
    }

    /// The database, which is re-opened if the file was replaced.
    fn open(&mut self) -> Result<&mut DatabaseConnection, DatabaseError> {
        let usable = |database: &DatabaseConnection| {
            let in_place = database.is_in_place();
            if !in_place && self.role == ConnectionRole::Writer {
                let dir = self.dir.display();
                tracing::warn!(
                    "`{DATABASE_FILE}` in `{dir}` was moved or removed; using the file that is there now"
                );
            }
            in_place && self.health.damage(database.identity).is_none()
        };
        let database = match self.database.take().filter(usable) {
            Some(database) => database,
            None => {
                let dir = StateDir::create(&self.dir)?;
                let file = dir.database_file();
                if let Some(reason) = identity(&file).and_then(|found| self.health.damage(found)) {
                    return Err(DatabaseError::Damaged { file, reason });
                }
                DatabaseConnection::open(&dir, self.role)?
            }
        };
        Ok(self.database.insert(database))
    }

    /// Reports an error, and closes the database.
    fn report(&mut self, error: &DatabaseError) {
        self.failed = true;
        self.health.report(self.role, error);
        if matches!(error, DatabaseError::Busy) {
            return;
        }
        if let DatabaseError::Damaged { file, reason } = error
            && let Some(found) = identity(file)
        {
            self.health.set_damaged(found, reason);
        }
        if self.database.take().is_none() {
            self.retry_at = Some(Instant::now() + REOPEN_PAUSE); // it couldn't even be opened
        }
    }
}

/// Runs the operation in a transaction that has the write lock from its start.
fn write(connection: &mut Connection, job: &mut dyn DatabaseJob) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if job.attempt(&transaction)? { transaction.commit() } else { transaction.rollback() }
}

impl DatabaseHealth {
    /// Logs an error, once for both threads while it stays the same.
    fn report(&self, role: ConnectionRole, error: &DatabaseError) {
        let problem = StateDiagnostic { reason: error.to_string(), hint: error.hint() };
        let mut problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        if !problems.values().any(|before| *before == problem) {
            let StateDiagnostic { reason, hint } = &problem;
            tracing::error!(
                "plugin state can't be used, and plugins that need it get an error: {reason}; {hint}"
            );
        }
        problems.insert(role, problem);
    }

    /// Notes that the thread can use the database again.
    fn recovered(&self, role: ConnectionRole) {
        let mut problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        if problems.remove(&role).is_some() && problems.is_empty() {
            tracing::info!("plugin state can be used again");
        }
    }

    fn set_damaged(&self, file: FileIdentity, reason: &str) {
        *self.damaged.lock().unwrap_or_else(PoisonError::into_inner) = Some((file, reason.to_owned()));
    }

    fn damage(&self, file: FileIdentity) -> Option<String> {
        let damaged = self.damaged.lock().unwrap_or_else(PoisonError::into_inner);
        damaged.as_ref().filter(|(its, _)| *its == file).map(|(_, reason)| reason.clone())
    }
}
