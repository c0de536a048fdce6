//! Common parts of the fuzz targets. Each target is a function of a gateway crate that panics if an invariant is
//! violated.

use std::path::PathBuf;
use std::process::ExitCode;

/// Defines a target: for libFuzzer, or without it, a program that runs on files.
#[macro_export]
macro_rules! target {
    ($check:path) => {
        #[cfg(feature = "libfuzzer")]
        libfuzzer_sys::fuzz_target!(|bytes: &[u8]| $check(bytes));

        #[cfg(not(feature = "libfuzzer"))]
        fn main() -> std::process::ExitCode {
            $crate::replay($check)
        }
    };
}

/// Runs a target of `moongate` and validates each message against the official schemas.
#[cfg(feature = "host")]
pub fn validate(fuzz: fn(&[u8], &mut moongate::fuzz::MessageSink<'_>), bytes: &[u8]) {
    use moongate_mcp_schema::{Conversation, ExtraMembers};
    let mut conversations = std::collections::HashMap::new();
    fuzz(bytes, &mut |revision, sent, response| {
        let conversation =
            conversations.entry(revision).or_insert_with(|| Conversation::new().with(ExtraMembers::Allowed));
        match response {
            None => conversation.sent(sent),
            Some(response) => {
                let message = serde_json::from_slice(response).expect("a message is JSON");
                conversation.received(&message).unwrap_or_else(|misfit| panic!("{misfit}"));
            }
        }
    });
}

/// Runs `check` on each file on the command line, and on the files of each directory.
pub fn replay(check: fn(&[u8])) -> ExitCode {
    let named: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if named.is_empty() {
        eprintln!("usage: name input files, or directories of input files");
        return ExitCode::from(2);
    }
    for path in named.iter().flat_map(|path| files(path)) {
        match std::fs::read(&path) {
            Ok(bytes) => check(&bytes),
            Err(error) => {
                eprintln!("{}: {error}", path.display());
                return ExitCode::FAILURE;
            }
        }
        println!("{}: ok", path.display());
    }
    ExitCode::SUCCESS
}

/// The file itself, or the files in a directory.
fn files(path: &std::path::Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(path) else { return vec![path.to_owned()] };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    files
}
