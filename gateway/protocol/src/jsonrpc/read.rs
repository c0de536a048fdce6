//! Parses bytes into messages.
//!
//! The envelope is read member by member and every value stays raw, so that absent and `null` differ, numbers keep
//! their digits, unknown members are ignored and duplicate ones rejected.

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::json::{self, Json, JsonPart};

use super::outline::{MessageOutline, ScannedMessage};
use super::{
    ErrorObject, Id, IdError, Incoming, MAX_DEPTH, MalformedMessage, Message, MessageKind, Notification,
    ParseLimits, Request, Response,
};

/// The bytes of one line or one body, with `\ufffd` for lone surrogates: programs that cut text by UTF-16 code units,
/// such as those in JavaScript, send them, and their users want the call to work. Ids are kept, because they are
/// returned exactly as received.
#[derive(Debug)]
pub struct MessageText<'a>(ReceivedText<'a>);

#[derive(Debug)]
enum ReceivedText<'a> {
    /// Text that has passed the strict check, as nearly all messages do.
    Strict(JsonPart<'a>),
    /// Any other bytes.
    Unchecked(Cow<'a, [u8]>),
}

impl<'a> MessageText<'a> {
    /// Borrows the bytes, except if they contain a lone surrogate. A leading byte order mark is skipped.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let text = std::str::from_utf8(bytes);
        if let Ok(text) = text
            && let Some(accepted) = JsonPart::accept(text)
        {
            return Self(ReceivedText::Strict(accepted));
        }
        Self(ReceivedText::Unchecked(match text.map(json::replace_lone_surrogates) {
            Ok(Cow::Owned(replaced)) => {
                let mut replaced = replaced.into_bytes();
                for (_, id) in MessageOutline::of(bytes).messages.into_iter().filter_map(|message| message.id)
                {
                    replaced[id.clone()].copy_from_slice(&bytes[id]);
                }
                Cow::Owned(replaced)
            }
            Ok(Cow::Borrowed(_)) | Err(_) => Cow::Borrowed(bytes),
        }))
    }
}

/// Parses one line or one body.
///
/// In a batch with an invalid message, the others are read nevertheless.
///
/// # Errors
/// The input as a whole is invalid: it isn't UTF-8 or JSON ([`PARSE_ERROR`](super::PARSE_ERROR)), an empty batch, or
/// something other than a message ([`INVALID_REQUEST`](super::INVALID_REQUEST)).
pub fn parse<'a>(text: &'a MessageText<'_>, limits: ParseLimits) -> Result<Incoming<'a>, MalformedMessage> {
    let (bytes, top_level) = match &text.0 {
        ReceivedText::Strict(part) => (part.get().as_bytes(), Ok(TopLevel::of(*part, limits))),
        ReceivedText::Unchecked(bytes) => (&**bytes, parse_top_level(bytes, limits)),
    };
    match top_level {
        Ok(TopLevel::Single(entry)) => entry.check().map(Incoming::Single),
        Ok(TopLevel::Batch(_, 0)) => Err(invalid_message("a batch must not be empty")),
        Ok(TopLevel::Batch(_, count)) if count > limits.max_batch => {
            let most = limits.max_batch;
            let why = format!("the batch contains {count} messages; at most {most} are allowed");
            MessageOutline::of(bytes).refuse(&ErrorObject::invalid_request(why))
        }
        Ok(TopLevel::Batch(entries, _)) => {
            Ok(Incoming::Batch(entries.into_iter().map(BatchEntry::check).collect()))
        }
        Err(error) => parse_separately(bytes, limits, &error),
    }
}

