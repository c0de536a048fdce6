//! The entry of a server in each host's configuration. Used by `client`.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::{McpHost, path_text};
use crate::cli::mcp_client::TOKEN_VARIABLE;
use crate::cli::print;

/// The id of the input with which VS Code asks for the token.
pub(super) const VSCODE_TOKEN_INPUT: &str = "moongate-token";

/// The gateway's bearer token requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenRequirement {
    /// The gateway requires no token.
    None,
    /// The gateway requires a token.
    Needed,
    /// The gateway's configuration is unknown.
    Unknown,
}

/// A host's connection to the gateway.
#[derive(Debug)]
pub(super) enum GatewayConnection {
    /// The host starts a gateway, or a program that connects it to one.
    Stdio {
        program: PathBuf,
        arguments: Vec<String>,
        /// The environment variables that the configuration uses.
        variables: Vec<String>,
    },
    /// A gateway runs at this URL.
    Http { url: String, token: TokenRequirement },
}

/// The gateway as an entry in a host's configuration.
#[derive(Debug)]
pub(super) struct ServerEntry {
    pub(super) name: String,
    pub(super) connection: GatewayConnection,
}

/// The text to paste, and where to put it.
#[derive(Debug)]
pub(super) struct Snippet {
    pub(super) text: String,
    pub(super) place: &'static str,
    /// An additional note.
    pub(super) note: Option<String>,
}

impl ServerEntry {
    /// An additional note; `token` explains how this host gets the bearer token.
    fn note(&self, token: &str) -> Option<String> {
        match &self.connection {
            GatewayConnection::Stdio { variables, .. } if !variables.is_empty() => Some(format!(
                "the configuration uses the environment variables {}; hosts pass on few variables, so set them for this \
                 server in the host",
                variables.join(", ")
            )),
            GatewayConnection::Http { token: TokenRequirement::Needed, .. } => Some(token.to_owned()),
            GatewayConnection::Http { token: TokenRequirement::Unknown, .. } => Some(
                "if the gateway requires a token, the host must send `Authorization: Bearer …` with each request"
                    .to_owned(),
            ),
            GatewayConnection::Stdio { .. } | GatewayConnection::Http { token: TokenRequirement::None, .. } => None,
        }
    }

    fn needs_token(&self) -> bool {
        matches!(self.connection, GatewayConnection::Http { token: TokenRequirement::Needed, .. })
    }

    /// The command that starts the gateway, program first.
    fn command(&self) -> Option<Vec<String>> {
        match &self.connection {
            GatewayConnection::Stdio { program, arguments, .. } => {
                Some([vec![path_text(program)], arguments.clone()].concat())
            }
            GatewayConnection::Http { .. } => None,
        }
    }

    /// The command, quoted for a shell.
    fn command_line(&self) -> Option<String> {
        let words = self.command()?;
        Some(words.iter().map(|word| print::shell_word(word)).collect::<Vec<_>>().join(" "))
    }

    /// The server as JSON; `token` is the host's placeholder for the token in a header.
    fn server_object(&self, kind: Option<(&str, &str)>, token: &str) -> Value {
        let mut server = Map::new();
        match &self.connection {
            GatewayConnection::Stdio { .. } => {
                let mut words = self.command().unwrap_or_default().into_iter();
                if let Some((stdio, _)) = kind {
                    server.insert("type".to_owned(), json!(stdio));
                }
                server.insert("command".to_owned(), json!(words.next()));
                server.insert("args".to_owned(), json!(words.collect::<Vec<_>>()));
            }
            GatewayConnection::Http { url, .. } => {
                if let Some((_, http)) = kind {
                    server.insert("type".to_owned(), json!(http));
                }
                server.insert("url".to_owned(), json!(url));
                if self.needs_token() {
                    server
                        .insert("headers".to_owned(), json!({ "Authorization": format!("Bearer {token}") }));
                }
            }
        }
        Value::Object(server)
    }
}

impl McpHost {
    /// The snippet for this host; `None` if it doesn't support the connection.
    pub(super) fn snippet(self, entry: &ServerEntry) -> Option<Snippet> {
        let (text, place) = match self {
            Self::ClaudeCode => (claude_code(entry), "run this in a shell"),
            Self::ClaudeDesktop if entry.command().is_none() => return None,
            Self::ClaudeDesktop => (
                self.servers_document(entry),
                "add this to `claude_desktop_config.json`, in ~/Library/Application Support/Claude/ on macOS or \
                 %APPDATA%\\Claude\\ on Windows, and restart Claude Desktop",
            ),
            Self::Cursor => (
                self.servers_document(entry),
                "add this to `.cursor/mcp.json` of a project, or to ~/.cursor/mcp.json",
            ),
            Self::VsCode => (self.servers_document(entry), "add this to `.vscode/mcp.json`"),
            Self::Zed => (
                self.servers_document(entry),
                "add this to Zed's `settings.json`; the command `zed: open settings` opens it",
            ),
            Self::Codex => (codex(entry), "add this to ~/.codex/config.toml"),
            Self::Inspector => (inspector(entry), "run this in a shell; it needs Node.js 22 or later"),
        };
        let note = match self {
            Self::ClaudeCode => {
                format!("the shell inserts the value of {TOKEN_VARIABLE}, and Claude Code stores it")
            }
            Self::VsCode => "VS Code asks for the token when it connects, and stores it".to_owned(),
            Self::Zed => {
                format!("Zed doesn't read variables in headers: replace ${{{TOKEN_VARIABLE}}} with the token")
            }
            Self::Inspector => {
                "enter the token in the Inspector, as the header `Authorization: Bearer …`".to_owned()
            }
            Self::ClaudeDesktop | Self::Cursor | Self::Codex => {
                format!(
                    "the token is read from the variable {TOKEN_VARIABLE}; set it in the environment of the host"
                )
            }
        };
        Some(Snippet { text, place, note: entry.note(&note) })
    }

