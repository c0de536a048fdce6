//! Counting what the test runners of other languages print.

use crate::report::Tally;

use super::counted;

#[test]
fn what_node_counted_is_counted() {
    let said = "ok 1 - a\n# Subtest: b\nnot ok 2 - b\n# tests 4\n# pass 1\n# fail 1\n# cancelled 1\n# skipped 1\n# todo 0\n";
    assert_eq!(counted(said), Tally { passed: 1, failed: 2, skipped: 1 });
}

#[test]
fn what_python_counted_is_counted() {
    assert_eq!(counted("...\nRan 3 tests in 0.1s\n\nOK\n"), Tally { passed: 3, failed: 0, skipped: 0 });
    let said = "FAIL: test_a (b)\nRan 5 tests in 0.1s\n\nFAILED (failures=1, errors=1, skipped=1)\n";
    assert_eq!(counted(said), Tally { passed: 2, failed: 2, skipped: 1 });
    assert_eq!(counted("Ran 0 tests in 0.0s\n\nOK\n"), Tally::default());
    assert_eq!(counted("nothing\n"), Tally::default());
}
