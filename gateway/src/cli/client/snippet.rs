//! What each host's configuration says of a server. Used by `client`.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::{Host, shown};
use crate::cli::call::TOKEN;
use crate::cli::print;

/// Does the gateway ask for a bearer token?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    /// No.
    None,
    /// Yes.
    Needed,
    /// Its configuration isn't at hand.
    Unknown,
}

/// How the host reaches the gateway.
#[derive(Debug)]
pub(super) enum Over {
    /// It starts one.
    Stdio {
        program: PathBuf,
        config: PathBuf,
        /// What the configuration takes from the environment.
        variables: Vec<String>,
    },
    /// One runs at this address.
    Http { url: String, token: Token },
}

/// What is to be connected.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) name: String,
    pub(super) over: Over,
}

/// What to paste, and where.
#[derive(Debug)]
pub(super) struct Snippet {
    pub(super) text: String,
    pub(super) place: &'static str,
    /// What else there is to do.
    pub(super) remark: Option<String>,
}

impl Wanted {
    /// What else there is to do; `token` is how this host comes by the bearer token.
    fn remark(&self, token: &str) -> Option<String> {
        match &self.over {
            Over::Stdio { variables, .. } if !variables.is_empty() => Some(format!(
                "the configuration takes {} from the environment; hosts pass on few variables, so give them to the \
                 server in the host's own way",
                variables.join(", ")
            )),
            Over::Http { token: Token::Needed, .. } => Some(token.to_owned()),
            Over::Http { token: Token::Unknown, .. } => Some(
                "if the gateway asks for a token, the host has to send `Authorization: Bearer …` with each request"
                    .to_owned(),
            ),
            Over::Stdio { .. } | Over::Http { token: Token::None, .. } => None,
        }
    }

    fn needs_token(&self) -> bool {
        matches!(self.over, Over::Http { token: Token::Needed, .. })
    }

    /// The words that start the gateway, the program first.
    fn words(&self) -> Option<Vec<String>> {
        match &self.over {
            Over::Stdio { program, config, .. } => {
                let flags = ["serve", "--stdio", "--config"].map(str::to_owned);
                Some([vec![shown(program)], flags.to_vec(), vec![shown(config)]].concat())
            }
            Over::Http { .. } => None,
        }
    }

    /// The words as a shell takes them.
    fn line(&self) -> Option<String> {
        let words = self.words()?;
        Some(words.iter().map(|word| print::word(word)).collect::<Vec<_>>().join(" "))
    }

    /// The server as JSON; `token` is how the host names a variable in a header.
    fn server(&self, kind: Option<(&str, &str)>, token: &str) -> Value {
        let mut server = Map::new();
        match &self.over {
            Over::Stdio { .. } => {
                let mut words = self.words().unwrap_or_default().into_iter();
                if let Some((stdio, _)) = kind {
                    server.insert("type".to_owned(), json!(stdio));
                }
                server.insert("command".to_owned(), json!(words.next()));
                server.insert("args".to_owned(), json!(words.collect::<Vec<_>>()));
            }
            Over::Http { url, .. } => {
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

impl Host {
    /// What connects this host; none: it can't be connected that way.
    pub(super) fn snippet(self, wanted: &Wanted) -> Option<Snippet> {
        let (text, place) = match self {
            Self::ClaudeCode => (claude_code(wanted), "run it in a shell"),
            Self::ClaudeDesktop if wanted.words().is_none() => return None,
            Self::ClaudeDesktop => (
                servers("mcpServers", wanted, None, ""),
                "it belongs in `claude_desktop_config.json`: ~/Library/Application Support/Claude/ on macOS, \
                 %APPDATA%\\Claude\\ on Windows; restart Claude Desktop then",
            ),
            Self::Cursor => (
                servers("mcpServers", wanted, None, &format!("${{env:{TOKEN}}}")),
                "it belongs in `.cursor/mcp.json` of a project, or in ~/.cursor/mcp.json",
            ),
            Self::VsCode => (vscode(wanted), "it belongs in `.vscode/mcp.json`"),
            Self::Codex => (codex(wanted), "it belongs in ~/.codex/config.toml"),
            Self::Inspector => (inspector(wanted), "run it in a shell; it takes Node.js 22 or later"),
        };
        let remark = match self {
            Self::ClaudeCode => {
                format!("the shell puts the value of {TOKEN} into the command, and Claude Code keeps it")
            }
            Self::VsCode => "it asks for the token when it connects, and keeps it".to_owned(),
            Self::Inspector => {
                "give it the token in its window, as the header `Authorization: Bearer …`".to_owned()
            }
            Self::ClaudeDesktop | Self::Cursor | Self::Codex => {
                format!("the token comes from the variable {TOKEN}; set it where the host starts")
            }
        };
        Some(Snippet { text, place, remark: wanted.remark(&remark) })
    }
}

fn claude_code(wanted: &Wanted) -> String {
    let name = &wanted.name;
    match (&wanted.over, wanted.line()) {
        (Over::Http { url, .. }, _) => {
            let header = if wanted.needs_token() {
                format!(" --header \"Authorization: Bearer ${TOKEN}\"")
            } else {
                String::new()
            };
            format!("claude mcp add --transport http {name} {}{header}\n", print::word(url))
        }
        (Over::Stdio { .. }, line) => format!("claude mcp add {name} -- {}\n", line.unwrap_or_default()),
    }
}

/// A document with this one server in it.
fn servers(key: &str, wanted: &Wanted, kind: Option<(&str, &str)>, token: &str) -> String {
    format!("{:#}\n", json!({ key: { &wanted.name: wanted.server(kind, token) } }))
}

/// It asks for the token once, and keeps it.
fn vscode(wanted: &Wanted) -> String {
    let server = wanted.server(Some(("stdio", "http")), "${input:moongate-token}");
    let mut document = json!({ "servers": { &wanted.name: server } });
    if wanted.needs_token() {
        document["inputs"] = json!([{
            "type": "promptString",
            "id": "moongate-token",
            "description": "The bearer token of the Moongate gateway",
            "password": true,
        }]);
    }
    format!("{document:#}\n")
}

/// Strings and lists of strings are in TOML as they are in JSON.
fn codex(wanted: &Wanted) -> String {
    let mut text = format!("[mcp_servers.{}]\n", wanted.name);
    match &wanted.over {
        Over::Stdio { .. } => {
            let words = wanted.words().unwrap_or_default();
            let args: Vec<String> = words.iter().skip(1).map(|word| json!(word).to_string()).collect();
            text += &format!("command = {}\nargs = [{}]\n", json!(words.first()), args.join(", "));
        }
        Over::Http { url, .. } => {
            text += &format!("url = {}\n", json!(url));
            if wanted.needs_token() {
                text += &format!("bearer_token_env_var = \"{TOKEN}\"\n");
            }
        }
    }
    text
}

fn inspector(wanted: &Wanted) -> String {
    let target = match (&wanted.over, wanted.line()) {
        (Over::Http { url, .. }, _) => format!("--transport http {}", print::word(url)),
        (Over::Stdio { .. }, line) => format!("-- {}", line.unwrap_or_default()),
    };
    format!("npx @modelcontextprotocol/inspector {target}\n")
}
