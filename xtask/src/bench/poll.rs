//! A minimal HTTP client that repeats one request over one connection.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::json;

use super::subject::Era;

/// A response that takes longer counts as missing.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// A connection to an endpoint.
pub(super) struct PollingClient {
    address: String,
    stream: BufReader<TcpStream>,
}

impl PollingClient {
    /// Connects to an endpoint such as `http://127.0.0.1:1234/mcp`.
    pub(super) fn connect(url: &str) -> Result<Self> {
        let address = url.strip_prefix("http://").and_then(|rest| rest.split('/').next());
        let address = address.with_context(|| format!("invalid endpoint `{url}`"))?.to_owned();
        let stream = TcpStream::connect(&address).with_context(|| format!("can't reach `{url}`"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(RESPONSE_TIMEOUT))?;
        Ok(Self { address, stream: BufReader::new(stream) })
    }

    /// Calls a tool without arguments and returns the whole response body.
    pub(super) fn call(&mut self, tool: &str) -> Result<String> {
        let text = call_request(&self.address, tool);
        self.stream.get_mut().write_all(text.as_bytes())?;
        let mut length = None;
        let mut head = String::new();
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line)? == 0 {
                bail!("the gateway closed the connection: {head}");
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().ok();
            }
            if line.trim().is_empty() {
                break;
            }
            head.push_str(&line);
        }
        let mut body =
            vec![0; length.with_context(|| format!("a response without `Content-Length`: {head}"))?];
        self.stream.read_exact(&mut body)?;
        let body = String::from_utf8(body)?;
        if !head.starts_with("HTTP/1.1 200") || body.contains("\"error\"") {
            bail!("a call failed: {head}{body}");
        }
        Ok(body)
    }
}

/// The HTTP request that calls a tool without arguments.
pub(super) fn call_request(address: &str, tool: &str) -> String {
    let revision = Era::Stateless.revision();
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": tool,
        "arguments": {},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": revision,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
        },
    } })
    .to_string();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {revision}\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}
