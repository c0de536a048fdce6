//! The background pool: threads of the lowest priority, one per processor, for long work.
//!
//! The threads that serve requests have normal priority, so the system lets them preempt these: a long call or a large
//! message delays nobody else. Work is polled here in the context of the Tokio runtime that it comes from, which keeps
//! its timers, sockets and blocking threads. A second Tokio runtime would have its own, and each socket of a plugin
//! would have to be opened in the right one.
//!
//! A [`MovableFuture`] is polled in place until something in it calls [`move_to_background`]. Only then does it move, so
//! short work costs no more than without the pool. It stays there, unless it requests to return. The module `turns`
//! decides what is polled next.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError, RwLock};
use std::task::{Context, Poll, ready};
use std::thread::{self, available_parallelism};
use std::time::{Duration, Instant};

use async_task::{Builder, Task};
use moongate_model::caller::Caller;
use moongate_model::cpu_time::thread_cpu_time;
use tokio::runtime::Handle;

use self::turns::{OwnerAccounts, ReadyWork};

mod turns;

pub use self::turns::WorkOwner;

/// The lowest priority that the system has for ordinary threads.
const LOWEST_PRIORITY: i32 = 19;
/// The priority of work that must not wait for idle processors.
const LOW_PRIORITY: i32 = 10;

/// The runtime and owner of work on the pool.
#[derive(Debug)]
struct WorkInfo {
    /// The runtime that it comes from.
    runtime: Option<Handle>,
    owner: Arc<OwnerAccounts>,
}

/// Work that can be polled now.
type Runnable = async_task::Runnable<WorkInfo>;

/// The place where this thread polls a future.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PollPlace {
    /// Not in a [`MovableFuture`].
    Fixed,
    /// In a [`MovableFuture`] that hasn't moved.
    Movable,
    /// The same, after [`move_to_background`].
    Leaving,
    /// On the background pool.
    Background,
    /// The same, after [`request_return`].
    Returning,
}

impl PollPlace {
    fn is_in_background(self) -> bool {
        matches!(self, Self::Background | Self::Returning)
    }
}

thread_local! {
    static PLACE: Cell<PollPlace> = const { Cell::new(PollPlace::Fixed) };
    /// The owner of the work that is leaving.
    static OWNER: Cell<Option<Arc<OwnerAccounts>>> = const { Cell::new(None) };
}

/// The work that the pool's threads do.
#[derive(Debug)]
struct ReadyQueue {
    ready: Mutex<ReadyWork<Runnable>>,
    pushed: Condvar,
}

/// The queue of the process's pool, whose threads are started with the first work. `None` if they can't be started; work
/// then stays where it is.
static POOL: LazyLock<Option<&'static ReadyQueue>> = LazyLock::new(start_threads);

fn start_threads() -> Option<&'static ReadyQueue> {
    static QUEUE: ReadyQueue = ReadyQueue { ready: Mutex::new(ReadyWork::new()), pushed: Condvar::new() };
    let count = available_parallelism().map_or(1, usize::from);
    let started = (0..count).filter(|number| {
        let name = format!("moongate-bg-{number}"); // Linux cuts names after 15 bytes
        thread::Builder::new().name(name).spawn(|| QUEUE.work()).is_ok()
    });
    (started.count() > 0).then_some(&QUEUE)
}

impl ReadyQueue {
    fn push(&self, work: Runnable) {
        let rank = work.metadata().owner.rank();
        self.lock().push(rank, work);
        self.pushed.notify_one();
    }

    fn pop(&self) -> Runnable {
        let mut ready = self.lock();
        loop {
            if let Some(work) = ready.pop() {
                return work;
            }
            ready = self.pushed.wait(ready).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, ReadyWork<Runnable>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Polls work for as long as the process lives.
    fn work(&self) {
        lower_thread_priority();
        PLACE.set(PollPlace::Background);
        loop {
            let work = self.pop();
            let _polling = POLLING.read().unwrap_or_else(PoisonError::into_inner);
            if STOPPED.load(Ordering::SeqCst) {
                std::mem::forget(work); // dropping its future could use the runtime, too
                continue;
            }
            let WorkInfo { runtime, owner } = work.metadata();
            let (runtime, owner) = (runtime.clone(), Arc::clone(owner));
            let _context = runtime.as_ref().map(Handle::enter);
            let started = thread_cpu_time();
            // A panic of a poll goes to the task that waits for the work. A panic can also come from the drop of cancelled
            // work, which nobody waits for.
            let _ = catch_unwind(AssertUnwindSafe(|| work.run()));
            owner.add(thread_cpu_time().saturating_sub(started));
        }
    }
}

/// True if no more work is polled.
static STOPPED: AtomicBool = AtomicBool::new(false);

/// Read-locked during each poll.
static POLLING: RwLock<()> = RwLock::new(());

/// Stops polling work, at the end of the process: nothing may use a runtime that is being shut down. Waits for the polls that
/// are in progress, up to a limit.
pub fn stop(timeout: Duration) {
    STOPPED.store(true, Ordering::SeqCst);
    let end = Instant::now() + timeout;
    while POLLING.try_write().is_err() && Instant::now() < end {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Gives this thread the lowest priority for the rest of its life. Only Linux has priorities of threads.
pub fn lower_thread_priority() {
    add_niceness(LOWEST_PRIORITY);
}

/// Gives this thread a low priority for the rest of its life. It still gets a tenth of a busy processor.
pub fn reduce_thread_priority() {
    add_niceness(LOW_PRIORITY);
}

/// On Linux, niceness belongs to the thread; elsewhere, to the process.
#[cfg_attr(not(target_os = "linux"), expect(unused_variables, reason = "see above"))]
fn add_niceness(niceness: i32) {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(niceness);
}

/// A future that can continue on the background pool. If it is dropped there, its present poll ends first.
#[must_use = "futures do nothing unless they are polled"]
#[derive(Debug)]
pub struct MovableFuture<T>(State<T>);

type BoxedFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

enum State<T> {
    InPlace(BoxedFuture<T>),
    /// Dropping the task cancels it. It ends with the future itself if that is to return.
    Moved(Task<Result<T, BoxedFuture<T>>, WorkInfo>),
    /// While it moves.
    Moving,
}

impl<T> std::fmt::Debug for State<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::InPlace(_) => "InPlace",
            Self::Moved(_) => "Moved",
            Self::Moving => "Moving",
        })
    }
}

