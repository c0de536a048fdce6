//! Validates an HTTP endpoint's messages against the MCP schema, per session.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use moongate_mcp_schema::{Conversation, Revision};
use serde_json::Value;

use crate::Reply;

/// The statuses of responses for which the endpoint read the message, not only the head.
const MESSAGE_READ_STATUSES: [u16; 3] = [200, 400, 404];

/// The path that messages are posted to.
const ENDPOINT: &str = "/mcp";

/// Validates all messages of one endpoint, across its sessions.
#[derive(Debug, Default)]
pub struct SchemaValidator {
    sessions: Mutex<HashMap<String, Conversation>>,
    /// The ids of the events received so far.
    events: Mutex<HashSet<String>>,
}

/// A request that was sent, and the conversation it belongs to.
#[derive(Debug)]
pub struct SentRequest {
    /// The session id. `None` means a stateless request.
    session: Option<String>,
    /// The conversation of a stateless request.
    own_conversation: Mutex<Conversation>,
    /// The id of the request in the body.
    id: Option<Value>,
}

impl SentRequest {
    /// Assigns all further messages to this session.
    pub fn assign_session(&mut self, session: &str) {
        self.session = Some(session.to_owned());
    }
}

impl SchemaValidator {
    /// Records a sent request. Its body only counts at the endpoint.
    pub fn record_request(&self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> SentRequest {
        let header = |name: &str| {
            let found = headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
            found.map(|(_, value)| *value)
        };
        let message: Value = serde_json::from_slice(body).unwrap_or_default();
        let claims = message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].is_string();
        let declared = header("mcp-protocol-version").and_then(Revision::named);
        let is_modern = claims || declared.is_some_and(Revision::is_stateless);
        // Clients of 2024-11-05 put the session id in the path.
        let path_session = path.split_once("sessionId=").map(|(_, id)| id);
        let session = header("mcp-session-id").or(path_session).filter(|_| !is_modern).map(str::to_owned);
        let id = readable_id(&message, body).filter(|_| path == ENDPOINT);
        let mut own_conversation = Conversation::of(declared);
        match &session {
            Some(session) => self.with_session(session, declared, |conversation| conversation.sent(body)),
            None => own_conversation.sent(body),
        }
        SentRequest { session, own_conversation: Mutex::new(own_conversation), id }
    }

    /// Validates a complete response.
    ///
    /// # Panics
    /// If a message doesn't match the schema, or an error doesn't carry its request's id.
    #[track_caller]
    pub fn validate_reply(&self, sent: &SentRequest, reply: &Reply) {
        for message in reply.messages() {
            if MESSAGE_READ_STATUSES.contains(&reply.status)
                && sent.id.is_some()
                && message.get("error").is_some()
            {
                assert_eq!(
                    message.get("id"),
                    sent.id.as_ref(),
                    "an error without its request's id: {reply:?}"
                );
            }
            self.validate(sent, &message);
        }
        // The revision negotiated in `initialize` applies to the new session.
        if let (None, Some(session)) = (&sent.session, reply.header("mcp-session-id")) {
            let own_conversation =
                sent.own_conversation.lock().unwrap_or_else(PoisonError::into_inner).clone();
            self.sessions
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(session.to_owned(), own_conversation);
        }
    }

    /// Records an event id. Returns false for a replayed event, which isn't validated again.
    pub fn is_first_delivery(&self, event: &str) -> bool {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).insert(event.to_owned())
    }

    /// Validates a received message.
    ///
    /// # Panics
    /// If the message doesn't match the schema.
    #[track_caller]
    pub fn validate(&self, sent: &SentRequest, message: &Value) {
        // Other paths, such as the health checks, return JSON too.
        let is_ours = |message: &Value| message.get("jsonrpc").is_some();
        if !(is_ours(message) || message.as_array().is_some_and(|all| all.iter().any(is_ours))) {
            return;
        }
        let result = match &sent.session {
            Some(session) => self.with_session(session, None, |conversation| conversation.received(message)),
            None => sent.own_conversation.lock().unwrap_or_else(PoisonError::into_inner).received(message),
        };
        if let Err(mismatch) = result {
            panic!("{mismatch}");
        }
    }

    fn with_session<T>(
        &self,
        session: &str,
        declared: Option<Revision>,
        act: impl FnOnce(&mut Conversation) -> T,
    ) -> T {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        act(sessions.entry(session.to_owned()).or_insert_with(|| Conversation::of(declared)))
    }
}

/// The id that an error must carry: the id of the request, if it is readable.
fn readable_id(message: &Value, body: &[u8]) -> Option<Value> {
    let fits = |text: &str| text.len() < 1000; // longer ids aren't echoed
    let id = message.get("id").filter(|id| id.as_str().is_some_and(fits) || id.is_i64() || id.is_u64())?;
    let is_request = message["jsonrpc"] == "2.0" && message["method"].is_string();
    // A duplicate key makes the id unreadable; the parsed value contains it only once.
    let ids = |text: &str| text.matches("\"id\"").count();
    let is_exact = ids(&String::from_utf8_lossy(body)) == ids(&message.to_string());
    (is_request && is_exact).then(|| id.clone())
}
