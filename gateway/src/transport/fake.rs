//! A server with a fake plugin, for testing the transports.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use moongate_model::call::{CallContext, CallError, Content, Outcome, ToolResult};
use moongate_model::names::Digest;
use moongate_protocol::catalog::fake::{FakePlugin, IntoCatalogPlugin as _};
use moongate_protocol::catalog::{Catalog, CatalogBuild};
use moongate_protocol::dispatch::Dispatcher;
use moongate_protocol::limiter::ConcurrencyLimiter;
use moongate_protocol::mcp::{CacheScope, Identity, ProtocolOptions, SealingKey};
use moongate_protocol::server::{Server, ServerMemory, ServerOptions};
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;

/// The stateless revision of [`request`].
pub(super) const REVISION: &str = "2026-07-28";

/// The maximum size of one caller's unread answers, more than the buffers of a socket hold.
pub(super) const CALLER_UNREAD_BYTES: u64 = 16 * 1024 * 1024;

/// The time that `clean_up` takes after its cancellation.
pub(super) const CLEAN_UP_TIME: Duration = Duration::from_millis(250);

/// A server, and signals from its plugin.
pub(super) struct FakeServer {
    pub(super) server: Arc<Server>,
    pub(super) signals: Arc<Signals>,
    cancel_grace: Duration,
    catalogs: watch::Sender<Arc<Catalog>>,
}

/// Events in the plugin.
#[derive(Debug, Default)]
pub(super) struct Signals {
    /// A call of `wait` has started.
    pub(super) waiting: Notify,
    /// A call of `wait` was dropped.
    pub(super) dropped: Notify,
    /// A call of `clean_up` has finished after its cancellation.
    pub(super) cleaned_up: CancellationToken,
}

struct NotifyOnDrop(Arc<Signals>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        self.0.dropped.notify_one();
    }
}

impl FakeServer {
    pub(super) fn new(cancel_grace: Duration) -> Self {
        let signals = Arc::<Signals>::default();
        let (catalogs, seen) = watch::channel(catalog(1, &[], cancel_grace, &signals));
        let options = ServerOptions {
            protocol: ProtocolOptions {
                identity: Identity::default(),
                cache_scope: CacheScope::Public,
                page_size: None,
                sealing_key: SealingKey::shared("test"),
                used_states: None,
            },
            max_sessions: 8,
            session_idle: Duration::from_secs(60),
            updates: Arc::default(),
            close_streams_after: None,
            shared: None,
            memory: ServerMemory { responses: 8 * CALLER_UNREAD_BYTES, ..ServerMemory::of_process(4 << 30) },
        };
        let server = Server::new(Dispatcher::new(seen, Arc::new(ConcurrencyLimiter::new(64))), options);
        Self { server, signals, cancel_grace, catalogs }
    }

    /// Metrics of the catalog.
    pub(super) fn metrics(&self) -> Arc<Metrics> {
        Metrics::new(self.catalogs.subscribe(), watch::channel(Vec::new()).1)
    }

    /// Publishes a catalog in which the plugin has additional tools.
    pub(super) fn publish(&self, generation: u64, tools: &[&str]) {
        self.catalogs.send_replace(catalog(generation, tools, self.cancel_grace, &self.signals));
    }
}

/// A catalog of one plugin with these tools: `whoami` returns the caller, `text` returns `size` bytes, `wait` never
/// returns, and `clean_up` returns [`CLEAN_UP_TIME`] after its cancellation.
fn catalog(generation: u64, tools: &[&str], cancel_grace: Duration, signals: &Arc<Signals>) -> Arc<Catalog> {
    let schema = json!({ "type": "object" });
    let names = ["whoami", "text", "wait", "clean_up"].iter().chain(tools);
    let mut plugin = names.fold(FakePlugin::new("fake"), |plugin, name| plugin.tool(name, &schema, None));
    plugin.digest = Digest::of(&generation.to_be_bytes());
    let signals = Arc::clone(signals);
    plugin.on_tool = Some(Box::new(move |context, (name, arguments)| {
        Box::pin(call_tool(Arc::clone(&signals), context, name, arguments))
    }));
    let catalog_plugin = plugin.into_catalog_plugin(|policy| {
        policy.prefix = String::new();
        policy.cancel_grace = cancel_grace;
    });
    let CatalogBuild { catalog, refused, .. } = Catalog::build(generation, vec![catalog_plugin], None);
    assert_eq!(refused, []);
    Arc::new(catalog)
}

async fn call_tool(
    signals: Arc<Signals>,
    context: Arc<CallContext>,
    name: String,
    arguments: String,
) -> Result<Outcome<ToolResult>, CallError> {
    let text = match name.as_str() {
        "text" => {
            let arguments: Value = serde_json::from_str(&arguments).unwrap();
            "x".repeat(usize::try_from(arguments["size"].as_u64().unwrap()).unwrap())
        }
        "wait" => {
            let _on_drop = NotifyOnDrop(Arc::clone(&signals));
            signals.waiting.notify_one();
            pending().await
        }
        "clean_up" => {
            context.cancel.cancelled().await;
            tokio::time::sleep(CLEAN_UP_TIME).await;
            signals.cleaned_up.cancel();
            String::new()
        }
        _ => context.caller.principal().to_string(),
    };
    Ok(Outcome::Done(ToolResult { content: vec![Content::text(text)], ..ToolResult::default() }))
}

/// A request in [`REVISION`].
pub(super) fn request(id: &str, method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": REVISION,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// A tool call in [`REVISION`].
pub(super) fn call(id: &str, tool: &str, arguments: &Value) -> String {
    request(id, "tools/call", json!({ "name": tool, "arguments": arguments }))
}

/// An `initialize` request of the last handshake revision.
pub(super) fn initialize() -> String {
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": "initialize", "method": "initialize", "params": params }).to_string()
}
