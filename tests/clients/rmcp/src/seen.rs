//! What the client was told and asked, and what it answers.

#![expect(deprecated, reason = "sampling, roots and logging are still part of every revision")]

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use anyhow::{Result, bail};
use rmcp::model::{
    ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult,
    ErrorData, Implementation, ListRootsResult, LoggingMessageNotificationParam, ProgressNotificationParam,
    ProtocolVersion, ResourceUpdatedNotificationParam,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::timeout;

/// How long a notification may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The root that the client has.
pub(crate) const ROOT: &str = "file:///garden";

/// Notes, shared between the handler and the checks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen(Arc<(Mutex<Notes>, Notify)>);

/// What was noted.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// Progress and its total.
    pub(crate) progress: Vec<(f64, Option<f64>)>,
    /// Log messages.
    pub(crate) logs: Vec<Value>,
    /// Questions: the method and its parameters.
    pub(crate) asked: Vec<(&'static str, Value)>,
    /// The kinds of lists, and the URIs of resources, that were said to have changed.
    pub(crate) changed: BTreeSet<String>,
    /// Whether forms are declined.
    pub(crate) declines: bool,
}

impl Seen {
    /// The notes, to read and to clear.
    pub(crate) fn notes(&self) -> MutexGuard<'_, Notes> {
        self.0.0.lock().expect("no holder of this lock panics")
    }

    /// Takes note of something.
    pub(crate) fn note(&self, take: impl FnOnce(&mut Notes)) {
        take(&mut self.notes());
        self.0.1.notify_waiters();
    }

    /// Takes note of a change of `what`.
    pub(crate) fn changed(&self, what: impl Into<String>) {
        self.note(|notes| {
            notes.changed.insert(what.into());
        });
    }

    /// Waits until something is so.
    pub(crate) async fn until(&self, what: &str, so: impl Fn(&Notes) -> bool) -> Result<()> {
        let come = async {
            loop {
                let news = self.0.1.notified();
                if so(&self.notes()) {
                    return;
                }
                news.await;
            }
        };
        if timeout(PATIENCE, come).await.is_err() {
            bail!("{what} didn't come");
        }
        Ok(())
    }
}

/// The client's side of the protocol.
#[derive(Debug, Clone)]
pub(crate) struct Handler {
    seen: Seen,
    revision: ProtocolVersion,
}

impl Handler {
    /// A handler that notes everything and speaks a revision.
    pub(crate) fn new(seen: Seen, revision: ProtocolVersion) -> Self {
        Self { seen, revision }
    }
}

impl ClientHandler for Handler {
    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.seen.note(|notes| notes.asked.push(("sampling/createMessage", value(&params))));
        let content = json!({"type": "text", "text": "Paris"});
        Ok(made(
            json!({"role": "assistant", "content": content, "model": "a-model", "stopReason": "endTurn"}),
        ))
    }

    async fn list_roots(&self, _context: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        self.seen.note(|notes| notes.asked.push(("roots/list", Value::Null)));
        Ok(made(json!({"roots": [{"uri": ROOT, "name": "garden"}]})))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let params = value(&request);
        let form = filled_form(&params["requestedSchema"]["properties"]);
        self.seen.note(|notes| notes.asked.push(("elicitation/create", params)));
        let accepted = json!({"action": "accept", "content": form});
        Ok(made(if self.seen.notes().declines { json!({"action": "decline"}) } else { accepted }))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.seen.note(|notes| notes.progress.push((params.progress, params.total)));
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.seen.note(|notes| notes.logs.push(value(&params)));
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.seen.changed(params.uri);
    }

    fn on_tool_list_changed(
        &self,
        _context: NotificationContext<RoleClient>,
    ) -> impl Future<Output = ()> + Send + '_ {
        self.seen.changed("tools");
        std::future::ready(())
    }

    fn on_prompt_list_changed(
        &self,
        _context: NotificationContext<RoleClient>,
    ) -> impl Future<Output = ()> + Send + '_ {
        self.seen.changed("prompts");
        std::future::ready(())
    }

    fn get_info(&self) -> ClientConfig {
        let capabilities = json!({
            "roots": {"listChanged": true}, "sampling": {}, "elicitation": {"form": {}, "url": {}}
        });
        let info = Implementation::new("moongate-clients", "1");
        ClientConfig::new(made(capabilities), info).with_protocol_version(self.revision.clone())
    }
}

/// A form, filled in.
fn filled_form(fields: &Value) -> Value {
    let fields = fields.as_object().into_iter().flatten();
    fields.map(|(name, field)| (name.clone(), filled(field))).collect()
}

/// A field with its default or the first thing that fits.
fn filled(field: &Value) -> Value {
    let choices = field.get("oneOf").or(field.get("anyOf"));
    if let Some(default) = field.get("default") {
        return default.clone();
    }
    if let Some(choice) = field.get("enum").map(|all| &all[0]).or(choices.map(|all| &all[0]["const"])) {
        return choice.clone();
    }
    match field["type"].as_str() {
        Some("array") => json!([filled(&field["items"])]),
        Some("boolean") => json!(true),
        Some("integer" | "number") => json!(1),
        _ => json!("Ada"),
    }
}

/// A value as it goes over the wire.
pub(crate) fn value(of: &impl Serialize) -> Value {
    serde_json::to_value(of).expect("the SDK's types are written as JSON")
}

/// One of the SDK's types, from what goes over the wire.
pub(crate) fn made<T: DeserializeOwned>(from: Value) -> T {
    serde_json::from_value(from).expect("the checks write what the SDK's types read")
}