/// Parses what may be a batch with invalid messages, after an error in the whole text. If the array itself is invalid,
/// all its messages are refused.
fn parse_separately<'a>(
    bytes: &'a [u8],
    limits: ParseLimits,
    error: &ErrorObject,
) -> Result<Incoming<'a>, MalformedMessage> {
    let outline = MessageOutline::of(bytes);
    let MessageOutline { messages, is_batch: true, is_complete: true } = &outline else {
        return outline.refuse(error);
    };
    if messages.is_empty() || messages.len() > limits.max_batch || !are_separated(bytes, messages) {
        return outline.refuse(error);
    }
    let parse_one = |message: &ScannedMessage| {
        let bytes = &bytes[message.span.clone()];
        match parse_top_level(bytes, limits) {
            Ok(TopLevel::Single(entry)) => entry.check(),
            Ok(TopLevel::Batch(..)) => Err(invalid_message("a message must be an object")),
            Err(error) => Err(MalformedMessage {
                id: message.id.as_ref().map(|(id, _)| id.clone()),
                error,
                kind: message.kind,
            }),
        }
    };
    Ok(Incoming::Batch(messages.iter().map(parse_one).collect()))
}

/// True if there is nothing but the array's own punctuation outside the messages.
fn are_separated(bytes: &[u8], messages: &[ScannedMessage]) -> bool {
    let starts = messages.iter().map(|message| message.span.start).chain([bytes.len()]);
    let ends = [0].into_iter().chain(messages.iter().map(|message| message.span.end));
    let gaps = ends.zip(starts).map(|(end, start)| bytes.get(end..start).unwrap_or_default().trim_ascii());
    gaps.enumerate().all(|(at, gap)| match at {
        0 => gap == b"[",
        at if at == messages.len() => gap == b"]",
        _ => gap == b",",
    })
}

fn parse_top_level(bytes: &[u8], limits: ParseLimits) -> Result<TopLevel<'_>, ErrorObject> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| parse_failure(format_args!("UTF-8: invalid byte at {}", error.valid_up_to())))?;
    if let Some(at) = json::find_too_deep(text, MAX_DEPTH) {
        return Err(parse_failure(format_args!(
            "readable JSON: it is nested deeper than {MAX_DEPTH} levels at byte {at}"
        )));
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    TopLevelSeed { limits }
        .deserialize(&mut deserializer)
        .and_then(|whole| deserializer.end().map(|()| whole))
        .map_err(|error| parse_failure(format_args!("JSON: {error}")))
}

fn parse_failure(why: fmt::Arguments<'_>) -> ErrorObject {
    ErrorObject::parse_error(format!("the message is not {why}"))
}

fn invalid_message(why: impl Into<String>) -> MalformedMessage {
    MalformedMessage { id: None, error: ErrorObject::invalid_request(why), kind: MessageKind::Unknown }
}

/// The characters of a string. `None` for other values.
fn string(part: JsonPart<'_>) -> Option<Cow<'_, str>> {
    json::string_value(part.get())
}

/// The top level: one value, or the first values of an array and the number of all.
enum TopLevel<'a> {
    Single(BatchEntry<'a>),
    Batch(Vec<BatchEntry<'a>>, usize),
}

/// A value in the position of a message.
enum BatchEntry<'a> {
    Object(MessageMembers<'a>),
    Other,
}

/// The members of a message, not validated.
#[derive(Default)]
struct MessageMembers<'a> {
    jsonrpc: Option<JsonPart<'a>>,
    id: Option<JsonPart<'a>>,
    method: Option<JsonPart<'a>>,
    params: Option<JsonPart<'a>>,
    result: Option<JsonPart<'a>>,
    error: Option<JsonPart<'a>>,
    /// A duplicate member.
    duplicate: Option<MemberName>,
}

/// The members of a message that have a meaning.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MemberName {
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
}

impl MemberName {
    const ALL: [Self; 6] = [Self::Jsonrpc, Self::Id, Self::Method, Self::Params, Self::Result, Self::Error];

    fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|member| member.as_str() == name)
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Jsonrpc => "jsonrpc",
            Self::Id => "id",
            Self::Method => "method",
            Self::Params => "params",
            Self::Result => "result",
            Self::Error => "error",
        }
    }
}

impl<'a> TopLevel<'a> {
    /// Reads text that has passed the strict check.
    fn of(part: JsonPart<'a>, limits: ParseLimits) -> Self {
        if !part.get().starts_with('[') {
            return Self::Single(BatchEntry::of(part));
        }
        let mut entries = Vec::new();
        let mut count = 0;
        let Ok::<(), Infallible>(()) = part.visit_elements(|entry| {
            if count < limits.max_batch {
                entries.push(BatchEntry::of(entry));
            }
            count += 1;
            Ok(())
        });
        Self::Batch(entries, count)
    }
}

