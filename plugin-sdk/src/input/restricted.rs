//! The schema of a form: a JSON Schema in the subset that MCP allows in `requestedSchema`.
//!
//! A form is one object of strings, numbers, booleans, choices, and lists of choices. Keywords that only annotate
//! (`examples`, formats unknown to MCP) are dropped. Keywords that would change the meaning are rejected with the
//! name of the field.

use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

/// Keywords that can be dropped without changing the meaning of a form.
const IGNORED_KEYWORDS: &[&str] =
    &["$schema", "$comment", "$id", "examples", "deprecated", "readOnly", "writeOnly", "uniqueItems", "type"];

/// String formats that MCP knows.
const FORM_FORMATS: &[&str] = &["email", "uri", "date", "date-time"];

/// Converts `schema` to the equivalent restricted schema, or returns the reason why there is none.
pub(super) fn form(schema: &Value) -> Result<Value, String> {
    let flat = "a form must be a struct of simple fields";
    let Some(root) = schema.as_object() else { return Err(format!("its schema isn't an object; {flat}")) };
    if root.get("type").and_then(Value::as_str) != Some("object") {
        return Err(format!("its schema isn't of type `object`; {flat}"));
    }
    let allowed = ["properties", "required", "title", "description", "additionalProperties"];
    refuse_unknown_keywords(root, &allowed)
        .map_err(|word| format!("its schema contains `{word}`; {flat}"))?;
    let Some(fields) = root.get("properties").and_then(Value::as_object).filter(|fields| !fields.is_empty())
    else {
        return Err(format!("it has no fields; {flat}"));
    };
    if root.get("additionalProperties").is_some_and(Value::is_object) {
        return Err(format!("it has unnamed fields; {flat}"));
    }
    let mut properties = Object::new();
    let mut optional = Vec::new();
    for (name, schema) in fields {
        let (field, can_be_null) = field(schema).map_err(|reason| format!("its field `{name}` {reason}"))?;
        properties.insert(name.clone(), field.into());
        if can_be_null {
            optional.push(name.as_str());
        }
    }
    let required = root.get("required").and_then(Value::as_array).into_iter().flatten();
    let required: Vec<&str> =
        required.filter_map(Value::as_str).filter(|name| !optional.contains(name)).collect();
    let mut form = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        form["required"] = required.into();
    }
    Ok(form)
}

/// Converts one field. Also returns whether it can be null, which a form expresses by not requiring it.
fn field(schema: &Value) -> Result<(Object, bool), String> {
    let Some(schema) = schema.as_object() else {
        return Err("can be anything; use a string, a number, a boolean or an enum".to_owned());
    };
    let (schema, can_be_null) = without_null(schema);
    let mut field = if let Some(choices) = choices(&schema, "oneOf") {
        select(&choices, "oneOf")
    } else {
        match schema.get("type").and_then(Value::as_str) {
            Some("string") => plain("string", &schema, &["minLength", "maxLength", "format"])?,
            Some(number @ ("integer" | "number")) => plain(number, &schema, &["minimum", "maximum"])?,
            Some("boolean") => plain("boolean", &schema, &[])?,
            Some("array") => list(&schema)?,
            Some("object") => return Err("is an object; a form is flat, so use separate fields".to_owned()),
            _ => {
                return Err("has an unsupported type; use a string, a number, a boolean or an enum \
                             without data"
                    .to_owned());
            }
        }
    };
    for word in ["title", "description", "enumNames"] {
        if let Some(text) = schema.get(word) {
            field.insert(word.to_owned(), text.clone());
        }
    }
    if let Some(default) = schema.get("default").filter(|default| !default.is_null()) {
        field.insert("default".to_owned(), default.clone());
    }
    Ok((field, can_be_null))
}

/// A string, number or boolean with its allowed constraints.
fn plain(kind: &str, schema: &Object, limits: &[&str]) -> Result<Object, String> {
    let allowed = [&["title", "description", "default", "format"], limits].concat();
    refuse_unknown_keywords(schema, &allowed)
        .map_err(|word| format!("contains `{word}`, which forms don't support"))?;
    let mut field = Object::from_iter([("type".to_owned(), kind.into())]);
    for limit in limits {
        let Some(value) = schema.get(*limit) else { continue };
        if *limit != "format" || value.as_str().is_some_and(|format| FORM_FORMATS.contains(&format)) {
            field.insert((*limit).to_owned(), value.clone());
        }
    }
    Ok(field)
}

