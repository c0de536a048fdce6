//! Counting what the scripts print, and naming what they are installed from.

use crate::report::Tally;

use super::counted;
use super::install::hash;

#[test]
fn each_line_that_tells_a_check_is_counted() {
    assert_eq!(counted("ok python 1.x, http: lists the tools"), Tally::PASS);
    assert_eq!(counted("FAILED python 1.x, http: lists the tools: no"), Tally::FAIL);
    assert_eq!(counted("okay then"), Tally::default());
    assert_eq!(counted(""), Tally::default());
}

#[test]
fn another_lockfile_is_installed_elsewhere() {
    assert_eq!(hash(&[b"a==1", b"3.11"]), hash(&[b"a==1", b"3.11"]));
    assert_ne!(hash(&[b"a==1", b"3.11"]), hash(&[b"a==2", b"3.11"]));
    assert_ne!(hash(&[b"a==1", b"3.11"]), hash(&[b"a==13.", b"11"]));
}
