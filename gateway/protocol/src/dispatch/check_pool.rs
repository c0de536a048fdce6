//! The threads that check large values against schemas.
//!
//! A check can take seconds, so it runs neither on the threads that handle requests nor on those that read files. There
//! are as many of these threads as processors, and callers get them by turns. A single caller leaves one of them to others,
//! if there are several. A check that waits belongs to a call with its permit, which bounds their number.
//!
//! The threads have the lowest priority, like those of the background pool. They aren't the same, because a check can't be
//! interrupted: two of them would keep all long calls from running.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::thread::available_parallelism;
use std::time::Duration;

use moongate_model::caller_budget::CallerBudget;
use moongate_system::background::lower_thread_priority;
use rayon::{ThreadPool, ThreadPoolBuilder};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::call::{CallContext, CallError};
use crate::catalog::{Schema, SchemaMismatchError};
use crate::check_meter::{CheckInterrupt, CheckMeter};

/// The units of the budget for one thread. The reserve of the budget is less than this, but more than nothing, so it
/// keeps a whole thread for the next caller: one of the checks of another caller can take as long as a call.
const UNITS_PER_THREAD: u64 = 8;

/// The threads, and the callers that wait for them.
#[derive(Debug)]
pub(super) struct CheckPool {
    /// Started by the first large check. `None` if that failed.
    threads: OnceLock<Option<ThreadPool>>,
    free_threads: Arc<CallerBudget>,
}

/// The limits of one call on its checks.
#[derive(Debug, Clone, Copy)]
pub(super) struct CheckLimits {
    /// The wall-clock time of the whole call.
    pub(super) timeout: Duration,
    /// The end of that time.
    pub(super) deadline: Instant,
    /// The CPU time of the whole call.
    pub(super) cpu_time: Duration,
}

/// A value that was refused, or not checked.
#[derive(Debug)]
pub(super) enum CheckError {
    /// It doesn't match.
    Mismatch(SchemaMismatchError),
    /// The call ended before its check.
    Call(CallError),
}

/// Makes a check end when nobody waits for it.
struct CancelOnDrop(Arc<CheckMeter>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl CheckPool {
    pub(super) fn new() -> Self {
        Self {
            threads: OnceLock::new(),
            free_threads: CallerBudget::new(UNITS_PER_THREAD * thread_count() as u64),
        }
    }

    /// The number of checks that run.
    #[cfg(test)]
    pub(super) fn running(&self) -> u64 {
        self.free_threads.used() / UNITS_PER_THREAD
    }

    /// Runs a check of a text, for the call with this context. The check ends with the call. The text is copied when it
    /// is the call's turn, so checks that wait need no memory.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        schema: &Schema,
        context: &CallContext,
        limits: CheckLimits,
        text: &str,
        check: fn(&Schema, &str) -> Result<T, SchemaMismatchError>,
    ) -> Result<T, CheckError> {
        let checked = tokio::select! {
            biased;
            () = context.cancel.cancelled() => Err(CallError::Cancelled),
            checked = self.run_in_turn(schema, context, limits.cpu_time, text, check) => checked,
            () = tokio::time::sleep_until(limits.deadline) => Err(CallError::Timeout(limits.timeout)),
        };
        checked.map_err(CheckError::Call)?.map_err(CheckError::Mismatch)
    }

    async fn run_in_turn<T: Send + 'static>(
        &self,
        schema: &Schema,
        context: &CallContext,
        cpu_time: Duration,
        text: &str,
        check: fn(&Schema, &str) -> Result<T, SchemaMismatchError>,
    ) -> Result<Result<T, SchemaMismatchError>, CallError> {
        let failed = || CallError::Internal("a check failed; see the gateway's log".to_owned());
        let free_thread = self.free_threads.reserve(&context.caller, UNITS_PER_THREAD).await;
        let threads = self.threads.get_or_init(start_threads).as_ref().ok_or_else(failed)?;
        let meter = CheckMeter::new(Arc::clone(&context.cpu_time), cpu_time);
        let _cancel = CancelOnDrop(Arc::clone(&meter));
        let (schema, text) = (schema.clone(), text.to_owned());
        let (sender, receiver) = oneshot::channel();
        threads.spawn_fifo(move || {
            // A panic can't leave shared data in an inconsistent state: the check owns its value.
            let checked = catch_unwind(AssertUnwindSafe(|| meter.run(|| check(&schema, &text))));
            drop(text);
            drop(free_thread);
            let _ = sender.send(checked);
        });
        match receiver.await {
            Ok(Ok(Ok(checked))) => Ok(checked),
            Ok(Ok(Err(CheckInterrupt::Cancelled))) => Err(CallError::Cancelled),
            Ok(Ok(Err(CheckInterrupt::CpuTime))) => Err(CallError::CpuTime(cpu_time)),
            Ok(Err(_)) | Err(_) => {
                tracing::error!("internal error: a schema check panicked");
                Err(failed())
            }
        }
    }
}

fn thread_count() -> usize {
    available_parallelism().map_or(1, usize::from)
}

fn start_threads() -> Option<ThreadPool> {
    let threads = ThreadPoolBuilder::new()
        .num_threads(thread_count())
        .thread_name(|number| format!("moongate-check-{number}"))
        .start_handler(|_| lower_thread_priority());
    threads.build().inspect_err(|error| tracing::error!("can't start the threads for checks: {error}")).ok()
}
