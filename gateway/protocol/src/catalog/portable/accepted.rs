//! Restricts a schema of arguments to the keywords that every model API accepts.
//!
//! Gemini is the strictest: each value has one type, written as a string; a choice is an `anyOf` without other keywords
//! next to it; options are nonempty strings; and an unknown keyword fails the request, and with it every tool. A
//! constraint without such a keyword becomes part of the description.

use serde_json::{Map, Value, json};

use super::merge::{enum_values, merge_all_of};

/// The maximum number of subschemas in the result. Choices are multiplied out, so without a limit they could grow
/// exponentially.
const MAX_SUBSCHEMAS: usize = 5_000;

/// Keywords that describe a value and don't constrain it.
const DESCRIPTIVE_KEYWORDS: [&str; 4] = ["default", "description", "title", "x-mcp-header"];

/// The types of JSON, except `null`.
const VALUE_TYPES: [&str; 6] = ["string", "number", "integer", "boolean", "array", "object"];

/// The schema of an object of arguments. Its root has no combinators.
pub(super) fn restrict_arguments(root: Map<String, Value>) -> Map<String, Value> {
    SchemaRestriction { subschemas_left: MAX_SUBSCHEMAS }.single_type("object", root)
}

/// A walk through a schema.
struct SchemaRestriction {
    subschemas_left: usize,
}

impl SchemaRestriction {
    /// A subschema, which has no references.
    fn restrict(&mut self, schema: Value) -> Value {
        let Some(left) = self.subschemas_left.checked_sub(1) else { return any_value(&Map::new()) };
        self.subschemas_left = left;
        let Value::Object(members) = schema else { return any_value(&Map::new()) };
        let mut members = without_all_of(members);
        let mut is_nullable = take_null(&mut members);
        let alternatives = match (members.shift_remove("anyOf"), members.shift_remove("oneOf")) {
            (Some(Value::Array(alternatives)), _) | (_, Some(Value::Array(alternatives))) => alternatives,
            _ => Vec::new(),
        };
        let mut branches = Vec::new();
        for branch in alternatives {
            let Value::Object(branch) = branch else { continue };
            let mut branch = without_all_of(branch);
            is_nullable |= take_null(&mut branch);
            if branch.get("type").is_none_or(|kind| kind != "null") {
                branches.push(branch);
            }
        }
        let types = possible_types(&members);
        let restricted = match (branches.len(), types.as_slice()) {
            (0, []) => any_value(&descriptive_part(&members)),
            (0, [kind]) => Value::Object(self.single_type(kind, members)),
            (0, several) => {
                let branches = several.iter().map(|kind| Map::from_iter([("type".to_owned(), json!(kind))]));
                self.choice(members, branches.collect())
            }
            (1, _) => {
                let branch = branches.swap_remove(0);
                self.restrict(Value::Object(joined(members, branch)))
            }
            _ => self.choice(members, branches),
        };
        if is_nullable { nullable(restricted) } else { restricted }
    }

    /// One of several branches, each of which includes `common`.
    fn choice(&mut self, mut common: Map<String, Value>, branches: Vec<Map<String, Value>>) -> Value {
        let description = descriptive_part(&common);
        DESCRIPTIVE_KEYWORDS.iter().for_each(|key| drop(common.shift_remove(*key)));
        let mut forms: Vec<Value> = Vec::new();
        for branch in branches {
            let restricted = self.restrict(Value::Object(joined(branch, common.clone())));
            let nested = match restricted {
                Value::Object(mut members) if members.contains_key("anyOf") => {
                    match members.shift_remove("anyOf") {
                        Some(Value::Array(nested)) => nested,
                        _ => Vec::new(),
                    }
                }
                other => vec![other],
            };
            for form in nested {
                if !forms.contains(&form) {
                    forms.push(form);
                }
            }
        }
        if let Some(options) = enum_values(&forms).filter(|options| options.iter().all(Value::is_string)) {
            forms = vec![json!({ "type": "string", "enum": options })];
        }
        match (forms.len(), forms.first_mut()) {
            (1, Some(Value::Object(only))) => {
                let only = std::mem::take(only);
                Value::Object(description.into_iter().chain(only).collect())
            }
            _ => any_of(forms, &description),
        }
    }

