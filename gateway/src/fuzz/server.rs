//! A server without Wasm for one arbitrary plugin, and a client that sends it requests.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use moongate_config::{ClientFeature, PluginConfig};
use moongate_model::test_support::FakePlugin;
use moongate_protocol::catalog::{Catalog, CatalogPlugin};
use moongate_protocol::dispatch::Dispatcher;
use moongate_protocol::limiter::ConcurrencyLimiter;
use moongate_protocol::mcp::{CacheScope, Era, Identity, ProtocolOptions, Revision, SealingKey};
use moongate_protocol::server::{
    LineReply, OutgoingMessage, Server, ServerMemory, ServerOptions, StdioConnection,
};
use moongate_protocol::unread_responses::CountedMessage;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{MessageSink, check_message};

/// The methods that return lists.
pub(super) const LIST_METHODS: &[&str] =
    &["tools/list", "resources/list", "resources/templates/list", "prompts/list"];

/// The methods that call the plugin.
pub(super) const CALL_METHODS: &[&str] =
    &["tools/call", "resources/read", "prompts/get", "completion/complete"];

/// The server.
pub(super) struct FuzzServer {
    server: Arc<Server>,
    runtime: tokio::runtime::Runtime,
}

impl FuzzServer {
    /// Serves the plugin. `None` means that the catalog rejects it.
    pub(super) fn new(plugin: FakePlugin) -> Option<Self> {
        let mut config = PluginConfig::ungranted(plugin.id.clone(), PathBuf::from("wild.wasm"));
        config.prefix = String::new();
        config.allow.instructions = true;
        config.allow.client =
            BTreeSet::from([ClientFeature::Elicitation, ClientFeature::Sampling, ClientFeature::Roots]);
        let catalog_plugin = CatalogPlugin::new(Arc::new(plugin), Arc::new(config.policy())).ok()?;
        let build = Catalog::build(1, vec![catalog_plugin], None);
        if !build.refused.is_empty() {
            return None;
        }
        let (_, catalog) = watch::channel(Arc::new(build.catalog));
        let options = ServerOptions {
            protocol: ProtocolOptions {
                identity: Identity::default(),
                cache_scope: CacheScope::Public,
                page_size: None,
                sealing_key: SealingKey::shared("fuzz"),
                used_states: None,
            },
            max_sessions: 1,
            session_idle: Duration::from_secs(60),
            updates: Arc::default(),
            close_streams_after: None,
            shared: None,
            memory: ServerMemory::of_process(4 << 30),
        };
        let server = Server::new(Dispatcher::new(catalog, Arc::new(ConcurrencyLimiter::new(1))), options);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Some(Self { server, runtime: runtime.expect("a runtime starts") })
    }

    /// Sends a request for each method, as a client of that revision. Handshake clients declare no capabilities.
    pub(super) fn request_all(&self, revision: Revision, methods: &[&str], sink: &mut MessageSink<'_>) {
        let connection = StdioConnection::new();
        let client = json!({ "name": "fuzz", "version": "1" });
        let first = match revision.era() {
            Era::Handshake => {
                let params =
                    json!({ "protocolVersion": revision.as_str(), "capabilities": {}, "clientInfo": client });
                request(0, "initialize", &params)
            }
            Era::Stateless => stateless(0, revision, "server/discover", json!({})),
        };
        self.send(&connection, revision, &first, sink);
        for (id, method) in (1..).zip(methods) {
            let params = params(method);
            let message = match revision.era() {
                Era::Handshake => request(id, method, &params),
                Era::Stateless => stateless(id, revision, method, params),
            };
            self.send(&connection, revision, &message, sink);
        }
    }

    fn send(
        &self,
        connection: &Arc<StdioConnection>,
        revision: Revision,
        message: &Value,
        sink: &mut MessageSink<'_>,
    ) {
        let line = message.to_string().into_bytes();
        sink(revision, &line, None);
        let messages: Vec<CountedMessage> = self.runtime.block_on(async {
            match self.server.stdio_line(connection, &line) {
                LineReply::None => Vec::new(),
                LineReply::Ready(message) => vec![message],
                LineReply::Pending(pending) => pending.await.into_iter().collect(),
                LineReply::Stream(messages) => messages.map(OutgoingMessage::into_message).collect().await,
            }
        });
        assert!(!messages.is_empty(), "no answer to {message}");
        for message in messages {
            check_message(&message);
            sink(revision, &line, Some(&*message));
        }
    }
}

/// Parameters that match the plain plugin.
fn params(method: &str) -> Value {
    match method {
        "tools/call" => json!({ "name": "tool", "arguments": {} }),
        "resources/read" => json!({ "uri": "a:b" }),
        "prompts/get" => json!({ "name": "prompt" }),
        "completion/complete" => {
            json!({ "ref": { "type": "ref/prompt", "name": "prompt" }, "argument": { "name": "a", "value": "" } })
        }
        _ => json!({}),
    }
}

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn stateless(id: u64, revision: Revision, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": revision.as_str(),
        "io.modelcontextprotocol/clientCapabilities": {
            "elicitation": { "form": {}, "url": {} }, "sampling": { "tools": {} }, "roots": {},
        },
        "io.modelcontextprotocol/clientInfo": { "name": "fuzz", "version": "1" },
    });
    request(id, method, &params)
}
