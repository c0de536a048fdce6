//! The command line: one struct and one file for each command. Nothing else in the gateway prints.
//!
//! The result of a command goes to stdout, everything else (errors, the banner, log lines) to stderr. With
//! `--format json`, the result is one JSON document; with `--log-format json`, every line on stderr is a JSON object.

use std::iter::successors;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::parser::ValueSource;
use clap::{ArgAction, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

use self::error::CommandError;
use crate::app::{PassedSockets, PassedSocketsError};
use crate::telemetry::{LogFormat, Verbosity, WarningDestination, set_stderr_format};

mod add;
mod admin_client;
mod audit;
mod build;
mod call;
mod check;
mod client;
mod client_tls;
mod completions;
mod configuration;
mod connect;
mod connection_failure;
mod dev;
mod error;
mod fetch;
mod mcp_client;
mod schema_fields;
mod health;
mod init;
mod inspect;
mod list;
mod logs;
mod man;
mod new;
mod print;
mod program;
mod prompt;
mod push;
mod reload;
mod remote_plugins;
mod remove;
mod schema;
mod serve;
mod state;
mod stderr;
mod top;
mod update;
mod usage;
mod version;

/// The exit codes of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitKind {
    /// The command succeeded.
    Success,
    /// The command failed for a reason that has no code of its own, or the answer to its question was no.
    Failure,
    /// The command line is invalid, or doesn't confirm what the command can't ask; clap uses the same code.
    Usage,
    /// The gateway rejected the token, or requires one.
    Unauthorized,
    /// No gateway responds.
    Unreachable,
    /// The tool can't be called (it doesn't exist, needs arguments or asked a question), or it returned an error.
    Tool,
    /// The configuration or one of its plugins is invalid (`EX_CONFIG` of sysexits.h: a service manager shouldn't
    /// restart the process).
    Configuration,
}

impl ExitKind {
    /// The exit code as a number.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::Usage => 2,
            Self::Unauthorized => 3,
            Self::Unreachable => 4,
            Self::Tool => 5,
            Self::Configuration => 78,
        }
    }
}

impl From<ExitKind> for ExitCode {
    fn from(exit: ExitKind) -> Self {
        Self::from(exit.code())
    }
}

const AFTER_HELP: &str = "\
Examples:
  moongate add filesystem ~/notes    add a plugin that is part of the gateway
  moongate client cursor --write     connect a host to the gateway
  moongate serve                     serve over HTTP, at the address in gateway.toml
  moongate serve --stdio             serve the host that started the process
  moongate check                     report all problems in gateway.toml
  moongate inspect ./hello.wasm      show what a component offers and needs
  moongate new hello                 create a plugin project
  moongate build                     build the plugin in the current directory
  moongate dev                       build and serve it, and replace it after each save
  moongate call time_convert_time source_timezone=UTC time=12:00 target_timezone=Asia/Tokyo

Exit codes:
   0  success
   1  failure, or you answered no
   2  invalid command line
   3  missing or invalid token or client certificate
   4  no gateway responds
   5  the tool can't be called, or returned an error
  78  the configuration or one of its plugins is invalid";

/// An MCP gateway whose tools are WebAssembly components
#[derive(Debug, Parser)]
#[command(
    name = "moongate",
    version = version::GATEWAY_VERSION,
    long_version = version::long(),
    after_help = AFTER_HELP
)]
#[command(arg_required_else_help = true, infer_subcommands = false)]
pub struct Cli {
    #[command(flatten)]
    common: CommonOptions,
    #[command(subcommand)]
    verb: CliCommand,
    /// True if errors are printed as a JSON document.
    #[arg(skip)]
    is_json: bool,
}

/// The options of every command.
#[derive(Debug, Clone, Args)]
struct CommonOptions {
    /// Configuration file [default: ./gateway.toml, then moongate/gateway.toml in $XDG_CONFIG_HOME or ~/.config]
    #[arg(short, long, global = true, value_name = "FILE", env = "MOONGATE_CONFIG", hide_env_values = true)]
    config: Option<PathBuf>,
    /// True if the command line, not a variable, names the configuration.
    #[arg(skip)]
    is_config_typed: bool,
    /// Log more; repeat for debug output. MOONGATE_LOG and RUST_LOG take precedence
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "quiet")]
    verbose: u8,
    /// Log errors only
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Format of log lines, and of everything else on stderr
    #[arg(
        long,
        global = true,
        value_name = "FORMAT",
        default_value = "text",
        env = "MOONGATE_LOG_FORMAT",
        hide_env_values = true
    )]
    log_format: OutputFormat,
}

