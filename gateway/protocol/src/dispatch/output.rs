//! Validation of output against the plugin's schemas and grants.

use std::collections::HashSet;

use crate::call::{
    CallContext, CallError, Completion, CompletionTarget, Content, GrantEvent, GrantFix, InputNeeded,
    OPERATOR_CAN_ALLOW, Outcome, PluginError, PromptResult, ReadResult, ResourceBody, ResourceContents,
    ToolResult,
};
use crate::catalog::{Catalog, CatalogPlugin, ToolEntry};
use crate::names::{PluginId, ResourceUri};
use crate::policy::ClientFeature;

use super::arguments::CallChecks;
use super::check_pool::CheckError;

/// The number of suggestions that MCP allows in one response.
const MAX_COMPLETIONS: usize = 100;

/// The maximum number of questions in one round: more than a user answers.
const MAX_QUESTIONS: usize = 16;

/// Checks a tool's answer against its output schema.
///
/// Structured content is removed from a failed result: clients would check it against the schema even then, and lose
/// the message. A result without any content gets its structured content as text, for clients and models that only read
/// text. A result with an image keeps its content, because the structured part is often the same image.
pub(super) async fn check_tool_outcome(
    view: &Catalog,
    entry: &ToolEntry,
    checks: &CallChecks<'_>,
    outcome: Outcome<ToolResult>,
) -> Result<Outcome<ToolResult>, CallError> {
    let mut result = match outcome {
        Outcome::Done(result) => result,
        Outcome::NeedInput(need) => {
            return check_questions(entry.plugin(), checks.context, need).map(Outcome::NeedInput);
        }
    };
    if let Some(schema) = entry.output_schema().filter(|_| !result.is_error) {
        let Some(structured) = &result.structured else {
            return Err(CallError::InvalidOutput(
                "the structured result is missing, but the tool has an output schema".to_owned(),
            ));
        };
        let others = result.content.iter().map(content_bytes).sum();
        checks.check_result(schema, structured.get(), others).await.map_err(|error| match error {
            CheckError::Mismatch(mismatch) => CallError::InvalidOutput(format!(
                "the structured result doesn't match the output schema: {mismatch}"
            )),
            CheckError::Call(error) => error,
        })?;
    }
    result.content.retain(|content| is_visible(view, entry.plugin().id(), content));
    if let Some(structured) = result.structured.as_ref().filter(|_| result.content.is_empty()) {
        result.content.push(Content::text(structured.get()));
    }
    if result.is_error {
        result.structured = None;
    }
    Ok(Outcome::Done(result))
}

/// The size of a block in memory, in bytes, apart from small members. The blocks of a result can be parts of the same
/// memory of the guest.
fn content_bytes(content: &Content) -> usize {
    let resource = |contents: &ResourceContents| match &contents.body {
        ResourceBody::Text(text) => text.len(),
        ResourceBody::Blob(blob) => blob.len(),
    };
    match content {
        Content::Text(text) => text.text.len(),
        Content::Image(media) | Content::Audio(media) => media.data.len(),
        Content::Link(link) => link.description.as_ref().map_or(0, String::len),
        Content::Embedded(embedded) => resource(&embedded.contents),
        Content::Other(_, object) => object.get().len(),
    }
}

/// Reports whether content of a plugin may be shown: it is neither a resource that the caller can't see nor a link to
/// one.
fn is_visible(view: &Catalog, source: &PluginId, content: &Content) -> bool {
    match content {
        Content::Link(resource) => !view.hides_resource(resource.uri.as_str(), Some(source)),
        Content::Embedded(embedded) => !view.hides_resource(embedded.contents.uri.as_str(), Some(source)),
        Content::Text(_) | Content::Image(_) | Content::Audio(_) | Content::Other(..) => true,
    }
}

