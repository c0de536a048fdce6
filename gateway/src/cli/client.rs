//! `client`: prints the snippet that connects a host to the gateway, or adds it to the host's file.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::env::VarError;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use moongate_config::{
    CertificateName, Environment, HttpConfig, LoadedConfig, ProcessEnvironment, TlsConfig,
};
use moongate_model::builtin_plugin::BuiltinPlugin;
use serde_json::json;
use url::Url;

use self::host_file::HostFileChange;
use self::snippet::{GatewayConnection, ServerEntry, Snippet, TokenRequirement};
use crate::cli::call::endpoint;
use crate::cli::error::{CommandError, CommandResult};
use crate::cli::program::program_path;
use crate::cli::{CommonOptions, ExitKind, OutputFormat, configuration, print};
use crate::transport::http::MCP_PATH;

mod host_file;
mod jsonc;
mod official_servers;
mod snippet;

/// Print the snippet that connects a host (Claude Code, VS Code, …) to this gateway
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate client claude-desktop --write
  moongate client claude-code
  moongate client vscode --write --file .vscode/mcp.json
  moongate client vscode --http

The snippet goes to stdout; notes on where to put it go to stderr. With --write, the command adds the gateway to the \
host's own configuration file instead, keeps everything else in it, and copies the earlier file to FILE.moongate-backup. Later backups are numbered; none is \
overwritten. \
By default, the host starts its own gateway over stdio. With --http or --url, it connects to a running one.")]
pub(super) struct Client {
    /// Host to connect
    #[arg(value_name = "HOST")]
    host: McpHost,
    /// Add the gateway to the host's configuration file
    #[arg(short, long)]
    write: bool,
    /// File to add the gateway to, instead of the user's own
    #[arg(long, value_name = "FILE", requires = "write")]
    file: Option<PathBuf>,
    /// Connect to a running gateway at `listen` in `[http]`, instead of starting one
    #[arg(long)]
    http: bool,
    /// Connect to the running gateway at this endpoint
    #[arg(long, value_name = "URL", value_parser = endpoint, conflicts_with = "http")]
    url: Option<Url>,
    /// Name for the gateway in the host's configuration
    #[arg(long, value_name = "NAME", default_value = "moongate", value_parser = name)]
    name: String,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: OutputFormat,
}

/// A supported host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum McpHost {
    /// Anthropic's Claude Code
    ClaudeCode,
    /// Anthropic's Claude Desktop
    ClaudeDesktop,
    /// Cursor
    Cursor,
    /// Visual Studio Code
    #[value(name = "vscode")]
    VsCode,
    /// Zed
    Zed,
    /// OpenAI's Codex
    Codex,
    /// The MCP Inspector
    Inspector,
}

/// Parses the name of the gateway, which hosts prepend to tool names; some accept only these characters.
fn name(text: &str) -> Result<String, String> {
    let is_unambiguous_path = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if text.is_empty() || !text.chars().all(is_unambiguous_path) {
        return Err("use only letters, digits, `-` and `_`".to_owned());
    }
    Ok(text.to_owned())
}

impl Client {
    pub(super) fn run(&self, common: &CommonOptions) -> CommandResult {
        let entry = ServerEntry { name: self.name.clone(), connection: self.connection(common)? };
        let Some(Snippet { text, place, note }) = self.host.snippet(&entry) else {
            return Err(CommandError::new(ExitKind::Usage).message(
                "the configuration file of Claude Desktop doesn't support URLs",
                Some("remove `--http` or `--url`; or, if the gateway is public, add it as a connector in the settings"),
            ));
        };
        if self.write {
            return self.write_to_host(&entry, note.as_deref(), common);
        }
        match self.format {
            OutputFormat::Text => print::stdout(&text)?,
            OutputFormat::Json => print::json(&json!({ "text": text, "place": place }))?,
        }
        if !common.quiet {
            print::note(place);
            note.iter().for_each(|note| print::note(note));
            self.authority_note(&entry).iter().for_each(|note| print::note(note));
        }
        Ok(ExitKind::Success)
    }

