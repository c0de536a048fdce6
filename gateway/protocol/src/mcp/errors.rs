//! The mapping of errors to answers, in each revision: protocol errors and tool errors (2025-11-25, server/tools;
//! 2026-07-28, basic, server/tools and server/resources).

use serde_json::{Value, json};

use crate::call::{BusyReason, CallError, PluginError, PluginErrorDetail, ToolResult};
use crate::catalog::CatalogPlugin;
use crate::dispatch::DispatchError;
use crate::json::Json;
use crate::jsonrpc::{self, ErrorObject};
use crate::names::PluginId;
use crate::text::{quotable, truncated};

use super::revision::{Era, Feature, Revision};

/// The longest part of a request that an error repeats, in bytes.
const MAX_REPEATED_BYTES: usize = 4096;

/// The session has ended. Clients react to its HTTP status, 404 (until 2025-11-25, Streamable HTTP).
pub const SESSION_NOT_FOUND: i32 = -32001;
/// The resource doesn't exist (until 2025-11-25).
pub const RESOURCE_NOT_FOUND: i32 = -32002;
/// A header is missing or differs from the body (2026-07-28).
pub const HEADER_MISMATCH: i32 = -32020;
/// The client didn't declare a required capability (2026-07-28).
pub const MISSING_CAPABILITY: i32 = -32021;
/// The revision isn't supported (2026-07-28).
pub const UNSUPPORTED_VERSION: i32 = -32022;
/// The request was cancelled. Used if the transport requires an answer.
pub const REQUEST_CANCELLED_CODE: i32 = -32800;

/// An error object, and the HTTP status that stateless revisions send it with.
#[derive(Debug, Clone, PartialEq)]
pub struct ProtocolError {
    /// The error object.
    pub error: ErrorObject,
    /// 200 after the request reached its method; 400, 404 or 406 before that, 503 if the gateway is overloaded.
    pub status: u16,
}

impl ProtocolError {
    /// A stable word for metrics and logs: the error's code if it belongs to JSON-RPC, MCP or the gateway, and `_OTHER`
    /// for a plugin's own codes, whose number is unbounded.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.error.code {
            jsonrpc::PARSE_ERROR => "-32700",
            jsonrpc::INVALID_REQUEST => "-32600",
            jsonrpc::METHOD_NOT_FOUND => "-32601",
            jsonrpc::INVALID_PARAMS => "-32602",
            jsonrpc::INTERNAL_ERROR => "-32603",
            SESSION_NOT_FOUND => "-32001",
            RESOURCE_NOT_FOUND => "-32002",
            HEADER_MISMATCH => "-32020",
            MISSING_CAPABILITY => "-32021",
            UNSUPPORTED_VERSION => "-32022",
            REQUEST_CANCELLED_CODE => "cancelled",
            _ => "_OTHER",
        }
    }

    fn new(status: u16, code: i32, message: impl Into<String>, data: Option<&Value>) -> Self {
        let data = data.map(Json::from_value);
        Self { error: ErrorObject { code, message: message.into(), data }, status }
    }

    /// A parameter is invalid; `at` is a JSON pointer into `params`, empty for all of them.
    pub(super) fn params(at: &str, message: &str) -> Self {
        Self::new(200, jsonrpc::INVALID_PARAMS, message, Some(&json!({ "at": repeated(at) })))
    }

    /// The envelope is incomplete.
    pub(super) fn envelope(message: &str, data: &Value) -> Self {
        Self::new(400, jsonrpc::INVALID_PARAMS, message, Some(data))
    }

    /// The header `name` is missing or differs from the body.
    #[must_use]
    pub fn header(name: &str, message: impl Into<String>) -> Self {
        Self::new(400, HEADER_MISMATCH, message, Some(&json!({ "header": name })))
    }

    /// The revision isn't supported.
    #[must_use]
    pub fn unsupported_version(requested: &str) -> Self {
        let supported: Vec<_> = Revision::STATELESS.iter().map(|revision| revision.as_str()).collect();
        let message = format!("unsupported protocol version `{}`", quotable(requested));
        let data = json!({ "supported": supported, "requested": repeated(requested) });
        Self::new(400, UNSUPPORTED_VERSION, message, Some(&data))
    }

    /// The revision doesn't have the method, or the gateway doesn't support it.
    #[must_use]
    pub fn unknown_method(name: &str) -> Self {
        Self::new(404, jsonrpc::METHOD_NOT_FOUND, format!("unknown method `{}`", quotable(name)), None)
    }

    /// The message isn't allowed here.
    #[must_use]
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(400, jsonrpc::INVALID_REQUEST, message, None)
    }

    /// The gateway can't serve the message now, but can later. `reason` is a stable word for programs.
    #[must_use]
    pub fn temporary(reason: &str, message: impl Into<String>) -> Self {
        let data = json!({ "reason": reason, "retry": true });
        Self::new(503, jsonrpc::INTERNAL_ERROR, message, Some(&data))
    }

    /// The client doesn't accept any form of the answer.
    #[must_use]
    pub fn not_acceptable(message: impl Into<String>) -> Self {
        Self::new(406, jsonrpc::INVALID_REQUEST, message, None)
    }

    /// The client's `requestState` is invalid.
    pub(super) fn request_state(message: &str) -> Self {
        let data = json!({ "at": "/requestState", "reason": "invalid_request_state" });
        Self::new(200, jsonrpc::INVALID_PARAMS, message, Some(&data))
    }

    /// The request was cancelled.
    #[must_use]
    pub fn cancelled() -> Self {
        Self::new(200, REQUEST_CANCELLED_CODE, "the request was cancelled", None)
    }

    /// The gateway failed.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(200, jsonrpc::INTERNAL_ERROR, message, None)
    }
}

