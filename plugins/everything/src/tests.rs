//! The conformance suite's expectations, as far as they can be tested without a gateway.

use moongate_sdk::testing::{self, Change, Client};
use moongate_sdk::{
    CallOutcome, CompletionTarget, Content, Failure, LogLevel, NeedInput, PromptMessage, ResourceBody,
};
use serde_json::{Value, json};

use super::official::js_number;
use super::{Everything, PIXEL, SCHEMA, SILENCE};

fn client() -> Client<Everything> {
    Client::new()
}

fn text(tool: &str) -> String {
    client().call(tool, json!({})).unwrap().all_text()
}

#[test]
fn first_tool_takes_no_arguments() {
    let tools = client().tools();
    assert_eq!(tools[0].name, "test_simple_text");
    let schema: Value = serde_json::from_str(&tools[0].input_schema).unwrap();
    assert_eq!((&schema["type"], &schema["required"]), (&json!("object"), &Value::Null));
    assert_eq!(text("test_simple_text"), "This is a simple text response for testing.");
}

#[test]
fn returns_each_kind_of_content() {
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
fn sends_logs_and_progress() {
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
fn returns_an_error_result() {
    let result = client().call("test_error_handling", json!({})).unwrap();
    assert!(result.failed());
    assert_eq!(result.all_text(), "This tool intentionally returns an error for testing");
}

#[test]
fn keeps_the_schema_unchanged() {
    let tools = client().tools();
    let tool = tools.iter().find(|tool| tool.name == "json_schema_2020_12_tool").unwrap();
    assert_eq!(tool.input_schema, SCHEMA);
    assert!(serde_json::from_str::<Value>(SCHEMA).is_ok());
    let result = client().call("json_schema_2020_12_tool", json!({ "name": "Ada" })).unwrap();
    assert_eq!(result.all_text(), r#"Called with {"name":"Ada"}"#);
}

#[test]
fn annotates_an_argument_as_header() {
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
fn describes_every_item() {
    let client = client();
    assert!(client.tools().iter().all(|tool| tool.description.is_some()));
    assert!(client.prompts().iter().all(|prompt| prompt.description.is_some()));
    for resource in client.resources() {
        assert!(resource.description.is_some() && resource.mime_type.is_some(), "{}", resource.uri);
    }
}

#[test]
fn reads_resources() {
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
fn fills_in_prompts() {
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
fn completes_the_first_argument() {
    let target = CompletionTarget::Prompt("test_prompt_with_arguments".to_owned());
    let completion = client().complete(&target, "arg1", "teste", &[]).unwrap();
    assert_eq!((completion.values, completion.total), (vec!["tested".to_owned()], Some(1)));
}

/// The first questions of a tool, by key: the method and its parameters.
fn asked(client: &Client<Everything>, tool: &str, args: Value) -> (Vec<(String, String, Value)>, NeedInput) {
    let CallOutcome::NeedInput(input) = client.call_outcome(tool, args).unwrap() else { panic!("{tool}") };
    let requests = input.requests.iter().map(|request| {
        let params = serde_json::from_str(request.params.as_ref().unwrap()).unwrap();
        (request.key.clone(), request.method.clone(), params)
    });
    (requests.collect(), input)
}

#[test]
fn asks_the_user_and_returns_the_answer() {
    let (requests, _) = asked(&client(), "test_elicitation", json!({ "message": "Who?" }));
    let (key, method, params) = &requests[0];
    assert_eq!((method.as_str(), &params["message"]), ("elicitation/create", &json!("Who?")));
    assert_eq!(params["requestedSchema"]["required"], json!(["username", "email"]));
    let user = json!({ "username": "ada", "email": "ada@example.com" });
    let call =
        |answer| client().answer(key, answer).call("test_elicitation", json!({ "message": "Who?" })).unwrap();
    assert_eq!(
        call(testing::accepted(user)).all_text(),
        r#"User response: action=accept, content={"username":"ada","email":"ada@example.com"}"#
    );
    assert_eq!(call(testing::declined()).all_text(), "User response: action=decline, content={}");
}

#[test]
fn sets_a_default_for_each_kind_of_field() {
    let (requests, _) = asked(&client(), "test_elicitation_sep1034_defaults", json!({}));
    let (_, _, params) = &requests[0];
    let expected = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "description": "User name", "default": "John Doe" },
            "age": { "type": "integer", "description": "User age", "default": 30 },
            "score": { "type": "number", "description": "User score", "default": 95.5 },
            "status": {
                "type": "string",
                "enum": ["active", "inactive", "pending"],
                "description": "User status",
                "default": "active",
            },
            "verified": { "type": "boolean", "description": "Verification status", "default": true },
        },
    });
    assert_eq!(params["requestedSchema"], expected);
}

#[test]
fn offers_each_kind_of_choice() {
    let (requests, _) = asked(&client(), "test_elicitation_sep1330_enums", json!({}));
    let (_, _, params) = &requests[0];
    let titled = |words: [&str; 3]| {
        json!([
            { "const": "value1", "title": words[0] },
            { "const": "value2", "title": words[1] },
            { "const": "value3", "title": words[2] },
        ])
    };
    let options = json!(["option1", "option2", "option3"]);
    let expected = json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": options, "description": "Select one option" },
            "titledSingle": {
                "type": "string",
                "oneOf": titled(["First Option", "Second Option", "Third Option"]),
                "description": "Select one option with titles",
            },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
                "description": "Select one option (legacy)",
            },
            "untitledMulti": {
                "type": "array",
                "minItems": 1,
                "maxItems": 3,
                "items": { "type": "string", "enum": options },
                "description": "Select multiple options",
            },
            "titledMulti": {
                "type": "array",
                "minItems": 1,
                "maxItems": 3,
                "items": { "anyOf": titled(["First Choice", "Second Choice", "Third Choice"]) },
                "description": "Select multiple options with titles",
            },
        },
    });
    assert_eq!(params["requestedSchema"], expected);
    let answer = json!({ "untitledSingle": "option1", "titledMulti": ["value2"] });
    let client = client().answer("choices", testing::accepted(answer.clone()));
    let text = client.call("test_elicitation_sep1330_enums", json!({})).unwrap().all_text();
    assert_eq!(text, format!("Elicitation completed: action=accept, content={answer}"));
}

