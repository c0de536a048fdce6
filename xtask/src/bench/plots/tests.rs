//! The plots of figures, and of incomplete figures.

use serde_json::{Value, json};

use super::draw;

fn entry(load: &str, width: u32, subject: &str, rate: f64) -> Value {
    let reference = subject.strip_prefix("Moongate").map(|era| format!("rmcp{era}"));
    json!({ "load": load, "transport": load.split(',').next(), "bytes": 100, "width": width, "subject": subject,
        "reference": reference,
        "calls_per_second": rate, "p50_us": 50.0, "p99_us": 90.0, "cpu_us_per_call": 12.0 })
}

pub(in crate::bench) fn figures() -> Value {
    let start = |name: &str, plugins: Option<u32>, ms: f64| {
        json!({ "name": name, "plugins": plugins, "initialize_ms": 2.0, "first_list_ms": ms, "complete_list_ms": ms,
            "resident_kib": 20_480.0 * ms })
    };
    let samples: Value = (0..=20).map(|at| json!([at * 10_000, 20_480 + at])).collect();
    json!({
        "machine": { "cpus": 2, "model": "Some CPU", "memory_kib": 16_777_216, "linux": "6.1" },
        "build": "release",
        "binary_bytes": 20 << 20,
        "runs": { "throughput": { "rounds": 3, "seconds": 1.0, "peers": true, "duration_s": 90 } },
        "inside": {},
        "throughput": [
            entry("HTTP, 100 B, 1 connection", 1, "Moongate, 2025-11-25", 10_000.0),
            entry("HTTP, 100 B, 8 connections", 8, "Moongate, 2025-11-25", 50_000.0),
            entry("HTTP, 100 B, 8 connections", 8, "rmcp, 2025-11-25", 40_000.0),
            entry("HTTP, 100 B, 8 connections", 8, "FastMCP", 300.0),
            entry("stdio, 100 B, 32 in flight", 32, "Moongate, 2025-11-25", 74_000.0),
        ],
        "start": {
            "cached": [start("1 plugin", Some(1), 8.0), start("1000 plugins", Some(1_000), 30.0), start("rmcp", None, 3.0)],
            "empty_cache": [start("5 Rust plugins, empty cache", Some(5), 5_000.0)],
        },
        "fairness": [
            { "neighbours": "none", "calls_per_second": 9_000.0, "p50_us": 80.0, "p99_us": 130.0 },
            { "neighbours": "8 looping guests", "calls_per_second": 8_000.0, "p50_us": 90.0, "p99_us": 156.0 },
        ],
        "sight": [
            { "case": "neither admin listener nor traces", "connections": 32, "calls_per_second": 50_000.0, "p50_us": 500.0,
                "p99_us": 900.0, "cpu_us_per_call": 20.0, "ratio": 1.0 },
            { "case": "one open status page", "connections": 32, "calls_per_second": 49_000.0, "p50_us": 510.0,
                "p99_us": 950.0, "cpu_us_per_call": 20.5, "ratio": 0.981 },
        ],
        "memory": { "calls": 200_000, "HTTP": { "samples": samples }, "stdio": { "samples": samples } },
        "reload": { "latency": [], "during_replacement": [] },
    })
}

#[test]
fn draws_each_plot_whose_figures_exist() {
    let all = draw(&figures());
    let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    let expected = [
        "throughput-http.svg",
        "throughput-stdio.svg",
        "latency.svg",
        "start.svg",
        "start-memory.svg",
        "neighbours.svg",
        "memory.svg",
    ];
    assert_eq!(names, expected);
    for (name, svg) in &all {
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{name}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}: {svg}");
    }
    let svg = |name: &str| &all.iter().find(|(found, _)| *found == name).unwrap().1;
    assert!(svg("neighbours.svg").contains(">156 µs, × 1.20 (p50: 90 µs)<"), "{}", svg("neighbours.svg"));
    let http = svg("throughput-http.svg");
    assert!(
        http.find("Moongate, 2025").unwrap() < http.find("rmcp").unwrap(),
        "the fastest is first: {http}"
    );
    assert!(http.contains(">50,000 (12 µs of CPU per call) × 1.25 rmcp<"), "{http}");
    // Servers without plugins aren't in the plots by number of plugins.
    assert_eq!(svg("start.svg").matches("<circle").count(), 4);
}

#[test]
fn draws_nothing_without_figures() {
    assert!(draw(&json!({})).is_empty());
    let only_fairness = json!({ "fairness": figures()["fairness"] });
    assert_eq!(draw(&only_fairness).len(), 1);
}
