//! Schemas in a form that every client can read: without references, and with an object at the top.
//!
//! Some clients reject a tool, or a whole list, because of `$ref`, or because of `anyOf` and similar keywords at the
//! top of a schema. Model APIs reject many other keywords in schemas of arguments, such as lists of types. The portable
//! form is less precise than the plugin's own schema and is only shown, never checked against. For results it allows
//! everything that the plugin's schema allows, because clients check results. For arguments it shows the model which
//! ones exist.

use serde_json::{Map, Value, json};

mod accepted;
mod inline;
mod merge;

use accepted::restrict_arguments;
use inline::ReferenceInliner;
use merge::{merge_all_of, merge_alternatives};

/// The subject of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaSubject {
    /// A tool's arguments: always an object.
    Arguments,
    /// A tool's structured result.
    Result,
}

/// Keywords whose subschemas apply to the same value, apart from references. Clients can't handle them at the top.
const COMBINATOR_KEYWORDS: [&str; 7] = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"];

/// `schema` in its portable form, which can be identical.
pub(super) fn portable(schema: &Value, describes: SchemaSubject) -> Value {
    let whole = ReferenceInliner::new(schema).root();
    let Value::Object(root) = whole else { return whole };
    Value::Object(match describes {
        SchemaSubject::Arguments => restrict_arguments(flatten(root)),
        SchemaSubject::Result => without_combinators(root),
    })
}

/// An object's schema, with the members from its combinators merged into its own.
fn flatten(mut schema: Map<String, Value>) -> Map<String, Value> {
    if !COMBINATOR_KEYWORDS.iter().any(|key| schema.contains_key(*key)) {
        return schema;
    }
    let [all, any, one, then, other] =
        ["allOf", "anyOf", "oneOf", "then", "else"].map(|key| schema.shift_remove(key));
    for key in ["not", "if", "unevaluatedProperties"] {
        schema.shift_remove(key);
    }
    for branch in branches(all) {
        merge_all_of(&mut schema, branch);
    }
    for list in [any, one] {
        merge_alternatives(&mut schema, &branches(list));
    }
    // Either one can apply, or neither.
    let mut maybe = branches(Some(Value::Array(then.into_iter().chain(other).collect())));
    if !maybe.is_empty() {
        maybe.push(Map::new());
        merge_alternatives(&mut schema, &maybe);
    }
    schema
}

/// The branches of a combinator that an object can match.
fn branches(list: Option<Value>) -> Vec<Map<String, Value>> {
    let Some(Value::Array(list)) = list else { return Vec::new() };
    let branch = |branch| match branch {
        Value::Object(branch) => allows_objects(&branch).then(|| flatten(branch)),
        Value::Bool(true) => Some(Map::new()),
        Value::Bool(false) | Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    };
    list.into_iter().filter_map(branch).collect()
}

fn allows_objects(schema: &Map<String, Value>) -> bool {
    match schema.get("type") {
        Some(Value::String(one)) => one == "object",
        Some(Value::Array(several)) => several.iter().any(|one| one == "object"),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => true,
    }
}

/// A schema without the combinators at its top. It allows more than before.
fn without_combinators(mut schema: Map<String, Value>) -> Map<String, Value> {
    if !COMBINATOR_KEYWORDS.iter().any(|key| schema.contains_key(*key)) {
        return schema;
    }
    if is_object(&schema) {
        schema.insert("type".to_owned(), json!("object"));
    }
    for key in COMBINATOR_KEYWORDS.iter().chain(&["unevaluatedProperties", "unevaluatedItems"]) {
        schema.shift_remove(*key);
    }
    schema
}

/// Reports whether only objects match.
fn is_object(schema: &Map<String, Value>) -> bool {
    let list = |key: &str| {
        let branches = schema.get(key).and_then(Value::as_array).filter(|list| !list.is_empty());
        let is = |branch: &Value| branch.as_object().is_some_and(is_object);
        branches.map(|branches| branches.iter().map(is).collect::<Vec<_>>())
    };
    schema.get("type").is_some_and(|kind| kind == "object")
        || list("allOf").is_some_and(|all| all.contains(&true))
        || ["anyOf", "oneOf"].iter().any(|key| list(key).is_some_and(|all| !all.contains(&false)))
}

#[cfg(test)]
mod tests;