    /// Reports whether the host's HTTP client is Node's, which doesn't use the system's trust store.
    pub(super) fn runs_on_node(self) -> bool {
        match self {
            Self::ClaudeCode | Self::ClaudeDesktop | Self::Cursor | Self::VsCode | Self::Inspector => true,
            Self::Zed | Self::Codex => false,
        }
    }

    /// The member of the host's JSON file that contains the servers.
    pub(super) fn servers_key(self) -> &'static str {
        match self {
            Self::VsCode => "servers",
            Self::Zed => "context_servers",
            Self::ClaudeCode | Self::ClaudeDesktop | Self::Cursor | Self::Codex | Self::Inspector => {
                "mcpServers"
            }
        }
    }

    /// The server as JSON.
    pub(super) fn server_object(self, entry: &ServerEntry) -> Value {
        let kinds = Some(("stdio", "http"));
        match self {
            Self::ClaudeCode => entry.server_object(kinds, &format!("${{{TOKEN_VARIABLE}}}")),
            Self::VsCode => entry.server_object(kinds, &format!("${{input:{VSCODE_TOKEN_INPUT}}}")),
            Self::Cursor => entry.server_object(None, &format!("${{env:{TOKEN_VARIABLE}}}")),
            Self::Zed => entry.server_object(None, &format!("${{{TOKEN_VARIABLE}}}")),
            Self::ClaudeDesktop | Self::Codex | Self::Inspector => entry.server_object(None, ""),
        }
    }

    /// The input with which VS Code asks for the token once; it stores it. `None` if the host doesn't need it.
    pub(super) fn token_input(self, entry: &ServerEntry) -> Option<Value> {
        (self == Self::VsCode && entry.needs_token()).then(|| {
            json!({
                "type": "promptString",
                "id": VSCODE_TOKEN_INPUT,
                "description": "The bearer token of the Moongate gateway",
                "password": true,
            })
        })
    }

    /// A document with this server only.
    fn servers_document(self, entry: &ServerEntry) -> String {
        let mut document = json!({ self.servers_key(): { &entry.name: self.server_object(entry) } });
        if let Some(input) = self.token_input(entry) {
            document["inputs"] = json!([input]);
        }
        format!("{document:#}\n")
    }
}

fn claude_code(entry: &ServerEntry) -> String {
    let name = &entry.name;
    match (&entry.connection, entry.command_line()) {
        (GatewayConnection::Http { url, .. }, _) => {
            let header = if entry.needs_token() {
                format!(" --header \"Authorization: Bearer ${TOKEN_VARIABLE}\"")
            } else {
                String::new()
            };
            format!("claude mcp add --transport http {name} {}{header}\n", print::shell_word(url))
        }
        (GatewayConnection::Stdio { .. }, line) => {
            format!("claude mcp add {name} -- {}\n", line.unwrap_or_default())
        }
    }
}

/// Strings and lists of strings have the same syntax in TOML and JSON.
fn codex(entry: &ServerEntry) -> String {
    let mut text = format!("[mcp_servers.{}]\n", entry.name);
    match &entry.connection {
        GatewayConnection::Stdio { .. } => {
            let words = entry.command().unwrap_or_default();
            let args: Vec<String> = words.iter().skip(1).map(|word| json!(word).to_string()).collect();
            text += &format!("command = {}\nargs = [{}]\n", json!(words.first()), args.join(", "));
        }
        GatewayConnection::Http { url, .. } => {
            text += &format!("url = {}\n", json!(url));
            if entry.needs_token() {
                text += &format!("bearer_token_env_var = \"{TOKEN_VARIABLE}\"\n");
            }
        }
    }
    text
}

fn inspector(entry: &ServerEntry) -> String {
    let target = match (&entry.connection, entry.command_line()) {
        (GatewayConnection::Http { url, .. }, _) => format!("--transport http {}", print::shell_word(url)),
        (GatewayConnection::Stdio { .. }, line) => format!("-- {}", line.unwrap_or_default()),
    };
    format!("npx @modelcontextprotocol/inspector {target}\n")
}
