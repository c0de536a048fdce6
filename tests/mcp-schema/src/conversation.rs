//! What one client asked, so that what comes back can be judged: by its method, its revision and its wishes.

use std::collections::HashMap;

use serde_json::Value;

use crate::{Members, Misfit, Revision, check_call, check_error, check_result};

/// One client's side of a conversation: a process on stdio, a session over HTTP, or one stateless request.
#[derive(Debug, Clone)]
pub struct Conversation {
    members: Members,
    /// What was agreed on, or what the transport says.
    revision: Option<Revision>,
    /// What was answered without a handshake.
    stateless: Option<Revision>,
    /// What the client said in `initialize` that it can do.
    capabilities: Value,
    /// Requests by the text of their ids. More than one, where a client uses an id twice at once.
    asked: HashMap<String, Vec<Asked>>,
    /// The last progress told for each token.
    progress: HashMap<String, f64>,
    /// Output schemas, as they were listed last.
    outputs: HashMap<(Revision, String), Value>,
    /// Ids of the server's own requests.
    own_ids: Vec<String>,
}

/// A request that has no answer yet.
#[derive(Debug, Clone)]
struct Asked {
    revision: Option<Revision>,
    method: String,
    /// The tool that is called.
    tool: Option<String>,
    /// The text of the progress token.
    token: Option<String>,
    /// From which level on log messages are wanted for this request (stateless revisions).
    level: Option<usize>,
    /// Whether a stream of changes was acknowledged.
    is_open: bool,
}

impl Default for Conversation {
    fn default() -> Self {
        Self::new()
    }
}

const CLAIM: &str = "io.modelcontextprotocol/protocolVersion";
const LEVEL: &str = "io.modelcontextprotocol/logLevel";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

impl Conversation {
    /// A conversation in which nothing was said yet.
    #[must_use]
    pub fn new() -> Self {
        Self::of(None)
    }

    /// A conversation whose revision is known from elsewhere, such as a header.
    #[must_use]
    pub fn of(revision: Option<Revision>) -> Self {
        Self {
            members: Members::Closed,
            revision,
            stateless: None,
            capabilities: Value::Null,
            asked: HashMap::new(),
            progress: HashMap::new(),
            outputs: HashMap::new(),
            own_ids: Vec::new(),
        }
    }

    /// The same, with another opinion of members that no definition names: plugins may write some.
    #[must_use]
    pub fn with(self, members: Members) -> Self {
        Self { members, ..self }
    }

    /// The revision agreed on, if one was.
    #[must_use]
    pub fn revision(&self) -> Option<Revision> {
        self.revision
    }

    /// The client sent these bytes: one message, or some lines with a message each. What is no request is not
    /// remembered.
    pub fn sent(&mut self, bytes: &[u8]) {
        let read = |bytes: &[u8]| {
            let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
            serde_json::from_slice::<Value>(text).ok()
        };
        match read(bytes) {
            Some(message) => self.sent_message(&message),
            None => bytes
                .split(|byte| *byte == b'\n')
                .filter_map(read)
                .for_each(|message| self.sent_message(&message)),
        }
    }

    fn sent_message(&mut self, message: &Value) {
        if let Some(batch) = message.as_array() {
            batch.iter().for_each(|message| self.sent_message(message));
            return;
        }
        let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else { return };
        let params = &message["params"];
        let meta = &params["_meta"];
        let claims = meta[CLAIM].is_string();
        let revision = if claims { Some(Revision::V2026_07_28) } else { self.revision };
        if method == "initialize" && !claims {
            self.capabilities = params["capabilities"].clone();
        }
        let token = meta.get("progressToken").map(Value::to_string);
        if let Some(token) = &token {
            self.progress.remove(token);
        }
        let asked = Asked {
            revision,
            method: method.to_owned(),
            tool: params["name"].as_str().map(str::to_owned),
            token,
            level: level(&meta[LEVEL]),
            is_open: false,
        };
        self.asked.entry(id.to_string()).or_default().push(asked);
    }

    /// Judges what the server sent: one message, or a batch of them.
    ///
    /// # Errors
    /// It isn't what the client's request and revision want.
    pub fn received(&mut self, message: &Value) -> Result<(), Misfit> {
        let Some(batch) = message.as_array() else { return self.received_message(message) };
        if self.revision != Some(Revision::V2025_03_26) {
            return Err(self.misfit("a message", message, "only 2025-03-26 has batches"));
        }
        if batch.is_empty() {
            return Err(self.misfit("a message", message, "an empty batch"));
        }
        batch.iter().try_for_each(|message| self.received_message(message))
    }

