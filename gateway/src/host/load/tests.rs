//! Files that aren't plugins, and what the operator is told.

use std::sync::Arc;

use bytesize::ByteSize;
use moongate_core::catalog::Plugin as _;
use moongate_core::config::PluginConfig;
use moongate_core::names::{Digest, PluginId};
use tempfile::TempDir;

use crate::host::tests::{Guest, component, config, host, load, load_file};
use crate::host::{Candidate, LoadError, Named, WasmHost};

/// What loading these bytes comes to.
async fn refused(bytes: &[u8], change: impl FnOnce(&mut PluginConfig)) -> LoadError {
    let dir = TempDir::new().unwrap();
    let mut config = config(dir.path(), bytes);
    change(&mut config);
    load_file(&host(dir.path()), &Arc::new(config)).await.unwrap_err()
}

/// What to do about it, where the table of a plugin `p` names the file.
fn hint(error: &LoadError) -> Option<String> {
    let table = PluginConfig::bare(PluginId::new("p").unwrap(), "p.wasm".into());
    error.hint(Named::InTable(&table))
}

async fn message(bytes: &[u8]) -> String {
    refused(bytes, |_| {}).await.to_string()
}

fn wat(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

#[tokio::test]
async fn what_is_no_component_is_named() {
    for (bytes, said) in [
        (&b""[..], "the file is no WebAssembly component: it is empty"),
        (b"<!DOCTYPE html>", "the file is no WebAssembly component: it looks like a web page"),
        (b"(component)", "the file is no WebAssembly component: it is WebAssembly's text format"),
        (b"\x7fELF\x02\x01\x01\x00", "the file is no WebAssembly component: it doesn't begin with `\\0asm`"),
        (b"\0asm", "the component is broken: it ends after its first bytes"),
        (b"\0asm\x01\0\0\0", "the file is a core WebAssembly module, not a component"),
    ] {
        assert_eq!(message(bytes).await, said);
    }
}

#[tokio::test]
async fn a_truncated_component_is_broken_wherever_it_was_cut() {
    let whole = Guest::default().build();
    for part in [9, 100, whole.len() / 2, whole.len() - 1] {
        let error = refused(&whole[..part], |_| {}).await;
        let said = error.to_string();
        assert!(said.starts_with("the component is broken: it is cut short: "), "{part}: {said}");
    }
}

#[tokio::test]
async fn a_component_built_with_async_is_told_to_be_built_without() {
    let cancels = wat("(component (core func (canon task.cancel)))");
    let returns = wat("(component (core func (canon task.return)))");
    for bytes in [cancels, returns] {
        let error = refused(&bytes, |_| {}).await;
        assert!(matches!(error, LoadError::Async), "{error}");
        assert_eq!(hint(&error).unwrap(), "build it without async (componentize-qjs: `--sync`)");
    }
}

#[tokio::test]
async fn machine_code_is_refused() {
    let engine = wasmtime::Engine::default();
    let code = engine.precompile_component(&wat("(component)")).unwrap();
    assert!(matches!(refused(&code, |_| {}).await, LoadError::Precompiled));
}

#[tokio::test]
async fn files_are_checked_before_they_are_read_whole() {
    let bytes = Guest::default().build();
    let error = refused(&bytes, |config| config.limits.component = ByteSize::b(1000)).await;
    assert!(matches!(error, LoadError::TooBig { .. }), "{error}");
    let error = refused(&bytes, |config| config.sha256 = Some(Digest::of(b"another"))).await;
    let hint = hint(&error).unwrap();
    assert!(hint.contains(&Digest::of(&bytes).to_string()), "{hint}");
    let error = refused(&bytes, |config| assert!(config.source.pop())).await;
    assert!(matches!(error, LoadError::NoFile { directory: true, .. }), "{error}");
}

#[tokio::test]
async fn a_component_that_is_no_plugin_is_told_so() {
    assert_eq!(message(&wat("(component)")).await, "it exports nothing of moongate:plugin");
    let no_lifecycle = component(
        "export moongate:plugin/completions@0.1.0;",
        r#"(module (memory (export "memory") 1)
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
            (func (export "moongate:plugin/completions@0.1.0#complete")
                (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32) unreachable))"#,
    );
    assert_eq!(message(&no_lifecycle).await, "it exports no `lifecycle`, which every plugin needs");
}

