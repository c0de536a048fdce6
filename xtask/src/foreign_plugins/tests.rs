//! The counts that test runners of other languages print, and components that are out of date.

use std::fs;

use crate::project::Project;
use crate::report::Tally;

use super::{
    FINGERPRINT_FILE, ForeignSource, SOURCES, are_built, output_directory, output_tally, sources_hash,
};

#[test]
fn reads_the_counts_of_node() {
    let output = "ok 1 - a\n# Subtest: b\nnot ok 2 - b\n# tests 4\n# pass 1\n# fail 1\n# cancelled 1\n# skipped 1\n# todo 0\n";
    assert_eq!(output_tally(output), Tally { passed: 1, failed: 2, skipped: 1 });
}

#[test]
fn reads_the_counts_of_python() {
    assert_eq!(output_tally("...\nRan 3 tests in 0.1s\n\nOK\n"), Tally { passed: 3, failed: 0, skipped: 0 });
    let output = "FAIL: test_a (b)\nRan 5 tests in 0.1s\n\nFAILED (failures=1, errors=1, skipped=1)\n";
    assert_eq!(output_tally(output), Tally { passed: 2, failed: 2, skipped: 1 });
    assert_eq!(output_tally("Ran 0 tests in 0.0s\n\nOK\n"), Tally::default());
    assert_eq!(output_tally("nothing\n"), Tally::default());
}

#[test]
fn a_component_of_other_sources_counts_as_not_built() {
    let directory = tempfile::tempdir().unwrap();
    let project = Project::at(directory.path());
    let write = |path: &std::path::Path, content: &str| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    write(&directory.path().join("wit/a.wit"), "package a:b;");
    for library in SOURCES.map(|origin| origin.language.library()) {
        write(&directory.path().join(library).join("source"), "a library");
    }
    for origin in SOURCES {
        let ForeignSource { name, directory: own, .. } = origin;
        let source = directory.path().join(own).join("source");
        write(&source, "old");
        let output = output_directory(&project, name);
        let fingerprint = format!("{} tools", sources_hash(&project, origin).unwrap());
        write(&output.join(FINGERPRINT_FILE), &fingerprint);
        write(&output.join(format!("{name}.wasm")), "code");
        assert!(!are_built(&project).unwrap(), "{name} isn't in `plugins/dist`");
        write(&project.dist().join(format!("{name}.wasm")), "code");
    }
    assert!(are_built(&project).unwrap());
    let ForeignSource { name, directory: own, .. } = SOURCES[0];
    let source = directory.path().join(own).join("source");
    write(&source, "new");
    assert!(!are_built(&project).unwrap(), "its source changed");
    write(&source, "old");
    write(&project.dist().join(format!("{name}.wasm")), "other code");
    assert!(!are_built(&project).unwrap(), "`plugins/dist` contains another build");
}
