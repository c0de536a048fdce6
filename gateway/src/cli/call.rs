//! `call`: calls a tool like a client would. The tool comes from the configuration, from a single file, or from a
//! running gateway.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Args, Command, FromArgMatches as _};
use moongate_config::ClientFeature;
use moongate_model::call::{self, CallError, GrantReport};
use moongate_model::json::Json;
use moongate_protocol::catalog::{Catalog, ToolEntry};
use moongate_protocol::dispatch::DispatchError;
use moongate_protocol::mcp::RequestError;
use serde_json::Value;
use url::Url;

use self::local::{LocalCall, LocalCallError};
use self::rounds::{CallEnd, OpenQuestions};
use self::typed_answers::TypedAnswers;
use crate::cli::client_tls::ClientTlsOptions;
use crate::cli::error::{CommandError, CommandResult};
use crate::cli::mcp_client::{McpClient, McpClientError, socket_url};
use crate::cli::serve::socket_path;
use crate::cli::stderr::StderrMessages;
use crate::cli::{CommonOptions, ExitKind, OutputFormat, configuration, connect, print, prompt};
use crate::supervisor::{Supervisor, SupervisorOptions};
use crate::transport::unix_socket::ADDRESS_PREFIX;

mod result;
mod arguments;
mod explain;
mod typed_answers;
mod local;
mod questions;
pub(super) mod rounds;
mod terminal_answers;
mod tool_help;

/// The hint for an unknown tool.
const LIST_TOOLS_HINT: &str = "to list the tools, omit the tool's name";

/// The hint if no gateway responds.
const SERVE_HINT: &str = "`moongate serve` prints its endpoint when it starts";

/// The default of `--timeout`, in seconds.
pub(super) const DEFAULT_TIMEOUT_SECS: u64 = 60;

/// Call a tool and print its result
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate call time_get_current_time timezone=Asia/Tokyo
  moongate call time_get_current_time --json '{\"timezone\": \"UTC\"}' --format json
  moongate call fetch url=https://example.com --explain
  moongate call --plugin ./hello.wasm greet name=Ada
  moongate call --url http://127.0.0.1:8931/mcp time_get_current_time timezone=UTC
  moongate call --url unix:/run/moongate/mcp.sock time_get_current_time timezone=UTC
  moongate call notes_clear --answer sure.sure=true

Without TOOL, the command lists the tools. On a terminal, it asks for required arguments that are missing, and asks the \
tool's questions. Elsewhere, it prints the questions with the options that answer them; run it again with those options.

--explain prints to stderr or, with `--format json`, as `grants` in the document, even if the call fails. For --url, set \
the variable MOONGATE_TOKEN to the bearer token.")]
pub(super) struct Call {
    /// Name of the tool as clients see it or, with --plugin, as the plugin defines it
    #[arg(value_name = "TOOL")]
    tool: Option<String>,
    /// Arguments for the tool; a value that is valid JSON is passed as JSON, unless the tool expects a string
    #[arg(value_name = "NAME=VALUE")]
    pairs: Vec<String>,
    /// All arguments as one JSON object
    #[arg(long, value_name = "OBJECT", conflicts_with = "pairs")]
    json: Option<String>,
    /// Call a tool of this component, or of `builtin:NAME`, without a configuration; it has no grants, but can ask you
    /// questions
    #[arg(long, value_name = "FILE")]
    plugin: Option<PathBuf>,
    /// Call a tool of the running gateway at this endpoint: an address of http or https, or unix:PATH
    #[arg(long, value_name = "URL", value_parser = endpoint, conflicts_with_all = ["plugin", "explain"])]
    url: Option<Url>,
    /// Give up after this many seconds without data from --url
    #[arg(long, value_name = "SECONDS", default_value_t = DEFAULT_TIMEOUT_SECS, requires = "url", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    #[command(flatten)]
    tls: ClientTlsOptions,
    /// Answer a question that the tool asks: KEY.FIELD=VALUE for a form field; KEY={…}, KEY=decline or KEY=cancel for a
    /// whole form; KEY=opened for a page; KEY=TEXT for the model's reply; KEY=PATH for a directory. The command prints
    /// each answer that it sends
    #[arg(long = "answer", value_name = "KEY=VALUE")]
    answers: Vec<String>,
    /// Don't answer questions; act as a client without elicitation, sampling or roots
    #[arg(long, conflicts_with = "answers")]
    no_answers: bool,
    /// Also print the grants that the call used or was missing, the limits that it reached, and how to change both
    #[arg(long)]
    explain: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: OutputFormat,
    /// True if the call was typed in the terminal of `dev`, where the plugin's own names are valid, too.
    #[arg(skip)]
    is_typed_in_dev: bool,
}

