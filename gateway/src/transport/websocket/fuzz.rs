//! Properties of any frames, as a plain function for the seeded loop in the tests and for fuzzers.

use std::str::from_utf8;

use tokio::io::ReadBuf;

use super::WebSocketRole;
use super::close::CloseReason;
use super::decoder::{ControlFrame, FrameDecoder};
use super::frame::MAX_CONTROL_BYTES;

/// The longest message, in bytes.
const MAX_MESSAGE_BYTES: usize = 300;

/// Everything that was read from a connection.
#[derive(Debug, Default, PartialEq, Eq)]
struct DecodedFrames {
    lines: Vec<u8>,
    /// The frames about the connection, each with the length of the lines before it.
    control: Vec<(usize, ControlFrame)>,
    error: Option<CloseReason>,
}

/// Decodes the frames of a peer: the first byte selects the side. The result doesn't depend on the pieces in which they
/// arrive and are read. Each message is a line of UTF-8 and isn't too long.
///
/// # Panics
/// A property is violated.
pub fn fuzz_websocket(bytes: &[u8]) {
    let Some((side, frames)) = bytes.split_first() else { return };
    let role = if side.is_multiple_of(2) { WebSocketRole::Server } else { WebSocketRole::Client };
    let whole = decode(role, frames, frames.len().max(1), 8 * 1024);
    check(&whole);
    for (piece, room) in [(1, 1), (1, 64), (3, 7), (64, 2)] {
        let mut parts = decode(role, frames, piece, room);
        check(&parts);
        if whole.error == Some(CloseReason::Encoding) {
            // Of a message that isn't UTF-8, the parts before the invalid one are lines already.
            assert!(parts.lines.starts_with(&whole.lines), "{parts:?} {whole:?}");
            parts.lines.truncate(whole.lines.len());
        }
        assert_eq!(parts, whole, "pieces of {piece}, read by {room}");
    }
}

fn decode(role: WebSocketRole, frames: &[u8], piece: usize, room: usize) -> DecodedFrames {
    let mut decoder = FrameDecoder::new(role, MAX_MESSAGE_BYTES as u64);
    let mut decoded = DecodedFrames::default();
    let mut buffer = vec![0; room];
    for part in frames.chunks(piece) {
        decoder.input.extend_from_slice(part);
        loop {
            let mut lines = ReadBuf::new(&mut buffer);
            let result = decoder.decode(&mut lines);
            decoded.lines.extend_from_slice(lines.filled());
            match result {
                Ok(Some(control)) => decoded.control.push((decoded.lines.len(), control)),
                Ok(None) if lines.filled().is_empty() => break,
                Ok(None) => {}
                Err(reason) => {
                    decoded.error = Some(reason);
                    return decoded;
                }
            }
        }
    }
    decoded
}

fn check(decoded: &DecodedFrames) {
    for line in decoded.lines.split_inclusive(|byte| *byte == b'\n') {
        let is_text = from_utf8(line).map_or_else(|error| error.error_len().is_none(), |_| true);
        let is_complete = line.ends_with(b"\n");
        assert!(is_text && (!is_complete || from_utf8(line).is_ok()), "{}", line.escape_ascii());
        assert!(line.len() <= MAX_MESSAGE_BYTES + usize::from(is_complete), "{}", line.len());
    }
    for (_, control) in &decoded.control {
        match control {
            ControlFrame::Ping(payload) => assert!(payload.len() <= MAX_CONTROL_BYTES),
            ControlFrame::Pong | ControlFrame::Close(CloseReason::Normal) => {}
            ControlFrame::Close(CloseReason::Peer { code, reason }) => {
                assert!(
                    (1000..5000).contains(code) && reason.len() <= MAX_CONTROL_BYTES - 2,
                    "{code} {reason}"
                );
            }
            ControlFrame::Close(other) => panic!("{other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn any_frames_are_lines_however_they_arrive() {
        moongate_model::seeded::seeded("websocket", super::fuzz_websocket);
    }
}
