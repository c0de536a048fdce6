//! The command line: one struct per verb, each in a file of its own. Nothing else in the gateway prints.
//!
//! What a command was asked for goes to stdout; everything else (problems, the banner, log lines) to stderr. The
//! same verbs, flags and exit codes serve people and scripts: `--format json` makes one document of the answer.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::parser::ValueSource;
use clap::{ArgAction, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

use self::failure::Failure;
use crate::telemetry::{LogFormat, Verbosity};

mod ask;
mod call;
mod check;
mod client;
mod completions;
mod configuration;
mod failure;
mod fields;
mod health;
mod inspect;
mod list;
mod new;
mod print;
mod reload;
mod schema;
mod serve;
mod usage;
mod version;

/// What the process says at its end, for scripts and service managers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It is done.
    Success,
    /// It failed for a reason that isn't below.
    Failure,
    /// The command line doesn't read; clap's own code.
    Usage,
    /// The gateway wants a token, or another one.
    Unauthorized,
    /// No gateway answers.
    Unreachable,
    /// The tool couldn't be called, because it isn't there, lacks arguments or asks; or it reported an error.
    Tool,
    /// The configuration or one of its plugins can't be used (`EX_CONFIG` of sysexits.h: a service manager
    /// shouldn't try again).
    Configuration,
}

impl Exit {
    /// The number.
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

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

const AFTER_HELP: &str = "\
Examples:
  moongate serve                     over HTTP, at the address in gateway.toml
  moongate serve --stdio             to the host that started the process
  moongate check                     every mistake in gateway.toml at once
  moongate inspect ./hello.wasm      what a component offers, and what it asks for
  moongate new hello                 a plugin's project
  moongate call time_convert_time source_timezone=UTC time=12:00 target_timezone=Asia/Tokyo

Exit codes:
   0  done
   1  failed
   2  the command line is wrong
   3  the gateway wants a token, or another one
   4  no gateway answers
   5  the tool couldn't be called, or reported an error
  78  the configuration or one of its plugins can't be used";

/// An MCP gateway whose tools are WebAssembly components
#[derive(Debug, Parser)]
#[command(name = "moongate", version = version::SHORT, long_version = version::long(), after_help = AFTER_HELP)]
#[command(arg_required_else_help = true, infer_subcommands = false, disable_help_subcommand = true)]
pub struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    verb: Verb,
    /// Is the answer to be one JSON document?
    #[arg(skip)]
    is_document: bool,
}

/// What every verb takes.
#[derive(Debug, Args)]
struct Common {
    /// The configuration [default: ./gateway.toml, then moongate/gateway.toml in $XDG_CONFIG_HOME or ~/.config]
    #[arg(short, long, global = true, value_name = "FILE", env = "MOONGATE_CONFIG", hide_env_values = true)]
    config: Option<PathBuf>,
    /// Was it named on the command line?
    #[arg(skip)]
    is_config_typed: bool,
    /// Log more; twice for everything. MOONGATE_LOG and RUST_LOG override it
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "quiet")]
    verbose: u8,
    /// Log errors only
    #[arg(short, long, global = true)]
    quiet: bool,
    /// How log lines look
    #[arg(
        long,
        global = true,
        value_name = "FORMAT",
        default_value = "text",
        env = "MOONGATE_LOG_FORMAT",
        hide_env_values = true
    )]
    log_format: Format,
}

/// Text for people, or JSON for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

#[derive(Debug, Subcommand)]
enum Verb {
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
    #[command(alias = "init")]
    New(new::New),
    Client(client::Client),
    Schema(schema::Schema),
    Completions(completions::Completions),
}

impl Cli {
    /// Reads the process's arguments.
    ///
    /// # Errors
    /// They ask for help or don't read. What there is to say was said, and the process ends.
    pub fn read() -> Result<Self, Exit> {
        let read = Self::command().try_get_matches().and_then(|matches| {
            let of_verb = matches.subcommand().map(|(_, matches)| matches);
            let format = of_verb.and_then(|matches| matches.try_get_one::<Format>("format").ok().flatten());
            let is_document = format == Some(&Format::Json);
            let mut cli = Self { is_document, ..Self::from_arg_matches(&matches)? };
            cli.common.is_config_typed = matches.value_source("config") == Some(ValueSource::CommandLine);
            Ok(cli)
        });
        read.map_err(usage::report)
    }

    /// How log lines should look.
    #[must_use]
    pub fn log_format(&self) -> LogFormat {
        match self.common.log_format {
            Format::Text => LogFormat::Text,
            Format::Json => LogFormat::Json,
        }
    }

    /// How much should be logged. Commands that only look say what is wrong themselves.
    #[must_use]
    pub fn verbosity(&self) -> Verbosity {
        let looks = match self.verb {
            Verb::Serve(_) => false,
            Verb::Check(_)
            | Verb::List(_)
            | Verb::Inspect(_)
            | Verb::Call(_)
            | Verb::Reload(_)
            | Verb::Health(_)
            | Verb::New(_)
            | Verb::Client(_)
            | Verb::Schema(_)
            | Verb::Completions(_) => true,
        };
        let is_bare = match &self.verb {
            Verb::Inspect(inspect) => inspect.is_bare(),
            Verb::Call(call) => call.is_bare(),
            Verb::Serve(_)
            | Verb::Check(_)
            | Verb::List(_)
            | Verb::Reload(_)
            | Verb::Health(_)
            | Verb::New(_)
            | Verb::Client(_)
            | Verb::Schema(_)
            | Verb::Completions(_) => false,
        };
        match (self.common.quiet, self.common.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, 0) if is_bare => Verbosity::Ungranted,
            (false, 0) if looks => Verbosity::Low,
            (false, 0) => Verbosity::Normal,
            (false, 1) => Verbosity::Verbose,
            (false, _) => Verbosity::Debugging,
        }
    }

    /// Does what was asked for, and says what went wrong.
    pub async fn run(self) -> Exit {
        let Self { common, verb, is_document } = self;
        let done = match verb {
            Verb::Serve(serve) => serve.run(&common).await.map_err(Failure::from),
            Verb::Check(check) => check.run(&common).await,
            Verb::List(list) => list.run(&common).await,
            Verb::Inspect(inspect) => inspect.run(&common).await,
            Verb::Call(call) => call.run(&common).await,
            Verb::Reload(reload) => reload.run(&common).await,
            Verb::Health(health) => health.run(&common).await,
            Verb::New(new) => new.run(&common),
            Verb::Client(client) => client.run(&common),
            Verb::Schema(schema) => schema.run().map_err(Failure::from),
            Verb::Completions(completions) => completions.run().map_err(Failure::from),
        };
        done.unwrap_or_else(|failure| failure.report(is_document))
    }

    /// Says why the process can't begin, and what it ends with.
    pub fn fail(&self, error: &anyhow::Error, exit: Exit) -> Exit {
        Failure::new(exit).says(&format!("{error:#}"), None).report(self.is_document)
    }
}

#[cfg(test)]
mod tests;
