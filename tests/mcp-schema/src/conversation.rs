//! The requests of one client, so that the answers can be checked by method, revision and requested notifications.

use std::collections::HashMap;

use serde_json::Value;

use crate::{ExtraMembers, Revision, SchemaViolation, check_call, check_error, check_result};

/// One client's side of a conversation: a process on stdio, a session over HTTP, or one stateless request.
#[derive(Debug, Clone)]
pub struct Conversation {
    members: ExtraMembers,
    /// The negotiated revision, or the one that the transport specifies.
    revision: Option<Revision>,
    /// The revision of answers without a handshake.
    stateless_revision: Option<Revision>,
    /// The client's capabilities from `initialize`.
    capabilities: Value,
    /// Pending requests by their ids as text. A client can use an id for several requests at the same time.
    requests: HashMap<String, Vec<PendingRequest>>,
    /// The last reported progress of each token.
    progress: HashMap<String, f64>,
    /// Output schemas from the last lists.
    output_schemas: HashMap<(Revision, String), Value>,
    /// Ids of the server's requests.
    server_request_ids: Vec<String>,
}

/// A request without an answer.
#[derive(Debug, Clone)]
struct PendingRequest {
    revision: Option<Revision>,
    method: String,
    /// The called tool.
    tool: Option<String>,
    /// The progress token as text.
    token: Option<String>,
    /// The minimum level of log messages for this request (stateless revisions).
    level: Option<usize>,
    /// True if a subscription stream was acknowledged.
    is_acknowledged: bool,
}

impl Default for Conversation {
    fn default() -> Self {
        Self::new()
    }
}

const PROTOCOL_VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const LOG_LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";
const SUBSCRIPTION_ID_KEY: &str = "io.modelcontextprotocol/subscriptionId";

impl Conversation {
    /// A new conversation.
    #[must_use]
    pub fn new() -> Self {
        Self::of(None)
    }

    /// A conversation whose revision is already known, such as from a header.
    #[must_use]
    pub fn of(revision: Option<Revision>) -> Self {
        Self {
            members: ExtraMembers::Denied,
            revision,
            stateless_revision: None,
            capabilities: Value::Null,
            requests: HashMap::new(),
            progress: HashMap::new(),
            output_schemas: HashMap::new(),
            server_request_ids: Vec::new(),
        }
    }

    /// The conversation with another rule for unknown members, which plugins may add.
    #[must_use]
    pub fn with(self, members: ExtraMembers) -> Self {
        Self { members, ..self }
    }

    /// The negotiated revision.
    #[must_use]
    pub fn revision(&self) -> Option<Revision> {
        self.revision
    }

