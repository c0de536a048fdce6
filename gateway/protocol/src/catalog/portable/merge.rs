//! Merges the members of several schemas into one.

use serde_json::{Map, Value, json};

/// Merges a branch of an `allOf` into `schema`, where possible.
pub(super) fn merge_all_of(schema: &mut Map<String, Value>, branch: Map<String, Value>) {
    for (key, value) in branch {
        match (key.as_str(), value) {
            ("type" | "unevaluatedProperties" | "$schema", _) => {}
            ("properties", Value::Object(members)) => {
                let own = object(schema, "properties");
                for (name, member) in members {
                    match own.get_mut(&name) {
                        None => drop(own.insert(name, member)),
                        Some(first) => intersect(first, &member),
                    }
                }
            }
            ("patternProperties", Value::Object(members)) => {
                let own = object(schema, "patternProperties");
                for (name, member) in members {
                    own.entry(name).or_insert(member);
                }
            }
            ("required", Value::Array(names)) => require(schema, names),
            (_, value) => drop(schema.entry(key).or_insert(value)),
        }
    }
}

/// Merges alternatives into `schema`: one of `branches` applies.
pub(super) fn merge_alternatives(schema: &mut Map<String, Value>, branches: &[Map<String, Value>]) {
    let Some((first, others)) = branches.split_first() else { return };
    let member = |branch: &Map<String, Value>, name: &str| branch.get("properties")?.get(name).cloned();
    let mut names: Vec<&String> = Vec::new();
    for branch in branches {
        let of_branch = branch.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
        for name in of_branch {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    if !names.is_empty() {
        let own = object(schema, "properties");
        for name in names {
            let mut forms: Vec<Value> = Vec::new();
            let of_branches: Vec<_> = branches.iter().filter_map(|branch| member(branch, name)).collect();
            let in_all = of_branches.len() == branches.len();
            for form in of_branches {
                if !forms.contains(&form) {
                    forms.push(form);
                }
            }
            match own.get_mut(name) {
                None => drop(own.insert(name.clone(), union(forms))),
                Some(Value::Object(known)) if in_all && !known.contains_key("const") => {
                    if let Some(values) = enum_values(&forms) {
                        known.entry("enum").or_insert(Value::Array(values));
                    }
                }
                Some(_) => {}
            }
        }
    }
    let needs = |branch: &Map<String, Value>, name: &Value| {
        branch.get("required").and_then(Value::as_array).is_some_and(|names| names.contains(name))
    };
    let required = first.get("required").and_then(Value::as_array).into_iter().flatten();
    let in_all = required.filter(|name| others.iter().all(|branch| needs(branch, name)));
    require(schema, in_all.cloned().collect());
    if branches.iter().all(|branch| branch.get("additionalProperties") == Some(&Value::Bool(false))) {
        schema.entry("additionalProperties").or_insert(Value::Bool(false));
    }
}

/// The object under `key`, created if it is absent.
fn object<'a>(schema: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    let value = schema.entry(key).or_insert_with(|| json!({}));
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().expect("it was just made one")
}

fn require(schema: &mut Map<String, Value>, names: Vec<Value>) {
    if names.is_empty() {
        return;
    }
    let Some(own) = schema.entry("required").or_insert_with(|| json!([])).as_array_mut() else { return };
    for name in names {
        if !own.contains(&name) {
            own.push(name);
        }
    }
}

/// A schema that requires both `first` and `second`. The keywords of `first` stay at the top, for clients that look no
/// further.
fn intersect(first: &mut Value, second: &Value) {
    if first == second {
        return;
    }
    match first {
        Value::Object(members) if !members.contains_key("allOf") => {
            members.insert("allOf".to_owned(), json!([second]));
        }
        _ => *first = json!({ "allOf": [first, second] }),
    }
}

/// A schema that requires one of several forms.
fn union(mut forms: Vec<Value>) -> Value {
    if forms.len() == 1 {
        return forms.swap_remove(0);
    }
    match enum_values(&forms) {
        Some(values) => {
            let kinds =
                forms.iter().map(|form| form.get("type")).collect::<Option<Vec<_>>>().unwrap_or_default();
            match kinds.split_first() {
                Some((kind, others)) if others.iter().all(|other| other == kind) => {
                    json!({ "type": kind, "enum": values })
                }
                Some(_) | None => json!({ "enum": values }),
            }
        }
        None => json!({ "anyOf": forms }),
    }
}

/// The values of all forms. `None` if a form is more than a list of values.
pub(super) fn enum_values(forms: &[Value]) -> Option<Vec<Value>> {
    let mut values: Vec<Value> = Vec::new();
    for form in forms {
        let known = ["const", "enum", "type", "title", "description"];
        let form = form.as_object().filter(|form| form.keys().all(|key| known.contains(&key.as_str())))?;
        let of_form = match (form.get("const"), form.get("enum")) {
            (Some(value), None) => vec![value.clone()],
            (None, Some(Value::Array(values))) => values.clone(),
            (Some(_), Some(_)) | (None, Some(_) | None) => return None,
        };
        for value in of_form {
            if !values.contains(&value) {
                values.push(value);
            }
        }
    }
    Some(values)
}