    /// A schema of one type, with the keywords that apply to it.
    fn single_type(&mut self, kind: &str, members: Map<String, Value>) -> Map<String, Value> {
        let mut out = Map::from_iter([("type".to_owned(), json!(kind))]);
        let mut notes = Vec::new();
        let mut item_forms = Vec::new();
        for (key, value) in members {
            match (kind, key.as_str()) {
                (_, "title" | "description" | "x-mcp-header") => drop(out.insert(key, value)),
                (_, "default") if !value.is_null() => drop(out.insert(key, value)),
                (_, "const" | "enum") => {
                    let options = match value {
                        Value::Array(options) if key == "enum" => options,
                        value => vec![value],
                    };
                    insert_options(&mut out, kind, options, &mut notes);
                }
                ("string", "minLength" | "maxLength" | "pattern")
                | ("number" | "integer", "minimum" | "maximum")
                | ("array", "minItems" | "maxItems")
                | ("object", "minProperties" | "maxProperties" | "required") => drop(out.insert(key, value)),
                (_, "format") => insert_format(&mut out, kind, value, &mut notes),
                ("number" | "integer", "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf") => {
                    insert_bound(&mut out, kind, &key, &value, &mut notes);
                }
                ("array", "uniqueItems") if value == true => notes.push("without duplicates".to_owned()),
                ("array", "items" | "prefixItems") => match value {
                    Value::Array(items) => item_forms.extend(items),
                    Value::Bool(false) => {}
                    one => item_forms.push(one),
                },
                ("object", "properties") => {
                    let Value::Object(properties) = value else { continue };
                    let properties = properties.into_iter().filter(|(_, schema)| *schema != false);
                    let properties = properties.map(|(name, schema)| (name, self.restrict(schema)));
                    out.insert(key, Value::Object(properties.collect()));
                }
                ("object", "additionalProperties") => notes.extend(described_values(&value)),
                ("object", "patternProperties") => {
                    notes.extend(
                        value.as_object().into_iter().flat_map(Map::values).find_map(described_values),
                    );
                }
                _ => {}
            }
        }
        if kind == "array" {
            let items = match item_forms.len() {
                0 => any_value(&Map::new()),
                1 => self.restrict(item_forms.swap_remove(0)),
                _ => self.restrict(json!({ "anyOf": item_forms })),
            };
            out.insert("items".to_owned(), items);
        }
        keep_known_required(&mut out);
        if !notes.is_empty() {
            let notes = notes.join("; ");
            let described = match out.get("description").and_then(Value::as_str) {
                Some(description) => format!("{description} ({notes})"),
                None => notes,
            };
            out.insert("description".to_owned(), json!(described));
        }
        out
    }
}

/// The members with `allOf` merged into them, and without conditions.
fn without_all_of(mut members: Map<String, Value>) -> Map<String, Value> {
    let Some(Value::Array(branches)) = members.shift_remove("allOf") else { return members };
    for branch in branches {
        if let Value::Object(branch) = branch {
            members = joined(members, without_all_of(branch));
        }
    }
    members
}

/// A schema that requires both, where possible. The keywords of `first` take precedence.
fn joined(mut first: Map<String, Value>, second: Map<String, Value>) -> Map<String, Value> {
    if let Some(kind) = second.get("type") {
        first.entry("type").or_insert_with(|| kind.clone());
    }
    merge_all_of(&mut first, second);
    first
}

/// Removes the ways to allow `null` in addition to other values. Returns whether there was one.
fn take_null(members: &mut Map<String, Value>) -> bool {
    let mut is_nullable = members.shift_remove("nullable") == Some(Value::Bool(true));
    if let Some(Value::Array(types)) = members.get_mut("type") {
        let count = types.len();
        types.retain(|kind| kind != "null");
        is_nullable |= types.len() < count;
        match types.as_slice() {
            [] => drop(members.insert("type".to_owned(), json!("null"))),
            [one] => {
                let one = one.clone();
                members.insert("type".to_owned(), one);
            }
            _ => {}
        }
    }
    if let Some(Value::Array(options)) = members.get_mut("enum") {
        let count = options.len();
        options.retain(|option| !option.is_null());
        is_nullable |= options.len() < count;
        if options.is_empty() {
            members.insert("type".to_owned(), json!("null"));
        }
    }
    if members.get("const") == Some(&Value::Null) {
        members.insert("type".to_owned(), json!("null"));
    }
    is_nullable || members.get("type").is_some_and(|kind| kind == "null")
}

/// The schema, or `null`.
fn nullable(schema: Value) -> Value {
    let Value::Object(mut members) = schema else { return schema };
    if let Some(forms) = members.get_mut("anyOf").and_then(Value::as_array_mut) {
        forms.push(json!({ "type": "null" }));
    } else if members.get("type").is_some_and(|kind| kind != "null") {
        members.insert("nullable".to_owned(), json!(true));
    }
    Value::Object(members)
}

