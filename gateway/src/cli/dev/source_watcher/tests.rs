//! The files that count as sources, and the changes that are reported.

use super::*;

fn watched(directory: &Path) -> SourceWatcher {
    let excluded = BTreeSet::from([directory.join("gateway.toml"), directory.join("notes")]);
    SourceWatcher::new(directory.to_owned(), excluded)
}

fn write(directory: &Path, file: &str, text: &str) {
    let path = directory.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn build_outputs_and_excluded_paths_are_no_sources() {
    let directory = tempfile::tempdir().unwrap();
    let sources = ["src/lib.rs", "assets/words.txt", "Cargo.toml"];
    let others = [
        "target/wasm32-wasip2/release/x.wasm",
        "node_modules/esbuild/index.js",
        "src/__pycache__/plugin.pyc",
        "Cargo.lock",
        "src/.lib.rs.swp",
        "src/lib.rs~",
        "env/pyvenv.cfg",
        "env/lib/site.py",
        "cache/CACHEDIR.TAG",
        "cache/x",
        "gateway.toml",
        "notes/today.md",
    ];
    for file in sources.iter().chain(&others) {
        write(directory.path(), file, "");
    }
    let found = watched(directory.path()).known.files;
    let expected: BTreeSet<_> = sources.iter().map(|file| directory.path().join(file)).collect();
    assert_eq!(found.into_keys().collect::<BTreeSet<_>>(), expected);
}

#[tokio::test]
async fn a_save_is_reported_once() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), "src/lib.rs", "one");
    let mut watcher = watched(directory.path());
    write(directory.path(), "src/lib.rs", "another");
    write(directory.path(), "src/new/part.rs", "");
    write(directory.path(), "notes/today.md", "");
    let change = watcher.changed().await;
    assert_eq!(change.to_string(), "`src/lib.rs` and 1 other file changed");
    fs::remove_file(directory.path().join("src/lib.rs")).unwrap();
    assert_eq!(watcher.changed().await.to_string(), "`src/lib.rs` changed");
}

#[tokio::test]
async fn paths_that_are_excluded_later_cause_no_report() {
    let directory = tempfile::tempdir().unwrap();
    for file in ["gateway.toml", "src/lib.rs", "data/one.txt"] {
        write(directory.path(), file, "one");
    }
    let mut watcher = SourceWatcher::new(directory.path().to_owned(), BTreeSet::new());
    // The directory of the project itself stays watched.
    let paths = ["gateway.toml", "data", ""].map(|path| directory.path().join(path));
    watcher.exclude(paths);
    write(directory.path(), "gateway.toml", "another");
    write(directory.path(), "data/one.txt", "another");
    write(directory.path(), "src/lib.rs", "another");
    assert_eq!(watcher.changed().await.to_string(), "`src/lib.rs` changed");
}

#[test]
fn the_time_of_a_save_is_that_of_the_file_unless_it_was_moved_here() {
    let second = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    let tree = |modified| SourceTree {
        files: BTreeMap::from([(PathBuf::from("lib.rs"), SourceVersion { modified, size: 1 })]),
        directories: BTreeSet::new(),
    };
    let saved_at = |before: u64, now: u64| {
        let change = SourceChange::between(&tree(second(before)), &tree(second(now)), second(10)..second(20));
        change.map(|change| change.saved_at)
    };
    assert_eq!(saved_at(5, 15), Some(second(15)));
    assert_eq!(saved_at(5, 3), Some(second(20)));
    assert_eq!(saved_at(5, 5), None);
}
