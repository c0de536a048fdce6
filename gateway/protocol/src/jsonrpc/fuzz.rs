//! Properties of the parser that hold for all input, as a plain function for the seeded tests and for fuzzers.

use crate::json::JsonPart;

use super::{
    Incoming, MalformedMessage, Message, MessageOutline, MessageScanner, MessageText, MissingId,
    Notification, ParseLimits, Request, Response, parse, write_error, write_notification, write_request,
    write_result,
};

/// Parses `bytes`. Accepted messages are written on one line and parse back to the same message. Scanning in two pieces
/// finds the same ids as scanning at once.
///
/// # Panics
/// The property is violated.
pub fn fuzz_one(bytes: &[u8]) {
    let limits = ParseLimits { max_batch: 8 };
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let mut scanner = MessageScanner::default();
    scanner.read(first);
    scanner.read(second);
    assert_eq!(scanner.finish(), MessageOutline::of(bytes), "pieces don't matter");
    match parse(&MessageText::new(bytes), limits) {
        Ok(Incoming::Single(message)) => round_trip(&message, limits),
        Ok(Incoming::Batch(entries)) => {
            let accepted = entries.iter().flatten().count();
            assert!(!entries.is_empty() && accepted <= limits.max_batch, "the batch's size was checked");
            for entry in &entries {
                match entry {
                    Ok(message) => round_trip(message, limits),
                    Err(malformed) => answer(malformed, limits),
                }
            }
        }
        Err(malformed) => answer(&malformed, limits),
    }
}

/// The message as bytes.
fn write(message: &Message<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    match message {
        Message::Request(Request { id, method, params }) => {
            write_request(&mut out, id, method, params.map(JsonPart::to_json).as_ref())
        }
        Message::Notification(Notification { method, params }) => {
            write_notification(&mut out, method, params.map(JsonPart::to_json).as_ref())
        }
        Message::Response(Response { id: Some(id), outcome: Ok(result) }) => {
            write_result(&mut out, id, &result.to_json())
        }
        // The gateway's own messages always have an id; the peer's might not.
        Message::Response(Response { id: None, outcome: Ok(result) }) => {
            let head = b"{\"jsonrpc\":\"2.0\",\"result\":";
            out = [head, result.get().replace(['\n', '\r'], " ").as_bytes(), b"}"].concat();
        }
        Message::Response(Response { id, outcome: Err(error) }) => {
            write_error(&mut out, id.as_ref(), MissingId::Omit, error);
        }
    }
    out
}

/// Writing and parsing returns the same message, and writing that returns the same bytes.
fn round_trip(message: &Message<'_>, limits: ParseLimits) {
    let first = write(message);
    assert!(!first.contains(&b'\n') && !first.contains(&b'\r'), "one line");
    let text = MessageText::new(&first);
    let Ok(Incoming::Single(again)) = parse(&text, limits) else {
        panic!("the written message can't be parsed")
    };
    same(message, &again);
    assert_eq!(first, write(&again), "the same bytes");
}

fn same(a: &Message<'_>, b: &Message<'_>) {
    let text = |part: Option<JsonPart<'_>>| part.map(|part| part.get().replace(['\n', '\r'], " "));
    match (a, b) {
        (Message::Request(a), Message::Request(b)) => {
            assert_eq!(a.id, b.id);
            assert_eq!(a.id.as_json(), b.id.as_json());
            assert_eq!(a.method, b.method);
            assert_eq!(text(a.params), text(b.params));
        }
        (Message::Notification(a), Message::Notification(b)) => {
            assert_eq!(a.method, b.method);
            assert_eq!(text(a.params), text(b.params));
        }
        (Message::Response(a), Message::Response(b)) => {
            assert_eq!(a.id, b.id);
            assert_eq!(
                a.outcome.as_ref().map(|part| text(Some(*part))),
                b.outcome.as_ref().map(|part| text(Some(*part)))
            );
        }
        (Message::Request(_) | Message::Notification(_) | Message::Response(_), _) => {
            panic!("another kind of message came back")
        }
    }
}

/// The answer to a malformed message is a valid message.
fn answer(malformed: &MalformedMessage, limits: ParseLimits) {
    let mut out = Vec::new();
    write_error(&mut out, malformed.id.as_ref(), MissingId::Null, &malformed.error);
    let text = MessageText::new(&out);
    let Ok(Incoming::Single(Message::Response(back))) = parse(&text, limits) else {
        panic!("our own error can't be parsed")
    };
    assert_eq!(back.id, malformed.id);
    assert_eq!(back.outcome.map(JsonPart::get), Err(malformed.error.clone()));
}
