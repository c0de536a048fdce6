//! The plugin `everything` and `@modelcontextprotocol/server-everything`.

use std::io::Read as _;

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde_json::{Map, Value, json};

use super::Subject;
use crate::comparison::Comparison;
use crate::difference::{ABSENT_NULL, Difference, Mismatch};
use crate::random::Random;
use crate::server::ClientRole;

pub(super) const SUBJECT: Subject = Subject {
    plugin: "everything",
    package: "@modelcontextprotocol/server-everything",
    compared: "Calls to every tool with fixed and generated arguments, progress notifications, all prompts, the \
               resources of both templates, and completions; with a client that has roots, fills in or declines \
               forms, and has a model. Files are compressed from `data:` URLs, and their content is compared. The \
               items of the plugin that the conformance suite uses are left out with `tools.allow`, `prompts.allow` \
               and `resources.allow`.",
    differences: DIFFERENCES,
    check,
};

/// Tools that only the official server has.
const LEFT_OUT: [&str; 3] =
    ["toggle-simulated-logging", "toggle-subscriber-updates", "simulate-research-query"];

/// The template that only the plugin has.
const SESSION_TEMPLATE: &str = "demo://resource/session/{+name}";

const DIFFERENCES: &[Difference] = &[
    ABSENT_NULL,
    Difference {
        description: "`toggle-simulated-logging`, `toggle-subscriber-updates` and `simulate-research-query` \
                      aren't offered.",
        reason: "The first two send messages after their calls, and the third runs as a task. The work of a \
                 plugin ends with its call.",
        matches: |mismatch| {
            mismatch.method == "tools/list"
                && match mismatch.at {
                    "/order" => same_order(mismatch, |name| !LEFT_OUT.contains(&name)),
                    _ => {
                        mismatch.ours.is_none()
                            && LEFT_OUT.iter().any(|tool| mismatch.at == format!("/items/{tool}"))
                    }
                }
        },
    },
    Difference {
        description: "The server's documents about itself aren't offered as resources.",
        reason: "They describe the source code of the official server.",
        matches: |mismatch| {
            let is_document = |text: &str| text.contains("demo:~1~1resource~1static~1document~1");
            mismatch.method == "resources/list"
                && match mismatch.at {
                    "/order" => {
                        let order = mismatch.theirs.unwrap_or(&Value::Null);
                        mismatch.ours == Some(&json!([]))
                            && names(order).all(|uri| uri.contains("/static/document/"))
                    }
                    at => mismatch.ours.is_none() && is_document(at),
                }
        },
    },
    Difference {
        description: "The images are a single pixel.",
        reason: "The plugin doesn't contain the logo of the official server.",
        matches: |mismatch| {
            let is_image = matches!(mismatch.name, "get-tiny-image" | "get-annotated-message");
            let is_caption = mismatch.name == "get-tiny-image" && mismatch.at == "/content/2/text";
            is_image && mismatch.at == "/content/1/data" || is_caption
        },
    },
    Difference {
        description: "`get-env` returns only the variables that the operator grants.",
        reason: "The variables of the gateway can contain secrets.",
        matches: |mismatch| mismatch.name == "get-env" && mismatch.at == "/content/0/text",
    },
    Difference {
        description: "Compressed files have a resource template. They aren't listed, and stay readable after the \
                      session.",
        reason: "The plugin keeps them in its state, which has no sessions.",
        matches: |mismatch| {
            let escaped = SESSION_TEMPLATE.replace('/', "~1");
            mismatch.method == "resources/templates/list"
                && match mismatch.at {
                    "/order" => same_order(mismatch, |name| name != SESSION_TEMPLATE),
                    at => mismatch.theirs.is_none() && at == format!("/items/{escaped}"),
                }
        },
    },
    Difference {
        description: "An unknown resource is refused with code -32002.",
        reason: "The specification defines this code; the official server's library returns other ones.",
        matches: |mismatch| {
            mismatch.method == "resources/read"
                && mismatch.at == "/refused"
                && mismatch.theirs.is_some()
                && mismatch.ours == Some(&json!(-32002))
        },
    },
    Difference {
        description: "Invalid arguments of `resource-prompt` are refused with code -32602.",
        reason: "The specification defines this code; the official server returns an internal error.",
        matches: |mismatch| {
            mismatch.method == "prompts/get"
                && mismatch.at == "/refused"
                && mismatch.theirs == Some(&json!(-32603))
                && mismatch.ours == Some(&json!(-32602))
        },
    },
];

