//! The judge of an endpoint: which conversation a request over HTTP belongs to, and whether what comes back fits.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use moongate_mcp_schema::{Conversation, Revision};
use serde_json::Value;

use crate::Reply;

/// Statuses of answers that a message was read for; with others, the endpoint looked at the head alone.
const READ: [u16; 3] = [200, 400, 404];

/// Where messages are posted.
const ENDPOINT: &str = "/mcp";

/// Judges everything that one endpoint sends, whichever sessions it belongs to.
#[derive(Debug, Default)]
pub struct Judge {
    sessions: Mutex<HashMap<String, Conversation>>,
    /// The ids of events that came.
    events: Mutex<HashSet<String>>,
}

/// A request that was sent, and whose it is.
#[derive(Debug)]
pub struct Sent {
    /// The session; none: the request stands for itself.
    session: Option<String>,
    /// The conversation of a request that stands for itself.
    alone: Mutex<Conversation>,
    /// The id of the one request in it.
    id: Option<Value>,
}

impl Sent {
    /// What comes back belongs to that session from now on.
    pub fn belongs_to(&mut self, session: &str) {
        self.session = Some(session.to_owned());
    }
}

impl Judge {
    /// A request with these headers and this body was sent; elsewhere than at the endpoint no body is read.
    pub fn asked(&self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Sent {
        let header = |name: &str| {
            let found = headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
            found.map(|(_, value)| *value)
        };
        let message: Value = serde_json::from_slice(body).unwrap_or_default();
        let claims = message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].is_string();
        let said = header("mcp-protocol-version").and_then(Revision::named);
        let is_modern = claims || said.is_some_and(Revision::is_stateless);
        // Clients of 2024-11-05 say in the path whose message it is.
        let visit = path.split_once("sessionId=").map(|(_, id)| id);
        let session = header("mcp-session-id").or(visit).filter(|_| !is_modern).map(str::to_owned);
        let id = readable_id(&message, body).filter(|_| path == ENDPOINT);
        let mut alone = Conversation::of(said);
        match &session {
            Some(session) => self.with(session, said, |conversation| conversation.sent(body)),
            None => alone.sent(body),
        }
        Sent { session, alone: Mutex::new(alone), id }
    }

    /// The whole answer came back.
    ///
    /// # Panics
    /// A message in it doesn't fit, or an error doesn't say which request it is about.
    #[track_caller]
    pub fn answered(&self, sent: &Sent, reply: &Reply) {
        for message in reply.messages() {
            if READ.contains(&reply.status) && sent.id.is_some() && message.get("error").is_some() {
                assert_eq!(
                    message.get("id"),
                    sent.id.as_ref(),
                    "an error without its request's id: {reply:?}"
                );
            }
            self.received(sent, &message);
        }
        // What was agreed on in `initialize` holds for the session that it opens.
        if let (None, Some(session)) = (&sent.session, reply.header("mcp-session-id")) {
            let alone = sent.alone.lock().unwrap_or_else(PoisonError::into_inner).clone();
            self.sessions.lock().unwrap_or_else(PoisonError::into_inner).insert(session.to_owned(), alone);
        }
    }

    /// An event of that id came: is it the first time? One that is told again stands for itself.
    pub fn is_new(&self, event: &str) -> bool {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).insert(event.to_owned())
    }

    /// One message came back.
    ///
    /// # Panics
    /// It doesn't fit.
    #[track_caller]
    pub fn received(&self, sent: &Sent, message: &Value) {
        // Other endpoints, such as those for health, speak JSON too.
        let is_ours = |message: &Value| message.get("jsonrpc").is_some();
        if !(is_ours(message) || message.as_array().is_some_and(|all| all.iter().any(is_ours))) {
            return;
        }
        let verdict = match &sent.session {
            Some(session) => self.with(session, None, |conversation| conversation.received(message)),
            None => sent.alone.lock().unwrap_or_else(PoisonError::into_inner).received(message),
        };
        if let Err(misfit) = verdict {
            panic!("{misfit}");
        }
    }

    fn with<T>(&self, session: &str, said: Option<Revision>, act: impl FnOnce(&mut Conversation) -> T) -> T {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        act(sessions.entry(session.to_owned()).or_insert_with(|| Conversation::of(said)))
    }
}

/// The id that an error must repeat: that of the one request, if it can be read.
fn readable_id(message: &Value, body: &[u8]) -> Option<Value> {
    let fits = |text: &str| text.len() < 1000; // a page isn't repeated
    let id = message.get("id").filter(|id| id.as_str().is_some_and(fits) || id.is_i64() || id.is_u64())?;
    let is_request = message["jsonrpc"] == "2.0" && message["method"].is_string();
    // A key that stands twice can't be read; once read as a value, it stands there once.
    let ids = |text: &str| text.matches("\"id\"").count();
    let is_exact = ids(&String::from_utf8_lossy(body)) == ids(&message.to_string());
    (is_request && is_exact).then(|| id.clone())
}
