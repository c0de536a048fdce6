//! The page on which operators call tools: a form made from the schema of the arguments, the result, and the questions of
//! the tool.
//!
//! It has no script. Everything from plugins is escaped, links of results are shown as text, and images are only those of
//! types that can't contain scripts.

use std::borrow::Cow;
use std::time::Duration;

use maud::{DOCTYPE, Markup, html};
use moongate_model::json;
use moongate_model::text::{escape_hidden_in_block, first_sentence, truncated};
use moongate_protocol::catalog::{Catalog, ToolEntry};
use serde_json::Value;

use super::html::{Tone, badge, nothing, shown, table, text, with_code};
use crate::admin::tool_form::{FieldControl, FormErrors, FormField, FormValues, form_fields, indented};
use crate::admin::tool_trial::{
    ARGUMENTS_INPUT, JSON_INPUT, OpenForms, QUESTIONS_INPUT, STATE_INPUT, TOOL_INPUT, TrialOutcome,
    TrialPage, action_input, question_prefix,
};
use crate::call_line::short_duration;

/// The policy of the page: no script at all, and images of results.
pub(in crate::admin) const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; \
    img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// The maximum number of listed tools.
const MAX_LISTED_TOOLS: usize = 1000;

/// The longest shown text of a result, in bytes.
const MAX_SHOWN_BYTES: usize = 256 * 1024;

/// The maximum length of the shown content of a result, in bytes.
const MAX_CONTENT_BYTES: usize = 4 * 1024 * 1024;

/// The types of images that are shown. SVG images can contain scripts.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// All tools.
pub(in crate::admin) fn list(catalog: &Catalog) -> String {
    let tools = catalog.tools();
    let rows: Vec<_> = tools
        .iter()
        .take(MAX_LISTED_TOOLS)
        .map(|tool| {
            let name = tool.public_name().as_str();
            [
                html! { a.name href={ "try?tool=" (name) } { (name) } },
                html! { (tool.plugin().id()) },
                html! { (with_code(&first_sentence(tool.description()))) },
            ]
        })
        .collect();
    page(
        "Try a tool",
        &html! {
            section aria-labelledby="tools-title" {
                h2 #tools-title { "Try a tool" }
                p.note { "Calls from this page have the caller " code { "operator" } " in logs and in the audit log." }
                @if rows.is_empty() {
                    (nothing("No plugin offers a tool."))
                } @else {
                    (table("tools", [text("Tool"), text("Plugin"), text("Description")], &rows))
                }
                @if tools.len() > MAX_LISTED_TOOLS {
                    p.note { "More tools exist. Open one with " code { "try?tool=NAME" } "." }
                }
            }
        },
    )
}

/// The page of a tool that doesn't exist.
pub(in crate::admin) fn unknown_tool(name: &str) -> String {
    page(
        "Try a tool",
        &html! {
            section aria-labelledby="tool-title" {
                h2 #tool-title { "Unknown tool" }
                p.nothing { "There is no tool " code { (shown(name)) } ". " a href="try" { "See all tools" } "." }
            }
        },
    )
}

/// The page of a tool, with the outcome of its last call.
pub(in crate::admin) fn document(trial: &TrialPage) -> String {
    let TrialPage { tool, schema: _, values, errors, outcome } = trial;
    let name = tool.public_name().as_str();
    page(
        name,
        &html! {
            section aria-labelledby="tool-title" {
                h2 #tool-title { (name) }
                (about(tool))
            }
            @if let Some(outcome) = outcome {
                section #result aria-labelledby="result-title" { (outcome_section(name, outcome)) }
            }
            section aria-labelledby="arguments-title" {
                h2 #arguments-title { "Arguments" }
                (arguments_form(name, &trial.fields(), values.as_ref(), errors))
            }
        },
    )
}

