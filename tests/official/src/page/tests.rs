//! The committed page, and where versions come from.

use std::fs;
use std::path::Path;

use crate::subjects;

use super::{page, version};

#[test]
fn the_committed_page_says_what_is_compared() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/official-servers.md");
    let kept = fs::read_to_string(path).unwrap_or_default();
    assert!(kept == page(), "`cargo xtask interop official` writes `docs/official-servers.md` anew");
}

#[test]
fn every_server_has_a_fixed_version() {
    for subject in subjects::ALL {
        let version = version(subject.package).unwrap_or_default();
        assert!(version.split('.').count() == 3, "{}: {version}", subject.package);
    }
}
