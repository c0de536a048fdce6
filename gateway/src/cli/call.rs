//! `call`: one tool, called as a client would: of the configuration, of a bare file, or of a gateway that runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use moongate_core::config::ClientFeature;
use moongate_model::call::{self, CallError, Ledger};
use moongate_model::json::Json;
use moongate_protocol::catalog::{Catalog, ToolEntry};
use moongate_protocol::dispatch::DispatchError;
use moongate_protocol::mcp::Trouble;
use serde_json::Value;
use url::Url;

use self::given::Answers;
use self::here::{Failed, Here};
pub(super) use self::remote::{Refusal, Remote, TOKEN};
use self::rounds::{Came, Open};
use crate::cli::failure::{Done, Failure};
use crate::cli::{Common, Exit, Format, configuration, print};
use crate::supervisor::{Options, Supervisor};

mod answer;
mod arguments;
mod explain;
mod given;
mod here;
mod questions;
mod remote;
mod rounds;
mod takes;
mod unknown;

/// How to find out what can be called.
const TOOLS: &str = "leave out the tool's name to see which tools there are";

/// How long a gateway may say nothing, in seconds, where nobody says otherwise.
pub(super) const SILENCE: u64 = 60;

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

Without TOOL it says which tools there are. A tool that asks ends the call with its questions and with the options that \
answer them; add those to the same call.