fn page(title: &str, content: &Markup) -> String {
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (shown(title)) " · Moongate" }
                link rel="icon" href="icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="status.css";
            }
            body {
                a.skip href="#main" { "Skip to content" }
                header {
                    div.brand {
                        img src="icon.svg" alt="" width="28" height="28";
                        h1 { "Moongate" }
                    }
                    nav aria-label="Pages" { a href="./" { "Status" } a href="try" { "All tools" } }
                }
                main #main { (content) }
            }
        }
    };
    document.into_string()
}

/// The plugin's statements about the tool.
fn about(tool: &ToolEntry) -> Markup {
    let hints = &tool.tool().hints;
    let effect = match (hints.read_only, hints.destructive) {
        (Some(true), _) => "The plugin reports that a call changes nothing.",
        (_, Some(false)) => "The plugin reports that a call changes something, but destroys nothing.",
        (Some(false) | None, Some(true) | None) => "A call can change or destroy something.",
    };
    html! {
        p.note { "Plugin " span.name { (tool.plugin().id()) } ". " (effect) }
        p.block { (block(tool.description())) }
    }
}

fn arguments_form(
    tool: &str,
    fields: &[FormField<'_>],
    values: Option<&FormValues>,
    errors: &FormErrors,
) -> Markup {
    let json = values.and_then(|values| values.get(JSON_INPUT)).unwrap_or_default();
    let json_error = errors.get(JSON_INPUT);
    html! {
        form.tool method="post" action="try#result" {
            input type="hidden" name=(TOOL_INPUT) value=(tool);
            @if fields.is_empty() { p.note { "This tool has no named arguments." } }
            @for field in fields { (form_field(field, values, errors)) }
            details open[!json.is_empty() || json_error.is_some()] {
                summary { "All arguments as JSON" }
                div.field {
                    label for=(JSON_INPUT) { "JSON object, instead of the fields above" }
                    textarea #(JSON_INPUT) name=(JSON_INPUT) rows="4" spellcheck="false" { (json) }
                    @if let Some(error) = json_error { p.bad { (shown(error)) } }
                }
            }
            button type="submit" { "Call " (tool) }
        }
    }
}

/// A field with its label, its description and its error.
fn form_field(field: &FormField<'_>, values: Option<&FormValues>, errors: &FormErrors) -> Markup {
    let FormField { input, name, title, description, is_required, control, .. } = field;
    let value = match values {
        Some(values) => values.get(input).unwrap_or_default().to_owned(),
        None => field.initial_text(),
    };
    let error = errors.get(input);
    let describes = description.is_some().then(|| format!("{input}-about"));
    let described = [describes.clone(), error.map(|_| format!("{input}-error"))];
    let described: Vec<_> = described.into_iter().flatten().collect();
    let described = (!described.is_empty()).then(|| described.join(" "));
    let is_invalid = error.map(|_| "true");
    html! {
        div.field {
            label for=(input) {
                code { (shown(name)) }
                @if let Some(title) = title { " " (shown(title)) }
                @if *is_required { " (required)" }
            }
            @if let (Some(description), Some(id)) = (description, &describes) {
                p.note id=(id) { (shown(description)) }
            }
            @match control {
                FieldControl::Line | FieldControl::Number => {
                    input #(input) name=(input) type="text" value=(value) autocomplete="off" spellcheck="false"
                        inputmode=[(*control == FieldControl::Number).then_some("decimal")]
                        aria-describedby=[&described] aria-invalid=[is_invalid];
                }
                FieldControl::Text | FieldControl::Json => {
                    // The first line break after the tag isn't part of the value (HTML Standard, textarea).
                    textarea #(input) name=(input) spellcheck="false"
                        rows=(if *control == FieldControl::Json { "4" } else { "2" })
                        placeholder=[(*control == FieldControl::Json).then_some("JSON")]
                        aria-describedby=[&described] aria-invalid=[is_invalid] { "\n" (value) }
                }
                FieldControl::Boolean => {
                    (choice(input, &value, described.as_deref(), is_invalid,
                        &[("true".to_owned(), "true".to_owned()), ("false".to_owned(), "false".to_owned())]))
                }
                FieldControl::Choice(choices) => {
                    @let options: Vec<_> = choices.iter().enumerate().map(choice_option).collect();
                    (choice(input, &value, described.as_deref(), is_invalid, &options))
                }
            }
            @if let Some(error) = error { p.bad id={ (input) "-error" } { (shown(error)) } }
        }
    }
}

/// The value of an option, which is its position, and its text.
fn choice_option((at, (value, title)): (usize, &(&Value, Option<&str>))) -> (String, String) {
    let own = match value {
        Value::String(text) => shown(text),
        other => shown(&other.to_string()),
    };
    (at.to_string(), title.map_or(own.clone(), |title| format!("{} ({own})", shown(title))))
}

fn choice(
    input: &str,
    selected: &str,
    described: Option<&str>,
    is_invalid: Option<&str>,
    options: &[(String, String)],
) -> Markup {
    html! {
        select #(input) name=(input) aria-describedby=[described] aria-invalid=[is_invalid] {
            option value="" { "–" }
            @for (value, text) in options { option value=(value) selected[value == selected] { (text) } }
        }
    }
}

