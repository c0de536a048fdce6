//! The headers of WebSocket frames (RFC 6455, 5.2), masks, and the check of UTF-8.

use bytes::{Buf as _, BufMut as _, BytesMut};

use super::close::CloseReason;

/// The maximum length of the payload of a control frame, in bytes.
pub(super) const MAX_CONTROL_BYTES: usize = 125;

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// The next part of a message.
    Continuation,
    /// The first part of a text message.
    Text,
    /// The first part of a binary message.
    Binary,
    Close,
    Ping,
    Pong,
}

impl FrameKind {
    fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            0x0 => Self::Continuation,
            0x1 => Self::Text,
            0x2 => Self::Binary,
            0x8 => Self::Close,
            0x9 => Self::Ping,
            0xa => Self::Pong,
            _ => return None,
        })
    }

    fn code(self) -> u8 {
        match self {
            Self::Continuation => 0x0,
            Self::Text => 0x1,
            Self::Binary => 0x2,
            Self::Close => 0x8,
            Self::Ping => 0x9,
            Self::Pong => 0xa,
        }
    }

    /// True if the frame is about the connection and not a part of a message.
    pub(super) fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }
}

/// The header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub(super) kind: FrameKind,
    /// True if it is the only or the last frame of its message.
    pub(super) is_final: bool,
    /// The key that its payload is masked with. Clients mask, servers don't.
    pub(super) mask: Option<[u8; 4]>,
    /// The length of the payload.
    pub(super) length: u64,
}

impl FrameHeader {
    /// Takes a header from the start of `input`. `None` means that it is incomplete.
    ///
    /// # Errors
    /// It uses an extension, such as compression, or isn't valid.
    pub(super) fn take(input: &mut BytesMut) -> Result<Option<Self>, CloseReason> {
        let [first, second, rest @ ..] = &input[..] else { return Ok(None) };
        let kind = FrameKind::from_code(first & 0x0f).filter(|_| first & 0x70 == 0);
        let kind = kind.ok_or(CloseReason::Protocol)?;
        let is_final = first & 0x80 != 0;
        let (length, rest) = match second & 0x7f {
            126 => match rest.split_first_chunk() {
                Some((length, rest)) => (u16::from_be_bytes(*length).into(), rest),
                None => return Ok(None),
            },
            127 => match rest.split_first_chunk() {
                Some((length, rest)) => (u64::from_be_bytes(*length), rest),
                None => return Ok(None),
            },
            length => (length.into(), rest),
        };
        let (mask, rest) = match (second & 0x80 != 0, rest.split_first_chunk()) {
            (false, _) => (None, rest),
            (true, Some((mask, rest))) => (Some(*mask), rest),
            (true, None) => return Ok(None),
        };
        if kind.is_control() && (!is_final || length > MAX_CONTROL_BYTES as u64) {
            return Err(CloseReason::Protocol);
        }
        let size = input.len() - rest.len();
        input.advance(size);
        Ok(Some(Self { kind, is_final, mask, length }))
    }

    /// Appends the header to `output`.
    pub(super) fn put(&self, output: &mut Vec<u8>) {
        let Self { kind, is_final, mask, length } = *self;
        output.put_u8((u8::from(is_final) << 7) | kind.code());
        let masked = u8::from(mask.is_some()) << 7;
        match (u8::try_from(length), u16::try_from(length)) {
            (Ok(length @ ..126), _) => output.put_u8(masked | length),
            (_, Ok(length)) => {
                output.put_u8(masked | 126);
                output.put_u16(length);
            }
            _ => {
                output.put_u8(masked | 127);
                output.put_u64(length);
            }
        }
        output.extend_from_slice(mask.as_ref().map_or(&[], |mask| &mask[..]));
    }
}

/// Masks a part of a payload, or removes its mask. `offset` is the number of bytes before it.
pub(super) fn apply_mask(part: &mut [u8], mask: [u8; 4], offset: u64) {
    let mut mask = mask;
    mask.rotate_left((offset % 4) as usize);
    let word = u32::from_ne_bytes(mask);
    let (words, rest) = part.as_chunks_mut();
    for bytes in words {
        *bytes = (u32::from_ne_bytes(*bytes) ^ word).to_ne_bytes();
    }
    for (byte, key) in rest.iter_mut().zip(mask) {
        *byte ^= key;
    }
}

/// Checks that the parts of a message are UTF-8 together.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Utf8Parts {
    /// The number of bytes that the current character still needs.
    missing: u8,
    /// The range of the next of them.
    range: (u8, u8),
}

impl Utf8Parts {
    /// Checks the next part.
    ///
    /// # Errors
    /// It isn't UTF-8.
    pub(super) fn check(&mut self, part: &[u8]) -> Result<(), CloseReason> {
        if self.missing == 0 && part.is_ascii() {
            return Ok(());
        }
        for byte in part {
            (self.missing, self.range) = match (self.missing, byte) {
                // The ranges exclude longer forms than necessary, surrogates, and what is above U+10FFFF.
                (0, 0x00..=0x7f) => (0, (0, 0)),
                (0, 0xc2..=0xdf) => (1, (0x80, 0xbf)),
                (0, 0xe0) => (2, (0xa0, 0xbf)),
                (0, 0xed) => (2, (0x80, 0x9f)),
                (0, 0xe1..=0xef) => (2, (0x80, 0xbf)),
                (0, 0xf0) => (3, (0x90, 0xbf)),
                (0, 0xf1..=0xf3) => (3, (0x80, 0xbf)),
                (0, 0xf4) => (3, (0x80, 0x8f)),
                (1.., byte) if (self.range.0..=self.range.1).contains(byte) => {
                    (self.missing - 1, (0x80, 0xbf))
                }
                _ => return Err(CloseReason::Encoding),
            };
        }
        Ok(())
    }

    /// Checks that the last character is complete.
    ///
    /// # Errors
    /// It isn't.
    pub(super) fn end(&self) -> Result<(), CloseReason> {
        if self.missing == 0 { Ok(()) } else { Err(CloseReason::Encoding) }
    }
}
