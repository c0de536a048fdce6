//! Event ids, such as `5f3a9c01p2-7`: session, stream and event.

use std::fmt;

use crate::session::shared::StreamName;

use super::store::StreamKind;

/// An event id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventId {
    /// The session's tag, as eight hexadecimal digits. Ids of other sessions are unknown here.
    pub(in crate::session) tag: u32,
    /// `p` for the answer to a POST, `g` for a stream of a GET.
    pub(crate) kind: StreamKind,
    /// The stream within the session.
    pub(in crate::session) stream: u64,
    /// The event within the stream. 0 is its start.
    pub(in crate::session) event: u64,
}

impl EventId {
    /// Parses the form below, and nothing else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (tag, rest) = text.split_at_checked(8)?;
        let (kind, rest) = rest.split_at_checked(1)?;
        let kind = match kind {
            "p" => StreamKind::Response,
            "g" => StreamKind::Notifications,
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

    /// The name of the stream: the id without the event.
    pub(in crate::session) fn stream_name(&self) -> StreamName {
        let text = self.to_string();
        StreamName(text.split_once('-').map_or("", |(name, _)| name).to_owned())
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tag, kind, stream, event } = self;
        let kind = match kind {
            StreamKind::Response => 'p',
            StreamKind::Notifications => 'g',
        };
        write!(f, "{tag:08x}{kind}{stream}-{event}")
    }
}
