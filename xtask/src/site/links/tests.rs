//! Links of small sites.

use super::{check, is_external};

/// The findings for a site with these files.
fn findings(files: &[(&str, &str)]) -> Vec<String> {
    let site = tempfile::tempdir().unwrap();
    for (path, text) in files {
        super::super::write(&site.path().join(path), text.as_bytes()).unwrap();
    }
    check(site.path()).unwrap().findings
}

#[test]
fn links_to_pages_anchors_and_images_are_good() {
    let index = r##"<h1 id="top">A</h1> <a href="docs/b.html#part">b</a> <a href="#top">top</a>"##;
    let page = r#"<h2 class="x" id="part">B</h2> <a href="../index.html">a</a> <img src="b.svg" alt="b">
<a href="https://example.org/x.html#y">out</a> <code>&lt;a href=&quot;none&quot;&gt;</code>"#;
    let files = [("index.html", index), ("docs/b.html", page), ("docs/b.svg", "<svg/>")];
    assert_eq!(findings(&files), Vec::<String>::new());
}

#[test]
fn finds_missing_pages_anchors_and_links_out_of_the_site() {
    let page =
        r##"<a href="none.html">1</a> <a href="#none">2</a> <a href="../../a.html">3</a> <img src="c.svg">"##;
    let found = findings(&[("docs/a.html", page), ("a.html", "")]);
    assert_eq!(
        found,
        [
            "docs/a.html: `#none`: the page has no such anchor",
            "docs/a.html: `../../a.html`: the site has no such file",
            "docs/a.html: `c.svg`: the site has no such file",
            "docs/a.html: `none.html`: the site has no such file",
        ]
    );
}

#[test]
fn a_link_with_a_scheme_is_external() {
    for link in ["https://example.org/", "mailto:a@example.org", "//example.org/a"] {
        assert!(is_external(link), "{link}");
    }
    for link in ["a.html", "#a:b", "a/b:c.html", ""] {
        assert!(!is_external(link), "{link}");
    }
}
