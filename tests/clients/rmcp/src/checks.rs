//! The checks, one per capability. Names and texts come from the fixture `everything` and the zoo.

#![expect(deprecated, reason = "logging and subscriptions of sessions are still part of the older revisions")]

use std::fmt;
use std::future::Future;

use anyhow::{Context as _, Result, bail, ensure};
use futures::FutureExt as _;
use futures::future::{LocalBoxFuture, join_all};
use rmcp::ServiceError;
use rmcp::model::{
    CallToolRequestParams, ProtocolVersion, ServerNotification, SubscribeRequestParams, SubscriptionFilter,
    UnsubscribeRequestParams,
};
use rmcp::service::Subscription;
use serde_json::{Value, json};
use tokio::select;

use crate::Connection;
use crate::seen::{ROOT, Seen, made, value};

/// The client or its revision doesn't support the capability.
#[derive(Debug)]
pub(crate) struct Unsupported(&'static str);

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Unsupported {}

/// A check.
type Check = fn(&Connection) -> LocalBoxFuture<'_, Result<()>>;

/// All checks, by capability.
pub(crate) const CHECKS: [(&str, Check); 14] = [
    ("list", |client| lists(client).boxed_local()),
    ("call", |client| calls(client).boxed_local()),
    ("read", |client| reads(client).boxed_local()),
    ("get", |client| gets(client).boxed_local()),
    ("complete", |client| completes(client).boxed_local()),
    ("progress", |client| progresses(client).boxed_local()),
    ("logging", |client| logs(client).boxed_local()),
    ("elicitation", |client| elicits(client).boxed_local()),
    ("sampling", |client| samples(client).boxed_local()),
    ("roots", |client| roots(client).boxed_local()),
    ("cancel", |client| cancels(client).boxed_local()),
    ("list_changed", |client| lists_change(client).boxed_local()),
    ("subscriptions", |client| subscribes(client).boxed_local()),
    ("replaced", |client| is_replaced(client).boxed_local()),
];

/// The components that replace a plugin's file in turn, each with one of its tools.
const REPLACEMENTS: [(&str, &str); 2] =
    [("plugins/dist/time.wasm", "replaced_get_current_time"), ("plugins/dist/stateful.wasm", "replaced_note")];

async fn lists(client: &Connection) -> Result<()> {
    let tools = value(&client.service.list_all_tools().await?);
    let tools = tools.as_array().context("no list")?;
    ensure!(tools.iter().any(|tool| tool["name"] == "test_simple_text"), "{tools:?}");
    let schema = tools.iter().find(|tool| tool["name"] == "json_schema_2020_12_tool").context("no schema")?;
    ensure!(schema["inputSchema"]["$defs"]["address"]["$anchor"] == "addressDef", "{schema}");
    let resources = client.service.list_all_resources().await?;
    ensure!(resources.iter().any(|one| one.uri == "test://static-text"), "{resources:?}");
    let templates = client.service.list_all_resource_templates().await?;
    ensure!(templates.iter().any(|one| one.uri_template == "test://template/{id}/data"), "{templates:?}");
    ensure!(prompts(client).await?.contains(&"test_prompt_with_arguments".to_owned()));
    Ok(())
}

async fn calls(client: &Connection) -> Result<()> {
    let simple = call(client, "test_simple_text", json!({})).await?;
    ensure!(text(&simple) == "This is a simple text response for testing.", "{simple}");
    let mixed = call(client, "test_multiple_content_types", json!({})).await?;
    let kinds: Vec<_> = mixed["content"].as_array().into_iter().flatten().map(|one| &one["type"]).collect();
    ensure!(kinds == ["text", "image", "resource"], "{mixed}");
    let sound = call(client, "test_audio_content", json!({})).await?;
    let kind = if client.revision >= ProtocolVersion::V_2025_03_26 { "audio" } else { "text" };
    ensure!(sound["content"][0]["type"] == kind, "{sound}");
    ensure!(call(client, "test_error_handling", json!({})).await?["isError"] == true);
    let about = call(client, "zoo_echo_context", json!({})).await?;
    let structure: Value = serde_json::from_str(&text(&about))?;
    ensure!(structure["revision"] == client.revision.to_string(), "{structure}");
    let structured = (client.revision >= ProtocolVersion::V_2025_06_18).then_some(&structure);
    ensure!(about.get("structuredContent") == structured, "{about}");
    expect_error(call(client, "no_such_tool", json!({})).await, &[-32602])?;
    let one = async |number: u32| {
        let result =
            call(client, "test_x_mcp_header", json!({"region": format!("r{number}"), "level": number}));
        let result = text(&result.await?);
        ensure!(result == format!("region=r{number}, level={number}"), "{number} was answered with {result}");
        Ok(())
    };
    join_all((0..32).map(one)).await.into_iter().collect()
}

async fn reads(client: &Connection) -> Result<()> {
    let one = async |uri: &str| {
        let result = client.service.read_resource(made(json!({"uri": uri}))).await?;
        anyhow::Ok(value(&result)["contents"][0].take())
    };
    let text = one("test://static-text").await?;
    ensure!(text["text"] == "This is the content of the static text resource.", "{text}");
    let image = one("test://static-binary").await?;
    ensure!(
        image["mimeType"] == "image/png"
            && image["blob"].as_str().is_some_and(|blob| blob.starts_with("iVBOR"))
    );
    let data = one("test://template/123/data").await?;
    ensure!(data["text"].as_str().is_some_and(|text| text.contains("Data for ID: 123")), "{data}");
    expect_error(one("test://nothing").await, &[if client.stateless() { -32602 } else { -32002 }])
}

async fn gets(client: &Connection) -> Result<()> {
    let simple = get(client, "test_simple_prompt", json!({})).await?;
    ensure!(simple["messages"][0]["content"]["text"] == "This is a simple prompt for testing.", "{simple}");
    let full = get(client, "test_prompt_with_arguments", json!({"arg1": "a", "arg2": "b"})).await?;
    let wanted = "Prompt with arguments: arg1='a', arg2='b'";
    ensure!(full["messages"][0]["content"]["text"] == wanted, "{full}");
    let image = get(client, "test_prompt_with_image", json!({})).await?;
    ensure!(image["messages"][0]["content"]["type"] == "image", "{image}");
    let held =
        get(client, "test_prompt_with_embedded_resource", json!({"resourceUri": "test://held"})).await?;
    ensure!(held["messages"][0]["content"]["resource"]["uri"] == "test://held", "{held}");
    expect_error(get(client, "test_prompt_with_arguments", json!({})).await, &[-32602])
}

async fn completes(client: &Connection) -> Result<()> {
    let completed = client.service.complete_prompt_simple("test_prompt_with_arguments", "arg1", "te").await?;
    ensure!(completed == ["test", "testing", "tested"], "{completed:?}");
    Ok(())
}

async fn progresses(client: &Connection) -> Result<()> {
    client.seen.notes().progress.clear();
    call(client, "test_tool_with_progress", json!({})).await?;
    client.seen.until("the progress", |notes| notes.progress.len() >= 3).await?;
    let seen = client.seen.notes().progress.clone();
    ensure!(seen == [0.0, 50.0, 100.0].map(|progress| (progress, Some(100.0))), "{seen:?}");
    Ok(())
}

async fn logs(client: &Connection) -> Result<()> {
    client.seen.notes().logs.clear();
    logged(client, "debug", "test_tool_with_logging").await?;
    client.seen.until("the log messages", |notes| notes.logs.len() >= 3).await?;
    let seen = std::mem::take(&mut client.seen.notes().logs);
    let wanted = ["Tool execution started", "Tool processing data", "Tool execution completed"];
    ensure!(seen.iter().map(|log| &log["data"]).eq(&wanted), "{seen:?}");
    ensure!(seen.iter().all(|log| log["level"] == "info"), "{seen:?}");
    logged(client, "error", "test_logging_tool").await?;
    client.seen.until("the log message", |notes| !notes.logs.is_empty()).await?;
    let seen = client.seen.notes().logs.clone();
    ensure!(seen.iter().map(|log| &log["level"]).eq(&["error"]), "{seen:?}");
    Ok(())
}

async fn elicits(client: &Connection) -> Result<()> {
    if client.revision < ProtocolVersion::V_2025_06_18 {
        bail!(Unsupported("the revision doesn't support it"));
    }
    let ask = async |name: &'static str, arguments: Value| {
        client.seen.notes().asked.clear();
        anyhow::Ok(text(&call(client, name, arguments).await?))
    };
    let accepted = ask("test_elicitation", json!({"message": "Who are you?"})).await?;
    ensure!(accepted.contains("accept") && accepted.contains("Ada"), "{accepted}");
    let asked = std::mem::take(&mut client.seen.notes().asked);
    ensure!(asked[0].1["message"].as_str().is_some_and(|text| text.contains("Who are you?")), "{asked:?}");
    client.seen.notes().declines = true;
    let declined = ask("test_elicitation", json!({"message": "Who are you?"})).await;
    client.seen.notes().declines = false;
    ensure!(declined?.contains("decline"));
    // Defaults of fields other than booleans are new in 2025-11-25. So is multiple choice; the plugin gets an error that
    // it isn't supported.
    let is_old = client.revision < ProtocolVersion::V_2025_11_25;
    let (default, several) = if is_old { ("accept", "several values") } else { ("John Doe", "accept") };
    ensure!(ask("test_elicitation_sep1034_defaults", json!({})).await?.contains(default));
    ensure!(ask("test_elicitation_sep1330_enums", json!({})).await?.contains(several));
    ensure!(ask("test_input_required_result_elicitation", json!({})).await? == "Hello, Ada!");
    ask("test_input_required_result_multi_round", json!({})).await?;
    let asked = client.seen.notes().asked.len();
    ensure!(asked == 2, "asked {asked} times");
    let prompt = get(client, "test_input_required_result_prompt", json!({})).await?;
    ensure!(prompt.to_string().contains("Ada"), "{prompt}");
    Ok(())
}

