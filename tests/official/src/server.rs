//! An MCP server process on stdio. Requests are sent one at a time, and notifications are kept.

use std::fmt;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

/// The protocol revision: the latest one with a handshake.
const REVISION: &str = "2025-11-25";

/// The maximum time for an answer or a notification.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// The time for a server to end after its stdin is closed.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// A running server.
pub(crate) struct Server {
    name: &'static str,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    log: PathBuf,
    last_id: u64,
    notifications: Vec<Value>,
    answers: Vec<(&'static str, Value)>,
}

/// The capabilities and answers of the client.
#[derive(Debug, Clone)]
pub(crate) struct ClientRole {
    /// The declared capabilities.
    pub(crate) capabilities: Value,
    /// The answers to the server's requests, by method.
    pub(crate) answers: Vec<(&'static str, Value)>,
}

impl Default for ClientRole {
    /// A client without capabilities.
    fn default() -> Self {
        Self { capabilities: json!({}), answers: Vec::new() }
    }
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// `result`.
    Result(Value),
    /// `error`.
    Error(Value),
}

impl Server {
    /// Starts a server and performs the handshake. The server's stderr goes to a file in `directory`.
    ///
    /// # Errors
    /// The server can't be started, or doesn't answer.
    pub(crate) fn start(
        name: &'static str,
        mut command: Command,
        directory: &Path,
        client: ClientRole,
    ) -> Result<Self> {
        let log = directory.join(format!("{name}.log"));
        let stderr = File::create(&log).with_context(|| format!("can't write `{}`", log.display()))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
        let mut child = command.spawn().with_context(|| format!("can't start the {name} server"))?;
        let stdout = BufReader::new(child.stdout.take().context("stdout is piped")?);
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        let ClientRole { capabilities, answers } = client;
        let mut server =
            Self { name, child, stdin, lines, log, last_id: 0, notifications: Vec::new(), answers };
        let hello = json!({
            "protocolVersion": REVISION,
            "capabilities": capabilities,
            "clientInfo": { "name": "official", "version": "1" },
        });
        match server.request("initialize", &hello)? {
            Answer::Result(_) => server.notify("notifications/initialized")?,
            Answer::Error(error) => bail!("the {name} server rejects the handshake: {error}"),
        }
        Ok(server)
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// The server has ended, hangs, or sends a message that isn't JSON-RPC.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Result<Answer> {
        self.ask(method, params).with_context(|| {
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            let last = lines[lines.len().saturating_sub(20)..].join("\n");
            format!("`{method}` to the {} server failed; its last lines on stderr:\n{last}", self.name)
        })
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Answer> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let end = Instant::now() + ANSWER_TIMEOUT;
        loop {
            let mut message = self.next(end).context("no answer")?;
            if message["method"].is_string() {
                match message.get("id") {
                    Some(id) => self.answer(id, &message["method"])?,
                    None => self.notifications.push(message),
                }
                continue;
            }
            if message["id"] != json!(id) {
                bail!("an answer with an unknown id: {message}");
            }
            return Ok(match message.get("error") {
                Some(_) => Answer::Error(message["error"].take()),
                None => Answer::Result(message["result"].take()),
            });
        }
    }

    /// Answers a request of the server. Requests for capabilities that aren't declared need no answer.
    fn answer(&mut self, id: &Value, method: &Value) -> Result<()> {
        let Some((_, result)) = self.answers.iter().find(|(name, _)| method == name) else { return Ok(()) };
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }

    /// Sends a notification without parameters.
    fn notify(&mut self, method: &str) -> Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method }))
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let stdin = self.stdin.as_mut().context("stdin is piped")?;
        writeln!(stdin, "{message}")?;
        stdin.flush().context("the server has ended")
    }

    /// Receives the next message.
    fn next(&mut self, end: Instant) -> Result<Value> {
        let line = self.lines.recv_timeout(end.saturating_duration_since(Instant::now()))?;
        serde_json::from_str(&line).with_context(|| format!("invalid JSON: {line}"))
    }

    /// Waits for a notification, unless it was received before. Returns its parameters.
    ///
    /// # Errors
    /// The notification isn't received in time.
    pub(crate) fn wait_for_notification(&mut self, method: &str) -> Result<Value> {
        let end = Instant::now() + ANSWER_TIMEOUT;
        loop {
            if let Some(index) = self.notifications.iter().position(|received| received["method"] == method) {
                return Ok(self.notifications.remove(index)["params"].take());
            }
            let message =
                self.next(end).with_context(|| format!("no `{method}` from the {} server", self.name))?;
            self.notifications.push(message);
        }
    }
}

impl Drop for Server {
    /// Ends the server by closing its stdin, and kills it if that fails.
    fn drop(&mut self) {
        drop(self.stdin.take());
        let end = Instant::now() + SHUTDOWN_GRACE;
        while Instant::now() < end {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("name", &self.name).finish_non_exhaustive()
    }
}
