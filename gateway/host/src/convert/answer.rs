//! Results of calls: values, questions to the client, failures.

use std::time::Duration;

use moongate_model::call::{
    Completion, CompletionTarget, InputNeeded, InputRequest, Outcome, PluginError, PluginErrorDetail,
    PromptResult, ReadResult, ToolResult,
};
use moongate_model::json::Json;

use super::content::{contents, messages, resource_contents};
use super::{ConvertError, ErrorPath as _, description, extra, meta, strict};
use crate::bindings::{completions, prompts, resources, tools, types};
use crate::diagnostics::text;

/// The result of a tool.
pub(crate) fn tool_outcome(given: tools::CallOutcome) -> Result<Outcome<ToolResult>, ConvertError> {
    let given = match given {
        tools::CallOutcome::Done(given) => given,
        tools::CallOutcome::NeedInput(given) => return need_input(given).map(Outcome::NeedInput),
    };
    let tools::CallResult { content, structured, is_error, meta: its_meta, extra: more } = given;
    let covered = ["content", "structuredContent", "isError", "resultType", "inputRequests", "requestState"];
    Ok(Outcome::Done(ToolResult {
        content: contents(content)?,
        structured: structured.map(strict).transpose().at("`structured`")?,
        is_error: is_error.unwrap_or(false),
        meta: meta(its_meta)?,
        extra: extra(more, &covered)?,
    }))
}

/// The contents of a resource.
pub(crate) fn read_outcome(given: resources::ReadOutcome) -> Result<Outcome<ReadResult>, ConvertError> {
    let given = match given {
        resources::ReadOutcome::Done(given) => given,
        resources::ReadOutcome::NeedInput(given) => return need_input(given).map(Outcome::NeedInput),
    };
    let resources::ReadResult { contents, ttl_ms, shareable, meta: its_meta, extra: more } = given;
    Ok(Outcome::Done(ReadResult {
        contents: contents.into_iter().map(resource_contents).collect::<Result<_, _>>().at("contents")?,
        ttl: ttl_ms.map(|ms| Duration::from_millis(ms.into())),
        is_shareable: shareable.unwrap_or(false),
        meta: meta(its_meta)?,
        extra: extra(
            more,
            &["contents", "ttlMs", "cacheScope", "resultType", "inputRequests", "requestState"],
        )?,
    }))
}

/// A filled-in prompt.
pub(crate) fn prompt_outcome(given: prompts::PromptOutcome) -> Result<Outcome<PromptResult>, ConvertError> {
    let given = match given {
        prompts::PromptOutcome::Done(given) => given,
        prompts::PromptOutcome::NeedInput(given) => return need_input(given).map(Outcome::NeedInput),
    };
    let prompts::PromptResult { description: about, messages: chat, meta: its_meta, extra: more } = given;
    Ok(Outcome::Done(PromptResult {
        description: description(about),
        messages: messages(chat)?,
        meta: meta(its_meta)?,
        extra: extra(more, &["description", "messages", "resultType", "inputRequests", "requestState"])?,
    }))
}

/// Completion values.
pub(crate) fn completion(given: completions::Completion) -> Result<Completion, ConvertError> {
    let completions::Completion { values, total, has_more, meta: its_meta, extra: more } = given;
    Ok(Completion {
        values: values.iter().map(|value| text::clean_line(value, text::MAX_MESSAGE_BYTES)).collect(),
        total,
        has_more,
        meta: meta(its_meta)?,
        extra: extra(more, &["values", "total", "hasMore"])?,
    })
}

/// The prompt or template that the completed argument belongs to.
pub(crate) fn target(target: &CompletionTarget) -> completions::CompletionTarget {
    match target {
        CompletionTarget::Prompt(name) => completions::CompletionTarget::Prompt(name.as_str().to_owned()),
        CompletionTarget::Template(uri) => completions::CompletionTarget::ResourceTemplate(uri.clone()),
    }
}

/// Questions to the client. The dispatcher checks that the plugin is allowed to ask them.
fn need_input(given: types::NeedInput) -> Result<InputNeeded, ConvertError> {
    let types::NeedInput { requests, state, meta: its_meta, extra: more } = given;
    Ok(InputNeeded {
        requests: requests
            .into_iter()
            .map(|request| {
                let place = format!("question `{}`", request.key);
                input_request(request).at(place)
            })
            .collect::<Result<_, _>>()?,
        state,
        meta: meta(its_meta)?,
        extra: extra(more, &["inputRequests", "requestState", "resultType"])?,
    })
}

fn input_request(given: types::InputRequest) -> Result<InputRequest, ConvertError> {
    let types::InputRequest { key, method, params } = given;
    let params = params.map(strict).transpose().at("`params`")?;
    if params.as_ref().is_some_and(|params| !params.is_object()) {
        return Err(ConvertError::new("`params` must be an object"));
    }
    Ok(InputRequest { key, method, params })
}

/// A failure reported by the plugin itself.
pub(crate) fn failure(given: types::Failure) -> PluginError {
    match given {
        types::Failure::InvalidParams(given) => PluginError::InvalidParams(fault(given)),
        types::Failure::NotFound(given) => PluginError::NotFound(fault(given)),
        types::Failure::MissingCapability(names) => PluginError::MissingCapability(
            names.iter().map(|name| text::clean_line(name, text::MAX_NAME_BYTES)).collect(),
        ),
        types::Failure::Internal(given) => PluginError::Internal(fault(given)),
        types::Failure::Custom(types::CustomFault { code, message, data }) => {
            let message = sentence(message);
            let data = data.as_deref().map(lenient);
            // Codes that JSON-RPC and MCP define would have another meaning for the client.
            if (-32768..=-32000).contains(&code) {
                return PluginError::Internal(PluginErrorDetail { message, pointer: None, data });
            }
            PluginError::Custom { code, message, data }
        }
    }
}

fn fault(given: types::Fault) -> PluginErrorDetail {
    let types::Fault { message, at, data } = given;
    PluginErrorDetail {
        message: sentence(message),
        pointer: at.map(|pointer| text::clean_line(&pointer, text::MAX_NAME_BYTES)),
        data: data.as_deref().map(lenient),
    }
}

fn sentence(message: String) -> String {
    let message = text::clean_block(message, text::MAX_MESSAGE_BYTES);
    if message.trim().is_empty() { "the plugin gave no reason".to_owned() } else { message }
}

/// The data of a failure. Data that isn't JSON, or is nested too deeply, becomes a string, so that the failure itself
/// isn't lost.
fn lenient(data: &str) -> Json {
    strict(text::clean_json(data.to_owned()))
        .unwrap_or_else(|_| Json::string(&text::clean_block(data.to_owned(), usize::MAX)))
}