#[tokio::test]
async fn another_version_of_the_contract_is_named() {
    let import = wat(r#"(component (import "moongate:plugin/log@0.2.0" (instance)))"#);
    assert_eq!(message(&import).await, "it was made for moongate:plugin@0.2.0; this gateway speaks 0.1");
    let export = wat(r#"(component (instance $i) (export "moongate:plugin/tools@1.0.0" (instance $i)))"#);
    assert_eq!(message(&export).await, "it was made for moongate:plugin@1.0.0; this gateway speaks 0.1");
}

#[tokio::test]
async fn functions_of_a_newer_gateway_are_named() {
    let newer = wat(r#"(component
            (import "moongate:plugin/request@0.1.7" (instance
                (export "cancelled" (func (result bool))) (export "brand-new" (func))))
            (import "moongate:plugin/later@0.1.7" (instance)))"#);
    let error = refused(&newer, |_| {}).await;
    assert_eq!(error.to_string(), "it needs `request.brand-new`, `later`, which this gateway doesn't offer");
}

#[tokio::test]
async fn foreign_imports_are_named() {
    let foreign = wat(r#"(component
            (import "wasi:http/incoming-handler@0.2.0" (instance))
            (import "wasi:keyvalue/store@0.2.0-draft" (instance))
            (import "wasi:cli/environment@0.3.0" (instance))
            (import "help" (func)))"#);
    assert_eq!(
        message(&foreign).await,
        "it imports `wasi:http/incoming-handler@0.2.0`, `wasi:keyvalue/store@0.2.0-draft`, \
         `wasi:cli/environment@0.3.0`, `help`, which this gateway doesn't offer"
    );
}

#[tokio::test]
async fn a_function_of_the_wrong_type_is_named() {
    // `describe` with a parameter that the contract doesn't have.
    let wrong = wat(r#"(component
            (core module $m (func (export "f") (param i32)))
            (core instance $i (instantiate $m))
            (func $f (param "a" u32) (canon lift (core func $i "f")))
            (instance $l (export "describe" (func $f)))
            (export "moongate:plugin/lifecycle@0.1.0" (instance $l)))"#);
    let said = message(&wrong).await;
    assert!(said.contains("its export `lifecycle` doesn't fit: `describe`: type mismatch"), "{said}");
    let missing =
        wat(r#"(component (instance $i) (export "moongate:plugin/lifecycle@0.1.0" (instance $i)))"#);
    let said = message(&missing).await;
    assert!(said.starts_with("its export `lifecycle` doesn't fit:") && said.contains("`describe`"), "{said}");
}

#[tokio::test]
async fn an_import_of_the_wrong_type_is_refused() {
    let wrong = wat(r#"(component (import "moongate:plugin/request@0.1.0" (instance
            (export "cancelled" (func (result u32))))))"#);
    let error = refused(&wrong, |_| {}).await;
    assert!(matches!(&error, LoadError::Import { reason } if reason.contains("cancelled")), "{error}");
}

#[tokio::test]
async fn a_plugin_that_fails_to_describe_itself_names_the_function() {
    let trap = Guest { describe: "unreachable", ..Guest::default() }.build();
    assert_eq!(
        message(&trap).await,
        "`lifecycle.describe` failed: crashed: it stopped itself (`unreachable`) and didn't say why"
    );
    let endless = Guest { describe: "(loop $again (br $again))", ..Guest::default() }.build();
    let error = refused(&endless, |config| {
        config.limits.describe_timeout = std::time::Duration::from_millis(20);
    })
    .await;
    assert_eq!(error.to_string(), "`lifecycle.describe` failed: exceeded the time limit of 20ms");
    assert_eq!(
        hint(&error).unwrap(),
        "raise `limits.describe_timeout`: write `describe_timeout = \"10s\"` in `[plugins.p.limits]`"
    );
}

#[tokio::test]
async fn what_a_plugin_says_of_itself_is_checked() {
    for (schema, said) in [
        ("true", "tool `run`: `input-schema`: the root must be an object with `\"type\": \"object\"`"),
        (
            r#"{"type":"array"}"#,
            "tool `run`: `input-schema`: the root's `type` must be \"object\", not \"array\"",
        ),
        (
            r#"{"a":1,"a":2}"#,
            "tool `run`: `input-schema`: it is no JSON: duplicate key `a` at line 1 column 13",
        ),
        ("nonsense", "tool `run`: `input-schema`: it is no JSON: expected ident at line 1 column 2"),
    ] {
        let bytes = Guest { schema, ..Guest::default() }.build();
        assert_eq!(message(&bytes).await, format!("what it says of itself can't be used: {said}"));
    }
    let dir = TempDir::new().unwrap();
    let guest = Guest { schema: r#"{"properties":{}}"#, ..Guest::default() };
    let plugin = load(&host(dir.path()), dir.path(), &guest, |_| {}).await;
    let [tool] = &plugin.manifest().tools[..] else { panic!("{:?}", plugin.manifest()) };
    assert_eq!(tool.input_schema.get(), r#"{"type":"object","properties":{}}"#);
    assert_eq!(plugin.manifest().info.name, "guest");
}

/// A file that can be taken, and what the table says of it.
async fn candidate(host: &WasmHost, config: &Arc<PluginConfig>, guest: &Guest) -> Candidate {
    std::fs::write(&config.source, guest.build()).unwrap();
    host.read(config).await.unwrap()
}

#[tokio::test]
async fn whoever_gives_up_while_another_is_compiled_has_nothing_compiled() {
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let config = Arc::new(config(dir.path(), b""));
    let turn = Arc::clone(&host.loader.compiling).lock_owned().await;
    let given_up = candidate(&host, &config, &Guest::default()).await;
    let waiting = candidate(&host, &config, &Guest::that("nop")).await;
    {
        let mut load = std::pin::pin!(host.load(Arc::clone(&config), given_up));
        tokio::select! {
            biased;
            loaded = &mut load => panic!("it was compiled out of turn: {loaded:?}"),
            () = tokio::time::sleep(std::time::Duration::from_millis(20)) => {}
        }
    }
    let waiting = host.load(Arc::clone(&config), waiting);
    let (loaded, ()) = tokio::join!(waiting, async { drop(turn) });
    loaded.unwrap();
    assert_eq!(std::fs::read_dir(dir.path().join("cache")).unwrap().count(), 1);
}

#[tokio::test]
async fn what_another_try_could_mend_is_told_from_what_it_couldnt() {
    for (bytes, is_final) in [
        (b"nonsense".to_vec(), true),
        (wat("(component)"), true),
        (Guest { schema: "true", ..Guest::default() }.build(), false),
        (Guest { describe: "unreachable", ..Guest::default() }.build(), false),
    ] {
        let error = refused(&bytes, |_| {}).await;
        assert_eq!(error.is_final(), is_final, "{error}");
    }
    let error = refused(&Guest::default().build(), |config| config.source.set_file_name("none")).await;
    assert!(!error.is_final());
}
