//! The project's own sources, for tests that check them: module order, the tests that a page names, and the tools that
//! tests call.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A Rust source file.
#[derive(Debug)]
pub struct Source {
    /// The path, relative to the searched directory.
    pub path: PathBuf,
    /// The content.
    pub text: String,
}

impl Source {
    /// All files below `directory`, sorted by path, without build output and downloaded packages.
    ///
    /// # Panics
    /// If a directory or file can't be read.
    #[must_use]
    pub fn below(directory: &Path) -> Vec<Self> {
        let mut found = Vec::new();
        walk(directory, directory, &mut found);
        found.sort_by(|one, other| one.path.cmp(&other.path));
        found
    }

    /// The text without comment lines.
    #[must_use]
    pub fn code(&self) -> String {
        let code = self.text.lines().filter(|line| !line.trim_start().starts_with("//"));
        code.collect::<Vec<_>>().join("\n")
    }

    /// The names of the tests in the file.
    #[must_use]
    pub fn tests(&self) -> BTreeSet<&str> {
        let marked = self.text.split("#[test]\n").skip(1).chain(self.text.split("#[tokio::test").skip(1));
        marked.filter_map(|after| Some(after.split_once("fn ")?.1.split_once('(')?.0)).collect()
    }
}

fn walk(root: &Path, directory: &Path, found: &mut Vec<Source>) {
    for entry in fs::read_dir(directory).expect("a readable directory").flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if path.is_dir() {
            if !name.starts_with('.') && !matches!(&*name, "target" | "node_modules" | "dist") {
                walk(root, &path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("a UTF-8 source file");
            let path = path.strip_prefix(root).expect("the file is below the root").to_owned();
            found.push(Source { path, text });
        }
    }
}
