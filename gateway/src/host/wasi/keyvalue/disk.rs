//! KeyValueStores on disk: who does the work, and what happens while it can't be done.
//!
//! Two threads do all of it, one that reads and one that writes, each with a connection of its own: no worker of the
//! runtime ever waits for a disk, and readers wait for no writer. SQLite lets one write at a time anyway. What is asked
//! waits in a line of bounded length, and a call that has ended isn't waited for. Only who answers was committed: a
//! call that is given up meanwhile may have been done or not.
//! Whoever finds the database locked by another process tries again, as long as `PATIENCE` and the call last.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use super::database::{DatabaseConnection, DATABASE_FILE, Identity, ConnectionRole, DatabaseError, identity};
use super::entries::{OperationResult, StoreEntries};
use super::{SwapConflict, KeyValueError, StoreOwner, KeyPage, StateProblem, StoredValue};

/// How many operations wait for each thread; who comes then waits to be in line. Each may hold a value.
const LINE: usize = 32;
/// How long an operation waits for other processes, from when it is asked.
const PATIENCE: Duration = Duration::from_secs(5);
/// The first pause before a locked database is tried again; each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_micros(100);
/// The longest one.
const LONGEST_PAUSE: Duration = Duration::from_millis(5);
/// After it couldn't be opened, it is tried again no sooner than this.
const REST: Duration = Duration::from_secs(1);
/// The log is looked at after so many writes.
const TIDY: u32 = 64;

/// The folder with the database. The threads start when the first store is opened.
pub(super) struct StateDatabase {
    dir: PathBuf,
    lines: OnceLock<Lines>,
    health: Arc<Health>,
}

/// Where the threads are asked; none: the system gave us no thread.
struct Lines {
    reads: Option<mpsc::Sender<Job>>,
    writes: Option<mpsc::Sender<Job>>,
}

/// One owner's entries in it.
pub(super) struct DiskStore {
    disk: Arc<StateDatabase>,
    owner: Arc<str>,
}

/// What both threads know.
#[derive(Default)]
struct Health {
    /// What the operator was told is wrong, by side.
    told: Mutex<BTreeMap<ConnectionRole, StateProblem>>,
    /// A file that was found to be damaged, and how. It isn't used again, by neither side.
    damaged: Mutex<Option<(Identity, String)>>,
}

type Job = Box<dyn Work>;

/// Something to be done in the database.
trait Work: Send {
    /// Does it, perhaps again after it was in vain. False: nothing is to be committed.
    fn attempt(&mut self, db: &Connection) -> rusqlite::Result<bool>;
    /// Says what came of it, once that is committed.
    fn answer(self: Box<Self>, done: Result<(), KeyValueError>);
    /// Does nobody wait for it any more?
    fn is_abandoned(&self) -> bool;
    /// When it is given up.
    fn until(&self) -> Instant;
}

struct Question<F, T> {
    ask: F,
    result: Option<Result<T, KeyValueError>>,
    answer: oneshot::Sender<Result<T, KeyValueError>>,
    until: Instant,
}

impl<F, T> Work for Question<F, T>
where
    F: FnMut(&Connection) -> OperationResult<T> + Send,
    T: Send,
{
    fn attempt(&mut self, db: &Connection) -> rusqlite::Result<bool> {
        let result = (self.ask)(db)?;
        let commit = result.is_ok();
        self.result = Some(result);
        Ok(commit)
    }

    fn answer(self: Box<Self>, done: Result<(), KeyValueError>) {
        let Self { ask: _, result, answer, until: _ } = *self;
        let result = done.and_then(|()| result.unwrap_or(Err(KeyValueError::Unavailable)));
        let _ = answer.send(result); // the call may have ended
    }

    fn is_abandoned(&self) -> bool {
        self.answer.is_closed()
    }

    fn until(&self) -> Instant {
        self.until
    }
}

