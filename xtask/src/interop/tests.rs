//! The lines that scripts print, and the names of install directories.

use crate::report::Tally;

use super::table::ClientTable;
use crate::install::hash;

#[test]
fn counts_each_line_that_reports_a_check() {
    let mut table = ClientTable::default();
    assert_eq!(table.record("ok python-1.30.0 http 2025-11-25 list"), Tally::PASS);
    assert_eq!(table.record("ok time the tools"), Tally::PASS);
    assert_eq!(table.record("FAILED python-1.30.0 http 2025-11-25 call: no"), Tally::FAIL);
    assert_eq!(table.record("- python-1.30.0 http 2025-11-25 roots: it has none"), Tally::default());
    assert_eq!(table.record("okay then"), Tally::default());
    assert_eq!(table.record(""), Tally::default());
}

#[test]
fn finds_checks_that_a_client_did_not_report() {
    let mut table = ClientTable::default();
    table.record("ok time the tools of it");
    assert!(table.missing_checks().is_empty());
    table.record("ok python-1.30.0 http 2025-11-25 list");
    table.record("- python-1.30.0 http 2025-11-25 roots: it has none");
    let missing = table.missing_checks();
    assert!(missing.contains(&"python-1.30.0 http 2025-11-25 subscriptions".to_owned()), "{missing:?}");
    assert!(
        !missing.iter().any(|check| check.ends_with(" list") || check.ends_with(" roots")),
        "{missing:?}"
    );
}

#[test]
fn each_lockfile_has_its_own_directory() {
    assert_eq!(hash(&[b"a==1", b"3.11"]), hash(&[b"a==1", b"3.11"]));
    assert_ne!(hash(&[b"a==1", b"3.11"]), hash(&[b"a==2", b"3.11"]));
    assert_ne!(hash(&[b"a==1", b"3.11"]), hash(&[b"a==13.", b"11"]));
}
