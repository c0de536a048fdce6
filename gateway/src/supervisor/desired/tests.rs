//! What holds at once and what waits.

use moongate_core::names::PluginId;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use moongate_core::config::from_text;

use super::*;

/// A configuration whose secret is being written to.
#[derive(Default)]
struct Written(AtomicUsize);

impl Reader for Written {
    fn read(&self) -> config::Loaded {
        let secret = ["ab", "abc", "abc"][self.0.fetch_add(1, Ordering::Relaxed)];
        let variables = [("KEY", secret), ("MOONGATE_CACHE_DIR", "/cache")];
        let variables: BTreeMap<_, _> = variables.map(|(a, b)| (a.to_owned(), b.to_owned())).into();
        let text = "version = 1\n[plugins.a]\nsource = '/a'\nconfig.k = { env = 'KEY' }\n";
        from_text(Path::new("/gateway.toml"), text.to_owned(), &variables)
    }
}

#[tokio::test]
async fn half_a_secret_is_not_taken_though_the_file_that_names_it_is_the_same() {
    let loaded = settled(Arc::new(Written::default())).await;
    let config = loaded.config.unwrap();
    assert_eq!(config.plugins[0].config["k"].expose(), "abc");
}

fn bare() -> PluginConfig {
    PluginConfig::bare(PluginId::new("a").unwrap(), PathBuf::from("a.wasm"))
}

fn granted() -> PluginConfig {
    let mut table = bare();
    table.allow.instructions = true;
    table
}

#[test]
fn only_grants_that_are_new_wait_and_only_where_they_should() {
    let (table, before) = (granted(), granted());
    assert_eq!(fate(None, &table, WiderGrants::Live), Fate::Take);
    assert_eq!(fate(Some(&before), &table, WiderGrants::Wait), Fate::Take);
    assert!(matches!(fate(Some(&bare()), &table, WiderGrants::Wait), Fate::Hold(_)));
    assert!(matches!(fate(None, &table, WiderGrants::Wait), Fate::Hold(_)));
    assert_eq!(fate(Some(&before), &bare(), WiderGrants::Wait), Fate::Take, "less is granted at once");
}

#[test]
fn only_the_operator_loosens_what_becomes_of_wider_grants() {
    use WiderGrants::{Live, Wait};
    for (now, written, asked, next) in [
        (Live, Wait, false, Wait),
        (Wait, Live, false, Wait),
        (Wait, Live, true, Live),
        (Live, Live, false, Live),
        (Wait, Wait, true, Wait),
    ] {
        assert_eq!(policy(now, written, asked), next, "{now:?} {written:?} {asked}");
    }
}