    fn received_message(&mut self, message: &Value) -> Result<(), Misfit> {
        if message.get("method").is_some() {
            return match message.get("id") {
                Some(id) => self.asked_back(id, message),
                None => self.notified(message),
            };
        }
        if message.get("error").is_some() { self.failed(message) } else { self.answered(message) }
    }

    fn misfit(&self, definition: &str, message: &Value, fault: &str) -> Misfit {
        Misfit::of(self.revision.unwrap_or(Revision::V2025_11_25), definition, message, fault.to_owned())
    }

    /// A result.
    fn answered(&mut self, message: &Value) -> Result<(), Misfit> {
        let id = message["id"].to_string();
        let candidates = self.asked.get(&id).cloned().unwrap_or_default();
        let mut verdict = Err(self.misfit("a result", message, "nothing was asked with that id"));
        for (at, asked) in candidates.iter().enumerate() {
            verdict = self.judge_result(asked, message);
            if verdict.is_ok() {
                self.forget(&id, at);
                return Ok(());
            }
        }
        verdict
    }

    fn judge_result(&mut self, asked: &Asked, message: &Value) -> Result<(), Misfit> {
        let result = &message["result"];
        let agreed = if asked.method == "initialize" && asked.revision.is_none_or(|it| !it.is_stateless()) {
            let agreed = result["protocolVersion"].as_str().and_then(Revision::named);
            Some(agreed.ok_or_else(|| self.misfit("InitializeResult", message, "it agrees on no revision"))?)
        } else {
            asked.revision
        };
        // Before a handshake there is only `ping`, which all of them answer alike.
        let revision = agreed.unwrap_or(Revision::V2025_11_25);
        revision.check(revision.result_definition(), message, Members::Closed)?;
        check_result(revision, &asked.method, result, self.members)?;
        if asked.method == "initialize" {
            self.revision = agreed;
        }
        self.stateless = self.stateless.or(agreed.filter(|revision| revision.is_stateless()));
        if asked.method == "tools/list" {
            self.remember_outputs(revision, result);
        }
        self.judge_structured(revision, asked, result)
    }

    fn remember_outputs(&mut self, revision: Revision, result: &Value) {
        for tool in result["tools"].as_array().into_iter().flatten() {
            let key = (revision, tool["name"].as_str().unwrap_or_default().to_owned());
            match tool.get("outputSchema") {
                Some(schema) => self.outputs.insert(key, schema.clone()),
                None => self.outputs.remove(&key),
            };
        }
    }

    /// A tool that lists an output schema has results that fit it.
    fn judge_structured(&self, revision: Revision, asked: &Asked, result: &Value) -> Result<(), Misfit> {
        if asked.method != "tools/call" || result["isError"] == true || result.get("content").is_none() {
            return Ok(());
        }
        let key = (revision, asked.tool.clone().unwrap_or_default());
        let Some(schema) = self.outputs.get(&key) else { return Ok(()) };
        let misfit = |fault: String| Misfit::of(revision, "CallToolResult", result, fault);
        let Some(structured) = result.get("structuredContent") else {
            return Err(misfit(
                "its tool lists an output schema, so it must have a structured result".to_owned(),
            ));
        };
        jsonschema::validate(schema, structured)
            .map_err(|error| misfit(format!("it doesn't fit the output schema {schema}: {error}")))
    }

    /// An error.
    fn failed(&mut self, message: &Value) -> Result<(), Misfit> {
        let id = message.get("id").filter(|id| !id.is_null()).map(Value::to_string);
        let asked = id.as_ref().and_then(|id| self.asked.get(id)).and_then(|all| all.last());
        // What wasn't read has no revision: a handshake's own, or before it none in particular.
        let known = asked.map_or(self.revision.or(self.stateless), |asked| asked.revision);
        match known {
            Some(revision) => check_error(revision, message)?,
            None if message["id"].is_null() => check_error(Revision::V2025_11_25, &without_id(message))?,
            None => check_error(Revision::V2025_11_25, message)?,
        }
        if let Some(id) = id {
            self.forget(&id, 0);
        }
        Ok(())
    }

    fn forget(&mut self, id: &str, at: usize) {
        let Some(all) = self.asked.get_mut(id) else { return };
        if at < all.len() {
            all.remove(at);
        }
        if all.is_empty() {
            self.asked.remove(id);
        }
    }

    fn pending(&self) -> impl Iterator<Item = &Asked> {
        self.asked.values().flatten()
    }

