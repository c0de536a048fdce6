//! All kinds of items in a block: arguments, results, resources, prompts, completions, and information about the
//! call.

use moongate_sdk::prelude::*;
use moongate_sdk::testing::{self, Change, Client};
use moongate_sdk::{CallOutcome, CompletionTarget, Failure, InputRequest, NeedInput, ResourceBody};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

#[derive(Default)]
struct Offers;

#[derive(Deserialize, JsonSchema)]
struct Area {
    /// How wide.
    width: u32,
    #[serde(default)]
    height: u32,
}

#[derive(Serialize, JsonSchema)]
struct Size {
    area: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Greeting {
    /// The name to greet.
    name: String,
    tone: Option<String>,
}

const RAW: &str = r#"{"type":"object","$defs":{"x":{"type":"string"}}}"#;

/// Everything.
#[plugin(name = "offers", version = "9", title = "Offers", instructions = "Use it.", config = Area)]
impl Offers {
    /// Nothing in, nothing out.
    #[tool]
    fn nothing(&self) {}

    /// Multiplies.
    ///
    /// Slowly.
    #[tool(name = "multiply-it", title = "Multiply", destructive = false, idempotent, open_world = false)]
    fn multiply(
        /// The first factor.
        a: f64,
        /// The second.
        #[serde(default)]
        b: Option<f64>,
    ) -> f64 {
        a * b.unwrap_or(1.0)
    }

    /// The area.
    #[tool]
    fn area(&self, args: &Area) -> Json<Size> {
        Json(Size { area: args.width * args.height })
    }

    /// The same, in pieces.
    #[tool]
    fn taken_apart(&self, Area { width, height }: Area) -> Pretty<Size> {
        Pretty(Size { area: width * height })
    }

    /// Returns its arguments.
    #[tool(input_schema = RAW, output = Size)]
    fn raw(&self, args: Map<String, Value>) -> Result<ToolResult, ToolError> {
        ToolResult::text(Value::Object(args).to_string()).with_structured(&json!({ "area": 1 }))
    }

    /// Returns information about the call.
    #[tool]
    fn about(&self, ctx: &Context) -> Result<String, ToolError> {
        log::info("about");
        log::data(moongate_sdk::LogLevel::Debug, Some("part"), &json!({ "a": 1 }));
        progress::report(1.0, 2.0);
        changes::tools();
        changes::resource("test://x");
        let name = ctx.client().map(|client| client.name);
        Ok(format!(
            "{:?} {:?} {:?} {} {:?} {:?} {:?}",
            ctx.principal(),
            name,
            ctx.revision(),
            ctx.capability("sampling"),
            ctx.meta("key"),
            config::parsed::<u32>("width")?,
            ctx.remaining(),
        ))
    }

    /// Ends in the given way.
    #[tool]
    fn end(&self, how: &str) -> Result<&'static str, ToolError> {
        match how {
            "failed" => Err(ToolError::failed("it didn't work")),
            "params" => Err(ToolError::invalid_params("no such way").at("/how").data(&json!({ "way": how }))),
            "number" => Ok(if "x".parse::<u8>()? > 0 { "more" } else { "less" }),
            _ => Err(ToolError::not_found("nothing here")),
        }
    }

    /// Asks for a name.
    #[tool]
    fn ask(&self, ctx: &Context) -> Result<String, ToolError> {
        match ctx.answer::<Value>("name") {
            Some(answer) => Ok(answer["content"]["name"].to_string()),
            None => Err(NeedInput {
                requests: vec![InputRequest {
                    key: "name".to_owned(),
                    method: "elicitation/create".to_owned(),
                    params: None,
                }],
                state: None,
                meta: None,
                extra: None,
            }
            .into()),
        }
    }

    /// A text.
    #[resource(uri = "test://text", mime_type = "text/plain")]
    fn text(&self) -> &'static str {
        "text"
    }

    /// A row.
    #[resource(uri = "test://rows/{id}", name = "row", title = "Row")]
    fn row(&self, id: u32, uri: &str) -> Result<String, ToolError> {
        if id > 100 { Err(ToolError::not_found("no such row")) } else { Ok(format!("{uri} is {id}")) }
    }

    /// Greets.
    #[prompt]
    fn greet(&self, args: &Greeting) -> String {
        format!("Greet {} {:?}", args.name, args.tone)
    }

    /// Counts.
    #[prompt(name = "count-to", title = "Count")]
    fn count(
        &self,
        /// How far.
        to: u8,
        from: Option<u8>,
    ) -> Vec<PromptMessage> {
        vec![
            PromptMessage::user(format!("Count from {} to {to}", from.unwrap_or(1))),
            PromptMessage::assistant("1"),
        ]
    }

    #[complete(prompt = "greet", argument = "name")]
    fn names(&self, typed: &str, others: &[(String, String)]) -> Vec<String> {
        vec![format!("{typed}a"), others.len().to_string()]
    }
}

