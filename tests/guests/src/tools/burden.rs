//! Tools that take what there is: processor time, time by the clock, memory, handles.

use std::time::Duration;

use moongate_sdk::prelude::*;

use crate::{resources, wild};

/// Tools that take what there is.
#[derive(Debug, Default)]
pub(crate) struct Burden;

#[plugin(part)]
impl Burden {
    /// Never returns and never calls the host. For interruption of code that only computes.
    #[tool]
    fn spin_forever(&self) {
        resources::spin_forever();
    }

    /// Never returns and calls the host all the time. For the limit of processor time.
    #[tool]
    fn burn_cpu(&self, ctx: &Context) {
        resources::burn_cpu(ctx);
    }

    /// Sleeps for longer than anybody waits. For the limit of time by the clock.
    #[tool]
    fn sleep_forever(&self) {
        std::thread::sleep(Duration::from_secs(365 * 24 * 60 * 60));
    }

    /// Reports progress, then sleeps for longer than anybody waits. For clients, which cancel what they know to run.
    #[tool]
    fn report_and_hang(&self) {
        progress::report(0.0, 1.0);
        std::thread::sleep(Duration::from_secs(365 * 24 * 60 * 60));
    }

    /// Reports progress, then waits until a file is there. For calls that end when a test says so.
    #[tool]
    fn report_and_wait(&self, path: &str) -> String {
        progress::report(0.0, 1.0);
        while !std::fs::exists(path).is_ok_and(|there| there) {
            std::thread::sleep(Duration::from_millis(1));
        }
        format!("{path} is there")
    }

    /// Takes memory until there is no more, and returns how much it got. For the limit of memory.
    #[tool]
    fn grow_memory(&self) -> String {
        resources::grow_memory()
    }

    /// Takes more memory than there is, without asking if it may. For the limit of memory: the sandbox is ended.
    #[tool]
    fn exhaust_memory(&self) -> usize {
        resources::exhaust_memory()
    }

    /// Opens host resources and keeps them: by default a million. For the limit of handles.
    #[tool]
    fn many_handles(&self, count: Option<u32>) -> String {
        resources::many_handles(count.unwrap_or(1_000_000))
    }

    /// Calls itself without end. For the limit of the stack.
    #[tool]
    fn recurse_forever(&self) -> u64 {
        resources::recurse(1)
    }

    /// Opens host resources and never gives them back: by default fifty. For what is left of a call: nothing.
    #[tool]
    fn leak_handles(&self, count: Option<u32>) -> String {
        wild::leak_handles(count.unwrap_or(50))
    }

    /// Opens each granted folder again and again, and keeps what it opened, if it shall for ever. For open files.
    #[tool]
    fn many_files(&self, count: Option<u32>, hold: Option<bool>) -> String {
        wild::many_files(count.unwrap_or(1_000_000), hold.unwrap_or(false))
    }

    /// Calls itself and the host without end, on the stack that the host shares. For the limit of the stack.
    #[tool]
    fn recurse_through_host(&self, ctx: &Context) -> u64 {
        wild::recurse_through_host(ctx, 1)
    }

    /// Moves memory about in instructions that take long. For the limit of processor time.
    #[tool]
    fn copy_memory(&self) {
        wild::copy_memory();
    }

    /// Asks without end for what is ready at once. For timers, which must go on beside it.
    #[tool]
    fn poll_without_end(&self) {
        wild::poll_without_end();
    }

    /// Waits without end for a hundred things that are ready. For timers, which must go on beside it.
    #[tool]
    fn poll_crowds(&self) {
        wild::poll_crowds();
    }

    /// Waits for nothing. For the host: it refuses.
    #[tool]
    fn poll_nothing(&self) -> String {
        wild::poll_nothing()
    }

    /// Waits for times that have been, and looks at alarms that never come.
    #[tool]
    fn strange_alarms(&self) -> String {
        wild::strange_alarms()
    }

    /// Waits for the last moment that a number can say. For the limit of time by the clock.
    #[tool]
    fn wait_for_the_end_of_time(&self) {
        wild::wait_for_the_end_of_time();
    }
}
