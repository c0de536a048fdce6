//! The plugin `everything`: one of each thing that MCP knows, as the official conformance suite asks for them.
//!
//! Names, texts and schemas are the suite's and must stay as they are; it finds them by name, so the plugin runs with
//! `prefix = ""`. `test_simple_text` is the first tool because the suite calls the first one without arguments; what
//! comes and goes stands last, so that the order of the others stays.
#![forbid(unsafe_code)]

use std::thread;
use std::time::Duration;

use moongate_sdk::prelude::*;
use serde_json::{Map, Value};

mod asking; // what the client is asked
mod assets; // an image, a sound, a schema
mod changing; // lists and resources that change
mod forms; // what people fill in

use asking::{confirmation, decided};
use assets::{PIXEL, SCHEMA, SILENCE};
use changing::Part;
use forms::{Choices, Confirmation, Defaults, Name, Topic, User};

/// The time between two notifications of one call.
const PAUSE: Duration = Duration::from_millis(50);

/// How long the call takes during which a client is to lose its connection and come back.
const LONG: Duration = Duration::from_secs(1);

/// The plugin.
#[derive(Debug, Default)]
pub struct Everything;

/// One of each thing that MCP knows, for testing clients and gateways.
#[plugin(name = "everything", title = "Everything")]
impl Everything {
    // --- tools: what they return ---

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

    /// Returns one resource with what it holds.
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

    // --- tools: what they tell on the way ---

