//! The normal form of answers. Document changes in `docs/official-servers.md`.

use serde_json::{Map, Value, json};

use crate::server::Answer;

/// Schema keywords for people, or without effect on valid values.
const IGNORED_KEYWORDS: [&str; 4] = ["$schema", "title", "description", "additionalProperties"];

/// Normalizes the answer to a request.
pub(crate) fn answer(method: &str, answer: Answer) -> Value {
    match (method, answer) {
        ("tools/list", answer) => list("tools", answer, tool),
        ("resources/list", answer) => list("resources", answer, remove_description),
        ("resources/templates/list", answer) => list("resourceTemplates", answer, remove_description),
        ("prompts/list", answer) => list("prompts", answer, prompt),
        ("tools/call", Answer::Result(result)) => called(result),
        (_, Answer::Result(mut result)) => {
            without_cache_hints(&mut result);
            result
        }
        (_, Answer::Error(error)) => refused(&error),
    }
}

/// A list as an object by name or URI, with the order. If the server doesn't support the method, the list is empty.
fn list(kind: &str, answer: Answer, item: fn(&mut Value)) -> Value {
    let items = match answer {
        Answer::Result(mut result) => match result[kind].take() {
            Value::Array(items) => items,
            other => return json!({ "no list": other }),
        },
        Answer::Error(error) if error["code"] == -32601 => Vec::new(),
        Answer::Error(error) => return refused(&error),
    };
    let mut order = Vec::new();
    let mut by_name = Map::new();
    for mut value in items {
        let key = ["uri", "uriTemplate", "name"].iter().find_map(|key| value[*key].as_str());
        let key = key.unwrap_or_default().to_owned();
        item(&mut value);
        order.push(Value::from(key.clone()));
        by_name.insert(key, value);
    }
    json!({ "order": order, "items": by_name })
}

/// Normalizes a tool: descriptions differ, and `execution` is a property of the server.
fn tool(value: &mut Value) {
    remove_description(value);
    if let Some(tool) = value.as_object_mut() {
        tool.remove("execution");
    }
    for key in ["inputSchema", "outputSchema"] {
        if let Some(found) = value.get_mut(key) {
            let root = found.clone();
            schema(found, &root);
        }
    }
}

/// Removes the description and icons.
fn remove_description(value: &mut Value) {
    if let Some(object) = value.as_object_mut() {
        object.remove("description");
        object.remove("icons");
    }
}

/// Normalizes a prompt, whose arguments have descriptions, too.
fn prompt(value: &mut Value) {
    remove_description(value);
    value
        .get_mut("arguments")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .for_each(remove_description);
}

/// Normalizes a schema: references are resolved, keywords for people removed, `required` and lists of types sorted, and
/// `anyOf` of bare types becomes a list of types.
fn schema(value: &mut Value, root: &Value) {
    if let Some(reference) = value.get("$ref").and_then(Value::as_str)
        && let Some(found) = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer))
    {
        *value = found.clone();
    }
    let Some(object) = value.as_object_mut() else { return };
    for word in IGNORED_KEYWORDS {
        object.remove(word);
    }
    object.remove("$defs");
    if let Some(types) = bare_types(object.get("anyOf")) {
        object.remove("anyOf");
        object.insert("type".to_owned(), types);
    }
    for (key, part) in object.iter_mut() {
        match (key.as_str(), part) {
            ("required" | "type", Value::Array(words)) => words.sort_by_key(ToString::to_string),
            ("properties" | "patternProperties", Value::Object(properties)) => {
                properties.values_mut().for_each(|property| schema(property, root));
            }
            ("anyOf" | "allOf" | "oneOf" | "prefixItems", Value::Array(parts)) => {
                parts.iter_mut().for_each(|part| schema(part, root));
            }
            ("items" | "not", part) => schema(part, root),
            _ => {}
        }
    }
}

/// The types of an `anyOf` whose parts have only a type.
fn bare_types(parts: Option<&Value>) -> Option<Value> {
    let parts = parts?.as_array()?;
    let types: Option<Vec<Value>> = parts
        .iter()
        .map(|part| {
            let part = part.as_object()?;
            let kind = part.get("type")?.as_str()?;
            let bare = part.keys().all(|key| key == "type" || IGNORED_KEYWORDS.contains(&key.as_str()));
            bare.then(|| Value::from(kind))
        })
        .collect();
    types.map(Value::Array)
}

/// Normalizes a call's result: `isError` is explicit, and a library's error for invalid arguments becomes a refusal.
fn called(mut result: Value) -> Value {
    without_cache_hints(&mut result);
    let failed = result["isError"] == true;
    if failed && is_refusal(result["content"][0]["text"].as_str().unwrap_or_default()) {
        return json!({ "refused": -32602 });
    }
    if let Some(object) = result.as_object_mut() {
        object.insert("isError".to_owned(), failed.into());
    }
    result
}

/// Returns true for a library's or the gateway's message about invalid arguments or an unknown tool.
fn is_refusal(text: &str) -> bool {
    text.starts_with("MCP error -32602: ") // the TypeScript SDK
        || (text.starts_with("Error executing tool ") && text.contains(" validation error")) // the Python SDK
        || text.starts_with("invalid arguments: ") // the gateway
        || text.starts_with("invalid arguments: ") // the SDK's error for a type that is stricter than its schema
}

/// A refusal, reduced to its code, because messages differ between servers.
fn refused(error: &Value) -> Value {
    json!({ "refused": error["code"] })
}

/// Removes cache hints, which depend on the server.
fn without_cache_hints(result: &mut Value) {
    if let Some(object) = result.as_object_mut() {
        object.retain(|key, _| !matches!(key.as_str(), "_meta" | "ttlMs" | "cacheScope" | "resultType"));
    }
}

#[cfg(test)]
mod tests;
