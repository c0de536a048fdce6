//! Search results.

use serde_json::json;

use crate::tests::{Directory, text_of};

#[test]
fn finds_matches_and_skips_excluded_directories() {
    let directory = Directory::new();
    directory.write("a.md", "");
    directory.write("sub/b.md", "");
    directory.write("skip/c.md", "");
    directory.link("/etc/hostname", "out.md");
    directory.link("a.md", "in.md");
    let search = |pattern: &str, exclude: &[&str]| {
        text_of("search_files", json!({ "path": ".", "pattern": pattern, "excludePatterns": exclude }))
    };
    let all = |names: &[&str]| names.iter().map(|name| directory.path(name)).collect::<Vec<_>>().join("\n");
    assert_eq!(search("*.md", &[]), all(&["a.md", "in.md"]));
    assert_eq!(search("**/*.md", &["skip"]), all(&["a.md", "in.md", "sub/b.md"]));
    assert_eq!(search("s*", &[]), all(&["skip", "sub"]));
    assert_eq!(search("*.txt", &[]), "No matches found");
}