impl fmt::Debug for StateDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateDatabase").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl StateDatabase {
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir, lines: OnceLock::new(), health: Arc::default() }
    }

    fn lines(&self) -> &Lines {
        self.lines.get_or_init(|| Lines { reads: self.start(ConnectionRole::Reader), writes: self.start(ConnectionRole::Writer) })
    }

    fn start(&self, side: ConnectionRole) -> Option<mpsc::Sender<Job>> {
        let (line, jobs) = mpsc::channel(LINE);
        let name = match side {
            ConnectionRole::Reader => "state-reads",
            ConnectionRole::Writer => "state-writes",
        };
        let (dir, health) = (self.dir.clone(), Arc::clone(&self.health));
        let worker = Worker { side, dir, health, database: None, rest: None, ill: false, writes: 0 };
        let started = thread::Builder::new().name(name.to_owned()).spawn(move || worker.run(jobs));
        match started {
            Ok(_) => Some(line),
            Err(error) => {
                tracing::error!("plugins' state can't be used: no thread for it: {error}");
                None
            }
        }
    }

    /// Asks one of the threads, and waits for the answer.
    async fn ask<T: Send + 'static>(
        &self,
        side: ConnectionRole,
        ask: impl FnMut(&Connection) -> OperationResult<T> + Send + 'static,
    ) -> Result<T, KeyValueError> {
        let (answer, answered) = oneshot::channel();
        let job = Box::new(Question { ask, result: None, answer, until: Instant::now() + PATIENCE });
        let lines = self.lines();
        let line = match side {
            ConnectionRole::Reader => &lines.reads,
            ConnectionRole::Writer => &lines.writes,
        };
        let Some(line) = line else { return Err(KeyValueError::Unavailable) };
        line.send(job).await.map_err(|_| KeyValueError::Unavailable)?;
        answered.await.unwrap_or(Err(KeyValueError::Unavailable))
    }

    /// What is wrong with it, if a store was opened and something is.
    pub(super) async fn problem(&self) -> Option<StateProblem> {
        self.lines.get()?;
        for side in [ConnectionRole::Reader, ConnectionRole::Writer] {
            let _ = self.ask(side, |_| Ok(Ok(()))).await;
        }
        self.health.told.lock().unwrap_or_else(PoisonError::into_inner).values().next().cloned()
    }
}

impl DiskStore {
    pub(super) fn new(disk: &Arc<StateDatabase>, owner: &StoreOwner) -> Self {
        disk.lines(); // so that what is wrong is told when the gateway starts
        Self { disk: Arc::clone(disk), owner: owner.to_string().into() }
    }

    pub(super) async fn ask<T: Send + 'static>(
        &self,
        side: ConnectionRole,
        mut ask: impl FnMut(StoreEntries<'_>) -> OperationResult<T> + Send + 'static,
    ) -> Result<T, KeyValueError> {
        let owner = Arc::clone(&self.owner);
        self.disk.ask(side, move |db| ask(StoreEntries { db, owner: &owner })).await
    }

    pub(super) async fn get(&self, key: String) -> Result<Option<StoredValue>, KeyValueError> {
        self.ask(ConnectionRole::Reader, move |entries| entries.get(&key).map(Ok)).await
    }

    pub(super) async fn exists(&self, key: String) -> Result<bool, KeyValueError> {
        self.ask(ConnectionRole::Reader, move |entries| entries.exists(&key).map(Ok)).await
    }

    pub(super) async fn page(&self, cursor: Option<String>) -> Result<KeyPage, KeyValueError> {
        self.ask(ConnectionRole::Reader, move |entries| entries.page(cursor.as_deref()).map(Ok)).await
    }

    pub(super) async fn put(&self, key: String, value: StoredValue, limit: u64) -> Result<(), KeyValueError> {
        self.ask(ConnectionRole::Writer, move |entries| entries.put(&key, &value, limit)).await
    }

    pub(super) async fn delete(&self, key: String) -> Result<(), KeyValueError> {
        self.ask(ConnectionRole::Writer, move |entries| entries.delete(&key).map(Ok)).await
    }

    pub(super) async fn increment(&self, key: String, delta: i64, limit: u64) -> Result<i64, KeyValueError> {
        self.ask(ConnectionRole::Writer, move |entries| entries.increment(&key, delta, limit)).await
    }

    pub(super) async fn swap(
        &self,
        key: String,
        seen: Option<StoredValue>,
        value: StoredValue,
        limit: u64,
    ) -> Result<Result<(), SwapConflict>, KeyValueError> {
        self.ask(ConnectionRole::Writer, move |entries| entries.swap(&key, seen.as_ref(), &value, limit)).await
    }
}

/// One of the threads.
struct Worker {
    side: ConnectionRole,
    dir: PathBuf,
    health: Arc<Health>,
    database: Option<DatabaseConnection>,
    /// Until when it isn't opened again.
    rest: Option<Instant>,
    /// The last attempt failed.
    ill: bool,
    writes: u32,
}

impl Worker {
    fn run(mut self, mut jobs: mpsc::Receiver<Job>) {
        // Not only when somebody asks, so that the operator reads it at the start.
        match self.open().map(drop) {
            Ok(()) | Err(DatabaseError::Busy) => {}
            Err(database_error) => self.failed(&database_error),
        }
        while let Some(mut job) = jobs.blocking_recv() {
            if !job.is_abandoned() {
                let done = self.attend(&mut *job);
                job.answer(done);
            }
        }
    }

