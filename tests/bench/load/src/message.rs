//! Requests that are cheap to write and answers that are cheap to check.

use std::io::Write as _;

use anyhow::{Context as _, ensure};
use memchr::memmem;
use serde_json::{Value, json};

/// The call to measure.
#[derive(Debug, Clone)]
pub(crate) struct Spec {
    /// The tool, which takes a text and returns it.
    pub(crate) tool: String,
    /// The name of the tool's argument.
    pub(crate) argument: String,
    /// The length of the text.
    pub(crate) bytes: usize,
    /// The revision of MCP.
    pub(crate) revision: String,
    /// The server has no handshake at all.
    pub(crate) bare: bool,
    /// A bearer token.
    pub(crate) token: Option<String>,
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            tool: "echo".to_owned(),
            argument: "text".to_owned(),
            bytes: 100,
            revision: "2025-11-25".to_owned(),
            bare: false,
            token: None,
        }
    }
}

/// The notification that ends a handshake.
pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

impl Spec {
    /// True if the revision is stateless.
    pub(crate) fn stateless(&self) -> bool {
        self.revision.as_str() >= "2026"
    }

    /// True if the server expects a handshake.
    pub(crate) fn handshake(&self) -> bool {
        !self.bare && !self.stateless()
    }

    /// The first message of a handshake; its id is 0.
    pub(crate) fn initialize(&self) -> String {
        let params = json!({
            "protocolVersion": self.revision,
            "capabilities": {},
            "clientInfo": {"name": "load", "version": env!("CARGO_PKG_VERSION")},
        });
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string()
    }

    /// A request for the list of tools.
    pub(crate) fn list(&self, id: u64) -> String {
        self.page(id, None)
    }

    /// A request for the list of tools, or for the page after the one with this cursor.
    pub(crate) fn page(&self, id: u64, cursor: Option<&str>) -> String {
        let mut params = self.params();
        if let Some(cursor) = cursor {
            params["cursor"] = json!(cursor);
        }
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": params}).to_string()
    }

    /// A call with these arguments.
    pub(crate) fn call(&self, id: u64, tool: &str, arguments: &Value) -> String {
        let mut params = self.params();
        params["name"] = json!(tool);
        params["arguments"] = arguments.clone();
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
    }

    fn params(&self) -> Value {
        if !self.stateless() {
            return json!({});
        }
        json!({"_meta": {
            "io.modelcontextprotocol/protocolVersion": self.revision,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "load", "version": env!("CARGO_PKG_VERSION")},
        }})
    }

    /// The head of an HTTP request, up to the value of `Content-Length`.
    pub(crate) fn head(&self, authority: &str, path: &str, method: &str, session: Option<&str>) -> Vec<u8> {
        self.head_for(authority, path, method, &self.tool, session)
    }

    /// The same for another tool.
    pub(crate) fn head_for(
        &self,
        authority: &str,
        path: &str,
        method: &str,
        tool: &str,
        session: Option<&str>,
    ) -> Vec<u8> {
        let mut head = format!(
            "POST {path} HTTP/1.1\r\nhost: {authority}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n"
        );
        let mut add = |name: &str, value: &str| {
            head.push_str(name);
            head.push_str(": ");
            head.push_str(value);
            head.push_str("\r\n");
        };
        if method != "initialize" {
            add("mcp-protocol-version", &self.revision);
        }
        if self.stateless() {
            add("mcp-method", method);
            if method == "tools/call" {
                add("mcp-name", tool);
            }
        }
        if let Some(session) = session {
            add("mcp-session-id", session);
        }
        if let Some(token) = &self.token {
            add("authorization", &format!("Bearer {token}"));
        }
        head.push_str("content-length: ");
        head.into_bytes()
    }
}

/// A call with placeholders for its id and the start of its text.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    before_id: Vec<u8>,
    before_text: Vec<u8>,
    filler: Vec<u8>,
    after_text: Vec<u8>,
}

/// The length of the part of a text that is unique to its request.
const MARK: usize = 16;