impl<'a> BatchEntry<'a> {
    fn of(part: JsonPart<'a>) -> Self {
        if !part.get().starts_with('{') {
            return Self::Other;
        }
        let mut envelope = MessageMembers::default();
        let Ok::<(), Infallible>(()) = part.visit_members(|name, value| {
            if let Some(member) = MemberName::find(&name) {
                envelope.put(member, value);
            }
            Ok(())
        });
        Self::Object(envelope)
    }

    fn check(self) -> Result<Message<'a>, MalformedMessage> {
        match self {
            Self::Object(envelope) => envelope.check(),
            Self::Other => Err(invalid_message("a message must be an object")),
        }
    }
}

impl<'a> MessageMembers<'a> {
    /// Keeps a member's value. A duplicate is only noted, so that the rest is still read.
    fn put(&mut self, member: MemberName, value: JsonPart<'a>) {
        let slot = match member {
            MemberName::Jsonrpc => &mut self.jsonrpc,
            MemberName::Id => &mut self.id,
            MemberName::Method => &mut self.method,
            MemberName::Params => &mut self.params,
            MemberName::Result => &mut self.result,
            MemberName::Error => &mut self.error,
        };
        // A duplicate id takes precedence: it must not be used in the answer.
        if slot.replace(value).is_some() && (self.duplicate.is_none() || member == MemberName::Id) {
            self.duplicate = Some(member);
        }
    }

    fn check(self) -> Result<Message<'a>, MalformedMessage> {
        let id = self.id.map(|id| Id::from_token(id.get()));
        let readable = match &id {
            Some(Ok(id)) if self.duplicate != Some(MemberName::Id) => Some(id.clone()),
            Some(Ok(_) | Err(_)) | None => None,
        };
        let bad = |shape, why: String| MalformedMessage {
            id: readable.clone(),
            error: ErrorObject::invalid_request(why),
            kind: shape,
        };
        if let Some(member) = self.duplicate {
            return Err(bad(MessageKind::Unknown, format!("duplicate member `{}`", member.as_str())));
        }
        if self.jsonrpc.and_then(string).as_deref() != Some("2.0") {
            return Err(bad(self.shape(), "`jsonrpc` must be \"2.0\"".to_owned()));
        }
        let Some(method) = self.method else { return self.response(id, bad) };
        if self.result.is_some() || self.error.is_some() {
            return Err(bad(
                MessageKind::Unknown,
                "a message with `method` can't have `result` or `error`".to_owned(),
            ));
        }
        let id = id.transpose().map_err(|error| bad(MessageKind::Request, error.to_string()))?;
        let shape = if id.is_some() { MessageKind::Request } else { MessageKind::Notification };
        let Some(method) = string(method) else {
            return Err(bad(MessageKind::Unknown, "`method` must be a string".to_owned()));
        };
        let params = self.params.filter(|params| params.get() != "null");
        if params.is_some_and(|params| !params.get().starts_with(['{', '['])) {
            return Err(bad(shape, "`params` must be an object".to_owned()));
        }
        Ok(match id {
            Some(id) => Message::Request(Request { id, method, params }),
            None => Message::Notification(Notification { method, params }),
        })
    }

    fn response(
        &self,
        id: Option<Result<Id, IdError>>,
        bad: impl Fn(MessageKind, String) -> MalformedMessage,
    ) -> Result<Message<'a>, MalformedMessage> {
        let outcome = match (self.result, self.error) {
            (Some(result), None) => Ok(result),
            (None, Some(error)) => Err(error_object(error).map_err(|_| {
                bad(
                    MessageKind::Response,
                    "`error` must contain an integer `code` and a string `message`".to_owned(),
                )
            })?),
            (Some(_), Some(_)) => {
                let why = "a response must have either `result` or `error`, not both".to_owned();
                return Err(bad(MessageKind::Response, why));
            }
            (None, None) => return Err(bad(MessageKind::Unknown, "`method` is missing".to_owned())),
        };
        let id = match id {
            Some(Err(IdError::Null)) | None => None,
            Some(Ok(id)) => Some(id),
            Some(Err(error)) => return Err(bad(MessageKind::Response, error.to_string())),
        };
        Ok(Message::Response(Response { id, outcome }))
    }

    /// The probable kind of a message without a valid `jsonrpc`.
    fn shape(&self) -> MessageKind {
        match (self.method, self.id, self.result.or(self.error)) {
            (None, _, Some(_)) => MessageKind::Response,
            (Some(_), Some(_), None) => MessageKind::Request,
            (Some(_) | None, _, _) => MessageKind::Unknown,
        }
    }
}

