//! Repeated type names in made-up crates.

use super::*;

fn findings(files: &[(&str, &str)]) -> Vec<String> {
    let sources = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    check(&sources).into_iter().map(|Finding { place, message }| format!("{place}: {message}")).collect()
}

#[test]
fn finds_a_type_that_a_crate_defines_twice() {
    let files = [
        ("gateway/src/a.rs", "pub struct Slot {\n"),
        ("gateway/src/b.rs", "//!\npub(in crate::a) enum Slot<T> {\n"),
        ("gateway/protocol/src/a.rs", "trait Slot: Send {\n"),
        ("plugins/a/src/a.rs", "struct Slot;\nmod x {\n    struct Slot;\n}\n"),
    ];
    let expected = "gateway: `Slot` is defined 2 times: gateway/src/a.rs:1, gateway/src/b.rs:2";
    assert_eq!(findings(&files), [expected]);
}

#[test]
fn ignores_tests_and_associated_types() {
    let files = [
        ("gateway/src/lib.rs", "type Error = u8;\n#[cfg(any(test, feature = \"fakes\"))]\npub mod fake;\n"),
        ("gateway/src/a.rs", "    type Error = u8;\n#[cfg(test)]\nmod inline {\n    struct Error;\n}\n"),
        ("gateway/src/a/tests.rs", "struct Error;\n"),
        ("gateway/src/fake.rs", "struct Error;\n"),
        ("gateway/src/fake/plugin.rs", "struct Error;\n"),
    ];
    assert_eq!(findings(&files), Vec::<String>::new());
}
