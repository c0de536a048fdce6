//! Checks every message of these tests against the official schemas.

use std::cell::RefCell;
use std::sync::Weak;

use moongate_mcp_schema::{Conversation, Revision};

use super::*;

/// The conversation of each connection.
type Talks = Vec<(Weak<StdioConnection>, Conversation)>;

thread_local! {
    /// Tests run on one thread.
    static TALKS: RefCell<Talks> = const { RefCell::new(Vec::new()) };
}

fn with<T>(connection: &Arc<StdioConnection>, act: impl FnOnce(&mut Conversation) -> T) -> T {
    TALKS.with_borrow_mut(|talks| {
        talks.retain(|(of, _)| of.strong_count() > 0);
        let same = |(of, _): &(Weak<StdioConnection>, Conversation)| of.as_ptr() == Arc::as_ptr(connection);
        let at = talks.iter().position(same).unwrap_or_else(|| {
            talks.push((Arc::downgrade(connection), Conversation::new()));
            talks.len() - 1
        });
        act(&mut talks[at].1)
    })
}

pub(super) fn sent(connection: &Arc<StdioConnection>, line: &[u8]) {
    with(connection, |conversation| conversation.sent(line));
}

#[track_caller]
pub(super) fn received(connection: &Arc<StdioConnection>, message: &Value) {
    if let Err(misfit) = with(connection, |conversation| conversation.received(message)) {
        panic!("{misfit}");
    }
}

/// The revision of a session isn't known here; the tests use the newest handshake revision.
#[track_caller]
pub(super) fn posted(headers: &Pairs, body: &[u8], reply: &HttpReply) {
    if reply.body.is_empty() {
        return;
    }
    let header = |name| match headers.get(name) {
        Header::Text(text) => Some(text),
        Header::Absent | Header::Invalid => None,
    };
    let revision = header("mcp-protocol-version").and_then(Revision::named);
    let message: Value = serde_json::from_slice(&reply.body).unwrap();
    let session = header("mcp-session-id").map(|_| match message.is_array() {
        true => Revision::V2025_03_26,
        false => Revision::V2025_11_25,
    });
    // An unreadable id is null if no header names the revision.
    let unread = message.get("id").is_some_and(Value::is_null);
    let mut conversation = Conversation::of(revision.or(session.filter(|_| !unread)));
    conversation.sent(body);
    if let Err(misfit) = conversation.received(&message) {
        panic!("{misfit}");
    }
}
