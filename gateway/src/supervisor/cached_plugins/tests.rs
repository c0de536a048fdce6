use std::path::{Path, PathBuf};
use std::sync::Arc;

use moongate_config::parse_config;

use super::*;
use crate::supervisor::fake::{FakeDisk, FakeHost};

/// A search among plugins with these files, and the disk with the files.
fn search(files: &[&str]) -> (Arc<CachedPluginSearch>, Arc<FakeDisk>) {
    let disk: Arc<FakeDisk> = Arc::default();
    let mut config = "version = 1\n".to_owned();
    for (at, text) in files.iter().enumerate() {
        disk.files.lock().unwrap().insert(PathBuf::from(format!("/{at}.wasm")), (*text).to_owned());
        config += &format!("[plugins.p{at}]\nsource = \"/{at}.wasm\"\n");
    }
    let variables = [("MOONGATE_CACHE_DIR".to_owned(), "/cache".to_owned())];
    let loaded =
        parse_config(Path::new("/gateway.toml"), config, &std::collections::BTreeMap::from(variables));
    let configs = loaded.config.unwrap().plugins;
    (CachedPluginSearch::new(Arc::new(FakeHost(Arc::clone(&disk))), configs, false), disk)
}

fn found_at(found: &[Option<LoadedPlugin>]) -> Vec<usize> {
    (0..found.len()).filter(|at| found[*at].is_some()).collect()
}

#[tokio::test]
async fn plugins_are_found_in_the_order_of_the_configuration() {
    let (search, _) = search(&["cached a", "b", "cached panic", "cached c", "cached d", "", "cached e"]);
    let found = search.run().await;
    assert_eq!(found_at(&found), [0, 3, 4, 6]);
    for (at, plugin) in found.iter().enumerate() {
        assert!(plugin.as_ref().is_none_or(|plugin| plugin.config.id.as_str() == format!("p{at}")));
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_system_that_does_not_respond_ends_the_search_after_a_limited_time() {
    let (search, disk) = search(&["cached stuck", "cached a", "cached stuck", "cached b", "cached c"]);
    let running = tokio::spawn(Arc::clone(&search).run());
    while search.found.iter().filter(|found| found.get().is_some()).count() < 3 {
        tokio::task::yield_now().await;
    }
    tokio::time::advance(MAX_DURATION).await;
    assert_eq!(found_at(&running.await.unwrap()), [1, 3, 4]);
    disk.files.lock().unwrap().insert(PathBuf::from("/ready"), String::new()); // ends the threads
}