/// A list of choices.
fn list(schema: &Object) -> Result<Object, String> {
    let allowed = ["title", "description", "default", "items", "minItems", "maxItems"];
    refuse_unknown_keywords(schema, &allowed)
        .map_err(|word| format!("contains `{word}`, which forms don't support"))?;
    let items = schema.get("items").and_then(Value::as_object);
    let choices = items.and_then(|items| choices(items, "oneOf").or_else(|| choices(items, "anyOf")));
    let Some(choices) = choices else {
        return Err("is a list; only lists of an enum without data are supported".to_owned());
    };
    let mut field = Object::from_iter([("type".to_owned(), "array".into())]);
    for limit in ["minItems", "maxItems"] {
        if let Some(value) = schema.get(limit) {
            field.insert(limit.to_owned(), value.clone());
        }
    }
    field.insert("items".to_owned(), select(&choices, "anyOf").into());
    Ok(field)
}

/// A string to choose, and its title.
type FormChoice = (String, Option<String>);

/// Returns the choices, if the schema is an enumeration of strings.
fn choices(schema: &Object, alternatives: &str) -> Option<Vec<FormChoice>> {
    if let Some(text) = schema.get("const") {
        let label = schema.get("title").or_else(|| schema.get("description")).and_then(Value::as_str);
        return Some(vec![(text.as_str()?.to_owned(), label.map(str::to_owned))]);
    }
    if let Some(texts) = schema.get("enum") {
        return texts.as_array()?.iter().map(|text| Some((text.as_str()?.to_owned(), None))).collect();
    }
    let each = schema.get(alternatives)?.as_array()?.iter();
    let parts: Option<Vec<Vec<FormChoice>>> = each.map(|one| choices(one.as_object()?, "")).collect();
    Some(parts?.concat()).filter(|choices| !choices.is_empty())
}

/// Writes the choice as MCP expects it: with titles if there are some, under the keyword for alternatives.
fn select(choices: &[FormChoice], titled: &str) -> Object {
    let mut field = Object::new();
    if choices.iter().all(|(_, title)| title.is_none()) {
        field.insert("type".to_owned(), "string".into());
        field.insert("enum".to_owned(), choices.iter().map(|(text, _)| text.as_str()).collect());
        return field;
    }
    if titled == "oneOf" {
        field.insert("type".to_owned(), "string".into());
    }
    let each = choices
        .iter()
        .map(|(text, title)| json!({ "const": text, "title": title.as_deref().unwrap_or(text) }));
    field.insert(titled.to_owned(), each.collect());
    field
}

/// The schema without null, and whether null was allowed.
fn without_null(schema: &Object) -> (Object, bool) {
    let is_null = |schema: &Value| schema.get("type").is_some_and(|kind| kind == "null");
    let mut left = schema.clone();
    let mut had_null = false;
    if let Some(Value::Array(kinds)) = left.get_mut("type") {
        let before = kinds.len();
        kinds.retain(|kind| kind != "null");
        had_null |= kinds.len() < before;
        if let [kind] = kinds.as_slice() {
            let kind = kind.clone();
            left.insert("type".to_owned(), kind);
        }
    }
    if let Some(Value::Array(texts)) = left.get_mut("enum") {
        let before = texts.len();
        texts.retain(|text| !text.is_null());
        had_null |= texts.len() < before;
    }
    if let Some(Value::Array(parts)) = left.get("anyOf")
        && let [one, other] = parts.as_slice()
        && is_null(one) != is_null(other)
        && let Some(Value::Object(inner)) = [one, other].into_iter().find(|part| !is_null(part))
    {
        // Keywords next to `anyOf` belong to the field and come before those inside.
        let mut joined = inner.clone();
        joined.extend(
            left.iter()
                .filter(|(word, _)| *word != "anyOf")
                .map(|(word, value)| (word.clone(), value.clone())),
        );
        return (without_null(&joined).0, true);
    }
    (left, had_null)
}

/// Returns the first keyword that is neither allowed nor ignored.
fn refuse_unknown_keywords(schema: &Object, allowed: &[&str]) -> Result<(), String> {
    let known = |word: &&String| {
        allowed.contains(&word.as_str())
            || IGNORED_KEYWORDS.contains(&word.as_str())
            || word.starts_with("x-")
    };
    schema.keys().find(|word| !known(word)).map_or(Ok(()), |word| Err(word.clone()))
}

#[cfg(test)]
mod tests;
