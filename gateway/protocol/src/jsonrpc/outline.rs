//! Finds the ids of messages that can't be parsed, or that are too long to be kept, so that their senders don't wait
//! for an answer until they give up.
//!
//! [`MessageScanner`] reads text piece by piece and keeps only ids. It is lenient: text that isn't JSON gives the ids
//! that are readable, or none.

use std::ops::Range;

use serde_json::value::RawValue;

use super::{ErrorObject, Id, Incoming, MalformedMessage, MessageKind};

/// The maximum number of messages of a batch whose ids are kept.
const MAX_SCANNED_MESSAGES: usize = 1000;

/// The length of the longest member name that has a meaning, in bytes, if all six characters are escapes.
const MAX_NAME_BYTES: usize = 6 * 6;

/// The messages of one line or one body, without their contents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageOutline {
    pub(super) messages: Vec<ScannedMessage>,
    /// The text is an array.
    pub(super) is_batch: bool,
    /// The text has an end: all brackets are closed, and nothing follows.
    pub(super) is_complete: bool,
}

/// The outline of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScannedMessage {
    /// The position of the message in the text.
    pub(super) span: Range<usize>,
    /// The id and its position. `None` if it is missing, invalid or duplicate.
    pub(super) id: Option<(Id, Range<usize>)>,
    /// The probable kind.
    pub(super) kind: MessageKind,
}

