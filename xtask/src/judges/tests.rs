//! Counting what the scripts print, and naming what they are installed from.

use crate::report::Tally;

use super::table::Table;
use crate::install::hash;

#[test]
fn each_line_that_tells_a_check_is_counted() {
    let mut table = Table::default();
    assert_eq!(table.note("ok python-1.30.0 http 2025-11-25 list"), Tally::PASS);
    assert_eq!(table.note("ok time the tools"), Tally::PASS);
    assert_eq!(table.note("FAILED python-1.30.0 http 2025-11-25 call: no"), Tally::FAIL);
    assert_eq!(table.note("- python-1.30.0 http 2025-11-25 roots: it has none"), Tally::default());
    assert_eq!(table.note("okay then"), Tally::default());
    assert_eq!(table.note(""), Tally::default());
}

#[test]
fn what_a_client_says_nothing_of_is_missed() {
    let mut table = Table::default();
    table.note("ok time the tools of it");
    assert!(table.gaps().is_empty());
    table.note("ok python-1.30.0 http 2025-11-25 list");
    table.note("- python-1.30.0 http 2025-11-25 roots: it has none");
    let gaps = table.gaps();
    assert!(gaps.contains(&"python-1.30.0 http 2025-11-25 subscriptions".to_owned()), "{gaps:?}");
    assert!(!gaps.iter().any(|gap| gap.ends_with(" list") || gap.ends_with(" roots")), "{gaps:?}");
}

#[test]
fn another_lockfile_is_installed_elsewhere() {
    assert_eq!(hash(&[b"a==1", b"3.11"]), hash(&[b"a==1", b"3.11"]));
    assert_ne!(hash(&[b"a==1", b"3.11"]), hash(&[b"a==2", b"3.11"]));
    assert_ne!(hash(&[b"a==1", b"3.11"]), hash(&[b"a==13.", b"11"]));
}