    /// Logs three messages while it runs.
    #[tool(read_only)]
    fn test_tool_with_logging(&self) -> &'static str {
        log::info("Tool execution started");
        thread::sleep(PAUSE);
        log::info("Tool processing data");
        thread::sleep(PAUSE);
        log::info("Tool execution completed");
        "Tool with logging executed successfully"
    }

    /// Reports its progress three times while it runs.
    #[tool(read_only)]
    fn test_tool_with_progress(&self) -> &'static str {
        progress::report(0.0, 100.0);
        thread::sleep(PAUSE);
        progress::report(50.0, 100.0);
        thread::sleep(PAUSE);
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

    /// Takes so long that a connection can be lost meanwhile.
    #[tool(read_only)]
    fn test_reconnection(&self) -> &'static str {
        log::info("Waiting for the connection to be lost");
        thread::sleep(LONG);
        "The result arrived although the connection was lost"
    }

    // --- tools: what they ask ---

    /// Asks the client's model.
    #[tool(read_only)]
    fn test_sampling(
        &self,
        ctx: &Context,
        /// What the model is asked.
        prompt: &str,
    ) -> Result<String, ToolError> {
        Ok(format!("LLM response: {}", asking::model(ctx, "answer", 100, prompt)?))
    }

    /// Asks the person who they are.
    #[tool(read_only)]
    fn test_elicitation(
        &self,
        ctx: &Context,
        /// What the person is told.
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

    /// Asks for a confirmation where the client can be asked.
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

    /// Asks for the folders that the client works in.
    #[tool(read_only)]
    fn test_input_required_result_list_roots(&self, ctx: &Context) -> Result<String, ToolError> {
        let roots = ctx.ask("client_roots", Roots)?;
        let uris: Vec<String> = roots.into_iter().map(|root| root.uri).collect();
        Ok(format!("Roots: {}", uris.join(", ")))
    }

    /// Asks for a confirmation and keeps something meanwhile.
    #[tool(read_only)]
    fn test_input_required_result_request_state(&self, ctx: &Context) -> Result<String, ToolError> {
        let kept = ctx.once("kept", || "state-ok".to_owned())?;
        let Confirmation { ok } = ctx.ask("confirm", confirmation())?;
        Ok(format!("{kept}, confirmed: {ok}"))
    }

    /// Asks the person, the model and the client at once.
    #[tool(read_only)]
    fn test_input_required_result_multiple_inputs(&self, ctx: &Context) -> Result<String, ToolError> {
        asking::all_at_once(ctx)
    }

    /// Asks two things one after the other.
    #[tool(read_only)]
    fn test_input_required_result_multi_round(&self, ctx: &Context) -> Result<String, ToolError> {
        asking::one_by_one(ctx)
    }

    /// Asks for a confirmation; what it keeps meanwhile must come back unchanged.
    #[tool(read_only)]
    fn test_input_required_result_tampered_state(&self, ctx: &Context) -> Result<String, ToolError> {
        let kept = ctx.once("kept", || "unchanged".to_owned())?;
        let Confirmation { ok } = ctx.ask("confirm", confirmation())?;
        Ok(format!("The state is {kept}, confirmed: {ok}"))
    }

    /// Asks whatever the client said it can answer.
    #[tool(read_only)]
    fn test_input_required_result_capabilities(&self, ctx: &Context) -> Result<String, ToolError> {
        asking::what_the_client_can(ctx)
    }

    // --- tools: what they change ---

    /// Changes the list of tools: the last one comes or goes.
    #[tool]
    fn test_trigger_tool_change(&self) -> Result<String, ToolError> {
        Ok(Part::Tools.change()?)
    }

    /// Changes the list of prompts: the last one comes or goes.
    #[tool]
    fn test_trigger_prompt_change(&self) -> Result<String, ToolError> {
        Ok(Part::Prompts.change()?)
    }

    /// Changes the list of resources: the last one comes or goes.
    #[tool]
    fn test_trigger_resource_change(&self) -> Result<String, ToolError> {
        Ok(Part::Resources.change()?)
    }

    /// Changes what the watched resource holds.
    #[tool]
    fn test_trigger_resource_update(&self) -> Result<String, ToolError> {
        Ok(Part::Watched.change()?)
    }

    /// Is there after each second change of the list of tools.
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
        match Part::Watched.count() {
            0 => "Watched resource content".to_owned(),
            count => format!("Watched resource content, changed {count} times"),
        }
    }

    /// Is there after each second change of the list of resources.
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

    /// A prompt that holds a resource.
    #[prompt]
    fn test_prompt_with_embedded_resource(&self, args: &Embedded) -> Vec<PromptMessage> {
        let resource = ResourceContents::text(&args.resource_uri, "Embedded resource content for testing.");
        vec![
            PromptMessage::user(resource.mime_type("text/plain")),
            PromptMessage::user("Please process the embedded resource above."),
        ]
    }

    /// A prompt that holds an image.
    #[prompt]
    fn test_prompt_with_image(&self) -> Vec<PromptMessage> {
        vec![
            PromptMessage::user(Content::image(PIXEL, "image/png")),
            PromptMessage::user("Please analyze the image above."),
        ]
    }

    /// A prompt that asks the person something first.
    #[prompt]
    fn test_input_required_result_prompt(&self, ctx: &Context) -> Result<String, ToolError> {
        let form = Form::new("What context should the prompt use?");
        let Topic { context } = ctx.ask("user_context", form)?;
        Ok(format!("Use this context: {context}"))
    }

    /// Is there after each second change of the list of prompts.
    #[prompt(when = Self::prompt_is_there)]
    fn test_changing_prompt(&self) -> &'static str {
        "This prompt comes and goes."
    }

    #[complete(prompt = "test_prompt_with_arguments", argument = "arg1")]
    fn first_arguments(&self, typed: &str) -> Vec<&'static str> {
        ["test", "testing", "tested"].into_iter().filter(|word| word.starts_with(typed)).collect()
    }

    // --- what comes and goes ---

    fn tool_is_there(&self) -> bool {
        Part::Tools.is_odd()
    }

    fn prompt_is_there(&self) -> bool {
        Part::Prompts.is_odd()
    }

    fn resource_is_there(&self) -> bool {
        Part::Resources.is_odd()
    }
}

/// What `test_prompt_with_embedded_resource` takes.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Embedded {
    /// The URI that the resource shall have.
    resource_uri: String,
}

#[cfg(test)]
mod tests;
