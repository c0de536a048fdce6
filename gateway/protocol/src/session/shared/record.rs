//! The part of a session that never changes, as the store keeps it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::call::{Capabilities, ClientInfo};
use crate::caller::Caller;
use crate::json::Json;
use crate::mcp::{Era, InitializeParams, Revision};
use crate::names::{Digest, Principal};

/// The format. A session in a format that this version doesn't know doesn't exist for it, so that its client starts
/// again. Members can be added to a format.
const SESSION_FORMAT: u32 = 1;

/// The part of a session that never changes.
#[derive(Debug)]
pub(super) struct SessionContent {
    /// Identifies the principal that the session belongs to.
    pub(super) owner: Digest,
    pub(super) greeting: InitializeParams,
}

/// The content as text.
#[derive(Debug, Serialize, Deserialize)]
struct SessionText {
    format: u32,
    owner: String,
    revision: String,
    client: ClientText,
    /// The object that the client sent.
    capabilities: Option<Json>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ClientText {
    name: String,
    version: String,
    title: Option<String>,
    extra: Vec<(String, Json)>,
}

impl SessionContent {
    pub(super) fn to_text(&self) -> String {
        let Self { owner, greeting } = self;
        let InitializeParams { revision, client, capabilities } = greeting;
        let ClientInfo { name, version, title, extra } = &**client;
        let text = SessionText {
            format: SESSION_FORMAT,
            owner: owner.to_string(),
            revision: revision.as_str().to_owned(),
            client: ClientText {
                name: name.clone(),
                version: version.clone(),
                title: title.clone(),
                extra: extra.clone(),
            },
            capabilities: capabilities.text().cloned(),
        };
        serde_json::to_string(&text).expect("strings and JSON")
    }

    /// Reads the content. `None` if its format is unknown.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        let SessionText { format, owner, revision, client, capabilities } =
            serde_json::from_str(text).ok()?;
        let ClientText { name, version, title, extra } = client;
        let revision = Revision::from_name(&revision).filter(|revision| revision.era() == Era::Handshake)?;
        if format != SESSION_FORMAT {
            return None;
        }
        let greeting = InitializeParams {
            revision,
            client: Arc::new(ClientInfo { name, version, title, extra }),
            capabilities: Arc::new(capabilities.map(Capabilities::new).unwrap_or_default()),
        };
        Some(Self { owner: owner.parse().ok()?, greeting })
    }
}

/// Identifies a principal in the store, without its name.
pub(super) fn principal_digest(principal: &Principal) -> Digest {
    let text = match principal {
        Principal::Local => "local".to_owned(),
        Principal::Anonymous => "anonymous".to_owned(),
        Principal::Operator => "operator".to_owned(),
        Principal::Named(name) => format!("token\n{name}"),
        Principal::Certificate(name) => format!("certificate\n{name}"),
        Principal::Subject(subject) => format!("subject\n{}\n{}", subject.issuer(), subject.subject()),
        Principal::User(user) => format!("user\n{}", user.uid()),
    };
    Digest::of(text.as_bytes())
}

/// Identifies a caller in the store.
pub(super) fn caller_digest(caller: &Caller) -> Digest {
    match caller {
        Caller::Address(address) => Digest::of(format!("address\n{address}").as_bytes()),
        Caller::Local
        | Caller::Named(_)
        | Caller::Subject(_)
        | Caller::Certificate(_)
        | Caller::User(_)
        | Caller::Operator(_) => principal_digest(&caller.principal()),
    }
}
