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
use url::Url;

use self::snippet::{Over, Snippet, Token, Wanted};
use crate::cli::call::endpoint;
use crate::cli::failure::{Done, Failure};
use crate::cli::{Common, Exit, Format, configuration, print};
use crate::transport::http::PATH;

mod snippet;

/// Print what to paste so that a host, such as Claude Code, connects to this gateway
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate client claude-code
  moongate client cursor > .cursor/mcp.json
  moongate client vscode --http

What is to be pasted goes to stdout, and where it belongs to stderr. The host starts a gateway of its own, over stdio; \
with --http or --url it connects to one that runs.")]
pub(super) struct Client {
    /// The host
    #[arg(value_name = "HOST")]
    host: Host,
    /// Connect to the gateway that `serve` runs, at `listen` under `[http]`, instead of starting one
    #[arg(long)]
    http: bool,
    /// Connect to the gateway that runs at this endpoint
    #[arg(long, value_name = "URL", value_parser = endpoint, conflicts_with = "http")]
    url: Option<Url>,
    /// What the host calls the gateway
    #[arg(long, value_name = "NAME", default_value = "moongate", value_parser = name)]
    name: String,
    /// How to print the answer
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
    pub(super) fn run(&self, common: &Common) -> Done {
        let wanted = Wanted { name: self.name.clone(), over: self.over(common)? };
        let Some(Snippet { text, place, remark }) = self.host.snippet(&wanted) else {
            return Err(Failure::new(Exit::Usage).says(
                "Claude Desktop's file names programs to start, and no addresses",
                Some("leave out the address; or add it as a connector in its settings, if it is public"),
            ));
        };
        match self.format {
            Format::Text => print::data(&text)?,
            Format::Json => print::json(&json!({ "text": text, "place": place }))?,
        }
        if !common.quiet {
            print::remark(place);
            if let Some(remark) = remark {
                print::remark(&remark);
            }
        }
        Ok(Exit::Success)
    }

    /// How the host is to reach the gateway.
    fn over(&self, common: &Common) -> Result<Over, Failure> {
        if let Some(url) = &self.url {
            return Ok(Over::Http { url: url.to_string(), token: Token::Unknown });
        }
        let environment = Asked::default();
        let Loaded { source, config, problems, .. } =
            configuration::read_with(common.config.as_deref(), &environment);
        let Some(gateway) = config else {
            return Err(Failure::new(Exit::Configuration).problems(&problems, &source));
        };
        let listen = gateway.http.listen;
        if self.http && listen.port() == 0 {
            let hint = "name its address with `--url`; the gateway says where it listens when it starts";
            let message = "the port isn't known: `listen` under `[http]` leaves it to the system";
            return Err(Failure::new(Exit::Usage).says(message, Some(hint)));
        }
        if self.http {
            let token = if gateway.http.asks_for_tokens() { Token::Needed } else { Token::None };
            return Ok(Over::Http { url: reached(listen), token });
        }
        // Whoever starts the gateway needs no token to call it.
        let is_token = |name: &String| {
            gateway.http.tokens.iter().any(|token| token.variable.as_deref() == Some(&**name))
        };
        let variables = environment.found().into_iter().filter(|name| !is_token(name)).collect();
        Ok(own(&source.path, variables)?)
    }
}

/// A gateway that the host starts for itself.
fn own(config: &Path, variables: Vec<String>) -> Result<Over> {
    let program = env::current_exe().context("it isn't known where this program is")?;
    let config =
        std::path::absolute(config).with_context(|| format!("`{}` has no place", config.display()))?;
    Ok(Over::Stdio { program, config, variables })
}

/// Where a gateway that listens there is reached from this machine.
fn reached(listen: SocketAddr) -> String {
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
    /// Those that were found.
    fn found(&self) -> Vec<String> {
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

    fn names(&self) -> Vec<String> {
        ProcessEnvironment.names()
    }
}

/// A path as text: what hosts' files can hold.
fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
