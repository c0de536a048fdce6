//! The plugin `everything`: all features of MCP, for the official conformance suite, and the items of the official server
//! `everything`.
//!
//! Names, texts and schemas are defined by the suite and the server, and must not change. The suite finds items by name,
//! so it runs with `prefix = ""`. `test_simple_text` is the first tool because the suite calls the first one without
//! arguments. Items of this block that appear and disappear are last in their lists. The tools of the official server
//! follow.
#![forbid(unsafe_code)]

use std::thread;
use std::time::Duration;

use moongate_sdk::prelude::*;
use serde_json::{Map, Value};

mod asking; // questions to the client
mod assets; // an image, a sound, a schema
mod changing; // lists and resources that change
mod forms; // forms
mod official; // the tools of the official server

use asking::{confirmation, decided};
use assets::{PIXEL, SCHEMA, SILENCE};
use changing::ChangingPart;
use forms::{Choices, Confirmation, Defaults, Name, Topic, User};
use official::resources::{self, ResourceKind};
use official::{OfficialTools, archive};

/// The time between two notifications of a call.
const NOTIFICATION_INTERVAL: Duration = Duration::from_millis(50);

/// The duration of the call during which a client loses its connection and reconnects.
const RECONNECTION_TIME: Duration = Duration::from_secs(1);

/// Departments and their members, for suggestions.
const TEAMS: [(&str, &[&str]); 4] = [
    ("Engineering", &["Alice", "Bob", "Charlie"]),
    ("Sales", &["David", "Eve", "Frank"]),
    ("Marketing", &["Grace", "Henry", "Iris"]),
    ("Support", &["John", "Kim", "Lee"]),
];

/// The plugin.
#[derive(Debug, Default)]
pub struct Everything;

/// One of each thing that MCP knows, for testing clients and gateways.
#[plugin(name = "everything", title = "Everything", parts = [OfficialTools])]
impl Everything {
    // --- tools: results ---

