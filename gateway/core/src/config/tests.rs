//! Files as operators write them, and what they read when something is wrong.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::*;

mod goldens;

/// The folder of files with a mistake and what is said of it.
fn ui() -> PathBuf {
    std::path::absolute(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ui/config"))
        .unwrap()
        .canonicalize()
        .unwrap()
}

/// What is set while a test reads a file.
fn environment() -> BTreeMap<String, String> {
    let variables = [
        ("HOME", "/srv/somebody"),
        ("LANG", "en_GB.UTF-8"),
        ("EMPTY", ""),
        ("SHORT", "hunter2"),
        ("SPACED", "not a token, but a sentence"),
        ("GATEWAY_TOKEN", "0123456789abcdef0123456789abcdef"),
        ("SAME_TOKEN", "0123456789abcdef0123456789abcdef"),
        ("OTHER_TOKEN", "fedcba9876543210fedcba9876543210"),
    ];
    variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
