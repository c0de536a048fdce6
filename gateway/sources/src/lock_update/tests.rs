//! Unit tests of writing the lock file.

use std::fs;

use moongate_config::LockedComponent;
use moongate_model::names::{Digest, PluginId};

use super::*;

fn add(path: &Path, name: &str) -> Result<bool, SourceError> {
    let component = LockedComponent {
        source: format!("https://example.com/{name}.wasm"),
        resolved: None,
        component: Digest::of(name.as_bytes()),
        size: 1,
        signer: None,
        fetched: "2026-11-29T18:00:00Z".to_owned(),
    };
    update_lock(path, |lock| drop(lock.plugins.insert(PluginId::new(name).unwrap(), component)))
}

#[test]
fn concurrent_changes_lose_no_entry() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("moongate.lock");
    let names: Vec<String> = (0..8).map(|number| format!("plugin-{number}")).collect();
    std::thread::scope(|scope| {
        for name in &names {
            scope.spawn(|| add(&path, name).unwrap());
        }
    });
    let lock = LockFile::read(&path).unwrap();
    assert!(names.iter().all(|name| lock.plugins.contains_key(&PluginId::new(name).unwrap())), "{lock:?}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    assert!(!add(&path, "plugin-0").unwrap(), "the same entry changes nothing");
}

#[test]
fn leaves_a_lock_file_that_it_cant_read_or_replace() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("moongate.lock");
    for text in ["version = 2\n", "<<<<<<< ours\n", "broken"] {
        fs::write(&path, text).unwrap();
        assert!(add(&path, "time").unwrap_err().hint().is_some());
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    let error = add(&path.join("moongate.lock"), "time").unwrap_err();
    assert!(error.to_string().starts_with("can't write"), "{error}");
}

#[test]
fn follows_a_symlink() {
    let place = tempfile::tempdir().unwrap();
    let [target, link] = ["target.lock", "moongate.lock"].map(|name| place.path().join(name));
    fs::write(&target, LockFile::default().text()).unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    add(&link, "time").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(LockFile::read(&target).unwrap().plugins.len(), 1);
}