async fn samples(client: &Connection) -> Result<()> {
    client.seen.notes().asked.clear();
    let prompt = "What is the capital of France?";
    let answer = text(&call(client, "test_sampling", json!({"prompt": prompt})).await?);
    ensure!(answer.contains("Paris"), "{answer}");
    let asked = client.seen.notes().asked.clone();
    let [("sampling/createMessage", params)] = &asked[..] else { bail!("asked {asked:?}") };
    ensure!(params["maxTokens"] == 100 && params["messages"].to_string().contains(prompt), "{params}");
    let answer = text(&call(client, "test_input_required_result_sampling", json!({})).await?);
    ensure!(answer.contains("Paris"), "{answer}");
    Ok(())
}

async fn roots(client: &Connection) -> Result<()> {
    let listed = text(&call(client, "test_input_required_result_list_roots", json!({})).await?);
    ensure!(listed.contains(ROOT), "{listed}");
    if client.revision >= ProtocolVersion::V_2025_06_18 {
        client.seen.notes().asked.clear();
        call(client, "test_input_required_result_multiple_inputs", json!({})).await?;
        let mut asked: Vec<_> = client.seen.notes().asked.iter().map(|(method, _)| *method).collect();
        asked.sort_unstable();
        ensure!(asked == ["elicitation/create", "roots/list", "sampling/createMessage"], "{asked:?}");
    }
    Ok(())
}