    /// Returns one block of text.
    #[tool(read_only)]
    fn test_simple_text(&self) -> &'static str {
        "This is a simple text response for testing."
    }

    /// Returns one image.
    #[tool(read_only)]
    fn test_image_content(&self) -> Content {
        Content::image(PIXEL, "image/png")
    }

    /// Returns one sound.
    #[tool(read_only)]
    fn test_audio_content(&self) -> Content {
        Content::audio(SILENCE, "audio/wav")
    }

    /// Returns one embedded resource.
    #[tool(read_only)]
    fn test_embedded_resource(&self) -> Content {
        let text = "This is an embedded resource content.";
        Content::embedded(ResourceContents::text("test://embedded-resource", text).mime_type("text/plain"))
    }

    /// Returns text, an image and a resource.
    #[tool(read_only)]
    fn test_multiple_content_types(&self) -> Vec<Content> {
        let resource =
            ResourceContents::text("test://mixed-content-resource", r#"{"test":"data","value":123}"#);
        vec![
            Content::text("Multiple content types test:"),
            Content::image(PIXEL, "image/png"),
            Content::embedded(resource.mime_type("application/json")),
        ]
    }

    /// Always fails.
    #[tool(read_only)]
    fn test_error_handling(&self) -> Result<(), ToolError> {
        Err(ToolError::failed("This tool intentionally returns an error for testing"))
    }

    /// Returns its arguments, which have a schema with conditions and references.
    #[tool(name = "json_schema_2020_12_tool", read_only, input_schema = SCHEMA)]
    fn json_schema(&self, args: Map<String, Value>) -> String {
        format!("Called with {}", Value::Object(args))
    }

    /// Returns its arguments, of which one is also sent as an HTTP header.
    #[tool(read_only)]
    fn test_x_mcp_header(
        &self,
        /// The region, also in the header `Mcp-Param-Region`.
        #[schemars(extend("x-mcp-header" = "Region"))]
        region: &str,
        /// A level.
        #[serde(default)]
        level: i64,
    ) -> String {
        format!("region={region}, level={level}")
    }

    // --- tools: notifications ---

    /// Logs three messages while it runs.
    #[tool(read_only)]
    fn test_tool_with_logging(&self) -> &'static str {
        log::info("Tool execution started");
        thread::sleep(NOTIFICATION_INTERVAL);
        log::info("Tool processing data");
        thread::sleep(NOTIFICATION_INTERVAL);
        log::info("Tool execution completed");
        "Tool with logging executed successfully"
    }

    /// Reports its progress three times while it runs.
    #[tool(read_only)]
    fn test_tool_with_progress(&self) -> &'static str {
        progress::report(0.0, 100.0);
        thread::sleep(NOTIFICATION_INTERVAL);
        progress::report(50.0, 100.0);
        thread::sleep(NOTIFICATION_INTERVAL);
        progress::report(100.0, 100.0);
        "Tool with progress executed successfully"
    }

    /// Logs one message of each level.
    #[tool(read_only)]
    fn test_logging_tool(&self) -> &'static str {
        log::debug("A debug message");
        log::info("An info message");
        log::notice("A notice");
        log::warning("A warning");
        log::error("An error message");
        "Logged a message of each level"
    }

    /// Takes long enough for a client to lose its connection and reconnect.
    #[tool(read_only)]
    fn test_reconnection(&self) -> &'static str {
        log::info("Waiting for the connection to be lost");
        thread::sleep(RECONNECTION_TIME);
        "The result arrived although the connection was lost"
    }

    // --- tools: questions ---

    /// Asks the client's model.
    #[tool(read_only)]
    fn test_sampling(
        &self,
        ctx: &Context,
        /// The prompt for the model.
        prompt: &str,
    ) -> Result<String, ToolError> {
        Ok(format!("LLM response: {}", asking::model(ctx, "answer", 100, prompt)?))
    }

    /// Asks the user for a name and an email address.
    #[tool(read_only)]
    fn test_elicitation(
        &self,
        ctx: &Context,
        /// The message for the user.
        message: &str,
    ) -> Result<String, ToolError> {
        let user = ctx.ask("user", Form::<User>::new(message).may_decline())?;
        Ok(format!("User response: {}", decided(user)?))
    }

    /// Asks with a default for each kind of field.
    #[tool(read_only)]
    fn test_elicitation_sep1034_defaults(&self, ctx: &Context) -> Result<String, ToolError> {
        let form = Form::<Defaults>::new("Please review and update the form fields with defaults");
        Ok(format!("Elicitation completed: {}", decided(ctx.ask("defaults", form.may_decline())?)?))
    }

    /// Asks with each kind of choice.
    #[tool(read_only)]
    fn test_elicitation_sep1330_enums(&self, ctx: &Context) -> Result<String, ToolError> {
        let form = Form::<Choices>::new("Please select options from the enum fields");
        Ok(format!("Elicitation completed: {}", decided(ctx.ask("choices", form.may_decline())?)?))
    }

    /// Asks the client's model, which the client must have declared.
    #[tool(read_only)]
    fn test_missing_capability(&self, ctx: &Context) -> Result<String, ToolError> {
        if !ctx.capability("sampling") {
            return Err(ToolError::missing_capability(["sampling"]));
        }
        asking::model(ctx, "answer", 50, "Say hello")
    }

    /// Asks for a confirmation if the client supports it.
    #[tool(read_only)]
    fn test_streaming_elicitation(&self, ctx: &Context) -> Result<String, ToolError> {
        let question = ctx.capability("elicitation").then(|| ("confirm", confirmation()));
        let (confirmed,) = ctx.ask_all((question,))?;
        Ok(format!("Confirmed: {}", confirmed.is_some_and(|confirmed| confirmed.ok)))
    }

    /// Asks for a name.
    #[tool(read_only)]
    fn test_input_required_result_elicitation(&self, ctx: &Context) -> Result<String, ToolError> {
        let Name { name } = ctx.ask("user_name", asking::name("What is your name?"))?;
        Ok(format!("Hello, {name}!"))
    }

    /// Asks the client's model for a capital.
    #[tool(read_only)]
    fn test_input_required_result_sampling(&self, ctx: &Context) -> Result<String, ToolError> {
        asking::model(ctx, "capital_question", 100, "What is the capital of France?")
    }

    /// Asks for the client's roots.
    #[tool(read_only)]
    fn test_input_required_result_list_roots(&self, ctx: &Context) -> Result<String, ToolError> {
        let roots = ctx.ask("client_roots", Roots)?;
        let uris: Vec<String> = roots.into_iter().map(|root| root.uri).collect();
        Ok(format!("Roots: {}", uris.join(", ")))
    }

    /// Asks for a confirmation and keeps state between the rounds.
    #[tool(read_only)]
    fn test_input_required_result_request_state(&self, ctx: &Context) -> Result<String, ToolError> {
        let kept = ctx.once("kept", || "state-ok".to_owned())?;
        let Confirmation { ok } = ctx.ask("confirm", confirmation())?;
        Ok(format!("{kept}, confirmed: {ok}"))
    }

    /// Asks the user, the model and the client together.
    #[tool(read_only)]
    fn test_input_required_result_multiple_inputs(&self, ctx: &Context) -> Result<String, ToolError> {
        asking::all_at_once(ctx)
    }

    /// Asks two questions in two rounds.
    #[tool(read_only)]
    fn test_input_required_result_multi_round(&self, ctx: &Context) -> Result<String, ToolError> {
        asking::one_by_one(ctx)
    }

    /// Asks for a confirmation; the state must be returned unchanged.
    #[tool(read_only)]
    fn test_input_required_result_tampered_state(&self, ctx: &Context) -> Result<String, ToolError> {
        let kept = ctx.once("kept", || "unchanged".to_owned())?;
        let Confirmation { ok } = ctx.ask("confirm", confirmation())?;
        Ok(format!("The state is {kept}, confirmed: {ok}"))
    }

    /// Asks only what the client supports.
    #[tool(read_only)]
    fn test_input_required_result_capabilities(&self, ctx: &Context) -> Result<String, ToolError> {
        asking::what_the_client_can(ctx)
    }

    // --- tools: changes ---

    /// Changes the list of tools: adds or removes the last one.
    #[tool]
    fn test_trigger_tool_change(&self) -> Result<String, ToolError> {
        Ok(ChangingPart::Tools.change()?)
    }

    /// Changes the list of prompts: adds or removes the last one.
    #[tool]
    fn test_trigger_prompt_change(&self) -> Result<String, ToolError> {
        Ok(ChangingPart::Prompts.change()?)
    }

    /// Changes the list of resources: adds or removes the last one.
    #[tool]
    fn test_trigger_resource_change(&self) -> Result<String, ToolError> {
        Ok(ChangingPart::Resources.change()?)
    }

    /// Changes the content of the watched resource.
    #[tool]
    fn test_trigger_resource_update(&self) -> Result<String, ToolError> {
        Ok(ChangingPart::Watched.change()?)
    }

    /// Is listed after every second change to the list of tools.
    #[tool(read_only, when = Self::tool_is_there)]
    fn test_changing_tool(&self) -> &'static str {
        "This tool comes and goes."
    }

    // --- resources ---

    /// A text that never changes.
    #[resource(uri = "test://static-text", name = "Static text", mime_type = "text/plain")]
    fn static_text(&self) -> &'static str {
        "This is the content of the static text resource."
    }

    /// An image that never changes.
    #[resource(uri = "test://static-binary", name = "Static image", mime_type = "image/png")]
    fn static_binary(&self) -> &'static [u8] {
        PIXEL
    }

    /// A text that can be subscribed to.
    #[resource(uri = "test://watched-resource", name = "Watched resource", mime_type = "text/plain")]
    fn watched_resource(&self) -> String {
        match ChangingPart::Watched.count() {
            0 => "Watched resource content".to_owned(),
            count => format!("Watched resource content, changed {count} times"),
        }
    }

    /// Is listed after every second change to the list of resources.
    #[resource(
        uri = "test://changing-resource",
        name = "Changing resource",
        mime_type = "text/plain",
        when = Self::resource_is_there
    )]
    fn changing_resource(&self) -> &'static str {
        "This resource comes and goes."
    }

    /// The data of one id.
    #[resource(uri = "test://template/{id}/data", name = "Data by id", mime_type = "application/json")]
    fn template(&self, id: &str) -> String {
        let data =
            serde_json::json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
        data.to_string()
    }

    /// A text that is made from `resourceId`, which must be a positive integer.
    #[resource(
        uri = "demo://resource/dynamic/text/{resourceId}",
        name = "Dynamic Text Resource",
        mime_type = "text/plain"
    )]
    #[allow(non_snake_case, reason = "the variable of the template")]
    fn dynamic_text(&self, uri: &str, resourceId: &str) -> Result<ResourceContents, ToolError> {
        resources::read(ResourceKind::Text, uri, resourceId)
    }

    /// Bytes that are made from `resourceId`, which must be a positive integer.
    #[resource(
        uri = "demo://resource/dynamic/blob/{resourceId}",
        name = "Dynamic Blob Resource",
        mime_type = "application/octet-stream"
    )]
    #[allow(non_snake_case, reason = "the variable of the template")]
    fn dynamic_blob(&self, uri: &str, resourceId: &str) -> Result<ResourceContents, ToolError> {
        resources::read(ResourceKind::Blob, uri, resourceId)
    }

    /// A file that `gzip-file-as-resource` compressed.
    #[resource(
        uri = "demo://resource/session/{+name}",
        name = "Compressed file",
        mime_type = "application/gzip"
    )]
    fn compressed_file(&self, name: &str) -> Result<ResourceContents, ToolError> {
        archive::contents(name)
    }

    #[complete(resource = "demo://resource/dynamic/text/{resourceId}", argument = "resourceId")]
    fn text_numbers(&self, typed: &str) -> Vec<String> {
        resources::numbers(typed)
    }

    #[complete(resource = "demo://resource/dynamic/blob/{resourceId}", argument = "resourceId")]
    fn blob_numbers(&self, typed: &str) -> Vec<String> {
        resources::numbers(typed)
    }

    // --- prompts ---

    /// A prompt without arguments.
    #[prompt]
    fn test_simple_prompt(&self) -> &'static str {
        "This is a simple prompt for testing."
    }

    /// A prompt with two arguments.
    #[prompt]
    fn test_prompt_with_arguments(
        &self,
        /// First test argument
        arg1: &str,
        /// Second test argument
        arg2: &str,
    ) -> String {
        format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
    }

    /// A prompt with an embedded resource.
    #[prompt]
    fn test_prompt_with_embedded_resource(&self, args: &Embedded) -> Vec<PromptMessage> {
        let resource = ResourceContents::text(&args.resource_uri, "Embedded resource content for testing.");
        vec![
            PromptMessage::user(resource.mime_type("text/plain")),
            PromptMessage::user("Please process the embedded resource above."),
        ]
    }

    /// A prompt with an image.
    #[prompt]
    fn test_prompt_with_image(&self) -> Vec<PromptMessage> {
        vec![
            PromptMessage::user(Content::image(PIXEL, "image/png")),
            PromptMessage::user("Please analyze the image above."),
        ]
    }

    /// A prompt that asks the user a question first.
    #[prompt]
    fn test_input_required_result_prompt(&self, ctx: &Context) -> Result<String, ToolError> {
        let form = Form::new("What context should the prompt use?");
        let Topic { context } = ctx.ask("user_context", form)?;
        Ok(format!("Use this context: {context}"))
    }

    // --- prompts of the official server ---

    /// A prompt with no arguments.
    #[prompt(name = "simple-prompt", title = "Simple Prompt")]
    fn simple_prompt(&self) -> &'static str {
        "This is a simple prompt without arguments."
    }

    /// A prompt with a required and an optional argument.
    #[prompt(name = "args-prompt", title = "Arguments Prompt")]
    fn args_prompt(
        &self,
        /// The name of the city.
        city: &str,
        /// The name of the state.
        state: Option<String>,
    ) -> String {
        let state = state.filter(|state| !state.is_empty()).map(|state| format!(", {state}"));
        format!("What's weather in {city}{}?", state.unwrap_or_default())
    }

    /// A prompt whose first argument decides the suggestions for the second.
    #[prompt(name = "completable-prompt", title = "Team Management")]
    fn completable_prompt(
        &self,
        /// The department.
        department: &str,
        /// The member of the department.
        name: &str,
    ) -> String {
        format!("Please promote {name} to the head of the {department} team.")
    }

    /// A prompt with an embedded resource.
    #[prompt(name = "resource-prompt", title = "Resource Prompt")]
    fn resource_prompt(&self, args: &ResourcePrompt) -> Result<Vec<PromptMessage>, ToolError> {
        let ResourcePrompt { resource_type, resource_id } = args;
        let kind = ResourceKind::ALL.into_iter().find(|kind| kind.name() == resource_type);
        let kind = kind.ok_or_else(|| {
            ToolError::invalid_params(format!("Invalid resourceType: {resource_type}. Must be Text or Blob."))
        })?;
        let id = resources::parsed_number(resource_id).ok_or_else(|| {
            let problem = "Must be a finite positive integer.";
            ToolError::invalid_params(format!("Invalid resourceId: {resource_id}. {problem}"))
        })?;
        let introduction = format!(
            "This prompt includes the {resource_type} resource with id: {id}. Please analyze the following resource:"
        );
        let resource = kind.contents(&kind.uri(id), id);
        Ok(vec![PromptMessage::user(introduction), PromptMessage::user(resource)])
    }

    /// Is listed after every second change to the list of prompts.
    #[prompt(when = Self::prompt_is_there)]
    fn test_changing_prompt(&self) -> &'static str {
        "This prompt comes and goes."
    }

    #[complete(prompt = "test_prompt_with_arguments", argument = "arg1")]
    fn first_arguments(&self, typed: &str) -> Vec<&'static str> {
        ["test", "testing", "tested"].into_iter().filter(|word| word.starts_with(typed)).collect()
    }

    #[complete(prompt = "completable-prompt", argument = "department")]
    fn departments(&self, typed: &str) -> Vec<&'static str> {
        TEAMS.iter().map(|(department, _)| *department).filter(|name| name.starts_with(typed)).collect()
    }

    #[complete(prompt = "completable-prompt", argument = "name")]
    fn members(&self, typed: &str, others: &[(String, String)]) -> Vec<&'static str> {
        let department =
            others.iter().find(|(name, _)| name == "department").map(|(_, value)| value.as_str());
        let team = TEAMS.iter().find(|(name, _)| Some(*name) == department);
        let members = team.into_iter().flat_map(|(_, members)| *members);
        members.copied().filter(|name| name.starts_with(typed)).collect()
    }

    #[complete(prompt = "resource-prompt", argument = "resourceType")]
    fn resource_types(&self, typed: &str) -> Vec<&'static str> {
        resources::kinds(typed)
    }

    #[complete(prompt = "resource-prompt", argument = "resourceId")]
    fn resource_numbers(&self, typed: &str) -> Vec<String> {
        resources::numbers(typed)
    }

    // --- items that appear and disappear ---

    fn tool_is_there(&self) -> bool {
        ChangingPart::Tools.is_odd()
    }

    fn prompt_is_there(&self) -> bool {
        ChangingPart::Prompts.is_odd()
    }

    fn resource_is_there(&self) -> bool {
        ChangingPart::Resources.is_odd()
    }
}

/// The arguments of `test_prompt_with_embedded_resource`.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Embedded {
    /// The URI of the resource.
    resource_uri: String,
}

/// The arguments of `resource-prompt`.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ResourcePrompt {
    /// The type of the resource.
    resource_type: String,
    /// The number of the resource.
    resource_id: String,
}

#[cfg(test)]
mod tests;
