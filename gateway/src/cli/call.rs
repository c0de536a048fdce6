//! `call`: one tool, called as a client would, without a server.

use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use moongate_core::call::{CallContext, NeedInput, Outcome};
use moongate_core::dispatch::{Arguments, DispatchError};
use moongate_core::names::Principal;

use crate::cli::{Common, Exit, Format, configuration, print};

mod answer;
mod arguments;

/// Call one tool and print what it answers
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate call time_get_current_time timezone=Asia/Tokyo
  moongate call time_get_current_time --json '{\"timezone\": \"UTC\"}' --format json")]
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
    /// How to print the answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

impl Call {
    pub(super) async fn run(self, common: &Common) -> Result<Exit> {
        let Some(supervisor) = configuration::load(common).await? else { return Ok(Exit::Configuration) };
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
        let context = Arc::new(CallContext::internal(Principal::Local));
        match dispatcher.call_tool(&catalog, &context, &self.tool, &arguments).await {
            Ok(answered) => match answered.outcome {
                Outcome::Done(result) => {
                    match self.format {
                        Format::Text => print::foreign(&answer::text(&result))?,
                        Format::Json => print::json(&answer::json(&result))?,
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
                print::error(&error.to_string(), hint(&error).as_deref());
                Ok(Exit::Tool)
            }
        }
    }
}

/// There is no client at the other end that could be asked.
fn unanswerable(need: &NeedInput) -> String {
    let methods: Vec<_> = need.requests.iter().map(|request| format!("`{}`", request.method)).collect();
    format!("the tool asks its client for input ({}), which `call` can't give", methods.join(", "))
}

fn hint(error: &DispatchError) -> Option<String> {
    match error {
        DispatchError::UnknownTool { .. } => Some("`moongate list tools` shows what there is".to_owned()),
        DispatchError::InvalidArguments { .. } => {
            Some("`moongate list tools --format json` shows what each tool takes".to_owned())
        }
        DispatchError::Call { plugin, error } => {
            error.config_key().map(|key| format!("`{key}` in `[plugins.{plugin}.limits]` sets the limit"))
        }
        DispatchError::UnknownPrompt(_)
        | DispatchError::UnknownTemplate(_)
        | DispatchError::ResourceNotFound(_)
        | DispatchError::MissingArgument { .. } => None,
    }
}
