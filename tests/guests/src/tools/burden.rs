//! Tools that use up resources: processor time, wall-clock time, memory, handles.

use std::time::Duration;

use moongate_sdk::prelude::*;

use crate::{asks, resources, wild};

/// Tools that use up resources.
#[derive(Debug, Default)]
pub(crate) struct Burden;

#[plugin(part)]
impl Burden {
    /// Loop forever without calling the host. For interruption of pure computation.
    #[tool]
    fn spin_forever(&self) {
        resources::spin_forever();
    }

    /// Loop forever with host calls. For the limit of processor time.
    #[tool]
    fn burn_cpu(&self, ctx: &Context) {
        resources::burn_cpu(ctx);
    }

    /// Compute for a while, then `return`, `report` progress and loop forever, `ask` for a name, or `panic`. For calls that
    /// continue on the background pool.
    #[tool]
    fn compute_then(&self, ctx: &Context, action: &str) -> Result<String, ToolError> {
        resources::compute();
        match action {
            "ask" => asks::name(ctx),
            "panic" => panic!("the zoo panics on request"),
            "report" => {
                progress::report(0.0, 1.0);
                resources::spin_forever();
                Ok(String::new()) // never
            }
            _ => Ok("computed".to_owned()),
        }
    }

    /// Sleep for a very long time. For the limit of wall-clock time.
    #[tool]
    fn sleep_forever(&self) {
        std::thread::sleep(Duration::from_secs(365 * 24 * 60 * 60));
    }

    /// Report progress, then sleep for a very long time. For clients that cancel running calls.
    #[tool]
    fn report_and_hang(&self) {
        progress::report(0.0, 1.0);
        std::thread::sleep(Duration::from_secs(365 * 24 * 60 * 60));
    }

    /// Report progress, then wait until a file exists. For calls whose end a test controls.
    #[tool]
    fn report_and_wait(&self, path: &str) -> String {
        progress::report(0.0, 1.0);
        while !std::fs::exists(path).is_ok_and(|there| there) {
            std::thread::sleep(Duration::from_millis(1));
        }
        format!("{path} is there")
    }

    /// Allocate memory until it fails, and return the amount. For the limit of memory.
    #[tool]
    fn grow_memory(&self) -> String {
        resources::grow_memory()
    }

    /// Allocate more memory than there is, without handling failure. For the limit of memory: the sandbox is
    /// terminated.
    #[tool]
    fn exhaust_memory(&self) -> usize {
        resources::exhaust_memory()
    }

    /// Open host resources and keep them: by default a million. For the limit of handles.
    #[tool]
    fn many_handles(&self, count: Option<u32>) -> String {
        resources::many_handles(count.unwrap_or(1_000_000))
    }

    /// Recurse endlessly. For the limit of the stack.
    #[tool]
    fn recurse_forever(&self) -> u64 {
        resources::recurse(1)
    }

    /// Open host resources and never close them: by default fifty. For leftovers of a call: there are none.
    #[tool]
    fn leak_handles(&self, count: Option<u32>) -> String {
        wild::leak_handles(count.unwrap_or(50))
    }

    /// Open each granted directory repeatedly, and keep the handles if `hold` is set. For the limit of open files.
    #[tool]
    fn many_files(&self, count: Option<u32>, hold: Option<bool>) -> String {
        wild::many_files(count.unwrap_or(1_000_000), hold.unwrap_or(false))
    }

    /// Recurse endlessly through the host, on the stack that the host shares. For the limit of the stack.
    #[tool]
    fn recurse_through_host(&self, ctx: &Context) -> u64 {
        wild::recurse_through_host(ctx, 1)
    }

    /// Copy memory in slow instructions. For the limit of processor time.
    #[tool]
    fn copy_memory(&self) {
        wild::copy_memory();
    }

    /// Poll ready things endlessly. For timers, which must keep running.
    #[tool]
    fn poll_without_end(&self) {
        wild::poll_without_end();
    }

    /// Poll a hundred ready things endlessly. For timers, which must keep running.
    #[tool]
    fn poll_crowds(&self) {
        wild::poll_crowds();
    }

    /// Poll an empty list. For the host: it refuses.
    #[tool]
    fn poll_nothing(&self) -> String {
        wild::poll_nothing()
    }

    /// Wait for times in the past, and poll timers that never expire.
    #[tool]
    fn strange_alarms(&self) -> String {
        wild::strange_alarms()
    }

    /// Wait for the largest possible time. For the limit of wall-clock time.
    #[tool]
    fn wait_for_the_end_of_time(&self) {
        wild::wait_for_the_end_of_time();
    }
}
