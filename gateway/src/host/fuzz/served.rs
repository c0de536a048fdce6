//! A gateway without Wasm around one plugin whose answers are chosen by bytes, and a client that asks it.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use moongate_core::call::{
    CallContext, CallError, Completion, CompletionTarget, Outcome, PromptResult, ReadResult, ToolResult,
};
use moongate_core::catalog::{Answer, Catalog, Member, Plugin};
use moongate_core::config::{ClientFeature, PluginConfig};
use moongate_core::dispatch::Dispatcher;
use moongate_core::gate::Gate;
use moongate_core::manifest::Manifest;
use moongate_core::mcp::{CacheScope, Era, Identity, ProtocolOptions, Revision, SealingKey};
use moongate_core::names::{Digest, PluginId, PromptName, ResourceUri, ToolName};
use moongate_core::server::{LineReply, OutgoingMessage, Server, ServerOptions, StdioConnection};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::wild::Wild;
use super::{Hear, judge};
use crate::host::bindings::types;
use crate::host::conv::{self, Bad};

/// The methods that list, and what introduces the server.
pub(super) const LISTS: &[&str] =
    &["tools/list", "resources/list", "resources/templates/list", "prompts/list"];

/// The methods that call the plugin.
pub(super) const CALLS: &[&str] = &["tools/call", "resources/read", "prompts/get", "completion/complete"];

/// A plugin that answers what the bytes say.
struct Says {
    id: PluginId,
    digest: Digest,
    manifest: Manifest,
    bytes: Vec<u8>,
}

impl fmt::Debug for Says {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Says").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Says {
    fn answer<'a, G, T: Send + 'a>(
        &self,
        choose: impl FnOnce(&mut Wild<'_>) -> Result<G, types::Failure>,
        convert: impl FnOnce(G) -> Result<T, Bad>,
    ) -> Answer<'a, T> {
        let answer = match choose(&mut Wild::new(&self.bytes)) {
            Ok(given) => convert(given).map_err(|bad| CallError::BadOutput(bad.to_string())),
            Err(failure) => Err(CallError::Refused(conv::failure(failure))),
        };
        Box::pin(std::future::ready(answer))
    }
}

impl Plugin for Says {
    fn id(&self) -> &PluginId {
        &self.id
    }

    fn digest(&self) -> &Digest {
        &self.digest
    }

    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn call_tool<'a>(
        &'a self,
        _: Arc<CallContext>,
        _: &'a ToolName,
        _: &'a str,
    ) -> Answer<'a, Outcome<ToolResult>> {
        self.answer(|wild| wild.called(), conv::tool_outcome)
    }

    fn read_resource<'a>(
        &'a self,
        _: Arc<CallContext>,
        _: &'a ResourceUri,
    ) -> Answer<'a, Outcome<ReadResult>> {
        self.answer(|wild| wild.read(), conv::read_outcome)
    }

    fn get_prompt<'a>(
        &'a self,
        _: Arc<CallContext>,
        _: &'a PromptName,
        _: &'a [(String, String)],
    ) -> Answer<'a, Outcome<PromptResult>> {
        self.answer(|wild| wild.got(), conv::prompt_outcome)
    }

    fn complete<'a>(
        &'a self,
        _: Arc<CallContext>,
        _: &'a CompletionTarget,
        _: &'a str,
        _: &'a str,
        _: &'a [(String, String)],
    ) -> Answer<'a, Completion> {
        self.answer(|wild| wild.completed(), conv::completion)
    }
}

/// The gateway.
pub(super) struct Served {
    server: Arc<Server>,
    runtime: tokio::runtime::Runtime,
}

impl Served {
    /// Serves a plugin that offers this; none: it can't be served.
    pub(super) fn new(manifest: Manifest, bytes: &[u8]) -> Option<Self> {
        let id = PluginId::new("wild").expect("it is a name");
        let mut config = PluginConfig::bare(id.clone(), PathBuf::from("wild.wasm"));
        config.prefix = String::new();
        config.allow.instructions = true;
        config.allow.client =
            BTreeSet::from([ClientFeature::Elicitation, ClientFeature::Sampling, ClientFeature::Roots]);
        let plugin = Says { id, digest: Digest::of(bytes), manifest, bytes: bytes.to_vec() };
        let member = Member::new(Arc::new(plugin), Arc::new(config)).ok()?;
        let build = Catalog::build(1, vec![member], None);
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
            },
            max_sessions: 1,
            session_idle: Duration::from_secs(60),
            updates: Arc::default(),
            close_streams_after: None,
        };
        let server = Server::new(Dispatcher::new(catalog, Arc::new(Gate::new(1))), options);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Some(Self { server, runtime: runtime.expect("the system lets a runtime start") })
    }

    /// Asks for all of it as a client of that revision. Clients with a handshake can't be asked anything back.
    pub(super) fn ask(&self, revision: Revision, methods: &[&str], hear: &mut Hear<'_>) {
        let connection = StdioConnection::new();
        let client = json!({ "name": "fuzz", "version": "1" });
        let hello = match revision.era() {
            Era::Handshake => {
                let params =
                    json!({ "protocolVersion": revision.as_str(), "capabilities": {}, "clientInfo": client });
                request(0, "initialize", &params)
            }
            Era::Stateless => stateless(0, revision, "server/discover", json!({})),
        };
        self.line(&connection, revision, &hello, hear);
        for (id, method) in (1..).zip(methods) {
            let params = params(method);
            let message = match revision.era() {
                Era::Handshake => request(id, method, &params),
                Era::Stateless => stateless(id, revision, method, params),
            };
            self.line(&connection, revision, &message, hear);
        }
    }

    fn line(
        &self,
        connection: &Arc<StdioConnection>,
        revision: Revision,
        message: &Value,
        hear: &mut Hear<'_>,
    ) {
        let line = message.to_string().into_bytes();
        hear(revision, &line, None);
        let messages: Vec<Vec<u8>> = self.runtime.block_on(async {
            match self.server.stdio_line(connection, &line) {
                LineReply::None => Vec::new(),
                LineReply::Ready(message) => vec![message],
                LineReply::Pending(pending) => pending.await.into_iter().collect(),
                LineReply::Stream(messages) => messages.map(OutgoingMessage::into_message).collect().await,
            }
        });
        assert!(!messages.is_empty(), "no answer to {message}");
        for message in messages {
            judge(&message);
            hear(revision, &line, Some(&message));
        }
    }
}

/// What the plain plugin has.
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
