//! The order of modules, and which of them may speak of which library.

use std::fs;

use moongate_tests::{Floors, Rule, root};

/// No part of the core knows Wasm, HTTP libraries or files that change.
const CORE: Floors = Floors {
    sources: "gateway/core/src",
    modules: &[
        "json",
        "text",
        "names",
        "jsonrpc",
        "manifest",
        "call",
        "diagnostic",
        "policy",
        "plugin",
        "test_support",
        "config",
        "catalog",
        "gate",
        "dispatch",
        "changes",
        "mcp",
        "session",
        "server",
    ],
    rules: &[
        Rule { word: "wasmtime", only_in: &[] },
        Rule { word: "axum", only_in: &[] },
        Rule { word: "hyper", only_in: &[] },
        Rule { word: "notify", only_in: &[] },
        Rule { word: "clap", only_in: &[] },
        Rule { word: "println!", only_in: &[] },
        Rule { word: "eprintln!", only_in: &[] },
        Rule { word: "annotate_snippets", only_in: &["config"] },
        Rule { word: "toml", only_in: &["config"] },
        Rule { word: "jsonschema", only_in: &["catalog"] },
        Rule { word: "strsim", only_in: &["text"] },
    ],
};

const GATEWAY: Floors = Floors {
    sources: "gateway/src",
    modules: &[
        "telemetry",
        "blocking",
        "private_dir",
        "host",
        "supervisor",
        "metrics",
        "transport",
        "admin",
        "app",
        "cli",
        "fuzz",
    ],
    rules: &[
        Rule { word: "wasmtime", only_in: &["host"] },
        Rule { word: "wasmtime_wasi", only_in: &["host"] },
        Rule { word: "cap_primitives", only_in: &["host"] },
        Rule { word: "cap_fs_ext", only_in: &["host"] },
        Rule { word: "axum", only_in: &["transport", "admin"] },
        Rule { word: "hyper", only_in: &["host", "transport", "admin", "cli"] },
        Rule { word: "hyper_util", only_in: &["host", "transport", "admin", "cli"] },
        Rule { word: "rustls", only_in: &["host"] },
        Rule { word: "tokio_rustls", only_in: &["host"] },
        Rule { word: "wasmtime_wasi_http", only_in: &["host"] },
        Rule { word: "notify", only_in: &["supervisor"] },
        Rule { word: "rusqlite", only_in: &["host"] },
        Rule { word: "prometheus_client", only_in: &["metrics"] },
        Rule { word: "clap", only_in: &["cli"] },
        Rule { word: "anyhow", only_in: &["cli"] },
        Rule { word: "println!", only_in: &["cli"] },
        Rule { word: "eprintln!", only_in: &["cli"] },
    ],
};

#[test]
fn every_module_uses_only_those_below_it() {
    for floors in [CORE, GATEWAY] {
        let broken = floors.broken(&root());
        assert!(broken.is_empty(), "{}:\n{}", floors.sources, broken.join("\n"));
    }
}

#[test]
fn the_core_cannot_reach_sockets_or_wasm() {
    let manifest = fs::read_to_string(root().join("gateway/core/Cargo.toml")).unwrap();
    for word in ["wasmtime", "axum", "hyper", "notify", "\"net\"", "reqwest"] {
        assert!(!manifest.contains(word), "the core depends on `{word}`");
    }
}

#[test]
fn the_library_lists_its_modules_in_the_order_of_the_floors() {
    for floors in [CORE, GATEWAY] {
        let library = fs::read_to_string(root().join(floors.sources).join("lib.rs")).unwrap();
        let listed: Vec<&str> = library
            .lines()
            .filter_map(|line| line.strip_prefix("pub mod ").or_else(|| line.strip_prefix("mod ")))
            .map(|name| name.trim_end_matches(';'))
            .collect();
        let known: Vec<&str> = floors.modules.iter().copied().filter(|name| listed.contains(name)).collect();
        assert_eq!(listed, known, "{}", floors.sources);
    }
}

#[test]
fn a_module_that_reaches_upwards_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| fs::write(folder.path().join(file), text).unwrap();
    write(
        "low.rs",
        "// use crate::high;\nuse crate::{\n    high::Thing,\n    low,\n};\nfn f() { toolkit::go() }\n",
    );
    write("high.rs", "use crate::low;\nfn f() { println!(\"x\") }\n");
    write("stray.rs", "");
    let floors = Floors {
        sources: "",
        modules: &["low", "high"],
        rules: &[Rule { word: "toolkit", only_in: &["high"] }, Rule { word: "println!", only_in: &[] }],
    };
    assert_eq!(
        floors.broken(folder.path()),
        [
            "high.rs: `high` speaks of `println!`",
            "low.rs: `low` speaks of `toolkit`",
            "low.rs: `low` uses `high`, which stands above it",
            "stray.rs: module `stray` isn't on any floor",
        ]
    );
}