/// Reads text piece by piece.
#[derive(Debug, Default)]
pub struct MessageScanner {
    outline: MessageOutline,
    /// The number of bytes read so far.
    at: usize,
    /// The number of open brackets.
    depth: usize,
    string: StringState,
    progress: ScanProgress,
    message: Option<OpenMessage>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum StringState {
    #[default]
    Outside,
    Inside,
    /// After a backslash.
    Escaped,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ScanProgress {
    /// Before the first bracket.
    #[default]
    Start,
    Reading,
    /// After the last bracket.
    End,
    /// The text doesn't start with a message, or continues after its end.
    Invalid,
}

/// The message that is being read.
#[derive(Debug, Default)]
struct OpenMessage {
    start: usize,
    position: MemberPosition,
    /// The name of the current member, or its start.
    name: Vec<u8>,
    /// The text of the id, or its start.
    id: Vec<u8>,
    id_start: usize,
    ids: usize,
    has_method: bool,
    has_outcome: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum MemberPosition {
    /// Before a member's name, or in it.
    #[default]
    Name,
    Value,
}

impl MessageOutline {
    /// Scans a whole text.
    pub(super) fn of(text: &[u8]) -> Self {
        let mut scanner = MessageScanner::default();
        scanner.read(text);
        scanner.finish()
    }

    /// Refuses all messages with the same error.
    ///
    /// # Errors
    /// The text isn't a batch, or contains no message: there is one error.
    pub fn refuse(self, error: &ErrorObject) -> Result<Incoming<'static>, MalformedMessage> {
        let Self { messages, is_batch, is_complete: _ } = self;
        let mut all = messages.into_iter().map(|ScannedMessage { id, kind, span: _ }| MalformedMessage {
            id: id.map(|(id, _)| id),
            error: error.clone(),
            kind,
        });
        let unknown = || MalformedMessage { id: None, error: error.clone(), kind: MessageKind::Unknown };
        match all.next() {
            Some(first) if is_batch => {
                Ok(Incoming::Batch(std::iter::once(first).chain(all).map(Err).collect()))
            }
            first => Err(first.unwrap_or_else(unknown)),
        }
    }
}

impl MessageScanner {
    /// Reads the next piece.
    pub fn read(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while let Some((&byte, after)) = rest.split_first() {
            self.byte(byte);
            rest = after;
            self.at += 1;
            // Most bytes are in strings of `params`, where only two of them have a meaning.
            if self.string == StringState::Inside && !self.keeps_text() {
                let skipped = memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                rest = &rest[skipped..];
                self.at += skipped;
            }
        }
    }

    /// The outline of everything that was read.
    #[must_use]
    pub fn finish(mut self) -> MessageOutline {
        if let Some(message) = self.message.take() {
            // An id at the end of the text could be the start of a longer one.
            let ids = if message.is_id() { 0 } else { message.ids };
            self.push(&OpenMessage { ids, ..message }, self.at);
        }
        self.outline.is_complete = self.progress == ScanProgress::End;
        self.outline
    }

    /// The number of open brackets directly in a message.
    fn message_depth(&self) -> usize {
        if self.outline.is_batch { 2 } else { 1 }
    }

    /// The open message, if the next byte isn't nested deeper.
    fn member_of(&mut self) -> Option<&mut OpenMessage> {
        let is_direct = self.depth == self.message_depth();
        self.message.as_mut().filter(|_| is_direct)
    }

    /// True while the bytes of a member's name or of the id are kept.
    fn keeps_text(&self) -> bool {
        let is_kept = |message: &OpenMessage| message.position == MemberPosition::Name || message.is_id();
        self.depth == self.message_depth() && self.message.as_ref().is_some_and(is_kept)
    }

    fn byte(&mut self, byte: u8) {
        match self.progress {
            ScanProgress::Start => self.start(byte),
            ScanProgress::Reading if self.string == StringState::Outside => self.token(byte),
            ScanProgress::Reading => self.string_byte(byte),
            ScanProgress::End if !byte.is_ascii_whitespace() => self.progress = ScanProgress::Invalid,
            ScanProgress::End | ScanProgress::Invalid => {}
        }
    }

    fn start(&mut self, byte: u8) {
        match byte {
            b'{' | b'[' => {
                self.progress = ScanProgress::Reading;
                self.outline.is_batch = byte == b'[';
                self.depth = 1;
                if byte == b'{' {
                    self.open_message();
                }
            }
            // A byte order mark, or white space.
            0xEF | 0xBB | 0xBF | b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => self.progress = ScanProgress::Invalid,
        }
    }

    /// Handles a byte of a string.
    fn string_byte(&mut self, byte: u8) {
        let state = self.string;
        self.string = match (state, byte) {
            (StringState::Inside, b'"') => StringState::Outside,
            (StringState::Inside, b'\\') => StringState::Escaped,
            (StringState::Outside | StringState::Inside | StringState::Escaped, _) => StringState::Inside,
        };
        let is_inside = self.string != StringState::Outside;
        let at = self.at;
        let Some(message) = self.member_of() else { return };
        match message.position {
            MemberPosition::Name if is_inside => message.push_name(byte),
            MemberPosition::Value if message.is_id() => message.push_id(byte, at),
            MemberPosition::Name | MemberPosition::Value => {}
        }
    }

    /// Handles a byte outside strings.
    fn token(&mut self, byte: u8) {
        let at = self.at;
        if let Some(message) = self.member_of() {
            message.token(byte, at);
        }
        match byte {
            b'"' => self.string = StringState::Inside,
            b'{' | b'[' => {
                self.depth += 1;
                if byte == b'{' && self.message.is_none() && self.depth == self.message_depth() {
                    self.open_message();
                }
            }
            b'}' | b']' => {
                if self.depth == self.message_depth()
                    && let Some(message) = self.message.take()
                {
                    self.push(&message, at + 1);
                }
                self.depth -= 1;
                if self.depth == 0 {
                    self.progress = ScanProgress::End;
                }
            }
            _ => {}
        }
    }

    fn open_message(&mut self) {
        self.message = Some(OpenMessage { start: self.at, ..OpenMessage::default() });
    }

    fn push(&mut self, message: &OpenMessage, end: usize) {
        if self.outline.messages.len() == MAX_SCANNED_MESSAGES {
            return;
        }
        let kind = match (message.has_method, message.has_outcome) {
            (true, false) if message.ids > 0 => MessageKind::Request,
            (false, true) => MessageKind::Response,
            (true | false, _) => MessageKind::Unknown,
        };
        let id = (message.ids == 1).then(|| message.id()).flatten();
        self.outline.messages.push(ScannedMessage { span: message.start..end, id, kind });
    }
}

impl OpenMessage {
    /// Handles a byte outside strings that isn't nested deeper.
    fn token(&mut self, byte: u8, at: usize) {
        match (byte, self.position) {
            (b'"', MemberPosition::Name) => self.name.clear(),
            (b':', MemberPosition::Name) => {
                self.position = MemberPosition::Value;
                self.unescape_name();
                self.ids += usize::from(self.is_id());
            }
            (b',' | b'}' | b']', MemberPosition::Value) => {
                self.has_method |= self.name == b"method";
                self.has_outcome |= self.name == b"result" || self.name == b"error";
                self.position = MemberPosition::Name;
                self.name.clear();
            }
            (byte, MemberPosition::Value) if self.is_id() && !byte.is_ascii_whitespace() => {
                self.push_id(byte, at)
            }
            (_, MemberPosition::Name | MemberPosition::Value) => {}
        }
    }

    /// True in the value of `id`.
    fn is_id(&self) -> bool {
        self.position == MemberPosition::Value && self.name == b"id"
    }

    fn push_name(&mut self, byte: u8) {
        if self.name.len() <= MAX_NAME_BYTES {
            self.name.push(byte);
        }
    }

    /// Replaces escapes in the name, such as in `"\u0069d"`.
    fn unescape_name(&mut self) {
        if self.name.contains(&b'\\') {
            let quoted = [b"\"", &*self.name, b"\""].concat();
            self.name = serde_json::from_slice::<String>(&quoted).unwrap_or_default().into_bytes();
        }
    }

    fn push_id(&mut self, byte: u8, at: usize) {
        if self.id.is_empty() {
            self.id_start = at;
        }
        if self.id.len() > Id::MAX_BYTES || self.id_start + self.id.len() != at {
            self.ids += 1; // too long, a duplicate, or not one token: none is used
            return;
        }
        self.id.push(byte);
    }

    fn id(&self) -> Option<(Id, Range<usize>)> {
        let raw = serde_json::from_slice::<&RawValue>(&self.id).ok()?;
        let id = Id::from_token(raw.get()).ok()?;
        Some((id, self.id_start..self.id_start + self.id.len()))
    }
}
