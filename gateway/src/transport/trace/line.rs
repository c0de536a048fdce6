//! From a message to its line. Used by `trace` only.

use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::SystemTime;

use serde::Serialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::Entry;
use super::mask::Mask;

/// How much of a message a line holds, in bytes.
const MOST: usize = 1024 * 1024;

/// How much of a message is looked at, in bytes. Beyond what is shown, the rest of a secret that begins there: the
/// longest, each byte escaped.
pub(super) const COPIED: usize = MOST + 512 * 1024;

/// A longer id or method isn't told beside the message, in bytes.
const LONGEST: usize = 256;

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Direction {
    /// To the gateway.
    In,
    /// To the client.
    Out,
}

/// How it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Transport {
    Stdio,
    Http,
}

/// Who is at the other end.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    pub(super) transport: Transport,
    /// The address; none where there is none.
    pub(super) client: Option<SocketAddr>,
    /// The name of the token.
    pub(super) token: Option<Arc<str>>,
    /// What stands for the session.
    pub(super) session: Option<String>,
}

/// What is told.
#[derive(Debug)]
pub(super) enum What {
    /// A message, or its beginning.
    Message {
        bytes: Vec<u8>,
        /// How long it is as a whole, in bytes.
        length: usize,
    },
    /// Something longer than what is read, in bytes.
    ThrownAway { most: usize },
}

/// A line.
#[derive(Serialize)]
struct Line<'a> {
    time: String,
    direction: Direction,
    transport: Transport,
    client: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    /// Those of a batch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ids: Vec<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a RawValue>,
    /// What isn't JSON, or not all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    /// How long the message is, where not all of it is here.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut_from: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Says that so many messages are missing.
#[derive(Serialize)]
struct Gap {
    time: String,
    dropped: u64,
}

fn time(at: SystemTime) -> String {
    humantime::format_rfc3339_micros(at).to_string()
}

/// Adds the line that says how many messages were dropped before it.
pub(super) fn write_gap(out: &mut Vec<u8>, dropped: u64) {
    write(out, &Gap { time: time(SystemTime::now()), dropped });
}

/// Adds the line of a message, with what `mask` knows blotted out.
pub(super) fn write_entry(out: &mut Vec<u8>, entry: &Entry, mask: &Mask) {
    let Entry { at, direction, peer, status, what, cost: _ } = entry;
    let Peer { transport, client, token, session } = &**peer;
    let client = match client {
        Some(address) => Cow::Owned(address.to_string()),
        None => Cow::Borrowed(match transport {
            Transport::Stdio => "stdio",
            Transport::Http => "unknown",
        }),
    };
    let line = Line {
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
    match what {
        What::ThrownAway { most } => {
            let note = Some(format!("longer than {most} bytes, and not read"));
            write(out, &Line { note, ..line });
        }
        What::Message { bytes, length } => write_message(out, line, bytes, *length, mask),
    }
}

fn write_message(out: &mut Vec<u8>, line: Line<'_>, bytes: &[u8], length: usize, mask: &Mask) {
    let text = String::from_utf8_lossy(bytes);
    let is_whole = length <= MOST && matches!(text, Cow::Borrowed(_));
    let mut masked = mask.over(&text, MOST);
    // Outside of its texts, and only there, JSON may hold line breaks.
    if is_whole && masked.contains(['\n', '\r']) && serde_json::from_str::<IgnoredAny>(&masked).is_ok() {
        masked = masked.replace(['\n', '\r'], " ");
    }
    let message = if is_whole { serde_json::from_str::<&RawValue>(&masked).ok() } else { None };
    let mut head = Head::default();
    head.read(&masked);
    let batch = message.filter(|message| message.get().starts_with('['));
    let parts: Vec<&RawValue> =
        batch.and_then(|batch| serde_json::from_str(batch.get()).ok()).unwrap_or_default();
    let ids: Vec<_> = parts
        .iter()
        .filter_map(|part| {
            let mut head = Head::default();
            head.read(part.get());
            head.id
        })
        .collect();
    let line = Line {
        id: head.id.as_deref(),
        ids: ids.iter().map(|id| &**id).collect(),
        method: head.method.as_deref(),
        message,
        text: message.is_none().then_some(&*masked),
        cut_from: (length > MOST).then_some(length),
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
            tracing::error!(%error, "a line of the trace can't be made");
        }
    }
}

/// What of a message stands beside it, as far as it can be read.
#[derive(Debug, Default)]
struct Head {
    id: Option<Box<RawValue>>,
    method: Option<String>,
}

impl Head {
    /// Reads an object from its beginning; where it breaks off or ends, what was read until then counts.
    fn read(&mut self, text: &str) {
        let mut reader = serde_json::Deserializer::from_str(text);
        let _ = self.deserialize(&mut reader);
    }
}

impl<'de> DeserializeSeed<'de> for &mut Head {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Head {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<Cow<'_, str>>()? {
            match &*name {
                "id" => {
                    let id: Box<RawValue> = members.next_value()?;
                    let is_plain = !id.get().starts_with(['{', '[']) && id.get().len() <= LONGEST;
                    self.id = is_plain.then_some(id);
                }
                "method" => {
                    let method: Box<RawValue> = members.next_value()?;
                    let text = serde_json::from_str::<String>(method.get()).ok();
                    self.method = text.filter(|method| method.len() <= LONGEST);
                }
                _ => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}
