//! What the fuzz targets have in common: each is one function of `moongate-core`, or of the host, that panics where
//! something doesn't hold.

use std::path::PathBuf;
use std::process::ExitCode;

/// Makes a target of a function: for libFuzzer, or without it a program that reads files.
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

/// Runs a function of the host and holds all that it says against the official schemas.
#[cfg(feature = "host")]
pub fn judged(fuzz: fn(&[u8], &mut moongate::host::Hear<'_>), bytes: &[u8]) {
    use moongate_mcp_schema::{Conversation, Members};
    let mut talks = std::collections::HashMap::new();
    fuzz(bytes, &mut |revision, sent, received| {
        let talk = talks.entry(revision).or_insert_with(|| Conversation::new().with(Members::Open));
        match received {
            None => talk.sent(sent),
            Some(received) => {
                let message = serde_json::from_slice(received).expect("a message is JSON");
                talk.received(&message).unwrap_or_else(|misfit| panic!("{misfit}"));
            }
        }
    });
}

/// Runs `check` over every file and every folder's files that the command line names.
pub fn replay(check: fn(&[u8])) -> ExitCode {
    let named: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if named.is_empty() {
        eprintln!("name files, or folders of files, to run over");
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
        println!("{}: holds", path.display());
    }
    ExitCode::SUCCESS
}

/// The file itself, or the files of a folder.
fn files(path: &std::path::Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(path) else { return vec![path.to_owned()] };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    files
}