/// The format of output or log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OutputFormat {
    /// Human-readable text
    Text,
    /// JSON
    Json,
}

#[derive(Debug, Subcommand)]
enum CliCommand {
    Init(init::Init),
    #[command(alias = "install")]
    Add(add::Add),
    #[command(aliases = ["rm", "uninstall"])]
    Remove(remove::Remove),
    #[command(aliases = ["run", "start"])]
    Serve(serve::Serve),
    #[command(alias = "validate")]
    Check(check::Check),
    #[command(alias = "ls")]
    List(list::List),
    Inspect(inspect::Inspect),
    Call(call::Call),
    Reload(reload::Reload),
    Health(health::Health),
    Logs(logs::Logs),
    Top(top::Top),
    Audit(audit::Audit),
    State(state::StateTool),
    Fetch(fetch::Fetch),
    Update(update::Update),
    Push(push::Push),
    New(new::New),
    Build(build::Build),
    Dev(dev::Dev),
    Client(client::Client),
    Connect(connect::Connect),
    Schema(schema::Schema),
    Completions(completions::Completions),
    #[command(hide = true)]
    Version(version::Version),
    #[command(hide = true)]
    Man(man::Man),
}

impl Cli {
    /// Parses the process's arguments.
    ///
    /// # Errors
    /// The arguments request help or are invalid. The text is already printed, and the process should exit.
    pub fn read() -> Result<Self, ExitKind> {
        let read = Self::command().try_get_matches().and_then(|matches| {
            let innermost = successors(Some(&matches), |matches| Some(matches.subcommand()?.1)).last();
            let format = innermost.and_then(|matches| matches.try_get_one("format").ok().flatten());
            let is_json = format == Some(&OutputFormat::Json);
            let mut cli = Self { is_json, ..Self::from_arg_matches(&matches)? };
            cli.common.is_config_typed = matches.value_source("config") == Some(ValueSource::CommandLine);
            Ok(cli)
        });
        read.inspect(|cli: &Self| set_stderr_format(cli.log_format())).map_err(usage::report)
    }

    /// The format of log lines.
    #[must_use]
    pub fn log_format(&self) -> LogFormat {
        match self.common.log_format {
            OutputFormat::Text => LogFormat::Text,
            OutputFormat::Json => LogFormat::Json,
        }
    }

