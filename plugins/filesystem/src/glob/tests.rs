//! Which paths fit which patterns.

use super::{Globs, fits};

#[test]
fn patterns_fit_whole_paths() {
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
    ] {
        assert_eq!(fits(pattern, path), expected, "{pattern} {path}");
    }
}

#[test]
fn in_a_tree_a_plain_name_means_every_entry_of_that_name() {
    let patterns = ["node_modules".to_owned()];
    let globs = Globs::new(&patterns);
    for path in ["node_modules", "a/node_modules", "node_modules/x", "a/node_modules/x"] {
        assert!(globs.leave_out(path), "{path}");
    }
    assert!(!globs.leave_out("my_node_modules"));
    assert!(!globs.fit("a/node_modules"));
}
