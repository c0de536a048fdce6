//! A server over HTTP for the length of a measurement.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::config::CACHE_VARIABLE;

/// How long a server may take until it says where it listens: without a cache, it compiles first.
const START: Duration = Duration::from_secs(120);

/// A server that listens; ended when dropped.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    /// Its endpoint, as it said on stderr.
    pub(super) url: String,
}

impl Server {
    /// Starts it and waits for the line of its stderr that names the endpoint.
    pub(super) fn start(mut command: Command) -> Result<Self> {
        let shown = format!("{command:?}");
        command.env_remove(CACHE_VARIABLE).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("{shown} can't be started"))?;
        let stderr = child.stderr.take().expect("stderr was piped");
        let (said, heard) = mpsc::channel();
        // It reads on to the end, so that the server never waits for room on its stderr.
        std::thread::spawn(move || {
            let mut lines = BufReader::new(stderr);
            let mut all = String::new();
            while let Ok(1..) = lines.read_line(&mut all) {
                if let Some(url) = endpoint(&all) {
                    drop(said.send(Ok(url)));
                    drop(lines.read_to_end(&mut Vec::new()));
                    return;
                }
            }
            drop(said.send(Err(all)));
        });
        let mut server = Self { child, url: String::new() };
        let answer = heard.recv_timeout(START).with_context(|| format!("{shown} says no endpoint"))?;
        server.url = answer.map_err(|said| anyhow::anyhow!("{shown} ended without an endpoint:\n{said}"))?;
        Ok(server)
    }

    /// Its process.
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
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
