//! A plugin with hostile text everywhere: each text contains invisible characters, characters that reverse the text
//! or control a terminal, and a forged line. Each JSON text contains halves of surrogate pairs.
//!
//! It is written by hand, because `#[plugin]` would refuse much of it. The setting `describes` makes it misbehave
//! when it describes itself (`moods`).
#![forbid(unsafe_code)]

use moongate_sdk::bindings::imports::moongate::plugin::{log, progress};
use moongate_sdk::{
    Annotations, CallOutcome, Completion, CompletionTarget, Content, Context, CustomFault, Failure, Fault,
    Icon, InputRequest, LogLevel, MediaContent, NeedInput, Plugin, PluginInfo, Prompt, PromptArgument,
    PromptMessage, PromptOutcome, PromptResult, ReadOutcome, ReadResult, ResourceBody, ResourceContents,
    ResourceInfo, ResourceTemplate, Role, Tool, ToolAnnotations, ToolResult,
};
use serde_json::json;

mod moods; // errors when it describes itself

/// Characters that reverse text, control a terminal, end a line, and are invisible.
const TRAPS: &str = "\u{202e}\u{2066}\u{1b}[2J\u{1b}]0;x\u{7}\u{8}\u{0}\u{9b}31m\u{7f}\u{200b}\u{feff}\u{e0041}\u{e0100}\u{fff9}\u{2028}\r\n2026-01-01T00:00:00Z ERROR forged\n";

/// The plugin.
#[derive(Debug, Default)]
pub struct Malformed;

moongate_sdk::export!(Malformed: tools, resources, prompts, completions);

/// A JSON string that was cut inside an emoji.
const CUT: &str = r#""cut \ud83d""#;

/// A JSON object with halves of surrogate pairs in a key and a value.
const CUT_OBJECT: &str = r#"{"cut \udc00":"cut \ud83d"}"#;

