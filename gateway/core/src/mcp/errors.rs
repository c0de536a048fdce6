//! The one table from what went wrong to what a client is told, in each revision (protocol errors and tool errors).

use serde_json::{Value, json};

use crate::call::{Busy, CallError, Failure, ToolResult};
use crate::dispatch::DispatchError;
use crate::json::{Json, pointer_step};
use crate::jsonrpc::{self, ErrorObject};
use crate::names::shown;

use super::revision::{Era, Feature, Revision};

/// A resource isn't there (until 2025-11-25).
pub const RESOURCE_NOT_FOUND: i32 = -32002;
/// A header is missing or differs from the body (2026-07-28).
pub const HEADER_MISMATCH: i32 = -32020;
/// The client didn't declare what the request needs (2026-07-28).
pub const MISSING_CAPABILITY: i32 = -32021;
/// The revision isn't served (2026-07-28).
pub const UNSUPPORTED_VERSION: i32 = -32022;
/// The request was cancelled, where a transport must answer all the same.
pub const CANCELLED: i32 = -32800;

/// An error object, and the HTTP status that stateless revisions send it with.
#[derive(Debug, Clone, PartialEq)]
pub struct ProtocolError {
    /// What the client is told.
    pub error: ErrorObject,
    /// 200 once the request reached its method; 400 or 404 before that.
    pub status: u16,
}

impl ProtocolError {
    fn new(status: u16, code: i32, message: impl Into<String>, data: Option<&Value>) -> Self {
        let data = data.map(Json::from_value);
        Self { error: ErrorObject { code, message: message.into(), data }, status }
    }

    /// A parameter is wrong; `at` is a JSON pointer into `params`.
    pub(super) fn params(at: &str, message: &str) -> Self {
        let data = (!at.is_empty()).then(|| json!({ "at": at }));
        Self::new(200, jsonrpc::INVALID_PARAMS, message, data.as_ref())
    }

    /// The envelope is incomplete.
    pub(super) fn envelope(message: &str, data: &Value) -> Self {
        Self::new(400, jsonrpc::INVALID_PARAMS, message, Some(data))
    }

    /// A header is missing or differs from the body.
    #[must_use]
    pub fn header(message: impl Into<String>) -> Self {
        Self::new(400, HEADER_MISMATCH, message, None)
    }

    /// The revision isn't served.
    #[must_use]
    pub fn unsupported_version(requested: &str) -> Self {
        let supported: Vec<_> = Revision::STATELESS.iter().map(|revision| revision.as_str()).collect();
        let message = format!("unsupported protocol version `{}`", shown(requested));
        let data = json!({ "supported": supported, "requested": requested });
        Self::new(400, UNSUPPORTED_VERSION, message, Some(&data))
    }

    /// The revision has no such method, or it isn't served.
    #[must_use]
    pub fn unknown_method(name: &str) -> Self {
        Self::new(404, jsonrpc::METHOD_NOT_FOUND, format!("unknown method `{}`", shown(name)), None)
    }

    /// The message can't stand here.
    #[must_use]
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(400, jsonrpc::INVALID_REQUEST, message, None)
    }

    /// The request was cancelled.
    #[must_use]
    pub fn cancelled() -> Self {
        Self::new(200, CANCELLED, "the request was cancelled", None)
    }

    /// The gateway itself failed.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(200, jsonrpc::INTERNAL_ERROR, message, None)
    }
}

/// What a failed request comes to.
#[derive(Debug)]
pub(super) enum Told {
    /// The program is told.
    Program(ProtocolError),
    /// The model is told: only tools can do that.
    Model(ToolResult),
}

/// Whose failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// A tool: what happened while it ran is for the model.
    Tool,
    /// A resource, a prompt or a completion: there is only the program to tell.
    Other,
}

