//! The supervisor with real components, and with files that aren't components.

use std::collections::BTreeMap;
use std::fs;

use moongate_config::load_config;

use super::*;

mod file_watching;

#[tokio::test]
async fn failed_plugins_are_reported_at_their_source() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| fs::write(directory.path().join(name), content).unwrap();
    write("text.wasm", b"this isn't a component");
    write("core.wasm", b"\0asm\x01\0\0\0");
    write(
        "gateway.toml",
        b"version = 1\n[plugins.b]\nsource = \"text.wasm\"\n[plugins.a]\nsource = \"core.wasm\"\n",
    );
    let cache = directory.path().join("cache").display().to_string();
    let variables = BTreeMap::from([("MOONGATE_CACHE_DIR".to_owned(), cache)]);
    let loaded = load_config(&directory.path().join("gateway.toml"), &variables);
    let supervisor = Supervisor::start(loaded.config.unwrap(), SupervisorOptions::once()).await.unwrap();

    let problems: Vec<(&str, &str)> = supervisor
        .problems()
        .iter()
        .map(|problem| (problem.message.as_str(), &loaded.source.text[problem.span.clone().unwrap()]))
        .collect();
    let [(first, at_first), (second, at_second)] = problems.as_slice() else { panic!("{problems:?}") };
    assert!(first.starts_with("plugin `b` can't be loaded: "), "{first}");
    assert!(second.starts_with("plugin `a` can't be loaded: "), "{second}");
    assert_eq!((*at_first, *at_second), ("\"text.wasm\"", "\"core.wasm\""));
    assert_eq!(supervisor.totals(), CatalogTotals { failed: 2, ..CatalogTotals::default() });
}