fn names(order: &Value) -> impl Iterator<Item = &str> {
    order.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Returns true if both orders are equal apart from some items.
fn same_order(mismatch: &Mismatch<'_>, is_compared: fn(&str) -> bool) -> bool {
    let compared = |order: Option<&'_ Value>| -> Vec<String> {
        order.into_iter().flat_map(names).filter(|name| is_compared(name)).map(str::to_owned).collect()
    };
    compared(mismatch.theirs) == compared(mismatch.ours)
}

/// The tools that are compared.
const TOOLS: [&str; 13] = [
    "echo",
    "get-annotated-message",
    "get-env",
    "get-resource-links",
    "get-resource-reference",
    "get-structured-content",
    "get-sum",
    "get-tiny-image",
    "gzip-file-as-resource",
    "trigger-long-running-operation",
    "get-roots-list",
    "trigger-elicitation-request",
    "trigger-sampling-request",
];

const PROMPTS: [&str; 4] = ["simple-prompt", "args-prompt", "completable-prompt", "resource-prompt"];

const TEXTS: [&str; 6] = ["hello", "", "Привет, мир", "a\"b\\c\n", "👩‍🚀", "<script>"];

const CITIES: [&str; 4] = ["New York", "Chicago", "Los Angeles", "Oslo"];

const TEMPLATES: [&str; 2] = ["demo://resource/dynamic/text/", "demo://resource/dynamic/blob/"];

/// Numbers of resources, some of which don't exist.
const IDS: [&str; 9] = ["1", "2", "42", "9007199254740991", "0", "-1", "1.5", "x", "1.0"];

/// The number of retries if a second ends between two answers.
const MAX_RETRIES: usize = 3;

fn check(comparison: &mut Comparison<'_>) -> Result<()> {
    comparison.normalize_with(|_, _, answer| decode_bytes(answer));
    start(comparison, json!({ "action": "accept", "content": filled_in() }), &json!([]))?;
    comparison.compare_lists();
    comparison.check("results", results);
    comparison.check("invalid arguments", invalid_arguments);
    comparison.check("progress", progress);
    comparison.check("compressed files", compressed_files);
    comparison.check("resources", resources);
    comparison.check("prompts", prompts);
    comparison.check("completions", completions);
    comparison.check("an accepted form, a model, and no roots", questions);
    for action in ["decline", "cancel"] {
        comparison.check(&format!("a form with the answer {action}, and roots"), |comparison| {
            let roots = json!([{ "uri": "file:///home/ada", "name": "Home" }, { "uri": "file:///tmp" }]);
            start(comparison, json!({ "action": action }), &roots)?;
            questions(comparison)
        });
    }
    comparison.generated("calls", 0..4, |comparison, random| {
        (0..60).try_for_each(|_| any_call(comparison, random))
    });
    Ok(())
}

