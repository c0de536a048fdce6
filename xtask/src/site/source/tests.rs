//! A small repository.

use std::fs;
use std::path::Path;

use super::{SiteSource, map_links, resolve};

/// A repository with these files, and a table of contents for two of its pages.
fn repository(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let summary = "# Contents\n\n[Start](../README.md)\n\n- [A](a.md)\n";
    for (path, text) in files.iter().chain(&[("docs/SUMMARY.md", summary)]) {
        super::super::write(&root.path().join(path), text.as_bytes()).unwrap();
    }
    root
}

fn read(directory: &Path, path: &str) -> String {
    fs::read_to_string(directory.join(path)).unwrap()
}

#[test]
fn everything_that_pages_link_to_is_on_the_site() {
    let root = repository(&[
        (
            "README.md",
            "[a](docs/a.md#b) ![p](docs/p.svg) [c](c.toml) [d](d) [e](e/) [x](https://example.org)\n",
        ),
        ("docs/a.md", "[start](../README.md#one)\n"),
        ("docs/p.svg", "<svg/>"),
        ("c.toml", "c = 1\n"),
        ("d/README.md", "[back](../docs/a.md)\n"),
        ("e/f.wit", "package e:f;\n"),
    ]);
    let source = SiteSource::collect(root.path()).unwrap();
    let written = tempfile::tempdir().unwrap();
    source.write(written.path()).unwrap();
    let summary = read(written.path(), "SUMMARY.md");
    assert!(summary.contains("[Start](index.md)\n\n- [A](docs/a.md)\n\n# Files\n"), "{summary}");
    assert!(summary.ends_with("- [c.toml](c.toml.md)\n- [d](d/index.md)\n- [e](e.md)\n"), "{summary}");
    assert_eq!(
        read(written.path(), "index.md"),
        "[a](docs/a.md#b) ![p](docs/p.svg) [c](c.toml.md) [d](d/index.md) [e](e.md) [x](https://example.org)\n"
    );
    assert_eq!(read(written.path(), "docs/a.md"), "[start](../index.md#one)\n");
    assert_eq!(read(written.path(), "docs/p.svg"), "<svg/>");
    assert_eq!(read(written.path(), "c.toml.md"), "# c.toml\n\n`````toml\nc = 1\n`````\n");
    assert!(read(written.path(), "e.md").contains("## f.wit\n\n`````text\npackage e:f;\n"));
}

#[test]
fn a_link_without_a_target_is_an_error() {
    for link in ["none.md", "../outside"] {
        let root = repository(&[("README.md", &format!("[x]({link})\n")), ("docs/a.md", "")]);
        let error = SiteSource::collect(root.path()).unwrap_err().to_string();
        assert_eq!(error, format!("README.md links to `{link}`, which isn't in the repository"));
    }
}

#[test]
fn finds_pages_that_the_contents_do_not_list() {
    let root = repository(&[("README.md", ""), ("docs/a.md", ""), ("docs/b/c.md", "")]);
    let source = SiteSource::collect(root.path()).unwrap();
    assert_eq!(source.unlisted_pages().unwrap(), ["docs/b/c.md: list this page in docs/SUMMARY.md"]);
}

#[test]
fn links_in_code_stay_as_they_are() {
    let text = "[`a`](b) `[c](d)`\n```text\n[e](f)\n```\n````md\n```\n[g](h)\n```\n````\n[i](j)\n";
    let mapped = map_links(text, |link| Ok(link.to_uppercase())).unwrap();
    assert_eq!(mapped, text.replace("(b)", "(B)").replace("(j)", "(J)"));
}

#[test]
fn resolves_paths_within_the_root() {
    assert_eq!(resolve("docs/a.md", "../b/./c.md").as_deref(), Some("b/c.md"));
    assert_eq!(resolve("a.md", "b/").as_deref(), Some("b"));
    assert_eq!(resolve("docs/a.md", "../../b.md"), None);
}
