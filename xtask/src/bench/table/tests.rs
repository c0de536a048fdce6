//! Formatted numbers and tables.

use serde_json::json;

use super::{fairness, markdown, number, start};

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
    let figures = json!({"throughput": [
        {"load": "a", "subject": "axum", "calls_per_second": 5000.0},
        {"load": "a", "subject": "rmcp", "calls_per_second": 1000.0},
        {"load": "b", "subject": "rmcp", "calls_per_second": 9.0},
        {"load": "a", "subject": "moongate", "reference": "rmcp", "floor": "axum", "calls_per_second": 1250.0,
            "rounds": [1260.0, 1240.0, 1250.0]},
    ]});
    let tables = markdown(&figures);
    let line = tables.lines().find(|line| line.contains("moongate")).unwrap();
    assert!(line.starts_with("| a | moongate | 1,250 | 1,240–1,260 | × 1.25 | × 0.25 |  |"), "{line}");
    let line = tables.lines().find(|line| line.starts_with("| a | axum")).unwrap();
    assert!(line.contains("|  |  | × 0.25 |"), "{line}");
    assert_eq!(tables.matches('×').count(), 4, "{tables}");
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
fn fairness_compares_with_the_case_without_neighbours() {
    let figures = json!({"fairness": [
        {"neighbours": "none", "calls_per_second": 5000.0, "p50_us": 180.0, "p99_us": 400.0},
        {"neighbours": "1 looping guest", "calls_per_second": 2500.0, "p50_us": 300.0, "p99_us": 5200.4},
    ]});
    let table = fairness(&figures);
    assert!(
        table.ends_with(
            "| none | 5,000 | 180 | 400 | × 1.00 |\n| 1 looping guest | 2,500 | 300 | 5,200 | × 13.00 |\n"
        ),
        "{table}"
    );
    assert!(markdown(&figures).ends_with(&table));
}

#[test]
fn starts_are_compared_with_one_plugin() {
    let entry = |name: &str, time: f64| {
        json!({"name": name, "plugins": 1, "initialize_ms": 1.5, "first_list_ms": time,
        "complete_list_ms": time, "resident_kib": 20_480.0})
    };
    let figures = json!({"start": {"cached": [entry("1 plugin", 8.0), entry("25 plugins", 12.0)],
        "empty_cache": [entry("5 Rust plugins, empty cache", 5600.0)]}});
    let table = start(&figures);
    assert!(table.contains("| 25 plugins | 1.5 | 12.0 | 12.0 | × 1.50 | 20.0 |\n"), "{table}");
    assert!(
        table.contains("| 5 Rust plugins, empty cache | 1.5 | 5,600.0 | 5,600.0 |  | 20.0 |\n"),
        "{table}"
    );
}

#[test]
fn missing_parts_have_no_tables() {
    assert_eq!(markdown(&json!({})), "");
}
