//! The WIT in this crate is a copy of the one at the top of the repository, so that the crate can be built alone. The helper
//! libraries of other languages have copies, too, with the WASI interfaces that they use.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else {
                found.insert(path.strip_prefix(root).unwrap().to_owned(), std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn copy_equals_the_original() {
    let crate_root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let original = crate_root.join("../wit");
    if !original.exists() {
        return; // the crate stands alone
    }
    let (original, copy) = (files(&original), files(&crate_root.join("wit")));
    assert!(original.keys().eq(copy.keys()), "plugin-sdk/wit has other files than wit");
    for (path, bytes) in &original {
        assert!(copy[path] == *bytes, "plugin-sdk/wit/{} differs: copy it from wit", path.display());
    }
}

#[test]
fn copies_of_other_languages_equal_the_original() {
    let crate_root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let original = crate_root.join("../wit");
    if !original.exists() {
        return; // the crate stands alone
    }
    let original = files(&original);
    for directory in ["python/src/moongate/wit", "javascript/wit", "c/wit"] {
        let copy = files(&crate_root.join(directory));
        for (path, bytes) in &original {
            assert!(
                copy.get(path) == Some(bytes),
                "plugin-sdk/{directory}/{} differs: copy it from wit",
                path.display()
            );
        }
        let others = copy.keys().filter(|path| !original.contains_key(*path));
        assert!(others.clone().all(|path| path.starts_with("deps")), "{:?}", others.collect::<Vec<_>>());
    }
}
