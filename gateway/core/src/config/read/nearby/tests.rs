//! Slips in paths lead to what was meant, and to nothing else.

use tempfile::TempDir;

use super::*;

/// A directory with these files in it.
fn with(files: &[&str]) -> TempDir {
    let dir = TempDir::new().unwrap();
    for file in files {
        let path = dir.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    dir
}

/// What is found for a path in it, relative to it again.
fn found(dir: &TempDir, path: &str, wanted: Entry) -> Option<String> {
    let near = nearest_path(&dir.path().join(path), wanted)?;
    Some(near.strip_prefix(dir.path()).unwrap().to_str().unwrap().to_owned())
}

#[test]
fn a_slip_at_any_level_leads_to_what_is_there() {
    let built = "target/wasm32-wasip2/release/hello_world.wasm";
    let dir = with(&[built, "target/wasm32-wasip2/release/deps/other.wasm", "notes/a.txt"]);
    for slip in [
        "target/wasm32-wasip2/relase/hello_world.wasm",
        "traget/wasm32-wasip2/release/hello_world.wasm",
        "target/wasm32-wasi-p2/release/hello_world.wasm",
        "target/wasm32-wasip2/release/hello-world.wasm",
        "target/wasm32-wasip2/release/hello_world.wsm",
        "target/wasm32-wasip2/release/hello_world",
        "target/wasm32-wasip2/release/HelloWorld.wasm",
        "tarket/wasm32_wasip2/relese/hello_word.wasm",
        "target/wasm32-wasip2/debug/hello_world.wasm",
    ] {
        assert_eq!(found(&dir, slip, Entry::File).as_deref(), Some(built), "{slip}");
    }
    assert_eq!(found(&dir, "nots", Entry::Directory).as_deref(), Some("notes"));
}

#[test]
fn what_is_not_alike_or_of_another_kind_is_not_named() {
    let dir = with(&["x.wasm", "time.wasm", "notes/a.txt", "time/readme.md"]);
    for path in ["y.wasm", "fetch.wasm", "nowhere/time.wasm", "notes/time.wasm", "time.txt"] {
        assert_eq!(found(&dir, path, Entry::File), None, "{path}");
    }
    // A directory is no file, and the other way round.
    assert_eq!(found(&dir, "note", Entry::File), None);
    assert_eq!(found(&dir, "time.wsm", Entry::Directory), None);
    assert_eq!(found(&dir, "tme", Entry::Directory).as_deref(), Some("time"));
    // What is there needs no other.
    assert_eq!(found(&dir, "time.wasm", Entry::File), None);
    assert_eq!(found(&dir, &"x".repeat(200), Entry::File), None);
}
