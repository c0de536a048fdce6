//! Names and files of a new project.

use std::path::Path;

use super::language::Language;
use super::name::{ProjectName, ProjectNameError};
use super::sdk::{ReleasedSdk, SdkError, SdkSource};
use super::{component_path, fill};

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
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let named = |path: &Path| SdkSource::find(Some(path.to_str().unwrap()), ReleasedSdk::default());
    let own = named(sources).unwrap();
    let SdkSource::Directory(directory) = &own else { panic!("{own:?}") };
    assert!(directory.ends_with("plugin-sdk") && directory.is_absolute(), "{directory:?}");
    assert_eq!(named(directory).unwrap(), own);
    assert!(matches!(named(&directory.join("src")).unwrap_err(), SdkError::NotFound(_)));
    let url = SdkSource::find(Some("https://git.example/m"), ReleasedSdk::default()).unwrap();
    assert_eq!(url.dependency(), r#"{ git = "https://git.example/m" }"#);
}

#[test]
fn a_release_uses_its_own_sdk_and_a_build_from_source_asks() {
    let repository = ReleasedSdk {
        repository: Some("https://git.example/m"),
        revision: Some("0123abc"),
        ..ReleasedSdk::default()
    };
    let find = |released| SdkSource::find(None, released);
    let dependency = |released| find(released).unwrap().dependency();
    assert_eq!(dependency(repository), r#"{ git = "https://git.example/m", rev = "0123abc" }"#);
    assert_eq!(dependency(ReleasedSdk { version: Some("0.1.0"), ..repository }), r#""0.1.0""#);
    for unknown in [ReleasedSdk::default(), ReleasedSdk { revision: None, ..repository }] {
        let error = find(unknown).unwrap_err();
        assert_eq!(error, SdkError::NotReleased);
        assert!(
            error.hint().contains("add `--sdk /") && error.hint().contains("plugin-sdk"),
            "{}",
            error.hint()
        );
    }
}

#[test]
fn fills_in_all_placeholders() {
    let name = name("word-count").unwrap();
    let sdk = SdkSource::Version("0.1.0").dependency();
    for language in
        [Language::Rust, Language::Python, Language::Javascript, Language::Typescript, Language::C]
    {
        for (file, text) in language.files() {
            let filled = fill(text, &name, &sdk, &component_path(&name, None)).replace("@extension@", "");
            let is_word =
                |part: &str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_lowercase() || it == b'_');
            assert!(!filled.split('@').skip(1).any(is_word), "{file}: {filled}");
        }
    }
}

#[test]
fn projects_in_other_languages_contain_their_library() {
    let names = |language: Language| language.library().iter().map(|(name, _)| *name).collect::<Vec<_>>();
    assert_eq!(names(Language::Rust), [""; 0]);
    let python = names(Language::Python);
    assert!(
        ["__init__.py", "py.typed", "wit/world.wit"].iter().all(|file| python.contains(file)),
        "{python:?}"
    );
    let javascript = names(Language::Typescript);
    let needed = ["build.mjs", "package.json", "types/index.d.ts", "wit/world.wit"];
    assert!(needed.iter().all(|file| javascript.contains(file)), "{javascript:?}");
    assert!(!javascript.iter().any(|file| file.contains("test.js")), "{javascript:?}");
    let c = names(Language::C);
    let needed = ["moongate.h", "cJSON.LICENSE", "bindings/contract.c", "world.wit", "wit/world.wit"];
    assert!(needed.iter().all(|file| c.contains(file)), "{c:?}");
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