    /// Adds the gateway to the host's own file.
    fn write_to_host(
        &self,
        entry: &ServerEntry,
        note: Option<&str>,
        common: &CommonOptions,
    ) -> CommandResult {
        let hint = "without `--write`, the command prints what to add";
        if self.host == McpHost::Inspector {
            let message = "the Inspector has no configuration file";
            return Err(CommandError::new(ExitKind::Usage).message(message, Some(hint)));
        }
        let Some(file) = self.file.clone().or_else(|| self.host.user_file()) else {
            let message = "the location of the host's configuration file is unknown, because HOME isn't set";
            return Err(
                CommandError::new(ExitKind::Usage).message(message, Some("name the file with `--file`"))
            );
        };
        let change = host_file::write_entry(self.host, &file, entry)?;
        let shown = file.display().to_string();
        let (effect, sentence) = match &change {
            HostFileChange::Created => ("created", format!("created `{shown}` with `{}`", entry.name)),
            HostFileChange::Updated { .. } => ("updated", format!("added `{}` to `{shown}`", entry.name)),
            HostFileChange::Unchanged => {
                ("unchanged", format!("`{shown}` already contains `{}`", entry.name))
            }
        };
        let backup = match &change {
            HostFileChange::Updated { backup } => Some(backup.display().to_string()),
            HostFileChange::Created | HostFileChange::Unchanged => None,
        };
        match self.format {
            OutputFormat::Text => print::stdout(&format!("{sentence}\n"))?,
            OutputFormat::Json => print::json(&json!({ "file": shown, "effect": effect, "backup": backup }))?,
        }
        if !common.quiet {
            if let Some(backup) = backup {
                print::note(&format!("the earlier content is in `{backup}`"));
            }
            if change != HostFileChange::Unchanged {
                print::note("restart the host, or reload its MCP servers, so that it reads the file");
            }
            note.into_iter().for_each(print::note);
            self.authority_note(entry).iter().for_each(|note| print::note(note));
            self.replaced_server_notes(&file, common).iter().for_each(|note| print::note(note));
        }
        Ok(ExitKind::Success)
    }

    /// A note on certificates of private authorities, if the gateway itself serves HTTPS and the host runs on Node.
    fn authority_note(&self, entry: &ServerEntry) -> Option<String> {
        let GatewayConnection::Http { url, .. } = &entry.connection else { return None };
        (self.http && url.starts_with("https://") && self.host.runs_on_node()).then(|| {
            "if a private authority issued the gateway's certificate, start the host with NODE_EXTRA_CA_CERTS set to the \
             authority's certificate file"
                .to_owned()
        })
    }

    /// A note for each official server in the host's file that a plugin replaces.
    fn replaced_server_notes(&self, file: &Path, common: &CommonOptions) -> Vec<String> {
        if self.url.is_some() {
            return Vec::new(); // the plugins of that gateway are unknown
        }
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let environment = RecordingEnvironment::default();
        let config = configuration::read_with(common.config.as_deref(), &environment).config;
        let plugins = config.iter().flat_map(|config| &config.plugins);
        let builtin: BTreeSet<BuiltinPlugin> = plugins.filter_map(|plugin| plugin.builtin).collect();
        let note = |plugin: BuiltinPlugin| {
            let package = official_servers::replaced_package(&text, plugin)?;
            Some(format!(
                "the file also starts `{package}`; the plugin `{}` replaces it, so remove that server unless you need \
                 both",
                plugin.name()
            ))
        };
        builtin.into_iter().filter_map(note).collect()
    }

