//! Comparisons of a run.

use serde_json::json;

use super::all;

#[test]
fn compares_revisions_plugins_and_neighbours() {
    let figures = json!({
        "throughput": [
            {"load": "a", "width": 8, "subject": "axum, no MCP", "reference": null, "calls_per_second": 100.0},
            {"load": "a", "width": 8, "subject": "rmcp, old", "reference": null, "calls_per_second": 40.0},
            {"load": "a", "width": 8, "subject": "rmcp, new", "reference": null, "calls_per_second": 30.0},
            {"load": "a", "width": 8, "subject": "failed", "reference": null, "calls_per_second": null},
            {"load": "a", "width": 8, "subject": "moongate, new", "reference": "rmcp, new", "calls_per_second": 60.0},
            {"load": "b", "width": 1, "subject": "moongate, new", "reference": "rmcp, new", "calls_per_second": 6.0},
        ],
        "start": {"cached": [
            {"name": "1 plugin", "plugins": 1, "complete_list_ms": 8.0},
            {"name": "25 plugins", "plugins": 25, "complete_list_ms": 10.0},
            {"name": "rmcp", "plugins": null, "complete_list_ms": 2.0},
        ]},
        "fairness": [
            {"neighbours": "none", "p99_us": 100.0},
            {"neighbours": "8 looping guests", "p99_us": 120.0},
        ],
    });
    let found: Vec<_> = all(&figures).into_iter().map(|ratio| (ratio.case, ratio.ratio)).collect();
    let expected = [
        ("a: moongate, new ÷ axum, no MCP", 0.6),
        ("a: moongate, new ÷ rmcp, new", 2.0),
        ("start, complete list of tools, 25 plugins ÷ 1 plugin", 1.25),
        ("p99 next to 8 looping guests ÷ without", 1.2),
    ];
    assert_eq!(found, expected.map(|(case, ratio)| (case.to_owned(), ratio)));
    assert!(all(&json!({})).is_empty());
}