    /// Records bytes that the client sent: one message, or lines with a message each. Only requests are kept.
    pub fn sent(&mut self, bytes: &[u8]) {
        let read = |bytes: &[u8]| {
            let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
            let lenient = || serde_json::from_str(&with_readable_values(&String::from_utf8_lossy(text)));
            serde_json::from_slice::<Value>(text).or_else(|_| lenient()).ok()
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
        let claims = meta[PROTOCOL_VERSION_KEY].is_string();
        let revision = if claims { Some(Revision::V2026_07_28) } else { self.revision };
        if method == "initialize" && !claims {
            self.capabilities = params["capabilities"].clone();
        }
        let token = meta.get("progressToken").map(Value::to_string);
        if let Some(token) = &token {
            self.progress.remove(token);
        }
        let request = PendingRequest {
            revision,
            method: method.to_owned(),
            tool: params["name"].as_str().map(str::to_owned),
            token,
            level: level(&meta[LOG_LEVEL_KEY]),
            is_acknowledged: false,
        };
        self.requests.entry(id.to_string()).or_default().push(request);
    }

    /// Checks a message or a batch of messages from the server.
    ///
    /// # Errors
    /// The message is invalid for the client's request and revision.
    pub fn received(&mut self, message: &Value) -> Result<(), SchemaViolation> {
        let Some(batch) = message.as_array() else { return self.received_message(message) };
        if self.revision != Some(Revision::V2025_03_26) {
            return Err(self.violation("a message", message, "only 2025-03-26 has batches"));
        }
        if batch.is_empty() {
            return Err(self.violation("a message", message, "an empty batch"));
        }
        batch.iter().try_for_each(|message| self.received_message(message))
    }

    fn received_message(&mut self, message: &Value) -> Result<(), SchemaViolation> {
        if message.get("method").is_some() {
            return match message.get("id") {
                Some(id) => self.check_server_request(id, message),
                None => self.check_notification(message),
            };
        }
        if message.get("error").is_some() {
            self.check_error_response(message)
        } else {
            self.check_response(message)
        }
    }

    fn violation(&self, definition: &str, message: &Value, fault: &str) -> SchemaViolation {
        SchemaViolation::of(
            self.revision.unwrap_or(Revision::V2025_11_25),
            definition,
            message,
            fault.to_owned(),
        )
    }

    /// Checks a result.
    fn check_response(&mut self, message: &Value) -> Result<(), SchemaViolation> {
        let id = message["id"].to_string();
        let candidates = self.requests.get(&id).cloned().unwrap_or_default();
        let mut result = Err(self.violation("a result", message, "no request has this id"));
        for (at, request) in candidates.iter().enumerate() {
            result = self.check_request_result(request, message);
            if result.is_ok() {
                self.remove_pending(&id, at);
                return Ok(());
            }
        }
        result
    }

    fn check_request_result(
        &mut self,
        request: &PendingRequest,
        message: &Value,
    ) -> Result<(), SchemaViolation> {
        let result = &message["result"];
        let agreed = if request.method == "initialize" && request.revision.is_none_or(|it| !it.is_stateless())
        {
            let agreed = result["protocolVersion"].as_str().and_then(Revision::named);
            Some(agreed.ok_or_else(|| {
                self.violation("InitializeResult", message, "the result has no known revision")
            })?)
        } else {
            request.revision
        };
        // Before a handshake, only `ping` is possible, and its answer is the same in all revisions.
        let revision = agreed.unwrap_or(Revision::V2025_11_25);
        revision.check(revision.result_definition(), message, ExtraMembers::Denied)?;
        check_result(revision, &request.method, result, self.members)?;
        if request.method == "initialize" {
            self.revision = agreed;
        }
        self.stateless_revision =
            self.stateless_revision.or(agreed.filter(|revision| revision.is_stateless()));
        if request.method == "tools/list" {
            self.record_output_schemas(revision, result);
        }
        self.check_structured_content(revision, request, result)
    }

    fn record_output_schemas(&mut self, revision: Revision, result: &Value) {
        for tool in result["tools"].as_array().into_iter().flatten() {
            let key = (revision, tool["name"].as_str().unwrap_or_default().to_owned());
            match tool.get("outputSchema") {
                Some(schema) => self.output_schemas.insert(key, schema.clone()),
                None => self.output_schemas.remove(&key),
            };
        }
    }

    /// Checks a structured result against the output schema of its tool.
    fn check_structured_content(
        &self,
        revision: Revision,
        request: &PendingRequest,
        result: &Value,
    ) -> Result<(), SchemaViolation> {
        if request.method != "tools/call" || result["isError"] == true || result.get("content").is_none() {
            return Ok(());
        }
        let key = (revision, request.tool.clone().unwrap_or_default());
        let Some(schema) = self.output_schemas.get(&key) else { return Ok(()) };
        let violation = |fault: String| SchemaViolation::of(revision, "CallToolResult", result, fault);
        let Some(structured) = result.get("structuredContent") else {
            return Err(violation(
                "the tool has an output schema, so a structured result is required".to_owned(),
            ));
        };
        jsonschema::validate(schema, structured)
            .map_err(|error| violation(format!("invalid against the output schema {schema}: {error}")))
    }

    /// Checks an error.
    fn check_error_response(&mut self, message: &Value) -> Result<(), SchemaViolation> {
        let id = message.get("id").filter(|id| !id.is_null()).map(Value::to_string);
        let request = id.as_ref().and_then(|id| self.requests.get(id)).and_then(|all| all.last());
        // An unreadable request has the revision of the handshake. Before it, the revision is unknown.
        let known = request.map_or(self.revision.or(self.stateless_revision), |request| request.revision);
        match known {
            Some(revision) => check_error(revision, message)?,
            None if message["id"].is_null() => check_error(Revision::V2025_11_25, &without_id(message))?,
            None => check_error(Revision::V2025_11_25, message)?,
        }
        // An error doesn't tell which of several requests with its id it answers, and the others can still get a result.
        if let Some(id) = id.filter(|id| self.requests.get(id).is_some_and(|all| all.len() == 1)) {
            self.remove_pending(&id, 0);
        }
        Ok(())
    }

    fn remove_pending(&mut self, id: &str, at: usize) {
        let Some(all) = self.requests.get_mut(id) else { return };
        if at < all.len() {
            all.remove(at);
        }
        if all.is_empty() {
            self.requests.remove(id);
        }
    }

    fn pending(&self) -> impl Iterator<Item = &PendingRequest> {
        self.requests.values().flatten()
    }

    fn check_notification(&mut self, message: &Value) -> Result<(), SchemaViolation> {
        let method = message["method"].as_str().unwrap_or_default();
        let params = &message["params"];
        let revision = self.revision_of(method, params);
        check_call(revision, message, self.members)?;
        let fault = match method {
            "notifications/progress" => return self.check_progress(message),
            "notifications/cancelled" => self.check_cancelled(revision, &params["requestId"]),
            "notifications/message" if revision.is_stateless() => {
                let sent = level(&params["level"]);
                let is_wanted = self.pending().any(|it| it.level.is_some() && it.level <= sent);
                (!is_wanted).then_some("no running request enables log messages of this level")
            }
            "notifications/message" => None,
            _ if revision.is_stateless() => {
                self.check_subscription_message(method, &params["_meta"][SUBSCRIPTION_ID_KEY])
            }
            _ => None,
        };
        match fault {
            Some(fault) => Err(self.violation("a notification", message, fault)),
            None => Ok(()),
        }
    }

    /// Checks a cancellation. A server can cancel only its own requests.
    fn check_cancelled(&self, revision: Revision, id: &Value) -> Option<&'static str> {
        let is_own = !revision.is_stateless() && self.server_request_ids.contains(&id.to_string());
        (!is_own).then_some("no request from the server has this id")
    }