fn outcome_section(tool: &str, outcome: &TrialOutcome) -> Markup {
    match outcome {
        TrialOutcome::Failed(message) => html! {
            h2 #result-title { "Result " (badge(Tone::Bad, "failed")) }
            p.block { (block(message)) }
        },
        TrialOutcome::Result { response, took } => result_section(response, *took),
        TrialOutcome::Questions(open) => questions_form(tool, open),
    }
}

/// The result in a response. Its text isn't parsed as a whole, because it can be large.
fn result_section(response: &[u8], took: Duration) -> Markup {
    let result = std::str::from_utf8(response).ok().and_then(|text| json::member(text, "result"));
    let parts = ["isError", "content", "structuredContent"];
    let [is_error, content, structured] = json::members(result.unwrap_or_default(), parts);
    let is_error = is_error == Some("true");
    let (tone, word) = if is_error { (Tone::Bad, "tool error") } else { (Tone::Good, "ok") };
    let mut left = MAX_CONTENT_BYTES;
    let mut blocks = Vec::new();
    let is_complete = json::visit_elements(content.unwrap_or_default(), |block| {
        let block = content_block(block);
        left = left.checked_sub(block.0.len()).ok_or(())?;
        blocks.push(block);
        Ok::<_, ()>(())
    });
    let structured = structured.filter(|content| *content != "null");
    html! {
        h2 #result-title { "Result " (badge(tone, word)) " " span.more { (short_duration(took)) } }
        @if blocks.is_empty() && structured.is_none() && is_complete.is_ok() {
            p.nothing { "The result is empty." }
        }
        @for content in blocks { div.content { (content) } }
        @if is_complete.is_err() { p.note { "The rest of the content is too large for this page." } }
        @if let Some(structured) = structured {
            h3 { "Structured content" }
            (preformatted_json(structured))
        }
    }
}

/// The string in this member. Empty if there is none.
fn text_member<'a>(object: &'a str, key: &str) -> Cow<'a, str> {
    json::member(object, key).and_then(json::string_value).unwrap_or_default()
}

/// A content block (2026-07-28, server/tools, Tool result).
fn content_block(content: &str) -> Markup {
    let member = |key: &str| text_member(content, key);
    match &*member("type") {
        "text" => preformatted(&member("text")),
        "image" => image(&member("mimeType"), &member("data")),
        "audio" => html! { p { "Audio, " (binary(&member("mimeType"), &member("data"))) } },
        "resource_link" => html! {
            p { "Link to a resource: " code { (shown(&member("uri"))) } " " span.name { (shown(&member("name"))) } }
            @if !member("description").is_empty() { p.note { (shown(&member("description"))) } }
        },
        "resource" => resource(json::member(content, "resource").unwrap_or_default()),
        _ => preformatted_json(content),
    }
}