impl<T: Send + 'static> MovableFuture<T> {
    /// A future that is polled in place until it moves.
    pub fn new(future: impl Future<Output = T> + Send + 'static) -> Self {
        Self(State::InPlace(Box::pin(future)))
    }

    /// A future that is polled where this thread is: on the pool, for a caller, or in place.
    pub fn inherit(caller: &Caller, future: impl Future<Output = T> + Send + 'static) -> Self {
        if is_pool_thread() { spawn(caller, future) } else { Self::new(future) }
    }

    /// Moves the future to the pool. A panic there continues in the task that polls `self`.
    fn leave(&mut self) {
        let Some(pool) = *POOL else { return };
        match std::mem::replace(&mut self.0, State::Moving) {
            State::InPlace(future) => {
                let info =
                    WorkInfo { runtime: Handle::try_current().ok(), owner: OWNER.take().unwrap_or_default() };
                let (work, task) = Builder::new()
                    .propagate_panic(true)
                    .metadata(info)
                    .spawn(|_| until_return(future), move |work| pool.push(work));
                self.0 = State::Moved(task);
                work.schedule();
            }
            moved @ (State::Moved(_) | State::Moving) => self.0 = moved,
        }
    }
}

impl<T: Send + 'static> Future for MovableFuture<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        loop {
            if let State::InPlace(future) = &mut self.0 {
                let place = Entered::new();
                let polled = future.as_mut().poll(context);
                let is_leaving = place.is_leaving();
                drop(place);
                if polled.is_ready() || !is_leaving {
                    return polled;
                }
                self.leave();
            }
            match &mut self.0 {
                State::Moved(task) => match ready!(Pin::new(task).poll(context)) {
                    Ok(output) => return Poll::Ready(output),
                    Err(returned) => self.0 = State::InPlace(returned),
                },
                // It can't move, but it has asked to be polled again.
                State::InPlace(_) | State::Moving => return Poll::Pending,
            }
        }
    }
}

/// Polls a future on the pool until it ends or calls [`request_return`].
async fn until_return<T>(future: BoxedFuture<T>) -> Result<T, BoxedFuture<T>> {
    let mut future = Some(future);
    std::future::poll_fn(move |context| {
        let polled = future.as_mut().map_or(Poll::Pending, |future| future.as_mut().poll(context));
        let is_returning = PLACE.replace(PollPlace::Background) == PollPlace::Returning;
        match polled {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            Poll::Pending if is_returning => future.take().map_or(Poll::Pending, |it| Poll::Ready(Err(it))),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Marks that this thread polls a future that can move, until it is dropped.
struct Entered {
    before: PollPlace,
}

impl Entered {
    fn new() -> Self {
        let before = PLACE.get();
        if !before.is_in_background() {
            PLACE.set(PollPlace::Movable);
        }
        Self { before }
    }

    fn is_leaving(&self) -> bool {
        PLACE.get() == PollPlace::Leaving
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        PLACE.set(self.before);
    }
}

/// True on a thread of the pool.
#[must_use]
pub fn is_pool_thread() -> bool {
    PLACE.get().is_in_background()
}

/// True if [`move_to_background`] moves the future that this thread polls.
#[must_use]
pub fn can_move() -> bool {
    PLACE.get() == PollPlace::Movable
}

/// Continues on the background pool, where the work counts for `owner`. Continues in place if it is there already, or not
/// in a [`MovableFuture`].
pub async fn move_to_background(owner: WorkOwner<'_>) {
    let mut asked = false;
    std::future::poll_fn(|context| {
        if asked || !request_move(context, owner) {
            return Poll::Ready(());
        }
        asked = true;
        Poll::Pending
    })
    .await;
}

/// Requests that the future that this thread polls continues on the background pool once it returns `Pending`. False if it
/// can't move, as in [`can_move`].
pub fn request_move(context: &Context<'_>, owner: WorkOwner<'_>) -> bool {
    if !can_move() {
        return false;
    }
    OWNER.set(Some(Arc::new(OwnerAccounts::of(owner))));
    PLACE.set(PollPlace::Leaving);
    // For futures on the way that poll the one that moves only if it woke them.
    context.waker().wake_by_ref();
    true
}

/// Requests that the future that this thread polls continues where it came from once it returns `Pending`. Does nothing if
/// it hasn't moved.
pub fn request_return() {
    if PLACE.get() == PollPlace::Background {
        PLACE.set(PollPlace::Returning);
    }
}

/// Runs `work` on the background pool, for a caller.
pub async fn run<T: Send + 'static>(caller: &Caller, work: impl FnOnce() -> T + Send + 'static) -> T {
    spawn(caller, async move { work() }).await
}

/// A future that moves to the background pool when it is first polled, for a caller.
pub fn spawn<T: Send + 'static>(
    caller: &Caller,
    future: impl Future<Output = T> + Send + 'static,
) -> MovableFuture<T> {
    let caller = caller.clone();
    MovableFuture::new(async move {
        move_to_background(WorkOwner { plugin: None, caller: Some(&caller) }).await;
        future.await
    })
}

#[cfg(test)]
mod tests;
