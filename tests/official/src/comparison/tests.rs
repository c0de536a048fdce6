//! What fails a comparison, and what doesn't.

use serde_json::{Value, json};

use super::Bench;
use crate::difference::Difference;
use crate::options::Options;
use crate::subjects::Subject;

/// Titles may differ, and nothing else.
const SUBJECT: Subject = Subject {
    plugin: "p",
    package: "p",
    compared: "",
    differences: &[Difference { what: "titles", reason: "", meant: |gap| gap.lists("t", "/title") }],
    check: |_| Ok(()),
};

/// Is this comparison good: two lists of tools with these tools `t`?
fn good(theirs: &Value, ours: &Value) -> bool {
    let options = Options::default();
    let mut bench = Bench::new(&SUBJECT, &options).unwrap();
    bench.check("tools", |bench| {
        let [theirs, ours] = [theirs, ours].map(|tool| json!({ "order": ["t"], "items": { "t": tool } }));
        bench.compare("tools/list", &json!({}), &theirs, &ours);
        Ok(())
    });
    bench.close()
}

#[test]
fn a_difference_that_is_listed_and_occurs_is_good() {
    assert!(good(&json!({ "title": "T" }), &json!({})));
}

#[test]
fn a_difference_that_isnt_listed_fails() {
    assert!(!good(&json!({ "title": "T", "name": "a" }), &json!({ "name": "b" })));
}

#[test]
fn a_difference_that_is_listed_and_doesnt_occur_fails() {
    assert!(!good(&json!({ "title": "T" }), &json!({ "title": "T" })));
}

#[test]
fn a_check_that_breaks_off_fails() {
    let options = Options::default();
    let mut bench = Bench::new(&Subject { differences: &[], ..SUBJECT }, &options).unwrap();
    bench.check("nothing runs", |bench| bench.call("t", &json!({})).map(drop));
    assert!(!bench.close());
}