fn resource(resource: &str) -> Markup {
    let member = |key: &str| json::member(resource, key).and_then(json::string_value);
    let media_type = member("mimeType").unwrap_or_default();
    html! {
        p { "Resource " code { (shown(&member("uri").unwrap_or_default())) } }
        @match (member("text"), member("blob")) {
            (Some(text), _) => (preformatted(&text)),
            (None, Some(data)) => (image(&media_type, &data)),
            (None, None) => {}
        }
    }
}

/// An image, or the size of data that can't be shown.
fn image(media_type: &str, data: &str) -> Markup {
    let is_base64 = data.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
    html! {
        @if is_base64 && IMAGE_TYPES.contains(&media_type) {
            img.content src={ "data:" (media_type) ";base64," (data) } alt="Image of the result";
        }
        p.note { (binary(media_type, data)) }
    }
}

/// The type and the approximate size of base64 data.
fn binary(media_type: &str, data: &str) -> String {
    let kind = if media_type.is_empty() { "unknown type" } else { media_type };
    format!("{}, {} bytes", shown(kind), data.len() / 4 * 3)
}

/// The questions of a tool, as a form.
fn questions_form(tool: &str, open: &OpenForms) -> Markup {
    let OpenForms { arguments, state, requests, reasons, values, errors } = open;
    html! {
        h2 #result-title { "The tool asks" }
        @for reason in reasons { p.bad { (shown(reason)) } }
        form.tool method="post" action="try#result" {
            input type="hidden" name=(TOOL_INPUT) value=(tool);
            input type="hidden" name=(ARGUMENTS_INPUT) value=(arguments);
            input type="hidden" name=(STATE_INPUT) value=(state);
            input type="hidden" name=(QUESTIONS_INPUT) value=(Value::Object(requests.clone()));
            @for (at, request) in requests.values().enumerate() { (question(at, request, values, errors)) }
            button type="submit" { "Answer" }
        }
    }
}

fn question(at: usize, request: &Value, values: &FormValues, errors: &FormErrors) -> Markup {
    let params = &request["params"];
    let fields = form_fields(&params["requestedSchema"], &question_prefix(at));
    let given = fields.iter().any(|field| values.get(&field.input).is_some()).then_some(values);
    let input = action_input(at);
    let action = values.get(&input).unwrap_or("accept");
    html! {
        fieldset {
            legend { (block(params["message"].as_str().unwrap_or("The tool asks."))) }
            @for field in &fields { (form_field(field, given, errors)) }
            div.field {
                label for=(input) { "Your answer" }
                select #(input) name=(input) {
                    @for (value, text) in
                        [("accept", "Send these values"), ("decline", "Decline"), ("cancel", "Cancel")]
                    {
                        option value=(value) selected[value == action] { (text) }
                    }
                }
            }
        }
    }
}

/// Text in a box. The first line break after the tag isn't part of it (HTML Standard, pre).
fn preformatted(text: &str) -> Markup {
    html! { pre { "\n" (block(text)) } }
}

/// JSON in a box, indented unless it is long.
fn preformatted_json(json: &str) -> Markup {
    let value = Some(json).filter(|json| json.len() <= MAX_SHOWN_BYTES);
    let value = value.and_then(|json| serde_json::from_str::<Value>(json).ok());
    let Some(value) = value else { return preformatted(json) };
    let (text, is_complete) = indented(&value, MAX_SHOWN_BYTES);
    html! { pre { "\n" (block(&text)) @if !is_complete { "…" } } }
}

/// Text of several lines, with hidden characters visible.
fn block(text: &str) -> String {
    let text = &text[..text.floor_char_boundary(MAX_SHOWN_BYTES + 1)];
    truncated(escape_hidden_in_block(text).into_owned(), MAX_SHOWN_BYTES)
}