/// Starts both servers, for a client with these answers.
fn start(comparison: &mut Comparison<'_>, form: Value, roots: &Value) -> Result<()> {
    let message = json!({ "type": "text", "text": "The moon is bright." });
    let sampled =
        json!({ "model": "test", "stopReason": "endTurn", "role": "assistant", "content": message });
    comparison.act_as(ClientRole {
        capabilities: json!({ "elicitation": {}, "sampling": {}, "roots": {} }),
        answers: vec![
            ("elicitation/create", form),
            ("sampling/createMessage", sampled),
            ("roots/list", json!({ "roots": roots })),
        ],
    });
    let official = comparison.node("server-everything/dist/index.js");
    let resources = json!([
        "demo://resource/dynamic/text/{resourceId}",
        "demo://resource/dynamic/blob/{resourceId}",
        SESSION_TEMPLATE,
    ]);
    let config = format!(
        "tools.allow = {}\nprompts.allow = {}\nresources.allow = {resources}\n\
         allow = {{ state = true, client = [\"elicitation\", \"sampling\", \"roots\"], env = [\"LANG\"] }}\n",
        json!(TOOLS),
        json!(PROMPTS),
    );
    comparison.start_with(official, &config, &[("TZ", "UTC"), ("LANG", "en_US.UTF-8")])
}

/// A filled in form.
fn filled_in() -> Value {
    json!({
        "name": "Ada Lovelace",
        "check": true,
        "firstLine": "It was a dark and stormy night.",
        "email": "ada@example.com",
        "homepage": "https://example.com/ada",
        "birthdate": "1815-12-10",
        "integer": 42,
        "number": 2.5,
        "untitledSingleSelectEnum": "Monica",
        "untitledMultipleSelectEnum": ["Guitar", "Piano"],
        "titledSingleSelectEnum": "hero-2",
        "titledMultipleSelectEnum": ["fish-1"],
        "legacyTitledEnum": "pet-3",
    })
}

fn results(comparison: &mut Comparison<'_>) -> Result<()> {
    for text in TEXTS {
        call(comparison, "echo", &json!({ "message": text }))?;
    }
    for kind in ["error", "success", "debug"] {
        call(comparison, "get-annotated-message", &json!({ "messageType": kind }))?;
        call(comparison, "get-annotated-message", &json!({ "messageType": kind, "includeImage": true }))?;
    }
    for city in CITIES {
        call(comparison, "get-structured-content", &json!({ "location": city }))?;
    }
    for arguments in [json!({}), json!({ "count": 1 }), json!({ "count": 10 }), json!({ "count": 2.5 })] {
        call(comparison, "get-resource-links", &arguments)?;
    }
    for arguments in [
        json!({}),
        json!({ "resourceId": 7 }),
        json!({ "resourceType": "Blob", "resourceId": 8 }),
        json!({ "resourceId": 0 }),
        json!({ "resourceId": -1.5 }),
        json!({ "resourceId": 1e15 }),
    ] {
        call(comparison, "get-resource-reference", &arguments)?;
    }
    for (a, b) in [(1.0, 2.0), (0.1, 0.2), (-1.0, 1.0), (1e20, 1e21), (1e-7, 0.0), (1e308, 1e308)] {
        call(comparison, "get-sum", &json!({ "a": a, "b": b }))?;
    }
    for tool in ["get-env", "get-tiny-image"] {
        call(comparison, tool, &json!({}))?;
    }
    Ok(())
}

fn invalid_arguments(comparison: &mut Comparison<'_>) -> Result<()> {
    for (tool, arguments) in [
        ("echo", json!({})),
        ("echo", json!({ "message": 1 })),
        ("echo", json!({ "message": "a", "other": 1 })),
        ("get-annotated-message", json!({ "messageType": "warning" })),
        ("get-annotated-message", json!({ "messageType": "debug", "includeImage": null })),
        ("get-resource-links", json!({ "count": 0 })),
        ("get-resource-links", json!({ "count": 11 })),
        ("get-resource-links", json!({ "count": "3" })),
        ("get-resource-reference", json!({ "resourceType": "text" })),
        ("get-structured-content", json!({})),
        ("get-sum", json!({ "a": 1 })),
        ("get-sum", json!({ "a": "1", "b": 2 })),
        ("gzip-file-as-resource", json!({ "data": "data:,a", "outputType": "file" })),
        ("trigger-long-running-operation", json!({ "duration": "1" })),
        ("no-such-tool", json!({})),
    ] {
        call(comparison, tool, &arguments)?;
    }
    Ok(())
}