/// Parses the URL of a gateway's endpoint, or the address of its Unix socket.
pub(super) fn endpoint(text: &str) -> Result<Url, String> {
    if text.starts_with(ADDRESS_PREFIX) {
        return socket_url(&socket_path(text)?).ok_or_else(|| "the path isn't UTF-8".to_owned());
    }
    if text.starts_with("ws://") || text.starts_with("wss://") {
        return Err("expected an HTTP URL; `moongate connect` takes WebSocket URLs".to_owned());
    }
    let url = Url::parse(text).ok().filter(|url| ["http", "https"].contains(&url.scheme()) && url.has_host());
    let url = url.ok_or("expected a complete URL, such as http://127.0.0.1:8931/mcp, or unix:PATH")?;
    // A password would be visible in messages, in the process list and in the shell's history.
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "remove the user name and the password; set the variable MOONGATE_TOKEN to the token".to_owned()
        );
    }
    Ok(url)
}

impl Call {
    /// Parses a call that was typed in the terminal of `dev`: a tool and its arguments.
    ///
    /// # Errors
    /// The words aren't valid, or request help.
    pub(super) fn from_words(words: Vec<String>) -> Result<Self, clap::Error> {
        let command = Self::augment_args(Command::new("call")).no_binary_name(true).mut_args(|argument| {
            let is_elsewhere = ["plugin", "url"].contains(&argument.get_id().as_str());
            argument.hide(is_elsewhere)
        });
        let call = Self::from_arg_matches(&command.try_get_matches_from(words)?)?;
        if call.plugin.is_some() || call.url.is_some() {
            let message =
                "calls in this terminal go to the plugin that it serves; remove `--plugin` and `--url`\n";
            return Err(clap::Error::raw(ErrorKind::ArgumentConflict, message));
        }
        Ok(Self { is_typed_in_dev: true, ..call })
    }

    /// Calls the tool in a gateway that this process runs, and reports the error.
    pub(super) async fn run_in(&self, supervisor: &Supervisor, common: &CommonOptions) -> ExitKind {
        let done = match self.typed_answers() {
            Ok(answers) => self.run_local(supervisor, answers, common).await,
            Err(error) => Err(error),
        };
        done.unwrap_or_else(|failure| failure.report(self.format == OutputFormat::Json))
    }

    /// The answers on the command line. On a terminal, a person is asked for others.
    fn typed_answers(&self) -> Result<TypedAnswers, CommandError> {
        let answers = TypedAnswers::read(&self.answers).map_err(|why| {
            let hint = "to see the keys and fields, call the tool without `--answer`";
            CommandError::new(ExitKind::Usage).message(&why, Some(hint))
        })?;
        let asks_person = self.format == OutputFormat::Text && prompt::can_ask();
        Ok(if asks_person { answers.asking_person() } else { answers })
    }

    /// True if the plugin is a file without grants.
    pub(super) fn is_bare(&self) -> bool {
        self.plugin.is_some()
    }

