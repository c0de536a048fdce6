//! Ways to files, through links and folders.

use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

/// A folder whose own path has no links in it.
fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = fs::canonicalize(folder.path()).unwrap();
    (folder, path)
}

/// The steps below a folder: the folder's path in it, and the name.
fn steps(look: &Look, root: &Path) -> Vec<String> {
    let below = look.hops.iter().filter_map(|hop| {
        let folder = hop.folder.strip_prefix(root).ok()?;
        Some(folder.join(&hop.name).display().to_string())
    });
    below.collect()
}

#[test]
fn a_look_follows_links_as_the_system_does() {
    let (_guard, root) = folder();
    fs::create_dir_all(root.join("v1/deep")).unwrap();
    fs::write(root.join("v1/deep/file"), "x").unwrap();
    symlink("v1", root.join("data")).unwrap();
    symlink("../deep/../deep/file", root.join("v1/deep/link")).unwrap();
    symlink(root.join("data/deep/link"), root.join("absolute")).unwrap();
    let look = look(&root.join("absolute"));
    assert!(matches!(look.stamp, Stamp::File { size: 1, .. }), "{look:?}");
    assert_eq!(
        steps(&look, &root),
        ["absolute", "data", "v1", "v1/deep", "v1/deep/link", "v1/deep", "v1/deep", "v1/deep/file"]
    );
    let found: Vec<Found> = look.hops.iter().rev().take(3).map(|hop| hop.found).collect();
    assert_eq!(found, [Found::Other, Found::Folder, Found::Folder]);
}

#[test]
fn a_look_ends_at_the_first_name_that_is_not_there() {
    let (_guard, root) = folder();
    fs::create_dir(root.join("a")).unwrap();
    fs::write(root.join("a/file"), "").unwrap();
    let look_at = |path: &str| look(&root.join(path));
    assert_eq!(look_at("a/b/c").stamp, Stamp::NotThere);
    assert_eq!(steps(&look_at("a/b/c"), &root), ["a", "a/b"]);
    assert_eq!(look_at("a/file/c").stamp, Stamp::NotThere);
    assert_eq!(steps(&look_at("a/file/c"), &root), ["a", "a/file"]);
    symlink("nowhere", root.join("dangling")).unwrap();
    assert_eq!(look_at("dangling").stamp, Stamp::NotThere);
    assert_eq!(steps(&look_at("dangling"), &root), ["dangling", "nowhere"]);
    assert_eq!(look_at("a").stamp, Stamp::NoFile);
}

#[test]
fn a_look_at_links_in_a_circle_ends() {
    let (_guard, root) = folder();
    symlink("there", root.join("here")).unwrap();
    symlink("here", root.join("there")).unwrap();
    let look = look(&root.join("here"));
    assert!(matches!(look.stamp, Stamp::Unreachable(_)), "{look:?}");
    assert!(look.hops.len() <= LINKS + 20, "{}", look.hops.len());
}

#[test]
fn a_look_never_leaves_the_root_upwards() {
    let (_guard, root) = folder();
    fs::write(root.join("file"), "").unwrap();
    let up = Path::new("/../../..").join(root.strip_prefix("/").unwrap()).join("file");
    assert_eq!(look(&up), look(&root.join("file")));
}

#[test]
fn a_relative_path_is_looked_up_from_the_working_folder() {
    let here = std::env::current_dir().unwrap();
    assert_eq!(look(Path::new("Cargo.toml")), look(&here.join("Cargo.toml")));
}

#[test]
fn a_stamp_differs_when_the_file_is_another_one_of_the_same_size() {
    let (_guard, root) = folder();
    fs::write(root.join("a"), "1").unwrap();
    fs::write(root.join("b"), "2").unwrap();
    let before = look(&root.join("a"));
    fs::rename(root.join("b"), root.join("a")).unwrap();
    assert_ne!(look(&root.join("a")).stamp, before.stamp);
}

#[test]
fn a_file_that_was_linked_anew_counts_as_changed_although_it_is_old() {
    let (_guard, root) = folder();
    fs::write(root.join("file"), "1").unwrap();
    let old = look(&root.join("file"));
    let hour = Duration::from_secs(3600);
    assert!(!old.may_be_newer_than(SystemTime::now() + hour));
    assert!(old.may_be_newer_than(SystemTime::now() - hour));
    symlink("file", root.join("link")).unwrap();
    let link = fs::symlink_metadata(root.join("link")).unwrap();
    let linked = look(&root.join("link"));
    let changed = SystemTime::UNIX_EPOCH
        + Duration::new(link.ctime().try_into().unwrap(), link.ctime_nsec().try_into().unwrap());
    assert!(linked.may_be_newer_than(changed));
}

#[test]
fn whole_seconds_in_all_times_are_taken_for_a_coarse_clock() {
    let id = Id { device: 1, inode: 1 };
    let stamp = |modified, changed| Stamp::File { id, size: 1, modified, changed };
    assert_eq!(stamp((7, 0), (7, 0)).granularity(), Duration::from_secs(2));
    assert!(stamp((7, 0), (7, 1)).granularity() < Duration::from_secs(1));
}
