//! Sources of projects in C, and components of modules.

use super::*;

#[test]
fn compiles_the_sources_of_the_plugin_and_of_each_library() {
    let project = tempfile::tempdir().unwrap();
    for file in [
        "src/plugin.c",
        "src/plugin.h",
        "vendor/moongate/moongate.c",
        "vendor/moongate/bindings/x.c",
        "vendor/a/a.c",
    ] {
        let path = project.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let at = |files: &[&str]| files.iter().map(|file| project.path().join(file)).collect::<Vec<_>>();
    let files = at(&["src/plugin.c", "vendor/a/a.c", "vendor/moongate/moongate.c"]);
    let libraries = at(&["vendor/a", "vendor/moongate"]);
    assert_eq!(Sources::of(project.path()).unwrap(), Sources { files, libraries });
}

#[test]
fn a_module_without_the_exports_is_refused() {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugin-sdk/c");
    let empty = b"\0asm\x01\0\0\0";
    let error = component(empty, &library).unwrap_err();
    assert!(format!("{error:#}").contains("moongate:plugin/"), "{error:#}");
}