fn client() -> Client<Offers> {
    Client::new()
}

#[test]
fn lists_tools_in_source_order() {
    let names: Vec<String> = client().tools().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["nothing", "multiply-it", "area", "taken_apart", "raw", "about", "end", "ask"]);
}

#[test]
fn lists_options_and_doc_comments() {
    let tools = client().tools();
    let multiply = &tools[1];
    assert_eq!(multiply.title.as_deref(), Some("Multiply"));
    assert_eq!(multiply.description.as_deref(), Some("Multiplies.\n\nSlowly."));
    let hints = multiply.annotations.as_ref().unwrap();
    let all = (hints.read_only, hints.destructive, hints.idempotent, hints.open_world);
    assert_eq!(all, (None, Some(false), Some(true), Some(false)));
    let schema: Value = serde_json::from_str(&multiply.input_schema).unwrap();
    assert_eq!(schema["properties"]["a"]["description"], "The first factor.");
    assert_eq!(schema["required"], json!(["a"]));
    assert_eq!(tools[0].annotations, None);
    assert_eq!(tools[4].input_schema, RAW);
}

#[test]
fn derives_the_output_schema() {
    let tools = client().tools();
    for tool in [&tools[2], &tools[3], &tools[4]] {
        let schema: Value = serde_json::from_str(tool.output_schema.as_ref().unwrap()).unwrap();
        assert_eq!(schema["required"], json!(["area"]), "{}", tool.name);
    }
    assert_eq!(tools[0].output_schema, None);
}

#[test]
fn describes_the_plugin() {
    let info = client().info();
    assert_eq!((info.name.as_str(), info.version.as_str()), ("offers", "9"));
    assert_eq!(info.title.as_deref(), Some("Offers"));
    assert_eq!(info.description.as_deref(), Some("Everything."));
    assert_eq!(info.instructions.as_deref(), Some("Use it."));
    assert!(info.config_schema.unwrap().contains("How wide."));
}

