//! The guide's pages are in `docs/guide`, for all languages. The crate's documentation has copies without the sections of
//! other languages, so that the crate can be built alone.
//!
//! `UPDATE_GOLDENS=1 cargo test -p moongate-sdk --test it guide` updates the copies.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The table of the pages.
const INDEX: &str = "README.md";

/// The heading of the section for Rust. Other sections are for other languages.
const RUST: &str = "## Rust";

/// The copies in this crate.
fn copies() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/guide")
}

/// The names of the pages in a directory.
fn pages(directory: &Path) -> BTreeSet<String> {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).collect()
}

/// The copy of a page: without its title and other languages. Links to other copies become links to their modules.
fn copy_of(page: &str, copied: &BTreeSet<String>) -> String {
    let mut copy = String::new();
    let (mut in_code, mut is_copied) = (false, true);
    for line in page.lines().skip(1) {
        in_code ^= line.starts_with("```");
        if !in_code && line.starts_with("## ") {
            is_copied = line == RUST;
        } else if is_copied {
            copy.push_str(&if in_code { line.to_owned() } else { with_links_to_modules(line, copied) });
            copy.push('\n');
        }
    }
    // Dropped headings leave two blank lines.
    format!("{}\n", copy.replace("\n\n\n", "\n\n").trim())
}

/// Replaces the links of a line: a link to a page without a copy becomes text.
fn with_links_to_modules(line: &str, copied: &BTreeSet<String>) -> String {
    let mut parts = line.split("](");
    let mut replaced = parts.next().unwrap().to_owned();
    for part in parts {
        let (target, rest) = part.split_once(')').unwrap();
        let (file, module) = (target, target.strip_suffix(".md"));
        match module.filter(|_| copied.contains(file)) {
            Some(module) => replaced.push_str(&format!("](self::{module}){rest}")),
            None => {
                let text = replaced.rfind('[').unwrap();
                replaced.remove(text);
                replaced.push_str(rest);
            }
        }
    }
    replaced
}

#[test]
fn pages_of_the_crate_equal_those_of_the_repository() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide");
    if !source.exists() {
        return; // the crate stands alone
    }
    let is_update = env::var_os("UPDATE_GOLDENS").is_some();
    assert!(!(is_update && env::var_os("CI").is_some()), "UPDATE_GOLDENS is refused if CI is set");
    let copied = pages(&copies());
    for name in &copied {
        let page = fs::read_to_string(source.join(name)).unwrap();
        assert!(name == INDEX || page.contains(RUST), "docs/guide/{name} has no section for Rust");
        let (expected, file) = (copy_of(&page, &copied), copies().join(name));
        if is_update {
            fs::write(&file, &expected).unwrap();
        }
        assert!(
            fs::read_to_string(&file).unwrap() == expected,
            "docs/guide/{name} changed: run `UPDATE_GOLDENS=1 cargo test -p moongate-sdk --test it guide`"
        );
    }
}

#[test]
fn the_index_lists_every_page() {
    let index = fs::read_to_string(copies().join(INDEX)).unwrap();
    for name in pages(&copies()).iter().filter(|name| *name != INDEX) {
        let module = name.trim_end_matches(".md");
        assert!(index.contains(&format!("](self::{module})")), "{INDEX} doesn't list {name}");
    }
}

#[test]
fn every_page_has_a_section_and_code_for_each_language() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide");
    if !source.exists() {
        return; // the crate stands alone
    }
    for name in pages(&copies()).iter().filter(|name| *name != INDEX) {
        let page = fs::read_to_string(source.join(name)).unwrap();
        for heading in [RUST, "## Python", "## JavaScript and TypeScript"] {
            assert!(page.contains(&format!("\n{heading}\n")), "docs/guide/{name} has no `{heading}`");
        }
        let has_code = ["```rust", "```python", "```js"].iter().all(|fence| page.contains(fence));
        assert!(has_code || name == "publishing.md", "docs/guide/{name} has a language without code");
    }
}
