//! The project's own sources, for tests of what is written there: the order of the modules, the tests behind each line
//! of a page, the tools that tests call.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// One file of Rust.
#[derive(Debug)]
pub struct Source {
    /// Where it is, below the folder that was walked.
    pub path: PathBuf,
    /// What is in it.
    pub text: String,
}

impl Source {
    /// All below `folder`, in the order of their paths, but for what was built or fetched.
    ///
    /// # Panics
    /// Something can't be read.
    #[must_use]
    pub fn below(folder: &Path) -> Vec<Self> {
        let mut found = Vec::new();
        walk(folder, folder, &mut found);
        found.sort_by(|one, other| one.path.cmp(&other.path));
        found
    }

    /// The text without lines that are comments.
    #[must_use]
    pub fn code(&self) -> String {
        let code = self.text.lines().filter(|line| !line.trim_start().starts_with("//"));
        code.collect::<Vec<_>>().join("\n")
    }

    /// The names of its tests.
    #[must_use]
    pub fn tests(&self) -> BTreeSet<&str> {
        let marked = self.text.split("#[test]\n").skip(1).chain(self.text.split("#[tokio::test").skip(1));
        marked.filter_map(|after| Some(after.split_once("fn ")?.1.split_once('(')?.0)).collect()
    }
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).expect("a folder of sources").flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if path.is_dir() {
            if !name.starts_with('.') && !matches!(&*name, "target" | "node_modules" | "dist") {
                walk(root, &path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("a source is text");
            let path = path.strip_prefix(root).expect("it was found there").to_owned();
            found.push(Source { path, text });
        }
    }
}
