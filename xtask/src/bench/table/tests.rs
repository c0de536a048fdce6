//! Formatted numbers and tables.

use serde_json::json;

use super::{markdown, number};

#[test]
fn separates_thousands() {
    for (figure, decimals, text) in [
        (0.0, 0, "0"),
        (999.0, 0, "999"),
        (1_000.0, 0, "1,000"),
        (12_345.67, 1, "12,345.7"),
        (-1_234.0, 0, "-1,234"),
        (-123.0, 0, "-123"),
        (1_234_567.0, 0, "1,234,567"),
    ] {
        assert_eq!(number(Some(figure), decimals), text);
    }
    assert_eq!(number(None, 0), "–");
}

#[test]
fn compares_a_subject_with_its_reference_and_the_floor() {
    let figures = json!({"traffic": [
        {"load": "a", "subject": "axum", "calls_per_second": 5000.0},
        {"load": "a", "subject": "rmcp", "calls_per_second": 1000.0},
        {"load": "b", "subject": "rmcp", "calls_per_second": 9.0},
        {"load": "a", "subject": "moongate", "reference": "rmcp", "floor": "axum", "calls_per_second": 1250.0,
            "rounds": [1260.0, 1240.0, 1250.0]},
    ]});
    let tables = markdown(&figures);
    let line = tables.lines().find(|line| line.contains("moongate")).unwrap();
    assert!(line.starts_with("| a | moongate | 1,250 | 1,240–1,260 | × 1.25 | × 0.25 |"), "{line}");
    assert_eq!(tables.matches('×').count(), 2, "{tables}");
}

#[test]
fn reloads_have_their_own_tables() {
    let figures = json!({"reload": {
        "latency": [{"plugin": "large", "bytes": 3_100_000, "replacements": 15,
            "new": {"p50_ms": 1500.25, "max_ms": 1600.0}, "cached": {"p50_ms": 130.0, "max_ms": 140.0}}],
        "during_replacement": [{"plugin": "large", "replacements": 4,
            "calls_per_second": {"without": 9000.0, "during": 8000.0},
            "p50_us": {"without": 100.0, "during": 110.0}, "p99_us": {"without": 300.0, "during": 2000.0}}],
    }});
    let tables = markdown(&figures);
    let lines: Vec<_> = tables.lines().filter(|line| line.starts_with("| large plugin")).collect();
    assert_eq!(
        lines,
        [
            "| large plugin | 3.100 | 1,500.2 | 1,600.0 | 130.0 | 140.0 |",
            "| large plugin | 4 | 9,000 | 8,000 | 100 | 110 | 300 | 2,000 |",
        ]
    );
    assert!(!tables.contains("the gateway alone"), "{tables}");
}

#[test]
fn fairness_has_its_own_table() {
    let figures = json!({"fairness": [
        {"loops": 0, "calls_per_second": 5000.0, "p50_us": 180.0, "p99_us": 400.0},
        {"loops": 1, "calls_per_second": 2500.0, "p50_us": 300.0, "p99_us": 5200.4},
    ]});
    let tables = markdown(&figures);
    assert!(
        tables.ends_with(
            "| 0 looping guests | 5,000 | 180 | 400 |\n| 1 looping guest | 2,500 | 300 | 5,200 |\n"
        ),
        "{tables}"
    );
}
