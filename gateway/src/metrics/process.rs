//! What the process uses, where the system tells: under the names that all of Prometheus' own clients have.

use std::fs;

/// What the process uses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Usage {
    /// Bytes of memory that are in RAM.
    pub(super) resident: Option<u64>,
    /// Open file descriptors.
    pub(super) descriptors: Option<u64>,
    /// Threads.
    pub(super) threads: Option<u64>,
    /// Seconds of processor time.
    pub(super) processor: f64,
}

impl Usage {
    /// What it uses now.
    pub(super) fn now() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let number = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        // Reading the folder takes one descriptor itself.
        let descriptors =
            fs::read_dir("/proc/self/fd").ok().map(|all| (all.count() as u64).saturating_sub(1));
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Self {
            resident: number("VmRSS:").map(|kib| kib * 1024),
            descriptors,
            threads: number("Threads:"),
            processor: time.tv_sec as f64 + time.tv_nsec as f64 / 1e9,
        }
    }
}
