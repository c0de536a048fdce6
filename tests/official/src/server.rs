//! A process that speaks MCP over stdio, asked by us: one request at a time, whatever it says besides is kept.

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

/// The revision that is spoken: the latest one that begins with a handshake.
const REVISION: &str = "2025-11-25";

/// A request that isn't answered after this hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// How long a server may take to end once its stdin is closed.
const GRACE: Duration = Duration::from_secs(5);

/// One of the two.
pub(crate) struct Server {
    name: &'static str,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    log: PathBuf,
    last_id: u64,
    notifications: Vec<Value>,
}

/// What a request is answered with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// `result`.
    Result(Value),
    /// `error`.
    Error(Value),
}

impl Server {
    /// Starts a server and shakes hands with it. What it prints on stderr goes into a file of `folder`.
    ///
    /// # Errors
    /// It can't be started, or doesn't answer.
    pub(crate) fn start(name: &'static str, mut command: Command, folder: &Path) -> Result<Self> {
        let log = folder.join(format!("{name}.log"));
        let stderr = File::create(&log).with_context(|| format!("`{}` can't be written", log.display()))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr);
        let mut child = command.spawn().with_context(|| format!("the {name} server can't be started"))?;
        let stdout = BufReader::new(child.stdout.take().context("its stdout is piped")?);
        let (said, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if said.send(line).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        let mut server = Self { name, child, stdin, lines, log, last_id: 0, notifications: Vec::new() };
        let hello = json!({
            "protocolVersion": REVISION,
            "capabilities": {},
            "clientInfo": { "name": "official", "version": "1" },
        });
        match server.request("initialize", &hello)? {
            Answer::Result(_) => server.notify("notifications/initialized")?,
            Answer::Error(error) => bail!("the {name} server refuses to shake hands: {error}"),
        }
        Ok(server)
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// The server has ended, hangs, or says something that isn't JSON-RPC.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Result<Answer> {
        self.ask(method, params).with_context(|| {
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            let last = lines[lines.len().saturating_sub(20)..].join("\n");
            format!("`{method}` to the {} server failed; its last words:\n{last}", self.name)
        })
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Answer> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let end = Instant::now() + LIMIT;
        loop {
            let mut message = self.next(end).context("no answer")?;
            if message["method"].is_string() {
                if message.get("id").is_none() {
                    self.notifications.push(message);
                }
                continue; // we declared no capability, so what it may ask can go unanswered
            }
            if message["id"] != json!(id) {
                bail!("an answer to nothing that was asked: {message}");
            }
            return Ok(match message.get("error") {
                Some(_) => Answer::Error(message["error"].take()),
                None => Answer::Result(message["result"].take()),
            });
        }
    }

    /// Sends a notification without parameters.
    fn notify(&mut self, method: &str) -> Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method }))
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let stdin = self.stdin.as_mut().context("its stdin is piped")?;
        writeln!(stdin, "{message}")?;
        stdin.flush().context("it has ended")
    }

    /// The next message.
    fn next(&mut self, end: Instant) -> Result<Value> {
        let line = self.lines.recv_timeout(end.saturating_duration_since(Instant::now()))?;
        serde_json::from_str(&line).with_context(|| format!("this isn't JSON: {line}"))
    }

    /// Waits for a notification, which may have come already; gives back its parameters.
    ///
    /// # Errors
    /// It doesn't come.
    pub(crate) fn hear(&mut self, method: &str) -> Result<Value> {
        let end = Instant::now() + LIMIT;
        loop {
            if let Some(index) = self.notifications.iter().position(|heard| heard["method"] == method) {
                return Ok(self.notifications.remove(index)["params"].take());
            }
            let message =
                self.next(end).with_context(|| format!("no `{method}` from the {} server", self.name))?;
            self.notifications.push(message);
        }
    }
}

impl Drop for Server {
    /// Ends it as a client does, and kills it where that doesn't help.
    fn drop(&mut self) {
        drop(self.stdin.take());
        let end = Instant::now() + GRACE;
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
