//! Replaces references with their targets.
//!
//! If that isn't possible, because a schema refers back to itself or would grow without limit, a schema that allows
//! more takes its place, with the same type if it is known. Keywords that invert a subschema, such as `not`, then allow
//! more themselves.

use serde_json::{Map, Value, json};

use crate::catalog::schema::{ReferenceTarget, References};

/// The maximum number of subschemas in the result.
const MAX_SUBSCHEMAS: usize = 5_000;

/// Keywords that only name or annotate something, and are useless if nothing refers to it.
const REMOVED_KEYWORDS: [&str; 9] = [
    "$anchor",
    "$comment",
    "$defs",
    "$dynamicAnchor",
    "$id",
    "$recursiveAnchor",
    "$schema",
    "$vocabulary",
    "definitions",
];

/// Keywords that don't affect validation.
const ANNOTATION_KEYWORDS: [&str; 8] =
    ["default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly", "x-mcp-header"];

/// Keywords that depend on each other: two schemas that both have one of a group can't be joined.
const DEPENDENT_KEYWORDS: [&[&str]; 4] = [
    &["additionalProperties", "patternProperties", "properties", "unevaluatedProperties"],
    &["additionalItems", "items", "prefixItems", "unevaluatedItems"],
    &["contains", "maxContains", "minContains"],
    &["else", "if", "then"],
];

/// A walk through a schema.
pub(super) struct ReferenceInliner<'s> {
    root: &'s Value,
    /// `None` if an `$id` is invalid, in which case the schema didn't compile.
    references: Option<References<'s>>,
    /// The targets that are being inlined, from the outermost to the innermost.
    inlining: Vec<&'s Value>,
    subschemas_left: usize,
    /// Drafts before 2019-09 ignore keywords next to a `$ref`.
    lone_references: bool,
}

/// A schema, and whether it is equivalent to the original. If not, it allows more.
struct PortableSchema {
    schema: Value,
    is_equivalent: bool,
}

impl<'s> ReferenceInliner<'s> {
    pub(super) fn new(root: &'s Value) -> Self {
        let dialect = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
        let lone_references = ["draft-07", "draft-06"].iter().any(|draft| dialect.contains(draft));
        Self {
            root,
            references: References::of(root).ok(),
            inlining: vec![root],
            subschemas_left: MAX_SUBSCHEMAS,
            lone_references,
        }
    }

    /// The whole schema.
    pub(super) fn root(mut self) -> Value {
        let mut schema = self.inline(self.root).schema;
        if let (Some(dialect), Value::Object(members)) = (self.root.get("$schema"), &mut schema) {
            members.insert("$schema".to_owned(), dialect.clone());
        }
        schema
    }

    fn inline(&mut self, schema: &'s Value) -> PortableSchema {
        let Value::Object(members) = schema else {
            return PortableSchema { schema: schema.clone(), is_equivalent: true };
        };
        let Some(left) = self.subschemas_left.checked_sub(1) else { return self.approximate(schema) };
        self.subschemas_left = left;
        let mut out = Map::new();
        let mut exact = true;
        for (key, value) in members {
            exact &= self.inline_keyword(&mut out, members, key, value);
        }
        let is_list = out.get("type").is_some_and(|kind| kind == "array");
        if is_list && !out.contains_key("items") && !out.contains_key("prefixItems") {
            out.insert("items".to_owned(), json!({}));
        }
        let target =
            members.get("$ref").and_then(Value::as_str).map(|reference| self.inline_target(reference));
        exact &= target.as_ref().is_none_or(|target| target.is_equivalent);
        if !exact {
            // These keywords depend on the matches of others, which can be more now.
            for key in ["maxContains", "unevaluatedItems", "unevaluatedProperties"] {
                out.shift_remove(key);
            }
        }
        let schema = match target {
            Some(target) => self.join_siblings(out, target.schema),
            None => Value::Object(out),
        };
        PortableSchema { schema, is_equivalent: exact }
    }

    /// Puts one keyword's portable form into `out`. Returns false if it allows more now.
    fn inline_keyword(
        &mut self,
        out: &mut Map<String, Value>,
        members: &'s Map<String, Value>,
        key: &str,
        value: &'s Value,
    ) -> bool {
        let key = match key {
            "$ref" => return true,
            "$dynamicRef" | "$recursiveRef" => return false,
            "additionalItems"
            | "additionalProperties"
            | "allOf"
            | "anyOf"
            | "contains"
            | "contentSchema"
            | "items"
            | "prefixItems"
            | "propertyNames"
            | "unevaluatedItems"
            | "unevaluatedProperties" => {
                let PortableSchema { schema, is_equivalent: exact } = self.one_or_list(value);
                out.insert(key.to_owned(), schema);
                return exact;
            }
            "not" => {
                let PortableSchema { schema, is_equivalent: exact } = self.inline(value);
                if exact {
                    out.insert(key.to_owned(), schema);
                }
                return exact;
            }
            "oneOf" => {
                let PortableSchema { schema, is_equivalent: exact } = self.one_or_list(value);
                if exact {
                    out.insert(key.to_owned(), schema);
                } else if !members.contains_key("anyOf") {
                    out.insert("anyOf".to_owned(), schema); // branches that allow more can both match
                }
                return exact;
            }
            "if" | "then" | "else" => {
                let condition = members.get("if").map(|condition| self.inline(condition));
                let Some(condition) = condition.filter(|condition| condition.is_equivalent) else {
                    return false;
                };
                let PortableSchema { schema, is_equivalent: exact } =
                    if key == "if" { condition } else { self.inline(value) };
                out.insert(key.to_owned(), schema);
                return exact;
            }
            "dependencies" | "dependentSchemas" | "patternProperties" | "properties" => {
                let PortableSchema { schema, is_equivalent: exact } = self.named(value);
                out.insert(key.to_owned(), schema);
                return exact;
            }
            other if REMOVED_KEYWORDS.contains(&other) => return true,
            other => other,
        };
        out.insert(key.to_owned(), value.clone());
        true
    }

