//! The property of any lock file, as a plain function for the seeded loop in the tests and for fuzzers.

use std::path::Path;

use super::LockFile;

/// Parses a lock file. An accepted one is written again without a loss.
///
/// # Panics
/// A lock file reads back differently after it was written, or an error has no explanation.
pub fn fuzz_lock(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let path = Path::new("moongate.lock");
    match LockFile::parse(path, text) {
        Ok(lock) => {
            let written = lock.text();
            match LockFile::parse(path, &written) {
                Ok(again) => assert_eq!(again, lock, "{written}"),
                Err(error) => panic!("{error}: {written}"),
            }
        }
        Err(error) => assert!(!error.to_string().is_empty() && !error.hint().is_empty()),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn lock_files_are_written_without_a_loss() {
        moongate_model::seeded::seeded("lock", super::fuzz_lock);
    }
}
