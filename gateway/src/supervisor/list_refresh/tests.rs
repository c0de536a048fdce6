//! Lists that change while the plugin serves. The guest's tool stores its arguments as a key and reports a change; its
//! list depends on the stored keys.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use moongate_config::parse_config;
use moongate_model::call::CallContext;
use moongate_model::caller::Caller;
use moongate_model::names::{Principal, ToolName};
use moongate_protocol::changes::ChangeListener;
use tempfile::TempDir;
use tokio::sync::watch;

use super::*;
use crate::supervisor::{Supervisor, SupervisorOptions};
use moongate_host::test_support::Guest;

/// Its tool is named `ru` if the key `short` is stored, and its list crashes if `broken` is.
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
            (if (call $is-there (i32.const 3620) (i32.const 6)) (then unreachable))",
        body: "
            (call $set (call $bucket) (local.get $args) (local.get $args-length)
                (i32.const 0) (i32.const 0) (i32.const 3740))
            (call $tools)
            (call $updated (local.get $args) (local.get $args-length))",
        ..Guest::default()
    }
}

struct Fixture {
    supervisor: Supervisor,
    catalog: watch::Receiver<Arc<Catalog>>,
    updates: Arc<ResourceUpdates>,
    _dir: TempDir,
}

impl Fixture {
    async fn new() -> Self {
        let dir = TempDir::new().unwrap();
        std::fs::write(dir.path().join("guest.wasm"), guest().build()).unwrap();
        let text = "version = 1\n[plugins.guest]\nsource = \"guest.wasm\"\nallow.state = true\n";
        let cache = dir.path().join("cache").display().to_string();
        let variables = BTreeMap::from([("MOONGATE_CACHE_DIR".to_owned(), cache)]);
        let loaded = parse_config(&dir.path().join("gateway.toml"), text.to_owned(), &variables);
        let supervisor = Supervisor::start(loaded.config.unwrap(), SupervisorOptions::once()).await.unwrap();
        let mut catalog = supervisor.catalog();
        let updates = Arc::clone(supervisor.updates());
        catalog.mark_unchanged();
        Self { supervisor, catalog, updates, _dir: dir }
    }

    /// Stores a key, which reports a change.
    async fn store(&self, key: &str) {
        let context = Arc::new(CallContext::internal(Caller::Local));
        let catalog = Arc::clone(&self.supervisor.catalog().borrow());
        let plugin = catalog.plugins()[0].plugin();
        plugin.call_tool(context, &ToolName::new("run").unwrap(), key).await.unwrap();
    }

    fn names(&self) -> Vec<String> {
        self.catalog.borrow().tools().iter().map(|tool| tool.public_name().to_string()).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn changed_lists_are_published() {
    let mut fixture = Fixture::new().await;
    let before = Arc::clone(&fixture.catalog.borrow());
    let names_before = fixture.names();
    fixture.store("short").await;
    fixture.catalog.changed().await.unwrap();
    assert_eq!((names_before, fixture.names()), (vec!["guest_run".to_owned()], vec!["guest_ru".to_owned()]));
    assert_eq!(fixture.catalog.borrow().generation(), before.generation() + 1);
    assert!(before.tool("guest_run").is_some(), "requests keep the catalog that they started with");
    // Reports without a change publish nothing.
    for _ in 0..50 {
        fixture.store("other").await;
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(!fixture.catalog.has_changed().unwrap());
}

#[tokio::test(start_paused = true)]
async fn failing_lists_change_nothing_and_are_logged() {
    let lines = Arc::new(AtomicUsize::new(0));
    let _guard = tracing::subscriber::set_default(CountingSubscriber(Arc::clone(&lines)));
    let fixture = Fixture::new().await;
    fixture.store("broken").await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(!fixture.catalog.has_changed().unwrap());
    assert_eq!(lines.load(Ordering::Relaxed), 1);
    assert_eq!(fixture.names(), ["guest_run"]);
}

#[tokio::test(start_paused = true)]
async fn foreign_resources_notify_no_client() {
    let fixture = Fixture::new().await;
    let listener = ChangeListener::new(fixture.catalog.clone(), &fixture.updates, Principal::Anonymous, []);
    listener.subscribe(&Caller::LOOPBACK, &ResourceUri::new("file:///etc/passwd").unwrap()).unwrap();
    fixture.store("file:///etc/passwd").await;
    let notified = tokio::time::timeout(Duration::from_secs(10), listener.next()).await;
    assert!(notified.is_err(), "{notified:?}");
}

#[tokio::test]
async fn panic_is_an_error_of_one_plugin() {
    let result = catch_panic(async { panic!("requested by the test") }).await;
    assert!(result.unwrap_err().contains("internal error"));
}

#[tokio::test]
async fn dropped_resources_are_logged_once() {
    let lines = Arc::new(AtomicUsize::new(0));
    let _guard = tracing::subscriber::set_default(CountingSubscriber(Arc::clone(&lines)));
    let catalog = Catalog::empty();
    let updates = ResourceUpdates::default();
    let mut refreshes = ListRefreshes::default();
    let plugin = PluginId::new("guest").unwrap();
    for round in 0..5 {
        let uris = (0..1000).map(|at| ResourceUri::new(&format!("test://{round}/{at}")).unwrap());
        let reported = ReportedChanges { lists: true, resources: uris.collect() };
        refreshes.report(&plugin, reported.clone(), &catalog, &updates);
        refreshes.report(&plugin, reported, &catalog, &updates);
    }
    assert_eq!((refreshes.waiting[&plugin].len(), lines.load(Ordering::Relaxed)), (MAX_WAITING_RESOURCES, 1));
}

/// Counts the warnings of this module.
struct CountingSubscriber(Arc<AtomicUsize>);

impl tracing::Subscriber for CountingSubscriber {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() == tracing::Level::WARN
            && metadata.target().starts_with("moongate::supervisor::list_refresh")
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
