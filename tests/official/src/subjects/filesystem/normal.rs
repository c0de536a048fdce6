//! The normal form of this server's texts: lists of facts and sizes as objects, errors without the system call, and only
//! the times that the comparison sets.

use serde_json::{Map, Value, json};

/// Normalizes the answer to a request.
pub(super) fn answer(method: &str, answer: &mut Value) {
    if method != "tools/call" {
        return;
    }
    for place in ["/content/0/text", "/structuredContent/content"] {
        if let Some(value) = answer.pointer_mut(place)
            && let Some(form) = value.as_str().map(text)
        {
            *value = form;
        }
    }
}

fn text(text: &str) -> Value {
    if text.starts_with("size: ") && text.contains("\nisDirectory: ") {
        return facts(text);
    }
    if text.contains("\nCombined size: ") {
        return sizes(text);
    }
    let lines: Vec<&str> = text.split('\n').map(without_call).collect();
    lines.join("\n").into()
}

/// The facts of `get_file_info`, by name.
fn facts(text: &str) -> Value {
    let facts = text.lines().map(|line| {
        let (name, value) = line.split_once(": ").unwrap_or((line, ""));
        let value = match name {
            // Reading changes the access time.
            "accessed" => "some time",
            "modified" if !value.starts_with("Sun Sep 09 2001 ") => "later",
            _ => value,
        };
        (name.to_owned(), Value::from(value))
    });
    Value::Object(facts.collect())
}

/// The lines of `list_directory_with_sizes` as objects, with their order.
fn sizes(text: &str) -> Value {
    let (lines, summary) = text.rsplit_once("\n\nTotal: ").unwrap_or((text.trim_start(), ""));
    let lines: Vec<&str> = lines.lines().collect();
    let all: Map<String, Value> = lines.iter().map(|line| ((*line).to_owned(), true.into())).collect();
    json!({ "lines": all, "order": lines.join("\n"), "summary": summary })
}

/// `ENOENT: no such file or directory, open '/a'` without its end, also after `Error - `.
fn without_call(line: &str) -> &str {
    let start = line.find(": Error - ").map_or(0, |at| at + ": Error - ".len());
    let code = line[start..].split(':').next().unwrap_or_default();
    let is_code =
        code.len() > 3 && code.starts_with('E') && code.bytes().all(|byte| byte.is_ascii_uppercase());
    match line[start..].find(", ") {
        Some(at) if is_code => &line[..start + at],
        _ => line,
    }
}
