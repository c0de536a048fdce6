//! `call`: one tool, called as a client would: of the configuration, of a bare file, or of a gateway that runs.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use moongate_core::call::{CallError, Failure, Ledger};
use moongate_core::catalog::{Catalog, ToolEntry};
use moongate_core::config::ClientFeature;
use moongate_core::dispatch::DispatchError;
use moongate_core::json::Json;
use moongate_core::mcp::Trouble;
use serde_json::Value;
use url::Url;

use self::given::Answers;
use self::here::Here;
pub(super) use self::remote::{Refusal, Remote, TOKEN};
use self::rounds::{Came, Open};
use crate::cli::{Common, Exit, Format, configuration, print};
use crate::supervisor::{Options, Supervisor};

mod answer;
mod arguments;
mod explain;
mod fields;
mod given;
mod here;
mod questions;
mod remote;
mod rounds;
mod takes;
mod unknown;

/// How to find out what can be called.
const TOOLS: &str = "leave out the tool's name to see which tools there are";

/// Call one tool and print what it answers
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate call time_get_current_time timezone=Asia/Tokyo
  moongate call time_get_current_time --json '{\"timezone\": \"UTC\"}' --format json
  moongate call fetch_fetch url=https://example.com --explain
  moongate call --plugin ./hello.wasm greet name=Ada
  moongate call --url http://127.0.0.1:8931/mcp time_get_current_time timezone=UTC
  moongate call notes_clear --answer sure.sure=true

Without TOOL it says which tools there are. A tool that asks ends the call with its questions and
with the options that answer them; add those to the same call.

