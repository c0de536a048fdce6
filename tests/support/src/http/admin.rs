//! The admin listener of a gateway that serves over HTTP.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

use serde_json::Value;

use super::{Http, Reply, parse};
use crate::{WAIT_TIMEOUT, wait_until};

/// The admin listener.
#[derive(Debug, Clone, Copy)]
pub struct Admin {
    address: SocketAddr,
}

impl Http {
    /// The admin listener, at the address from the log.
    ///
    /// # Panics
    /// If the log has no admin address; `gateway.toml` needs `[admin]`.
    #[must_use]
    #[track_caller]
    pub fn admin(&self) -> Admin {
        const WHILE_LOADING: &str = "admin listener at http";
        const IN_JSON: &str = "\"admin\":\"http";
        wait_until("the log names the admin listener", || {
            let log = self.log();
            log.contains("\nadmin ") || log.contains(WHILE_LOADING) || log.contains(IN_JSON)
        });
        let log = self.log();
        let address = log.lines().filter(|line| line.contains("admin")).find_map(|line| {
            let rest = match line.split_once(WHILE_LOADING).or_else(|| line.split_once(IN_JSON)) {
                Some((_, rest)) => rest.split("://").nth(1)?,
                None => line.split("://").nth(1)?,
            };
            let end =
                rest.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ':')).unwrap_or(rest.len());
            rest[..end].parse().ok()
        });
        Admin { address: address.unwrap_or_else(|| panic!("no admin listener: {log}")) }
    }
}

impl Admin {
    /// The listener's address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends a GET request.
    #[must_use]
    #[track_caller]
    pub fn get(&self, path: &str) -> Reply {
        self.send("GET", path, "", "")
    }

    /// Requests a reload and returns its report.
    #[must_use]
    #[track_caller]
    pub fn reload(&self) -> Value {
        let reply = self.send("POST", "/reload", "Content-Type: application/json\r\n", "{}");
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()
    }

    /// The document at `/status.json`.
    #[must_use]
    #[track_caller]
    pub fn status(&self) -> Value {
        let reply = self.get("/status.json");
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()
    }

    /// The entry of a plugin in `/status.json`.
    #[must_use]
    #[track_caller]
    pub fn plugin(&self, id: &str) -> Value {
        let status = self.status();
        let plugins = status["plugins"].as_array();
        let found = plugins.into_iter().flatten().find(|plugin| plugin["id"] == id);
        found.unwrap_or_else(|| panic!("no plugin `{id}`: {status}")).clone()
    }

    /// Waits until `/status.json` meets the condition and returns it.
    ///
    /// # Panics
    /// If the condition isn't met in time.
    #[track_caller]
    pub fn wait_until_status(&self, what: &str, condition: impl Fn(&Value) -> bool) -> Value {
        let started = Instant::now();
        loop {
            let status = self.status();
            if condition(&status) {
                return status;
            }
            assert!(started.elapsed() < WAIT_TIMEOUT, "timed out waiting until {what}: {status}");
        }
    }

    /// The value of a metric, named with its labels. `None` means there is no such line.
    #[must_use]
    #[track_caller]
    pub fn metric(&self, name: &str) -> Option<f64> {
        let reply = self.get("/metrics");
        assert_eq!(reply.status, 200, "{reply:?}");
        let line = reply.body.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        Some(line.trim().parse().unwrap_or_else(|_| panic!("not a number: {name} {line}")))
    }

    /// Sends a request with these header lines.
    ///
    /// # Panics
    /// If the response isn't valid.
    #[must_use]
    #[track_caller]
    pub fn send(&self, verb: &str, path: &str, headers: &str, body: &str) -> Reply {
        self.try_send(verb, path, headers, body).expect("a response")
    }

    /// The same for a body that can be refused before it is read.
    ///
    /// # Errors
    /// The connection was reset.
    ///
    /// # Panics
    /// If the response isn't valid.
    pub fn try_send(&self, verb: &str, path: &str, headers: &str, body: &str) -> io::Result<Reply> {
        let address = self.address;
        let length = body.len();
        let text = format!(
            "{verb} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        );
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(WAIT_TIMEOUT))?;
        stream.write_all(text.as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(parse(&answer))
    }
}
