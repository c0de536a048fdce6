//! A server over HTTP that runs for the duration of a measurement or a test.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::report;
use crate::run::ProcessRun;

/// A server prints its endpoint within this time, even if it must compile plugins first.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// A terminated server ends within this time, which is longer than the gateway's `stop_grace`.
const STOP_TIMEOUT: Duration = Duration::from_secs(40);

/// The pause between two attempts to connect to a server that starts.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The number of last lines of stderr that are kept.
const MAX_LOG_LINES: usize = 200;

/// The signal that ends a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopSignal {
    Kill,
    Terminate,
}

/// A running server; stopped when dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    stop: StopSignal,
    /// The endpoint that the server printed on stderr.
    pub(crate) url: String,
    log: LogTail,
}

/// The last lines of a server's stderr.
#[derive(Debug, Clone, Default)]
struct LogTail(Arc<Mutex<VecDeque<String>>>);

impl Server {
    /// Starts the server and waits for its endpoint on stderr.
    pub(crate) fn start(command: Command) -> Result<Self> {
        let shown = format!("{command:?}");
        let (sender, endpoints) = mpsc::channel();
        let mut server = Self::spawn(command, Stdio::null(), sender)?;
        let url = endpoints.recv_timeout(START_TIMEOUT);
        server.url =
            url.with_context(|| format!("{shown} printed no endpoint; its log:\n{}", server.log()))?;
        Ok(server)
    }

    /// Starts a server that prints no endpoint, and waits until it accepts connections at this URL.
    pub(crate) fn start_at(command: Command, url: &str) -> Result<Self> {
        let shown = format!("{command:?}");
        let mut server = Self::spawn(command, Stdio::null(), mpsc::channel().0)?;
        url.clone_into(&mut server.url);
        let address = url.split_once("://").map_or(url, |(_, rest)| rest);
        let address = address.split('/').next().unwrap_or(address);
        let end = Instant::now() + START_TIMEOUT;
        while TcpStream::connect(address).is_err() {
            let has_ended = server.child.try_wait()?.is_some();
            if has_ended || Instant::now() > end {
                bail!("{shown} doesn't listen at {url}; its log:\n{}", server.log());
            }
            thread::sleep(POLL_INTERVAL);
        }
        Ok(server)
    }

    /// Starts a server whose listener is its standard input, so that no other program can take the port.
    pub(crate) fn start_on(command: Command, listener: TcpListener) -> Result<Self> {
        let url = format!("http://{}/mcp", listener.local_addr()?);
        let mut server = Self::spawn(command, OwnedFd::from(listener).into(), mpsc::channel().0)?;
        server.url = url;
        Ok(server)
    }

    /// Starts the server and follows its stderr.
    fn spawn(mut command: Command, stdin: Stdio, endpoints: Sender<String>) -> Result<Self> {
        let shown = format!("{command:?}");
        command.stdin(stdin).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("can't start {shown}"))?;
        let stderr = child.stderr.take().expect("stderr was piped");
        let log = LogTail::default();
        let follower = log.clone();
        thread::spawn(move || follower.follow(stderr, &endpoints));
        Ok(Self { child, stop: StopSignal::Kill, url: String::new(), log })
    }

    /// Makes the server end with SIGTERM instead of SIGKILL when it is dropped.
    #[must_use]
    pub(crate) fn with_graceful_stop(mut self) -> Self {
        self.stop = StopSignal::Terminate;
        self
    }

    /// Sends SIGTERM, and waits for the server to end.
    fn terminate(&mut self) -> Result<()> {
        ProcessRun::new("kill").arg(self.pid().to_string()).read_stdout()?;
        let end = Instant::now() + STOP_TIMEOUT;
        while self.child.try_wait()?.is_none() {
            ensure!(Instant::now() < end, "it runs for {} s after SIGTERM", STOP_TIMEOUT.as_secs());
            thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    /// The process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The last lines of stderr.
    pub(crate) fn log(&self) -> String {
        self.log.text()
    }
}

impl LogTail {
    /// Reads stderr to its end, so that the server never blocks on it, and sends the endpoint once it is printed.
    fn follow(&self, stderr: ChildStderr, endpoint_sender: &Sender<String>) {
        for line in BufReader::new(stderr).split(b'\n') {
            let Ok(line) = line else { return };
            let line = String::from_utf8_lossy(&line).into_owned();
            if let Some(url) = endpoint(&line) {
                drop(endpoint_sender.send(url)); // only the first is received
            }
            let mut lines = self.0.lock().expect("no holder of this lock panics");
            if lines.len() == MAX_LOG_LINES {
                lines.pop_front();
            }
            lines.push_back(line);
        }
    }

    /// The lines as they were written.
    fn text(&self) -> String {
        let lines = self.0.lock().expect("no holder of this lock panics");
        lines.iter().fold(String::new(), |text, line| text + line + "\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.stop == StopSignal::Terminate
            && let Err(error) = self.terminate()
        {
            report::error(&format!("can't stop `{}`: {error:#}", self.url));
        }
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The endpoint in a line, if there is one.
fn endpoint(text: &str) -> Option<String> {
    let at = text.find("http://127.0.0.1:").or_else(|| text.find("https://127.0.0.1:"))?;
    let end = text[at..].find("/mcp")?;
    Some(text[at..at + end + "/mcp".len()].to_owned())
}
