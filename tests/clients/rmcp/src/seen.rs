//! The client's handler: records notifications and requests, and answers the requests.

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

/// The maximum time for a notification.
const NOTIFICATION_TIMEOUT: Duration = Duration::from_secs(30);

/// The client's root.
pub(crate) const ROOT: &str = "file:///garden";

/// Received messages, shared between the handler and the checks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen(Arc<(Mutex<Notes>, Notify)>);

/// Received messages and settings of the handler.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// Progress and its total.
    pub(crate) progress: Vec<(f64, Option<f64>)>,
    /// Log messages.
    pub(crate) logs: Vec<Value>,
    /// Requests from the server: the method and its parameters.
    pub(crate) asked: Vec<(&'static str, Value)>,
    /// The kinds of lists and URIs of resources in change notifications.
    pub(crate) changed: BTreeSet<String>,
    /// Decline forms?
    pub(crate) declines: bool,
}

impl Seen {
    /// The notes, for reading and clearing.
    pub(crate) fn notes(&self) -> MutexGuard<'_, Notes> {
        self.0.0.lock().expect("no holder of this lock panics")
    }

    /// Records a message.
    pub(crate) fn note(&self, take: impl FnOnce(&mut Notes)) {
        take(&mut self.notes());
        self.0.1.notify_waiters();
    }

    /// Records a change of `what`.
    pub(crate) fn changed(&self, what: impl Into<String>) {
        self.note(|notes| {
            notes.changed.insert(what.into());
        });
    }

    /// Waits for a condition.
    pub(crate) async fn until(&self, what: &str, so: impl Fn(&Notes) -> bool) -> Result<()> {
        let come = async {
            loop {
                let notified = self.0.1.notified();
                if so(&self.notes()) {
                    return;
                }
                notified.await;
            }
        };
        if timeout(NOTIFICATION_TIMEOUT, come).await.is_err() {
            bail!("timed out waiting for {what}");
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
    /// A handler for this revision that records everything.
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

/// A completed form.
fn filled_form(fields: &Value) -> Value {
    let fields = fields.as_object().into_iter().flatten();
    fields.map(|(name, field)| (name.clone(), filled(field))).collect()
}

/// A field's default or first valid value.
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

/// A value in its wire format.
pub(crate) fn value(of: &impl Serialize) -> Value {
    serde_json::to_value(of).expect("the SDK's types are written as JSON")
}

/// A value of the SDK from its wire format.
pub(crate) fn made<T: DeserializeOwned>(from: Value) -> T {
    serde_json::from_value(from).expect("the checks write what the SDK's types read")
}
