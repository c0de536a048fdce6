//! Names of events: which session, which stream, which event, such as `5f3a9c01p2-7`.

use std::fmt;

use super::store::Kind;

/// The name of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventId {
    /// The session's, in eight hexadecimal digits: an id of another session names nothing here.
    pub(super) tag: u32,
    /// `p` for the answer to a POST, `g` for what a GET opened.
    pub(super) kind: Kind,
    /// The stream within the session.
    pub(super) stream: u64,
    /// The event within the stream; 0 is its beginning.
    pub(super) event: u64,
}

impl EventId {
    /// Reads what was written as below, and nothing else.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (tag, rest) = text.split_at_checked(8)?;
        let (kind, rest) = rest.split_at_checked(1)?;
        let kind = match kind {
            "p" => Kind::Answer,
            "g" => Kind::News,
            _ => return None,
        };
        let (stream, event) = rest.split_once('-')?;
        let id = Self {
            tag: u32::from_str_radix(tag, 16).ok()?,
            kind,
            stream: stream.parse().ok()?,
            event: event.parse().ok()?,
        };
        (id.to_string() == text).then_some(id)
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tag, kind, stream, event } = self;
        let kind = match kind {
            Kind::Answer => 'p',
            Kind::News => 'g',
        };
        write!(f, "{tag:08x}{kind}{stream}-{event}")
    }
}
