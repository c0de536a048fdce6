//! The page of figures, and of incomplete figures.

use serde_json::json;

use super::super::plots::tests::figures;
use super::{pivot, render};

#[test]
fn shows_all_parts_and_leaves_out_what_was_not_measured() {
    let mut figures = figures();
    let page = render(&figures).unwrap();
    for text in [
        "2 processors (Some CPU), 16 GiB of memory",
        "| rmcp | 3.11.0 |",
        "cargo xtask bench throughput --peers --rounds 3 --seconds 1 --json bench.json",
        "The measurements of this page took 2 minutes",
        "| Moongate, 2025-11-25 | 10,000 | 50,000 |",
        "| one open status page | 49,000 | × 0.981 | 510 | 950 | 20.5 |",
        "| 8 looping guests | 8,000 | 90 | 156 | × 1.20 |",
        "| 1000 plugins | 2.0 | 30.0 | 30.0 | × 3.75 | 600.0 |",
    ] {
        assert!(page.contains(text), "`{text}` is missing: {page}");
    }
    for (name, _) in super::super::plots::draw(&figures) {
        assert!(page.contains(&format!("](plots/{name})")), "{name} isn't on the page");
    }
    figures["memory"] = json!(null);
    let page = render(&figures).unwrap();
    assert!(!page.contains("plots/memory.svg") && page.contains("neighbours.svg"), "{page}");
}

#[test]
fn names_the_measured_build() {
    let mut figures = figures();
    assert!(render(&figures).unwrap().contains("from a release build without a profile"));
    figures["build"] = json!("dist");
    let page = render(&figures).unwrap();
    assert!(page.contains("from a static, profile-guided build"), "{page}");
    assert!(
        page.contains("cargo xtask bench throughput --peers --rounds 3 --seconds 1 --dist --json bench.json")
    );
    assert!(
        page.contains(
            "cargo xtask dist binary\ncargo xtask bench --peers --rounds 3 --seconds 1 --dist --json"
        )
    );
}

#[test]
fn a_server_without_a_figure_has_a_dash() {
    let table = pivot(&figures(), "HTTP", &["p50_us", "p99_us"]);
    assert!(table.contains("| rmcp, 2025-11-25 | – / – | 50 / 90 |"), "{table}");
}
