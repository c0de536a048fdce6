//! Renders a message as a line. Used by `trace` only.

use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::SystemTime;

use moongate_protocol::server::DiscardReason;
use serde::Serialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::TraceEntry;
use super::mask::SecretMask;

/// The maximum size of a message in a line, in bytes.
const MAX_SHOWN_BYTES: usize = 1024 * 1024;

/// The size of a message's part that is searched for secrets, in bytes: the part that is shown, and the rest of a
/// secret that starts there, with each byte of the longest secret escaped.
pub(super) const MAX_COPIED_BYTES: usize = MAX_SHOWN_BYTES + 512 * 1024;

/// The maximum size of an id or method that is repeated outside the message, in bytes.
const MAX_HEAD_BYTES: usize = 256;

/// The direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum MessageDirection {
    /// To the gateway.
    In,
    /// To the client.
    Out,
}

/// The transport of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TracedTransport {
    Stdio,
    Http,
    Unix,
}

/// The peer.
#[derive(Debug, Clone)]
pub(super) struct TracedPeer {
    pub(super) transport: TracedTransport,
    /// The address. `None` for stdio and the Unix socket.
    pub(super) client: Option<SocketAddr>,
    /// The name of the token.
    pub(super) token: Option<Arc<str>>,
    /// A digest of the session id, or the number of the connection to the Unix socket.
    pub(super) session: Option<String>,
}

/// The content of a line.
#[derive(Debug)]
pub(super) enum Payload {
    /// A message, or its start.
    Message {
        bytes: Vec<u8>,
        /// The length of the whole message, in bytes.
        length: usize,
    },
    /// A message that was discarded.
    Discarded(DiscardReason),
}

/// A line of the trace.
#[derive(Serialize)]
struct TraceLine<'a> {
    time: String,
    direction: MessageDirection,
    transport: TracedTransport,
    client: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    /// The ids of a batch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ids: Vec<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a RawValue>,
    /// A message that isn't JSON, or is incomplete.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    /// The length of the whole message, if the line contains only its start.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut_from: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// The line that reports dropped messages.
#[derive(Serialize)]
struct DroppedMessages {
    time: String,
    dropped: u64,
}

fn time(at: SystemTime) -> String {
    humantime::format_rfc3339_micros(at).to_string()
}

/// Appends the line for the number of messages that were dropped before.
pub(super) fn write_dropped(out: &mut Vec<u8>, dropped: u64) {
    write(out, &DroppedMessages { time: time(SystemTime::now()), dropped });
}

/// Appends the line of a message, with its secrets redacted.
pub(super) fn write_entry(out: &mut Vec<u8>, entry: &TraceEntry, mask: &SecretMask) {
    let TraceEntry { at, direction, peer, status, payload, cost: _ } = entry;
    let TracedPeer { transport, client, token, session } = &**peer;
    let client = match client {
        Some(address) => Cow::Owned(address.to_string()),
        None => Cow::Borrowed(match transport {
            TracedTransport::Stdio => "stdio",
            TracedTransport::Unix => "unix",
            TracedTransport::Http => "unknown",
        }),
    };
    let line = TraceLine {
        time: time(*at),
        direction: *direction,
        transport: *transport,
        client,
        token: token.as_deref(),
        session: session.as_deref(),
        status: *status,
        id: None,
        ids: Vec::new(),
        method: None,
        message: None,
        text: None,
        cut_from: None,
        note: None,
    };
    match payload {
        Payload::Discarded(reason) => {
            let note = match reason {
                DiscardReason::TooLong { limit } => format!("longer than {limit} bytes; discarded"),
                DiscardReason::NoMemory => "too many large requests; discarded".to_owned(),
            };
            write(out, &TraceLine { note: Some(note), ..line });
        }
        Payload::Message { bytes, length } => write_message(out, line, bytes, *length, mask),
    }
}

fn write_message(out: &mut Vec<u8>, line: TraceLine<'_>, bytes: &[u8], length: usize, mask: &SecretMask) {
    let text = String::from_utf8_lossy(bytes);
    let is_whole = length <= MAX_SHOWN_BYTES && matches!(text, Cow::Borrowed(_));
    let mut masked = mask.redact(&text, MAX_SHOWN_BYTES);
    // JSON contains line breaks only outside strings.
    if is_whole && masked.contains(['\n', '\r']) && serde_json::from_str::<IgnoredAny>(&masked).is_ok() {
        masked = masked.replace(['\n', '\r'], " ");
    }
    let message = if is_whole { serde_json::from_str::<&RawValue>(&masked).ok() } else { None };
    let mut head = MessageHead::default();
    head.read(&masked);
    let batch = message.filter(|message| message.get().starts_with('['));
    let parts: Vec<&RawValue> =
        batch.and_then(|batch| serde_json::from_str(batch.get()).ok()).unwrap_or_default();
    let ids: Vec<_> = parts
        .iter()
        .filter_map(|part| {
            let mut head = MessageHead::default();
            head.read(part.get());
            head.id
        })
        .collect();
    let line = TraceLine {
        id: head.id.as_deref(),
        ids: ids.iter().map(|id| &**id).collect(),
        method: head.method.as_deref(),
        message,
        text: message.is_none().then_some(&*masked),
        cut_from: (length > MAX_SHOWN_BYTES).then_some(length),
        ..line
    };
    write(out, &line);
}

fn write(out: &mut Vec<u8>, line: &impl Serialize) {
    let begin = out.len();
    match serde_json::to_writer(&mut *out, line) {
        Ok(()) => out.push(b'\n'),
        Err(error) => {
            out.truncate(begin);
            tracing::error!(%error, "internal error: can't render a line of the trace");
        }
    }
}

/// The members of a message that are repeated outside it.
#[derive(Debug, Default)]
struct MessageHead {
    id: Option<Box<RawValue>>,
    method: Option<String>,
}

impl MessageHead {
    /// Reads an object from its start. If it is incomplete, the members up to that point are used.
    fn read(&mut self, text: &str) {
        let mut reader = serde_json::Deserializer::from_str(text);
        let _ = self.deserialize(&mut reader);
    }
}

impl<'de> DeserializeSeed<'de> for &mut MessageHead {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut MessageHead {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<Cow<'_, str>>()? {
            match &*name {
                "id" => {
                    let id: Box<RawValue> = members.next_value()?;
                    let is_unambiguous_path =
                        !id.get().starts_with(['{', '[']) && id.get().len() <= MAX_HEAD_BYTES;
                    self.id = is_unambiguous_path.then_some(id);
                }
                "method" => {
                    let method: Box<RawValue> = members.next_value()?;
                    let text = serde_json::from_str::<String>(method.get()).ok();
                    self.method = text.filter(|method| method.len() <= MAX_HEAD_BYTES);
                }
                _ => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}
