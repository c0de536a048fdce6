//! Lists that change while the plugin serves. The guest's tool keeps its arguments' text as a key and reports a change;
//! which keys there are is what its list depends on.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use moongate_core::call::CallContext;
use moongate_core::changes::Listener;
use moongate_core::config::from_text;
use moongate_core::names::{Principal, ToolName};
use tempfile::TempDir;
use tokio::sync::watch;

use super::*;
use crate::host::tests::Guest;
use crate::supervisor::{Options, Supervisor};

/// Its tool is called `ru` where the key `short` is kept, and nothing at all where `broken` is.
fn guest() -> Guest {
    Guest {
        world: "import wasi:keyvalue/store@0.2.0-draft2; import moongate:plugin/changes@0.1.0;",
        fields: r#"
            (import "wasi:keyvalue/store@0.2.0-draft2" "open" (func $open (param i32 i32 i32)))
            (import "wasi:keyvalue/store@0.2.0-draft2" "[method]bucket.set"
                (func $set (param i32 i32 i32 i32 i32 i32)))
            (import "wasi:keyvalue/store@0.2.0-draft2" "[method]bucket.exists"
                (func $exists (param i32 i32 i32 i32)))
            (import "moongate:plugin/changes@0.1.0" "tools-changed" (func $tools))
            (import "moongate:plugin/changes@0.1.0" "resource-updated" (func $updated (param i32 i32)))
            (data (i32.const 3600) "short") (data (i32.const 3620) "broken")
            (func $bucket (result i32)
                (call $open (i32.const 0) (i32.const 0) (i32.const 3700))
                (i32.load (i32.const 3704)))
            (func $is-there (param $key i32) (param $length i32) (result i32)
                (call $exists (call $bucket) (local.get $key) (local.get $length) (i32.const 3720))
                (i32.load8_u (i32.const 3724)))"#,
        list: "
            (if (call $is-there (i32.const 3600) (i32.const 5)) (then (i32.store (i32.const 2308) (i32.const 2))))
            (if (call $is-there (i32.const 3620) (i32.const 6)) (then (i32.store (i32.const 2308) (i32.const 0))))",
        body: "
            (call $set (call $bucket) (local.get $args) (local.get $args-length)
                (i32.const 0) (i32.const 0) (i32.const 3740))
            (call $tools)
            (call $updated (local.get $args) (local.get $args-length))",
        ..Guest::default()
    }
}

struct Bench {
    supervisor: Supervisor,
    catalog: watch::Receiver<Arc<Catalog>>,
    updates: Arc<Updates>,
    _dir: TempDir,
}

impl Bench {
    async fn new() -> Self {
        let dir = TempDir::new().unwrap();
        std::fs::write(dir.path().join("guest.wasm"), guest().build()).unwrap();
        let text = "version = 1\n[plugins.guest]\nsource = \"guest.wasm\"\nallow.state = true\n";
        let cache = dir.path().join("cache").display().to_string();
        let variables = BTreeMap::from([("MOONGATE_CACHE_DIR".to_owned(), cache)]);
        let loaded = from_text(&dir.path().join("gateway.toml"), text.to_owned(), &variables);
        let supervisor = Supervisor::start(loaded.config.unwrap(), Options::once()).await.unwrap();
        let (mut catalog, updates) = (supervisor.catalog(), Arc::clone(supervisor.updates()));
        catalog.mark_unchanged();
        Self { supervisor, catalog, updates, _dir: dir }
    }

    /// Keeps a key, and with that reports a change.
    async fn keep(&self, key: &str) {
        let context = Arc::new(CallContext::internal(Principal::Local));
        let catalog = Arc::clone(&self.supervisor.catalog().borrow());
        let plugin = catalog.members()[0].plugin();
        plugin.call_tool(context, &ToolName::new("run").unwrap(), key).await.unwrap();
    }

    fn names(&self) -> Vec<String> {
        self.catalog.borrow().tools().iter().map(|tool| tool.public().to_string()).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_of_what_the_lists_depend_on_is_published() {
    let mut bench = Bench::new().await;
    let (before, running) = (Arc::clone(&bench.catalog.borrow()), bench.names());
    bench.keep("short").await;
    bench.catalog.changed().await.unwrap();
    assert_eq!((running, bench.names()), (vec!["guest_run".to_owned()], vec!["guest_ru".to_owned()]));
    assert_eq!(bench.catalog.borrow().generation(), 2);
    assert!(before.tool("guest_run").is_some(), "whoever began with the old one keeps it");
    // Reports that change nothing publish nothing, and the last of many isn't lost.
    for _ in 0..50 {
        bench.keep("other").await;
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(!bench.catalog.has_changed().unwrap());
}

#[tokio::test(start_paused = true)]
async fn lists_that_cannot_be_used_change_nothing_and_are_told_of() {
    let lines = Arc::new(AtomicUsize::new(0));
    let _guard = tracing::subscriber::set_default(Counting(Arc::clone(&lines)));
    let bench = Bench::new().await;
    bench.keep("broken").await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(!bench.catalog.has_changed().unwrap());
    assert_eq!(lines.load(Ordering::Relaxed), 1);
    assert_eq!(bench.names(), ["guest_run"]);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_told_of_resources_that_are_not_the_plugins_own() {
    let bench = Bench::new().await;
    let listener = Listener::new(bench.catalog.clone(), &bench.updates, []);
    listener.subscribe(&ResourceUri::new("file:///etc/passwd").unwrap()).unwrap();
    bench.keep("file:///etc/passwd").await;
    let told = tokio::time::timeout(Duration::from_secs(10), listener.next()).await;
    assert!(told.is_err(), "{told:?}");
}

#[tokio::test]
async fn a_panic_over_one_plugins_lists_does_not_end_the_asking_of_all() {
    let asked = guarded(async { panic!("as it was asked to") }).await;
    assert!(asked.unwrap_err().contains("the gateway failed"));
}

#[tokio::test]
async fn resources_that_are_not_kept_until_the_lists_are_there_are_told_of_once() {
    let lines = Arc::new(AtomicUsize::new(0));
    let _guard = tracing::subscriber::set_default(Counting(Arc::clone(&lines)));
    let (catalog, updates) = (Catalog::empty(), Updates::default());
    let mut relists = Relists::default();
    let plugin = PluginId::new("guest").unwrap();
    for round in 0..5 {
        let uris = (0..1000).map(|at| ResourceUri::new(&format!("test://{round}/{at}")).unwrap());
        let reported = Reported { lists: true, resources: uris.collect() };
        relists.reported(&plugin, reported.clone(), &catalog, &updates);
        relists.reported(&plugin, reported, &catalog, &updates);
    }
    assert_eq!((relists.waiting[&plugin].len(), lines.load(Ordering::Relaxed)), (WAITING, 1));
}

/// Counts warnings of relisting.
struct Counting(Arc<AtomicUsize>);

impl tracing::Subscriber for Counting {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() == tracing::Level::WARN
            && metadata.target().starts_with("moongate::supervisor::relist")
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, _: &tracing::Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}
