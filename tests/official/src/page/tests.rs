//! The committed page, and the pinned versions.

use std::fs;
use std::path::Path;

use crate::subjects;

use super::{page, version};

#[test]
fn the_official_servers_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/official-servers.md");
    let kept = fs::read_to_string(path).unwrap_or_default();
    assert!(kept == page(), "`docs/official-servers.md` is out of date: run `cargo xtask interop official`");
}

#[test]
fn every_server_has_a_pinned_version() {
    for subject in subjects::ALL {
        let version = version(subject.package).unwrap_or_default();
        assert!(version.split('.').count() == 3, "{}: {version}", subject.package);
    }
}
