//! Stores on disk: who does the work, and what happens while it can't be done.
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

use super::database::{Database, FILE, Identity, Side, Trouble, identity};
use super::entries::{Done, Entries};
use super::{Changed, KeepError, Owner, Page, StateProblem, Value};

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
pub(super) struct Disk {
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
pub(super) struct Shelf {
    disk: Arc<Disk>,
    owner: Arc<str>,
}

/// What both threads know.
#[derive(Default)]
struct Health {
    /// What the operator was told is wrong, by side.
    told: Mutex<BTreeMap<Side, StateProblem>>,
    /// A file that was found to be damaged, and how. It isn't used again, by neither side.
    damaged: Mutex<Option<(Identity, String)>>,
}

type Job = Box<dyn Work>;

/// Something to be done in the database.
trait Work: Send {
    /// Does it, perhaps again after it was in vain. False: nothing is to be committed.
    fn attempt(&mut self, db: &Connection) -> rusqlite::Result<bool>;
    /// Says what came of it, once that is committed.
    fn answer(self: Box<Self>, done: Result<(), KeepError>);
    /// Does nobody wait for it any more?
    fn is_abandoned(&self) -> bool;
    /// When it is given up.
    fn until(&self) -> Instant;
}

struct Question<F, T> {
    ask: F,
    result: Option<Result<T, KeepError>>,
    answer: oneshot::Sender<Result<T, KeepError>>,
    until: Instant,
}

impl<F, T> Work for Question<F, T>
where
    F: FnMut(&Connection) -> Done<T> + Send,
    T: Send,
{
    fn attempt(&mut self, db: &Connection) -> rusqlite::Result<bool> {
        let result = (self.ask)(db)?;
        let commit = result.is_ok();
        self.result = Some(result);
        Ok(commit)
    }

    fn answer(self: Box<Self>, done: Result<(), KeepError>) {
        let Self { ask: _, result, answer, until: _ } = *self;
        let result = done.and_then(|()| result.unwrap_or(Err(KeepError::Unavailable)));
        let _ = answer.send(result); // the call may have ended
    }

    fn is_abandoned(&self) -> bool {
        self.answer.is_closed()
    }

    fn until(&self) -> Instant {
        self.until
    }
}

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disk").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl Disk {
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { dir, lines: OnceLock::new(), health: Arc::default() }
    }

    fn lines(&self) -> &Lines {
        self.lines.get_or_init(|| Lines { reads: self.start(Side::Reads), writes: self.start(Side::Writes) })
    }

    fn start(&self, side: Side) -> Option<mpsc::Sender<Job>> {
        let (line, jobs) = mpsc::channel(LINE);
        let name = match side {
            Side::Reads => "state-reads",
            Side::Writes => "state-writes",
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
        side: Side,
        ask: impl FnMut(&Connection) -> Done<T> + Send + 'static,
    ) -> Result<T, KeepError> {
        let (answer, answered) = oneshot::channel();
        let job = Box::new(Question { ask, result: None, answer, until: Instant::now() + PATIENCE });
        let lines = self.lines();
        let line = match side {
            Side::Reads => &lines.reads,
            Side::Writes => &lines.writes,
        };
        let Some(line) = line else { return Err(KeepError::Unavailable) };
        line.send(job).await.map_err(|_| KeepError::Unavailable)?;
        answered.await.unwrap_or(Err(KeepError::Unavailable))
    }

    /// What is wrong with it, if a store was opened and something is.
    pub(super) async fn problem(&self) -> Option<StateProblem> {
        self.lines.get()?;
        for side in [Side::Reads, Side::Writes] {
            let _ = self.ask(side, |_| Ok(Ok(()))).await;
        }
        self.health.told.lock().unwrap_or_else(PoisonError::into_inner).values().next().cloned()
    }
}

impl Shelf {
    pub(super) fn new(disk: &Arc<Disk>, owner: &Owner) -> Self {
        disk.lines(); // so that what is wrong is told when the gateway starts
        Self { disk: Arc::clone(disk), owner: owner.to_string().into() }
    }

    pub(super) async fn ask<T: Send + 'static>(
        &self,
        side: Side,
        mut ask: impl FnMut(Entries<'_>) -> Done<T> + Send + 'static,
    ) -> Result<T, KeepError> {
        let owner = Arc::clone(&self.owner);
        self.disk.ask(side, move |db| ask(Entries { db, owner: &owner })).await
    }

