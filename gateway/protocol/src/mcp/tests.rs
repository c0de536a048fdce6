//! Tests of the JSON of each revision: left-out members, conversions and errors.

use std::time::Duration;

use serde_json::{Value, json};

use super::errors::ErrorAnswer;
use super::render::{CompletionResult, ReadContents, ToolAnswer, ToolItem, View, render};
use super::structured::Wrapping;
use super::*;
use crate::call::{
    BusyReason, CallError, Completion, Content, MediaContent, PluginError, PluginErrorDetail, ReadResult,
    ResourceBody, ResourceContents, ToolResult,
};
use crate::dispatch::{DispatchError, UnknownName};
use crate::json::Json;
use crate::manifest::{Annotations, Icon, Resource, Role, Tool, ToolHints};
use crate::names::{PluginId, PublicName, ResourceUri, ToolName};

fn value(view: &impl serde::Serialize) -> Value {
    serde_json::from_str(render(view).get()).unwrap()
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

/// A tool with all members.
fn tool() -> Tool {
    Tool {
        name: ToolName::new("own").unwrap(),
        title: Some("Title".to_owned()),
        description: "What it does".to_owned(),
        input_schema: json(r#"{"type":"object","z":1,"a":2.50}"#),
        output_schema: Some(json(r#"{"type":"array"}"#)),
        hints: ToolHints { read_only: Some(true), ..ToolHints::default() },
        icons: vec![Icon {
            src: "https://x/y.png".to_owned(),
            mime_type: None,
            sizes: None,
            theme: None,
            extra: Vec::new(),
        }],
        meta: vec![("com.example/a".to_owned(), json("1"))],
        extra: vec![("later".to_owned(), json("true"))],
    }
}

/// A tool whose schemas are shown unchanged.
fn item<'a>(name: &'a PublicName, tool: &'a Tool) -> ToolItem<'a> {
    ToolItem {
        name,
        tool,
        description: &tool.description,
        input_schema: &tool.input_schema,
        output_schema: tool.output_schema.as_ref(),
    }
}

fn members(value: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn projects_tools_to_each_revision() {
    let (tool, name) = (tool(), PublicName::new("p_own").unwrap());
    let item = item(&name, &tool);
    let seen = |revision| value(&View::new(&item, revision));
    assert_eq!(members(&seen(Revision::V2024_11_05)), ["description", "inputSchema", "name"]);
    assert_eq!(members(&seen(Revision::V2025_03_26)), ["annotations", "description", "inputSchema", "name"]);
    let june = seen(Revision::V2025_06_18);
    assert_eq!(
        members(&june),
        ["_meta", "annotations", "description", "inputSchema", "name", "outputSchema", "title"]
    );
    assert_eq!(june["outputSchema"]["type"], "object", "older clients know only objects: {june}");
    assert!(seen(Revision::V2025_11_25).get("icons").is_some());
    let now = seen(Revision::V2026_07_28);
    assert_eq!((&now["outputSchema"], &now["later"]), (&json!({ "type": "array" }), &json!(true)));
    assert!(
        render(&View::new(&item, Revision::V2026_07_28))
            .get()
            .contains(r#"{"type":"object","z":1,"a":2.50}"#)
    );
}

#[test]
fn converts_unsupported_content_to_text() {
    let link = Resource {
        uri: ResourceUri::new("test://a").unwrap(),
        name: "a".to_owned(),
        title: None,
        description: None,
        mime_type: None,
        size: Some(3),
        icons: Vec::new(),
        annotations: None,
        meta: Vec::new(),
        extra: Vec::new(),
    };
    let sound = MediaContent {
        data: vec![1, 2],
        mime_type: "audio/wav".to_owned(),
        annotations: None,
        meta: Vec::new(),
        extra: Vec::new(),
    };
    let block = |content: &Content, revision| value(&View::new(content, revision));
    let (link, sound) = (Content::Link(Box::new(link)), Content::Audio(sound));
    assert_eq!(block(&sound, Revision::V2024_11_05)["type"], "text");
    assert_eq!(
        block(&sound, Revision::V2025_03_26),
        json!({ "type": "audio", "data": "AQI=", "mimeType": "audio/wav" })
    );
    assert_eq!(block(&link, Revision::V2025_03_26), json!({ "type": "text", "text": "test://a" }));
    assert_eq!(
        block(&link, Revision::V2025_06_18),
        json!({ "type": "resource_link", "uri": "test://a", "name": "a", "size": 3 })
    );
    let later = Content::Other("hologram".to_owned(), json(r#"{"type":"hologram"}"#));
    assert_eq!(
        block(&later, Revision::V2026_07_28)["type"],
        "text",
        "a strict client rejects an unknown block"
    );
}

#[test]
fn removes_later_annotations() {
    let annotations = Annotations {
        audience: Some(vec![Role::User, Role::Assistant]),
        priority: Some(0.5),
        last_modified: Some("2026-01-01".to_owned()),
        extra: Vec::new(),
    };
    let seen = |revision| value(&View::new(&annotations, revision));
    assert_eq!(seen(Revision::V2025_03_26), json!({ "audience": ["user", "assistant"], "priority": 0.5 }));
    assert_eq!(seen(Revision::V2025_06_18)["lastModified"], "2026-01-01");
}

#[test]
fn wraps_structured_results_for_older_revisions() {
    let result = ToolResult { structured: Some(json("[1]")), ..ToolResult::default() };
    let server = Identity::default();
    let answer = ToolAnswer { result: &result, wrapping: Wrapping::Always, server: &server };
    let seen = |revision| value(&View::new(&answer, revision));
    assert_eq!(seen(Revision::V2025_03_26), json!({ "content": [] }));
    assert_eq!(seen(Revision::V2025_11_25)["structuredContent"], json!({ "result": [1] }));
    let now = seen(Revision::V2026_07_28);
    assert_eq!((&now["structuredContent"], &now["resultType"]), (&json!([1]), &json!("complete")));
    assert_eq!(now["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "moongate");
}

#[test]
fn writes_cache_hints_of_resources() {
    let contents = ResourceContents {
        uri: ResourceUri::new("test://a").unwrap(),
        mime_type: None,
        body: ResourceBody::Blob(vec![255; 3]),
        meta: Vec::new(),
        extra: Vec::new(),
    };
    let mut result = ReadResult { contents: vec![contents], ..ReadResult::default() };
    let server = Identity::default();
    let seen = |result: &ReadResult, revision| {
        value(&View::new(&ReadContents { result, server: &server }, revision))
    };
    let old = seen(&result, Revision::V2025_11_25);
    assert_eq!(old, json!({ "contents": [{ "uri": "test://a", "blob": "////" }] }));
    let now = seen(&result, Revision::V2026_07_28);
    assert_eq!((&now["ttlMs"], &now["cacheScope"]), (&json!(0), &json!("private")));
    result.ttl = Some(Duration::from_millis(1500));
    result.is_shareable = true;
    let now = seen(&result, Revision::V2026_07_28);
    assert_eq!((&now["ttlMs"], &now["cacheScope"]), (&json!(1500), &json!("public")));
}

#[test]
fn writes_completion_totals() {
    let values = vec!["a".to_owned()];
    let completion = Completion { values, total: Some(150), has_more: Some(true), ..Completion::default() };
    let server = Identity::default();
    let seen = |completion: &Completion| {
        value(&View::new(&CompletionResult { completion, server: &server }, Revision::V2025_06_18))
    };
    let expected = json!({ "completion": { "values": ["a"], "total": 150, "hasMore": true } });
    assert_eq!(seen(&completion), expected);
    assert_eq!(seen(&Completion::default()), json!({ "completion": { "values": [] } }));
}

/// The request that failed.
#[derive(Clone, Copy)]
enum Asked {
    Tool,
    Other,
}

fn told(error: &DispatchError, asked: Asked, revision: Revision) -> Value {
    let model = match asked {
        Asked::Tool => ErrorAnswer::for_dispatch_error(error, revision).tool_result,
        Asked::Other => None,
    };
    if let Some(result) = model {
        return json!({ "isError": result.is_error });
    }
    let ProtocolError { error, status } = ErrorAnswer::for_dispatch_error(error, revision).error;
    json!({ "code": error.code, "status": status, "data": error.data })
}

#[test]
fn maps_errors_to_answers() {
    let call = |error| DispatchError::Call { plugin: PluginId::new("p").unwrap(), error };
    let fault = PluginErrorDetail { message: "m".to_owned(), pointer: Some("/x".to_owned()), data: None };
    let misfit =
        DispatchError::InvalidArguments { message: "m".to_owned(), pointer: Some("/city".to_owned()) };
    let missing = DispatchError::ResourceNotFound(UnknownName::new("test://a"));
    let lacks = call(CallError::Refused(PluginError::MissingCapability(vec!["sampling.tools".to_owned()])));
    let (old, june, november, now) =
        (Revision::V2024_11_05, Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28);
    let model = json!({ "isError": true });
    let code = |code: i32, status: u16, data: Value| json!({ "code": code, "status": status, "data": data });
    for (error, asked, revision, expected) in [
        (&misfit, Asked::Tool, june, code(-32602, 200, json!({ "at": "/arguments/city" }))),
        (&misfit, Asked::Tool, november, model.clone()),
        (&missing, Asked::Other, old, code(-32002, 200, json!({ "uri": "test://a" }))),
        (&missing, Asked::Other, now, code(-32602, 200, json!({ "uri": "test://a" }))),
        (&lacks, Asked::Tool, november, model.clone()),
        (&lacks, Asked::Other, november, code(-32603, 200, Value::Null)),
        (
            &lacks,
            Asked::Tool,
            now,
            code(-32021, 400, json!({ "requiredCapabilities": { "sampling": { "tools": {} } } })),
        ),
        (&call(CallError::Timeout(Duration::from_secs(1))), Asked::Tool, old, model.clone()),
        (
            &call(CallError::Busy(BusyReason::Gateway)),
            Asked::Other,
            now,
            code(-32603, 200, json!({ "reason": "busy", "retry": true })),
        ),
        (
            &call(CallError::Refused(PluginError::InvalidParams(fault))),
            Asked::Tool,
            now,
            code(-32602, 200, json!({ "at": "/x" })),
        ),
        (
            &call(CallError::Refused(PluginError::Custom {
                code: -32000,
                message: "m".to_owned(),
                data: None,
            })),
            Asked::Tool,
            now,
            code(-32603, 200, Value::Null),
        ),
        (
            &call(CallError::Refused(PluginError::Custom {
                code: 7,
                message: "m".to_owned(),
                data: Some(json("1")),
            })),
            Asked::Tool,
            now,
            code(7, 200, json!(1)),
        ),
    ] {
        assert_eq!(told(error, asked, revision), expected, "{error:?} in {revision}");
    }
}

#[test]
fn replaced_plugin_allows_a_retry() {
    let replaced = DispatchError::Call { plugin: PluginId::new("p").unwrap(), error: CallError::Replaced };
    assert_eq!(told(&replaced, Asked::Tool, Revision::V2026_07_28), json!({ "isError": true }));
    let data = json!({ "reason": "replaced", "retry": true });
    let expected = json!({ "code": -32603, "status": 200, "data": data });
    assert_eq!(told(&replaced, Asked::Other, Revision::V2025_11_25), expected);
}

#[test]
fn limit_error_names_plugin_and_key() {
    let error =
        DispatchError::Call { plugin: PluginId::new("zoo").unwrap(), error: CallError::Memory(64 << 20) };
    let result = ErrorAnswer::for_dispatch_error(&error, Revision::V2026_07_28).tool_result.unwrap();
    let text = value(&View::new(&result.content[0], Revision::V2026_07_28))["text"].clone();
    assert_eq!(
        text,
        "plugin `zoo`: exceeded the memory limit of 64.0 MiB (limit `plugins.zoo.limits.memory`)"
    );
}

#[test]
fn finds_methods_of_the_revision_only() {
    for revision in Revision::ALL {
        let stateless = revision.era() == Era::Stateless;
        assert_eq!(Method::find("ping", revision).is_some(), !stateless);
        assert_eq!(Method::find("initialize", revision).is_some(), !stateless);
        assert_eq!(Method::find("server/discover", revision).is_some(), stateless);
        assert_eq!(Method::find("tools/call", revision), Some(Method::CallTool));
        assert_eq!(Method::find("Tools/Call", revision), None);
        assert_eq!(Revision::from_name(revision.as_str()), Some(revision));
    }
}

#[test]
fn projects_valid_schemas_to_each_revision() {
    let boolean = r#"{"type":"object","properties":{"x":true}}"#;
    let tool = Tool { input_schema: json(boolean), output_schema: Some(json(boolean)), ..tool() };
    let name = PublicName::new("p_own").unwrap();
    let item = item(&name, &tool);
    for revision in Revision::ALL {
        let shown = value(&View::new(&item, revision));
        let expected = if revision.era() == Era::Stateless { json!(true) } else { json!({}) };
        assert_eq!(shown["inputSchema"]["properties"]["x"], expected, "{revision}");
        if revision.has(Feature::Structured) {
            assert_eq!(shown["outputSchema"]["properties"]["x"], expected, "{revision}");
        }
    }
}

#[test]
fn escapes_keys_in_error_pointers() {
    let arguments = json!({ "a/b~c": 1 });
    let error = Params::strings(Some(&arguments.to_string()), "/arguments").unwrap_err();
    assert_eq!(error.error.data.unwrap().to_value().unwrap(), json!({ "at": "/arguments/a~1b~0c" }));
}

#[test]
fn shortens_caller_text_in_errors() {
    let long = "x".repeat(1_000_000);
    let error = ProtocolError::unsupported_version(&long).error;
    assert!(error.message.len() < 200);
    let arguments = Value::Object([(long, json!(1))].into_iter().collect());
    assert!(Params::strings(Some(&arguments.to_string()), "").unwrap_err().error.message.len() < 200);
}

#[test]
fn rejects_oversized_client_information() {
    let hello = |capabilities: Value, client: Value| {
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client });
        let raw = serde_json::value::to_raw_value(&params).unwrap();
        InitializeParams::read(&Params::read(Some((&*raw).into())).unwrap()).map_err(|error| error.error)
    };
    let icons =
        json!({ "name": "c", "version": "1", "icons": [{ "src": format!("data:,{}", "x".repeat(60_000)) }] });
    assert!(hello(json!({ "experimental": { "x": "x".repeat(4_000) } }), icons).is_ok());
    let long = json!({ "name": "c", "version": "x".repeat(70_000) });
    let error = hello(json!({}), long).unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (-32602, "`clientInfo` is longer than 65536 bytes"));
    let many: serde_json::Map<_, _> = (0..2_000).map(|n| (format!("x{n:06}"), json!({}))).collect();
    let error = hello(Value::Object(many), json!({ "name": "c", "version": "1" })).unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (-32602, "`capabilities` is longer than 4096 bytes"));
}

#[test]
fn bounds_the_depth_of_capability_names() {
    let names = vec![".".repeat(256), "a.b.c.d".to_owned()];
    let error = CallError::Refused(PluginError::MissingCapability(names));
    let lacks = DispatchError::Call { plugin: PluginId::new("p").unwrap(), error };
    let told = told(&lacks, Asked::Other, Revision::V2026_07_28).to_string();
    assert!(crate::json::parse_strict(&told).is_ok(), "{told}");
}

#[test]
fn limits_lists_of_small_values() {
    let members = |count: usize| {
        let all = (0..count).map(|at| (format!("k{at}"), json!("")));
        Value::Object(all.collect()).to_string()
    };
    assert_eq!(Params::strings(Some(&members(1_000)), "/arguments").unwrap().len(), 1_000);
    let error = Params::strings(Some(&members(1_001)), "/arguments").unwrap_err().error;
    assert_eq!(error.message, "at most 1000 arguments are allowed");
    assert_eq!(super::envelope::client_info(&members(5_000)).extra.len(), 64);
    for (token, is_kept) in [("x".repeat(1_000), true), ("x".repeat(1_100), false)] {
        let params = json!({ "_meta": { "progressToken": token } });
        let raw = serde_json::value::to_raw_value(&params).unwrap();
        let prefs = NotificationPrefs::read(&Params::read(Some((&*raw).into())).unwrap(), None);
        assert_eq!(prefs.is_empty(), !is_kept);
    }
}

#[test]
fn reads_parameters_as_written() {
    let text =
        "{\n\"name\" : \"a\\u0062\",\r\n\"arguments\":{ \"n\" : 1.50 },\"_meta\": {\"progressToken\": 7}}";
    let raw: Box<serde_json::value::RawValue> = serde_json::from_str(text).unwrap();
    let params = Params::read(Some((&*raw).into())).unwrap();
    assert_eq!(params.string("name").unwrap(), "ab");
    assert_eq!(params.get("arguments"), Some(r#"{ "n" : 1.50 }"#));
    assert_eq!((params.meta("progressToken"), params.get("uri")), (Some("7"), None));
    assert!(!params.text().contains(['\n', '\r']));
    for text in [r#"{"x":{"a":1,"\u0061":2}}"#, "[]", "1e999"] {
        let raw: Box<serde_json::value::RawValue> = serde_json::from_str(text).unwrap();
        assert_eq!(Params::read(Some((&*raw).into())).unwrap_err().error.code, -32602, "{text}");
    }
}