/// JSON texts that strict parsers refuse, or read differently.
fn unreadable() -> [String; 4] {
    let deep = "[".repeat(101) + &"]".repeat(101);
    [r#"{"out of range":1e400}"#.to_owned(), "9".repeat(5_000), r#"{"a":1,"a":2}"#.to_owned(), deep]
}

/// A text with the name of its place on both sides of the hostile characters.
fn strange(place: &str) -> String {
    format!("{place} begins{TRAPS}{place} ends")
}

/// The same, for an optional text.
fn some(place: &str) -> Option<String> {
    Some(strange(place))
}

/// The plugin's own `_meta`, with a hostile key.
fn meta(place: &str) -> Option<Vec<(String, String)>> {
    Some(vec![
        (format!("example.com/{}", strange("key")), json!(strange(place)).to_string()),
        ("example.com/escaped".to_owned(), r#""\u202e\u001b[31m\udb40\udc41""#.to_owned()),
        (format!("example.com/cut-{}", place.replace(' ', "-")), CUT_OBJECT.to_owned()),
    ])
}

fn icons() -> Option<Vec<Icon>> {
    let icon = |src: &str| Icon {
        src: src.to_owned(),
        mime_type: some("icon type"),
        sizes: Some(vec![strange("icon size")]),
        theme: None,
        extra: None,
    };
    Some(vec![icon("https://example.com/icon.png"), icon(&strange("javascript:alert"))])
}

fn annotations() -> Option<Annotations> {
    Some(Annotations { audience: None, priority: None, last_modified: some("last modified"), extra: None })
}

fn tool(name: &str) -> Tool {
    let schema = json!({
        "type": "object",
        "title": strange("schema title"),
        "description": strange("schema"),
        "properties": { "word": { "type": "string", "description": strange("argument"), "default": strange("default") } },
    });
    Tool {
        title: some("tool title"),
        annotations: Some(ToolAnnotations {
            title: some("hint title"),
            read_only: Some(true),
            destructive: None,
            idempotent: None,
            open_world: None,
            extra: None,
        }),
        icons: icons(),
        meta: meta("tool meta"),
        ..Tool::new(
            name,
            strange("tool description"),
            with_cut(&schema.to_string(), "examples", &format!("[{CUT_OBJECT}]")),
        )
    }
}

/// The JSON text of an object, with one more member.
fn with_cut(object: &str, key: &str, value: &str) -> String {
    let rest = object.strip_prefix('{').unwrap_or_default();
    format!("{{\"{key}\":{value},{rest}")
}

/// Tools with a hostile text in different places.
const TOOLS: [&str; 15] = [
    "log",
    "log_no_json",
    "log_unreadable",
    "progress",
    "panic_strangely",
    "print",
    "fail_params",
    "fail_not_found",
    "fail_internal",
    "fail_custom",
    "fail_hugely",
    "lack",
    "ask",
    "answer",
    "answer_unreadable",
];

fn fault(place: &str) -> Fault {
    let data = with_cut(&json!({ "data": strange("data") }).to_string(), "cut", CUT);
    Fault { message: strange(place), at: some("pointer"), data: Some(data) }
}

impl Plugin for Malformed {
    fn info() -> PluginInfo {
        moods::describes();
        PluginInfo {
            title: some("plugin title"),
            description: some("plugin description"),
            website_url: some("https://example.com/website"),
            icons: icons(),
            instructions: moods::instructions(some("instructions")),
            meta: meta("plugin meta"),
            ..PluginInfo::new(strange("plugin name"), strange("plugin version"))
        }
    }

    fn tools(&self) -> Result<Vec<Tool>, Failure> {
        moods::tools(TOOLS.into_iter().map(tool).collect())
    }

    fn call_tool(&self, ctx: &Context, name: &str, args: &str) -> Result<CallOutcome, Failure> {
        match name {
            "log" => {
                let data = json!({ strange("log key"): strange("log value") }).to_string();
                log::write(LogLevel::Warning, Some(&strange("logger")), &data);
                log::write(
                    LogLevel::Warning,
                    Some(&strange("logger")),
                    &json!(strange("message")).to_string(),
                );
                log::write(LogLevel::Error, None, r#""\u202e\u001b[2J escaped \ud83d\ude00""#);
                log::write(LogLevel::Error, None, CUT);
                log::write(LogLevel::Error, None, CUT_OBJECT);
            }
            "log_unreadable" => {
                for data in unreadable() {
                    log::write(LogLevel::Error, None, &data);
                }
            }
            "log_no_json" => log::write(LogLevel::Error, None, &format!("{{ \"broken\": {TRAPS}")),
            "progress" => progress::report(1.0, Some(2.0), Some(&strange("progress"))),
            "panic_strangely" => panic!("{}", strange("panic")),
            "print" => print(),
            "fail_params" => return Err(Failure::InvalidParams(fault("wrong"))),
            "fail_not_found" => return Err(Failure::NotFound(fault("missing"))),
            "fail_internal" => return Err(Failure::Internal(fault("broken"))),
            "fail_custom" => {
                let data = Some(strange("no JSON"));
                return Err(Failure::Custom(CustomFault { code: 7, message: strange("custom"), data }));
            }
            "fail_hugely" => {
                let message = strange("huge").repeat(5_000);
                return Err(Failure::Internal(Fault { message, ..fault("huge") }));
            }
            "lack" => {
                return Err(Failure::MissingCapability(vec![format!(
                    "extensions.com.example/{}",
                    strange("capability")
                )]));
            }
            "ask" => return ask(ctx),
            "answer_unreadable" => {
                let which = serde_json::from_str::<serde_json::Value>(args).ok();
                let which = which.and_then(|args| usize::try_from(args["which"].as_u64()?).ok());
                let structured = which.and_then(|which| unreadable().get(which).cloned());
                return Ok(CallOutcome::Done(ToolResult { structured, ..ToolResult::text("") }));
            }
            other if !TOOLS.contains(&other) => return Ok(CallOutcome::Done(ToolResult::text(other))),
            _ => {}
        }
        Ok(CallOutcome::Done(answer()))
    }

    fn resources(&self) -> Result<Vec<ResourceInfo>, Failure> {
        Ok(moods::resources(|| vec![resource("malformed://text"), resource("malformed://lost")]))
    }

    fn templates(&self) -> Result<Vec<ResourceTemplate>, Failure> {
        let template = || ResourceTemplate {
            title: some("template title"),
            description: some("template description"),
            mime_type: some("template type"),
            icons: icons(),
            annotations: annotations(),
            meta: meta("template meta"),
            ..ResourceTemplate::new("malformed://words/{word}", strange("template name"))
        };
        Ok(moods::templates(|| vec![template()]))
    }

    fn read_resource(&self, _: &Context, uri: &str) -> Result<ReadOutcome, Failure> {
        if uri == "malformed://lost" {
            return Err(Failure::NotFound(fault("lost")));
        }
        let contents = vec![ResourceContents {
            uri: uri.to_owned(),
            mime_type: some("content type"),
            body: ResourceBody::Text(strange("content")),
            meta: meta("content meta"),
            extra: None,
        }];
        Ok(ReadOutcome::Done(ReadResult {
            contents,
            ttl_ms: None,
            shareable: None,
            meta: meta("read meta"),
            extra: None,
        }))
    }

    fn prompts(&self) -> Result<Vec<Prompt>, Failure> {
        let argument = PromptArgument {
            title: some("argument title"),
            description: some("argument description"),
            ..PromptArgument::optional("word")
        };
        let speech = || Prompt {
            title: some("prompt title"),
            icons: icons(),
            meta: meta("prompt meta"),
            ..Prompt::new("speech", strange("prompt description"), vec![argument])
        };
        Ok(moods::prompts(|| vec![speech()]))
    }

    fn get_prompt(&self, _: &Context, name: &str, _: &[(String, String)]) -> Result<PromptOutcome, Failure> {
        let content = Content::text(if name == "speech" { strange("said") } else { name.to_owned() });
        let message = PromptMessage { role: Role::User, content, extra: None };
        Ok(PromptOutcome::Done(PromptResult {
            description: some("prompt result"),
            messages: vec![message],
            meta: meta("prompt result meta"),
            extra: None,
        }))
    }

    fn complete(
        &self,
        _: &CompletionTarget,
        _: &str,
        typed: &str,
        _: &[(String, String)],
    ) -> Result<Completion, Failure> {
        if typed == "many" {
            return Ok(Completion::from((0..1_000).map(|at| at.to_string()).collect::<Vec<_>>()));
        }
        Ok(Completion { meta: meta("completion meta"), ..Completion::from(vec![strange("completion")]) })
    }
}

fn resource(uri: &str) -> ResourceInfo {
    ResourceInfo {
        uri: uri.to_owned(),
        name: strange("resource name"),
        title: some("resource title"),
        description: some("resource description"),
        mime_type: some("resource type"),
        size: None,
        icons: icons(),
        annotations: annotations(),
        meta: meta("resource meta"),
        extra: None,
    }
}

/// A result. Its content and structured content are data and are passed on unchanged, but not their descriptions.
fn answer() -> ToolResult {
    let picture = MediaContent {
        data: vec![1, 2, 3],
        mime_type: strange("picture type"),
        annotations: annotations(),
        meta: meta("picture meta"),
        extra: None,
    };
    ToolResult {
        content: vec![
            Content::text(strange("result")),
            Content::Image(picture),
            Content::Link(resource("malformed://text")),
            Content::Other(format!("{{\"type\":\"text\",\"text\":{CUT}}}")),
            Content::Other(format!("{{\"type\":\"hologram\",\"data\":{CUT_OBJECT}}}")),
        ],
        structured: Some(format!(
            "{{\r\n\"said\":\n{},\"cut\":{CUT_OBJECT}}}\r\n",
            json!(strange("structured"))
        )),
        meta: meta("result meta"),
        ..ToolResult::text("")
    }
}

/// Invalid UTF-8, terminal control sequences and forged lines, on both streams.
fn print() {
    use std::io::Write as _;
    let bytes =
        [strange("printed").as_bytes(), b"\xff\xfe\x9b31m\n", "\u{85}\u{9d}0;title\u{9c}\n".as_bytes()]
            .concat();
    drop(std::io::stdout().write_all(&bytes));
    drop(std::io::stderr().write_all(&bytes));
}

/// A form with hostile texts.
fn ask(ctx: &Context) -> Result<CallOutcome, Failure> {
    if ctx.answer::<serde_json::Value>("form").is_some() {
        return Ok(CallOutcome::Done(ToolResult::text("was answered")));
    }
    let params = json!({
        "message": strange("question"),
        "requestedSchema": {
            "type": "object",
            "properties": {
                "word": { "type": "string", "title": strange("label"), "description": strange("help") },
                "choice": { "type": "string", "enum": ["a", "b"], "enumNames": [strange("first"), strange("second")] },
            },
        },
    });
    let request = InputRequest {
        key: "form".to_owned(),
        method: "elicitation/create".to_owned(),
        params: Some(params.to_string().replacen("question begins", "question begins \\ud83d", 1)),
    };
    Ok(CallOutcome::NeedInput(NeedInput { requests: vec![request], state: None, meta: None, extra: None }))
}

#[cfg(test)]
mod tests;