    pub(super) async fn get(&self, key: String) -> Result<Option<Value>, KeepError> {
        self.ask(Side::Reads, move |entries| entries.get(&key).map(Ok)).await
    }

    pub(super) async fn exists(&self, key: String) -> Result<bool, KeepError> {
        self.ask(Side::Reads, move |entries| entries.exists(&key).map(Ok)).await
    }

    pub(super) async fn page(&self, cursor: Option<String>) -> Result<Page, KeepError> {
        self.ask(Side::Reads, move |entries| entries.page(cursor.as_deref()).map(Ok)).await
    }

    pub(super) async fn put(&self, key: String, value: Value, most: u64) -> Result<(), KeepError> {
        self.ask(Side::Writes, move |entries| entries.put(&key, &value, most)).await
    }

    pub(super) async fn delete(&self, key: String) -> Result<(), KeepError> {
        self.ask(Side::Writes, move |entries| entries.delete(&key).map(Ok)).await
    }

    pub(super) async fn increment(&self, key: String, delta: i64, most: u64) -> Result<i64, KeepError> {
        self.ask(Side::Writes, move |entries| entries.increment(&key, delta, most)).await
    }

    pub(super) async fn swap(
        &self,
        key: String,
        seen: Option<Value>,
        value: Value,
        most: u64,
    ) -> Result<Result<(), Changed>, KeepError> {
        self.ask(Side::Writes, move |entries| entries.swap(&key, seen.as_ref(), &value, most)).await
    }
}

/// One of the threads.
struct Worker {
    side: Side,
    dir: PathBuf,
    health: Arc<Health>,
    database: Option<Database>,
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
            Ok(()) | Err(Trouble::Busy) => {}
            Err(trouble) => self.failed(&trouble),
        }
        while let Some(mut job) = jobs.blocking_recv() {
            if !job.is_abandoned() {
                let done = self.attend(&mut *job);
                job.answer(done);
            }
        }
    }

    fn attend(&mut self, job: &mut dyn Work) -> Result<(), KeepError> {
        let mut pause = FIRST_PAUSE;
        loop {
            if self.rest.is_some_and(|until| Instant::now() < until) {
                return Err(KeepError::Unavailable);
            }
            match self.attempt(job) {
                Ok(()) => {
                    if self.ill {
                        self.ill = false;
                        self.health.works(self.side);
                    }
                    return Ok(());
                }
                Err(Trouble::Busy) if job.is_abandoned() => return Err(KeepError::Busy),
                Err(Trouble::Busy) if Instant::now() < job.until() => {
                    thread::sleep(pause);
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                Err(trouble) => {
                    self.failed(&trouble);
                    return Err(match trouble {
                        Trouble::Busy => KeepError::Busy,
                        _ => KeepError::Unavailable,
                    });
                }
            }
        }
    }

    fn attempt(&mut self, job: &mut dyn Work) -> Result<(), Trouble> {
        let side = self.side;
        let database = self.open()?;
        let done = match side {
            Side::Reads => job.attempt(&database.connection).map(drop),
            Side::Writes => write(&mut database.connection, job),
        };
        done.map_err(|error| database.trouble(&error))?;
        if side == Side::Writes {
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
    fn open(&mut self) -> Result<&mut Database, Trouble> {
        let usable = |database: &Database| {
            let in_place = database.is_in_place();
            if !in_place && self.side == Side::Writes {
                let dir = self.dir.display();
                tracing::warn!("`{FILE}` in `{dir}` was moved or removed; what stands there now is used");
            }
            in_place && self.health.damage(database.identity).is_none()
        };
        let database = match self.database.take().filter(usable) {
            Some(database) => database,
            None => {
                let file = self.dir.join(FILE);
                if let Some(reason) = identity(&file).and_then(|found| self.health.damage(found)) {
                    return Err(Trouble::Damaged { file, reason });
                }
                Database::open(&self.dir, self.side)?
            }
        };
        Ok(self.database.insert(database))
    }

    /// Tells the operator, and begins anew the next time.
    fn failed(&mut self, trouble: &Trouble) {
        self.ill = true;
        self.health.tell(self.side, trouble);
        if matches!(trouble, Trouble::Busy) {
            return;
        }
        if let Trouble::Damaged { file: _, reason } = trouble
            && let Some(found) = identity(&self.dir.join(FILE))
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
    fn tell(&self, side: Side, trouble: &Trouble) {
        let problem = StateProblem { reason: trouble.to_string(), hint: trouble.hint() };
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
    fn works(&self, side: Side) {
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
