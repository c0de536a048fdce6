//! A client that survives lost connections. It continues streams with `Last-Event-ID`, and reports every event once.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use moongate_tests::{envelope, initialize_params, request};
use serde_json::{Value, json};

/// The time without any byte after which a connection counts as lost, in tests that kill or stop gateways. Streams have
/// a comment every second.
pub(super) const SILENCE: Duration = Duration::from_secs(6);

/// The same in other tests. It is longer, because the machine can be busy.
const LONG_SILENCE: Duration = Duration::from_secs(60);

/// The number of comments on a stream, one a second, after which its call should have ended even if its gateway is lost.
const MAX_COMMENTS: u32 = 60;

/// The statuses of requests that can be repeated: the load balancer found no gateway, lost it, or the gateway has no store.
const RETRIED: [u16; 3] = [502, 503, 504];

/// The connection broke, or nothing arrived in time.
#[derive(Debug)]
pub(super) struct Lost;

impl From<std::io::Error> for Lost {
    fn from(_: std::io::Error) -> Self {
        Self
    }
}

/// A response whose body is read as it arrives.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    headers: Vec<(String, String)>,
    reader: BufReader<TcpStream>,
    /// The part of an event stream that was read but not parsed yet.
    text: String,
}

/// An event: its id, and its message. The first event of a stream has no message.
pub(super) type ReceivedEvent = (Option<String>, Option<Value>);