fn progress(comparison: &mut Comparison<'_>) -> Result<()> {
    for (duration, steps, reports) in [(0.03, 3.0, 3), (0.02, 2.5, 3), (0.0, 0.0, 0), (0.01, -1.0, 0)] {
        let params = json!({
            "name": "trigger-long-running-operation",
            "arguments": { "duration": duration, "steps": steps },
            "_meta": { "progressToken": format!("token-{steps}") },
        });
        comparison.ask("tools/call", &params)?;
        for _ in 0..reports {
            comparison.wait_for_notification("notifications/progress")?;
        }
    }
    Ok(())
}

fn compressed_files(comparison: &mut Comparison<'_>) -> Result<()> {
    for (name, data) in
        [("a.gz", "data:,hello%20world"), ("b.gz", "data:text/plain;base64,aGVsbG8="), ("c", "data:,")]
    {
        for output in ["resource", "resourceLink"] {
            let arguments = json!({ "name": name, "data": data, "outputType": output });
            call(comparison, "gzip-file-as-resource", &arguments)?;
        }
        comparison.ask("resources/read", &json!({ "uri": format!("demo://resource/session/{name}") }))?;
    }
    call(comparison, "gzip-file-as-resource", &json!({ "data": "ftp://example.com/a" }))
}

fn resources(comparison: &mut Comparison<'_>) -> Result<()> {
    for template in TEMPLATES {
        for id in IDS {
            ask(comparison, "resources/read", &json!({ "uri": format!("{template}{id}") }))?;
        }
    }
    ask(comparison, "resources/read", &json!({ "uri": "demo://resource/other" }))
}

fn prompts(comparison: &mut Comparison<'_>) -> Result<()> {
    for (name, arguments) in [
        ("simple-prompt", json!({})),
        ("args-prompt", json!({ "city": "Oslo" })),
        ("args-prompt", json!({ "city": "Austin", "state": "Texas" })),
        ("args-prompt", json!({ "city": "Austin", "state": "" })),
        ("args-prompt", json!({})),
        ("completable-prompt", json!({ "department": "Sales", "name": "Eve" })),
        ("completable-prompt", json!({ "department": "Sales" })),
        ("resource-prompt", json!({ "resourceType": "Text", "resourceId": "3" })),
        ("resource-prompt", json!({ "resourceType": "Blob", "resourceId": "4" })),
        ("resource-prompt", json!({ "resourceType": "text", "resourceId": "3" })),
        ("resource-prompt", json!({ "resourceType": "Text", "resourceId": "x" })),
        ("no-such-prompt", json!({})),
    ] {
        ask(comparison, "prompts/get", &json!({ "name": name, "arguments": arguments }))?;
    }
    Ok(())
}

fn completions(comparison: &mut Comparison<'_>) -> Result<()> {
    let mut complete = |target: &Value, name: &str, value: &str, others: &Value| {
        let argument = json!({ "name": name, "value": value });
        let params = json!({ "ref": target, "argument": argument, "context": { "arguments": others } });
        comparison.ask("completion/complete", &params).map(drop)
    };
    let prompt = |name: &str| json!({ "type": "ref/prompt", "name": name });
    for typed in ["", "S", "x"] {
        complete(&prompt("completable-prompt"), "department", typed, &json!({}))?;
        for department in ["Engineering", "Sales", "Marketing", "Support", "x"] {
            let others = json!({ "department": department });
            complete(&prompt("completable-prompt"), "name", typed, &others)?;
        }
        complete(&prompt("resource-prompt"), "resourceType", typed, &json!({}))?;
    }
    for id in IDS {
        complete(&prompt("resource-prompt"), "resourceId", id, &json!({}))?;
        for template in TEMPLATES {
            let target = json!({ "type": "ref/resource", "uri": format!("{template}{{resourceId}}") });
            complete(&target, "resourceId", id, &json!({}))?;
        }
    }
    Ok(())
}

