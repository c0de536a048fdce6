//! Every way in which a file comes to hold something new, on the file system as it is. Files are looked at only when an
//! event says so.

use std::fs::{self, File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use tempfile::TempDir;

use super::*;

struct Bench {
    folder: TempDir,
    watch: Watch,
    named: BTreeSet<PathBuf>,
}

impl Bench {
    /// Watches `named`, by paths in the folder that `before` has filled.
    async fn new(named: &[&str], before: impl FnOnce(&Path)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        before(folder.path());
        // What is there already was there long before.
        let since = SystemTime::now() + NEVER;
        let mut watch = Watch::new(WatchOptions { poll: NEVER, since, ..WatchOptions::default() });
        let named: BTreeSet<PathBuf> = named.iter().map(|name| folder.path().join(name)).collect();
        watch.set(named.clone()).await;
        assert_eq!(watch.watching(), Watching::Events);
        Self { folder, watch, named }
    }

    /// One file, `dist/plugin.wasm`, and another one beside it that isn't watched.
    async fn with_file() -> Self {
        let before = |folder: &Path| {
            fs::create_dir_all(folder.join("dist")).unwrap();
            fs::write(folder.join("dist/plugin.wasm"), "old").unwrap();
            fs::write(folder.join("dist/beside"), "new").unwrap();
        };
        Self::new(&["dist/plugin.wasm"], before).await
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What is reported next is this file alone, and it holds this.
    async fn reports(&mut self, name: &str, content: &str) {
        let path = self.path(name);
        assert_eq!(files(&mut self.watch).await, set(&[&path]));
        assert_eq!(fs::read_to_string(&path).unwrap_or_default(), content);
    }

    /// Looks at everything, as happens now and then.
    async fn look(&mut self) {
        let named = self.named.clone();
        self.watch.set(named).await;
    }
}

const PLUGIN: &str = "dist/plugin.wasm";

#[tokio::test]
async fn another_file_is_renamed_over_it() {
    let mut bench = Bench::with_file().await;
    for content in ["new", "newer", "newest"] {
        fs::write(bench.path("dist/.plugin.tmp"), content).unwrap();
        fs::rename(bench.path("dist/.plugin.tmp"), bench.path(PLUGIN)).unwrap();
        bench.reports(PLUGIN, content).await;
    }
}

#[tokio::test]
async fn it_is_written_in_place() {
    let mut bench = Bench::with_file().await;
    let mut file = File::options().write(true).open(bench.path(PLUGIN)).unwrap();
    file.write_all(b"new").unwrap();
    bench.reports(PLUGIN, "new").await;
    // It stays open, as with programs that write in steps.
    file.write_all(b"er").unwrap();
    bench.reports(PLUGIN, "newer").await;
}

#[tokio::test]
async fn it_is_emptied_and_written() {
    let mut bench = Bench::with_file().await;
    for content in ["new", "newer", "new", "old"] {
        fs::write(bench.path(PLUGIN), content).unwrap();
        bench.reports(PLUGIN, content).await;
    }
}

#[tokio::test]
async fn it_is_deleted_and_created() {
    let mut bench = Bench::with_file().await;
    fs::remove_file(bench.path(PLUGIN)).unwrap();
    fs::write(bench.path(PLUGIN), "new").unwrap();
    bench.reports(PLUGIN, "new").await;
    fs::remove_file(bench.path(PLUGIN)).unwrap();
    bench.reports(PLUGIN, "").await;
    fs::write(bench.path(PLUGIN), "newer").unwrap();
    bench.reports(PLUGIN, "newer").await;
}

#[tokio::test]
async fn it_is_moved_there_from_another_folder() {
    let mut bench = Bench::with_file().await;
    fs::create_dir(bench.path("build")).unwrap();
    fs::write(bench.path("build/out"), "new").unwrap();
    fs::rename(bench.path("build/out"), bench.path(PLUGIN)).unwrap();
    bench.reports(PLUGIN, "new").await;
}

#[tokio::test]
async fn another_hard_link_takes_its_name() {
    let mut bench = Bench::with_file().await;
    fs::hard_link(bench.path("dist/beside"), bench.path("dist/link")).unwrap();
    fs::rename(bench.path("dist/link"), bench.path(PLUGIN)).unwrap();
    bench.reports(PLUGIN, "new").await;
}

#[tokio::test]
async fn it_becomes_readable() {
    let mut bench = Bench::with_file().await;
    let path = bench.path(PLUGIN);
    fs::set_permissions(&path, Permissions::from_mode(0o000)).unwrap();
    assert_eq!(files(&mut bench.watch).await, set(&[&path]));
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    bench.reports(PLUGIN, "old").await;
}

#[tokio::test]
async fn a_link_is_pointed_elsewhere() {
    let mut bench = Bench::new(&["plugin.wasm"], |folder| {
        for version in ["1", "2", "3"] {
            fs::create_dir_all(folder.join("versions").join(version)).unwrap();
            fs::write(folder.join("versions").join(version).join("x.wasm"), version).unwrap();
        }
        symlink("versions/1/x.wasm", folder.join("plugin.wasm")).unwrap();
    })
    .await;
    symlink("versions/2/x.wasm", bench.path("next")).unwrap();
    fs::rename(bench.path("next"), bench.path("plugin.wasm")).unwrap();
    bench.reports("plugin.wasm", "2").await;
    fs::remove_file(bench.path("plugin.wasm")).unwrap();
    symlink(bench.path("versions/3/x.wasm"), bench.path("plugin.wasm")).unwrap();
    bench.reports("plugin.wasm", "3").await;
    // What it points to now is watched too.
    fs::write(bench.path("versions/3/x.wasm"), "4").unwrap();
    bench.reports("plugin.wasm", "4").await;
}

#[tokio::test]
async fn the_hidden_link_of_a_mounted_map_is_swapped() {
    let version = |folder: &Path, name: &str| {
        fs::create_dir(folder.join(name)).unwrap();
        fs::write(folder.join(name).join("plugin.wasm"), name).unwrap();
    };
    let mut bench = Bench::new(&["map/plugin.wasm"], |folder| {
        fs::create_dir(folder.join("map")).unwrap();
        version(&folder.join("map"), "..2024_1");
        symlink("..2024_1", folder.join("map/..data")).unwrap();
        symlink("..data/plugin.wasm", folder.join("map/plugin.wasm")).unwrap();
    })
    .await;
    for (old, new) in [("..2024_1", "..2024_2"), ("..2024_2", "..2024_3")] {
        version(&bench.path("map"), new);
        symlink(new, bench.path("map/..data_tmp")).unwrap();
        fs::rename(bench.path("map/..data_tmp"), bench.path("map/..data")).unwrap();
        fs::remove_dir_all(bench.path("map").join(old)).unwrap();
        bench.reports("map/plugin.wasm", new).await;
    }
}

#[tokio::test]
async fn its_folder_appears_later() {
    let mut bench = Bench::new(&["a/b/c/plugin.wasm"], |_| ()).await;
    fs::create_dir_all(bench.path("a/b/c")).unwrap();
    fs::write(bench.path("a/b/c/plugin.wasm"), "new").unwrap();
    bench.reports("a/b/c/plugin.wasm", "new").await;
    fs::write(bench.path("a/b/c/plugin.wasm"), "newer").unwrap();
    bench.reports("a/b/c/plugin.wasm", "newer").await;
}

#[tokio::test]
async fn its_folders_appear_one_after_another() {
    let mut bench = Bench::new(&["a/b/c/plugin.wasm"], |_| ()).await;
    for folder in ["a", "a/b", "a/b/c"] {
        fs::create_dir(bench.path(folder)).unwrap();
        bench.look().await;
    }
    fs::write(bench.path("a/b/c/plugin.wasm"), "new").unwrap();
    bench.reports("a/b/c/plugin.wasm", "new").await;
}

#[tokio::test]
async fn its_folder_is_removed_and_made_again() {
    let mut bench = Bench::with_file().await;
    for content in ["new", "newer", "newest"] {
        fs::remove_dir_all(bench.path("dist")).unwrap();
        fs::create_dir(bench.path("dist")).unwrap();
        fs::write(bench.path(PLUGIN), content).unwrap();
        bench.reports(PLUGIN, content).await;
    }
    // The folder that is there now is watched, not the first one.
    fs::write(bench.path(PLUGIN), "in place").unwrap();
    bench.reports(PLUGIN, "in place").await;
}

#[tokio::test]
async fn its_folder_is_removed_and_made_again_much_later() {
    let mut bench = Bench::with_file().await;
    for content in ["new", "newer"] {
        fs::remove_dir_all(bench.path("dist")).unwrap();
        bench.reports(PLUGIN, "").await;
        fs::create_dir(bench.path("dist")).unwrap();
        bench.look().await;
        fs::write(bench.path(PLUGIN), content).unwrap();
        bench.reports(PLUGIN, content).await;
    }
}

#[tokio::test]
async fn a_folder_far_above_it_is_replaced() {
    let mut bench = Bench::new(&["app/a/b/plugin.wasm"], |folder| {
        for (name, content) in [("app", "old"), ("next", "new")] {
            fs::create_dir_all(folder.join(name).join("a/b")).unwrap();
            fs::write(folder.join(name).join("a/b/plugin.wasm"), content).unwrap();
        }
    })
    .await;
    fs::rename(bench.path("app"), bench.path("last")).unwrap();
    fs::rename(bench.path("next"), bench.path("app")).unwrap();
    bench.reports("app/a/b/plugin.wasm", "new").await;
    // What happens in the old one is of no interest any more; it would be reported first.
    fs::write(bench.path("last/a/b/plugin.wasm"), "x").unwrap();
    fs::write(bench.path("app/a/b/plugin.wasm"), "newer").unwrap();
    bench.reports("app/a/b/plugin.wasm", "newer").await;
}

#[tokio::test]
async fn a_folder_takes_the_name_of_a_file_and_gives_it_back() {
    let mut bench = Bench::with_file().await;
    fs::remove_file(bench.path(PLUGIN)).unwrap();
    fs::create_dir(bench.path(PLUGIN)).unwrap();
    bench.reports(PLUGIN, "").await;
    fs::remove_dir(bench.path(PLUGIN)).unwrap();
    fs::write(bench.path(PLUGIN), "new").unwrap();
    bench.reports(PLUGIN, "new").await;
}

#[tokio::test]
async fn two_files_at_once_are_reported_together() {
    let mut bench = Bench::new(&["a/file", "b/file"], |folder| {
        fs::create_dir(folder.join("a")).unwrap();
        fs::create_dir(folder.join("b")).unwrap();
    })
    .await;
    let both = [bench.path("a/file"), bench.path("b/file")];
    for file in &both {
        fs::write(file, "new").unwrap();
    }
    assert_eq!(files(&mut bench.watch).await, BTreeSet::from(both));
}

#[tokio::test]
async fn ten_thousand_files_beside_it_are_not_reported() {
    let mut bench = Bench::with_file().await;
    for number in 0..10_000 {
        fs::write(bench.path("dist").join(format!("{number}.o")), "x").unwrap();
    }
    fs::write(bench.path(PLUGIN), "new").unwrap();
    bench.reports(PLUGIN, "new").await;
}

#[tokio::test]
async fn reading_it_is_no_change() {
    let mut bench = Bench::new(&["read", "written"], |folder| {
        fs::write(folder.join("read"), "old").unwrap();
        fs::write(folder.join("written"), "old").unwrap();
    })
    .await;
    for _ in 0..100 {
        fs::read(bench.path("read")).unwrap();
    }
    fs::write(bench.path("written"), "new").unwrap();
    bench.reports("written", "new").await;
}

#[tokio::test]
async fn the_same_bytes_again_are_reported_once() {
    let mut bench =
        Bench::new(&["same", "other"], |folder| fs::write(folder.join("same"), "old").unwrap()).await;
    for number in 0..3 {
        fs::write(bench.path("same"), "old").unwrap();
        bench.reports("same", "old").await;
        fs::write(bench.path("other"), number.to_string()).unwrap();
        bench.reports("other", &number.to_string()).await;
    }
}

#[tokio::test]
async fn what_was_written_while_its_reader_began_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret");
    let since = SystemTime::now();
    fs::write(&path, "new").unwrap();
    let mut watch = Watch::new(WatchOptions { poll: NEVER, since, ..WatchOptions::default() });
    watch.set(set(&[&path])).await;
    assert_eq!(files(&mut watch).await, set(&[&path]));
}

#[tokio::test]
async fn folders_that_come_and_go_do_not_pile_up() {
    let mut bench = Bench::with_file().await;
    let count = |watch: &Watch| watch.wanted.interest().0.len();
    let before = count(&bench.watch);
    for number in 0..50 {
        fs::rename(bench.path("dist"), bench.path(&format!("old-{number}"))).unwrap();
        fs::create_dir(bench.path("dist")).unwrap();
        fs::write(bench.path(PLUGIN), number.to_string()).unwrap();
        bench.look().await;
    }
    let path = bench.path(PLUGIN);
    assert_eq!(files(&mut bench.watch).await, set(&[&path]));
    bench.look().await;
    assert_eq!(count(&bench.watch), before);
    let Place::Here(folders) = &bench.watch.folders else { panic!("they are away") };
    assert_eq!(folders.count(), before);
    fs::write(bench.path(PLUGIN), "last").unwrap();
    bench.reports(PLUGIN, "last").await;
}