/// The table.
pub(super) fn tell(error: &DispatchError, asked: Asked, revision: Revision) -> Told {
    let message = error.to_string();
    Told::Program(match error {
        DispatchError::UnknownTool { .. }
        | DispatchError::UnknownPrompt(_)
        | DispatchError::UnknownTemplate(_) => ProtocolError::params("", &message),
        DispatchError::MissingArgument { argument, .. } => {
            ProtocolError::params(&format!("/arguments/{}", pointer_step(argument)), &message)
        }
        DispatchError::InvalidArguments { .. }
            if asked == Asked::Tool && revision.has(Feature::InputErrorsAsResults) =>
        {
            return Told::Model(ToolResult::error(message));
        }
        DispatchError::InvalidArguments { pointer, .. } => {
            ProtocolError::params(&format!("/arguments{}", pointer.as_deref().unwrap_or_default()), &message)
        }
        DispatchError::ResourceNotFound(uri) => not_found(&message, uri, revision),
        DispatchError::Call { error: CallError::Refused(failure), .. } => {
            return refused(failure, &message, asked, revision);
        }
        DispatchError::Call { error: CallError::Cancelled, .. } => ProtocolError::cancelled(),
        DispatchError::Call { plugin, error } => {
            let message = match error.config_key() {
                Some(key) => format!("{message} (limit `plugins.{plugin}.limits.{key}`)"),
                None => message,
            };
            let retry = matches!(error, CallError::Busy(Busy::Plugin { .. } | Busy::Gateway));
            let data = json!({ "reason": error.kind(), "retry": retry });
            return match asked {
                Asked::Tool => Told::Model(ToolResult::error(message)),
                Asked::Other => {
                    let code = jsonrpc::INTERNAL_ERROR;
                    Told::Program(ProtocolError::new(200, code, message, Some(&data)))
                }
            };
        }
    })
}

fn not_found(message: &str, uri: &str, revision: Revision) -> ProtocolError {
    let code = match revision.era() {
        Era::Handshake => RESOURCE_NOT_FOUND,
        Era::Stateless => jsonrpc::INVALID_PARAMS,
    };
    ProtocolError::new(200, code, message, Some(&json!({ "uri": uri })))
}

/// A plugin's own refusal.
fn refused(failure: &Failure, message: &str, asked: Asked, revision: Revision) -> Told {
    let data = |fault: &crate::call::Fault| {
        fault
            .data
            .as_ref()
            .and_then(|data| data.to_value().ok())
            .or_else(|| fault.at.as_ref().map(|at| json!({ "at": at })))
    };
    Told::Program(match failure {
        Failure::InvalidParams(fault) | Failure::NotFound(fault) => {
            ProtocolError::new(200, jsonrpc::INVALID_PARAMS, message, data(fault).as_ref())
        }
        Failure::Internal(fault) => {
            ProtocolError::new(200, jsonrpc::INTERNAL_ERROR, message, data(fault).as_ref())
        }
        Failure::Custom { code, data, .. } => {
            let reserved = (-32768..=-32000).contains(code);
            let code = if reserved { jsonrpc::INTERNAL_ERROR } else { *code };
            ProtocolError {
                error: ErrorObject { code, message: message.to_owned(), data: data.clone() },
                status: 200,
            }
        }
        Failure::MissingCapability(names) => match (revision.era(), asked) {
            (Era::Stateless, _) => {
                let data = json!({ "requiredCapabilities": capability_tree(names) });
                ProtocolError::new(400, MISSING_CAPABILITY, message, Some(&data))
            }
            (Era::Handshake, Asked::Tool) => return Told::Model(ToolResult::error(message)),
            (Era::Handshake, Asked::Other) => ProtocolError::internal(message),
        },
    })
}

/// `["sampling.tools"]` as MCP's `ClientCapabilities`: `{"sampling":{"tools":{}}}`.
fn capability_tree(names: &[String]) -> Value {
    let mut tree = json!({});
    for name in names {
        let path: Vec<&str> = match name.strip_prefix("extensions.") {
            Some(extension) => vec!["extensions", extension],
            None => name.split('.').collect(),
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