#[test]
fn asks_for_sampling_and_roots() {
    let client = client()
        .capability("sampling")
        .answer("answer", testing::sampled("Hi"))
        .answer("capital_question", testing::sampled("Paris"))
        .answer("client_roots", testing::roots(&["file:///a", "file:///b"]));
    let text = |tool, args| client.call(tool, args).unwrap().all_text();
    assert_eq!(text("test_sampling", json!({ "prompt": "Say hi" })), "LLM response: Hi");
    assert_eq!(text("test_missing_capability", json!({})), "Hi");
    assert_eq!(text("test_input_required_result_sampling", json!({})), "Paris");
    assert_eq!(text("test_input_required_result_list_roots", json!({})), "Roots: file:///a, file:///b");
    let (requests, _) = asked(&self::client(), "test_sampling", json!({ "prompt": "Say hi" }));
    let message = json!({ "role": "user", "content": { "type": "text", "text": "Say hi" } });
    assert_eq!(requests[0].2, json!({ "messages": [message], "maxTokens": 100 }));
}

#[test]
fn names_a_missing_capability() {
    let missing = client().call("test_missing_capability", json!({}));
    assert_eq!(missing, Err(Failure::MissingCapability(vec!["sampling".to_owned()])));
}

#[test]
fn asks_only_what_the_client_supports() {
    let methods = |client: Client<Everything>| {
        let (requests, _) = asked(&client, "test_input_required_result_capabilities", json!({}));
        requests.into_iter().map(|(_, method, _)| method).collect::<Vec<_>>()
    };
    assert_eq!(methods(client().capability("sampling")), ["sampling/createMessage"]);
    assert_eq!(
        methods(client().capability("elicitation").capability("roots")),
        ["elicitation/create", "roots/list"]
    );
    let text =
        |client: Client<Everything>| client.call("test_streaming_elicitation", json!({})).unwrap().all_text();
    assert_eq!(text(client()), "Confirmed: false");
    let can = client().capability("elicitation").answer("confirm", testing::accepted(json!({ "ok": true })));
    assert_eq!(text(can), "Confirmed: true");
}

