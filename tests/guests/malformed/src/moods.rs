//! Errors when the plugin describes itself, selected by its setting `describes`.

use std::hint::black_box;

use moongate_sdk::{Failure, Fault, Prompt, PromptArgument, ResourceInfo, ResourceTemplate, Tool, config};

/// The setting. `None` means no error.
fn mood() -> Option<String> {
    config::get("describes").ok().flatten()
}

/// The resources, unless there is a mood: then there can be other plugins like it, and a URI can belong to only one.
pub(crate) fn unless_moody<T>(list: impl FnOnce() -> Vec<T>) -> Vec<T> {
    if mood().is_some() { Vec::new() } else { list() }
}

/// The instructions, which can be far too long.
pub(crate) fn instructions(usual: Option<String>) -> Option<String> {
    if mood().as_deref() == Some("long texts") { Some(long("instructions")) } else { usual }
}

/// A mebibyte of text.
fn long(beginning: &str) -> String {
    format!("{beginning} {}", "x".repeat(1 << 20))
}

/// The resources. Some moods have others.
pub(crate) fn resources(list: impl FnOnce() -> Vec<ResourceInfo>) -> Vec<ResourceInfo> {
    match mood().as_deref() {
        Some("long uri") => vec![ResourceInfo::new(format!("malformed://{}", "x".repeat(4_096)), "long")],
        Some("odd items") => ["odd://plain", "odd://diary", "odd://with blank", "no uri"]
            .into_iter()
            .map(|uri| ResourceInfo::new(uri, "odd"))
            .collect(),
        _ => unless_moody(list),
    }
}

/// The templates. One mood has others.
pub(crate) fn templates(list: impl FnOnce() -> Vec<ResourceTemplate>) -> Vec<ResourceTemplate> {
    match mood().as_deref() {
        Some("odd items") => ["odd://{name}", "{whole}"]
            .into_iter()
            .map(|template| ResourceTemplate::new(template, "odd"))
            .collect(),
        _ => unless_moody(list),
    }
}

/// The prompts. One mood has others.
pub(crate) fn prompts(list: impl FnOnce() -> Vec<Prompt>) -> Vec<Prompt> {
    if mood().as_deref() != Some("odd items") {
        return list();
    }
    let twice = vec![PromptArgument::optional("a"), PromptArgument::optional("a")];
    vec![
        Prompt::new("Summarise thread", "A name with a blank.", Vec::new()),
        Prompt::new("hidden\u{202e}", "A name with an invisible character.", Vec::new()),
        Prompt::new("twice", "Two arguments with the same name.", twice),
    ]
}

/// Runs in `describe`.
pub(crate) fn describes() {
    match mood().as_deref() {
        Some("panic") => panic!("{}", super::strange("panic in describe")),
        #[expect(clippy::disallowed_methods, clippy::exit, reason = "it is what this mood is for")]
        Some("exit") => std::process::exit(0),
        Some("spin") => loop {
            black_box(());
        },
        Some("hang") => std::thread::sleep(std::time::Duration::MAX),
        Some("recurse") => {
            black_box(recurse(0));
        }
        Some("memory") => {
            let mut taken = Vec::new();
            loop {
                taken.push(black_box(vec![1_u8; 1 << 20]));
            }
        }
        _ => {}
    }
}

#[expect(unconditional_recursion, reason = "it is what this mood is for")]
fn recurse(depth: u64) -> u64 {
    let frame = black_box([depth; 16]);
    recurse(black_box(depth + 1)) + frame[3]
}

/// The tools, or the selected error.
pub(crate) fn tools(mut tools: Vec<Tool>) -> Result<Vec<Tool>, Failure> {
    let deep =
        |levels: usize| format!(r#"{{"type":"object","x":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
    let own = |name: &str, schema: &str| Tool::new(name, "A tool.", schema);
    match mood().as_deref() {
        Some("many") => {
            tools = (0..100_000).map(|at| own(&format!("t{at}"), r#"{"type":"object"}"#)).collect()
        }
        Some("huge description") => {
            tools.push(Tool::new("huge", "x".repeat(32 << 20), r#"{"type":"object"}"#))
        }
        Some("long description") => {
            tools.push(Tool::new("long", "x".repeat(1 << 20), r#"{"type":"object"}"#))
        }
        Some("long texts") => {
            let tool = own("wordy", r#"{"type":"object"}"#);
            tools.push(Tool { title: Some(long("title")), description: Some(long("description")), ..tool });
        }
        Some("long name") => tools.push(own(&"x".repeat(65), r#"{"type":"object"}"#)),
        Some("deep schema") => tools.push(own("deep", &deep(100_000))),
        Some("broken schema") => tools.push(own("broken", "{\"type\":\"object\"\n\"forged\"")),
        Some("strange name") => tools.push(own(&super::strange("name"), r#"{"type":"object"}"#)),
        Some("odd items") => {
            let names = ["ping", "admin.tools.list", "a_b", "a.b", "get_*", &"long.".repeat(20)];
            tools = names.into_iter().map(|name| own(name, r#"{"type":"object"}"#)).collect();
            tools.push(own("broken", r#"{"type":"object","properties":7}"#));
            tools.push(own("array", r#"{"type":"array"}"#));
            tools.push(own("ping", r#"{"type":"object"}"#));
        }
        Some("twice") => tools.push(own("log", r#"{"type":"object"}"#)),
        Some("remote schema") => {
            tools.push(own("remote", r#"{"type":"object","$ref":"http://127.0.0.1:1/schema.json"}"#));
        }
        Some("slow pattern") => tools.push(own(
            "slow",
            r#"{"type":"object","properties":{"word":{"type":"string","pattern":"^(a+)+$"}}}"#,
        )),
        Some("failure") => {
            let message = super::strange("failure in a list");
            return Err(Failure::Internal(Fault { message, at: None, data: None }));
        }
        _ => {}
    }
    Ok(tools)
}