/// A failed request that can ask the client.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestError {
    /// The call failed.
    Dispatch(DispatchError),
    /// The plugin's questions weren't answered; one sentence.
    Unanswered(PluginId, String),
    /// The client's request is invalid.
    Protocol(ProtocolError),
}

impl RequestError {
    /// A failed call to this plugin.
    pub(super) fn failed(catalog_plugin: &CatalogPlugin, error: CallError) -> Self {
        Self::Dispatch(DispatchError::Call { plugin: catalog_plugin.id().clone(), error })
    }

    /// This plugin's unanswered questions.
    pub(super) fn unanswered(catalog_plugin: &CatalogPlugin, why: String) -> Self {
        Self::Unanswered(catalog_plugin.id().clone(), why)
    }

    /// The answer that `revision` gives.
    pub(super) fn answer(self, revision: Revision) -> ErrorAnswer {
        match self {
            Self::Dispatch(error) => ErrorAnswer::for_dispatch_error(&error, revision),
            Self::Unanswered(plugin, why) => {
                let message = format!("plugin `{plugin}`: {why}");
                ErrorAnswer::both(&message, ProtocolError::internal(&*message))
            }
            Self::Protocol(error) => ErrorAnswer::error_only(error),
        }
    }
}

impl From<DispatchError> for RequestError {
    fn from(error: DispatchError) -> Self {
        Self::Dispatch(error)
    }
}

/// The answer to a request that failed.
#[derive(Debug)]
pub(super) struct ErrorAnswer {
    /// The result of a `tools/call`, which the model reads. `None` means that a `tools/call` gets the error as well.
    pub(super) tool_result: Option<ToolResult>,
    /// The JSON-RPC error, which the client program reads. All other methods get it.
    pub(super) error: ProtocolError,
}

impl ErrorAnswer {
    fn error_only(error: ProtocolError) -> Self {
        Self { tool_result: None, error }
    }

    fn both(message: &str, error: ProtocolError) -> Self {
        Self { tool_result: Some(ToolResult::error(message)), error }
    }

    /// The answer to a failed dispatch. The model learns what happened while its tool ran, unless the gateway itself
    /// failed, and from 2025-11-25 on which arguments are invalid. Everything else is for the client program.
    pub(super) fn for_dispatch_error(error: &DispatchError, revision: Revision) -> Self {
        let message = error.to_string();
        match error {
            DispatchError::UnknownTool(_) | DispatchError::UnknownPrompt(_) => {
                Self::error_only(ProtocolError::params("/name", &message))
            }
            DispatchError::UnknownTemplate(_) => {
                Self::error_only(ProtocolError::params("/ref/uri", &message))
            }
            DispatchError::ResourceNotFound(unknown) => {
                Self::error_only(not_found(&message, &unknown.requested, revision))
            }
            DispatchError::InvalidArguments { message: _, pointer } => {
                let at = format!("/arguments{}", pointer.as_deref().unwrap_or_default());
                let error = ProtocolError::params(&at, &message);
                if revision.has(Feature::InputErrorsAsResults) {
                    Self::both(&message, error)
                } else {
                    Self::error_only(error)
                }
            }
            DispatchError::Call { plugin, error } => Self::for_call_error(plugin, error, &message, revision),
        }
    }