#[test]
fn passes_arguments() {
    let client = client();
    assert_eq!(client.call("nothing", json!({})).unwrap().content, []);
    assert_eq!(client.call("multiply-it", json!({ "a": 2, "b": 3 })).unwrap().all_text(), "6");
    assert_eq!(client.call("multiply-it", json!({ "a": 2 })).unwrap().all_text(), "2");
    let area = client.call("area", json!({ "width": 2, "height": 3 })).unwrap();
    assert_eq!((area.all_text().as_str(), area.structured_value()), (r#"{"area":6}"#, json!({ "area": 6 })));
    let pretty = client.call("taken_apart", json!({ "width": 2, "height": 3 })).unwrap();
    assert_eq!(pretty.all_text(), "{\n  \"area\": 6\n}");
    assert_eq!(pretty.structured.as_deref(), Some(r#"{"area":6}"#));
    assert_eq!(client.call("raw", json!({ "x": [1] })).unwrap().all_text(), r#"{"x":[1]}"#);
}

#[test]
fn reports_invalid_arguments_to_the_model() {
    let result = client().call("multiply-it", json!({ "a": "two" })).unwrap();
    assert!(result.failed());
    assert!(
        result.all_text().starts_with("invalid arguments: invalid type: string \"two\""),
        "{}",
        result.all_text()
    );
}

#[test]
fn provides_context_and_collects_reports() {
    let client = client()
        .principal("ada")
        .client_info("editor", "1")
        .revision("2026-07-28")
        .capability("sampling.tools")
        .meta("key", "value")
        .config("width", 7)
        .remaining(std::time::Duration::from_secs(2));
    let text = client.call("about", json!({})).unwrap().all_text();
    assert_eq!(
        text,
        r#"Some("ada") Some("editor") Some("2026-07-28") true Some(String("value")) Some(7) Some(2s)"#
    );
    assert_eq!(client.logs().len(), 2);
    assert_eq!(client.logs()[1].logger.as_deref(), Some("part"));
    assert_eq!(client.progress()[0].total, Some(2.0));
    assert_eq!(client.changes(), [Change::Tools, Change::Resource("test://x".to_owned())]);
}

#[test]
fn reports_invalid_settings_as_tool_errors() {
    let result = client().config("width", "wide").call("about", json!({})).unwrap();
    assert!(result.failed());
    assert_eq!(
        result.all_text(),
        "invalid `width` in `[plugins.<name>.config]` of `gateway.toml`: expected an integer, 0 or more"
    );
}

#[test]
fn returns_each_kind_of_error() {
    let client = client();
    let failed = client.call("end", json!({ "how": "failed" })).unwrap();
    assert_eq!((failed.failed(), failed.all_text().as_str()), (true, "it didn't work"));
    let parsed = client.call("end", json!({ "how": "number" })).unwrap();
    assert_eq!((parsed.failed(), parsed.all_text().as_str()), (true, "invalid digit found in string"));
    let Err(Failure::InvalidParams(fault)) = client.call("end", json!({ "how": "params" })) else { panic!() };
    assert_eq!(fault.at.as_deref(), Some("/how"));
    assert_eq!(fault.data.as_deref(), Some(r#"{"way":"params"}"#));
    assert!(matches!(client.call("end", json!({ "how": "?" })), Err(Failure::NotFound(_))));
    let Err(Failure::NotFound(fault)) = client.call("absent", json!({})) else { panic!() };
    assert_eq!(fault.message, "there is no tool `absent`");
}

#[test]
fn restarts_a_call_with_the_answer() {
    let Ok(CallOutcome::NeedInput(input)) = client().call_outcome("ask", json!({})) else { panic!() };
    assert_eq!(input.requests[0].key, "name");
    let client = client().answer("name", testing::accepted(json!({ "name": "Ada" })));
    assert_eq!(client.call("ask", json!({})).unwrap().all_text(), "\"Ada\"");
}

#[test]
fn lists_and_reads_resources() {
    let client = client();
    assert_eq!(client.resources()[0].mime_type.as_deref(), Some("text/plain"));
    assert_eq!(client.templates()[0].uri_template, "test://rows/{id}");
    let text = &client.read("test://text").unwrap().contents[0];
    assert_eq!((text.uri.as_str(), text.mime_type.as_deref()), ("test://text", Some("text/plain")));
    assert_eq!(text.body, ResourceBody::Text("text".to_owned()));
    let row = &client.read("test://rows/7").unwrap().contents[0];
    assert_eq!(row.body, ResourceBody::Text("test://rows/7 is 7".to_owned()));
    for unknown in ["test://rows/101", "test://rows/x", "test://rows/1/2", "test://other"] {
        assert!(matches!(client.read(unknown), Err(Failure::NotFound(_))), "{unknown}");
    }
}

#[test]
fn lists_and_gets_prompts() {
    let client = client();
    let prompts = client.prompts();
    let greet = prompts[0].args.as_ref().unwrap();
    assert_eq!((greet[0].name.as_str(), greet[0].required), ("name", Some(true)));
    assert_eq!(greet[0].description.as_deref(), Some("The name to greet."));
    assert_eq!((greet[1].name.as_str(), greet[1].required), ("tone", None));
    let count = prompts[1].args.as_ref().unwrap();
    assert_eq!((prompts[1].name.as_str(), count[0].description.as_deref()), ("count-to", Some("How far.")));
    assert_eq!(count[1].required, None);

    let result = client.prompt("greet", &[("name", "Ada")]).unwrap();
    assert_eq!(result.messages, [PromptMessage::user("Greet Ada None")]);
    let result = client.prompt("count-to", &[("to", "3")]).unwrap();
    assert_eq!(result.messages[0], PromptMessage::user("Count from 1 to 3"));
    let Err(Failure::InvalidParams(fault)) = client.prompt("count-to", &[("to", "300")]) else { panic!() };
    assert_eq!(fault.message, "invalid argument `to`: number too large to fit in target type");
    assert!(matches!(client.prompt("count-to", &[]), Err(Failure::InvalidParams(_))));
    assert!(matches!(client.prompt("other", &[]), Err(Failure::NotFound(_))));
}

#[test]
fn completes_only_the_named_argument() {
    let client = client();
    let target = CompletionTarget::Prompt("greet".to_owned());
    let completion = client.complete(&target, "name", "Ad", &[("tone", "warm")]).unwrap();
    assert_eq!(completion.values, ["Ada", "1"]);
    assert_eq!(client.complete(&target, "tone", "w", &[]).unwrap().values, [""; 0]);
}
