//! Lists and trees, entry by entry.

use serde_json::{Value, json};

use crate::tests::{Directory, error_of, text_of};

use super::size_in_words;

fn filled() -> Directory {
    let directory = Directory::new();
    directory.write("b.txt", "x".repeat(1152));
    directory.write("A.txt", "12");
    directory.write("sub/deep/x.md", "");
    directory.write("sub/.hidden", "");
    directory.link("sub", "link");
    directory
}

#[test]
fn marks_directories() {
    let directory = filled();
    assert_eq!(
        text_of("list_directory", json!({ "path": "." })),
        "[FILE] A.txt\n[FILE] b.txt\n[FILE] link\n[DIR] sub"
    );
    let gone = directory.path("gone");
    assert_eq!(
        error_of("list_directory", json!({ "path": gone })),
        format!("ENOENT: no such file or directory, scandir '{gone}'")
    );
    let file = directory.path("b.txt");
    assert_eq!(
        error_of("list_directory", json!({ "path": file })),
        format!("ENOTDIR: not a directory, scandir '{file}'")
    );
}

#[test]
fn shows_and_sums_sizes() {
    let directory = Directory::new();
    directory.write("b.txt", "x".repeat(1152));
    directory.write("A.txt", "12");
    directory.write("sub/x", "");
    let by_name = text_of("list_directory_with_sizes", json!({ "path": "." }));
    let lines: Vec<&str> = by_name.lines().collect();
    assert_eq!(
        lines,
        [
            "[FILE] A.txt                                 2 B",
            "[FILE] b.txt                             1.13 KB",
            "[DIR] sub                            ",
            "",
            "Total: 2 files, 1 directories",
            "Combined size: 1.13 KB",
        ]
    );
    let by_size = text_of("list_directory_with_sizes", json!({ "path": ".", "sortBy": "size" }));
    let place = |name: &str| by_size.find(name).unwrap();
    assert!(place("b.txt") < place("A.txt"), "{by_size}");
}

#[test]
fn sorts_names_alphabetically() {
    let directory = Directory::new();
    for name in ["b", "B", "a", "C", "\u{e9}", "f", "e2"] {
        directory.write(name, "");
    }
    let listed = text_of("list_directory_with_sizes", json!({ "path": "." }));
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().nth(1)).take(7).collect();
    assert_eq!(names, ["a", "b", "B", "C", "\u{e9}", "e2", "f"]);
}

#[test]
fn rounds_sizes_half_up() {
    for (bytes, words) in [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KB"),
        (1152, "1.13 KB"),
        (1536, "1.50 KB"),
        (1_048_575, "1024.00 KB"),
        (1_048_576, "1.00 MB"),
        (1 << 50, "1024.00 TB"),
    ] {
        assert_eq!(size_in_words(bytes), words, "{bytes}");
    }
}

#[test]
fn adds_children_to_directories() {
    let _directory = filled();
    let tree: Value = serde_json::from_str(&text_of("directory_tree", json!({ "path": "." }))).unwrap();
    let deep = json!([{ "name": "x.md", "type": "file" }]);
    let sub = json!([
        { "name": ".hidden", "type": "file" },
        { "name": "deep", "type": "directory", "children": deep },
    ]);
    assert_eq!(
        tree,
        json!([
            { "name": "A.txt", "type": "file" },
            { "name": "b.txt", "type": "file" },
            { "name": "link", "type": "file" },
            { "name": "sub", "type": "directory", "children": sub },
        ])
    );
    let rest = text_of(
        "directory_tree",
        json!({ "path": ".", "excludePatterns": ["deep", "*.txt", "link", "**/.*"] }),
    );
    assert_eq!(
        rest,
        "[\n  {\n    \"name\": \"sub\",\n    \"type\": \"directory\",\n    \"children\": []\n  }\n]"
    );
}

#[test]
fn refuses_trees_that_are_too_deep() {
    let directory = Directory::new();
    directory.write(&format!("{}x", "d/".repeat(200)), "");
    let text_of = error_of("directory_tree", json!({ "path": "." }));
    assert!(text_of.starts_with("Directory too deep: "), "{text_of}");
}
