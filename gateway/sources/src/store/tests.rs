//! Unit tests of the component store.

use super::*;

#[test]
fn returns_only_intact_components() {
    let place = tempfile::tempdir().unwrap();
    let store = ComponentStore::open(&place.path().join("cache/components")).unwrap();
    let digest = store.put(b"component").unwrap();
    assert_eq!(store.find(&digest), Some(9));
    assert_eq!(store.find(&Digest::of(b"other")), None);
    for damaged in [&b"componenT"[..], b"compo", b"component and more", b""] {
        std::fs::write(store.path(&digest), damaged).unwrap();
        assert_eq!(store.find(&digest), None, "{damaged:?}");
        assert_eq!(store.put(b"component").unwrap(), digest);
        assert_eq!(store.read(&digest).unwrap(), b"component");
    }
    assert_eq!(std::fs::read_dir(place.path().join("cache/components")).unwrap().count(), 1);
}

#[test]
fn removes_only_old_unfinished_files() {
    let place = tempfile::tempdir().unwrap();
    let [old, new] = ["old.tmp", "new.tmp"].map(|name| place.path().join(name));
    std::fs::write(&old, "").unwrap();
    std::fs::write(&new, "").unwrap();
    let yesterday = SystemTime::now() - Duration::from_secs(24 * 60 * 60);
    File::options().write(true).open(&old).unwrap().set_modified(yesterday).unwrap();
    std::fs::set_permissions(place.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    ComponentStore::open(place.path()).unwrap();
    assert!(!old.exists() && new.exists());
}
