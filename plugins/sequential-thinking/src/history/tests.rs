//! Separation, expiry and size of histories.

use serde_json::json;

use super::{HISTORY_TIMEOUT, History, MAX_PROGRAMS, added};
use crate::thought::Thought;

fn thought(branch: &str) -> Thought {
    let args = json!({
        "thought": "hm", "nextThoughtNeeded": true, "thoughtNumber": 1, "totalThoughts": 1,
        "branchFromThought": 1, "branchId": branch,
    });
    serde_json::from_value(args).unwrap()
}

/// The history of the last thought.
fn last(all: &[History]) -> (u64, usize) {
    let last = all.last().unwrap();
    (last.length, last.branches.len())
}

#[test]
fn starts_a_new_history_after_a_pause() {
    let pause = HISTORY_TIMEOUT.as_secs();
    let all = added(Vec::new(), "p", &thought("a"), 1000);
    let all = added(all, "p", &thought("b"), 1000 + pause - 1);
    assert_eq!(last(&all), (2, 2));
    let all = added(all, "p", &thought("c"), 1000 + 2 * pause);
    assert_eq!((last(&all), all.len()), ((1, 1), 1));
    let put_back = added(all, "p", &thought("d"), 1000);
    assert_eq!(last(&put_back), (1, 1));
}

#[test]
fn separates_and_limits_programs() {
    let mut all = added(Vec::new(), "first", &thought(""), 0);
    for number in 1..=MAX_PROGRAMS {
        all = added(all, &number.to_string(), &thought(""), 0);
    }
    assert_eq!(all.len(), MAX_PROGRAMS);
    all = added(all, "2", &thought(""), 0);
    assert_eq!(last(&all).0, 2);
    all = added(all, "first", &thought(""), 0);
    assert_eq!((last(&all).0, all.len()), (1, MAX_PROGRAMS), "the least recently used one was removed");
}

#[test]
fn limits_the_size_of_branch_names() {
    let mut all = Vec::new();
    for number in 0..40 {
        all = added(all, "p", &thought(&format!("{number:01000}")), 0);
    }
    assert_eq!(last(&all), (40, 32));
    assert!(all[0].branches[0].ends_with("0008") && all[0].branches[31].ends_with("0039"));
    all = added(all, "p", &thought(&"x".repeat(1 << 16)), 0);
    assert_eq!(last(&all), (41, 0), "a name above the limit isn't stored");
}