--explain writes to stderr, or with `--format json` into the document, as `grants`, whether the call succeeds or fails. \
With --url a bearer token is taken from the variable MOONGATE_TOKEN.")]
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
    /// How long the gateway at --url may say nothing, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = SILENCE, requires = "url", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// Answer a question of the tool: a field of a form as KEY.FIELD=VALUE, a whole form as KEY={…}, KEY=decline or
    /// KEY=cancel; a page as KEY=opened, what the model says as KEY=TEXT, a folder as KEY=PATH. What is sent is said
    #[arg(long = "answer", value_name = "KEY=VALUE")]
    answers: Vec<String>,
    /// Say to the tool that nobody can be asked, as a client without forms and models does
    #[arg(long, conflicts_with = "answers")]
    no_answers: bool,
    /// Also say which grants the call used, which it lacked, which limits held it back, and what would change that
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

    pub(super) async fn run(self, common: &Common) -> Done {
        let answers = Answers::read(&self.answers).map_err(|why| {
            let hint = "the keys and fields are told where the tool asks, without `--answer`";
            Failure::new(Exit::Usage).says(&why, Some(hint))
        })?;
        if let Some(url) = &self.url {
            return self.elsewhere(url, answers, common).await;
        }
        let supervisor = match &self.plugin {
            Some(file) => configuration::load_bare(file, &ClientFeature::ALL).await?,
            None => configuration::load(common, Options::once()).await?,
        };
        // A plugin that can't be used may be why.
        self.here(&supervisor, answers, common).await.map_err(|failure| failure.after(supervisor.problems()))
    }

    /// Calls a tool in this process.
    async fn here(&self, supervisor: &Supervisor, mut answers: Answers, common: &Common) -> Done {
        let dispatcher = supervisor.dispatcher();
        let catalog = dispatcher.catalog();
        let Some(tool) = &self.tool else { return Err(takes::unnamed(&self.named(&catalog))) };
        let entry = self.entry(tool, &catalog);
        if entry.is_none()
            && let Some(failure) = unknown::here(tool, &self.pairs, supervisor, &catalog)
        {
            return Err(failure);
        }
        let name = entry.map_or(&**tool, |entry| entry.public().as_str());
        let schema = entry.and_then(|entry| entry.tool().input_schema.to_value().ok());
        let arguments = self.arguments(tool, schema.as_ref(), common)?;
        let plugin =
            entry.filter(|_| self.explain).and_then(|entry| supervisor.plugin_config(entry.member().id()));
        let ledger = plugin.map(|plugin| (Arc::new(Ledger::default()), plugin));
        let noted = ledger.as_ref().map(|(ledger, _)| Arc::clone(ledger));
        let here = Here::new(dispatcher, &rounds::capabilities(!self.no_answers), noted)?;
        let called =
            rounds::converse(&mut answers, async |more| here.request(name, &arguments, more).await).await;
        let explained = ledger.as_ref().map(|(ledger, plugin)| Explained {
            text: explain::text(ledger, plugin),
            document: explain::document(ledger, plugin),
        });
        let failure = match called {
            Ok(Came::Done(result)) => return self.print(answer::document(&result), explained, &answers),
            Ok(Came::Open(open)) => {
                let failure = open.failure();
                let table = entry.filter(|_| self.is_bare()).map(|entry| needed(entry, &open));
                failure.notes(&table.unwrap_or_default()).notes(&unused(&answers))
            }
            Err(Failed::Process(error)) => error.into(),
            Err(Failed::Call(trouble)) => self.refused(&trouble, schema.as_ref(), supervisor),
        };
        Err(match (explained, self.format) {
            (Some(Explained { text, .. }), Format::Text) => failure.notes(&text),
            (Some(Explained { document, .. }), Format::Json) => failure.with("grants", document),
            (None, _) => failure,
        })
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

    /// What the tool gets.
    ///
    /// # Errors
    /// It can't be read, or something is missing.
    fn arguments(&self, tool: &str, schema: Option<&Value>, common: &Common) -> Result<Json, Failure> {
        let arguments = arguments::object(self.json.as_deref(), &self.pairs, schema)
            .map_err(|error| Failure::new(Exit::Usage).says(&format!("{error:#}"), None))?;
        let Some(schema) = schema else { return Ok(arguments) };
        if !takes::lacking(schema, &arguments).is_empty() {
            let words = match &self.json {
                Some(_) => vec!["--json".to_owned(), takes::object(schema, &arguments).to_string()],
                None => takes::pairs(schema, &arguments, self.pairs.clone()),
            };
            return Err(takes::refusal(tool, schema, &arguments, &self.command(common, tool, &words)));
        }
        // The gateway refuses what isn't known where the schema says so.
        if schema["additionalProperties"] != false
            && let Some(said) = takes::passed_on(schema, &arguments)
        {
            print::remark(&said);
        }
        Ok(arguments)
    }

    /// The command line of this call, with these words for what the tool gets. How it logs makes no difference.
    fn command(&self, common: &Common, tool: &str, arguments: &[String]) -> String {
        let path = |path: &PathBuf| path.to_string_lossy().into_owned();
        let config = common.config.as_ref().filter(|_| common.is_config_typed);
        let options = [
            ("--config", config.map(path)),
            ("--plugin", self.plugin.as_ref().map(path)),
            ("--url", self.url.as_ref().map(Url::to_string)),
            ("--timeout", (self.timeout != SILENCE).then(|| self.timeout.to_string())),
        ];
        let flags = [("--no-answers", self.no_answers), ("--explain", self.explain)];
        let mut words = vec![print::program(), "call".to_owned()];
        words.extend(
            options.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value?])).flatten(),
        );
        words.push(tool.to_owned());
        words.extend_from_slice(arguments);
        words.extend(self.answers.iter().flat_map(|answer| ["--answer".to_owned(), answer.clone()]));
        words.extend(flags.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name.to_owned()));
        if self.format == Format::Json {
            words.extend(["--format", "json"].map(str::to_owned));
        }
        words.iter().map(|word| print::word(&print::said(word))).collect::<Vec<_>>().join(" ")
    }

    /// Calls a tool of a gateway that runs.
    async fn elsewhere(&self, url: &Url, mut answers: Answers, common: &Common) -> Done {
        let silence = Duration::from_secs(self.timeout);
        let remote = Remote::new(url.clone(), rounds::capabilities(!self.no_answers), silence)?;
        remote.warn();
        let tools = remote.tools(self.tool.as_deref()).await?;
        let Some(name) = &self.tool else {
            let text = |tool: &Value, key: &str| tool[key].as_str().unwrap_or_default().to_owned();
            let tools = tools.iter().map(|tool| (text(tool, "name"), text(tool, "description")));
            return Err(takes::unnamed(&tools.collect::<Vec<_>>()));
        };
        let schema = tools.iter().find(|tool| tool["name"] == **name).map(|tool| &tool["inputSchema"]);
        let names = tools.iter().filter_map(|tool| tool["name"].as_str());
        if schema.is_none()
            && let Some(failure) = unknown::two_words(name, &self.pairs, names)
        {
            return Err(failure);
        }
        let arguments = self.arguments(name, schema, common)?;
        let schema = schema.unwrap_or(&Value::Null);
        let came =
            rounds::converse(&mut answers, async |more| remote.call(name, &arguments, schema, more).await);
        match came.await {
            Ok(Came::Done(result)) => self.print(remote::document(&result), None, &answers),
            Ok(Came::Open(open)) => Err(open.failure().notes(&unused(&answers))),
            Err(Refusal::Error(message)) if schema.is_null() => {
                Err(Failure::new(Exit::Tool).says(&message, Some(TOOLS)))
            }
            Err(refusal) => Err(refusal.into()),
        }
    }

    /// Why a call came to no result.
    fn refused(&self, trouble: &Trouble, schema: Option<&Value>, supervisor: &Supervisor) -> Failure {
        let failure = Failure::new(Exit::Tool);
        match trouble {
            Trouble::Failed(error @ DispatchError::InvalidArguments { .. }) => {
                let takes = schema.map(takes::text).unwrap_or_default();
                failure.says_about(&error.to_string(), &takes, self.hint(error, supervisor).as_deref())
            }
            Trouble::Failed(error) => {
                failure.says(&error.to_string(), self.hint(error, supervisor).as_deref())
            }
            Trouble::Unanswered(plugin, why) => failure.says(&format!("plugin `{plugin}`: {why}"), None),
            Trouble::Refused(error) => failure.says(&error.error.message, None),
        }
    }

    fn hint(&self, error: &DispatchError, supervisor: &Supervisor) -> Option<String> {
        match error {
            DispatchError::UnknownTool { .. } => Some(TOOLS.to_owned()),
            DispatchError::InvalidArguments { .. } => Some(match &self.plugin {
                Some(file) => {
                    let file = print::word(&file.to_string_lossy());
                    format!("`moongate inspect {file} --format json` shows the whole schema")
                }
                None => "`moongate list tools --format json` shows what each tool takes".to_owned(),
            }),
            DispatchError::Call {
                error: CallError::Refused(call::Failure::MissingCapability(_)), ..
            } => Some(if self.no_answers {
                "without `--no-answers` it shows what it asks".to_owned()
            } else {
                "`call` can't answer that; call it from an MCP client that can".to_owned()
            }),
            DispatchError::Call { plugin, error } => {
                let key = error.config_key()?;
                let limits = &supervisor.plugin_config(plugin)?.limits;
                let value = limits.more_of(key).or_else(|| limits.value(key)).unwrap_or_default();
                Some(format!(
                    "write `{key} = {value}` in `[plugins.{plugin}.limits]`, if it should have more"
                ))
            }
            DispatchError::UnknownPrompt(_)
            | DispatchError::UnknownTemplate(_)
            | DispatchError::ResourceNotFound(_) => None,
        }
    }

    /// What the tool answered, and beside it which answers nobody asked for.
    fn print(&self, mut document: Value, explained: Option<Explained>, answers: &Answers) -> Done {
        match self.format {
            Format::Text => {
                print::foreign(&answer::text(&document))?;
                print::note(&unused(answers));
                print::note(&explained.map(|explained| explained.text).unwrap_or_default());
            }
            Format::Json => {
                if let Some(explained) = explained {
                    document["grants"] = explained.document;
                }
                print::json(&document)?;
                print::note(&unused(answers));
            }
        }
        Ok(if document["isError"] == true { Exit::Tool } else { Exit::Success })
    }
}