    /// The host's connection to the gateway.
    fn connection(&self, common: &CommonOptions) -> Result<GatewayConnection, CommandError> {
        if let Some(url) = &self.url {
            if url.scheme() == "unix" {
                // Hosts don't connect to Unix sockets.
                let arguments = vec!["connect".to_owned(), url.to_string()];
                let program = program_path()?;
                return Ok(GatewayConnection::Stdio { program, arguments, variables: Vec::new() });
            }
            return Ok(GatewayConnection::Http { url: url.to_string(), token: TokenRequirement::Unknown });
        }
        let environment = RecordingEnvironment::default();
        let LoadedConfig { source, config, problems, .. } =
            configuration::read_with(common.config.as_deref(), &environment);
        let Some(gateway) = config else {
            return Err(CommandError::new(ExitKind::Configuration).diagnostics(&problems, &source));
        };
        let listen = gateway.http.listen;
        if self.http && listen.port() == 0 {
            let hint = "pass the listener's address with `--url`; the gateway prints it at startup";
            let message = "the port is unknown: `listen` in `[http]` is port 0";
            return Err(CommandError::new(ExitKind::Usage).message(message, Some(hint)));
        }
        if self.http {
            let HttpConfig { oauth, .. } = &gateway.http;
            if let Some(resource) = oauth.resource.as_ref().filter(|_| !oauth.issuers.is_empty()) {
                // The host gets an access token itself.
                let url = resource.text.to_string();
                return Ok(GatewayConnection::Http { url, token: TokenRequirement::None });
            }
            let token = if gateway.http.requires_tokens() {
                TokenRequirement::Needed
            } else {
                TokenRequirement::None
            };
            return Ok(GatewayConnection::Http { url: reachable_url(&gateway.http), token });
        }
        // A host that starts the gateway needs no token.
        let is_token = |name: &String| {
            gateway.http.tokens.iter().any(|token| token.variable.as_deref() == Some(&**name))
        };
        // TLS uses these without being told; they are worth a note only if the file refers to them.
        let is_implicit =
            |name: &String| name.starts_with("SSL_CERT_") && !source.text.contains(name.as_str());
        let found = environment.found().into_iter();
        let variables = found.filter(|name| !is_token(name) && !is_implicit(name)).collect();
        Ok(stdio_connection(&source.path, variables)?)
    }
}

/// A gateway that the host starts itself.
fn stdio_connection(config: &Path, variables: Vec<String>) -> Result<GatewayConnection> {
    let program = program_path()?;
    let config = std::path::absolute(config)
        .with_context(|| format!("can't resolve the path `{}`", config.display()))?;
    let arguments = ["serve", "--stdio", "--config"].map(str::to_owned).into_iter();
    let arguments = arguments.chain([config.display().to_string()]).collect();
    Ok(GatewayConnection::Stdio { program, arguments, variables })
}

/// The URL for reaching an endpoint from this machine.
fn reachable_url(http: &HttpConfig) -> String {
    let ip = http.listen.ip();
    // A listener on all addresses is reachable at the loopback address.
    let host = match (ip.is_unspecified(), ip.is_ipv6()) {
        _ if let Some(name) = http.tls.as_ref().and_then(certified_host) => name,
        (false, false) => ip.to_string(),
        (false, true) => format!("[{ip}]"),
        (true, false) => "127.0.0.1".to_owned(),
        (true, true) => "[::1]".to_owned(),
    };
    format!("{}://{host}:{}{MCP_PATH}", http.scheme(), http.listen.port())
}

/// The first host name that the certificate is valid for. Hosts refuse it under any other name.
fn certified_host(tls: &TlsConfig) -> Option<String> {
    tls.certificate()?.names.into_iter().find_map(|name| match name {
        CertificateName::Dns(name) if !name.contains('*') => Some(name),
        CertificateName::Dns(_) | CertificateName::Uri(_) | CertificateName::Email(_) => None,
    })
}

/// Stands for a secret that isn't set. It is as long as any secret has to be.
const UNSET_SECRET: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// The environment of this process. It records the variables that the configuration uses, because hosts pass on few.
#[derive(Default)]
struct RecordingEnvironment(RefCell<BTreeSet<String>>);

impl RecordingEnvironment {
    /// The variables that were used.
    fn found(&self) -> Vec<String> {
        self.0.borrow().iter().cloned().collect()
    }
}

impl Environment for RecordingEnvironment {
    fn variable(&self, name: &str) -> Result<String, VarError> {
        let value = ProcessEnvironment.variable(name)?;
        // Hosts pass on HOME, the location of the cache doesn't matter, and an unset TZ is the machine's time zone.
        if !["HOME", "XDG_CACHE_HOME", "TZ"].contains(&name) {
            self.0.borrow_mut().insert(name.to_owned());
        }
        Ok(value)
    }

    /// The host passes on secrets, so this command needs only their names.
    fn secret(&self, name: &str) -> Result<String, VarError> {
        let value = self.variable(name).unwrap_or_default();
        self.0.borrow_mut().insert(name.to_owned());
        if value.is_empty() { Ok(format!("{name}-{UNSET_SECRET}")) } else { Ok(value) }
    }

    fn names(&self) -> Vec<String> {
        ProcessEnvironment.names()
    }
}

/// A path as text, for hosts' configuration files.
fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
