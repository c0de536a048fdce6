//! The code in the documentation is the code that is compiled here.

use std::fs;
use std::path::Path;

fn read(file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).expect("a file of the repository")
}

#[test]
fn page_contains_the_tested_first_plugin() {
    let source = read("tests/first_plugin.rs");
    let (_, code) = source.split_once("\n\n").unwrap();
    let block = format!("```rust\n{code}```\n");
    assert!(
        read("../../docs/plugins.md").contains(&block),
        "docs/plugins.md must contain this block:\n{block}"
    );
}

#[test]
fn links_of_the_page_exist() {
    let page = read("../../docs/plugins.md");
    let links: Vec<&str> =
        page.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(to, _)| to).collect();
    assert!(links.len() > 5, "{links:?}");
    for link in links.iter().filter(|link| !link.contains("://") && !link.starts_with('#')) {
        let file = link.split('#').next().unwrap_or(link);
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(file);
        assert!(path.exists(), "docs/plugins.md links to `{link}`");
    }
}
