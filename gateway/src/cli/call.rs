//! `call`: one tool, called as a client would: of the configuration, of a bare file, or of a gateway that runs.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use moongate_core::call::{CallContext, Entry, Ledger, NeedInput, Outcome, ToolResult};
use moongate_core::catalog::{Catalog, ToolEntry};
use moongate_core::config::{ClientFeature, PluginConfig};
use moongate_core::dispatch::{Answered, Arguments, DispatchError};
use moongate_core::json::Json;
use moongate_core::names::Principal;
use serde_json::Value;
use url::Url;

pub(super) use self::remote::TOKEN;
use self::remote::{Refusal, Remote};
use crate::cli::{Common, Exit, Format, configuration, print};
use crate::supervisor::{Options, Supervisor};

mod answer;
mod arguments;
mod explain;
mod remote;

/// Call one tool and print what it answers
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate call time_get_current_time timezone=Asia/Tokyo
  moongate call time_get_current_time --json '{\"timezone\": \"UTC\"}' --format json
  moongate call fetch_fetch url=https://example.com --explain
  moongate call --plugin ./hello.wasm greet name=Ada
  moongate call --url http://127.0.0.1:8931/mcp time_get_current_time timezone=UTC

The explanation goes to stderr. With `--format json` it is part of the document, as `grants`.
A gateway that wants a bearer token gets the one in the variable MOONGATE_TOKEN.")]
pub(super) struct Call {
    /// The tool, under the name that clients see; with --plugin also under its own
    #[arg(value_name = "TOOL")]
    tool: String,
    /// Its arguments; a value that reads as JSON is taken as JSON, unless the tool wants a text there
    #[arg(value_name = "NAME=VALUE")]
    pairs: Vec<String>,
    /// All arguments as one JSON object
    #[arg(long, value_name = "OBJECT", conflicts_with = "pairs")]
    json: Option<String>,
    /// Call a tool of this component, whatever the configuration says; it is granted nothing
    #[arg(long, value_name = "FILE")]
    plugin: Option<PathBuf>,
    /// Call a tool of the gateway that runs at this endpoint
    #[arg(long, value_name = "URL", value_parser = endpoint, conflicts_with_all = ["plugin", "explain"])]
    url: Option<Url>,
    /// Also say which grants the call used, which it lacked and which limits held it back, and what would change that
    #[arg(long)]
    explain: bool,
    /// How to print the answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

/// The address of a gateway.
pub(super) fn endpoint(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok().filter(|url| ["http", "https"].contains(&url.scheme()) && url.has_host());
    let url = url.ok_or("write the whole address, such as http://127.0.0.1:8931/mcp")?;
    // It would stand in messages, in the list of processes and in the shell's history.
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "leave the name and the password out; a token goes into the variable MOONGATE_TOKEN".to_owned()
        );
    }
    Ok(url)
}

impl Call {
    /// Is it about a file alone, which nothing is granted to?
    pub(super) fn is_bare(&self) -> bool {
        self.plugin.is_some()
    }

    pub(super) async fn run(self, common: &Common) -> Result<Exit> {
        if let Some(url) = &self.url {
            return self.elsewhere(url).await;
        }
        let loaded = match &self.plugin {
            Some(file) => configuration::load_bare(file).await?,
            None => configuration::load(common, Options::once()).await?,
        };
        match loaded {
            Some(supervisor) => self.here(&supervisor).await,
            None => Ok(Exit::Configuration),
        }
    }

    /// Calls a tool in this process.
    async fn here(&self, supervisor: &Supervisor) -> Result<Exit> {
        let dispatcher = supervisor.dispatcher();
        let catalog = dispatcher.catalog();
        let entry = self.entry(&catalog);
        let name = entry.map_or(&*self.tool, |entry| entry.public().as_str());
        let schema = entry.and_then(|entry| entry.tool().input_schema.to_value().ok());
        let arguments = match self.arguments(schema.as_ref()) {
            Ok(arguments) => arguments,
            Err(exit) => return Ok(exit),
        };
        let arguments = Arguments::parse(arguments.get())?;
        let plugin = entry.map(|entry| Arc::clone(entry.member().config()));
        let ledger = plugin.filter(|_| self.explain).map(|plugin| (Arc::new(Ledger::default()), plugin));
        let context = Arc::new(CallContext {
            ledger: ledger.as_ref().map(|(ledger, _)| Arc::clone(ledger)),
            ..CallContext::internal(Principal::Local)
        });
        let answered = dispatcher.call_tool(&catalog, &context, name, &arguments).await;
        if let (Some((ledger, plugin)), Ok(Answered { outcome: Outcome::NeedInput(need), .. })) =
            (&ledger, &answered)
        {
            note_questions(ledger, plugin, need);
        }
        let explained = ledger.as_ref().map(|(ledger, plugin)| explain::document(ledger, plugin));
        let in_document = self.format == Format::Json
            && matches!(&answered, Ok(Answered { outcome: Outcome::Done(_), .. }));
        let exit = self.show(answered, explained, &catalog)?;
        if let Some((ledger, plugin)) = &ledger
            && !in_document
        {
            print::note(&explain::text(ledger, plugin));
        }
        Ok(exit)
    }

