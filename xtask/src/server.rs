//! A server over HTTP for the length of a measurement or of a judge's visit.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};

/// How long a server may take until it says where it listens: without a cache, it compiles first.
const START: Duration = Duration::from_secs(120);

/// So many lines of its stderr are kept, the last ones.
const KEPT: usize = 200;

/// A server that listens; ended when dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    /// Its endpoint, as it said on stderr.
    pub(crate) url: String,
    log: Log,
}

/// The last lines of a server's stderr.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<VecDeque<String>>>);

impl Server {
    /// Starts it and waits for the line of its stderr that names the endpoint.
    pub(crate) fn start(mut command: Command) -> Result<Self> {
        let shown = format!("{command:?}");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("{shown} can't be started"))?;
        let stderr = child.stderr.take().expect("stderr was piped");
        let (said, heard) = mpsc::channel();
        let log = Log::default();
        let kept = log.clone();
        thread::spawn(move || kept.follow(stderr, &said));
        let mut server = Self { child, url: String::new(), log };
        let url = heard.recv_timeout(START);
        server.url = url.with_context(|| format!("{shown} names no endpoint; it said:\n{}", server.log()))?;
        Ok(server)
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The last lines that it wrote on stderr.
    pub(crate) fn log(&self) -> String {
        self.log.text()
    }
}

impl Log {
    /// Reads stderr to its end, so that the server never waits for room on it; tells the endpoint when it is named.
    fn follow(&self, stderr: ChildStderr, said: &Sender<String>) {
        for line in BufReader::new(stderr).split(b'\n') {
            let Ok(line) = line else { return };
            let line = String::from_utf8_lossy(&line).into_owned();
            if let Some(url) = endpoint(&line) {
                drop(said.send(url)); // only the first is waited for
            }
            let mut lines = self.0.lock().expect("no holder of this lock panics");
            if lines.len() == KEPT {
                lines.pop_front();
            }
            lines.push_back(line);
        }
    }

    /// What is kept, as it was written.
    fn text(&self) -> String {
        let lines = self.0.lock().expect("no holder of this lock panics");
        lines.iter().fold(String::new(), |text, line| text + line + "\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill()); // it has nothing to put in order
        drop(self.child.wait());
    }
}

/// The endpoint that a text names, if it does.
fn endpoint(text: &str) -> Option<String> {
    let at = text.find("http://127.0.0.1:")?;
    let end = text[at..].find("/mcp")?;
    Some(text[at..at + end + "/mcp".len()].to_owned())
}
