//! The work of one check while it runs: it ends when its call does, and counts towards the call's processor time.
//!
//! The validator has no argument for this, so the state belongs to the thread. A check that has to end reports that
//! nothing matches, which makes the validator return soon; the caller of the check then ignores the result.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use moongate_model::cpu_time::{CpuTime, thread_cpu_time};

/// The maximum number of steps to match one string: half a second's work. A match can't be interrupted.
pub(crate) const MAX_MATCH_STEPS: u64 = 50_000_000;

/// The maximum number of steps of the regular expressions in one check.
pub(crate) const MAX_PATTERN_STEPS: u64 = 250_000_000;

/// The number of steps after which a check tests whether it has to end: about a millisecond's work.
const STEPS_BETWEEN_TESTS: u64 = 100_000;

/// The number of steps that a comparison of one member counts as.
const STEPS_OF_A_MEMBER: u64 = 100;

/// The limits on one check, shared with the task that waits for it.
#[derive(Debug)]
pub(crate) struct CheckMeter {
    /// The CPU time that the call has used, to which the check adds its own.
    used: Arc<CpuTime>,
    limit: Duration,
    is_cancelled: AtomicBool,
}

/// The reason that a check ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckInterrupt {
    /// Nobody waits for it any more.
    Cancelled,
    /// The call has used all of its CPU time.
    CpuTime,
}

/// The state of the check that this thread runs.
#[derive(Default)]
struct CheckState {
    meter: Option<Arc<CheckMeter>>,
    /// The thread's CPU clock at the start.
    started: Duration,
}

thread_local! {
    static STATE: RefCell<CheckState> = RefCell::default();
    /// The steps of regular expressions in this check.
    static PATTERN_STEPS: Cell<u64> = const { Cell::new(0) };
    /// Set when the check has to end.
    static INTERRUPT: Cell<Option<CheckInterrupt>> = const { Cell::new(None) };
    static STEPS_SINCE_TEST: Cell<u64> = const { Cell::new(0) };
}

impl CheckMeter {
    /// A check of a call that has used this CPU time, and may use `limit` in all.
    pub(crate) fn new(used: Arc<CpuTime>, limit: Duration) -> Arc<Self> {
        Arc::new(Self { used, limit, is_cancelled: AtomicBool::new(false) })
    }

    /// Makes the check end soon.
    pub(crate) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Runs `check` on this thread.
    ///
    /// # Errors
    /// The check ended early.
    pub(crate) fn run<T>(self: &Arc<Self>, check: impl FnOnce() -> T) -> Result<T, CheckInterrupt> {
        if let Some(interrupt) = self.interrupt(Duration::ZERO) {
            return Err(interrupt);
        }
        let started = thread_cpu_time();
        STATE.replace(CheckState { meter: Some(Arc::clone(self)), started });
        INTERRUPT.set(None);
        let checked = check();
        let used = thread_cpu_time().saturating_sub(started);
        STATE.take();
        let interrupt = INTERRUPT.take().or_else(|| self.interrupt(used));
        self.used.add(used);
        interrupt.map_or(Ok(checked), Err)
    }

    fn interrupt(&self, running: Duration) -> Option<CheckInterrupt> {
        if self.is_cancelled.load(Ordering::Relaxed) {
            return Some(CheckInterrupt::Cancelled);
        }
        (self.used.used() + running > self.limit).then_some(CheckInterrupt::CpuTime)
    }
}

/// Starts to count the steps of another check.
pub(crate) fn start_counting() {
    PATTERN_STEPS.set(0);
}

/// True if the regular expressions of this check would take too long.
pub(crate) fn is_too_long() -> bool {
    PATTERN_STEPS.get() > MAX_PATTERN_STEPS
}

/// Counts the steps of a match. False if the check has to end instead.
pub(crate) fn may_match(steps: u64) -> bool {
    if steps > MAX_MATCH_STEPS {
        PATTERN_STEPS.set(u64::MAX);
        return false;
    }
    PATTERN_STEPS.set(PATTERN_STEPS.get().saturating_add(steps));
    if is_too_long() {
        return false;
    }
    count_steps(steps)
}

/// Counts a step to another member or element of a value. False if the check has to end instead.
pub(crate) fn may_step() -> bool {
    count_steps(STEPS_OF_A_MEMBER)
}

fn count_steps(steps: u64) -> bool {
    let since_test = STEPS_SINCE_TEST.get().saturating_add(steps);
    STEPS_SINCE_TEST.set(since_test);
    if since_test < STEPS_BETWEEN_TESTS { INTERRUPT.get().is_none() } else { may_continue() }
}

/// False if the check has to end.
pub(crate) fn may_continue() -> bool {
    STEPS_SINCE_TEST.set(0);
    if INTERRUPT.get().is_none() {
        STATE.with_borrow(|state| {
            let Some(meter) = &state.meter else { return };
            INTERRUPT.set(meter.interrupt(thread_cpu_time().saturating_sub(state.started)));
        });
    }
    INTERRUPT.get().is_none()
}