The explanation goes to stderr. With `--format json` it is part of the document, as `grants`.
A gateway that wants a bearer token gets the one in the variable MOONGATE_TOKEN.")]
pub(super) struct Call {
    /// The tool, under the name that clients see; with --plugin also under its own
    #[arg(value_name = "TOOL")]
    tool: Option<String>,
    /// Its arguments; a value that reads as JSON is taken as JSON, unless the tool wants a text there
    #[arg(value_name = "NAME=VALUE")]
    pairs: Vec<String>,
    /// All arguments as one JSON object
    #[arg(long, value_name = "OBJECT", conflicts_with = "pairs")]
    json: Option<String>,
    /// Call a tool of this component, whatever the configuration says; it is granted nothing,
    /// but may ask you
    #[arg(long, value_name = "FILE")]
    plugin: Option<PathBuf>,
    /// Call a tool of the gateway that runs at this endpoint
    #[arg(long, value_name = "URL", value_parser = endpoint, conflicts_with_all = ["plugin", "explain"])]
    url: Option<Url>,
    /// Answer a question of the tool: a field of a form as KEY.FIELD=VALUE, a whole form as KEY={…}, KEY=decline or
    /// KEY=cancel; what the model says, or a folder, as KEY=VALUE
    #[arg(long = "answer", value_name = "KEY=VALUE")]
    answers: Vec<String>,
    /// Say to the tool that nobody can be asked, as a client without forms and models does
    #[arg(long, conflicts_with = "answers")]
    no_answers: bool,
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
        let answers = match Answers::read(&self.answers) {
            Ok(answers) => answers,
            Err(why) => {
                print::error(
                    &why,
                    Some("the keys and fields are told where the tool asks, without `--answer`"),
                );
                return Ok(Exit::Usage);
            }
        };
        if let Some(url) = &self.url {
            return self.elsewhere(url, answers).await;
        }
        let loaded = match &self.plugin {
            Some(file) => configuration::load_bare(file, &ClientFeature::ALL).await?,
            None => configuration::load(common, Options::once()).await?,
        };
        match loaded {
            Some(supervisor) => self.here(&supervisor, answers).await,
            None => Ok(Exit::Configuration),
        }
    }

    /// Calls a tool in this process.
    async fn here(&self, supervisor: &Supervisor, mut answers: Answers) -> Result<Exit> {
        let dispatcher = supervisor.dispatcher();
        let catalog = dispatcher.catalog();
        let Some(tool) = &self.tool else { return takes::tools(&self.named(&catalog), self.format) };
        let entry = self.entry(tool, &catalog);
        if entry.is_none()
            && let Some(exit) = unknown::here(tool, &self.pairs, supervisor, &catalog)
        {
            return Ok(exit);
        }
        let name = entry.map_or(&**tool, |entry| entry.public().as_str());
        let schema = entry.and_then(|entry| entry.tool().input_schema.to_value().ok());
        let arguments = match self.arguments(tool, schema.as_ref())? {
            Ok(arguments) => arguments,
            Err(exit) => return Ok(exit),
        };
        let plugin = entry.map(|entry| Arc::clone(entry.member().config()));
        let ledger = plugin.filter(|_| self.explain).map(|plugin| (Arc::new(Ledger::default()), plugin));
        let noted = ledger.as_ref().map(|(ledger, _)| Arc::clone(ledger));
        let here = Here::new(dispatcher, &rounds::capabilities(!self.no_answers), noted)?;
        let called = rounds::converse(&mut answers, async |more| {
            here.request(name, &arguments, more).await.map_err(Failed::Process)?.map_err(Failed::Call)
        });
        let came = match called.await {
            Err(Failed::Process(error)) => return Err(error),
            Err(Failed::Call(trouble)) => Err(trouble),
            Ok(came) => Ok(came),
        };
        let explained = ledger.as_ref().map(|(ledger, plugin)| explain::document(ledger, plugin));
        let in_document = self.format == Format::Json && came.is_ok();
        let exit = match came {
            Ok(Came::Done(result)) => {
                let mut document = answer::document(&result);
                if let Some(explained) = explained {
                    document["grants"] = explained;
                }
                let exit = self.print(&document)?;
                tell_unused(&answers);
                exit
            }
            Ok(Came::Open(open)) => self.open(&open, explained, &answers, entry)?,
            Err(trouble) => self.refused(&trouble, schema.as_ref(), &catalog),
        };
        if let Some((ledger, plugin)) = &ledger
            && !in_document
        {
            print::note(&explain::text(ledger, plugin));
        }
        Ok(exit)
    }

    /// The tool that is meant. Of one component it may be called as the component itself calls it.
    fn entry<'a>(&self, name: &str, catalog: &'a Catalog) -> Option<&'a ToolEntry> {
        let own = || catalog.tools().iter().find(|entry| entry.tool().name.as_str() == name);
        catalog.tool(name).or_else(|| self.plugin.as_ref().and_then(|_| own()))
    }

    /// The tools that there are, under the shortest names that they can be called by, and what is said of each.
    fn named(&self, catalog: &Catalog) -> Vec<(String, String)> {
        let tools = catalog.tools().iter().map(|entry| {
            let (public, tool) = (entry.public().as_str(), entry.tool());
            let name = if self.plugin.is_some() { tool.name.as_str() } else { public };
            (name.to_owned(), tool.description.clone())
        });
        tools.collect()
    }

    /// What the tool gets; or how the process ends, because that can't be read or isn't enough, which was said.
    fn arguments(&self, tool: &str, schema: Option<&Value>) -> Result<Result<Json, Exit>> {
        let arguments = match arguments::object(self.json.as_deref(), &self.pairs, schema) {
            Ok(arguments) => arguments,
            Err(error) => {
                print::error(&format!("{error:#}"), None);
                return Ok(Err(Exit::Usage));
            }
        };
        let Some(schema) = schema else { return Ok(Ok(arguments)) };
        if !takes::lacking(schema, &arguments).is_empty() {
            return takes::refuse(tool, schema, &arguments, self.json.is_some(), self.format).map(Err);
        }
        if schema["additionalProperties"] == false {
            return Ok(Ok(arguments)); // the gateway refuses what isn't known
        }
        for name in takes::unknown(schema, &arguments) {
            let name = print::said(&name);
            print::note(&format!("note: the tool takes no `{name}`; it takes\n{}\n", takes::text(schema)));
        }
        Ok(Ok(arguments))
    }

    /// Calls a tool of a gateway that runs.
    async fn elsewhere(&self, url: &Url, mut answers: Answers) -> Result<Exit> {
        let remote = Remote::new(url.clone(), rounds::capabilities(!self.no_answers))?;
        remote.warn();
        let tools = match remote.tools(self.tool.as_deref()).await {
            Ok(tools) => tools,
            Err(refusal) => return Ok(refusal.report()),
        };
        let Some(name) = &self.tool else {
            let text = |tool: &Value, key: &str| tool[key].as_str().unwrap_or_default().to_owned();
            let tools = tools.iter().map(|tool| (text(tool, "name"), text(tool, "description")));
            return takes::tools(&tools.collect::<Vec<_>>(), self.format);
        };
        let schema = tools.iter().find(|tool| tool["name"] == **name).map(|tool| &tool["inputSchema"]);
        let names = tools.iter().filter_map(|tool| tool["name"].as_str());
        if schema.is_none()
            && let Some(exit) = unknown::two_words(name, &self.pairs, names)
        {
            return Ok(exit);
        }
        let arguments = match self.arguments(name, schema)? {
            Ok(arguments) => arguments,
            Err(exit) => return Ok(exit),
        };
        let schema = schema.unwrap_or(&Value::Null);
        let came =
            rounds::converse(&mut answers, async |more| remote.call(name, &arguments, schema, more).await);
        match came.await {
            Ok(Came::Done(result)) => {
                let exit = self.print(&remote::document(&result))?;
                tell_unused(&answers);
                Ok(exit)
            }
            Ok(Came::Open(open)) => self.open(&open, None, &answers, None),
            Err(Refusal::Error(message)) if schema.is_null() => {
                print::error(&message, Some(TOOLS));
                Ok(Exit::Tool)
            }
            Err(refusal) => Ok(refusal.report()),
        }
    }

    /// Says what nobody answers.
    fn open(
        &self,
        open: &Open,
        explained: Option<Value>,
        answers: &Answers,
        entry: Option<&ToolEntry>,
    ) -> Result<Exit> {
        let exit = open.report(self.format, explained)?;
        if let Some(entry) = entry.filter(|_| self.is_bare()) {
            let id = entry.member().id();
            let asked: Vec<Value> = open.features().into_iter().map(Value::from).collect();
            let asked = Value::from(asked);
            print::note(&format!(
                "note: in gateway.toml such questions need `client = {asked}` in `[plugins.{id}.allow]`\n"
            ));
        }
        tell_unused(answers);
        Ok(exit)
    }

    /// Says why a call came to no result.
    fn refused(&self, trouble: &Trouble, schema: Option<&Value>, catalog: &Catalog) -> Exit {
        match trouble {
            Trouble::Failed(error @ DispatchError::InvalidArguments { .. }) => {
                let takes = schema.map(takes::text).unwrap_or_default();
                print::error_about(&error.to_string(), &takes, self.hint(error, catalog).as_deref());
            }
            Trouble::Failed(error) => print::error(&error.to_string(), self.hint(error, catalog).as_deref()),
            Trouble::Unanswered(plugin, why) => print::error(&format!("plugin `{plugin}`: {why}"), None),
            Trouble::Refused(error) => print::error(&error.error.message, None),
        }
        Exit::Tool
    }

    fn hint(&self, error: &DispatchError, catalog: &Catalog) -> Option<String> {
        match error {
            DispatchError::UnknownTool { .. } => Some(TOOLS.to_owned()),
            DispatchError::InvalidArguments { .. } => Some(match &self.plugin {
                Some(file) => {
                    let file = print::word(&file.to_string_lossy());
                    format!("`moongate inspect {file} --format json` shows the whole schema")
                }
                None => "`moongate list tools --format json` shows what each tool takes".to_owned(),
            }),
            DispatchError::Call { error: CallError::Refused(Failure::MissingCapability(_)), .. } => {
                Some(if self.no_answers {
                    "without `--no-answers` it shows what it asks".to_owned()
                } else {
                    "`call` can't answer that; call it from an MCP client that can".to_owned()
                })
            }
            DispatchError::Call { plugin, error } => {
                let key = error.config_key()?;
                let member = catalog.members().iter().find(|member| member.id() == plugin)?;
                let limits = &member.config().limits;
                let value = limits.more_of(key).or_else(|| limits.value(key)).unwrap_or_default();
                Some(format!(
                    "write `{key} = {value}` in `[plugins.{plugin}.limits]`, if it should have more"
                ))
            }
            DispatchError::UnknownPrompt(_)
            | DispatchError::UnknownTemplate(_)
            | DispatchError::ResourceNotFound(_)
            | DispatchError::MissingArgument { .. } => None,
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

/// Why there is no result of a call in this process.
enum Failed {
    /// The process itself can't go on.
    Process(anyhow::Error),
    /// The call failed.
    Call(Trouble),
}

/// Says which answers nobody asked for.
fn tell_unused(answers: &Answers) {
    for text in answers.unused() {
        print::note(&format!("note: nothing asked for `--answer {}`\n", print::said(text)));
    }
}

impl Refusal {
    /// Says so.
    pub(super) fn report(&self) -> Exit {
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
