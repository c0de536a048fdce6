//! Requests that ask a plugin: call, read, get, complete (2026-07-28, server/tools, server/resources, server/prompts and
//! server/utilities/completion).

use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::call::{CallError, Failure, NeedInput, Outcome, ToolResult};
use crate::catalog::{Catalog, Member};
use crate::dispatch::{Answered, Arguments, CompletionRef, DispatchError};
use crate::names::Principal;

use super::errors::{ProtocolError, for_model, for_program};
use super::project::{CompletionResult, PromptMessages, ReadContents, ToolAnswer, View, render};
use super::revision::{Feature, Revision};
use super::structured::Wrapping;
use super::{Exchange, Params, Protocol};

type Text = Result<Box<RawValue>, ProtocolError>;

/// `tools/call`
pub(super) async fn call_tool(protocol: Arc<Protocol>, exchange: Exchange, params: Params) -> Text {
    let revision = exchange.revision;
    let name = params.string("name")?;
    let arguments = arguments(&params)?;
    let context = exchange.context(&params);
    let catalog = protocol.dispatcher.catalog();
    let called = protocol.dispatcher.call_tool(&catalog, &context, name, &arguments).await;
    let (result, wrapping) = match called {
        Ok(Answered { outcome: Outcome::Done(result), .. }) => {
            let wrapping = wrapping(&catalog, name, &result, revision);
            (result, wrapping)
        }
        Ok(Answered { member, outcome: Outcome::NeedInput(question) }) => {
            (ToolResult::error(cannot_ask(&member, &question)), Wrapping::IfNeeded)
        }
        Err(error) => match for_model(&error, revision) {
            Some(result) => (result, Wrapping::IfNeeded),
            None => return Err(for_program(&error, revision)),
        },
    };
    let answer = ToolAnswer { result: &result, wrapping, server: &protocol.identity };
    Ok(render(&View::new(&answer, revision)))
}

/// A tool's arguments: an object, or nothing, which counts as an empty one.
fn arguments(params: &Params) -> Result<Arguments<'_>, ProtocolError> {
    match params.arguments() {
        Some((text, value)) => Arguments::new(text.get(), value)
            .map_err(|_| ProtocolError::params("/arguments", "`arguments` must be an object")),
        None => Ok(Arguments::none()),
    }
}

/// Only revisions between the first with structured results and the first with any kind of them see wrapped ones.
fn wrapping(catalog: &Catalog, tool: &str, result: &ToolResult, revision: Revision) -> Wrapping {
    let wraps = revision.has(Feature::Structured) && !revision.has(Feature::AnyStructured);
    if wraps && result.structured.is_some() {
        let schema = catalog.tool(tool).and_then(|entry| entry.shown_output());
        return Wrapping::for_schema(schema);
    }
    Wrapping::IfNeeded
}

/// `resources/read`
pub(super) async fn read_resource(protocol: Arc<Protocol>, exchange: Exchange, params: Params) -> Text {
    let revision = exchange.revision;
    let uri = params.string("uri")?;
    let context = exchange.context(&params);
    let catalog = protocol.dispatcher.catalog();
    let read = protocol.dispatcher.read_resource(&catalog, &context, uri).await;
    let result = read.map_err(|error| for_program(&not_there(error, uri), revision)).and_then(done)?;
    let contents = ReadContents { result: &result, server: &protocol.identity };
    Ok(render(&View::new(&contents, revision)))
}

/// `prompts/get`
pub(super) async fn get_prompt(protocol: Arc<Protocol>, exchange: Exchange, params: Params) -> Text {
    let revision = exchange.revision;
    let name = params.string("name")?;
    let arguments = Params::strings(params.get("arguments"), "/arguments")?;
    let context = exchange.context(&params);
    let catalog = protocol.dispatcher.catalog();
    let got = protocol.dispatcher.get_prompt(&catalog, &context, name, &arguments).await;
    let result = got.map_err(|error| for_program(&error, revision)).and_then(done)?;
    let messages = PromptMessages { result: &result, server: &protocol.identity };
    Ok(render(&View::new(&messages, revision)))
}

/// `completion/complete`
pub(super) async fn complete(protocol: Arc<Protocol>, exchange: Exchange, params: Params) -> Text {
    let revision = exchange.revision;
    let part = |object: &'static str, key: &str| {
        params.get(object).and_then(|object| object.get(key)).and_then(Value::as_str).ok_or_else(|| {
            ProtocolError::params(&format!("/{object}/{key}"), &format!("`{object}.{key}` must be a string"))
        })
    };
    let whose = match part("ref", "type")? {
        "ref/prompt" => CompletionRef::Prompt(part("ref", "name")?),
        "ref/resource" => CompletionRef::Resource(part("ref", "uri")?),
        _ => {
            return Err(ProtocolError::params(
                "/ref/type",
                "`ref.type` must be `ref/prompt` or `ref/resource`",
            ));
        }
    };
    let argument = (part("argument", "name")?, part("argument", "value")?);
    let others = params.get("context").and_then(|context| context.get("arguments"));
    let others = Params::strings(others, "/context/arguments")?;
    let context = exchange.context(&params);
    let catalog = protocol.dispatcher.catalog();
    let completed = protocol.dispatcher.complete(&catalog, &context, whose, argument, &others).await;
    let completion = completed.map_err(|error| match error {
        DispatchError::UnknownPrompt(_) => ProtocolError::params("/ref/name", &error.to_string()),
        error => for_program(&error, revision),
    })?;
    let result = CompletionResult { completion: &completion, server: &protocol.identity };
    Ok(render(&View::new(&result, revision)))
}

/// A plugin that doesn't know a URI of its own space says so in its words; clients know it by one error alone.
fn not_there(error: DispatchError, uri: &str) -> DispatchError {
    match error {
        DispatchError::Call { error: CallError::Refused(Failure::NotFound(_)), .. } => {
            DispatchError::ResourceNotFound(uri.to_owned())
        }
        other => other,
    }
}

fn done<T>(answered: Answered<T>) -> Result<T, ProtocolError> {
    match answered.outcome {
        Outcome::Done(result) => Ok(result),
        Outcome::NeedInput(question) => Err(ProtocolError::internal(cannot_ask(&answered.member, &question))),
    }
}

/// Asking the client isn't there yet: the plugin's question is named, and the call ends.
fn cannot_ask(member: &Member, question: &NeedInput) -> String {
    let methods: Vec<_> = question.requests.iter().map(|request| request.method.as_str()).collect();
    let methods = methods.join("`, `");
    let plugin = member.id();
    format!(
        "plugin `{plugin}` asks the client for `{methods}`, which this version of the gateway can't pass on"
    )
}

impl Protocol {
    /// The arguments of a `tools/call` that HTTP headers repeat: the headers' names as the tool has them, without what
    /// all of them begin with, and the values; none where an argument is absent or `null`. A tool that isn't there
    /// has none: that is told later.
    #[must_use]
    pub fn in_headers(&self, principal: &Principal, params: &Params) -> Vec<(String, Option<Value>)> {
        let catalog = self.dispatcher.catalog();
        let tool = params.name("name").and_then(|name| catalog.view(principal).tool(name));
        let arguments = params.get("arguments").unwrap_or(&Value::Null);
        let headers = tool.map(|entry| entry.headers()).unwrap_or_default();
        headers.iter().map(|it| (it.name().to_owned(), it.value(arguments).cloned())).collect()
    }
}