    pub(super) async fn run(self, common: &CommonOptions) -> CommandResult {
        let answers = self.typed_answers()?;
        if let Some(url) = &self.url {
            return self.run_remote(url, answers, common).await;
        }
        if self.tls.is_set() {
            let message = "`--cert`, `--key` and `--ca` need `--url`";
            return Err(CommandError::new(ExitKind::Usage).message(message, None));
        }
        if let Some(file) = &self.plugin {
            let supervisor = configuration::load_bare(file, &ClientFeature::ALL).await?;
            let done = self.run_local(&supervisor, answers, common).await;
            return done.map_err(|failure| failure.preceded_by(supervisor.problems()));
        }
        let loaded = configuration::load(common, SupervisorOptions::once()).await?;
        let supervisor = &loaded.supervisor;
        if self.is_known(supervisor) {
            loaded.report_kinds(common);
            return self.run_local(supervisor, answers, common).await;
        }
        // A failed plugin may be the reason.
        loaded.report_errors(common);
        let done = self.run_local(supervisor, answers, common).await;
        done.map_err(|failure| {
            let failure = failure.preceded_by(supervisor.problems());
            if common.is_config_typed || common.quiet {
                return failure;
            }
            failure.messages(StderrMessages::note(&format!("the configuration is `{}`", loaded.shown_file())))
        })
    }

    /// True if the tool exists.
    fn is_known(&self, supervisor: &Supervisor) -> bool {
        let catalog = supervisor.catalog();
        let catalog = catalog.borrow();
        self.tool.as_ref().is_some_and(|tool| catalog.tool(tool).is_some())
    }

    /// Calls a tool in this process.
    async fn run_local(
        &self,
        supervisor: &Supervisor,
        mut answers: TypedAnswers,
        common: &CommonOptions,
    ) -> CommandResult {
        let dispatcher = supervisor.dispatcher();
        let catalog = dispatcher.catalog();
        let Some(tool) = &self.tool else { return Err(tool_help::no_tool_named(&self.tool_list(&catalog))) };
        let entry = self.entry(tool, &catalog);
        if entry.is_none()
            && let Some(failure) = tool_help::unknown_tool(tool, &self.pairs, supervisor, &catalog)
        {
            return Err(failure);
        }
        let name = entry.map_or(&**tool, |entry| entry.public_name().as_str());
        let schema = entry.and_then(|entry| entry.tool().input_schema.to_value().ok());
        let arguments = self.arguments(tool, schema.as_ref(), common)?;
        let plugin =
            entry.filter(|_| self.explain).and_then(|entry| supervisor.plugin_config(entry.plugin().id()));
        let explained = plugin.map(|plugin| (Arc::new(GrantReport::default()), plugin));
        let noted = explained.as_ref().map(|(grant_report, _)| Arc::clone(grant_report));
        let here = LocalCall::new(dispatcher, &rounds::capabilities(!self.no_answers), noted)?;
        let called =
            rounds::run_rounds(&mut answers, async |more| here.request(name, &arguments, more).await).await;
        let explained = explained.as_ref().map(|(grant_report, plugin)| GrantExplanation {
            text: explain::explanation_text(grant_report, plugin),
            document: explain::document(grant_report, plugin),
        });
        let failure = match called {
            Ok(CallEnd::Done(result)) => return self.print(result::document(&result), explained, &answers),
            Ok(CallEnd::Unanswered(open)) => {
                let failure = open.to_error();
                let table = entry.filter(|_| self.is_bare()).map(|entry| grant_note(entry, &open));
                failure.messages(table.unwrap_or_default()).messages(unused_answers(&answers))
            }
            Err(LocalCallError::Process(error)) => error.into(),
            Err(LocalCallError::Tool(trouble)) => self.call_error(&trouble, schema.as_ref(), supervisor),
        };
        Err(match (explained, self.format) {
            (Some(GrantExplanation { text, .. }), OutputFormat::Text) => failure.notes(&text),
            (Some(GrantExplanation { document, .. }), OutputFormat::Json) => {
                failure.member("grants", document)
            }
            (None, _) => failure,
        })
    }

