//! Tests that the committed page is up to date.

use std::fs;
use std::path::Path;

use super::*;
use crate::spec::keys::LIMITS;

#[test]
fn the_committed_page_is_up_to_date() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/config.md");
    if crate::tests::updates_goldens() {
        fs::write(&file, render()).unwrap();
    }
    let committed = fs::read_to_string(file).unwrap_or_default();
    assert!(committed == render(), "run `UPDATE_GOLDENS=1 cargo test -p moongate-config reference`");
}

#[test]
fn every_key_has_a_complete_row() {
    let page = render();
    for name in ["listen", "sealing_key", "credentials", "mode", "prefix", "networks"] {
        assert!(page.contains(&format!("\n| `{name}` | ")), "{name}");
    }
    for limit in LIMITS {
        assert!(page.contains(&format!("\n| `{}` | ", limit.name)), "{}", limit.name);
    }
    let limits = page.matches("| `cancel_grace` | ").count();
    assert_eq!(limits, 1, "the limits are listed once");
    for row in page.lines().filter(|line| line.starts_with("| ")) {
        assert_eq!(row.replace("\\|", "").matches('|').count(), 6, "{row}");
    }
}

#[test]
fn examples_are_toml() {
    for line in render().lines().filter(|line| line.starts_with("| `")) {
        let example = line.split(" | ").nth(3).unwrap().trim_matches('`');
        assert!(example.parse::<toml::Table>().is_ok(), "{example}");
    }
}