#[test]
fn takes_several_rounds() {
    let client = client()
        .answer("user_name", testing::accepted(json!({ "name": "Alice" })))
        .answer("greeting", testing::sampled("Hello there!"))
        .answer("client_roots", testing::roots(&["file:///x"]))
        .answer("confirm", testing::accepted(json!({ "ok": true })))
        .answer("step1", testing::accepted(json!({ "name": "Alice" })))
        .answer("step2", testing::accepted(json!({ "color": "blue" })))
        .answer("user_context", testing::accepted(json!({ "context": "tests" })));
    let text = |tool: &str| {
        client.call(&format!("test_input_required_result_{tool}"), json!({})).unwrap().all_text()
    };
    assert_eq!(text("elicitation"), "Hello, Alice!");
    assert_eq!(text("request_state"), "state-ok, confirmed: true");
    assert_eq!(text("tampered_state"), "The state is unchanged, confirmed: true");
    assert_eq!(
        text("multiple_inputs"),
        "Name: Alice; greeting: Hello there!; roots: 1; state of the first round"
    );
    assert_eq!(text("multi_round"), "Hello, Alice! Your color is blue.");
    let messages = client.prompt("test_input_required_result_prompt", &[]).unwrap().messages;
    assert_eq!(messages, [PromptMessage::user("Use this context: tests")]);
}

#[test]
fn sends_state_with_questions() {
    for tool in ["request_state", "tampered_state", "multiple_inputs", "multi_round"] {
        let (_, input) = asked(&client(), &format!("test_input_required_result_{tool}"), json!({}));
        assert!(input.state.is_some(), "{tool}");
    }
}

#[test]
fn changing_items_keep_the_order_of_the_others() {
    let client = client();
    let names = || client.tools().into_iter().map(|tool| tool.name).collect::<Vec<_>>();
    let before = names();
    client.call("test_trigger_tool_change", json!({})).unwrap();
    let mut after = names();
    after.remove(after.iter().position(|name| name == "test_changing_tool").unwrap());
    assert_eq!(after, before);
    client.call("test_trigger_tool_change", json!({})).unwrap();
    assert_eq!(names(), before);
    client.call("test_trigger_prompt_change", json!({})).unwrap();
    assert_eq!(client.prompts().last().unwrap().name, "test_changing_prompt");
    client.call("test_trigger_resource_change", json!({})).unwrap();
    assert_eq!(client.resources().last().unwrap().uri, "test://changing-resource");
    client.call("test_trigger_resource_update", json!({})).unwrap();
    let watched = client.read("test://watched-resource").unwrap().contents.remove(0);
    assert_eq!(watched.body, ResourceBody::Text("Watched resource content, changed 1 times".to_owned()));
    let watched = Change::Resource("test://watched-resource".to_owned());
    assert_eq!(client.changes(), [Change::Tools, Change::Tools, Change::Prompts, Change::Resources, watched]);
}

#[test]
fn writes_numbers_like_javascript() {
    for (number, text) in [
        (-0.0, "0"),
        (1.0, "1"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (-1.5e300, "-1.5e+300"),
        (1e-6, "0.000001"),
        (1.5e-7, "1.5e-7"),
        (f64::INFINITY, "Infinity"),
    ] {
        assert_eq!(js_number(number), text);
    }
}

#[test]
fn compresses_data_urls_and_keeps_them() {
    let client = client();
    for (data, size) in [("data:,a%20b", 3), ("data:text/plain;base64,aGVsbG8=", 5)] {
        let arguments = json!({ "name": "a.gz", "data": data });
        let [Content::Link(link)] = &client.call("gzip-file-as-resource", arguments).unwrap().content[..]
        else {
            panic!()
        };
        let file = client.read(&link.uri).unwrap().contents.remove(0);
        let ResourceBody::Blob(compressed) = file.body else { panic!() };
        assert_eq!(&compressed[compressed.len() - 4..], [size, 0, 0, 0], "gzip ends with the size");
    }
    let refused = client.call("gzip-file-as-resource", json!({ "data": "ftp://example.com/a" })).unwrap();
    assert!(refused.failed() && refused.all_text().contains("Unsupported URL protocol"));
}
