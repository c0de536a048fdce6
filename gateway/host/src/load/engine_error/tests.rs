//! Sound components that need more than the engine offers: the error names the limit or the feature, and the hint fits.

use super::*;
use crate::load::tests::{hint, load_error};

/// The message and the hint.
async fn verdict(text: &str) -> (String, String) {
    let error = load_error(&wat::parse_str(text).unwrap(), |_| {}).await;
    assert!(!matches!(error, LoadError::InvalidComponent { .. }), "{text}: {error}");
    (error.to_string(), hint(&error).unwrap())
}

/// A component with one core module.
fn with_module(body: &str) -> String {
    format!("(component (core module $m {body}) (core instance (instantiate $m)))")
}

/// A component with `count` instances of one core module.
fn with_instances(body: &str, count: usize) -> String {
    format!("(component (core module $m {body}) {})", "(core instance (instantiate $m))".repeat(count))
}

#[tokio::test]
async fn names_the_limit_of_an_instance() {
    for (component, said) in [
        (with_instances("", 65), "65 core instances; at most 64 are allowed"),
        (with_instances("(memory 1)", 5), "5 linear memories; at most 4 are allowed"),
        (with_instances("(table 1 funcref)", 33), "33 tables; at most 32 are allowed"),
        (with_module(&"(memory 1)".repeat(5)), "5 linear memories in one module; at most 4 are allowed"),
        (with_module(&"(table 1 funcref)".repeat(33)), "33 tables in one module; at most 32 are allowed"),
        (with_module("(table 100001 funcref)"), "a table of 100001 elements; at most 100000 are allowed"),
        (
            with_module(&"(global (mut v128) (v128.const i64x2 0 0))".repeat(700_000)),
            "bytes of runtime data, such as globals; at most 10485760 are allowed",
        ),
    ] {
        let (message, hint) = verdict(&component).await;
        assert!(
            message.starts_with("the component needs more than the instance limits allow: ")
                && message.contains(said),
            "{message}"
        );
        assert!(["build", "link", "reduce", "optimise"].iter().any(|verb| hint.starts_with(verb)), "{hint}");
    }
}

#[tokio::test]
async fn names_unsupported_features() {
    for (component, feature) in [
        (with_module("(memory 1 1 shared)"), "threads"),
        (with_module("(memory 1) (func (drop (i32.atomic.load (i32.const 0))))"), "threads"),
        (with_module("(memory i64 1)"), "64-bit memory"),
        (with_module("(table i64 1 funcref)"), "64-bit memory"),
        (with_module("(tag)"), "WebAssembly exceptions"),
        (with_module("(tag $t) (func (throw $t))"), "WebAssembly exceptions"),
        (with_module("(func try end)"), "WebAssembly exceptions"),
        (with_module("(type (struct))"), "garbage-collected types (WasmGC)"),
        (with_module("(func (param anyref))"), "garbage-collected types (WasmGC)"),
        (
            with_module("(type $f (func)) (func (param (ref $f)) (call_ref $f (local.get 0)))"),
            "typed function references",
        ),
        (with_module("(memory 1 (pagesize 1))"), "custom page sizes"),
        (
            with_module(
                "(func (param i64 i64 i64 i64) (drop (i64.add128 (local.get 0) (local.get 1) (local.get 2) (local.get 3))) drop)",
            ),
            "wide arithmetic",
        ),
        ("(component (core func (canon task.cancel)))".to_owned(), "the component model's async functions"),
        ("(component (type (future u8)))".to_owned(), "the component model's async functions"),
        ("(component (core func (canon thread.index)))".to_owned(), "the component model's threads"),
        ("(component (type (map string u8)))".to_owned(), "a draft feature of the component model"),
        ("(component (type (list u8 4)))".to_owned(), "a draft feature of the component model"),
        ("(component (import \"a\" (value string)))".to_owned(), "a draft feature of the component model"),
    ] {
        let (message, hint) = verdict(&component).await;
        assert!(
            message.starts_with("the component uses ")
                && message.contains(feature)
                && message.ends_with("doesn't support"),
            "{component}: {message}"
        );
        assert!(hint.starts_with("build it "), "{hint}");
    }
}

#[tokio::test]
async fn supports_what_compilers_emit_by_default() {
    for body in [
        "(memory 1) (func (drop (f32x4.relaxed_madd (v128.const i64x2 0 0) (v128.const i64x2 0 0) (v128.const i64x2 0 0))))",
        "(func $f (return_call $f))",
        "(memory 1) (memory 1)",
        "(memory 1) (func (memory.fill (i32.const 0) (i32.const 0) (i32.const 0)))",
        "(global i32 (i32.add (i32.const 1) (i32.const 2)))",
    ] {
        let error = load_error(&wat::parse_str(with_module(body)).unwrap(), |_| {}).await;
        assert!(matches!(error, LoadError::NotAPlugin { .. }), "{body}: {error}");
    }
}

#[tokio::test]
async fn names_another_version_of_the_format() {
    let mut bytes = wat::parse_str("(component)").unwrap();
    for version in [0x0a, 0x0e] {
        bytes[4] = version;
        let error = load_error(&bytes, |_| {}).await.to_string();
        assert!(error.contains("another version of the component format"), "{error}");
    }
}

#[test]
fn recognises_limits_of_the_compiler() {
    let error = super::load_error("instances count exceeds limit of 1000 (at offset 0x1)");
    assert!(matches!(error, LoadError::TooManyParts { .. }), "{error}");
    let error = super::load_error("unknown section 99 (at offset 0x1)");
    assert!(matches!(error, LoadError::InvalidComponent { .. }), "{error}");
}