fn questions(comparison: &mut Comparison<'_>) -> Result<()> {
    call(comparison, "get-roots-list", &json!({}))?;
    call(comparison, "trigger-elicitation-request", &json!({}))?;
    call(comparison, "trigger-sampling-request", &json!({ "prompt": "Write a line on the moon." }))?;
    call(comparison, "trigger-sampling-request", &json!({ "prompt": "Write a line.", "maxTokens": 20 }))
}

/// Makes one random call.
fn any_call(comparison: &mut Comparison<'_>, random: &mut Random) -> Result<()> {
    let number = |random: &mut Random| {
        f64::from(u32::try_from(random.below(2_000_001)).unwrap_or_default()) / 1000.0 - 1000.0
    };
    match random.below(6) {
        0 => call(comparison, "echo", &json!({ "message": random.pick(&TEXTS) })),
        1 => call(comparison, "get-sum", &json!({ "a": number(random), "b": number(random) })),
        2 => call(comparison, "get-resource-links", &json!({ "count": random.below(13) })),
        3 => {
            let arguments =
                json!({ "resourceType": random.pick(&["Text", "Blob"]), "resourceId": random.below(100) });
            call(comparison, "get-resource-reference", &arguments)
        }
        4 => {
            let uri = format!("{}{}", random.pick(&TEMPLATES), random.below(1000));
            ask(comparison, "resources/read", &json!({ "uri": uri }))
        }
        _ => {
            let id = random.below(20).to_string();
            let arguments = json!({ "resourceType": random.pick(&["Text", "Blob"]), "resourceId": id });
            ask(comparison, "prompts/get", &json!({ "name": "resource-prompt", "arguments": arguments }))
        }
    }
}

fn call(comparison: &mut Comparison<'_>, tool: &str, arguments: &Value) -> Result<()> {
    ask(comparison, "tools/call", &json!({ "name": tool, "arguments": arguments }))
}

/// Asks both servers, and retries if the answers differ, because a second may end between them.
fn ask(comparison: &mut Comparison<'_>, method: &str, params: &Value) -> Result<()> {
    let mut answers = comparison.request_both(method, params, params)?;
    for _ in 0..MAX_RETRIES {
        let has_time = |answer: &Value| answer.to_string().contains(" created at ");
        if answers[0] == answers[1] || !answers.iter().all(has_time) {
            break;
        }
        answers = comparison.request_both(method, params, params)?;
    }
    comparison.compare(method, params, &answers[0], &answers[1]);
    Ok(())
}

/// Replaces bytes by what they contain, which is text here, the space before AM and PM by a common one, and `1.0` by `1`.
fn decode_bytes(value: &mut Value) {
    match value {
        Value::Object(object) => {
            decode_blob(object);
            object.values_mut().for_each(decode_bytes);
        }
        Value::Array(items) => items.iter_mut().for_each(decode_bytes),
        Value::Number(number) => {
            if let Some(integer) = number.as_f64().and_then(|number| number.to_string().parse::<i64>().ok()) {
                *value = json!(integer);
            }
        }
        Value::String(text) if text.contains('\u{202f}') => *text = text.replace('\u{202f}', " "),
        _ => {}
    }
}

fn decode_blob(object: &mut Map<String, Value>) {
    let Some(Ok(mut bytes)) = object.get("blob").and_then(Value::as_str).map(|blob| STANDARD.decode(blob))
    else {
        return;
    };
    if object.get("mimeType") == Some(&json!("application/gzip")) {
        let mut content = Vec::new();
        if GzDecoder::new(&bytes[..]).read_to_end(&mut content).is_ok() {
            bytes = content;
        }
    }
    object.insert("blob".to_owned(), String::from_utf8_lossy(&bytes).into_owned().into());
}
