//! Matching of paths.

use super::{Glob, Globs};

fn fits(pattern: &str, path: &str) -> bool {
    Glob::new(pattern).unwrap().fits(path)
}

#[test]
fn matches_whole_paths() {
    for (pattern, path, expected) in [
        ("*.md", "a.md", true),
        ("*.md", "sub/a.md", false),
        ("**/*.md", "a.md", true),
        ("**/*.md", "sub/deep/a.md", true),
        ("*", ".hidden", true),
        ("**", "sub/.hidden/x", true),
        ("sub/**", "sub/a/b", true),
        ("?.txt", "ab.txt", false),
        ("[ab].txt", "b.txt", true),
        ("[!ab].txt", "b.txt", false),
        ("{a,b}.txt", "b.txt", true),
        ("a.txt", "A.txt", false),
        ("*.\u{fc}", "x.\u{fc}", true),
        ("?.md", "\u{fc}.md", true),
        ("src/**", "src", false),
        ("src//a", "src/a", true),
        ("a**", "ab", true),
        ("a**", "a/b", false),
        ("***", "a", true),
        ("!*.md", "a.rs", true),
        ("!*.md", "a.md", false),
        ("!!*.md", "a.md", true),
        ("#a", "#a", false),
        ("\\#a", "#a", true),
        ("\\*", "*", true),
        ("\\*", "a", false),
        ("[]]", "]", true),
        ("a[a-]b", "a-b", true),
        ("[z-a]", "m", false),
        ("[[:digit:]x].md", "1.md", true),
        ("[", "[", true),
        ("{a,{b,c}d}.md", "cd.md", true),
        ("{a}", "{a}", true),
        ("{a,b", "{a,b", true),
        ("{,a}.md", ".md", true),
        ("{1..3}.md", "2.md", true),
        ("{c..a}", "b", true),
        ("?(a)b", "b", true),
        ("+(a|b).md", "abba.md", true),
        ("@(a|b)", "ab", false),
        ("(a|b)", "(a|b)", true),
        ("a.md/", "a.md", false),
        ("/a.md", "a.md", false),
        ("", "a", false),
    ] {
        assert_eq!(fits(pattern, path), expected, "{pattern} {path}");
    }
}

#[test]
fn plain_names_match_at_any_depth_in_a_tree() {
    let patterns = ["node_modules".to_owned()];
    let globs = Globs::of_tree(&patterns).unwrap();
    for path in ["node_modules", "a/node_modules", "node_modules/x", "a/node_modules/x"] {
        assert!(globs.fit(path), "{path}");
    }
    assert!(!globs.fit("my_node_modules"));
    assert!(!Globs::new(&patterns).unwrap().fit("a/node_modules"));
}

#[test]
fn refuses_patterns_with_too_many_alternatives() {
    let nested = "@(".repeat(2000) + &")".repeat(2000);
    let long = "a".repeat(10_000);
    for pattern in ["{a,b}".repeat(20), "{1..100000}".to_owned(), "{0..999}{0..1}".to_owned(), nested, long] {
        let message = Glob::new(&pattern).unwrap_err().to_string();
        assert!(message.starts_with("Pattern too large: "), "{message}");
    }
}