    /// The tool that is meant. Of one component it may be called as the component itself calls it.
    fn entry<'a>(&self, catalog: &'a Catalog) -> Option<&'a ToolEntry> {
        let own = || catalog.tools().iter().find(|entry| entry.tool().name.as_str() == self.tool);
        catalog.tool(&self.tool).or_else(|| self.plugin.as_ref().and_then(|_| own()))
    }

    /// What the tool gets; or how the process ends, because that can't be read, which was said.
    fn arguments(&self, schema: Option<&Value>) -> Result<Json, Exit> {
        arguments::object(self.json.as_deref(), &self.pairs, schema).map_err(|error| {
            print::error(&format!("{error:#}"), None);
            Exit::Usage
        })
    }

    /// Calls a tool of a gateway that runs.
    async fn elsewhere(&self, url: &Url) -> Result<Exit> {
        let remote = Remote::new(url.clone())?;
        if remote.tells_its_token() {
            print::note(
                "note: the token goes to another machine unencrypted; https would keep it to itself\n",
            );
        }
        let schema = match remote.schema(&self.tool).await {
            Ok(schema) => schema,
            Err(refusal) => return Ok(refusal.report()),
        };
        let arguments = match self.arguments(schema.as_ref()) {
            Ok(arguments) => arguments,
            Err(exit) => return Ok(exit),
        };
        match remote.call(&self.tool, &arguments, &schema.unwrap_or_default()).await {
            Ok(result) => match remote::document(&result) {
                Ok(document) => self.print(&document),
                Err(methods) => Ok(unanswerable(&methods)),
            },
            Err(refusal) => Ok(refusal.report()),
        }
    }

    /// Prints what the call came to.
    fn show(
        &self,
        answered: Result<Answered<ToolResult>, DispatchError>,
        explained: Option<Value>,
        catalog: &Catalog,
    ) -> Result<Exit> {
        match answered {
            Ok(answered) => match answered.outcome {
                Outcome::Done(result) => {
                    let mut document = answer::document(&result);
                    if let Some(explained) = explained {
                        document["grants"] = explained;
                    }
                    self.print(&document)
                }
                Outcome::NeedInput(NeedInput { requests, .. }) => {
                    Ok(unanswerable(&requests.iter().map(|request| &*request.method).collect::<Vec<_>>()))
                }
            },
            Err(error) => {
                print::error(&error.to_string(), hint(&error, catalog).as_deref());
                Ok(Exit::Tool)
            }
        }
    }

    fn print(&self, document: &Value) -> Result<Exit> {
        match self.format {
            Format::Text => print::foreign(&answer::text(document))?,
            Format::Json => print::json(document)?,
        }
        Ok(if document["isError"] == true { Exit::Tool } else { Exit::Success })
    }
}

/// Notes which features of a client the questions are about, and whether they are granted.
fn note_questions(ledger: &Ledger, plugin: &PluginConfig, need: &NeedInput) {
    for request in &need.requests {
        let word = request.method.split('/').next().unwrap_or_default();
        let Some(feature) = ClientFeature::ALL.into_iter().find(|feature| feature.as_str() == word) else {
            continue;
        };
        ledger.note(if plugin.allow.client.contains(&feature) {
            Entry::Used(format!("client {word}"))
        } else {
            let cure = Some(format!("client = [\"{word}\"]"));
            Entry::Lacked { wanted: format!("to ask the client for {word}"), cure }
        });
    }
}

/// There is no client at the other end that could be asked.
fn unanswerable(methods: &[impl AsRef<str>]) -> Exit {
    let methods: Vec<_> =
        methods.iter().map(|method| format!("`{}`", print::said(method.as_ref()))).collect();
    print::error(
        &format!("the tool asks its client for input ({}), which `call` can't give", methods.join(", ")),
        Some("call it from an MCP client that answers such questions"),
    );
    Exit::Tool
}

impl Refusal {
    /// Says so.
    fn report(&self) -> Exit {
        let (message, hint, exit) = match self {
            Self::Unreachable(message) => {
                (message, "`moongate serve` says at which address it is", Exit::Unreachable)
            }
            Self::Unauthorized(message) => (
                message,
                "set the variable MOONGATE_TOKEN to one of the tokens under `[http.auth]`",
                Exit::Unauthorized,
            ),
            Self::Error(message) => (message, "the gateway's own log may say more", Exit::Tool),
        };
        print::error(message, Some(hint));
        exit
    }
}

fn hint(error: &DispatchError, catalog: &Catalog) -> Option<String> {
    match error {
        DispatchError::UnknownTool { .. } => Some("`moongate list tools` shows what there is".to_owned()),
        DispatchError::InvalidArguments { .. } => {
            Some("`moongate list tools --format json` shows what each tool takes".to_owned())
        }
        DispatchError::Call { plugin, error } => {
            let key = error.config_key()?;
            let member = catalog.members().iter().find(|member| member.id() == plugin)?;
            let value = member.config().limits.value(key).unwrap_or_default();
            Some(format!("raise `{key} = {value}` in `[plugins.{plugin}.limits]`, if it should have more"))
        }
        DispatchError::UnknownPrompt(_)
        | DispatchError::UnknownTemplate(_)
        | DispatchError::ResourceNotFound(_)
        | DispatchError::MissingArgument { .. } => None,
    }
}
