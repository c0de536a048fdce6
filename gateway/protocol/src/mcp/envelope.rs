//! The envelope of a stateless request in `params._meta`: revision, client and capabilities (2026-07-28, basic).

use std::sync::Arc;

use serde_json::{Value, json};

use crate::call::{Capabilities, ClientInfo, LogLevel};
use crate::json::{self, Json};

use super::errors::ProtocolError;
use super::params::Params;
use super::revision::{Era, Revision};

/// The key of the request's revision.
pub const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";
const LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";

/// The envelope of a request.
#[derive(Debug, Clone)]
pub struct RequestEnvelope {
    /// The request's revision: a stateless one.
    pub revision: Revision,
    /// The client, if it introduced itself.
    pub client: Option<Arc<ClientInfo>>,
    /// The client's capabilities.
    pub capabilities: Arc<Capabilities>,
    /// The lowest level of log messages that the client wants for this request. `None` means no messages.
    pub level: Option<LogLevel>,
}

/// Reports whether the request claims a stateless revision.
#[must_use]
pub fn is_stateless_claim(params: &Params) -> bool {
    params.meta(VERSION_KEY).is_some()
}

/// The claimed revision, if the claim is well formed. A malformed claim doesn't make an `initialize` stateless.
#[must_use]
pub fn claimed_version(params: &Params) -> Option<&str> {
    params.meta(VERSION_KEY).and_then(Value::as_str)
}

impl RequestEnvelope {
    /// Reads the envelope.
    ///
    /// # Errors
    /// -32602: `_meta` or a required member is missing or has the wrong type; `data` names all of them. -32022: the
    /// revision isn't a stateless one; `data` lists these.
    pub fn read(params: &Params) -> Result<Self, ProtocolError> {
        let mut missing = Vec::new();
        let mut wrong = Vec::new();
        let mut check = |key: &'static str, required: bool, fits: fn(&Value) -> bool| match params.meta(key) {
            None if required => missing.push(key),
            Some(value) if !fits(value) => wrong.push(key),
            None | Some(_) => {}
        };
        check(VERSION_KEY, true, Value::is_string);
        check(CAPABILITIES_KEY, true, Value::is_object);
        check(CLIENT_KEY, false, Value::is_object);
        check(LEVEL_KEY, false, |value| level(value).is_some());
        if !missing.is_empty() || !wrong.is_empty() {
            let mut message = String::from("the request's `_meta` is incomplete:");
            for (keys, what) in [(&missing, "is missing"), (&wrong, "has the wrong type or value")] {
                for key in keys {
                    message.push_str(&format!(" `{key}` {what};"));
                }
            }
            message.pop();
            return Err(ProtocolError::envelope(&message, &json!({ "missing": missing, "invalid": wrong })));
        }
        let version = claimed_version(params).unwrap_or_default();
        let revision = Revision::from_name(version)
            .filter(|revision| revision.era() == Era::Stateless)
            .ok_or_else(|| ProtocolError::unsupported_version(version))?;
        let capabilities = params.meta_text().and_then(|meta| json::member(meta.get(), CAPABILITIES_KEY));
        let capabilities = capabilities.map(Json::from).map(Capabilities::new);
        Ok(Self {
            revision,
            client: params.meta(CLIENT_KEY).map(|client| Arc::new(client_info(client))),
            capabilities: Arc::new(capabilities.unwrap_or_default()),
            level: params.meta(LEVEL_KEY).and_then(level),
        })
    }
}

/// MCP's name for a log level.
fn level(value: &Value) -> Option<LogLevel> {
    value.as_str().and_then(LogLevel::from_name)
}

/// Reads MCP's `Implementation` object. Members with the wrong type count as absent.
pub(super) fn client_info(value: &Value) -> ClientInfo {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let others = value.as_object().into_iter().flatten();
    ClientInfo {
        name: text("name").unwrap_or_default(),
        version: text("version").unwrap_or_default(),
        title: text("title"),
        extra: others
            .filter(|(key, _)| !["name", "version", "title"].contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), Json::from_value(value)))
            .collect(),
    }
}