impl Response {
    /// Sends a request and waits for the head of its response.
    pub(super) fn to(
        address: SocketAddr,
        verb: &str,
        headers: &[(&str, &str)],
        body: &str,
        silence: Duration,
    ) -> Result<Self, Lost> {
        let mut head = format!("{verb} /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(silence))?;
        stream.write_all(head.as_bytes())?;
        let mut reader = BufReader::new(stream);
        let mut line = || {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 { Err(Lost) } else { Ok(line.trim_end().to_owned()) }
        };
        let status = line()?.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or(Lost)?;
        let mut headers = Vec::new();
        while let Some((name, value)) = line()?.split_once(':') {
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        Ok(Self { status, headers, reader, text: String::new() })
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    fn is_stream(&self) -> bool {
        self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"))
    }

    /// The whole body.
    pub(super) fn body(mut self) -> Result<String, Lost> {
        if let Some(length) = self.header("content-length") {
            let mut body = vec![0; length.parse().map_err(|_| Lost)?];
            self.reader.read_exact(&mut body)?;
            return String::from_utf8(body).map_err(|_| Lost);
        }
        if self.header("transfer-encoding").is_some() {
            while self.fill()? {}
        }
        Ok(self.text)
    }

    /// The next event. `None` means that the stream has ended properly.
    pub(super) fn event(&mut self) -> Result<Option<ReceivedEvent>, Lost> {
        loop {
            let Some(end) = self.text.find("\n\n") else {
                if self.fill()? {
                    continue;
                }
                return Ok(None);
            };
            let rest = self.text.split_off(end + 2);
            let event = std::mem::replace(&mut self.text, rest);
            let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
            let data = field("data:").filter(|data| !data.is_empty());
            let message = data
                .map(|data| serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {event}")));
            return Ok(Some((field("id:").map(str::to_owned), message)));
        }
    }

    /// Reads a chunk. Returns false if it was the last one.
    fn fill(&mut self) -> Result<bool, Lost> {
        let mut size = String::new();
        self.reader.read_line(&mut size)?;
        let size = usize::from_str_radix(size.trim(), 16).map_err(|_| Lost)?;
        let mut chunk = vec![0; size + 2];
        self.reader.read_exact(&mut chunk)?;
        chunk.truncate(size);
        self.text += std::str::from_utf8(&chunk).map_err(|_| Lost)?;
        Ok(size > 0)
    }
}

/// The reason that it is unknown whether a call was made.
#[derive(Debug)]
#[expect(dead_code, reason = "panics show it")]
pub(super) enum UnknownOutcome {
    /// The load balancer or a gateway returned this status.
    Refused(u16),
    /// The connection broke, or nothing arrived in time.
    Lost,
}

impl From<Lost> for UnknownOutcome {
    fn from(Lost: Lost) -> Self {
        Self::Lost
    }
}

/// Calls a tool like a client of 2026-07-28, and returns the response.
pub(super) fn call_stateless(address: SocketAddr, params: Value) -> Result<Value, UnknownOutcome> {
    call_stateless_within(address, params, LONG_SILENCE)
}

/// Calls a tool; the connection counts as lost after this time without any byte.
pub(super) fn call_stateless_within(
    address: SocketAddr,
    params: Value,
    silence: Duration,
) -> Result<Value, UnknownOutcome> {
    let mut params = params;
    params["_meta"] = envelope();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({ "elicitation": { "form": {} } });
    let name = params["name"].as_str().expect("a tool").to_owned();
    let headers = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", &name),
    ];
    let mut response =
        Response::to(address, "POST", &headers, &request(1, "tools/call", params).to_string(), silence)?;
    if RETRIED.contains(&response.status) {
        return Err(UnknownOutcome::Refused(response.status));
    }
    assert_eq!(response.status, 200, "{response:?}");
    if !response.is_stream() {
        return Ok(serde_json::from_str(&response.body()?).expect("a message"));
    }
    while let Some((_, message)) = response.event()? {
        if let Some(message) = message.filter(|message| message["id"] == 1) {
            return Ok(message);
        }
    }
    Err(UnknownOutcome::Lost)
}

/// A session of 2025-11-25.
#[derive(Debug)]
pub(super) struct Session {
    address: Cell<SocketAddr>,
    /// The time without any byte after which a connection counts as lost.
    silence: Duration,
    id: String,
    /// The ids of all events so far.
    events: HashSet<String>,
    requests: u64,
    /// The answers that no gateway has accepted yet.
    unsent_answers: RefCell<Vec<String>>,
}

/// The end of a call in a session.
#[derive(Debug)]
pub(super) enum CallEnd {
    /// The response.
    Response(Value),
    /// It is unknown whether the call was made.
    Unknown(#[expect(dead_code, reason = "panics show it")] UnknownOutcome),
    /// The session has ended.
    SessionEnded,
}

impl Session {
    /// Opens a session. Repeats it until a gateway can.
    pub(super) fn open(address: SocketAddr) -> Self {
        Self::open_within(address, LONG_SILENCE)
    }

    /// Opens a session whose connections count as lost after this time without any byte.
    pub(super) fn open_within(address: SocketAddr, silence: Duration) -> Self {
        let mut params = initialize_params("2025-11-25");
        params["capabilities"]["elicitation"] = json!({});
        let body = request(1, "initialize", params).to_string();
        loop {
            let Ok(response) = Response::to(address, "POST", &Self::headers(None), &body, silence) else {
                continue;
            };
            if RETRIED.contains(&response.status) {
                continue;
            }
            let id = response.header("mcp-session-id").unwrap_or_else(|| panic!("no session: {response:?}"));
            let session = Self {
                address: Cell::new(address),
                silence,
                id: id.to_owned(),
                events: HashSet::new(),
                requests: 1,
                unsent_answers: RefCell::default(),
            };
            let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            if session.deliver(&initialized) {
                return session;
            }
        }
    }

    /// Sends further requests to this address.
    pub(super) fn move_to(&self, address: SocketAddr) {
        self.address.set(address);
    }

    fn headers(session: Option<&str>) -> Vec<(&str, &str)> {
        let mut headers =
            vec![("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
        headers.extend(session.map(|id| ("Mcp-Session-Id", id)));
        headers
    }

    fn send(&self, verb: &str, after: Option<&str>, body: &str) -> Result<Response, Lost> {
        let mut headers = Self::headers(Some(&self.id));
        headers.extend(after.map(|id| ("Last-Event-ID", id)));
        if verb == "GET" {
            headers.retain(|(name, _)| *name != "Content-Type");
        }
        Response::to(self.address.get(), verb, &headers, body, self.silence)
    }

    /// Posts a message that has no response, until a gateway has accepted it. False if the session has ended.
    pub(super) fn deliver(&self, message: &Value) -> bool {
        loop {
            match self.send("POST", None, &message.to_string()) {
                Ok(response) if response.status == 202 => return true,
                Ok(response) if response.status == 404 => return false,
                Ok(response) if RETRIED.contains(&response.status) => {}
                Ok(response) => panic!("{response:?} to {message}"),
                Err(Lost) => {}
            }
            moongate_tests::pause_between_polls();
        }
    }

    /// Answers a question. If no gateway accepts the answer now, it is sent again while the call runs: the call's
    /// gateway can be lost, and the gateway or the store can be unavailable for a while.
    pub(super) fn answer(&self, question: &Value, result: &Value) {
        let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": result });
        self.unsent_answers.borrow_mut().push(answer.to_string());
        self.send_answers();
    }

    /// Sends each answer that no gateway has accepted yet.
    fn send_answers(&self) {
        self.unsent_answers.borrow_mut().retain(|answer| match self.send("POST", None, answer) {
            Ok(response) if matches!(response.status, 202 | 404) => false,
            Ok(response) => {
                assert!(RETRIED.contains(&response.status), "{response:?} to {answer}");
                true
            }
            Err(Lost) => true,
        });
    }

    /// Makes a request, and reads its events to the response, across as many connections as necessary. `handle` gets each
    /// message before the response.
    pub(super) fn request(
        &mut self,
        method: &str,
        mut params: Value,
        mut handle: impl FnMut(&Self, &Value),
    ) -> CallEnd {
        self.requests += 1;
        self.unsent_answers.get_mut().clear();
        let id = self.requests;
        params["_meta"] = json!({ "progressToken": id });
        let body = request(id, method, params).to_string();
        let mut response = self.send("POST", None, &body);
        let mut last = None;
        loop {
            match response {
                Ok(response) if response.status == 404 => return CallEnd::SessionEnded,
                Ok(response) if RETRIED.contains(&response.status) && last.is_none() => {
                    return CallEnd::Unknown(UnknownOutcome::Refused(response.status));
                }
                Ok(response) if RETRIED.contains(&response.status) => {}
                // The lost gateway hadn't stored the stream yet.
                Ok(response) if response.status == 400 && last.is_some() => {
                    return CallEnd::Unknown(UnknownOutcome::Refused(response.status));
                }
                Ok(response) if response.status == 200 && !response.is_stream() => {
                    return match response.body() {
                        Ok(body) => CallEnd::Response(serde_json::from_str(&body).expect("a message")),
                        Err(lost) => CallEnd::Unknown(lost.into()),
                    };
                }
                Ok(response) => {
                    assert_eq!(response.status, 200, "{response:?} after {last:?} of {body}");
                    if let Some(answer) = self.follow(response, id, &mut last, &mut handle) {
                        return CallEnd::Response(answer);
                    }
                }
                Err(Lost) => {}
            }
            if last.is_none() {
                return CallEnd::Unknown(UnknownOutcome::Lost);
            }
            moongate_tests::pause_between_polls();
            response = self.send("GET", last.as_deref(), "");
        }
    }

    /// Reads a stream to the response or to its end.
    fn follow(
        &mut self,
        mut response: Response,
        id: u64,
        last: &mut Option<String>,
        handle: &mut impl FnMut(&Self, &Value),
    ) -> Option<Value> {
        let mut comments = 0;
        while let Ok(Some(event)) = response.event() {
            let Some(message) = self.note_event(event, last) else {
                comments += 1;
                assert!(comments < MAX_COMMENTS, "the stream of request {id} doesn't end");
                self.send_answers();
                continue;
            };
            if message["id"] == id && message.get("method").is_none() {
                return Some(message);
            }
            handle(self, &message);
        }
        None
    }

    /// Remembers the position in a stream; returns the message.
    fn note_event(&mut self, (id, message): ReceivedEvent, last: &mut Option<String>) -> Option<Value> {
        if let Some(id) = id {
            assert!(message.is_none() || self.events.insert(id.clone()), "event {id} arrived twice");
            *last = Some(id);
        }
        message
    }

    /// Reads notifications from one connection, after the event with this id, until it ends or `handle` returns false.
    /// `handle` gets `None` about once a second. False if the session has ended.
    pub(super) fn listen(
        &mut self,
        last: &mut Option<String>,
        mut handle: impl FnMut(Option<&Value>) -> bool,
    ) -> bool {
        let Ok(mut response) = self.send("GET", last.as_deref(), "") else { return true };
        match response.status {
            404 => return false,
            status if RETRIED.contains(&status) => return true,
            status => assert_eq!(status, 200, "{response:?}"),
        }
        while let Ok(Some(event)) = response.event() {
            let message = self.note_event(event, last);
            if !handle(message.as_ref()) {
                break;
            }
        }
        true
    }
}
