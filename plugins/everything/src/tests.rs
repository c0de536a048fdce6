//! What the conformance suite will look for, as far as it can be seen without a gateway.

use moongate_sdk::testing::Client;
use moongate_sdk::{CompletionTarget, Content, Failure, LogLevel, PromptMessage, ResourceBody};
use serde_json::{Value, json};

use super::{Everything, PIXEL, SCHEMA, SILENCE};

fn client() -> Client<Everything> {
    Client::new()
}

fn text(tool: &str) -> String {
    client().call(tool, json!({})).unwrap().all_text()
}

#[test]
fn the_first_tool_takes_no_arguments() {
    let tools = client().tools();
    assert_eq!(tools[0].name, "test_simple_text");
    let schema: Value = serde_json::from_str(&tools[0].input_schema).unwrap();
    assert_eq!((&schema["type"], &schema["required"]), (&json!("object"), &Value::Null));
    assert_eq!(text("test_simple_text"), "This is a simple text response for testing.");
}

#[test]
fn each_kind_of_content_is_returned() {
    let content = |tool: &str| client().call(tool, json!({})).unwrap().content;
    assert_eq!(content("test_image_content"), [Content::image(PIXEL, "image/png")]);
    assert_eq!(content("test_audio_content"), [Content::audio(SILENCE, "audio/wav")]);
    let [Content::Embedded(resource)] = &content("test_embedded_resource")[..] else { panic!() };
    assert_eq!(resource.contents.uri, "test://embedded-resource");
    assert_eq!(resource.contents.mime_type.as_deref(), Some("text/plain"));
    let mixed = content("test_multiple_content_types");
    assert!(matches!(mixed[..], [Content::Text(_), Content::Image(_), Content::Embedded(_)]));
}

#[test]
fn what_happens_on_the_way_is_told() {
    let client = client();
    client.call("test_tool_with_logging", json!({})).unwrap();
    let logs = client.logs();
    let messages: Vec<&str> = logs.iter().filter_map(|line| line.data.as_str()).collect();
    assert_eq!(messages, ["Tool execution started", "Tool processing data", "Tool execution completed"]);
    assert!(logs.iter().all(|line| line.level == LogLevel::Info));
    client.call("test_tool_with_progress", json!({})).unwrap();
    let reports: Vec<_> = client.progress().iter().map(|report| (report.current, report.total)).collect();
    assert_eq!(reports, [(0.0, Some(100.0)), (50.0, Some(100.0)), (100.0, Some(100.0))]);
}

#[test]
fn a_failing_tool_fails() {
    let result = client().call("test_error_handling", json!({})).unwrap();
    assert!(result.failed());
    assert_eq!(result.all_text(), "This tool intentionally returns an error for testing");
}

#[test]
fn a_schema_stays_as_it_is() {
    let tools = client().tools();
    let tool = tools.iter().find(|tool| tool.name == "json_schema_2020_12_tool").unwrap();
    assert_eq!(tool.input_schema, SCHEMA);
    assert!(serde_json::from_str::<Value>(SCHEMA).is_ok());
    let result = client().call("json_schema_2020_12_tool", json!({ "name": "Ada" })).unwrap();
    assert_eq!(result.all_text(), r#"Called with {"name":"Ada"}"#);
}

#[test]
fn an_argument_can_be_a_header() {
    let tools = client().tools();
    let tool = tools.iter().find(|tool| tool.name == "test_x_mcp_header").unwrap();
    let schema: Value = serde_json::from_str(&tool.input_schema).unwrap();
    assert_eq!(schema["properties"]["region"]["x-mcp-header"], "Region");
    assert_eq!(schema["properties"]["region"]["type"], "string");
    assert_eq!(schema["properties"]["level"]["type"], "integer");
    let result = client().call("test_x_mcp_header", json!({ "region": "eu", "level": 2 })).unwrap();
    assert_eq!(result.all_text(), "region=eu, level=2");
}

#[test]
fn every_entry_has_a_description() {
    let client = client();
    assert!(client.tools().iter().all(|tool| tool.description.is_some()));
    assert!(client.prompts().iter().all(|prompt| prompt.description.is_some()));
    for resource in client.resources() {
        assert!(resource.description.is_some() && resource.mime_type.is_some(), "{}", resource.uri);
    }
}

#[test]
fn resources_are_read() {
    let client = client();
    let read = |uri: &str| client.read(uri).unwrap().contents.remove(0);
    assert_eq!(
        read("test://static-text").body,
        ResourceBody::Text("This is the content of the static text resource.".to_owned())
    );
    assert_eq!(read("test://static-binary").body, ResourceBody::Blob(PIXEL.to_vec()));
    assert_eq!(read("test://watched-resource").mime_type.as_deref(), Some("text/plain"));
    let data = read("test://template/123/data");
    assert_eq!(data.uri, "test://template/123/data");
    assert_eq!(
        data.body,
        ResourceBody::Text(r#"{"id":"123","templateTest":true,"data":"Data for ID: 123"}"#.to_owned())
    );
    assert!(matches!(client.read("test://nonexistent"), Err(Failure::NotFound(_))));
}

#[test]
fn prompts_are_filled_in() {
    let client = client();
    let get = |name: &str, args: &[(&str, &str)]| client.prompt(name, args).unwrap().messages;
    assert_eq!(get("test_simple_prompt", &[]), [PromptMessage::user("This is a simple prompt for testing.")]);
    assert_eq!(
        get("test_prompt_with_arguments", &[("arg1", "a"), ("arg2", "b")]),
        [PromptMessage::user("Prompt with arguments: arg1='a', arg2='b'")]
    );
    let embedded = get("test_prompt_with_embedded_resource", &[("resourceUri", "test://x")]);
    let Content::Embedded(resource) = &embedded[0].content else { panic!() };
    assert_eq!(resource.contents.uri, "test://x");
    assert_eq!(get("test_prompt_with_image", &[])[0].content, Content::image(PIXEL, "image/png"));
    let prompts = client.prompts();
    let args = prompts[1].args.as_ref().unwrap();
    assert_eq!(args[0].description.as_deref(), Some("First test argument"));
    assert!(args.iter().all(|argument| argument.required == Some(true)));
}

#[test]
fn the_first_argument_is_completed() {
    let target = CompletionTarget::Prompt("test_prompt_with_arguments".to_owned());
    let completion = client().complete(&target, "arg1", "teste", &[]).unwrap();
    assert_eq!((completion.values, completion.total), (vec!["tested".to_owned()], Some(1)));
}
