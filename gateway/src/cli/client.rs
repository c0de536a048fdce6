//! `client`: what to paste into a host's configuration so that it connects to the gateway.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::env::{self, VarError};
use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use moongate_core::config::{Environment, Loaded, ProcessEnvironment};
use serde_json::json;

use self::snippet::{Over, Snippet, Wanted};
use crate::cli::{Common, Exit, Format, configuration, print};
use crate::transport::http::PATH;

mod snippet;

/// Print what connects a host to this gateway, with absolute paths
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate client claude-code
  moongate client cursor > .cursor/mcp.json
  moongate client vscode --http

What is to be pasted goes to stdout, and where it belongs to stderr. Over stdio the host starts a gateway of its own;
with --http it connects to the one that `moongate serve` runs.")]
pub(super) struct Client {
    /// The host
    #[arg(value_name = "HOST")]
    host: Host,
    /// Connect to a gateway that runs, at `listen` under `[http]` or at URL, instead of starting one
    #[arg(long, value_name = "URL", num_args = 0..=1)]
    http: Option<Option<String>>,
    /// What the host calls the gateway
    #[arg(long, value_name = "NAME", default_value = "moongate", value_parser = name)]
    name: String,
    /// How to print it
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

/// A host whose configuration is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Host {
    /// Anthropic's Claude Code
    ClaudeCode,
    /// Anthropic's Claude Desktop
    ClaudeDesktop,
    /// Cursor
    Cursor,
    /// Visual Studio Code
    #[value(name = "vscode")]
    VsCode,
    /// OpenAI's Codex
    Codex,
    /// The MCP Inspector
    Inspector,
}

/// Hosts put it before the tools' names, and some take nothing else.
fn name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if text.is_empty() || !text.chars().all(is_plain) {
        return Err("write letters, digits, `-` and `_` only".to_owned());
    }
    Ok(text.to_owned())
}

impl Client {
    pub(super) fn run(&self, common: &Common) -> Result<Exit> {
        let environment = Asked::default();
        let Loaded { source, config, problems, .. } =
            configuration::read_with(common.config.as_deref(), &environment);
        let Some(gateway) = config else {
            print::problems(&problems, &source);
            return Ok(Exit::Configuration);
        };
        let over = match &self.http {
            None => {
                let program = env::current_exe().context("it isn't known where this program is")?;
                let config = std::path::absolute(&source.path)
                    .with_context(|| format!("`{}` has no place", source.path.display()))?;
                Over::Stdio { program, config, variables: environment.names() }
            }
            Some(url) => Over::Http {
                url: url.clone().unwrap_or_else(|| endpoint(gateway.http.listen)),
                needs_token: !gateway.http.tokens.is_empty(),
            },
        };
        let wanted = Wanted { name: self.name.clone(), over };
        let Some(Snippet { text, place }) = self.host.snippet(&wanted) else {
            print::error(
                "Claude Desktop's file names programs to start, and no addresses",
                Some(
                    "leave out `--http`; or add the address as a connector in its settings, if it is public",
                ),
            );
            return Ok(Exit::Usage);
        };
        match self.format {
            Format::Text => print::data(&text)?,
            Format::Json => print::json(&json!({ "text": text, "place": place }))?,
        }
        if !common.quiet {
            print::note(&format!("note: {place}\n"));
            if let Some(remark) = wanted.remark() {
                print::note(&format!("note: {remark}\n"));
            }
        }
        Ok(Exit::Success)
    }
}

/// Where a gateway that listens there is reached from this machine.
fn endpoint(listen: SocketAddr) -> String {
    let ip = listen.ip();
    // A listener on all addresses is reached at any; the host on this machine takes the nearest.
    let host = match (ip.is_unspecified(), ip.is_ipv6()) {
        (false, false) => ip.to_string(),
        (false, true) => format!("[{ip}]"),
        (true, false) => "127.0.0.1".to_owned(),
        (true, true) => "[::1]".to_owned(),
    };
    format!("http://{host}:{}{PATH}", listen.port())
}

/// The variables of this process, and which of them were found: hosts pass on few.
#[derive(Default)]
struct Asked(RefCell<BTreeSet<String>>);

impl Asked {
    fn names(&self) -> Vec<String> {
        self.0.borrow().iter().cloned().collect()
    }
}

impl Environment for Asked {
    fn variable(&self, name: &str) -> Result<String, VarError> {
        let value = ProcessEnvironment.variable(name)?;
        // Hosts know where the person's folders are, and where compiled code lies makes no difference.
        if !["HOME", "XDG_CACHE_HOME"].contains(&name) {
            self.0.borrow_mut().insert(name.to_owned());
        }
        Ok(value)
    }
}

/// A path as text: what hosts' files can hold.
fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
