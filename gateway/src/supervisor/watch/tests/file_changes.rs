//! All ways in which a file can get new content, on the real file system. Files are probed only after a report.

use std::fs::{self, File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use tempfile::TempDir;

use super::super::mailbox::ReportWakeUp;
use super::*;

/// Only keeps the test from hanging.
const TEST_TIMEOUT: Duration = Duration::from_secs(120);

struct Fixture {
    folder: TempDir,
    watcher: FileWatcher,
    mailbox: Arc<Mailbox>,
    target: WatchTarget,
    events: VecDeque<WatchEvent>,
}

impl Fixture {
    /// Watches files, given by their paths in a directory that `fill` prepares.
    fn new(names: &[&str], fill: impl FnOnce(&Path)) -> Self {
        // The files are older than their reader.
        Self::reading_since(SystemTime::now() + NEVER, names, fill)
    }

    fn reading_since(since: SystemTime, names: &[&str], fill: impl FnOnce(&Path)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fill(folder.path());
        let mailbox: Arc<Mailbox> = Arc::default();
        let mut watcher = FileWatcher::new(Arc::clone(&mailbox), Arc::new(NativeSystem), since);
        let files = names.iter().map(|name| folder.path().join(name)).collect();
        let target = WatchTarget { files, config: WatchConfig { watches_files: true, poll_interval: NEVER } };
        watcher.set_target(target.clone(), Instant::now());
        let mut events = VecDeque::from(watcher.tick(Instant::now()));
        assert_eq!(events.pop_front(), Some(WatchEvent::ModeChanged(WatchMode::Events)));
        Self { folder, watcher, mailbox, target, events }
    }

    /// One file, `dist/plugin.wasm`, and another one next to it that isn't watched.
    fn with_plugin() -> Self {
        Self::new(&["dist/plugin.wasm"], |folder| {
            fs::create_dir_all(folder.join("dist")).unwrap();
            fs::write(folder.join("dist/plugin.wasm"), "old").unwrap();
            fs::write(folder.join("dist/beside"), "new").unwrap();
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The files that are reported next.
    fn next_files(&mut self) -> BTreeSet<PathBuf> {
        let end = Instant::now() + TEST_TIMEOUT;
        loop {
            match self.events.pop_front() {
                Some(WatchEvent::FilesChanged(files)) => return files,
                Some(WatchEvent::ModeChanged(mode)) => panic!("{mode:?}"),
                None => {}
            }
            let now = Instant::now();
            assert!(now < end, "nothing was reported");
            let next = self.watcher.next_deadline(now).map_or(end, |next| next.min(end));
            self.mailbox.wait(now, Some(next), ReportWakeUp::AtOnce);
            self.events.extend(self.watcher.tick(Instant::now()));
        }
    }

    /// Asserts that this file alone is reported next, and has this content.
    fn assert_reported(&mut self, name: &str, content: &str) {
        let path = self.path(name);
        assert_eq!(self.next_files(), paths(&[&path]));
        assert_eq!(fs::read_to_string(&path).unwrap_or_default(), content);
    }

    /// Probes all files, as happens at intervals.
    fn poll(&mut self) {
        self.watcher.set_target(self.target.clone(), Instant::now());
    }
}

const PLUGIN: &str = "dist/plugin.wasm";

#[test]
fn file_is_replaced_by_rename() {
    let mut fixture = Fixture::with_plugin();
    for content in ["new", "newer", "newest"] {
        fs::write(fixture.path("dist/.plugin.tmp"), content).unwrap();
        fs::rename(fixture.path("dist/.plugin.tmp"), fixture.path(PLUGIN)).unwrap();
        fixture.assert_reported(PLUGIN, content);
    }
}

#[test]
fn file_is_written_in_place() {
    let mut fixture = Fixture::with_plugin();
    let mut file = File::options().write(true).open(fixture.path(PLUGIN)).unwrap();
    file.write_all(b"new").unwrap();
    fixture.assert_reported(PLUGIN, "new");
    // The file stays open, as with programs that write in steps.
    file.write_all(b"er").unwrap();
    fixture.assert_reported(PLUGIN, "newer");
}

#[test]
fn file_is_truncated_and_written() {
    let mut fixture = Fixture::with_plugin();
    for content in ["new", "newer", "new", "old"] {
        fs::write(fixture.path(PLUGIN), content).unwrap();
        fixture.assert_reported(PLUGIN, content);
    }
}

#[test]
fn file_is_deleted_and_created() {
    let mut fixture = Fixture::with_plugin();
    fs::remove_file(fixture.path(PLUGIN)).unwrap();
    fs::write(fixture.path(PLUGIN), "new").unwrap();
    fixture.assert_reported(PLUGIN, "new");
    fs::remove_file(fixture.path(PLUGIN)).unwrap();
    fixture.assert_reported(PLUGIN, "");
    fs::write(fixture.path(PLUGIN), "newer").unwrap();
    fixture.assert_reported(PLUGIN, "newer");
}

#[test]
fn file_is_moved_in_from_another_folder() {
    let mut fixture = Fixture::with_plugin();
    fs::create_dir(fixture.path("build")).unwrap();
    fs::write(fixture.path("build/out"), "new").unwrap();
    fs::rename(fixture.path("build/out"), fixture.path(PLUGIN)).unwrap();
    fixture.assert_reported(PLUGIN, "new");
}

#[test]
fn hard_link_replaces_file() {
    let mut fixture = Fixture::with_plugin();
    fs::hard_link(fixture.path("dist/beside"), fixture.path("dist/link")).unwrap();
    fs::rename(fixture.path("dist/link"), fixture.path(PLUGIN)).unwrap();
    fixture.assert_reported(PLUGIN, "new");
}

#[test]
fn file_becomes_readable() {
    let mut fixture = Fixture::with_plugin();
    let path = fixture.path(PLUGIN);
    fs::set_permissions(&path, Permissions::from_mode(0o000)).unwrap();
    assert_eq!(fixture.next_files(), paths(&[&path]));
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    fixture.assert_reported(PLUGIN, "old");
}

#[test]
fn symlink_is_pointed_elsewhere() {
    let mut fixture = Fixture::new(&["plugin.wasm"], |folder| {
        for version in ["1", "2", "3"] {
            fs::create_dir_all(folder.join("versions").join(version)).unwrap();
            fs::write(folder.join("versions").join(version).join("x.wasm"), version).unwrap();
        }
        symlink("versions/1/x.wasm", folder.join("plugin.wasm")).unwrap();
    });
    symlink("versions/2/x.wasm", fixture.path("next")).unwrap();
    fs::rename(fixture.path("next"), fixture.path("plugin.wasm")).unwrap();
    fixture.assert_reported("plugin.wasm", "2");
    fs::remove_file(fixture.path("plugin.wasm")).unwrap();
    symlink(fixture.path("versions/3/x.wasm"), fixture.path("plugin.wasm")).unwrap();
    fixture.assert_reported("plugin.wasm", "3");
    // The new target is also watched.
    fs::write(fixture.path("versions/3/x.wasm"), "4").unwrap();
    fixture.assert_reported("plugin.wasm", "4");
}

#[test]
fn hidden_symlink_of_a_config_map_is_swapped() {
    let version = |folder: &Path, name: &str| {
        fs::create_dir(folder.join(name)).unwrap();
        fs::write(folder.join(name).join("plugin.wasm"), name).unwrap();
    };
    let mut fixture = Fixture::new(&["map/plugin.wasm"], |folder| {
        fs::create_dir(folder.join("map")).unwrap();
        version(&folder.join("map"), "..2024_1");
        symlink("..2024_1", folder.join("map/..data")).unwrap();
        symlink("..data/plugin.wasm", folder.join("map/plugin.wasm")).unwrap();
    });
    for (old, new) in [("..2024_1", "..2024_2"), ("..2024_2", "..2024_3")] {
        version(&fixture.path("map"), new);
        symlink(new, fixture.path("map/..data_tmp")).unwrap();
        fs::rename(fixture.path("map/..data_tmp"), fixture.path("map/..data")).unwrap();
        fs::remove_dir_all(fixture.path("map").join(old)).unwrap();
        fixture.assert_reported("map/plugin.wasm", new);
    }
}

#[test]
fn folder_appears_later() {
    let mut fixture = Fixture::new(&["a/b/c/plugin.wasm"], |_| ());
    fs::create_dir_all(fixture.path("a/b/c")).unwrap();
    fs::write(fixture.path("a/b/c/plugin.wasm"), "new").unwrap();
    fixture.assert_reported("a/b/c/plugin.wasm", "new");
    fs::write(fixture.path("a/b/c/plugin.wasm"), "newer").unwrap();
    fixture.assert_reported("a/b/c/plugin.wasm", "newer");
}

#[test]
fn folders_appear_one_after_another() {
    let mut fixture = Fixture::new(&["a/b/c/plugin.wasm"], |_| ());
    for folder in ["a", "a/b", "a/b/c"] {
        fs::create_dir(fixture.path(folder)).unwrap();
        fixture.poll();
    }
    fs::write(fixture.path("a/b/c/plugin.wasm"), "new").unwrap();
    fixture.assert_reported("a/b/c/plugin.wasm", "new");
}

#[test]
fn folder_is_recreated() {
    let mut fixture = Fixture::with_plugin();
    for content in ["new", "newer", "newest"] {
        fs::remove_dir_all(fixture.path("dist")).unwrap();
        fs::create_dir(fixture.path("dist")).unwrap();
        fs::write(fixture.path(PLUGIN), content).unwrap();
        fixture.assert_reported(PLUGIN, content);
    }
    // The directory that is there now is watched, not the first one.
    fs::write(fixture.path(PLUGIN), "in place").unwrap();
    fixture.assert_reported(PLUGIN, "in place");
}

#[test]
fn folder_is_recreated_much_later() {
    let mut fixture = Fixture::with_plugin();
    for content in ["new", "newer"] {
        fs::remove_dir_all(fixture.path("dist")).unwrap();
        fixture.assert_reported(PLUGIN, "");
        fs::create_dir(fixture.path("dist")).unwrap();
        fixture.poll();
        fs::write(fixture.path(PLUGIN), content).unwrap();
        fixture.assert_reported(PLUGIN, content);
    }
}

#[test]
fn folder_far_above_is_replaced() {
    let mut fixture = Fixture::new(&["app/a/b/plugin.wasm"], |folder| {
        for (name, content) in [("app", "old"), ("next", "new")] {
            fs::create_dir_all(folder.join(name).join("a/b")).unwrap();
            fs::write(folder.join(name).join("a/b/plugin.wasm"), content).unwrap();
        }
    });
    fs::rename(fixture.path("app"), fixture.path("last")).unwrap();
    fs::rename(fixture.path("next"), fixture.path("app")).unwrap();
    fixture.assert_reported("app/a/b/plugin.wasm", "new");
    // A change in the old directory would be reported first.
    fs::write(fixture.path("last/a/b/plugin.wasm"), "x").unwrap();
    fs::write(fixture.path("app/a/b/plugin.wasm"), "newer").unwrap();
    fixture.assert_reported("app/a/b/plugin.wasm", "newer");
}

#[test]
fn folder_takes_the_name_of_a_file_and_returns_it() {
    let mut fixture = Fixture::with_plugin();
    fs::remove_file(fixture.path(PLUGIN)).unwrap();
    fs::create_dir(fixture.path(PLUGIN)).unwrap();
    fixture.assert_reported(PLUGIN, "");
    fs::remove_dir(fixture.path(PLUGIN)).unwrap();
    fs::write(fixture.path(PLUGIN), "new").unwrap();
    fixture.assert_reported(PLUGIN, "new");
}

#[test]
fn two_files_are_reported_together() {
    let mut fixture = Fixture::new(&["a/file", "b/file"], |folder| {
        fs::create_dir(folder.join("a")).unwrap();
        fs::create_dir(folder.join("b")).unwrap();
    });
    let both = [fixture.path("a/file"), fixture.path("b/file")];
    for file in &both {
        fs::write(file, "new").unwrap();
    }
    assert_eq!(fixture.next_files(), BTreeSet::from(both));
}

#[test]
fn ten_thousand_other_files_are_not_reported() {
    let mut fixture = Fixture::with_plugin();
    for number in 0..10_000 {
        fs::write(fixture.path("dist").join(format!("{number}.o")), "x").unwrap();
    }
    fs::write(fixture.path(PLUGIN), "new").unwrap();
    fixture.assert_reported(PLUGIN, "new");
}

#[test]
fn reading_is_not_a_change() {
    let mut fixture = Fixture::new(&["read", "written"], |folder| {
        fs::write(folder.join("read"), "old").unwrap();
        fs::write(folder.join("written"), "old").unwrap();
    });
    for _ in 0..100 {
        fs::read(fixture.path("read")).unwrap();
    }
    fs::write(fixture.path("written"), "new").unwrap();
    fixture.assert_reported("written", "new");
}

#[test]
fn identical_content_is_reported_once() {
    let mut fixture =
        Fixture::new(&["same", "other"], |folder| fs::write(folder.join("same"), "old").unwrap());
    for number in 0..3 {
        fs::write(fixture.path("same"), "old").unwrap();
        fixture.assert_reported("same", "old");
        fs::write(fixture.path("other"), number.to_string()).unwrap();
        fixture.assert_reported("other", &number.to_string());
    }
}

#[test]
fn write_while_the_reader_began_is_reported() {
    let since = SystemTime::now();
    let fill = |folder: &Path| fs::write(folder.join("secret"), "new").unwrap();
    let mut fixture = Fixture::reading_since(since, &["secret"], fill);
    fixture.assert_reported("secret", "new");
}

#[test]
fn replaced_folders_do_not_pile_up() {
    let mut fixture = Fixture::with_plugin();
    let count = |fixture: &Fixture| fixture.watcher.folders.watches.as_ref().map(|watches| watches.count());
    let before = count(&fixture);
    for number in 0..50 {
        fs::rename(fixture.path("dist"), fixture.path(&format!("old-{number}"))).unwrap();
        fs::create_dir(fixture.path("dist")).unwrap();
        fs::write(fixture.path(PLUGIN), number.to_string()).unwrap();
        fixture.poll();
    }
    let path = fixture.path(PLUGIN);
    assert_eq!(fixture.next_files(), paths(&[&path]));
    fixture.poll();
    assert_eq!(count(&fixture), before);
    fs::write(fixture.path(PLUGIN), "last").unwrap();
    fixture.assert_reported(PLUGIN, "last");
}
