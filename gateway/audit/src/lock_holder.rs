//! Names the process that holds the lock of a log.

use std::fmt;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;

/// A process that holds a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockHolder {
    /// `None` if the system doesn't show it.
    process: Option<u32>,
    is_suspended: bool,
}

impl LockHolder {
    /// The holder of the lock of this file.
    pub(crate) fn of(file: &File) -> Self {
        let process = file.metadata().ok().and_then(|found| {
            let locks = fs::read_to_string("/proc/locks").ok()?;
            locks.lines().find_map(|line| holder_in(line, found.ino()))
        });
        Self { process, is_suspended: process.is_some_and(is_suspended) }
    }
}

/// A subject for an error message.
impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self { process: None, .. } => f.write_str("another process"),
            Self { process: Some(process), is_suspended: false } => write!(f, "process {process}"),
            Self { process: Some(process), is_suspended: true } => {
                write!(f, "process {process} (suspended)")
            }
        }
    }
}

/// The process in a line such as `1: FLOCK  ADVISORY  WRITE 4711 fe:01:131077 0 EOF`. The number of the device isn't
/// compared, because some file systems report another one.
fn holder_in(line: &str, inode: u64) -> Option<u32> {
    let mut words = line.split_whitespace();
    words.by_ref().nth(1).filter(|kind| *kind == "FLOCK")?;
    let process = words.by_ref().nth(2)?.parse().ok()?;
    let found: u64 = words.next()?.rsplit(':').next()?.parse().ok()?;
    (found == inode && process > 0).then_some(process)
}

fn is_suspended(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name before it can contain anything.
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn names_the_process_that_holds_a_lock() {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("lock");
        let lock = File::create(&path).unwrap();
        assert_eq!(LockHolder::of(&lock).process, None);
        lock.lock().unwrap();
        let holder = LockHolder::of(&File::open(&path).unwrap());
        assert_eq!(holder, LockHolder { process: Some(std::process::id()), is_suspended: false });
        assert_eq!(holder.to_string(), format!("process {}", std::process::id()));
    }

    #[test]
    fn reads_only_lines_of_this_lock() {
        let line = "7: FLOCK  ADVISORY  WRITE 4711 fe:01:131077 0 EOF";
        assert_eq!(holder_in(line, 131_077), Some(4711));
        assert_eq!(holder_in(line, 31_077), None);
        for other in [
            "",
            "7:",
            "7: -> FLOCK  ADVISORY  WRITE 4711 fe:01:131077 0 EOF",
            "7: POSIX  ADVISORY  WRITE 4711 fe:01:131077 0 EOF",
            "7: FLOCK  ADVISORY  WRITE 0 fe:01:131077 0 EOF",
            "7: FLOCK  ADVISORY  WRITE 4711",
        ] {
            assert_eq!(holder_in(other, 131_077), None, "{other}");
        }
    }
}