    fn notified(&mut self, message: &Value) -> Result<(), Misfit> {
        let method = message["method"].as_str().unwrap_or_default();
        let params = &message["params"];
        let revision = self.revision_of(method, params);
        check_call(revision, message, self.members)?;
        let fault = match method {
            "notifications/progress" => return self.progressed(message),
            "notifications/cancelled" => self.withdrawn(revision, &params["requestId"]),
            "notifications/message" if revision.is_stateless() => {
                let said = level(&params["level"]);
                let is_wanted = self.pending().any(|it| it.level.is_some() && it.level <= said);
                (!is_wanted).then_some("no running request wants log messages of this level")
            }
            "notifications/message" => None,
            _ if revision.is_stateless() => self.streamed(method, &params["_meta"][SUBSCRIPTION]),
            _ => None,
        };
        match fault {
            Some(fault) => Err(self.misfit("a notification", message, fault)),
            None => Ok(()),
        }
    }

    /// A server withdraws its own questions, where it may ask any.
    fn withdrawn(&self, revision: Revision, id: &Value) -> Option<&'static str> {
        let is_own = !revision.is_stateless() && self.own_ids.contains(&id.to_string());
        (!is_own).then_some("no request of the server's has that id")
    }

    /// What comes on a stream of changes names it, after the acknowledgement, which comes once.
    fn streamed(&mut self, method: &str, id: &Value) -> Option<&'static str> {
        let all = self.asked.get_mut(&id.to_string()).into_iter().flatten();
        let mut streams = all.filter(|asked| asked.method == "subscriptions/listen");
        let Some(stream) = streams.next() else { return Some("no open stream has that id") };
        let is_beginning = method == "notifications/subscriptions/acknowledged";
        let was_open = std::mem::replace(&mut stream.is_open, true);
        (was_open == is_beginning).then_some("a stream begins with its acknowledgement, and has one")
    }

    /// On stdio both eras may be spoken at once; a notification says by what it belongs to.
    fn revision_of(&self, method: &str, params: &Value) -> Revision {
        let session = self.revision.unwrap_or(Revision::V2026_07_28);
        if params["_meta"].get(SUBSCRIPTION).is_some() {
            return Revision::V2026_07_28;
        }
        let of_call = match method {
            "notifications/progress" => {
                let token = params["progressToken"].to_string();
                self.pending()
                    .find(|asked| asked.token.as_ref() == Some(&token))
                    .and_then(|asked| asked.revision)
            }
            "notifications/message" => {
                self.pending().find(|asked| asked.level.is_some()).and_then(|asked| asked.revision)
            }
            _ => None,
        };
        of_call.unwrap_or(session)
    }

    fn progressed(&mut self, message: &Value) -> Result<(), Misfit> {
        let token = message["params"]["progressToken"].to_string();
        if !self.pending().any(|asked| asked.token.as_ref() == Some(&token)) {
            return Err(self.misfit("ProgressNotification", message, "no running request has that token"));
        }
        let now = message["params"]["progress"].as_f64().unwrap_or(f64::NAN);
        match self.progress.insert(token, now) {
            Some(before) if now <= before || now.is_nan() => {
                Err(self.misfit("ProgressNotification", message, "progress must increase"))
            }
            _ => Ok(()),
        }
    }

    /// A request of the server's.
    fn asked_back(&mut self, id: &Value, message: &Value) -> Result<(), Misfit> {
        let Some(revision) = self.revision.filter(|revision| !revision.is_stateless()) else {
            return Err(self.misfit("a request", message, "without a handshake a server asks nothing"));
        };
        check_call(revision, message, self.members)?;
        let needs = match message["method"].as_str() {
            Some("sampling/createMessage") => Some("sampling"),
            Some("elicitation/create") => Some("elicitation"),
            Some("roots/list") => Some("roots"),
            _ => None,
        };
        if needs.is_some_and(|capability| self.capabilities.get(capability).is_none()) {
            return Err(self.misfit("a request", message, "the client didn't say that it can do this"));
        }
        if !id.is_string() {
            return Err(self.misfit("a request", message, "our own ids are strings, unlike most clients'"));
        }
        let id = id.to_string();
        if self.own_ids.contains(&id) {
            return Err(self.misfit("a request", message, "its id was used before"));
        }
        self.own_ids.push(id);
        Ok(())
    }
}

/// The place of a log level among all of them.
fn level(name: &Value) -> Option<usize> {
    const ALL: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
    ALL.iter().position(|level| name == level)
}

fn without_id(message: &Value) -> Value {
    let mut message = message.clone();
    if let Some(members) = message.as_object_mut() {
        members.remove("id");
    }
    message
}
