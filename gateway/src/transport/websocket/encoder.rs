//! Encodes lines as frames. Used by `websocket` only.

use ring::rand::{SecureRandom as _, SystemRandom};

use super::WebSocketRole;
use super::close::CloseReason;
use super::frame::{FrameHeader, FrameKind, apply_mask};

/// The longest part of a message that is one frame, in bytes. Longer messages have several, so that none has to be in the
/// buffer as a whole.
pub(super) const MAX_FRAME_BYTES: usize = 64 * 1024;

/// The capacity of the buffer that a silent connection keeps, in bytes.
const MAX_KEPT_BYTES: usize = 8 * 1024;

/// The part of a connection that is to be sent.
#[derive(Debug)]
pub(super) struct FrameEncoder {
    role: WebSocketRole,
    /// Encoded frames.
    output: Vec<u8>,
    /// The length of the part of them that was sent.
    sent: usize,
    /// True if the last part of a line wasn't its end.
    is_in_message: bool,
    /// The answer to the last ping.
    pong: Option<Vec<u8>>,
    is_ping_due: bool,
    is_closed: bool,
}

impl FrameEncoder {
    pub(super) fn new(role: WebSocketRole) -> Self {
        Self {
            role,
            output: Vec::new(),
            sent: 0,
            is_in_message: false,
            pong: None,
            is_ping_due: false,
            is_closed: false,
        }
    }

    /// Adds a part of the lines in `bytes`. Returns its length.
    pub(super) fn add_lines(&mut self, bytes: &[u8]) -> usize {
        let part = &bytes[..bytes.len().min(MAX_FRAME_BYTES)];
        let end = memchr::memchr(b'\n', part);
        let text = &part[..end.unwrap_or(part.len())];
        if !text.is_empty() || self.is_in_message {
            let kind = if self.is_in_message { FrameKind::Continuation } else { FrameKind::Text };
            self.add(kind, end.is_some(), text);
            self.is_in_message = end.is_none();
        }
        text.len() + usize::from(end.is_some())
    }

    /// Answers a ping, instead of an earlier one that wasn't answered yet.
    pub(super) fn answer_ping(&mut self, payload: Vec<u8>) {
        self.pong = Some(payload);
    }

    /// Sends a ping as soon as possible.
    pub(super) fn ping(&mut self) {
        self.is_ping_due = true;
    }

    /// True if a frame waits that isn't a part of a message.
    pub(super) fn has_control(&self) -> bool {
        self.pong.is_some() || self.is_ping_due
    }

    /// Adds the frames that aren't parts of messages. Returns false if there are none.
    pub(super) fn add_control(&mut self) -> bool {
        let has_control = self.has_control();
        if let Some(payload) = self.pong.take() {
            self.add(FrameKind::Pong, true, &payload);
        }
        if std::mem::take(&mut self.is_ping_due) {
            self.add(FrameKind::Ping, true, &[]);
        }
        has_control
    }

    /// Adds the last frame, unless there already is one.
    pub(super) fn close(&mut self, reason: &CloseReason) {
        if !self.is_closed {
            let (code, text) = reason.code();
            let payload = [&code.to_be_bytes(), text.as_bytes()].concat();
            self.add(FrameKind::Close, true, &payload);
            self.is_closed = true;
        }
    }

    /// True if the last frame was added.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// The encoded frames that weren't sent yet.
    pub(super) fn unsent(&self) -> &[u8] {
        &self.output[self.sent..]
    }

    /// Records that this many bytes were sent.
    pub(super) fn record_sent(&mut self, bytes: usize) {
        self.sent += bytes;
        if self.sent == self.output.len() {
            self.sent = 0;
            self.output.clear();
            self.output.shrink_to(MAX_KEPT_BYTES);
        }
    }

    fn add(&mut self, kind: FrameKind, is_final: bool, payload: &[u8]) {
        if self.is_closed {
            return; // nothing follows the last frame
        }
        let mask = match self.role {
            WebSocketRole::Server => None,
            WebSocketRole::Client => Some(random_mask()),
        };
        FrameHeader { kind, is_final, mask, length: payload.len() as u64 }.put(&mut self.output);
        let start = self.output.len();
        self.output.extend_from_slice(payload);
        if let Some(mask) = mask {
            apply_mask(&mut self.output[start..], mask, 0);
        }
    }
}

/// A new mask. It protects proxies from payloads that look like requests, so a zero one in a failure does no harm here.
fn random_mask() -> [u8; 4] {
    let mut mask = [0; 4];
    let _ = SystemRandom::new().fill(&mut mask);
    mask
}
