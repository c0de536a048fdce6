//! The tables match the linker.

use wasmtime::component::Component;

use super::*;

/// True if the linker has this export of the interface. Its type doesn't matter.
fn has(linker: &Linker<StoreState>, interface: &str, export: &str) -> bool {
    let link = |kind: &str| {
        let text = format!("(component (import \"{interface}\" (instance (export \"{export}\" ({kind})))))");
        let component = Component::from_binary(linker.engine(), &wat::parse_str(text).unwrap()).unwrap();
        linker.instantiate_pre(&component).map(drop)
    };
    match link("func").map_err(|error| format!("{error:#}")) {
        Ok(()) => true,
        Err(error) if error.contains("expected func found") => link("type (sub resource)").is_ok(),
        Err(error) => !error.contains("missing"),
    }
}

/// An export of the interface; for some, the name needs the prefix `get-`.
fn some_export(interface: &'static str) -> &'static str {
    match interface {
        "wasi:cli/environment" => "get-environment",
        "wasi:clocks/monotonic-clock" | "wasi:clocks/wall-clock" => "now",
        "wasi:filesystem/preopens" => "get-directories",
        "wasi:filesystem/types" => "filesystem-error-code",
        "wasi:http/outgoing-handler" => "handle",
        "wasi:http/types" => "http-error-code",
        "wasi:io/streams" => "output-stream",
        "wasi:random/insecure" => "get-insecure-random-u64",
        "wasi:random/random" => "get-random-u64",
        "wasi:sockets/ip-name-lookup" => "resolve-addresses",
        "wasi:sockets/tcp" => "tcp-socket",
        "wasi:sockets/tcp-create-socket" => "create-tcp-socket",
        "wasi:sockets/udp" => "udp-socket",
        "wasi:sockets/udp-create-socket" => "create-udp-socket",
        "wasi:config/store@0.2.0-rc.1" => "get-all",
        "wasi:keyvalue/atomics@0.2.0-draft2" => "increment",
        "wasi:keyvalue/store@0.2.0-draft2" => "open",
        other => other.split_once('/').unwrap().1,
    }
}

#[test]
fn every_interface_in_the_tables_is_linked() {
    let linker = linker(&Engine::default()).unwrap();
    for interface in WASI_IMPORTS {
        let name = format!("{interface}@0.2.0");
        let export = some_export(interface);
        assert!(has(&linker, &name, export) || has(&linker, &name, &format!("get-{export}")), "{interface}");
        assert!(is_known(&format!("{interface}@0.2.6")), "{interface}");
    }
    for draft in DRAFT_IMPORTS {
        assert!(has(&linker, draft, some_export(draft)) && is_known(draft), "{draft}");
    }
    for (interface, functions) in CONTRACT_IMPORTS {
        for function in functions {
            assert!(
                has(&linker, &format!("{CONTRACT_PACKAGE}/{interface}@0.1.0"), function),
                "{interface}.{function}"
            );
        }
    }
    for missing in ["wasi:http/incoming-handler@0.2.0", "wasi:cli/stdout@0.3.0"] {
        assert!(!has(&linker, missing, "get-stdout") && !is_known(missing), "{missing}");
    }
    assert!(!has(&linker, "wasi:cli/stdout@0.2.0", "brand-new"));
}

#[test]
fn the_contract_table_matches_the_wit() {
    let mut resolve = wit_parser::Resolve::default();
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
    let (package, _) = resolve.push_dir(path).unwrap();
    let imported = resolve.packages[package]
        .interfaces
        .iter()
        .filter(|(name, _)| !CONTRACT_EXPORTS.contains(&name.as_str()) || *name == "types");
    let mut found: Vec<(&str, Vec<&str>)> = imported
        .map(|(name, id)| {
            (name.as_str(), resolve.interfaces[*id].functions.keys().map(String::as_str).collect())
        })
        .collect();
    let mut table: Vec<(&str, Vec<&str>)> =
        CONTRACT_IMPORTS.iter().map(|(name, all)| (*name, all.to_vec())).collect();
    found.sort_unstable();
    table.sort_unstable();
    assert_eq!(found, table);
}

#[test]
fn many_long_imports_make_a_short_message() {
    let engine = Engine::default();
    let long = "c".repeat(20_000);
    for (package, said) in
        [("a:b", "the component imports `a:b/c"), (CONTRACT_PACKAGE, "the component needs `c")]
    {
        let imports: String =
            (0..900).map(|at| format!("(import \"{package}/{long}{at}@0.1.0\" (instance))")).collect();
        let bytes = wat::parse_str(format!("(component {imports})")).unwrap();
        let error = check(&engine, &Component::from_binary(&engine, &bytes).unwrap()).unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with(said) && message.contains(" and 892 more, which"), "{message}");
        assert!(message.len() < 2_000, "{} bytes", message.len());
        assert!(error.hint(crate::PathOrigin::CommandLine).is_none_or(|hint| hint.len() < 500));
    }
}