async fn cancels(client: &Connection) -> Result<()> {
    client.seen.notes().progress.clear();
    // Dropping a call cancels it.
    select! {
        ended = call(client, "zoo_report_and_hang", json!({})) => bail!("it ended before it was cancelled: {ended:?}"),
        runs = client.seen.until("its progress", |notes| !notes.progress.is_empty()) => runs?,
    }
    // The zoo runs one call at a time, so this one runs only after the other has ended.
    ensure!(text(&call(client, "zoo_echo", json!({"text": "free"})).await?) == "free");
    Ok(())
}

async fn lists_change(client: &Connection) -> Result<()> {
    let filter = SubscriptionFilter::builder().tools_list_changed().prompts_list_changed().build();
    with_subscription(client, filter, async {
        for (kind, trigger) in
            [("tools", "test_trigger_tool_change"), ("prompts", "test_trigger_prompt_change")]
        {
            let before = listed(client, kind).await?;
            client.seen.notes().changed.remove(kind);
            call(client, trigger, json!({})).await?;
            let mut after = before.clone();
            // Another gateway may have the new list later, and then there is another notification.
            while after == before {
                client.seen.until(kind, |notes| notes.changed.contains(kind)).await?;
                client.seen.notes().changed.remove(kind);
                after = listed(client, kind).await?;
            }
        }
        Ok(())
    })
    .await
}

async fn subscribes(client: &Connection) -> Result<()> {
    let uri = "zoo://text";
    client.seen.notes().changed.clear();
    if !client.stateless() {
        client.service.subscribe(made::<SubscribeRequestParams>(json!({"uri": uri}))).await?;
    }
    let filter = SubscriptionFilter::builder().tools_list_changed().resource_subscriptions([uri]).build();
    with_subscription(client, filter, async {
        call(client, "zoo_changes_flood", json!({"count": 100})).await?;
        client.seen.until("the notification about the resource", |notes| notes.changed.contains(uri)).await?;
        let mut others = client.seen.notes().changed.clone();
        // Notifications of an earlier check's lists may arrive only now.
        others.retain(|what| ![uri, "tools", "prompts"].contains(&what.as_str()));
        ensure!(others.is_empty(), "unexpected change notifications: {others:?}");
        Ok(())
    })
    .await?;
    if !client.stateless() {
        client.service.unsubscribe(made::<UnsubscribeRequestParams>(json!({"uri": uri}))).await?;
    }
    Ok(())
}