/// What `--explain` says of a call.
struct Explained {
    text: String,
    document: Value,
}

/// Says which answers nobody asked for.
fn unused(answers: &Answers) -> String {
    let line = |text: &str| format!("note: nothing asked for `--answer {}`\n", print::said(text));
    answers.unused().into_iter().map(line).collect()
}

/// What a table of `gateway.toml` needs so that a plugin may ask this.
fn needed(entry: &ToolEntry, open: &Open) -> String {
    let asked: Value = open.features().into_iter().map(Value::from).collect();
    let id = entry.member().id();
    format!("note: in gateway.toml such questions need `client = {asked}` in `[plugins.{id}.allow]`\n")
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let (message, hint, exit) = match &refusal {
            Refusal::Unreachable(message) => {
                (message, "`moongate serve` says at which address it is", Exit::Unreachable)
            }
            Refusal::Silent(message) => (
                message,
                "see whether a gateway listens there; `--timeout` waits longer for a slow tool",
                Exit::Unreachable,
            ),
            Refusal::Unauthorized(message) => (
                message,
                "set the variable MOONGATE_TOKEN to one of the tokens under `[http.auth]`",
                Exit::Unauthorized,
            ),
            Refusal::Error(message) => (message, "the gateway's own log may say more", Exit::Tool),
        };
        Self::new(exit).says(message, Some(hint))
    }
}
