//! The counts that a test runner prints.

use crate::report::Tally;

use super::{LongTests, line_tally};

#[test]
fn result_lines_are_counted_and_others_are_not() {
    let line =
        "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 7 filtered out; finished in 0.10s";
    assert_eq!(line_tally(line), Tally { passed: 12, failed: 3, skipped: 1 });
    assert_eq!(line_tally("test a::b ... ok"), Tally::default());
    assert_eq!(line_tally("running 3 tests"), Tally::default());
}

#[test]
fn a_test_that_hangs_is_named() {
    let mut long = LongTests::default();
    long.follow("test a::ends has been running for over 60 seconds");
    long.follow("test a::hangs has been running for over 60 seconds");
    long.follow("test a::ends ... ok");
    assert_eq!(long.names(), "a::hangs");
}
