//! The memory of the process after bursts of large requests.

use std::thread;

use moongate_tests::{Http, ResourceUsage, Workspace, wait_until};
use serde_json::json;

/// The memory that may stay in use after a burst, in KiB.
const REMAINING_KIB: u64 = 64 << 10;

/// An allocator that keeps what it once used would let a few clients occupy the machine for good.
#[test]
fn memory_of_a_burst_is_returned_to_the_system() {
    const REQUESTS: usize = 4;
    let workspace = Workspace::with_plugin("time");
    let http = Http::start(&workspace);
    let large: Vec<_> = (0..100_000).map(|_| json!({ "a": 0 })).collect();
    let arguments = json!({ "timezone": "UTC", "large": large });
    let _ = http.call("time_get_current_time", json!({ "timezone": "UTC" }));
    let resident = || ResourceUsage::of(http.pid()).resident;
    let before = resident();
    thread::scope(|scope| {
        for _ in 0..REQUESTS {
            scope.spawn(|| http.call("time_get_current_time", arguments.clone()));
        }
    });
    wait_until("the memory is returned", || resident() < before + REMAINING_KIB);
}
