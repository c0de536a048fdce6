//! What the code that `#[plugin]` writes calls. Not for authors, and free to change.

use std::marker::PhantomData;

use serde_json::Value;

use crate::error::fault;
use crate::texts::Wrong;
use crate::{
    CallOutcome, Completion, Context, Failure, HasSchema, IntoCompletion, IntoPrompt, IntoResource,
    IntoToolResult, PromptArg, PromptArgument, PromptOutcome, ReadOutcome, Readable, Tool, ToolAnnotations,
    ToolError, schema, template, texts,
};

/// Tools of a plugin in a block of their own: `#[plugin(part)]`.
pub trait Part: Default {
    /// Whether it has this tool.
    fn has_tool(name: &str) -> bool;

    /// Its tools.
    ///
    /// # Errors
    /// As [`Plugin::tools`](crate::Plugin::tools).
    fn tools(&self) -> Result<Vec<Tool>, Failure>;

    /// Calls one of them.
    ///
    /// # Errors
    /// As [`Plugin::call_tool`](crate::Plugin::call_tool).
    fn call_tool(&self, ctx: &Context, name: &str, args: &str) -> Result<CallOutcome, Failure>;
}

/// The schema of a tool without arguments.
#[must_use]
pub fn no_arguments() -> String {
    schema::NO_ARGUMENTS.to_owned()
}

/// Compiles for types of arguments; of others it tells the author what to write.
pub fn described<T: HasSchema>() {}

/// The schema of a tool with these arguments, or of a plugin's settings.
#[must_use]
pub fn input_schema<T: HasSchema>() -> String {
    schema::input::<T>()
}

/// The schema of a tool's result.
#[must_use]
pub fn output_schema<T: HasSchema>() -> String {
    schema::output::<T>()
}

/// A tool's hints; nothing if there are none.
#[must_use]
pub fn hints(
    read_only: Option<bool>,
    destructive: Option<bool>,
    idempotent: Option<bool>,
    open_world: Option<bool>,
) -> Option<ToolAnnotations> {
    let hints = ToolAnnotations { title: None, read_only, destructive, idempotent, open_world, extra: None };
    (hints != ToolAnnotations::none()).then_some(hints)
}

/// A text that Cargo sets, which may be empty.
#[must_use]
pub fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// A tool's arguments. They fit its schema; what serde still refuses, the model can put right.
///
/// # Errors
/// They aren't a `T`.
pub fn arguments<T: Readable>(args: &str) -> Result<T, ToolError> {
    serde_json::from_str(args).map_err(|error| ToolError::failed(format_args!("wrong arguments: {error}")))
}

/// What a tool's call answers.
///
/// # Errors
/// It ends in a JSON-RPC error.
pub fn called<T: IntoToolResult>(value: Result<T, ToolError>) -> Result<CallOutcome, Failure> {
    value.into_tool_result().map(CallOutcome::Done).or_else(ToolError::into_outcome)
}

/// What the call of an unknown tool answers.
///
/// # Errors
/// Always.
pub fn no_tool(name: &str) -> Result<CallOutcome, Failure> {
    ToolError::not_found(format_args!("there is no tool `{name}`")).into_outcome()
}

/// What reading an unknown resource answers.
///
/// # Errors
/// Always.
pub fn no_resource(uri: &str) -> Result<ReadOutcome, Failure> {
    Err(Failure::NotFound(fault(format_args!("there is no resource `{uri}`"))))
}

/// What getting an unknown prompt answers.
///
/// # Errors
/// Always.
pub fn no_prompt(name: &str) -> Result<PromptOutcome, Failure> {
    Err(Failure::NotFound(fault(format_args!("there is no prompt `{name}`"))))
}

/// What reading a resource answers.
///
/// # Errors
/// It ends in a JSON-RPC error.
pub fn read<T: IntoResource>(
    uri: &str,
    mime_type: Option<&str>,
    value: Result<T, ToolError>,
) -> Result<ReadOutcome, Failure> {
    value
        .into_resource(uri, mime_type)
        .map(ReadOutcome::Done)
        .or_else(|error| error.into_need_input().map(ReadOutcome::NeedInput))
}

/// The values of a template's variables, if `uri` fits.
#[must_use]
pub fn variables<const N: usize>(template: &str, uri: &str) -> Option<[String; N]> {
    template::matches(template, uri)
}

