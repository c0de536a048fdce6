//! A stdio client with the gateway as a child process, one JSON message per line. The process can also be `moongate
//! connect`, which forwards the messages to the Unix socket of a gateway.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio as Pipe};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;

use moongate_mcp_schema::Conversation;
use serde_json::{Value, json};

use crate::{WAIT_TIMEOUT, Workspace, initialize_params, request, send_signal, wait_for_exit};

/// A gateway that serves over stdio. Every line of its stdout must be a JSON-RPC message that matches the schema.
#[derive(Debug)]
pub struct Stdio {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Receives a value when all plugins are loaded.
    loaded: Receiver<()>,
    queued: VecDeque<Value>,
    log: thread::JoinHandle<String>,
    next_id: u64,
    conversation: Conversation,
    /// The part of a line that was sent without its newline.
    unfinished_line: Vec<u8>,
}

impl Stdio {
    /// Starts the gateway.
    ///
    /// # Panics
    /// If the process can't be started.
    #[must_use]
    pub fn start(workspace: &Workspace) -> Self {
        Self::start_with(workspace, &[])
    }

    /// Starts the gateway with more arguments after `serve --stdio`.
    ///
    /// # Panics
    /// If the process can't be started.
    #[must_use]
    pub fn start_with(workspace: &Workspace, arguments: &[&str]) -> Self {
        let mut command = workspace.command(&["serve", "--stdio"]);
        command.args(arguments);
        Self::spawn(command)
    }

    /// Starts the gateway with a code cache of its own.
    ///
    /// # Panics
    /// If the process can't be started.
    #[must_use]
    pub fn start_with_cache(workspace: &Workspace, cache: &Path) -> Self {
        let mut command = workspace.command(&["serve", "--stdio"]);
        command.env("MOONGATE_CACHE_DIR", cache);
        Self::spawn(command)
    }

    /// Starts the gateway with a stdio command, and waits until all plugins are loaded, or until it exits.
    fn spawn(command: Command) -> Self {
        let client = Self::spawn_loading(command);
        client.loaded.recv_timeout(WAIT_TIMEOUT).expect("the plugins are loaded, or the gateway exits");
        client
    }

    /// Starts the gateway with a stdio command. Plugins can still be loading.
    ///
    /// # Panics
    /// If the process can't be started.
    #[must_use]
    pub fn spawn_loading(mut command: Command) -> Self {
        command.stdin(Pipe::piped()).stdout(Pipe::piped()).stderr(Pipe::piped());
        let mut child = command.spawn().expect("the gateway starts");
        let stdin = child.stdin.take();
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let mut stderr = BufReader::new(child.stderr.take().expect("stderr is piped"));
        let (send, lines) = channel();
        thread::spawn(move || {
            let mut line = String::new();
            while stdout.read_line(&mut line).is_ok_and(|length| length > 0) {
                if send.send(std::mem::take(&mut line)).is_err() {
                    break;
                }
            }
        });
        let (loading, loaded) = channel();
        let log = thread::spawn(move || {
            let mut log = String::new();
            let mut at = 0;
            while stderr.read_line(&mut log).is_ok_and(|length| length > 0) {
                // The banner; its text is the message of a log line in JSON.
                let line = &log[at..];
                if line.starts_with("serving   ") || line.contains("\"serving ") {
                    let _ = loading.send(());
                }
                at = log.len();
            }
            let _ = loading.send(());
            log
        });
        Self {
            child,
            stdin,
            lines,
            loaded,
            queued: VecDeque::new(),
            log,
            next_id: 1,
            conversation: Conversation::new(),
            unfinished_line: Vec::new(),
        }
    }

    /// Starts the gateway and initializes a session of `revision`.
    #[must_use]
    pub fn initialized(workspace: &Workspace, revision: &str) -> Self {
        Self::spawn_initialized(workspace.command(&["serve", "--stdio"]), revision)
    }

    /// Starts the gateway with a stdio command and initializes a session of `revision`.
    #[must_use]
    pub fn spawn_initialized(command: Command, revision: &str) -> Self {
        let mut client = Self::spawn(command);
        client.initialize(revision);
        client
    }

