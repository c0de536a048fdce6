//! A server-sent event stream that a test reads as it arrives.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

use super::{Http, Reply, WAIT_TIMEOUT, parse};
use crate::schema_validator::{SchemaValidator, SentRequest};

/// A server-sent event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// The event id, if any.
    pub id: Option<String>,
    /// The reconnection delay in milliseconds.
    pub retry: Option<u64>,
    /// The event name.
    pub name: String,
    /// The data.
    pub data: String,
    /// True if the event was only a comment.
    pub is_comment: bool,
}

/// An open event stream. Dropping it closes the connection.
#[derive(Debug)]
pub struct EventStream {
    /// The status and headers; the body is empty.
    pub reply: Reply,
    reader: BufReader<TcpStream>,
    /// The part of the body that was read but not parsed yet.
    text: Vec<u8>,
    validator: Arc<SchemaValidator>,
    sent: SentRequest,
}

impl Http {
    /// Sends a request to the endpoint and returns once the response head has arrived. Check the head first: the
    /// response can be something other than a stream.
    #[must_use]
    #[track_caller]
    pub fn open(&self, verb: &str, headers: &[(&str, &str)], body: &[u8]) -> EventStream {
        self.open_at(verb, "/mcp", headers, body)
    }

    /// Like [`Http::open`], at another path.
    #[must_use]
    #[track_caller]
    pub fn open_at(&self, verb: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> EventStream {
        let mut head = format!("{verb} {path} HTTP/1.1\r\nHost: {}\r\n", self.address);
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        let mut connection = TcpStream::connect(self.address).expect("the gateway listens");
        connection.set_read_timeout(Some(WAIT_TIMEOUT)).expect("a timeout");
        connection.write_all(&[head.as_bytes(), body].concat()).expect("the gateway reads");
        let sent = self.validator.record_request(path, headers, body);
        let mut reader = BufReader::new(connection);
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            assert!(reader.read_until(b'\n', &mut head).expect("a response") > 0, "the connection closed");
        }
        let reply = parse(&head);
        EventStream { reply, reader, text: Vec::new(), validator: Arc::clone(&self.validator), sent }
    }
}

impl EventStream {
    /// The next event. `None` means the stream has ended.
    ///
    /// # Panics
    /// If no event arrives in time, or it is malformed.
    #[track_caller]
    pub fn event(&mut self) -> Option<Event> {
        let end = loop {
            match self.text.windows(2).position(|pair| pair == b"\n\n") {
                Some(end) => break end,
                None if self.fill() => {}
                None => {
                    assert!(self.text.is_empty(), "incomplete event: {:?}", self.text);
                    return None;
                }
            }
        };
        let rest = self.text.split_off(end + 2);
        let text = String::from_utf8(std::mem::replace(&mut self.text, rest)).expect("events are UTF-8");
        let mut event = Event { is_comment: true, ..Event::default() };
        for line in text.lines().filter(|line| !line.is_empty()) {
            let (field, value) = line.split_once(':').unwrap_or_else(|| panic!("not a field: {line:?}"));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "" => continue,
                "id" => event.id = Some(value.to_owned()),
                "retry" => event.retry = value.parse().ok(),
                "data" => event.data.push_str(value),
                "event" => value.clone_into(&mut event.name),
                other => panic!("unknown event field `{other}`: {text:?}"),
            }
            event.is_comment = false;
        }
        if let ("endpoint", Some((_, session))) = (event.name.as_str(), event.data.split_once("sessionId=")) {
            self.sent.assign_session(session);
        }
        if let Ok(message) = serde_json::from_str(&event.data)
            && event.id.as_ref().is_none_or(|id| self.validator.is_first_delivery(id))
        {
            self.validator.validate(&self.sent, &message);
        }
        Some(event)
    }

    /// The next message, skipping events without data. `None` means the stream has ended.
    ///
    /// # Panics
    /// If no message arrives in time, or the data isn't valid JSON.
    #[track_caller]
    pub fn message(&mut self) -> Option<Value> {
        let started = Instant::now();
        loop {
            assert!(started.elapsed() < WAIT_TIMEOUT, "no message on an open stream");
            let event = self.event()?;
            if !event.data.is_empty() {
                return Some(
                    serde_json::from_str(&event.data).unwrap_or_else(|_| panic!("not JSON: {event:?}")),
                );
            }
        }
    }

    /// Reads a chunk. Returns false if it was the last one.
    fn fill(&mut self) -> bool {
        let mut size = String::new();
        if self.reader.read_line(&mut size).expect("a chunk") == 0 {
            return false;
        }
        let size = usize::from_str_radix(size.trim(), 16).expect("a chunk starts with its size");
        let mut chunk = vec![0; size + 2];
        self.reader.read_exact(&mut chunk).expect("a whole chunk");
        chunk.truncate(size);
        self.text.extend(chunk);
        size > 0
    }
}
