//! The envelope of a stateless request in `params._meta`: revision, client and capabilities (2026-07-28, basic).

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::json;

use crate::call::{Capabilities, ClientInfo, LogLevel};
use crate::json::{self, Json};

use super::errors::ProtocolError;
use super::params::Params;
use super::revision::{Era, Revision};

/// The key of the request's revision.
pub const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
pub(super) const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
pub(super) const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";
pub(super) const LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";

/// The maximum number of unknown members of a client's description that are kept.
const MAX_CLIENT_MEMBERS: usize = 64;

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
pub fn claimed_version(params: &Params) -> Option<Cow<'_, str>> {
    params.meta(VERSION_KEY).and_then(json::string_value)
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
        let mut check = |key: &'static str, required: bool, fits: fn(&str) -> bool| match params.meta(key) {
            None if required => missing.push(key),
            Some(value) if !fits(value) => wrong.push(key),
            None | Some(_) => {}
        };
        let is_object = |text: &str| text.starts_with('{');
        check(VERSION_KEY, true, |text| text.starts_with('"'));
        check(CAPABILITIES_KEY, true, is_object);
        check(CLIENT_KEY, false, is_object);
        check(LEVEL_KEY, false, |text| level(text).is_some());
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
        let revision = Revision::from_name(&version)
            .filter(|revision| revision.era() == Era::Stateless)
            .ok_or_else(|| ProtocolError::unsupported_version(&version))?;
        let capabilities = params.meta(CAPABILITIES_KEY).and_then(|text| Json::parse(text).ok());
        let capabilities = capabilities.map(Capabilities::new);
        Ok(Self {
            revision,
            client: params.meta(CLIENT_KEY).map(|client| Arc::new(client_info(client))),
            capabilities: Arc::new(capabilities.unwrap_or_default()),
            level: params.meta(LEVEL_KEY).and_then(level),
        })
    }
}

/// MCP's name for a log level.
fn level(text: &str) -> Option<LogLevel> {
    json::string_value(text).and_then(|name| LogLevel::from_name(&name))
}

/// Reads MCP's `Implementation` object. Members with the wrong type count as absent, and so do unknown ones beyond a
/// limit.
pub(super) fn client_info(text: &str) -> ClientInfo {
    let mut client = ClientInfo::default();
    let _: Result<(), ()> = json::visit_members(text, |key, value| {
        let string = || json::string_value(value).map(Cow::into_owned);
        match &*key {
            "name" => client.name = string().unwrap_or_default(),
            "version" => client.version = string().unwrap_or_default(),
            "title" => client.title = string(),
            _ if client.extra.len() < MAX_CLIENT_MEMBERS => {
                client.extra.push((key.into_owned(), Json::parse(value).expect("a part of valid JSON")));
            }
            _ => {}
        }
        Ok(())
    });
    client
}