    /// Checks a message of a subscription stream, which must name the stream. The acknowledgement comes first and once.
    fn check_subscription_message(&mut self, method: &str, id: &Value) -> Option<&'static str> {
        let all = self.requests.get_mut(&id.to_string()).into_iter().flatten();
        let mut streams = all.filter(|request| request.method == "subscriptions/listen");
        let Some(stream) = streams.next() else { return Some("no open stream has this id") };
        let is_acknowledgement = method == "notifications/subscriptions/acknowledged";
        let was_acknowledged = std::mem::replace(&mut stream.is_acknowledged, true);
        (was_acknowledged == is_acknowledgement)
            .then_some("a stream must start with its acknowledgement and have only one")
    }

    /// The revision of a notification. On stdio, requests with and without a handshake can be mixed, and a token or id
    /// relates the notification to its request.
    fn revision_of(&self, method: &str, params: &Value) -> Revision {
        let session = self.revision.unwrap_or(Revision::V2026_07_28);
        if params["_meta"].get(SUBSCRIPTION_ID_KEY).is_some() {
            return Revision::V2026_07_28;
        }
        let of_call = match method {
            "notifications/progress" => {
                let token = params["progressToken"].to_string();
                self.pending()
                    .find(|request| request.token.as_ref() == Some(&token))
                    .and_then(|request| request.revision)
            }
            "notifications/message" => {
                self.pending().find(|request| request.level.is_some()).and_then(|request| request.revision)
            }
            _ => None,
        };
        of_call.unwrap_or(session)
    }

    fn check_progress(&mut self, message: &Value) -> Result<(), SchemaViolation> {
        let token = message["params"]["progressToken"].to_string();
        if !self.pending().any(|request| request.token.as_ref() == Some(&token)) {
            return Err(self.violation("ProgressNotification", message, "no running request has this token"));
        }
        let now = message["params"]["progress"].as_f64().unwrap_or(f64::NAN);
        match self.progress.insert(token, now) {
            Some(before) if now <= before || now.is_nan() => {
                Err(self.violation("ProgressNotification", message, "progress must increase"))
            }
            _ => Ok(()),
        }
    }

    /// Checks a request from the server.
    fn check_server_request(&mut self, id: &Value, message: &Value) -> Result<(), SchemaViolation> {
        let Some(revision) = self.revision.filter(|revision| !revision.is_stateless()) else {
            return Err(self.violation(
                "a request",
                message,
                "without a handshake, a server can't send requests",
            ));
        };
        check_call(revision, message, self.members)?;
        let needs = match message["method"].as_str() {
            Some("sampling/createMessage") => Some("sampling"),
            Some("elicitation/create") => Some("elicitation"),
            Some("roots/list") => Some("roots"),
            _ => None,
        };
        if needs.is_some_and(|capability| self.capabilities.get(capability).is_none()) {
            return Err(self.violation("a request", message, "the client didn't declare this capability"));
        }
        if !id.is_string() {
            return Err(self.violation(
                "a request",
                message,
                "the server's ids must be strings, to differ from most clients' ids",
            ));
        }
        let id = id.to_string();
        if self.server_request_ids.contains(&id) {
            return Err(self.violation("a request", message, "the id was used before"));
        }
        self.server_request_ids.push(id);
        Ok(())
    }
}

/// The rank of a log level.
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

/// The text with `null` for `NaN`, and with U+FFFD for halves of surrogate pairs, which serde_json refuses.
fn with_readable_values(text: &str) -> String {
    let unit = |text: &str| {
        let digits = text.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok().filter(|unit| (0xD800..0xE000).contains(unit))
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let is_pair =
            unit(rest).is_some_and(|high| high < 0xDC00) && unit(&rest[6..]).is_some_and(|low| low >= 0xDC00);
        let length = match (unit(rest), c) {
            (Some(_), _) if is_pair => 12,
            (Some(_), _) => 6,
            (None, '\\') => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            (None, c) => c.len_utf8(),
        };
        let is_half = unit(rest).is_some() && !is_pair;
        out.push_str(if is_half { "\\ufffd" } else { &rest[..length] });
        rest = &rest[length..];
    }
    out.replace("NaN", "null")
}