    /// The tool with this name. With `--plugin` and in `dev`, its name in the plugin is also valid.
    fn entry<'a>(&self, name: &str, catalog: &'a Catalog) -> Option<&'a ToolEntry> {
        let own = || catalog.tools().iter().find(|entry| entry.tool().name.as_str() == name);
        catalog.tool(name).or_else(|| self.accepts_own_names().then(own).flatten())
    }

    /// True if the plugin's own names of tools are valid.
    fn accepts_own_names(&self) -> bool {
        self.plugin.is_some() || self.is_typed_in_dev
    }

    /// The shortest names and the descriptions of all tools.
    fn tool_list(&self, catalog: &Catalog) -> Vec<(String, String)> {
        let tools = catalog.tools().iter().map(|entry| {
            let public = entry.public_name().as_str();
            let tool = entry.tool();
            let name = if self.accepts_own_names() { tool.name.as_str() } else { public };
            (name.to_owned(), entry.description().to_owned())
        });
        tools.collect()
    }

    /// The arguments for the tool.
    ///
    /// # Errors
    /// The arguments can't be parsed, or a required one is missing.
    fn arguments(
        &self,
        tool: &str,
        schema: Option<&Value>,
        common: &CommonOptions,
    ) -> Result<Json, CommandError> {
        let arguments = arguments::parse_arguments(self.json.as_deref(), &self.pairs, schema)
            .map_err(|error| CommandError::new(ExitKind::Usage).message(&format!("{error:#}"), None))?;
        let Some(schema) = schema else { return Ok(arguments) };
        let arguments = self.ask_for_missing(schema, arguments)?;
        if !tool_help::missing_fields(schema, &arguments).is_empty() {
            let words = match &self.json {
                Some(_) => {
                    vec!["--json".to_owned(), tool_help::completed_object(schema, &arguments).to_string()]
                }
                None => tool_help::completed_pairs(schema, &arguments, self.pairs.clone()),
            };
            return Err(tool_help::missing_arguments(
                tool,
                schema,
                &arguments,
                &self.command(common, tool, &words),
            ));
        }
        // The gateway itself rejects unknown arguments if the schema says so.
        if schema["additionalProperties"] != false
            && let Some(note) = tool_help::unknown_arguments_note(schema, &arguments)
        {
            print::note(&note);
        }
        Ok(arguments)
    }

    /// The arguments with the answers of the person at the terminal for missing ones, if there is one. Without an answer,
    /// the argument stays missing.
    fn ask_for_missing(&self, schema: &Value, arguments: Json) -> Result<Json, CommandError> {
        // An unknown name is probably a misspelt one of those that are missing.
        let is_asked = self.json.is_none()
            && self.format == OutputFormat::Text
            && prompt::can_ask()
            && tool_help::unknown_arguments(schema, &arguments).is_empty();
        if !is_asked {
            return Ok(arguments);
        }
        let mut pairs = self.pairs.clone();
        for field in tool_help::missing_fields(schema, &arguments) {
            print::stderr_lines(&format!("{}\n", field.line()));
            let answer = prompt::ask_line(&format!("{}:", print::inline(field.name)))?;
            match answer.filter(|answer| !answer.is_empty()) {
                Some(answer) => pairs.push(format!("{}={answer}", field.name)),
                None => return Ok(arguments),
            }
        }
        arguments::parse_arguments(None, &pairs, Some(schema))
            .map_err(|error| CommandError::new(ExitKind::Usage).message(&format!("{error:#}"), None))
    }

    /// The command line of this call with different tool arguments and without logging options.
    fn command(&self, common: &CommonOptions, tool: &str, arguments: &[String]) -> String {
        let path = |path: &PathBuf| path.to_string_lossy().into_owned();
        let config = common.config.as_ref().filter(|_| common.is_config_typed);
        let options = [
            ("--config", config.map(path)),
            ("--plugin", self.plugin.as_ref().map(path)),
            ("--url", self.url.as_ref().map(Url::to_string)),
            ("--timeout", (self.timeout != DEFAULT_TIMEOUT_SECS).then(|| self.timeout.to_string())),
        ];
        let tls = self.tls.given().map(|(name, file)| (name, file.map(path)));
        let flags = [("--no-answers", self.no_answers), ("--explain", self.explain)];
        let mut words = vec![print::program_name(), "call".to_owned()];
        words.retain(|_| !self.is_typed_in_dev);
        words.extend(
            options
                .into_iter()
                .chain(tls)
                .filter_map(|(name, value)| Some([name.to_owned(), value?]))
                .flatten(),
        );
        words.push(tool.to_owned());
        words.extend_from_slice(arguments);
        words.extend(self.answers.iter().flat_map(|answer| ["--answer".to_owned(), answer.clone()]));
        words.extend(flags.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name.to_owned()));
        if self.format == OutputFormat::Json {
            words.extend(["--format", "json"].map(str::to_owned));
        }
        words.iter().map(|word| print::shell_word(&print::inline(word))).collect::<Vec<_>>().join(" ")
    }

    /// Calls a tool of a running gateway.
    async fn run_remote(
        &self,
        url: &Url,
        mut answers: TypedAnswers,
        common: &CommonOptions,
    ) -> CommandResult {
        let timeout = Duration::from_secs(self.timeout);
        let config = common.config.as_deref();
        let capabilities = rounds::capabilities(!self.no_answers);
        let remote = McpClient::new(url.clone(), config, &self.tls, capabilities, timeout)?;
        remote.warn_if_token_exposed();
        let tools = remote.tools(self.tool.as_deref()).await?;
        let Some(name) = &self.tool else {
            return Err(tool_help::no_tool_named(&names_and_descriptions(&tools)));
        };
        let schema = tools.iter().find(|tool| tool["name"] == **name).map(|tool| &tool["inputSchema"]);
        let names = tools.iter().filter_map(|tool| tool["name"].as_str());
        if schema.is_none()
            && let Some(failure) = tool_help::split_tool_name(name, &self.pairs, names)
                .or_else(|| tool_help::prefix_instead_of_tool(name, &names_and_descriptions(&tools)))
        {
            return Err(failure);
        }
        let arguments = self.arguments(name, schema, common)?;
        let schema = schema.unwrap_or(&Value::Null);
        let came =
            rounds::run_rounds(&mut answers, async |more| remote.call(name, &arguments, schema, more).await);
        match came.await {
            Ok(CallEnd::Done(result)) => self.print(result::protocol_document(&result), None, &answers),
            Ok(CallEnd::Unanswered(open)) => Err(open.to_error().messages(unused_answers(&answers))),
            Err(McpClientError::Rejected(message)) if schema.is_null() => {
                Err(CommandError::new(ExitKind::Tool).message(&message, Some(LIST_TOOLS_HINT)))
            }
            Err(refusal) => Err(refusal.into()),
        }
    }

    /// The error of a call without a result.
    fn call_error(
        &self,
        trouble: &RequestError,
        schema: Option<&Value>,
        supervisor: &Supervisor,
    ) -> CommandError {
        let failure = CommandError::new(ExitKind::Tool);
        match trouble {
            RequestError::Dispatch(error @ DispatchError::InvalidArguments { .. }) => {
                let takes = schema.map(tool_help::arguments_text).unwrap_or_default();
                failure.message_with_details(
                    &error.to_string(),
                    &takes,
                    self.hint(error, supervisor).as_deref(),
                )
            }
            RequestError::Dispatch(error) => {
                failure.message(&error.to_string(), self.hint(error, supervisor).as_deref())
            }
            RequestError::Unanswered(plugin, why) => {
                failure.message(&format!("plugin `{plugin}`: {why}"), None)
            }
            RequestError::Protocol(error) => failure.message(&error.error.message, None),
        }
    }

    fn hint(&self, error: &DispatchError, supervisor: &Supervisor) -> Option<String> {
        match error {
            DispatchError::UnknownTool { .. } => Some(LIST_TOOLS_HINT.to_owned()),
            DispatchError::InvalidArguments { .. } => Some(match &self.plugin {
                Some(file) => {
                    let file = print::shell_word(&file.to_string_lossy());
                    format!("see the whole schema with `moongate inspect {file} --format json`")
                }
                None => "see the schemas of all tools with `moongate list tools --format json`".to_owned(),
            }),
            DispatchError::Call {
                error: CallError::Refused(call::PluginError::MissingCapability(_)),
                ..
            } => Some(if self.no_answers {
                "to see its questions, remove `--no-answers`".to_owned()
            } else {
                "`call` can't answer this question; use an MCP client that can".to_owned()
            }),
            DispatchError::Call { plugin, error } => {
                let key = error.config_key()?;
                let limits = &supervisor.plugin_config(plugin)?.limits;
                let value = limits
                    .suggest_higher_for_key(key)
                    .or_else(|| limits.value_as_toml(key))
                    .unwrap_or_default();
                Some(format!("to allow more, set `{key} = {value}` in `[plugins.{plugin}.limits]`"))
            }
            DispatchError::UnknownPrompt(_)
            | DispatchError::UnknownTemplate(_)
            | DispatchError::ResourceNotFound(_) => None,
        }
    }

    /// Prints the tool's result, and a note for each unused answer.
    fn print(
        &self,
        mut document: Value,
        explained: Option<GrantExplanation>,
        answers: &TypedAnswers,
    ) -> CommandResult {
        match self.format {
            OutputFormat::Text => {
                print::untrusted(&result::text(&document))?;
                unused_answers(answers).print();
                print::stderr_lines(&explained.map(|explained| explained.text).unwrap_or_default());
            }
            OutputFormat::Json => {
                if let Some(explained) = explained {
                    document["grants"] = explained.document;
                }
                print::json(&document)?;
                unused_answers(answers).print();
            }
        }
        Ok(if document["isError"] == true { ExitKind::Tool } else { ExitKind::Success })
    }
}