    /// The answer to a failed call to a plugin.
    fn for_call_error(plugin: &PluginId, error: &CallError, message: &str, revision: Revision) -> Self {
        let message = match error.config_key() {
            Some(key) => format!("{message} (limit `plugins.{plugin}.limits.{key}`)"),
            None => message.to_owned(),
        };
        let failed = |retry: bool| {
            let data = json!({ "reason": error.kind(), "retry": retry });
            ProtocolError::new(200, jsonrpc::INTERNAL_ERROR, &*message, Some(&data))
        };
        match error {
            CallError::Refused(failure) => Self::for_plugin_error(failure, &message, revision),
            CallError::Timeout(_)
            | CallError::CpuTime(_)
            | CallError::Memory(_)
            | CallError::TableElements(_)
            | CallError::Handles(_)
            | CallError::TooLarge(_)
            | CallError::Trap(_)
            | CallError::InvalidOutput(_)
            | CallError::NotGranted(_)
            | CallError::Directory(_) => Self::both(&message, failed(false)),
            CallError::Busy(
                BusyReason::Plugin { .. }
                | BusyReason::PluginShare { .. }
                | BusyReason::Gateway
                | BusyReason::GatewayShare { .. }
                | BusyReason::UnreadResponses
                | BusyReason::Memory
                | BusyReason::AuditLog
                | BusyReason::SharedStore,
            )
            | CallError::TimeoutBeforeStart(_)
            | CallError::Replaced => Self::both(&message, failed(true)),
            // Not a tool's result: only an error has data, so that programs can wait as long as necessary.
            CallError::RateLimited(limited) => {
                let seconds = limited.retry_after_seconds();
                let data = json!({ "reason": error.kind(), "retry": true, "retryAfterSeconds": seconds });
                Self::error_only(ProtocolError::new(200, jsonrpc::INTERNAL_ERROR, &*message, Some(&data)))
            }
            CallError::Cancelled => Self::error_only(ProtocolError::cancelled()),
            CallError::Internal(_) => Self::error_only(failed(false)),
        }
    }

    /// The answer to an error that the plugin itself returned.
    fn for_plugin_error(failure: &PluginError, message: &str, revision: Revision) -> Self {
        let with_data = |code, data: Option<Json>| {
            let data = data.filter(|data| data.get() != "null"); // absent members are omitted
            ProtocolError { error: ErrorObject { code, message: message.to_owned(), data }, status: 200 }
        };
        let data = |fault: &PluginErrorDetail| {
            let at = || fault.pointer.as_ref().map(|at| Json::from_value(&json!({ "at": at })));
            fault.data.clone().or_else(at)
        };
        match failure {
            PluginError::InvalidParams(fault) | PluginError::NotFound(fault) => {
                Self::error_only(with_data(jsonrpc::INVALID_PARAMS, data(fault)))
            }
            PluginError::Internal(fault) => Self::error_only(with_data(jsonrpc::INTERNAL_ERROR, data(fault))),
            PluginError::Custom { code, message: _, data } => {
                let is_reserved = (-32768..=-32000).contains(code);
                let code = if is_reserved { jsonrpc::INTERNAL_ERROR } else { *code };
                Self::error_only(with_data(code, data.clone()))
            }
            PluginError::MissingCapability(names) => match revision.era() {
                Era::Stateless => {
                    let data = json!({ "requiredCapabilities": capability_tree(names) });
                    Self::error_only(ProtocolError::new(400, MISSING_CAPABILITY, message, Some(&data)))
                }
                Era::Handshake => Self::both(message, ProtocolError::internal(message)),
            },
        }
    }
}

/// A part of the request, cut to a length that errors can repeat.
fn repeated(text: &str) -> String {
    truncated(text.to_owned(), MAX_REPEATED_BYTES)
}

fn not_found(message: &str, uri: &str, revision: Revision) -> ProtocolError {
    let code = match revision.era() {
        Era::Handshake => RESOURCE_NOT_FOUND,
        Era::Stateless => jsonrpc::INVALID_PARAMS,
    };
    ProtocolError::new(200, code, message, Some(&json!({ "uri": repeated(uri) })))
}

/// `["sampling.tools"]` as MCP's `ClientCapabilities`: `{"sampling":{"tools":{}}}`.
fn capability_tree(names: &[String]) -> Value {
    let mut tree = json!({});
    for name in names {
        let path: Vec<&str> = match name.strip_prefix("extensions.") {
            Some(extension) => vec!["extensions", extension],
            // MCP's own names are no deeper; a plugin's name can consist of dots.
            None => name.splitn(3, '.').collect(),
        };
        let mut at = &mut tree;
        for part in path {
            at = &mut at[part];
            if at.is_null() {
                *at = json!({});
            }
        }
    }
    tree
}