    fn attend(&mut self, job: &mut dyn Work) -> Result<(), KeyValueError> {
        let mut pause = FIRST_PAUSE;
        loop {
            if self.rest.is_some_and(|until| Instant::now() < until) {
                return Err(KeyValueError::Unavailable);
            }
            match self.attempt(job) {
                Ok(()) => {
                    if self.ill {
                        self.ill = false;
                        self.health.works(self.side);
                    }
                    return Ok(());
                }
                Err(DatabaseError::Busy) if job.is_abandoned() => return Err(KeyValueError::Busy),
                Err(DatabaseError::Busy) if Instant::now() < job.until() => {
                    thread::sleep(pause);
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                Err(database_error) => {
                    self.failed(&database_error);
                    return Err(match database_error {
                        DatabaseError::Busy => KeyValueError::Busy,
                        _ => KeyValueError::Unavailable,
                    });
                }
            }
        }
    }

    fn attempt(&mut self, job: &mut dyn Work) -> Result<(), DatabaseError> {
        let side = self.side;
        let database = self.open()?;
        let done = match side {
            ConnectionRole::Reader => job.attempt(&database.connection).map(drop),
            ConnectionRole::Writer => write(&mut database.connection, job),
        };
        done.map_err(|error| database.database_error(&error))?;
        if side == ConnectionRole::Writer {
            self.writes += 1;
            if self.writes.is_multiple_of(TIDY)
                && let Some(database) = &self.database
            {
                database.tidy();
            }
        }
        Ok(())
    }

    /// The database, opened if it isn't, or isn't the one that stands there any more.
    fn open(&mut self) -> Result<&mut DatabaseConnection, DatabaseError> {
        let usable = |database: &DatabaseConnection| {
            let in_place = database.is_in_place();
            if !in_place && self.side == ConnectionRole::Writer {
                let dir = self.dir.display();
                tracing::warn!("`{DATABASE_FILE}` in `{dir}` was moved or removed; what stands there now is used");
            }
            in_place && self.health.damage(database.identity).is_none()
        };
        let database = match self.database.take().filter(usable) {
            Some(database) => database,
            None => {
                let file = self.dir.join(DATABASE_FILE);
                if let Some(reason) = identity(&file).and_then(|found| self.health.damage(found)) {
                    return Err(DatabaseError::Damaged { file, reason });
                }
                DatabaseConnection::open(&self.dir, self.side)?
            }
        };
        Ok(self.database.insert(database))
    }

    /// Tells the operator, and begins anew the next time.
    fn failed(&mut self, database_error: &DatabaseError) {
        self.ill = true;
        self.health.tell(self.side, database_error);
        if matches!(database_error, DatabaseError::Busy) {
            return;
        }
        if let DatabaseError::Damaged { file: _, reason } = database_error
            && let Some(found) = identity(&self.dir.join(DATABASE_FILE))
        {
            self.health.found_damaged(found, reason);
        }
        if self.database.take().is_none() {
            self.rest = Some(Instant::now() + REST); // it couldn't even be opened
        }
    }
}

/// Does all of it or nothing, holding the right to write from the beginning.
fn write(connection: &mut Connection, job: &mut dyn Work) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if job.attempt(&transaction)? { transaction.commit() } else { transaction.rollback() }
}

impl Health {
    /// Tells the operator what is wrong, once for both sides and as long as it is the same.
    fn tell(&self, side: ConnectionRole, database_error: &DatabaseError) {
        let problem = StateProblem { reason: database_error.to_string(), hint: database_error.hint() };
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let news = !told.values().any(|before| *before == problem);
        if news {
            let StateProblem { reason, hint } = &problem;
            tracing::error!(
                "plugins' state can't be used, and those that keep some get an error: {reason}; {hint}"
            );
        }
        told.insert(side, problem);
    }

    /// That side works again.
    fn works(&self, side: ConnectionRole) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.remove(&side).is_some() && told.is_empty() {
            tracing::info!("plugins' state can be used again");
        }
    }

    fn found_damaged(&self, file: Identity, reason: &str) {
        *self.damaged.lock().unwrap_or_else(PoisonError::into_inner) = Some((file, reason.to_owned()));
    }

    fn damage(&self, file: Identity) -> Option<String> {
        let damaged = self.damaged.lock().unwrap_or_else(PoisonError::into_inner);
        damaged.as_ref().filter(|(its, _)| *its == file).map(|(_, reason)| reason.clone())
    }
}
