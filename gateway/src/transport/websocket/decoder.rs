//! Decodes frames into lines. Used by `websocket` only.

use bytes::{Buf as _, BytesMut};
use tokio::io::ReadBuf;

use super::WebSocketRole;
use super::close::CloseReason;
use super::frame::{FrameHeader, FrameKind, Utf8Parts, apply_mask};
use crate::transport::frame_budget::MAX_SMALL_BYTES;

/// A received frame that isn't a part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ControlFrame {
    Ping(Vec<u8>),
    Pong,
    Close(CloseReason),
}

/// The received part of a connection.
#[derive(Debug)]
pub(super) struct FrameDecoder {
    role: WebSocketRole,
    max_message: u64,
    /// Bytes that weren't decoded yet.
    pub(super) input: BytesMut,
    /// The frame whose payload is being received, and the number of bytes of it so far.
    frame: Option<(FrameHeader, u64)>,
    /// The length of the message that is being received.
    message: Option<u64>,
    encoding: Utf8Parts,
    /// True if a message is complete, and its line isn't yet.
    is_line_end_due: bool,
    /// The payload of the control frame that is being received.
    control: Vec<u8>,
    /// The small frames that completed no message.
    small_frames: u32,
}

impl FrameDecoder {
    pub(super) fn new(role: WebSocketRole, max_message: u64) -> Self {
        Self {
            role,
            max_message,
            input: BytesMut::new(),
            frame: None,
            message: None,
            encoding: Utf8Parts::default(),
            is_line_end_due: false,
            control: Vec::new(),
            small_frames: 0,
        }
    }

    /// True if a part of a message was received.
    pub(super) fn is_in_message(&self) -> bool {
        self.message.is_some()
    }

    /// Takes the number of small frames since the last time that completed no message.
    pub(super) fn take_small_frames(&mut self) -> u32 {
        std::mem::take(&mut self.small_frames)
    }

    /// Appends as much to `lines` as fits and was received, up to the next control frame.
    ///
    /// # Errors
    /// The peer sent something that isn't supported.
    pub(super) fn decode(&mut self, lines: &mut ReadBuf<'_>) -> Result<Option<ControlFrame>, CloseReason> {
        loop {
            if self.is_line_end_due {
                if lines.remaining() == 0 {
                    return Ok(None);
                }
                lines.put_slice(b"\n");
                self.is_line_end_due = false;
            }
            let Some((frame, received)) = &mut self.frame else {
                let Some(frame) = FrameHeader::take(&mut self.input)? else { return Ok(None) };
                self.begin(frame)?;
                continue;
            };
            let rest = usize::try_from(frame.length - *received).unwrap_or(usize::MAX);
            if rest == 0 {
                let frame = *frame;
                self.frame = None;
                if let Some(control) = self.end(frame)? {
                    return Ok(Some(control));
                }
                continue;
            }
            let is_control = frame.kind.is_control();
            let room = if is_control { rest } else { lines.remaining() };
            let count = rest.min(self.input.len()).min(room);
            if count == 0 {
                return Ok(None);
            }
            let part = &mut self.input[..count];
            if let Some(mask) = frame.mask {
                apply_mask(part, mask, *received);
            }
            *received += count as u64;
            if is_control {
                self.control.extend_from_slice(part);
            } else {
                self.encoding.check(part)?;
                // A line break between JSON tokens is a space; in a string, it isn't valid anyway.
                for line_break in part.iter_mut().filter(|byte| **byte == b'\n') {
                    *line_break = b' ';
                }
                lines.put_slice(part);
            }
            self.input.advance(count);
        }
    }

    /// Handles the header of a frame.
    fn begin(&mut self, frame: FrameHeader) -> Result<(), CloseReason> {
        let must_be_masked = self.role == WebSocketRole::Server;
        if frame.mask.is_some() != must_be_masked {
            return Err(CloseReason::Protocol);
        }
        if frame.length <= MAX_SMALL_BYTES && (frame.kind.is_control() || !frame.is_final) {
            self.small_frames += 1;
        }
        let before = match (frame.kind, self.message) {
            (FrameKind::Close | FrameKind::Ping | FrameKind::Pong, _) => {
                self.control.clear();
                self.frame = Some((frame, 0));
                return Ok(());
            }
            (FrameKind::Text, None) => 0,
            (FrameKind::Continuation, Some(before)) => before,
            (FrameKind::Binary, None) => return Err(CloseReason::Binary),
            (FrameKind::Continuation, None) | (FrameKind::Text | FrameKind::Binary, Some(_)) => {
                return Err(CloseReason::Protocol);
            }
        };
        let length = before.saturating_add(frame.length);
        if length > self.max_message {
            return Err(CloseReason::TooLong);
        }
        self.message = Some(length);
        self.frame = Some((frame, 0));
        Ok(())
    }

    /// Handles the end of a frame.
    fn end(&mut self, frame: FrameHeader) -> Result<Option<ControlFrame>, CloseReason> {
        Ok(match frame.kind {
            FrameKind::Ping => Some(ControlFrame::Ping(std::mem::take(&mut self.control))),
            FrameKind::Pong => Some(ControlFrame::Pong),
            FrameKind::Close => Some(ControlFrame::Close(close_reason(&self.control)?)),
            FrameKind::Text | FrameKind::Binary | FrameKind::Continuation => {
                if frame.is_final {
                    self.encoding.end()?;
                    self.message = None;
                    self.is_line_end_due = true;
                }
                None
            }
        })
    }
}

/// The reason in the payload of a close frame.
fn close_reason(payload: &[u8]) -> Result<CloseReason, CloseReason> {
    if payload.is_empty() {
        return Ok(CloseReason::Normal);
    }
    let (code, reason) = payload.split_first_chunk().ok_or(CloseReason::Protocol)?;
    match (u16::from_be_bytes(*code), std::str::from_utf8(reason)) {
        // The other codes are reserved, or never sent.
        (code @ (1000..=1003 | 1007..=1014 | 3000..=4999), Ok(reason)) => {
            Ok(CloseReason::Peer { code, reason: reason.to_owned() })
        }
        _ => Err(CloseReason::Protocol),
    }
}
