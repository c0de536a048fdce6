//! Volumes that belong to another user and are writable for a group, such as those of Kubernetes with `fsGroup`.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use moongate_tests::{Stdio, Workspace, text};
use serde_json::json;

/// A user and group that don't run the tests.
const STRANGER: u32 = 54_321;

const STATEFUL: &str =
    "[gateway]\nstate = \"volume\"\n[plugins.stateful]\nsource = \"@stateful@\"\nallow.state = true\n";

/// Gives a directory to a stranger, with a mode. `None` if this user can't.
#[expect(clippy::print_stderr, reason = "a skipped test must say so")]
fn given_away(dir: &Path, mode: u32) -> Option<()> {
    fs::create_dir_all(dir).unwrap();
    if let Err(error) = chown(dir, Some(STRANGER), Some(STRANGER)) {
        eprintln!("SKIPPED: changing the owner of a directory needs root: {error}");
        return None;
    }
    fs::set_permissions(dir, fs::Permissions::from_mode(mode)).unwrap();
    Some(())
}

/// Gives the group access to everything, as Kubernetes does when it mounts a volume.
fn give_to_group(path: &Path) {
    let meta = fs::symlink_metadata(path).unwrap();
    chown(path, None, Some(STRANGER)).unwrap();
    let more = if meta.is_dir() { 0o2770 } else { 0o660 };
    fs::set_permissions(path, fs::Permissions::from_mode(meta.mode() | more)).unwrap();
    if meta.is_dir() {
        files(path).iter().for_each(|file| give_to_group(file));
    }
}

fn files(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// The entries of a cache with compiled code.
fn code(cache: &Path) -> Vec<PathBuf> {
    let mut files = files(cache);
    files.retain(|file| file.extension().is_some_and(|extension| extension == "cwasm"));
    files
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

/// A gateway with a cache of its own.
fn started(workspace: &Workspace, cache: &Path) -> Stdio {
    let mut command = workspace.command(&["serve", "--stdio"]);
    command.env("MOONGATE_CACHE_DIR", cache);
    Stdio::spawn_initialized(command, "2025-11-25")
}

/// Starts a gateway with its own cache, calls a tool of `stateful`, and returns the answer and the log.
#[track_caller]
fn answer(workspace: &Workspace, cache: &Path, tool: &str, arguments: serde_json::Value) -> (String, String) {
    let mut stdio = started(workspace, cache);
    let answer = text(&stdio.call(tool, arguments)).to_owned();
    let (_, status, log) = stdio.finish();
    assert!(status.success(), "{log}");
    (answer, log)
}

#[test]
fn works_in_a_volume_of_another_user_and_survives_new_group_permissions() {
    let volume_mode = 0o2775;
    let workspace = Workspace::new(STATEFUL);
    let volume = workspace.path().join("volume");
    let Some(()) = given_away(&volume, volume_mode) else { return };
    let check = workspace.command(&["check"]).env("MOONGATE_CACHE_DIR", &volume).output().unwrap();
    assert!(check.status.success(), "{check:?}");
    let (set, log) = answer(&workspace, &volume, "stateful_set", json!({ "key": "a", "value": "one" }));
    assert!(set == "set" && !log.contains("WARN") && !log.contains("ERROR"), "{set}: {log}");
    let state = volume.join("moongate-state");
    let cache = volume.join("moongate-cache");
    assert_eq!((mode(&state), mode(&state.join("state.sqlite3"))), (0o700, 0o600));
    assert_eq!((mode(&cache), code(&cache).len()), (0o700, 1));
    assert_eq!((mode(&volume), files(&volume).len()), (volume_mode & 0o777, 2), "the volume changed");
    // The next start finds both, after the volume was mounted again.
    files(&volume).iter().for_each(|dir| give_to_group(dir));
    let (value, log) = answer(&workspace, &volume, "stateful_get", json!({ "key": "a" }));
    assert_eq!(value, "one", "{log}");
    assert_eq!((mode(&state), mode(&cache)), (0o700, 0o700));
}

#[test]
fn removes_new_group_permissions_and_deletes_exposed_code() {
    let workspace = Workspace::new(STATEFUL);
    let state = workspace.path().join("volume");
    let cache = workspace.path().join("code");
    let Some(()) = given_away(&workspace.path().join("another"), 0o755) else { return };
    assert_eq!(answer(&workspace, &cache, "stateful_set", json!({ "key": "a", "value": "one" })).0, "set");
    let [entry] = &code(&cache)[..] else { panic!("one entry: {:?}", files(&cache)) };
    // Open, so that no new file gets its number.
    let compiled = fs::File::open(entry).unwrap();
    give_to_group(&state);
    give_to_group(&cache);
    // A member of the group adds an entry of its own.
    let foreign = cache.join("foreign.cwasm");
    fs::write(&foreign, "code").unwrap();
    let (value, log) = answer(&workspace, &cache, "stateful_get", json!({ "key": "a" }));
    assert_eq!(value, "one", "{log}");
    for file in files(&state).iter().chain(&files(&cache)) {
        assert_eq!(mode(file), 0o600, "{}", file.display());
    }
    assert_eq!((mode(&state), mode(&cache)), (0o700, 0o700));
    assert!(
        !foreign.exists() && fs::metadata(entry).unwrap().ino() != compiled.metadata().unwrap().ino(),
        "the code was kept"
    );
}

#[test]
fn refuses_shared_directories_with_other_files() {
    let workspace = Workspace::new(STATEFUL);
    let dir = workspace.path().join("volume");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("notes.txt"), "mine").unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o2775)).unwrap();
    let check = workspace.run(&["check"]);
    let report = String::from_utf8_lossy(&check.stderr).into_owned();
    assert!(
        report.contains("is writable by others (mode 775") && report.contains("new directory"),
        "{report}"
    );
    let mut stdio = started(&workspace, &dir);
    let failed = stdio.call("stateful_get", json!({ "key": "a" }));
    assert_eq!(failed["result"]["isError"], true, "{failed}");
    let (_, _, log) = stdio.finish();
    assert!(log.contains("can't cache compiled code"), "{log}");
    assert_eq!((mode(&dir), files(&dir)), (0o775, vec![dir.join("notes.txt")]));
}
