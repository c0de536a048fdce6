//! Files that aren't plugins, and the resulting errors and hints.

use std::sync::Arc;

use bytesize::ByteSize;
use moongate_config::PluginConfig;
use moongate_model::caller::Caller;
use moongate_model::manifest::Manifest;
use moongate_model::names::{Digest, PluginId};
use moongate_model::plugin::Plugin as _;
use moongate_system::background;
use tempfile::TempDir;

use super::blocking;
use crate::tests::{Guest, component, config, host, load, load_file};
use crate::{ComponentFile, LoadError, PathOrigin, WasmHost};

/// The error of loading these bytes.
pub(super) async fn load_error(bytes: &[u8], change: impl FnOnce(&mut PluginConfig)) -> LoadError {
    let dir = TempDir::new().unwrap();
    let mut config = config(dir.path(), bytes);
    change(&mut config);
    load_file(&host(dir.path()), &Arc::new(config)).await.unwrap_err()
}

/// The hint, for a file that the configuration of plugin `p` names.
pub(super) fn hint(error: &LoadError) -> Option<String> {
    let config = PluginConfig::ungranted(PluginId::new("p").unwrap(), "p.wasm".into());
    error.hint(PathOrigin::Config(&config))
}

async fn message(bytes: &[u8]) -> String {
    load_error(bytes, |_| {}).await.to_string()
}

fn wat(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

#[tokio::test]
async fn names_files_that_are_not_components() {
    for (bytes, said) in [
        (&b""[..], "the file isn't a WebAssembly component: it is empty"),
        (b"<!DOCTYPE html>", "the file isn't a WebAssembly component: it looks like a web page"),
        (b"(component)", "the file isn't a WebAssembly component: it is in WebAssembly's text format"),
        (
            b"\x7fELF\x02\x01\x01\x00",
            "the file isn't a WebAssembly component: it doesn't start with `\\0asm`",
        ),
        (b"\0asm", "the component is broken: truncated within its header"),
        (b"\0asm\x01\0\0\0", "the file is a core WebAssembly module, not a component"),
    ] {
        assert_eq!(message(bytes).await, said);
    }
}

#[tokio::test]
async fn detects_truncation_anywhere() {
    let whole = Guest::default().build();
    for part in [9, 100, whole.len() / 2, whole.len() - 1] {
        let error = load_error(&whole[..part], |_| {}).await;
        let said = error.to_string();
        assert!(said.starts_with("the component is broken: truncated"), "{part}: {said}");
    }
}

#[tokio::test]
async fn refuses_components_with_async_functions() {
    let cancels = wat("(component (core func (canon task.cancel)))");
    let returns = wat("(component (core func (canon task.return)))");
    for bytes in [cancels, returns] {
        let error = load_error(&bytes, |_| {}).await;
        assert_eq!(
            error.to_string(),
            "the component uses the component model's async functions, which this gateway doesn't support"
        );
        assert_eq!(hint(&error).unwrap(), "build it without async (componentize-qjs: `--sync`)");
    }
}

#[tokio::test]
async fn refuses_machine_code() {
    let engine = wasmtime::Engine::default();
    let code = engine.precompile_component(&wat("(component)")).unwrap();
    assert!(matches!(load_error(&code, |_| {}).await, LoadError::Precompiled));
}

#[tokio::test]
async fn checks_size_digest_and_type_of_the_file() {
    let bytes = Guest::default().build();
    let error = load_error(&bytes, |config| config.limits.component = ByteSize::b(1000)).await;
    assert!(matches!(error, LoadError::TooLarge { .. }), "{error}");
    let error = load_error(&bytes, |config| config.sha256 = Some(Digest::of(b"another"))).await;
    let hint = hint(&error).unwrap();
    assert!(hint.contains(&Digest::of(&bytes).to_string()), "{hint}");
    let error = load_error(&bytes, |config| assert!(config.source.pop())).await;
    assert!(matches!(error, LoadError::NotAFile { directory: true, .. }), "{error}");
}

#[tokio::test]
async fn refuses_components_without_the_required_export() {
    assert_eq!(
        message(&wat("(component)")).await,
        "the component exports no interface of moongate:plugin and no functions"
    );
    let no_lifecycle = component(
        "export moongate:plugin/completions@0.1.0;",
        r#"(module (memory (export "memory") 1)
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
            (func (export "moongate:plugin/completions@0.1.0#complete")
                (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32) unreachable))"#,
    );
    assert_eq!(message(&no_lifecycle).await, "the component doesn't export `lifecycle`, which is required");
}

