//! Counting what the test runners of other languages print, and components that were built of something else.

use std::fs;

use crate::project::Project;
use crate::report::Tally;

use super::{MARK, PLUGINS, are_built, counted, kept, sources};

#[test]
fn what_node_counted_is_counted() {
    let said = "ok 1 - a\n# Subtest: b\nnot ok 2 - b\n# tests 4\n# pass 1\n# fail 1\n# cancelled 1\n# skipped 1\n# todo 0\n";
    assert_eq!(counted(said), Tally { passed: 1, failed: 2, skipped: 1 });
}

#[test]
fn what_python_counted_is_counted() {
    assert_eq!(counted("...\nRan 3 tests in 0.1s\n\nOK\n"), Tally { passed: 3, failed: 0, skipped: 0 });
    let said = "FAIL: test_a (b)\nRan 5 tests in 0.1s\n\nFAILED (failures=1, errors=1, skipped=1)\n";
    assert_eq!(counted(said), Tally { passed: 2, failed: 2, skipped: 1 });
    assert_eq!(counted("Ran 0 tests in 0.0s\n\nOK\n"), Tally::default());
    assert_eq!(counted("nothing\n"), Tally::default());
}

#[test]
fn a_component_that_was_built_of_other_sources_is_not_built() {
    let folder = tempfile::tempdir().unwrap();
    let project = Project::at(folder.path());
    let write = |path: &std::path::Path, content: &str| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    write(&folder.path().join("wit/a.wit"), "package a:b;");
    for (name, _) in PLUGINS {
        let source = folder.path().join("plugins").join(name).join("source");
        write(&source, "old");
        write(&kept(&project, name).join(MARK), &format!("{} tools", sources(&project, name).unwrap()));
        write(&kept(&project, name).join(format!("{name}.wasm")), "code");
        assert!(!are_built(&project).unwrap(), "{name} isn't where the tests look for it");
        write(&project.dist().join(format!("{name}.wasm")), "code");
    }
    assert!(are_built(&project).unwrap());
    let (name, _) = PLUGINS[0];
    let source = folder.path().join("plugins").join(name).join("source");
    write(&source, "new");
    assert!(!are_built(&project).unwrap(), "its source changed");
    write(&source, "old");
    write(&project.dist().join(format!("{name}.wasm")), "other code");
    assert!(!are_built(&project).unwrap(), "another build lies there");
}
