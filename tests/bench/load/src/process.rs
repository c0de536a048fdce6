//! Resource usage of a process on Linux. On other systems the figures are missing.

use std::fs;
use std::time::Duration;

/// The unit of processor time in `/proc`, a hundredth of a second on every kernel configuration.
const TICK: Duration = Duration::from_millis(10);

/// The total processor time of a process, user and system, for all threads.
pub(crate) fn cpu(pid: u32) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name can contain anything; the third field follows its last parenthesis.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let ticks = |field: usize| fields.get(field - 3)?.parse::<u32>().ok();
    Some(TICK * (ticks(14)? + ticks(15)?))
}

/// Resident memory, in KiB.
pub(crate) fn resident_kib(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}