/// Reads the `error` member of a response.
fn error_object(part: JsonPart<'_>) -> Result<ErrorObject, serde_json::Error> {
    #[derive(Deserialize)]
    struct Members {
        code: i32,
        message: String,
        #[serde(default)]
        data: Option<Json>,
    }
    let Members { code, message, data } = serde_json::from_str(part.get())?;
    Ok(ErrorObject { code, message, data })
}

/// Reads the top level: one value, or an array of them.
struct TopLevelSeed {
    limits: ParseLimits,
}

/// Reads one value in the position of a message.
struct MessageSeed;

/// Reads a member's name.
struct MemberNameSeed;

impl<'a> DeserializeSeed<'a> for TopLevelSeed {
    type Value = TopLevel<'a>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<TopLevel<'a>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'a> DeserializeSeed<'a> for MessageSeed {
    type Value = BatchEntry<'a>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<BatchEntry<'a>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Values that aren't messages.
macro_rules! scalars {
    ($other:expr) => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON value")
        }

        fn visit_bool<E: de::Error>(self, _: bool) -> Result<Self::Value, E> {
            Ok($other)
        }

        fn visit_i64<E: de::Error>(self, _: i64) -> Result<Self::Value, E> {
            Ok($other)
        }

        fn visit_u64<E: de::Error>(self, _: u64) -> Result<Self::Value, E> {
            Ok($other)
        }

        fn visit_f64<E: de::Error>(self, _: f64) -> Result<Self::Value, E> {
            Ok($other)
        }

        fn visit_str<E: de::Error>(self, _: &str) -> Result<Self::Value, E> {
            Ok($other)
        }

        fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok($other)
        }
    };
}

impl<'a> Visitor<'a> for TopLevelSeed {
    type Value = TopLevel<'a>;

    scalars!(TopLevel::Single(BatchEntry::Other));

    fn visit_map<A: MapAccess<'a>>(self, members: A) -> Result<TopLevel<'a>, A::Error> {
        MessageSeed.visit_map(members).map(TopLevel::Single)
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut items: A) -> Result<TopLevel<'a>, A::Error> {
        let mut entries = Vec::new();
        let mut count = 0;
        while count < self.limits.max_batch {
            let Some(entry) = items.next_element_seed(MessageSeed)? else {
                return Ok(TopLevel::Batch(entries, count));
            };
            entries.push(entry);
            count += 1;
        }
        while items.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(TopLevel::Batch(entries, count))
    }
}

impl<'a> Visitor<'a> for MessageSeed {
    type Value = BatchEntry<'a>;

    scalars!(BatchEntry::Other);

    fn visit_seq<A: SeqAccess<'a>>(self, mut items: A) -> Result<BatchEntry<'a>, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(BatchEntry::Other)
    }

    fn visit_map<A: MapAccess<'a>>(self, mut members: A) -> Result<BatchEntry<'a>, A::Error> {
        let mut envelope = MessageMembers::default();
        while let Some(member) = members.next_key_seed(MemberNameSeed)? {
            let value = members.next_value::<&'a RawValue>()?;
            if let Some(member) = member {
                envelope.put(member, value.into());
            }
        }
        Ok(BatchEntry::Object(envelope))
    }
}

impl<'a> DeserializeSeed<'a> for MemberNameSeed {
    type Value = Option<MemberName>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for MemberNameSeed {
    type Value = Option<MemberName>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member's name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(MemberName::find(name))
    }
}