/// Drops resources outside the plugin's own URIs: they would be attributed to another plugin.
pub(super) fn check_read_outcome(
    catalog: &Catalog,
    catalog_plugin: &CatalogPlugin,
    context: &CallContext,
    asked: &ResourceUri,
    outcome: Outcome<ReadResult>,
) -> Result<Outcome<ReadResult>, CallError> {
    let mut result = match outcome {
        Outcome::Done(result) => result,
        Outcome::NeedInput(need) => {
            return check_questions(catalog_plugin, context, need).map(Outcome::NeedInput);
        }
    };
    let before = result.contents.len();
    result.contents.retain(|part| {
        let owner = catalog.resource_owner(part.uri.as_str());
        let own = part.uri == *asked || owner.is_some_and(|owner| owner.id() == catalog_plugin.id());
        if !own && catalog_plugin.is_first_foreign_resource() {
            tracing::warn!(
                plugin = %catalog_plugin.id(),
                uri = %part.uri,
                "dropped a resource outside the plugin's own URIs; further ones aren't reported"
            );
        }
        own
    });
    if result.contents.is_empty() && before > 0 {
        return Err(CallError::InvalidOutput("all returned resources belong to other plugins".to_owned()));
    }
    Ok(Outcome::Done(result))
}

/// Checks the questions. A filled-in prompt needs no check, but loses resources that the caller can't see.
pub(super) fn check_prompt_outcome(
    view: &Catalog,
    catalog_plugin: &CatalogPlugin,
    context: &CallContext,
    outcome: Outcome<PromptResult>,
) -> Result<Outcome<PromptResult>, CallError> {
    match outcome {
        Outcome::Done(mut result) => {
            result.messages.retain(|message| is_visible(view, catalog_plugin.id(), &message.content));
            Ok(Outcome::Done(result))
        }
        Outcome::NeedInput(need) => check_questions(catalog_plugin, context, need).map(Outcome::NeedInput),
    }
}

/// Checks that the plugin may ask these questions, and that their keys differ.
fn check_questions(
    catalog_plugin: &CatalogPlugin,
    context: &CallContext,
    need: InputNeeded,
) -> Result<InputNeeded, CallError> {
    let bad = |why: String| Err(CallError::InvalidOutput(why));
    let count = need.requests.len();
    if count > MAX_QUESTIONS {
        return bad(format!("it asks {count} questions at once; at most {MAX_QUESTIONS} are allowed"));
    }
    if need.requests.is_empty() && need.state.is_none() {
        return bad("it requires input but asks no question".to_owned());
    }
    let mut keys = HashSet::new();
    for request in &need.requests {
        let feature = match request.method.as_str() {
            "elicitation/create" => ClientFeature::Elicitation,
            "sampling/createMessage" => ClientFeature::Sampling,
            "roots/list" => ClientFeature::Roots,
            other => {
                return bad(format!("it asks an unsupported question: `{}`", other.escape_debug()));
            }
        };
        if !catalog_plugin.policy().client_features.contains(&feature) {
            return Err(missing_grant_error(catalog_plugin, context, feature));
        }
        note_access(catalog_plugin, context, GrantEvent::Used(format!("client {}", feature.as_str())));
        if !keys.insert(&request.key) {
            return bad(format!("it asks two questions with the key `{}`", request.key.escape_debug()));
        }
    }
    drop(keys);
    Ok(need)
}

/// Replaces the error about a missing client capability by one about the missing grant, if the client has the
/// capability or there is no client. A client without it gets the error that its protocol defines, and the operator is
/// notified of the missing grant.
pub(super) fn explain_missing_grant(
    catalog_plugin: &CatalogPlugin,
    context: &CallContext,
    error: CallError,
) -> CallError {
    let CallError::Refused(PluginError::MissingCapability(names)) = &error else { return error };
    let words = names.iter().map(|name| name.split('.').next().unwrap_or_default());
    let mut features = words.filter_map(|word| ClientFeature::ALL.into_iter().find(|it| it.as_str() == word));
    let lacking = features.find(|feature| !catalog_plugin.policy().client_features.contains(feature));
    let Some(feature) = lacking else { return error };
    let not_granted = missing_grant_error(catalog_plugin, context, feature);
    let is_able = context.revision.is_none() || context.capabilities.has(feature.as_str());
    if is_able { not_granted } else { error }
}

