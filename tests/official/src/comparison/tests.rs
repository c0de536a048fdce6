//! Comparisons that pass and fail.

use serde_json::{Value, json};

use super::Comparison;
use crate::difference::Difference;
use crate::options::Options;
use crate::subjects::Subject;

/// A subject in which only titles may differ.
const SUBJECT: Subject = Subject {
    plugin: "p",
    package: "p",
    compared: "",
    differences: &[Difference {
        description: "titles",
        reason: "",
        matches: |mismatch| mismatch.is_tool_property("t", "/title"),
    }],
    check: |_| Ok(()),
};

/// Returns true if the comparison of these two versions of the tool `t` passes.
fn passes(theirs: &Value, ours: &Value) -> bool {
    let options = Options::default();
    let mut comparison = Comparison::new(&SUBJECT, &options).unwrap();
    comparison.check("tools", |comparison| {
        let [theirs, ours] = [theirs, ours].map(|tool| json!({ "order": ["t"], "items": { "t": tool } }));
        comparison.compare("tools/list", &json!({}), &theirs, &ours);
        Ok(())
    });
    comparison.close()
}

#[test]
fn passes_if_a_listed_difference_occurs() {
    assert!(passes(&json!({ "title": "T" }), &json!({})));
}

#[test]
fn fails_on_an_unlisted_difference() {
    assert!(!passes(&json!({ "title": "T", "name": "a" }), &json!({ "name": "b" })));
}

#[test]
fn fails_if_a_listed_difference_does_not_occur() {
    assert!(!passes(&json!({ "title": "T" }), &json!({ "title": "T" })));
}

#[test]
fn fails_if_a_check_aborts() {
    let options = Options::default();
    let mut comparison = Comparison::new(&Subject { differences: &[], ..SUBJECT }, &options).unwrap();
    comparison.check("nothing runs", |comparison| comparison.call("t", &json!({})).map(drop));
    assert!(!comparison.close());
}
