//! Names and files of a new project.

use std::path::Path;

use super::name::{ProjectName, ProjectNameError};
use super::sdk::{SdkError, SdkSource};
use super::{TEMPLATE_FILES, component_path, fill};

fn name(directory: &str) -> Result<ProjectName, ProjectNameError> {
    ProjectName::of(Path::new(directory))
}

#[test]
fn the_last_part_of_the_path_is_the_name() {
    for directory in ["word-count", "a/b/word-count", "/word-count", "./word-count/"] {
        let name = name(directory).unwrap();
        assert_eq!((name.as_str(), name.type_name().as_str()), ("word-count", "WordCount"), "{directory}");
        assert_eq!(name.file(), "word_count.wasm");
    }
    assert_eq!(name("string").unwrap().type_name(), "StringPlugin");
    assert_eq!(name("b64_2x-").unwrap().type_name(), "B642x");
}

#[test]
fn refuses_names_that_cargo_rust_or_the_gateway_refuse() {
    assert_eq!(name("..").unwrap_err(), ProjectNameError::Missing);
    assert_eq!(name("/").unwrap_err(), ProjectNameError::Missing);
    for unfit in ["Hello", "9lives", "_x", "-x", "a b", "naïve", "a.b", &"x".repeat(41)] {
        assert!(matches!(name(unfit).unwrap_err(), ProjectNameError::Invalid(_)), "{unfit}");
    }
    for taken in ["test", "match", "std", "moongate-sdk", "proc-macro", "self"] {
        assert!(matches!(name(taken).unwrap_err(), ProjectNameError::Reserved(_)), "{taken}");
    }
}

#[test]
fn finds_the_sdk_by_its_directory_or_that_of_all_sources() {
    let own = SdkSource::find(None).unwrap();
    let SdkSource::Directory(directory) = &own else { panic!("{own:?}") };
    assert!(directory.ends_with("plugin-sdk") && directory.is_absolute(), "{directory:?}");
    let named = |path: &Path| SdkSource::find(Some(path.to_str().unwrap()));
    assert_eq!(named(directory).unwrap(), own);
    assert_eq!(named(directory.parent().unwrap()).unwrap(), own);
    assert!(matches!(named(&directory.join("src")).unwrap_err(), SdkError::NotFound(_)));
    assert_eq!(
        SdkSource::find(Some("https://git.example/m")).unwrap().dependency(),
        r#"{ git = "https://git.example/m" }"#
    );
}

#[test]
fn fills_in_all_placeholders() {
    let name = name("word-count").unwrap();
    let sdk = SdkSource::find(None).unwrap();
    for (file, text) in TEMPLATE_FILES {
        let filled = fill(text, &name, &sdk, &component_path(&name, None));
        assert!(!filled.contains('@'), "{file}: {filled}");
    }
}

#[test]
fn the_component_path_follows_the_target_directory() {
    let name = name("word-count").unwrap();
    let at = |target: Option<&str>| component_path(&name, target.map(Into::into));
    assert_eq!(at(None), "target/wasm32-wasip2/release/word_count.wasm");
    assert_eq!(at(Some("/all/built")), "/all/built/wasm32-wasip2/release/word_count.wasm");
    assert_eq!(at(Some("built")), at(None));
    assert_eq!(at(Some("")), at(None));
}
