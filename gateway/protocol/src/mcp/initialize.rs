//! The start of a conversation: `initialize` in the handshake revisions, `server/discover` in the stateless ones
//! (2025-11-25, basic/lifecycle; 2026-07-28, server/discover).

use std::fmt::Write as _;
use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::call::{Capabilities, ClientInfo};
use crate::catalog::Catalog;
use crate::json::Json;
use crate::names::Principal;
use crate::text::{first_chars, truncated};

use super::envelope::client_info;
use super::errors::ProtocolError;
use super::params::Params;
use super::render::{CacheScope, render};
use super::revision::{Feature, Revision};
use super::{Identity, Protocol, RequestContext};

/// The time for which clients may cache the result of `server/discover`, in milliseconds.
const DISCOVER_TTL_MS: u64 = 60_000;

/// The longest instructions for the model, in characters, of all plugins together.
const MAX_INSTRUCTIONS_CHARS: usize = 4_000;

/// The longest capabilities of a client, in bytes. They are kept as long as the session.
const MAX_CAPABILITIES_BYTES: usize = 4 * 1024;

/// The longest `clientInfo`, in bytes. It can contain icons.
const MAX_CLIENT_INFO_BYTES: usize = 64 * 1024;

/// The longest `clientInfo` that is kept as a whole, in bytes, as long as the session. Only the name, version and title
/// are kept of a longer one.
const MAX_KEPT_CLIENT_INFO_BYTES: usize = 4 * 1024;

/// The parameters of `initialize`, and the negotiated revision.
#[derive(Debug, Clone)]
pub struct InitializeParams {
    /// The negotiated revision.
    pub revision: Revision,
    /// The client program.
    pub client: Arc<ClientInfo>,
    /// The client's capabilities.
    pub capabilities: Arc<Capabilities>,
}

impl InitializeParams {
    /// Reads the parameters of `initialize` and negotiates the revision: the requested one if it is a known handshake
    /// revision, otherwise the latest handshake revision (2025-11-25, basic/lifecycle).
    ///
    /// # Errors
    /// -32602: a parameter is missing, has the wrong type, or is too long. An unknown revision isn't an error.
    pub fn read(params: &Params) -> Result<Self, ProtocolError> {
        let asked = params.string("protocolVersion")?;
        let object = |key: &str| match params.get(key) {
            Some(text) if text.starts_with('{') => Ok(text),
            Some(_) => Err(ProtocolError::params(&format!("/{key}"), &format!("`{key}` must be an object"))),
            None => Err(ProtocolError::params(&format!("/{key}"), &format!("`{key}` is missing"))),
        };
        let short = |key: &str, most: usize| {
            let text = object(key)?;
            if text.len() > most {
                let message = format!("`{key}` is longer than {most} bytes");
                return Err(ProtocolError::params(&format!("/{key}"), &message));
            }
            Ok(text)
        };
        let capabilities = short("capabilities", MAX_CAPABILITIES_BYTES)?;
        let client = short("clientInfo", MAX_CLIENT_INFO_BYTES)?;
        let revision = Revision::from_name(&asked)
            .filter(|revision| revision.era() == super::Era::Handshake)
            .unwrap_or(Revision::LATEST_HANDSHAKE);
        Ok(Self {
            revision,
            client: Arc::new(kept_client_info(client)),
            capabilities: Arc::new(Capabilities::new(
                Json::parse(capabilities).expect("a part of valid JSON"),
            )),
        })
    }
}

/// The description of a client, without members that take too much memory.
fn kept_client_info(text: &str) -> ClientInfo {
    let client = client_info(text);
    if text.len() <= MAX_KEPT_CLIENT_INFO_BYTES {
        return client;
    }
    let short = |text: String| truncated(text, MAX_KEPT_CLIENT_INFO_BYTES / 4);
    let ClientInfo { name, version, title, extra: _ } = client;
    ClientInfo { name: short(name), version: short(version), title: title.map(short), extra: Vec::new() }
}

impl Protocol {
    /// The result of `initialize`.
    #[must_use]
    pub fn initialize(&self, greeting: &InitializeParams, principal: &Principal) -> Json {
        self.server_description(greeting.revision, None, &self.dispatcher.view_for(principal))
    }

    /// The result of `server/discover`.
    pub(super) fn discover(&self, request_context: &RequestContext) -> Json {
        let principal = request_context.caller.principal();
        let view = self.dispatcher.view_for(&principal);
        let scope = self.cache_scope(&principal, &view);
        self.server_description(request_context.revision, Some(scope), &view)
    }

    fn server_description(&self, revision: Revision, scope: Option<CacheScope>, view: &Catalog) -> Json {
        let instructions = instructions(view);
        render(&ServerDescription { identity: &self.identity, revision, instructions, scope })
    }
}

/// Either result; `scope` is set for `server/discover`.
struct ServerDescription<'a> {
    identity: &'a Identity,
    revision: Revision,
    instructions: Option<String>,
    scope: Option<CacheScope>,
}

impl Serialize for ServerDescription<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { identity, revision, instructions, scope } = self;
        let mut map = serializer.serialize_map(None)?;
        if let Some(scope) = scope {
            let supported: Vec<_> = Revision::STATELESS.iter().map(|revision| revision.as_str()).collect();
            map.serialize_entry("resultType", "complete")?;
            map.serialize_entry("supportedVersions", &supported)?;
            map.serialize_entry("ttlMs", &DISCOVER_TTL_MS)?;
            map.serialize_entry("cacheScope", scope.as_str())?;
        } else {
            map.serialize_entry("protocolVersion", revision.as_str())?;
            map.serialize_entry("serverInfo", &identity.info(*revision))?;
        }
        map.serialize_entry("capabilities", &ServerCapabilities(*revision))?;
        if let Some(instructions) = instructions {
            map.serialize_entry("instructions", instructions)?;
        }
        identity.write_meta(&mut map, *revision, &Vec::new())?;
        map.end()
    }
}

/// The server's capabilities: all three kinds of lists, empty or not, because clients request them anyway.
struct ServerCapabilities(Revision);

impl Serialize for ServerCapabilities {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let nothing = serde_json::json!({});
        let mut map = serializer.serialize_map(None)?;
        let changes = serde_json::json!({ "listChanged": true });
        map.serialize_entry("tools", &changes)?;
        map.serialize_entry("resources", &serde_json::json!({ "subscribe": true, "listChanged": true }))?;
        map.serialize_entry("prompts", &changes)?;
        map.serialize_entry("logging", &nothing)?;
        if self.0.has(Feature::CompletionsCapability) {
            map.serialize_entry("completions", &nothing)?;
        }
        map.end()
    }
}

/// The instructions of the plugins that may provide them, each with the plugin's id, limited in total length. They can
/// name everything that a plugin has, so only callers that see all of it get them.
fn instructions(view: &Catalog) -> Option<String> {
    let mut all = String::new();
    for catalog_plugin in view.whole_plugins() {
        let advice = catalog_plugin.plugin().manifest().info.instructions.as_deref();
        if let Some(advice) = advice.filter(|_| catalog_plugin.policy().instructions) {
            let _ = writeln!(all, "[{}] {}", catalog_plugin.id(), advice.trim());
        }
    }
    let (start, _) = first_chars(&all, MAX_INSTRUCTIONS_CHARS);
    let start = start.trim_end();
    (!start.is_empty()).then(|| start.to_owned())
}
