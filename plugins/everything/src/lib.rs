//! The plugin `everything`: one of each thing that MCP knows, as the official conformance suite asks for them.
//!
//! Names, texts and schemas are the suite's and must stay as they are; it finds them by name, so the plugin runs with
//! `prefix = ""`. `test_simple_text` is the first tool because the suite calls the first one without arguments.
#![forbid(unsafe_code)]

use std::thread;
use std::time::Duration;

use moongate_sdk::prelude::*;
use serde_json::{Map, Value};

/// An image of one pixel.
const PIXEL: &[u8] = include_bytes!("../assets/pixel.png");

/// A sound that is over at once.
const SILENCE: &[u8] = include_bytes!("../assets/silence.wav");

/// A schema with what makers of schemas forget: anchors, conditions, references. It must reach clients unchanged.
const SCHEMA: &str = r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}"##;

/// The time between two notifications of one call.
const PAUSE: Duration = Duration::from_millis(50);

/// The plugin.
#[derive(Debug, Default)]
pub struct Everything;

/// One of each thing that MCP knows, for testing clients and gateways.
#[plugin(name = "everything", title = "Everything")]
impl Everything {
    // --- tools ---

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

    /// Returns a plain result also to clients that could be asked something.
    #[tool(read_only)]
    fn test_streaming_elicitation(&self) -> &'static str {
        "Nothing had to be asked"
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
    fn watched_resource(&self) -> &'static str {
        "Watched resource content"
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

    #[complete(prompt = "test_prompt_with_arguments", argument = "arg1")]
    fn first_arguments(&self, typed: &str) -> Vec<&'static str> {
        ["test", "testing", "tested"].into_iter().filter(|word| word.starts_with(typed)).collect()
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