/// The types of the values that can match. Empty means that nothing is known.
fn possible_types(members: &Map<String, Value>) -> Vec<&'static str> {
    let known = |name: &str| VALUE_TYPES.into_iter().chain(["null"]).find(|kind| *kind == name);
    let mut types: Vec<&str> = match members.get("type") {
        Some(Value::String(one)) => known(one).into_iter().collect(),
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).filter_map(known).collect(),
        _ => Vec::new(),
    };
    if types.is_empty() {
        let options = match (members.get("const"), members.get("enum")) {
            (Some(only), _) => std::slice::from_ref(only),
            (None, Some(Value::Array(options))) => options,
            _ => &[],
        };
        types = options.iter().map(type_name).collect();
        types.sort_unstable();
        types.dedup();
    }
    if types.contains(&"number") {
        types.retain(|kind| *kind != "integer");
    }
    if !types.is_empty() {
        return types;
    }
    let has = |keys: &[&str]| keys.iter().any(|key| members.contains_key(*key));
    if has(&["properties", "required", "additionalProperties", "patternProperties"]) {
        vec!["object"]
    } else if has(&["items", "prefixItems"]) {
        vec!["array"]
    } else if has(&["pattern", "minLength", "maxLength", "format"]) {
        vec!["string"]
    } else if has(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]) {
        vec!["number"]
    } else {
        Vec::new()
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A schema that allows every value. APIs reject a schema without a type.
fn any_value(description: &Map<String, Value>) -> Value {
    let simple = || ["string", "number", "boolean", "object"].map(|kind| json!({ "type": kind }));
    let list = json!({ "type": "array", "items": { "anyOf": simple() } });
    any_of(simple().into_iter().chain([list]).collect(), description)
}

/// A choice. Its description is that of its first form, because APIs allow no keyword next to `anyOf`.
fn any_of(mut forms: Vec<Value>, description: &Map<String, Value>) -> Value {
    if let (Some(text), Some(Value::Object(first))) = (description.get("description"), forms.first_mut()) {
        let text = text.as_str().unwrap_or_default();
        let text = match first.get("description").and_then(Value::as_str) {
            Some(own) => format!("{text} {own}"),
            None => text.to_owned(),
        };
        first.insert("description".to_owned(), json!(text));
    }
    json!({ "anyOf": forms })
}

fn descriptive_part(members: &Map<String, Value>) -> Map<String, Value> {
    let keys = DESCRIPTIVE_KEYWORDS.iter().filter_map(|key| members.get_key_value(*key));
    let keys = keys.filter(|(key, value)| *key != "default" || !value.is_null());
    keys.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Options are a keyword only for strings, and never empty ones.
fn insert_options(out: &mut Map<String, Value>, kind: &str, options: Vec<Value>, notes: &mut Vec<String>) {
    if kind == "string" {
        let options: Vec<_> = options
            .into_iter()
            .filter(|option| option.as_str().is_some_and(|text| !text.is_empty()))
            .collect();
        if !options.is_empty() {
            out.insert("enum".to_owned(), Value::Array(options));
        }
        return;
    }
    let of_kind = |option: &&Value| {
        let own = type_name(option);
        own == kind || (kind == "number" && own == "integer")
    };
    let options: Vec<_> = options.iter().filter(of_kind).map(Value::to_string).collect();
    match options.as_slice() {
        [] => {}
        [only] => notes.push(format!("always {only}")),
        several => notes.push(format!("one of {}", several.join(", "))),
    }
}

fn insert_format(out: &mut Map<String, Value>, kind: &str, format: Value, notes: &mut Vec<String>) {
    match (kind, format.as_str()) {
        ("string", Some("date-time"))
        | ("number", Some("float" | "double"))
        | ("integer", Some("int32" | "int64")) => {
            out.insert("format".to_owned(), format);
        }
        ("string", Some(other)) => notes.push(format!("format: {other}")),
        _ => {}
    }
}

fn insert_bound(out: &mut Map<String, Value>, kind: &str, key: &str, value: &Value, notes: &mut Vec<String>) {
    let bound = match key {
        "exclusiveMinimum" => Some(("minimum", 1)),
        "exclusiveMaximum" => Some(("maximum", -1)),
        _ => None,
    };
    let inclusive = value.as_i64().filter(|_| kind == "integer");
    match (bound, inclusive) {
        (Some((key, step)), Some(value)) => {
            out.entry(key).or_insert_with(|| json!(value.saturating_add(step)));
        }
        (Some(("minimum", _)), None) => notes.push(format!("more than {value}")),
        (Some(_), None) => notes.push(format!("less than {value}")),
        (None, _) => notes.push(format!("a multiple of {value}")),
    }
}

/// The type of the values of a map.
fn described_values(schema: &Value) -> Option<String> {
    let kind = schema.get("type")?.as_str()?;
    Some(format!("each value is of type {kind}"))
}

/// APIs reject a required name without a property.
fn keep_known_required(out: &mut Map<String, Value>) {
    let Some(Value::Array(mut names)) = out.shift_remove("required") else { return };
    let properties = out.get("properties").and_then(Value::as_object);
    names.retain(|name| {
        name.as_str().is_some_and(|name| properties.is_some_and(|properties| properties.contains_key(name)))
    });
    if !names.is_empty() {
        out.insert("required".to_owned(), Value::Array(names));
    }
}
