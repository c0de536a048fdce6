//! The plugin that `plugin.wasm` was built from: it has every export of the contract 0.1.0 and calls every import that
//! the SDK of that time had, so that a gateway that can't run plugins of 0.1.0 any more can't run it either.
//!
//! Written by hand instead of with `#[plugin]`, and without JSON of its own, to stay small. It isn't built again: what is
//! tested is that the bytes of then still work.
#![forbid(unsafe_code)]

use moongate_sdk::bindings::imports::moongate::plugin::{log, request};
use moongate_sdk::{
    Annotations, CallOutcome, Completion, CompletionTarget, Content, Context, Failure, InputRequest,
    LogLevel, NeedInput, Plugin, PluginInfo, Prompt, PromptArgument, PromptMessage, PromptOutcome,
    PromptResult, ReadOutcome, ReadResult, ResourceContents, ResourceInfo, ResourceTemplate, Role, Tool,
    ToolAnnotations, ToolError, ToolResult, changes, config, env, kv, progress,
};

const ANY_OBJECT: &str = r#"{"type":"object"}"#;
const TOUCHED: &str =
    r#"{"type":"object","properties":{"touched":{"type":"integer"}},"required":["touched"]}"#;

/// A plugin of the contract 0.1.0.
#[derive(Default)]
struct Old;

impl Plugin for Old {
    fn info() -> PluginInfo {
        PluginInfo {
            title: Some("Old".to_owned()),
            description: Some("A plugin of the contract 0.1.0.".to_owned()),
            website_url: Some("https://example.org/old".to_owned()),
            instructions: Some("Call `echo`.".to_owned()),
            config_schema: Some(ANY_OBJECT.to_owned()),
            meta: Some(vec![("org.example/old".to_owned(), "true".to_owned())]),
            ..PluginInfo::new("old", "0.1.0")
        }
    }

    fn tools(&self) -> Result<Vec<Tool>, Failure> {
        let hints = ToolAnnotations { read_only: Some(true), ..ToolAnnotations::none() };
        Ok(vec![
            Tool {
                title: Some("Echo".to_owned()),
                annotations: Some(hints),
                ..Tool::new("echo", "Gives its arguments back.", ANY_OBJECT)
            },
            Tool {
                output_schema: Some(TOUCHED.to_owned()),
                ..Tool::new("touch", "Calls everything that a gateway offers.", ANY_OBJECT)
            },
            Tool::new("ask", "Asks the client for its folders.", ANY_OBJECT),
            Tool::new("fail", "Fails.", ANY_OBJECT),
        ])
    }

    fn call_tool(&self, ctx: &Context, name: &str, args: &str) -> Result<CallOutcome, Failure> {
        Ok(CallOutcome::Done(match name {
            "echo" => {
                let hints = Annotations::audience([Role::Assistant]).priority(0.5);
                ToolResult::text(args)
                    .with(Content::image([1, 2, 3], "image/png").annotated(hints))
                    .with(Content::link(ResourceInfo::new("old://page", "page")))
                    .with(Content::embedded(ResourceContents::text("old://page", "a page")))
            }
            "touch" => touch(ctx),
            "ask" => match request::answer("folders") {
                Some(answer) => ToolResult::text(answer),
                None => {
                    let key = "folders".to_owned();
                    let requests = vec![InputRequest { key, method: "roots/list".to_owned(), params: None }];
                    let state = Some(b"asked".to_vec());
                    let input = NeedInput { requests, state, meta: None, extra: None };
                    return Ok(CallOutcome::NeedInput(input));
                }
            },
            "fail" => {
                return Err(Failure::InvalidParams(moongate_sdk::Fault {
                    message: "it fails".to_owned(),
                    at: Some("/how".to_owned()),
                    data: Some("1".to_owned()),
                }));
            }
            _ => return ToolError::not_found("no such tool").into_outcome(),
        }))
    }

    fn resources(&self) -> Result<Vec<ResourceInfo>, Failure> {
        Ok(vec![
            ResourceInfo::new("old://page", "page").description("A page.").mime_type("text/plain").size(6),
        ])
    }

    fn templates(&self) -> Result<Vec<ResourceTemplate>, Failure> {
        Ok(vec![ResourceTemplate::new("old://pages/{name}", "pages")])
    }

    fn read_resource(&self, _: &Context, uri: &str) -> Result<ReadOutcome, Failure> {
        let contents = vec![ResourceContents::text(uri, "a page"), ResourceContents::blob(uri, [0])];
        Ok(ReadOutcome::Done(ReadResult::new(contents).shareable()))
    }

    fn prompts(&self) -> Result<Vec<Prompt>, Failure> {
        Ok(vec![Prompt::new("greet", "Greets.", vec![PromptArgument::required("name")])])
    }

    fn get_prompt(&self, _: &Context, _: &str, args: &[(String, String)]) -> Result<PromptOutcome, Failure> {
        let name = args.first().map_or("", |(_, name)| name);
        Ok(PromptOutcome::Done(PromptResult::new(vec![
            PromptMessage::user(name),
            PromptMessage::assistant("Hello!"),
        ])))
    }

    fn complete(
        &self,
        _: &CompletionTarget,
        _: &str,
        typed: &str,
        _: &[(String, String)],
    ) -> Result<Completion, Failure> {
        Ok(Completion::from(vec![typed, "Ada"]))
    }
}

/// Calls each import once, and counts those that answered as they should.
fn touch(ctx: &Context) -> ToolResult {
    log::write(LogLevel::Info, Some("old"), r#""touched""#);
    progress::report(1.0, 2.0);
    changes::tools();
    changes::resources();
    changes::prompts();
    changes::resource("old://page");
    let there = [
        ctx.revision().is_some(),
        ctx.client().is_some(),
        ctx.principal().is_none(),
        !ctx.capability("sampling"),
        request::meta_value("org.example/none").is_none(),
        ctx.remaining().is_some(),
        !ctx.cancelled(),
        config::get("colour").is_ok_and(|colour| colour.as_deref() == Some("red")),
        config::get_all().is_ok_and(|all| all.len() == 1),
        env::get("NOT_GRANTED").is_none(),
        kv::set_bytes("a", b"1").is_ok(),
        kv::increment("a", 1).is_ok_and(|sum| sum == 2),
        kv::update_bytes("a", |old| [old.unwrap_or_default(), b"0".to_vec()].concat())
            .is_ok_and(|new| new == b"20"),
        kv::exists("a").is_ok_and(|is| is),
        kv::keys().is_ok_and(|keys| keys == ["a"]),
        kv::delete("a").is_ok(),
        kv::get_bytes("a").is_ok_and(|bytes| bytes.is_none()),
    ];
    let touched = there.iter().filter(|is| **is).count();
    let missing: Vec<String> =
        there.iter().enumerate().filter(|(_, is)| !**is).map(|(index, _)| index.to_string()).collect();
    let structured = Some(["{\"touched\":", &touched.to_string(), "}"].concat());
    ToolResult { structured, ..ToolResult::text(missing.join(" ")) }
}

moongate_sdk::export!(Old: tools, resources, prompts, completions);