    /// A subschema, or a list of subschemas.
    fn one_or_list(&mut self, value: &'s Value) -> PortableSchema {
        let Value::Array(list) = value else { return self.inline(value) };
        let forms: Vec<_> = list.iter().map(|item| self.inline(item)).collect();
        let exact = forms.iter().all(|form| form.is_equivalent);
        PortableSchema { schema: forms.into_iter().map(|form| form.schema).collect(), is_equivalent: exact }
    }

    /// Subschemas by name.
    fn named(&mut self, value: &'s Value) -> PortableSchema {
        let Value::Object(named) = value else {
            return PortableSchema { schema: value.clone(), is_equivalent: true };
        };
        let mut exact = true;
        let mut out = Map::new();
        for (name, item) in named {
            let form = self.inline(item);
            exact &= form.is_equivalent;
            let anything = form.schema == Value::Bool(true);
            out.insert(name.clone(), if anything { json!({}) } else { form.schema });
        }
        PortableSchema { schema: Value::Object(out), is_equivalent: exact }
    }

    /// The target of a reference.
    fn inline_target(&mut self, reference: &str) -> PortableSchema {
        // With several possible targets, the result has to allow whatever any of them allows.
        let targets = self.references.as_ref().and_then(|references| references.target(reference).ok());
        let target = match targets {
            Some(ReferenceTarget::Local(targets)) if targets.len() == 1 => targets[0].0,
            Some(ReferenceTarget::Local(_) | ReferenceTarget::MetaSchema) | None => {
                return PortableSchema { schema: json!({}), is_equivalent: false };
            }
        };
        if self.inlining.iter().any(|open| std::ptr::eq(*open, target)) {
            return self.approximate(target);
        }
        self.inlining.push(target);
        let form = self.inline(target);
        self.inlining.pop();
        form
    }

    /// Joins the keywords next to a reference with its target.
    fn join_siblings(&self, beside: Map<String, Value>, target: Value) -> Value {
        let beside: Map<_, _> = if self.lone_references {
            beside.into_iter().filter(|(key, _)| ANNOTATION_KEYWORDS.contains(&key.as_str())).collect()
        } else {
            beside
        };
        if beside.is_empty() {
            return target;
        }
        let (mut all, target) = match target {
            Value::Object(target) if can_be_joined(&beside, &target) => (beside, target),
            target => {
                let mut beside = beside;
                match beside.get_mut("allOf").and_then(Value::as_array_mut) {
                    Some(all) => all.push(target),
                    None => drop(beside.insert("allOf".to_owned(), json!([target]))),
                }
                return Value::Object(beside);
            }
        };
        for (key, value) in target {
            all.entry(key).or_insert(value);
        }
        Value::Object(all)
    }
    /// A schema that allows everything that `schema` allows, with little more than its type.
    fn approximate(&self, schema: &Value) -> PortableSchema {
        let says_nothing = self.lone_references && schema.get("$ref").is_some();
        let mut out = Map::new();
        for key in ["type", "title", "description"] {
            if let Some(value) = schema.get(key).filter(|_| !says_nothing) {
                out.insert(key.to_owned(), value.clone());
            }
        }
        if out.get("type").is_some_and(|kind| kind == "array") {
            out.insert("items".to_owned(), json!({}));
        }
        PortableSchema { schema: Value::Object(out), is_equivalent: false }
    }
}

/// Reports whether two schemas are equivalent joined and separate.
fn can_be_joined(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    let has = |schema: &Map<String, Value>, group: &[&str]| group.iter().any(|key| schema.contains_key(*key));
    let free = |key: &str| ANNOTATION_KEYWORDS.contains(&key);
    DEPENDENT_KEYWORDS.iter().all(|group| !has(one, group) || !has(other, group))
        && one.keys().all(|key| free(key) || !other.contains_key(key) || one.get(key) == other.get(key))
        && !has(one, &["unevaluatedItems", "unevaluatedProperties"])
        && !has(other, &["unevaluatedItems", "unevaluatedProperties"])
}
