//! Invalid plugin files: each is rejected with one message that names the file and the cause, and the other plugins
//! still serve.

use std::fs;

use moongate_generated::Plugin;
use moongate_tests::{Stdio, Workspace, component, text};
use serde_json::json;

/// Exports one function of `lifecycle` with a wrong type.
const WRONG_SIGNATURE: &str = r#"(component
  (core module $m (func (export "f")))
  (core instance $i (instantiate $m))
  (func $f (canon lift (core func $i "f")))
  (instance $l (export "describe" (func $f)))
  (export "moongate:plugin/lifecycle@0.1.0" (instance $l)))"#;

const NEWER_CONTRACT: &str = r#"(component
  (instance $l)
  (export "moongate:plugin/lifecycle@0.2.0" (instance $l)))"#;

const UNKNOWN_FUNCTION: &str = r#"(component
  (import "moongate:plugin/request@0.1.0" (instance (export "brand-new" (func (result bool)))))
  (instance $l)
  (export "moongate:plugin/lifecycle@0.1.0" (instance $l)))"#;

const UNKNOWN_IMPORT: &str = r#"(component
  (import "acme:rockets/launch@1.0.0" (instance (export "go" (func))))
  (instance $l)
  (export "moongate:plugin/lifecycle@0.1.0" (instance $l)))"#;