    /// Connects to the Unix socket of a running gateway, such as `unix:mcp.sock`.
    #[must_use]
    pub fn connect(workspace: &Workspace, address: &str) -> Self {
        Self::spawn_loading(workspace.command(&["connect", address]))
    }

    /// Initializes a session of `revision`.
    #[track_caller]
    pub fn initialize(&mut self, revision: &str) {
        let answer = self.request_and_wait("initialize", initialize_params(revision));
        assert_eq!(answer["result"]["protocolVersion"], revision, "{answer}");
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    }

    /// The process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Value) {
        self.send_raw(format!("{message}\n").as_bytes());
    }

    /// Sends raw bytes.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        self.unfinished_line.extend_from_slice(bytes);
        if let Some(end) = self.unfinished_line.iter().rposition(|byte| *byte == b'\n') {
            let lines: Vec<u8> = self.unfinished_line.drain(..=end).collect();
            self.conversation.sent(&lines);
        }
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(bytes).and_then(|()| stdin.flush()).expect("the gateway reads");
    }

    /// The next message of any kind.
    #[track_caller]
    pub fn receive(&mut self) -> Value {
        match self.queued.pop_front() {
            Some(message) => message,
            None => self.read().expect("a message before stdout closes"),
        }
    }

    /// The messages received while waiting for others.
    pub fn take_queued(&mut self) -> Vec<Value> {
        self.queued.drain(..).collect()
    }

    /// The response to request `id`. Other messages are kept for later.
    #[track_caller]
    pub fn response(&mut self, id: u64) -> Value {
        if let Some(at) = self.queued.iter().position(|message| message["id"] == id) {
            return self.queued.remove(at).expect("the position was just found");
        }
        loop {
            let message = self.read().unwrap_or_else(|| panic!("stdout closed without a response to {id}"));
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.queued.push_back(message);
        }
    }

    /// Sends a request and waits for its response.
    #[track_caller]
    pub fn request_and_wait(&mut self, method: &str, params: Value) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&request(id, method, params));
        self.response(id)
    }

    /// Calls a tool in a session and waits for the response.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request_and_wait("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    #[track_caller]
    fn read(&mut self) -> Option<Value> {
        match self.lines.recv_timeout(WAIT_TIMEOUT) {
            Ok(line) => {
                let message: Value = serde_json::from_str(&line)
                    .unwrap_or_else(|error| panic!("invalid JSON on stdout: {line:?}: {error}"));
                let messages = message.as_array().cloned().unwrap_or_else(|| vec![message.clone()]);
                for each in &messages {
                    assert_eq!(each["jsonrpc"], "2.0", "invalid JSON-RPC on stdout: {line:?}");
                }
                if let Err(mismatch) = self.conversation.received(&message) {
                    panic!("{mismatch}");
                }
                Some(message)
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("no message within {WAIT_TIMEOUT:?}"),
        }
    }

    /// Sends SIGTERM and waits for the process to exit, with stdin still open.
    ///
    /// # Panics
    /// If the signal can't be sent.
    #[track_caller]
    pub fn terminate(self) -> (Vec<Value>, ExitStatus, String) {
        send_signal(self.pid(), "TERM");
        self.wait_for_exit()
    }

    /// Waits for the process to exit, with stdin still open; returns the remaining messages, the status and the log.
    #[track_caller]
    pub fn wait_for_exit(mut self) -> (Vec<Value>, ExitStatus, String) {
        let stdin = self.stdin.take();
        let ended = self.finish();
        drop(stdin);
        ended
    }

    /// Closes stdin and waits for the process to exit; returns the remaining messages, the status and the log.
    #[track_caller]
    pub fn finish(mut self) -> (Vec<Value>, ExitStatus, String) {
        drop(self.stdin.take());
        self.conversation.sent(&std::mem::take(&mut self.unfinished_line));
        let mut remaining: Vec<Value> = self.queued.drain(..).collect();
        while let Some(message) = self.read() {
            remaining.push(message);
        }
        let status = wait_for_exit(&mut self.child);
        let log = std::mem::replace(&mut self.log, thread::spawn(String::new));
        (remaining, status, log.join().expect("the log was read"))
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