async fn is_replaced(client: &Connection) -> Result<()> {
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    with_subscription(client, filter, async {
        let before = listed(client, "tools").await?;
        let has = |tools: &[String], tool: &str| tools.iter().any(|name| name == tool);
        let [first, second] = REPLACEMENTS;
        let ((_, old), (component, tool)) =
            if has(&before, first.1) { (first, second) } else { (second, first) };
        ensure!(has(&before, old), "{before:?}");
        client.seen.notes().changed.remove("tools");
        let file = std::env::var("MOONGATE_REPLACED")?;
        std::fs::copy(component, format!("{file}.new"))?;
        std::fs::rename(format!("{file}.new"), &file)?;
        let mut after = before;
        // Notifications of an earlier check's changes may arrive only now.
        while !has(&after, tool) {
            client.seen.until("the notification about the other tools", |notes| notes.changed.contains("tools")).await?;
            client.seen.notes().changed.remove("tools");
            after = listed(client, "tools").await?;
        }
        ensure!(!has(&after, old), "{after:?}");
        let result = call(client, tool, json!({"timezone": "UTC", "key": "new"})).await?;
        ensure!(result["isError"] != true, "{result}");
        Ok(())
    })
    .await
}

/// Runs `body` with a subscription. Sessions get change notifications without one.
async fn with_subscription(
    client: &Connection,
    filter: SubscriptionFilter,
    body: impl Future<Output = Result<()>>,
) -> Result<()> {
    if !client.stateless() {
        return body.await;
    }
    let mut subscription = client.service.peer().listen(filter).await?;
    let end = select! {
        end = body => end,
        lost = record_changes(&mut subscription, &client.seen) => lost,
    };
    subscription.cancel().await?;
    end
}

/// Records the notifications of a subscription until it ends.
async fn record_changes(subscription: &mut Subscription, seen: &Seen) -> Result<()> {
    while let Some(notification) = subscription.next().await? {
        let changed = match notification {
            ServerNotification::ToolListChangedNotification(_) => "tools".to_owned(),
            ServerNotification::PromptListChangedNotification(_) => "prompts".to_owned(),
            ServerNotification::ResourceUpdatedNotification(updated) => updated.params.uri,
            other => bail!("unexpected notification {other:?}"),
        };
        seen.changed(changed);
    }
    bail!("the subscription ended: {:?}", subscription.end())
}

async fn prompts(client: &Connection) -> Result<Vec<String>> {
    Ok(client.service.list_all_prompts().await?.into_iter().map(|prompt| prompt.name).collect())
}

/// The names in a list.
async fn listed(client: &Connection, kind: &str) -> Result<Vec<String>> {
    if kind == "prompts" {
        return prompts(client).await;
    }
    Ok(client.service.list_all_tools().await?.into_iter().map(|tool| tool.name.into_owned()).collect())
}

async fn call(client: &Connection, name: &'static str, arguments: Value) -> Result<Value> {
    let params = CallToolRequestParams::new(name).with_arguments(made(arguments));
    Ok(value(&client.service.call_tool(params).await?))
}

async fn get(client: &Connection, name: &str, arguments: Value) -> Result<Value> {
    let params = made(json!({"name": name, "arguments": arguments}));
    Ok(value(&client.service.get_prompt(params).await?))
}

/// A call with log messages of this level and above, set in the request or for the session.
async fn logged(client: &Connection, level: &str, name: &'static str) -> Result<()> {
    if client.stateless() {
        let meta = json!({"io.modelcontextprotocol/logLevel": level});
        client.service.call_tool(made(json!({"name": name, "arguments": {}, "_meta": meta}))).await?;
    } else {
        client.service.set_level(made(json!({"level": level}))).await?;
        call(client, name, json!({})).await?;
    }
    Ok(())
}

/// Checks that the request failed with one of these codes.
fn expect_error(result: Result<Value>, codes: &[i32]) -> Result<()> {
    let error = match result {
        Ok(answer) => bail!("expected an error, got {answer}"),
        Err(error) => error,
    };
    match error.downcast_ref::<ServiceError>() {
        Some(ServiceError::McpError(refused)) if codes.contains(&refused.code.0) => Ok(()),
        _ => bail!("unexpected error: {error:#}"),
    }
}

/// The text of a result.
fn text(result: &Value) -> String {
    let blocks = result["content"].as_array().into_iter().flatten();
    blocks.filter_map(|block| block["text"].as_str()).collect()
}
