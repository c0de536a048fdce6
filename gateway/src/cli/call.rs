//! `call`: one tool, called as a client would, without a server.

use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use moongate_core::call::{CallContext, Entry, Ledger, NeedInput, Outcome, ToolResult};
use moongate_core::catalog::Catalog;
use moongate_core::config::{ClientFeature, PluginConfig};
use moongate_core::dispatch::{Answered, Arguments, DispatchError};
use moongate_core::names::Principal;
use serde_json::Value;

use crate::cli::{Common, Exit, Format, configuration, print};
use crate::supervisor::Options;

mod answer;
mod arguments;
mod explain;

/// Call one tool and print what it answers
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate call time_get_current_time timezone=Asia/Tokyo
  moongate call time_get_current_time --json '{\"timezone\": \"UTC\"}' --format json
  moongate call fetch_fetch url=https://example.com --explain

The explanation goes to stderr. With `--format json` it is part of the document, as `grants`.")]
pub(super) struct Call {
    /// The tool, under the name that clients see
    #[arg(value_name = "TOOL")]
    tool: String,
    /// Its arguments; a value that reads as JSON is taken as JSON
    #[arg(value_name = "NAME=VALUE")]
    pairs: Vec<String>,
    /// All arguments as one JSON object
    #[arg(long, value_name = "OBJECT", conflicts_with = "pairs")]
    json: Option<String>,
    /// Also say which grants the call used, which it lacked and which limits held it back, and what would change that
    #[arg(long)]
    explain: bool,
    /// How to print the answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

impl Call {
    pub(super) async fn run(self, common: &Common) -> Result<Exit> {
        let Some(supervisor) = configuration::load(common, Options::once()).await? else {
            return Ok(Exit::Configuration);
        };
        let dispatcher = supervisor.dispatcher();
        let catalog = dispatcher.catalog();
        let schema = catalog.tool(&self.tool).and_then(|entry| entry.tool().input_schema.to_value().ok());
        let arguments = match arguments::object(self.json.as_deref(), &self.pairs, schema.as_ref()) {
            Ok(arguments) => arguments,
            Err(error) => {
                print::error(&format!("{error:#}"), None);
                return Ok(Exit::Usage);
            }
        };
        let arguments = Arguments::parse(arguments.get())?;
        let plugin = catalog.tool(&self.tool).map(|entry| Arc::clone(entry.member().config()));
        let ledger = plugin.filter(|_| self.explain).map(|plugin| (Arc::new(Ledger::default()), plugin));
        let context = Arc::new(CallContext {
            ledger: ledger.as_ref().map(|(ledger, _)| Arc::clone(ledger)),
            ..CallContext::internal(Principal::Local)
        });
        let answered = dispatcher.call_tool(&catalog, &context, &self.tool, &arguments).await;
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
                    match self.format {
                        Format::Text => print::foreign(&answer::text(&result))?,
                        Format::Json => {
                            let mut document = answer::json(&result);
                            if let Some(explained) = explained {
                                document["grants"] = explained;
                            }
                            print::json(&document)?;
                        }
                    }
                    Ok(if result.is_error { Exit::Tool } else { Exit::Success })
                }
                Outcome::NeedInput(need) => {
                    print::error(
                        &unanswerable(&need),
                        Some("call it from an MCP client that answers such questions"),
                    );
                    Ok(Exit::Tool)
                }
            },
            Err(error) => {
                print::error(&error.to_string(), hint(&error, catalog).as_deref());
                Ok(Exit::Tool)
            }
        }
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
fn unanswerable(need: &NeedInput) -> String {
    let methods: Vec<_> = need.requests.iter().map(|request| format!("`{}`", request.method)).collect();
    format!("the tool asks its client for input ({}), which `call` can't give", methods.join(", "))
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
