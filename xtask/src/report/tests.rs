//! The summary, which CI parses.

use anyhow::bail;

use super::{Report, Tally, is_failed_check, summary};

#[test]
fn the_last_line_is_plain() {
    assert_eq!(summary(Tally { passed: 3, failed: 1, skipped: 0 }), "3 passed, 1 failed");
    assert_eq!(summary(Tally { passed: 3, failed: 0, skipped: 2 }), "3 passed, 0 failed, 2 skipped");
}

#[test]
fn an_error_is_one_failed_check_and_the_rest_is_still_counted() {
    let mut report = Report::default();
    assert!(!report.step("breaks", || bail!("no")));
    assert!(report.step("holds", || Ok(Tally { passed: 4, failed: 0, skipped: 0 })));
    report.skip("waits");
    assert_eq!(report.finish(), Tally { passed: 4, failed: 1, skipped: 1 });
}

#[test]
fn failed_checks_are_recognised_by_their_lines() {
    assert!(is_failed_check("test reload::storm::serves ... FAILED"));
    assert!(is_failed_check("FAILED python-1.30.0 http 2025-11-25 call: no"));
    assert!(!is_failed_check("test reload::storm::serves ... ok"));
    assert!(!is_failed_check("test result: FAILED. 12 passed; 3 failed"));
}
