//! What a process costs, as Linux counts it. Elsewhere the figures are missing, not wrong.

use std::fs;
use std::time::Duration;

/// The kernel counts processor time for `/proc` in hundredths of a second, whatever its own clock does.
const TICK: Duration = Duration::from_millis(10);

/// Processor time of a process until now, user and system, all its threads.
pub(crate) fn cpu(pid: u32) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name may hold anything; the fields begin after its last parenthesis with the third.
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