impl Template {
    /// # Errors
    /// The tool's name contains one of the markers.
    pub(crate) fn new(spec: &Spec) -> anyhow::Result<Self> {
        let mut params = spec.params();
        params["name"] = json!(spec.tool);
        params["arguments"] = json!({ &spec.argument: "<text>" });
        let whole =
            json!({"jsonrpc": "2.0", "id": "<id>", "method": "tools/call", "params": params}).to_string();
        let mut pieces = [(0, whole.find("\"<id>\""), 6), (1, whole.find("<text>"), 6)];
        pieces.sort_by_key(|(_, at, _)| *at);
        // serde_json sorts keys: `id` comes before `params`, which contains the text.
        let [(0, Some(id), id_len), (1, Some(text), text_len)] = pieces else {
            anyhow::bail!("the request has no place for its id and its text");
        };
        // No character that needs escaping, so that the text is the same at any nesting of JSON.
        let words = b" over the wall and under the moon".iter().copied().cycle();
        Ok(Self {
            before_id: whole[..id].into(),
            before_text: whole[id + id_len..text].into(),
            filler: words.take(spec.bytes.saturating_sub(MARK)).collect(),
            after_text: whole[text + text_len..].into(),
        })
    }

    /// Appends the request with this id.
    pub(crate) fn write(&self, id: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.before_id);
        push_number(out, id);
        out.extend_from_slice(&self.before_text);
        push_mark(out, id);
        out.extend_from_slice(&self.filler);
        out.extend_from_slice(&self.after_text);
    }

    /// Checks the id of an answer, and that it contains the complete text of the request with that id.
    pub(crate) fn check(&self, id: u64, answer: &[u8]) -> anyhow::Result<()> {
        ensure!(find_id(answer) == Some(id), "not the answer to {id}: {}", shown(answer));
        let mut mark = Vec::with_capacity(MARK);
        push_mark(&mut mark, id);
        let right = memmem::find_iter(answer, &mark).any(|at| answer[at + MARK..].starts_with(&self.filler));
        ensure!(right, "the text of {id} doesn't stand in its answer: {}", shown(answer));
        let edges = [&answer[..answer.len().min(300)], &answer[answer.len().saturating_sub(300)..]];
        let failed = edges.iter().any(|edge| memmem::find(edge, b"\"isError\":true").is_some());
        ensure!(!failed, "an error: {}", shown(answer));
        Ok(())
    }
}

/// Appends a number in decimal.
pub(crate) fn push_number(out: &mut Vec<u8>, number: u64) {
    write!(out, "{number}").expect("writing to a vector can't fail");
}

fn push_mark(out: &mut Vec<u8>, id: u64) {
    write!(out, "{id:0MARK$x}").expect("writing to a vector can't fail");
}

/// The first numeric id in a message. The texts contain no quotes, so they can't imitate one.
pub(crate) fn find_id(message: &[u8]) -> Option<u64> {
    memmem::find_iter(message, b"\"id\":").find_map(|at| {
        let rest = message[at + 5..].trim_ascii_start();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()
    })
}

/// A page of the list of tools.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ToolsPage {
    /// The number of tools.
    pub(crate) count: usize,
    /// The page contains the expected tool.
    pub(crate) is_expected: bool,
    /// The cursor of the next page.
    pub(crate) next: Option<String>,
}

/// Reads a page of the list of tools.
///
/// # Errors
/// The answer isn't a list of tools.
pub(crate) fn tools_page(answer: &[u8], tool: &str) -> anyhow::Result<ToolsPage> {
    let answer: Value = serde_json::from_slice(answer).context("not JSON")?;
    let tools =
        answer["result"]["tools"].as_array().with_context(|| format!("no list of tools: {answer}"))?;
    Ok(ToolsPage {
        count: tools.len(),
        is_expected: tools.iter().any(|listed| listed["name"] == tool),
        next: answer["result"]["nextCursor"].as_str().map(str::to_owned),
    })
}

/// The start of a message, for error messages.
pub(crate) fn shown(message: &[u8]) -> String {
    String::from_utf8_lossy(&message[..message.len().min(300)]).into_owned()
}

#[cfg(test)]
mod tests;