/// One variable of a template.
///
/// # Errors
/// It isn't a `T`: there is no such resource.
pub fn variable<T: PromptArg>(uri: &str, name: &str, text: &str) -> Result<T, ToolError> {
    T::from_text(text).map_err(|reason| {
        ToolError::not_found(format_args!("there is no resource `{uri}`: `{name}`: {reason}"))
    })
}

/// What getting a prompt answers.
///
/// # Errors
/// It ends in a JSON-RPC error.
pub fn prompted<T: IntoPrompt>(value: Result<T, ToolError>) -> Result<PromptOutcome, Failure> {
    value
        .into_prompt()
        .map(PromptOutcome::Done)
        .or_else(|error| error.into_need_input().map(PromptOutcome::NeedInput))
}

/// What a function takes or returns, in a list.
///
/// Where the type isn't one that it may take or return, the code that reads or writes such a value says so. The list says
/// nothing then, so that the author reads it once.
#[derive(Debug)]
pub struct Of<T>(PhantomData<fn() -> T>);

/// The list's words of a type that can't be there.
pub trait Unlisted {
    /// No schema.
    fn result_schema(&self) -> Option<String> {
        None
    }

    /// An argument without more than its name.
    fn argument_of_prompt(&self, name: &str, _description: Option<&str>) -> PromptArgument {
        PromptArgument::optional(name)
    }
}

impl<T> Unlisted for Of<T> {}

impl<T> Of<T> {
    /// In the list of whatever it belongs to.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "only the macro makes one")]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T: IntoToolResult> Of<T> {
    /// The schema of what a tool returns.
    #[must_use]
    pub fn result_schema(&self) -> Option<String> {
        T::output_schema()
    }
}

impl<T: PromptArg> Of<T> {
    /// How a prompt's argument is listed.
    #[must_use]
    pub fn argument_of_prompt(&self, name: &str, description: Option<&str>) -> PromptArgument {
        PromptArgument {
            description: description.map(str::to_owned),
            required: T::REQUIRED.then_some(true),
            ..PromptArgument::optional(name)
        }
    }
}

/// How the fields of a prompt's struct are listed.
#[must_use]
pub fn prompt_arguments<T: HasSchema>() -> Vec<PromptArgument> {
    let schema = schema::input_value::<T>();
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let fields = schema["properties"].as_object().into_iter().flatten();
    fields
        .map(|(name, field)| PromptArgument {
            title: field["title"].as_str().map(str::to_owned),
            description: field["description"].as_str().map(str::to_owned),
            required: required.contains(&name.as_str()).then_some(true),
            ..PromptArgument::optional(name)
        })
        .collect()
}

/// One argument of a prompt.
///
/// # Errors
/// It is missing or isn't a `T`.
pub fn prompt_value<T: PromptArg>(args: &[(String, String)], name: &str) -> Result<T, ToolError> {
    match args.iter().find(|(key, _)| key == name) {
        Some((_, text)) => T::from_text(text)
            .map_err(|reason| ToolError::invalid_params(format_args!("the argument `{name}`: {reason}"))),
        None => T::absent()
            .ok_or_else(|| ToolError::invalid_params(format_args!("the argument `{name}` is missing"))),
    }
}

/// All arguments of a prompt as a struct, each text read as what its field wants.
///
/// # Errors
/// They aren't a `T`.
pub fn prompt_values<T: Readable>(args: &[(String, String)]) -> Result<T, ToolError> {
    texts::read(args).map_err(|wrong| {
        ToolError::invalid_params(match wrong {
            Wrong::Missing { key, wanted: Some(wanted) } => {
                format!("the argument `{key}` is missing; it must be {wanted}")
            }
            Wrong::Missing { key, wanted: None } => format!("the argument `{key}` is missing"),
            Wrong::Unfit { key: Some(key), reason } => format!("the argument `{key}`: {reason}"),
            Wrong::Unfit { key: None, reason } => reason,
        })
    })
}

/// What a completion answers.
///
/// # Errors
/// There are no suggestions.
pub fn completed<T: IntoCompletion>(value: T) -> Result<Completion, Failure> {
    value.into_completion().map_err(|error| match error.into_need_input() {
        Ok(_) => Failure::Internal(fault("a completion can't ask the client anything")),
        Err(failure) => failure,
    })
}