    /// The verbosity of the log. Commands other than `serve` and `dev` report problems themselves, so they log
    /// less.
    #[must_use]
    pub fn verbosity(&self) -> Verbosity {
        let looks = match self.verb {
            CliCommand::Serve(_) | CliCommand::Dev(_) => false,
            CliCommand::Init(_)
            | CliCommand::Add(_)
            | CliCommand::Remove(_)
            | CliCommand::Version(_)
            | CliCommand::Check(_)
            | CliCommand::List(_)
            | CliCommand::Inspect(_)
            | CliCommand::Call(_)
            | CliCommand::Reload(_)
            | CliCommand::Health(_)
            | CliCommand::Logs(_)
            | CliCommand::Top(_)
            | CliCommand::Audit(_)
            | CliCommand::State(_)
            | CliCommand::Fetch(_)
            | CliCommand::Update(_)
            | CliCommand::Push(_)
            | CliCommand::New(_)
            | CliCommand::Build(_)
            | CliCommand::Client(_)
            | CliCommand::Connect(_)
            | CliCommand::Schema(_)
            | CliCommand::Completions(_)
            | CliCommand::Man(_) => true,
        };
        let is_bare = match &self.verb {
            CliCommand::Inspect(inspect) => inspect.is_bare(),
            CliCommand::Call(call) => call.is_bare(),
            CliCommand::Update(_) | CliCommand::Push(_) => true,
            CliCommand::Serve(_)
            | CliCommand::Init(_)
            | CliCommand::Add(_)
            | CliCommand::Remove(_)
            | CliCommand::Version(_)
            | CliCommand::Check(_)
            | CliCommand::List(_)
            | CliCommand::Reload(_)
            | CliCommand::Health(_)
            | CliCommand::Logs(_)
            | CliCommand::Top(_)
            | CliCommand::Audit(_)
            | CliCommand::State(_)
            | CliCommand::Fetch(_)
            | CliCommand::New(_)
            | CliCommand::Build(_)
            | CliCommand::Dev(_)
            | CliCommand::Client(_)
            | CliCommand::Connect(_)
            | CliCommand::Schema(_)
            | CliCommand::Completions(_)
            | CliCommand::Man(_) => false,
        };
        match (self.common.quiet, self.common.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, 0) if self.warning_destination() == WarningDestination::Command => Verbosity::Silent,
            (false, 0) if is_bare => Verbosity::Ungranted,
            (false, 0) if looks => Verbosity::Low,
            (false, 0) if matches!(self.verb, CliCommand::Dev(_)) => Verbosity::Author,
            (false, 0) => Verbosity::Normal,
            (false, 1) => Verbosity::Verbose,
            (false, _) => Verbosity::Debugging,
        }
    }

    /// The destination of warnings: `check` reports them with the other problems.
    #[must_use]
    pub fn warning_destination(&self) -> WarningDestination {
        if matches!(self.verb, CliCommand::Check(_)) {
            WarningDestination::Command
        } else {
            WarningDestination::Log
        }
    }

    /// Takes the sockets that the service manager passed to `serve`. Call this before another thread starts.
    ///
    /// # Errors
    /// A socket can't be used.
    pub fn take_passed_sockets(&mut self) -> Result<(), PassedSocketsError> {
        if let CliCommand::Serve(serve) = &mut self.verb {
            serve.use_sockets(PassedSockets::take()?);
        }
        Ok(())
    }

    /// Runs the command and reports its error.
    pub async fn run(self) -> ExitKind {
        let Self { common, verb, is_json } = self;
        let done = match verb {
            CliCommand::Init(init) => init.run(&common),
            CliCommand::Add(add) => add.run(&common).await,
            CliCommand::Remove(remove) => remove.run(&common),
            CliCommand::Version(version) => version.run().map_err(CommandError::from),
            CliCommand::Serve(serve) => serve.run(&common).await.map_err(CommandError::from),
            CliCommand::Check(check) => check.run(&common).await,
            CliCommand::List(list) => list.run(&common).await,
            CliCommand::Inspect(inspect) => inspect.run(&common).await,
            CliCommand::Call(call) => call.run(&common).await,
            CliCommand::Reload(reload) => reload.run(&common).await,
            CliCommand::Health(health) => health.run(&common).await,
            CliCommand::Logs(logs) => logs.run(&common).await,
            CliCommand::Top(top) => top.run(&common).await,
            CliCommand::Audit(audit) => audit.run(&common),
            CliCommand::State(state) => state.run(&common).await,
            CliCommand::Fetch(fetch) => fetch.run(&common).await,
            CliCommand::Update(update) => update.run(&common).await,
            CliCommand::Push(push) => push.run(&common).await,
            CliCommand::New(new) => new.run(&common),
            CliCommand::Build(build) => build.run(&common),
            CliCommand::Dev(dev) => dev.run(&common).await,
            CliCommand::Client(client) => client.run(&common),
            CliCommand::Connect(connect) => connect.run(&common).await,
            CliCommand::Schema(schema) => schema.run().map_err(CommandError::from),
            CliCommand::Completions(completions) => completions.run().map_err(CommandError::from),
            CliCommand::Man(man) => man.run().map_err(CommandError::from),
        };
        done.unwrap_or_else(|failure| failure.report(is_json))
    }

    /// Reports an error that keeps the process from starting, and returns the exit code.
    pub fn fail(&self, error: &anyhow::Error, exit: ExitKind) -> ExitKind {
        CommandError::new(exit).message(&format!("{error:#}"), None).report(self.is_json)
    }
}

#[cfg(test)]
mod tests;
