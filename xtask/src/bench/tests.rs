//! Options, and figures of several runs.

use serde_json::json;

use super::{BenchPart, add_to, parse_options};

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn selects_parts() {
    assert_eq!(parse_options(&[]).unwrap().parts, BenchPart::ALL);
    assert_eq!(parse_options(&words("all --rounds 5")).unwrap().parts, BenchPart::ALL);
    let parts = parse_options(&words("start memory --calls 200000")).unwrap().parts;
    assert_eq!(parts, [BenchPart::Start, BenchPart::Memory]);
    for wrong in ["fast", "--rounds 0", "--rounds", "--calls 10", "--seconds -1"] {
        assert!(parse_options(&words(wrong)).is_err(), "{wrong}");
    }
}

#[test]
fn adds_parts_only_to_figures_of_the_same_build() {
    let now = json!({ "machine": { "cpus": 2 }, "build": "release", "binary_bytes": 7 });
    let mut earlier = now.clone();
    earlier["start"] = json!({});
    assert_eq!(add_to(earlier.clone(), &now).unwrap(), earlier);
    earlier["binary_bytes"] = json!(8);
    let error = add_to(earlier, &now).unwrap_err().to_string();
    assert!(error.starts_with("the JSON has the figures of another binary_bytes;"), "{error}");
}
