//! Names, and what a project is made of.

use std::path::Path;

use super::name::{NameError, ProjectName};
use super::sdk::{Sdk, SdkError};
use super::{FILES, component, fill};

fn name(folder: &str) -> Result<ProjectName, NameError> {
    ProjectName::of(Path::new(folder))
}

#[test]
fn the_last_part_of_the_path_is_the_name() {
    for folder in ["word-count", "a/b/word-count", "/word-count", "./word-count/"] {
        let name = name(folder).unwrap();
        assert_eq!((name.as_str(), name.type_name().as_str()), ("word-count", "WordCount"), "{folder}");
        assert_eq!(name.file(), "word_count.wasm");
    }
    assert_eq!(name("string").unwrap().type_name(), "StringPlugin");
    assert_eq!(name("b64_2x-").unwrap().type_name(), "B642x");
}

#[test]
fn what_cargo_rust_or_the_gateway_would_refuse_is_refused_first() {
    assert_eq!(name("..").unwrap_err(), NameError::None);
    assert_eq!(name("/").unwrap_err(), NameError::None);
    for unfit in ["Hello", "9lives", "_x", "-x", "a b", "naïve", "a.b", &"x".repeat(41)] {
        assert!(matches!(name(unfit).unwrap_err(), NameError::Unfit(_)), "{unfit}");
    }
    for taken in ["test", "match", "std", "moongate-sdk", "proc-macro", "self"] {
        assert!(matches!(name(taken).unwrap_err(), NameError::Taken(_)), "{taken}");
    }
}

#[test]
fn the_sdk_is_found_by_its_folder_or_by_that_of_all_sources() {
    let own = Sdk::find(None).unwrap();
    let Sdk::Folder(folder) = &own else { panic!("{own:?}") };
    assert!(folder.ends_with("plugin-sdk") && folder.is_absolute(), "{folder:?}");
    let named = |path: &Path| Sdk::find(Some(path.to_str().unwrap()));
    assert_eq!(named(folder).unwrap(), own);
    assert_eq!(named(folder.parent().unwrap()).unwrap(), own);
    assert!(matches!(named(&folder.join("src")).unwrap_err(), SdkError::NotThere(_)));
    assert_eq!(
        Sdk::find(Some("https://git.example/m")).unwrap().dependency(),
        r#"{ git = "https://git.example/m" }"#
    );
}

#[test]
fn nothing_is_left_to_be_filled_in() {
    let (name, sdk) = (name("word-count").unwrap(), Sdk::find(None).unwrap());
    for (file, text) in FILES {
        let filled = fill(text, &name, &sdk, &component(&name, None));
        assert!(!filled.contains('@'), "{file}: {filled}");
    }
}

#[test]
fn the_component_is_where_cargo_will_write_it() {
    let name = name("word-count").unwrap();
    let at = |target: Option<&str>| component(&name, target.map(Into::into));
    assert_eq!(at(None), "target/wasm32-wasip2/release/word_count.wasm");
    assert_eq!(at(Some("/all/built")), "/all/built/wasm32-wasip2/release/word_count.wasm");
    assert_eq!(at(Some("built")), at(None));
    assert_eq!(at(Some("")), at(None));
}