/// The names and descriptions of a gateway's tools.
fn names_and_descriptions(tools: &[Value]) -> Vec<(String, String)> {
    let text = |tool: &Value, key: &str| tool[key].as_str().unwrap_or_default().to_owned();
    tools.iter().map(|tool| (text(tool, "name"), text(tool, "description"))).collect()
}

/// The output of `--explain`.
struct GrantExplanation {
    text: String,
    document: Value,
}

/// A note for each unused answer.
fn unused_answers(answers: &TypedAnswers) -> StderrMessages {
    let mut notes = StderrMessages::default();
    for text in answers.unused() {
        notes.append(StderrMessages::note(&format!("`--answer {}` wasn't used", print::inline(text))));
    }
    notes
}

/// A note on the grant that a plugin in `gateway.toml` needs for these questions.
fn grant_note(entry: &ToolEntry, open: &OpenQuestions) -> StderrMessages {
    let asked: Value = open.features().into_iter().map(Value::from).collect();
    let id = entry.plugin().id();
    StderrMessages::note(&format!(
        "in gateway.toml, such questions need `client = {asked}` in `[plugins.{id}.allow]`"
    ))
}

impl From<McpClientError> for CommandError {
    fn from(refusal: McpClientError) -> Self {
        let (message, hint, exit) = match &refusal {
            McpClientError::Connection(failure, endpoint) => {
                let is_socket = endpoint.scheme() == "unix";
                return failure
                    .to_error(endpoint, if is_socket { connect::SILENCE_HINT } else { SERVE_HINT });
            }
            McpClientError::Unreachable(message) => (message, SERVE_HINT, ExitKind::Unreachable),
            McpClientError::TimedOut(message) => {
                (message, "check the address; for a slow tool, increase `--timeout`", ExitKind::Unreachable)
            }
            McpClientError::Unauthorized(message) => (
                message,
                "set the variable MOONGATE_TOKEN to one of the tokens in `[http.auth]`",
                ExitKind::Unauthorized,
            ),
            McpClientError::Rejected(message) => {
                return Self::new(ExitKind::Tool).message(message, None);
            }
        };
        Self::new(exit).message(message, Some(hint))
    }
}
