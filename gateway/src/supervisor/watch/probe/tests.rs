//! Paths to files, through symlinks and directories.

use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

/// A directory whose own path contains no symlinks.
fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = fs::canonicalize(folder.path()).unwrap();
    (folder, path)
}

/// The steps below a directory, as relative paths.
fn steps_below(probe: &FileProbe, root: &Path) -> Vec<String> {
    let below = probe.steps.iter().filter_map(|step| {
        let folder = step.folder.strip_prefix(root).ok()?;
        Some(folder.join(&step.name).display().to_string())
    });
    below.collect()
}

#[test]
fn follows_symlinks_as_the_system_does() {
    let (_guard, root) = folder();
    fs::create_dir_all(root.join("v1/deep")).unwrap();
    fs::write(root.join("v1/deep/file"), "x").unwrap();
    symlink("v1", root.join("data")).unwrap();
    symlink("../deep/../deep/file", root.join("v1/deep/link")).unwrap();
    symlink(root.join("data/deep/link"), root.join("absolute")).unwrap();
    let result = probe(&root.join("absolute"));
    assert!(matches!(result.stamp, FileStamp::File { size: 1, .. }), "{result:?}");
    assert_eq!(
        steps_below(&result, &root),
        ["absolute", "data", "v1", "v1/deep", "v1/deep/link", "v1/deep", "v1/deep", "v1/deep/file"]
    );
    let kinds: Vec<StepKind> = result.steps.iter().rev().take(3).map(|step| step.kind).collect();
    assert_eq!(kinds, [StepKind::Leaf, StepKind::Folder, StepKind::Folder]);
}

#[test]
fn ends_at_the_first_missing_name() {
    let (_guard, root) = folder();
    fs::create_dir(root.join("a")).unwrap();
    fs::write(root.join("a/file"), "").unwrap();
    let probe_at = |path: &str| probe(&root.join(path));
    assert_eq!(probe_at("a/b/c").stamp, FileStamp::Missing);
    assert_eq!(steps_below(&probe_at("a/b/c"), &root), ["a", "a/b"]);
    assert_eq!(probe_at("a/file/c").stamp, FileStamp::Missing);
    assert_eq!(steps_below(&probe_at("a/file/c"), &root), ["a", "a/file"]);
    symlink("nowhere", root.join("dangling")).unwrap();
    assert_eq!(probe_at("dangling").stamp, FileStamp::Missing);
    assert_eq!(steps_below(&probe_at("dangling"), &root), ["dangling", "nowhere"]);
    assert_eq!(probe_at("a").stamp, FileStamp::NotAFile);
}

#[test]
fn ends_at_symlinks_in_a_circle() {
    let (_guard, root) = folder();
    symlink("there", root.join("here")).unwrap();
    symlink("here", root.join("there")).unwrap();
    let result = probe(&root.join("here"));
    assert!(matches!(result.stamp, FileStamp::Unreachable(_)), "{result:?}");
    assert!(result.steps.len() <= MAX_SYMLINKS + 20, "{}", result.steps.len());
}

#[test]
fn never_goes_above_the_root() {
    let (_guard, root) = folder();
    fs::write(root.join("file"), "").unwrap();
    let up = Path::new("/../../..").join(root.strip_prefix("/").unwrap()).join("file");
    assert_eq!(probe(&up), probe(&root.join("file")));
}

#[test]
fn relative_path_starts_in_the_working_folder() {
    let here = std::env::current_dir().unwrap();
    assert_eq!(probe(Path::new("Cargo.toml")), probe(&here.join("Cargo.toml")));
}

#[test]
fn stamp_differs_for_another_file_of_the_same_size() {
    let (_guard, root) = folder();
    fs::write(root.join("a"), "1").unwrap();
    fs::write(root.join("b"), "2").unwrap();
    let before = probe(&root.join("a"));
    fs::rename(root.join("b"), root.join("a")).unwrap();
    assert_ne!(probe(&root.join("a")).stamp, before.stamp);
}

#[test]
fn new_symlink_to_an_old_file_counts_as_a_change() {
    let (_guard, root) = folder();
    fs::write(root.join("file"), "1").unwrap();
    let old = probe(&root.join("file"));
    let hour = Duration::from_secs(3600);
    assert!(!old.may_be_newer_than(SystemTime::now() + hour));
    assert!(old.may_be_newer_than(SystemTime::now() - hour));
    symlink("file", root.join("link")).unwrap();
    let link = fs::symlink_metadata(root.join("link")).unwrap();
    let linked = probe(&root.join("link"));
    let changed = SystemTime::UNIX_EPOCH
        + Duration::new(link.ctime().try_into().unwrap(), link.ctime_nsec().try_into().unwrap());
    assert!(linked.may_be_newer_than(changed));
}

#[test]
fn whole_seconds_mean_a_coarse_clock() {
    let id = FileId { device: 1, inode: 1 };
    let stamp = |modified, changed| FileStamp::File { id, size: 1, modified, changed };
    assert_eq!(stamp((7, 0), (7, 0)).granularity(), Duration::from_secs(2));
    assert!(stamp((7, 0), (7, 1)).granularity() < Duration::from_secs(1));
}
