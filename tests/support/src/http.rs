//! An HTTP client with the gateway as a child process. It writes requests byte by byte, so that tests can send
//! requests that no HTTP library would send.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio as Pipe};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use crate::schema_validator::SchemaValidator;
use crate::{
    WAIT_TIMEOUT, Workspace, initialize_params, pause_between_polls, request, send_signal, stateless_request,
    wait_for_exit,
};

mod admin;
#[cfg(unix)]
mod balancer;
mod stream;

pub use admin::Admin;
#[cfg(unix)]
pub use balancer::fixed_address;
pub use stream::{Event, EventStream};

/// The part of the log line that names the endpoint while plugins are being loaded.
const SERVING_WHILE_LOADING: &str = "while plugins are being loaded";

/// A gateway that serves over HTTP. All its messages are validated against the schema of their revision.
#[derive(Debug)]
pub struct Http {
    child: Child,
    address: SocketAddr,
    log: Arc<Mutex<String>>,
    reader: Option<thread::JoinHandle<()>>,
    validator: Arc<SchemaValidator>,
}

/// An HTTP response.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status code.
    pub status: u16,
    /// The headers, with lower-case names.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl Reply {
    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// If the body isn't valid JSON.
    #[must_use]
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The JSON-RPC messages of the body, or of each event's data.
    ///
    /// # Panics
    /// If the body or an event isn't valid JSON.
    #[must_use]
    #[track_caller]
    pub fn messages(&self) -> Vec<Value> {
        let read = |text: &str| {
            serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text:?} in {self:?}"))
        };
        if self.body.is_empty() {
            return Vec::new();
        }
        match self.header("content-type").map(|kind| kind.split(';').next().unwrap_or_default()) {
            Some("application/json") => vec![read(&self.body)],
            Some("text/event-stream") => {
                let data = self.body.lines().filter_map(|line| line.strip_prefix("data:"));
                data.map(str::trim).filter(|data| !data.is_empty()).map(read).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl Http {
    /// Starts the gateway and waits until it logs its endpoint.
    ///
    /// # Panics
    /// If the gateway exits before it listens.
    #[must_use]
    pub fn start(workspace: &Workspace) -> Self {
        Self::spawn(workspace.command(&["serve"]))
    }

    /// Starts another gateway that serves the same sessions, so both are validated together.
    ///
    /// # Panics
    /// If the gateway exits before it listens.
    #[must_use]
    pub fn start_replica(&self, workspace: &Workspace) -> Self {
        let mut replica = Self::start(workspace);
        replica.validator = Arc::clone(&self.validator);
        replica
    }

    /// Starts the gateway with a code cache of its own.
    ///
    /// # Panics
    /// If the gateway exits before it listens.
    #[must_use]
    pub fn start_with_cache(workspace: &Workspace, cache: &Path) -> Self {
        let mut command = workspace.command(&["serve"]);
        command.env("MOONGATE_CACHE_DIR", cache);
        Self::spawn(command)
    }

    /// Starts the gateway with a command that serves over HTTP, and waits until all plugins are loaded.
    ///
    /// # Panics
    /// If the gateway exits before it listens.
    #[must_use]
    pub fn spawn(command: Command) -> Self {
        Self::spawn_until(command, |line| !line.contains(SERVING_WHILE_LOADING))
    }

    /// Starts the gateway with a command that serves over HTTP, and waits until it listens. Plugins can still be
    /// loading.
    ///
    /// # Panics
    /// If the gateway exits before it listens.
    #[must_use]
    pub fn spawn_loading(command: Command) -> Self {
        Self::spawn_until(command, |_| true)
    }

    fn spawn_until(mut command: Command, is_started: impl Fn(&str) -> bool) -> Self {
        command.stdin(Pipe::null()).stdout(Pipe::null()).stderr(Pipe::piped());
        let mut child = command.spawn().expect("the gateway starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("stderr is piped"));
        let mut seen = String::new();
        let address = loop {
            let mut line = String::new();
            let length = stderr.read_line(&mut line).expect("stderr is text");
            seen.push_str(&line);
            assert!(length > 0, "the gateway exited: {seen}");
            // The log can name other listeners first.
            if is_started(&line)
                && let Some(end) = line.find("/mcp")
                && let Some(at) = line[..end].rfind("://")
                && line[..at].ends_with("http") | line[..at].ends_with("https")
            {
                break line[at + "://".len()..end].parse().expect("an address");
            }
        };
        let log = Arc::new(Mutex::new(seen));
        let shared_log = Arc::clone(&log);
        let reader = thread::spawn(move || {
            let mut line = String::new();
            while stderr.read_line(&mut line).is_ok_and(|length| length > 0) {
                shared_log
                    .lock()
                    .expect("no test panics while it holds this")
                    .push_str(&std::mem::take(&mut line));
            }
        });
        Self { child, address, log, reader: Some(reader), validator: Arc::default() }
    }

    /// The endpoint's address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The log so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.log.lock().expect("no test panics while it holds this").clone()
    }

    /// Waits until the log contains `text`.
    ///
    /// # Panics
    /// If the log doesn't contain `text` in time.
    #[track_caller]
    pub fn wait_for_log(&self, text: &str) {
        let started = Instant::now();
        while !self.log().contains(text) {
            assert!(started.elapsed() < WAIT_TIMEOUT, "not logged: `{text}`: {}", self.log());
            pause_between_polls();
        }
    }

    /// Sends a request on a new connection.
    #[must_use]
    #[track_caller]
    pub fn send(&self, verb: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let mut head = format!("{verb} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            let _ = write!(head, "Host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        let has = |name: &str| headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
        let is_chunked = has("transfer-encoding");
        if !(is_chunked || has("content-length")) && (!body.is_empty() || verb == "POST") {
            let _ = write!(head, "Content-Length: {}\r\n", body.len());
        }
        head.push_str("\r\n");
        let mut stream = TcpStream::connect(self.address).expect("the gateway listens");
        stream.set_read_timeout(Some(WAIT_TIMEOUT)).expect("a timeout");
        stream.write_all(head.as_bytes()).expect("the gateway reads");
        if has("expect") {
            let mut interim = [0; 25];
            stream.read_exact(&mut interim).expect("a 100 response");
            assert_eq!(interim, *b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        // The gateway can reject the head and close the connection before it reads the body.
        let _ = stream.write_all(body);
        let mut answer = Vec::new();
        let sent = if is_chunked { join_chunks(body) } else { body.to_vec() };
        let sent_request = self.validator.record_request(path, headers, &sent);
        stream.read_to_end(&mut answer).expect("a response");
        let reply = parse(&answer);
        self.validator.validate_reply(&sent_request, &reply);
        reply
    }

    /// Posts a message to the endpoint, like a client of the handshake revisions.
    #[must_use]
    #[track_caller]
    pub fn post(&self, headers: &[(&str, &str)], message: &Value) -> Reply {
        let mut all =
            vec![("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
        all.extend_from_slice(headers);
        self.send("POST", "/mcp", &all, message.to_string().as_bytes())
    }

    /// Opens a session and returns its id.
    #[must_use]
    #[track_caller]
    pub fn open_session(&self, headers: &[(&str, &str)], revision: &str) -> String {
        let reply = self.post(headers, &request(1, "initialize", initialize_params(revision)));
        assert_eq!(reply.json()["result"]["protocolVersion"], revision, "{reply:?}");
        reply.header("mcp-session-id").expect("a session").to_owned()
    }

    /// Sends a 2026-07-28 request with the matching headers.
    #[must_use]
    #[track_caller]
    pub fn request_and_wait(&self, method: &str, params: Value) -> Reply {
        let name = params.get("name").or(params.get("uri")).and_then(Value::as_str).map(str::to_owned);
        let mut headers = vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
        if let Some(name) = &name {
            headers.push(("Mcp-Name", name));
        }
        self.post(&headers, &stateless_request(1, method, params))
    }

    /// Calls a tool like a client of 2026-07-28.
    #[must_use]
    #[track_caller]
    pub fn call(&self, tool: &str, arguments: Value) -> Value {
        self.request_and_wait("tools/call", json!({ "name": tool, "arguments": arguments })).json()
    }

    /// Sends such a call and returns the connection without reading the response.
    ///
    /// # Panics
    /// If the connection is refused.
    #[must_use]
    #[track_caller]
    pub fn start_call(&self, tool: &str, arguments: Value) -> TcpStream {
        self.start_call_with(&[], tool, arguments)
    }

    /// Like [`Http::start_call`], with more headers.
    ///
    /// # Panics
    /// If the connection is refused.
    #[must_use]
    #[track_caller]
    pub fn start_call_with(&self, headers: &[(&str, &str)], tool: &str, arguments: Value) -> TcpStream {
        let mut more = String::new();
        for (name, value) in headers {
            let _ = write!(more, "{name}: {value}\r\n");
        }
        let params = json!({ "name": tool, "arguments": arguments });
        let body = stateless_request(1, "tools/call", params).to_string();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n{more}Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        let mut stream = TcpStream::connect(self.address).expect("the gateway listens");
        stream.write_all(head.as_bytes()).expect("the gateway reads");
        stream
    }

    /// Sends SIGTERM and waits for the process to exit.
    ///
    /// # Panics
    /// If the signal can't be sent.
    #[must_use]
    pub fn terminate(self) -> (ExitStatus, String) {
        send_signal(self.pid(), "TERM");
        self.wait_for_exit()
    }

    /// Waits for the process to exit; returns its status and log.
    ///
    /// # Panics
    /// If it doesn't exit in time.
    #[must_use]
    pub fn wait_for_exit(mut self) -> (ExitStatus, String) {
        let status = wait_for_exit(&mut self.child);
        if let Some(reader) = self.reader.take() {
            reader.join().expect("the log was read");
        }
        (status, self.log())
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[track_caller]
pub(crate) fn parse(answer: &[u8]) -> Reply {
    let text = String::from_utf8_lossy(answer);
    let (head, body) =
        text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("not an HTTP response: {text:?}"));
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|status| status.parse().ok());
    let headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let mut reply = Reply {
        status: status.unwrap_or_else(|| panic!("no status: {head}")),
        headers,
        body: body.to_owned(),
    };
    if reply.header("transfer-encoding") == Some("chunked") {
        reply.body = String::from_utf8(join_chunks(body.as_bytes())).expect("messages are UTF-8");
    }
    reply
}

/// Joins the chunks of a body.
fn join_chunks(mut chunked: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = chunked.windows(2).position(|pair| pair == b"\r\n") {
        let size =
            std::str::from_utf8(&chunked[..end]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let size = size.expect("a chunk starts with its size");
        let rest = &chunked[end + 2..];
        body.extend_from_slice(&rest[..size]);
        chunked = &rest[size..];
        chunked = chunked.strip_prefix(b"\r\n").unwrap_or(chunked);
        if size == 0 {
            break;
        }
    }
    body
}
