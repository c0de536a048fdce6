//! Programs that are called by path, by name, and by another name.

use std::os::unix::fs::symlink;

use super::*;

#[test]
fn keeps_symlinks_that_lead_to_the_running_program() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let version = root.join("Cellar/moongate/1.2/bin");
    let shims = root.join("bin");
    for dir in [&version, &shims, &root.join("other")] {
        fs::create_dir_all(dir).unwrap();
    }
    let running = version.join("moongate");
    fs::write(&running, "").unwrap();
    fs::write(root.join("other/moongate"), "").unwrap();
    let link = shims.join("moongate");
    symlink(&running, &link).unwrap();
    let search = env::join_paths([root.join("missing"), root.join("other"), shims, version.clone()]).unwrap();
    let found = |called: &Path, search: Option<&OsStr>| called_path(called, search, &running);
    assert_eq!(found(&link, None), Some(link.clone()));
    assert_eq!(found(Path::new("moongate"), Some(&search)), Some(link));
    assert_eq!(found(&running, Some(&search)), Some(running.clone()));
    // Neither another program nor an unknown name.
    assert_eq!(found(&root.join("other/moongate"), Some(&search)), None);
    assert_eq!(found(Path::new("gate"), Some(&search)), None);
    assert_eq!(found(Path::new("moongate"), None), None);
}