/// A name, the bytes of the file, and words that the message must contain.
fn cases() -> Vec<(&'static str, Vec<u8>, &'static [&'static str])> {
    let wat = |text: &str| wat::parse_str(text).expect("a component in text form");
    let whole = fs::read(component("time")).expect("a built component");
    vec![
        ("empty", Vec::new(), &["empty"]),
        ("text", b"#!/bin/sh\necho hello\n".to_vec(), &["WebAssembly"]),
        ("truncated", whole[..whole.len() / 2].to_vec(), &["bytes are missing at its end"]),
        ("core-module", wat("(module)"), &["core WebAssembly module", "wasm32-wasip2"]),
        ("nothing", wat("(component)"), &["moongate:plugin"]),
        ("signature", wat(WRONG_SIGNATURE), &["describe"]),
        ("newer", wat(NEWER_CONTRACT), &["0.2.0", "0.1"]),
        ("function", wat(UNKNOWN_FUNCTION), &["request.brand-new"]),
        ("import", wat(UNKNOWN_IMPORT), &["acme:rockets/launch@1.0.0"]),
        ("precompiled", precompiled(), &["precompiled"]),
        ("table", wat("(component (core module (table 10000000 funcref)))"), &["10000000", "100000"]),
        (
            "instances",
            wat(&many_instances("", 65)),
            &["65 core instances; at most 64", "hint: link its libraries"],
        ),
        (
            "memories",
            wat(&many_instances("(memory 1)", 5)),
            &["5 linear memories; at most 4", "hint: build it with fewer"],
        ),
        (
            "tables",
            wat(&many_instances("(table 1 funcref)", 33)),
            &["33 tables; at most 32", "hint: build it with fewer"],
        ),
        ("globals", wat(&many_instances(&"(global i32 (i32.const 0))".repeat(700_000), 1)), &["10485760"]),
        (
            "threads",
            wat("(component (core module (memory 1 1 shared)))"),
            &["uses threads", "hint: build it without threads"],
        ),
        (
            "wide",
            wat("(component (core module (memory i64 1)))"),
            &["64-bit memory", "hint: build it for a 32-bit target"],
        ),
        ("name", component_with_long_import(), &["broken", "import name `____"]),
        ("bomb", nested_components(20_000), &["compiling", "of memory"]),
    ]
}

/// A component with this many instances of a module.
fn many_instances(content: &str, count: usize) -> String {
    let instances: String = (0..count).map(|at| format!("(core instance $i{at} (instantiate $m))")).collect();
    format!("(component (core module $m {content}) {instances})")
}

/// A component that imports an invalid name, longer than a pipe buffer.
fn component_with_long_import() -> Vec<u8> {
    let name = "_".repeat(90_000);
    wat::parse_str(format!("(component (import \"{name}\" (func)))")).expect("a component in text form")
}

/// Deeply nested components: a small file that takes a dozen gigabytes to compile.
fn nested_components(levels: usize) -> Vec<u8> {
    const HEAD: &[u8] = b"\0asm\x0d\0\x01\0";
    const COMPONENT: u8 = 4;
    // Built from the inside out, in reverse: each level is its header and one section with the next level.
    let mut backwards: Vec<u8> = HEAD.iter().rev().copied().collect();
    for _ in 0..levels {
        let mut length = Vec::new();
        let mut rest = backwards.len();
        while rest >= 0x80 {
            length.push((rest & 0x7f) as u8 | 0x80);
            rest >>= 7;
        }
        length.push(rest as u8);
        backwards.extend(length.iter().rev());
        backwards.push(COMPONENT);
        backwards.extend(HEAD.iter().rev());
    }
    backwards.reverse();
    backwards
}

/// Code compiled by the gateway, from its cache.
fn precompiled() -> Vec<u8> {
    let workspace = Workspace::with_plugin("time");
    let cache = workspace.path().join("cache");
    let output = workspace.command(&["check"]).env("MOONGATE_CACHE_DIR", &cache).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let entries = fs::read_dir(&cache).expect("a cache").flatten().map(|entry| entry.path());
    let file =
        entries.filter(|path| path.is_file()).max_by_key(|path| path.metadata().map_or(0, |data| data.len()));
    fs::read(file.expect("compiled code in the cache")).unwrap()
}

#[test]
fn rejects_invalid_components_with_file_and_cause() {
    for (name, bytes, words) in cases() {
        let workspace = Workspace::new(&format!("[plugins.{name}]\nsource = \"{name}.wasm\"\n"));
        workspace.write(&format!("{name}.wasm"), bytes);
        let output = workspace.run(&["check"]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(78), "{name}: {message}");
        assert!(message.contains("gateway.toml:"), "{name}: no location: {message}");
        assert!(message.contains(&format!("{name}.wasm")), "{name}: no file: {message}");
        for word in words {
            assert!(message.contains(word), "{name}: `{word}` is missing in: {message}");
        }
        assert_eq!(message.matches("error: ").count(), 1, "{name}: expected one message: {message}");
        assert!(["name", "truncated"].contains(&name) || !message.contains("broken"), "{name}: {message}");
        assert!(!message.contains("can't cache compiled code"), "{name}: {message}");
        assert!(!message.contains("panicked") && !message.contains("Error {"), "{name}: {message}");
    }
}

#[test]
fn reports_all_broken_plugins_and_serves_the_rest() {
    let cases = cases();
    let mut config = String::from("[plugins.time]\nsource = \"@time@\"\n");
    for (name, _, _) in &cases {
        config.push_str(&format!("[plugins.{name}]\nsource = \"{name}.wasm\"\n"));
    }
    let workspace = Workspace::new(&config);
    for (name, bytes, _) in &cases {
        workspace.write(&format!("{name}.wasm"), bytes);
    }
    let output = workspace.run(&["check"]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(78));
    for (name, _, _) in &cases {
        assert!(message.contains(&format!("{name}.wasm")), "`{name}` isn't reported: {message}");
    }

    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let list = stdio.request_and_wait("tools/list", json!({}));
    assert_eq!(list["result"]["tools"].as_array().map(Vec::len), Some(2), "{list}");
    assert!(text(&stdio.call("time_get_current_time", json!({ "timezone": "UTC" }))).contains("UTC"));
    let (_, status, log) = stdio.finish();
    assert!(status.success());
    for (name, _, _) in &cases {
        assert!(log.contains(&format!("{name}.wasm")), "`{name}` isn't in the log: {log}");
    }
}

#[test]
fn rejects_digest_mismatch() {
    let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let workspace = Workspace::new(&format!("[plugins.time]\nsource = \"@time@\"\nsha256 = \"{digest}\"\n"));
    let output = workspace.run(&["check"]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(78), "{message}");
    assert!(
        message.contains(&format!("instead of {digest}")) && message.contains("hint: to accept the new file"),
        "{message}"
    );
}

#[test]
fn rejects_oversized_file_unread() {
    let plugin = Plugin::version(1).padding(20_000).build();
    let check = |most: usize| {
        let workspace =
            Workspace::new(&format!("[plugins.p]\nsource = \"p.wasm\"\nlimits = {{ component = {most} }}\n"));
        workspace.write("p.wasm", &plugin);
        let output = workspace.run(&["check"]);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, message) = check(plugin.len() - 1);
    assert_eq!(code, Some(78), "{message}");
    assert!(message.contains("KiB") && message.contains("limits.component"), "{message}");
    assert_eq!(check(plugin.len()).0, Some(0));
}