#[tokio::test]
async fn names_another_version_of_the_contract() {
    let import = wat(r#"(component (import "moongate:plugin/log@0.2.0" (instance)))"#);
    assert_eq!(
        message(&import).await,
        "the component was built for moongate:plugin@0.2.0; this gateway supports 0.1"
    );
    let export = wat(r#"(component (instance $i) (export "moongate:plugin/tools@1.0.0" (instance $i)))"#);
    assert_eq!(
        message(&export).await,
        "the component was built for moongate:plugin@1.0.0; this gateway supports 0.1"
    );
}

#[tokio::test]
async fn names_functions_of_a_newer_contract() {
    let newer = wat(r#"(component
            (import "moongate:plugin/request@0.1.7" (instance
                (export "cancelled" (func (result bool))) (export "brand-new" (func))))
            (import "moongate:plugin/later@0.1.7" (instance)))"#);
    let error = load_error(&newer, |_| {}).await;
    assert_eq!(
        error.to_string(),
        "the component needs `request.brand-new`, `later`, which this gateway doesn't offer"
    );
}

#[tokio::test]
async fn names_unknown_imports() {
    let foreign = wat(r#"(component
            (import "wasi:http/incoming-handler@0.2.0" (instance))
            (import "wasi:keyvalue/store@0.2.0-draft" (instance))
            (import "wasi:cli/environment@0.3.0" (instance))
            (import "help" (func)))"#);
    assert_eq!(
        message(&foreign).await,
        "the component imports `wasi:http/incoming-handler@0.2.0`, `wasi:keyvalue/store@0.2.0-draft`, \
         `wasi:cli/environment@0.3.0`, `help`, which this gateway doesn't offer"
    );
}

#[tokio::test]
async fn names_the_version_of_an_interface_that_is_offered() {
    for (import, wanted) in [
        ("wasi:cli/environment@0.3.0", "build it for wasm32-wasip2"),
        ("wasi:keyvalue/store@0.2.0-draft", "build it with tools for `wasi:keyvalue/store@0.2.0-draft2`"),
        ("wasi:config/store@0.2.0-draft", "build it with tools for `wasi:config/store@0.2.0-rc.1`"),
        ("wasi:cli/environment@0.2.0-rc-2023-11-10", "build it with tools for `wasi:cli/environment@0.2.0`"),
        (
            "wasi:nn/graph@0.2.0-rc-2024-10-28",
            "plugins can import only WASI 0.2 and moongate:plugin; build it without other imports",
        ),
    ] {
        let error = load_error(&wat(&format!("(component (import \"{import}\" (instance)))")), |_| {}).await;
        assert_eq!(hint(&error).unwrap(), wanted);
    }
}

#[tokio::test]
async fn names_an_exported_function_of_the_wrong_type() {
    // `describe` with a parameter that isn't in the contract.
    let wrong = wat(r#"(component
            (core module $m (func (export "f") (param i32)))
            (core instance $i (instantiate $m))
            (func $f (param "a" u32) (canon lift (core func $i "f")))
            (instance $l (export "describe" (func $f)))
            (export "moongate:plugin/lifecycle@0.1.0" (instance $l)))"#);
    let said = message(&wrong).await;
    assert!(
        said.contains(
            "the component's export `lifecycle` doesn't match the contract: `describe`: type mismatch"
        ),
        "{said}"
    );
    let missing =
        wat(r#"(component (instance $i) (export "moongate:plugin/lifecycle@0.1.0" (instance $i)))"#);
    let said = message(&missing).await;
    assert!(
        said.starts_with("the component's export `lifecycle` doesn't match the contract:")
            && said.contains("`describe`"),
        "{said}"
    );
}

#[tokio::test]
async fn refuses_an_import_of_the_wrong_type() {
    let wrong = wat(r#"(component (import "moongate:plugin/request@0.1.0" (instance
            (export "cancelled" (func (result u32))))))"#);
    let error = load_error(&wrong, |_| {}).await;
    assert!(
        matches!(&error, LoadError::ImportMismatch { reason } if reason.contains("cancelled")),
        "{error}"
    );
}

#[tokio::test]
async fn names_the_function_that_failed_to_describe() {
    let trap = Guest { describe: "unreachable", ..Guest::default() }.build();
    let trapped = message(&trap).await;
    assert!(
        trapped.starts_with("`lifecycle.describe` failed: ") && trapped.contains("it aborted"),
        "{trapped}"
    );
    let endless = Guest { describe: "(loop $again (br $again))", ..Guest::default() }.build();
    let error = load_error(&endless, |config| {
        config.limits.describe_timeout = std::time::Duration::from_millis(20);
    })
    .await;
    let message = error.to_string();
    assert!(message.starts_with("`lifecycle.describe` failed: ") && message.contains("20ms"), "{message}");
    assert_eq!(
        hint(&error).unwrap(),
        "raise `limits.describe_timeout`: write `describe_timeout = \"10s\"` in `[plugins.p.limits]`"
    );
}

#[tokio::test]
async fn checks_the_description() {
    for (schema, said) in [
        ("true", "`input-schema`: the root must be an object with `\"type\": \"object\"`"),
        (r#"{"type":"array"}"#, "`input-schema`: the root's `type` must be \"object\", not \"array\""),
        ("nonsense", "`input-schema`: invalid JSON: expected ident at line 1 column 2"),
        (r#"{"a":1,"a":2}"#, "`input-schema`: invalid JSON: duplicate"),
    ] {
        let dir = TempDir::new().unwrap();
        let guest = Guest { schema, ..Guest::default() };
        let plugin = load(&host(dir.path()), dir.path(), &guest, |_| {}).await;
        let Manifest { tools, rejected, .. } = plugin.manifest();
        let [item] = &rejected[..] else { panic!("{rejected:?}") };
        assert_eq!((tools.len(), item.name.as_str()), (0, "run"));
        assert!(item.reason.starts_with(said), "{}", item.reason);
    }
    let too_many = load_error(&Guest::default().build(), |config| config.limits.items = 0).await;
    let said = too_many.to_string();
    assert!(said.starts_with("invalid plugin description: 1 tools") && !too_many.is_final(), "{said}");
    let dir = TempDir::new().unwrap();
    let guest = Guest { schema: r#"{"properties":{}}"#, ..Guest::default() };
    let plugin = load(&host(dir.path()), dir.path(), &guest, |_| {}).await;
    let [tool] = &plugin.manifest().tools[..] else { panic!("{:?}", plugin.manifest()) };
    assert_eq!(tool.input_schema.get(), r#"{"type":"object","properties":{}}"#);
    assert_eq!(plugin.manifest().info.name, "guest");
}

/// Writes and reads a component's file.
async fn candidate(host: &WasmHost, config: &Arc<PluginConfig>, guest: &Guest) -> ComponentFile {
    std::fs::write(&config.source, guest.build()).unwrap();
    host.read(config).await.unwrap()
}

#[tokio::test]
async fn a_load_dropped_while_another_compiles_compiles_nothing() {
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let config = Arc::new(config(dir.path(), b""));
    host.start_serving(); // one at a time
    let (permit, _) = host.loader.compile_slots.acquire().await.unwrap();
    let dropped = candidate(&host, &config, &Guest::default()).await;
    let waiting = candidate(&host, &config, &Guest::that("nop")).await;
    {
        let mut load = std::pin::pin!(host.load(Arc::clone(&config), dropped));
        tokio::select! {
            biased;
            loaded = &mut load => panic!("compiled without a permit: {loaded:?}"),
            () = tokio::time::sleep(std::time::Duration::from_millis(20)) => {}
        }
    }
    let waiting = host.load(Arc::clone(&config), waiting);
    let (loaded, ()) = tokio::join!(waiting, async { drop(permit) });
    loaded.unwrap();
    let entries = std::fs::read_dir(dir.path().join("cache")).unwrap().map(|entry| entry.unwrap().path());
    assert_eq!(entries.filter(|path| path.extension().is_some_and(|it| it == "cwasm")).count(), 1);
}

#[tokio::test]
async fn only_errors_that_depend_on_the_bytes_are_final() {
    for (bytes, is_final) in [
        (b"nonsense".to_vec(), true),
        (wat("(component)"), true),
        (Guest { describe: "unreachable", ..Guest::default() }.build(), false),
    ] {
        let error = load_error(&bytes, |_| {}).await;
        assert_eq!(error.is_final(), is_final, "{error}");
    }
    let error = load_error(&Guest::default().build(), |config| config.source.set_file_name("none")).await;
    assert!(!error.is_final());
}

/// Otherwise the first tool list would wait for a thousand plugins that are described again at startup.
#[tokio::test]
async fn loads_for_background_work_stay_at_its_priority() {
    let thread = || Ok(std::thread::current().name().unwrap_or_default().to_owned());
    let background = background::spawn(&Caller::Local, async move { blocking(thread).await.unwrap() }).await;
    assert!(background.starts_with("moongate-bg"), "{background}");
    let other = blocking(thread).await.unwrap();
    assert!(!other.starts_with("moongate-bg"), "{other}");
}