/// The error for a client feature that isn't granted. It is logged once and recorded, with the line that grants it.
fn missing_grant_error(
    catalog_plugin: &CatalogPlugin,
    context: &CallContext,
    feature: ClientFeature,
) -> CallError {
    let id = catalog_plugin.id();
    let word = feature.as_str();
    let grant_line = feature.suggest_grant();
    let refused = format!("asking the client for {word} is not granted");
    let mut why = format!("{refused}; {OPERATOR_CAN_ALLOW}");
    if catalog_plugin.is_first_ungranted_request(feature) {
        tracing::warn!(plugin = %id, "{refused}; to allow it, add `{grant_line}` to `[plugins.{id}.allow]`");
    }
    let wanted = format!("to ask the client for {word}");
    let missing = GrantEvent::Missing { wanted, fix: Some(GrantFix::Line(grant_line)) };
    note_access(catalog_plugin, context, missing);
    if context.revision.is_some() && !context.capabilities.has(word) {
        why.push_str(&format!(", but this client doesn't offer {word}"));
    }
    CallError::NotGranted(why)
}

/// Records an access for the operator, and for the caller's report.
fn note_access(catalog_plugin: &CatalogPlugin, context: &CallContext, event: GrantEvent) {
    catalog_plugin.plugin().note_access(&event);
    if let Some(grant_report) = &context.grant_report {
        grant_report.record(event);
    }
}

/// Drops suggestions that complete a template to a resource that the caller can't see or that isn't offered. `others` are
/// the values of other variables.
pub(super) fn visible_completion(
    view: &Catalog,
    source: &CatalogPlugin,
    target: &CompletionTarget,
    name: &str,
    others: &[(String, String)],
    mut completion: Completion,
) -> Completion {
    let CompletionTarget::Template(template) = target else { return completion };
    let before = completion.values.len();
    completion.values.retain(|value| {
        let value_of = |variable: &str| {
            let other = others.iter().find(|(other, _)| other == variable);
            if variable == name { Some(value.as_str()) } else { other.map(|(_, value)| value.as_str()) }
        };
        let uri = with_variables(template, value_of);
        !view.hides_resource(&uri, Some(source.id())) && !source.withholds(&uri)
    });
    // The plugin counts the dropped ones too. Without a count for all prefixes, a caller with roles could find out which
    // prefixes lead to hidden resources.
    if completion.values.len() < before || view.role_names().is_some() {
        completion.total = None;
        completion.has_more = None;
    }
    completion
}

/// The template with values in place of variables. Expressions without a known variable stay.
fn with_variables<'a>(template: &str, value_of: impl Fn(&str) -> Option<&'a str>) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((expression, after)) = after.split_once('}') else { break };
        text.push_str(before);
        let variables = expression.trim_start_matches(|c: char| "+#./;?&".contains(c)).split(',');
        let names = variables.map(|variable| variable.split([':', '*']).next().unwrap_or_default());
        let values: Vec<_> = names.filter_map(&value_of).collect();
        if values.is_empty() {
            text.push_str(&format!("{{{expression}}}"));
        } else {
            text.push_str(&values.join(","));
        }
        rest = after;
    }
    text + rest
}

/// Limits the number of suggestions, and makes the total at least as large.
pub(super) fn limit_completion(mut completion: Completion) -> Completion {
    let count = u32::try_from(completion.values.len()).unwrap_or(u32::MAX);
    completion.total = completion.total.map(|total| total.max(count));
    if completion.values.len() > MAX_COMPLETIONS {
        completion.values.truncate(MAX_COMPLETIONS);
        completion.total = completion.total.or(Some(count));
        completion.has_more = Some(true);
    }
    completion
}
