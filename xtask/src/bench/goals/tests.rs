//! Goals that are met, that aren't, and that weren't measured.

use serde_json::json;

use super::super::plots::tests::figures;
use super::{command, markdown};

#[test]
fn each_goal_has_its_figure_and_its_command() {
    let table = markdown(&figures());
    for line in [
        "| HTTP, 100 B, 8 connections | ≥ 1.3 × rmcp, 2025-11-25 | 1.25 | **no** | Moongate, 2025-11-25: 50,000 calls/s, \
         p50 / p99 50 / 90 µs; rmcp, 2025-11-25: 40,000 calls/s, p50 / p99 50 / 90 µs | \
         `cargo xtask bench throughput --peers --rounds 3 --seconds 1 --json bench.json` |",
        "| start with 1000 cached plugins, complete list of tools | ≤ 4 × 1 plugin | 3.75 | yes |",
        "| p99 next to 8 looping guests | ≤ 1.5 × without | 1.20 | yes | p50 / p99 90 / 156 µs; without: ",
        "| one open status page, calls/s | ≥ 0.95 × neither admin listener nor traces | 0.98 | yes | 49,000; 50,000 | \
         `cargo xtask bench sight --json bench.json` |",
        "| growth over 200,000 calls over HTTP, one in ten hostile, after the warm-up | ≤ 8 MiB | 0.02 | yes |",
        "| start with 25 cached plugins, complete list of tools | ≤ 1.3 × 1 plugin | – | not measured |",
    ] {
        assert!(table.contains(line), "`{line}` is missing: {table}");
    }
    assert_eq!(table.matches("stdio, 64 KiB, 32 in flight | ≥ 2.5 × rmcp").count(), 2, "{table}");
}

#[test]
fn no_figure_is_needed() {
    let table = markdown(&json!({}));
    assert_eq!(table.matches("not measured").count(), table.lines().count() - 2, "{table}");
    assert_eq!(command(&json!({}), "start"), "cargo xtask bench start --json bench.json");
}
