//! Arguments that clients repeat in HTTP headers, as annotated with `x-mcp-header` in a tool's schema (2026-07-28,
//! basic/transports/streamable-http, "Custom headers from tool parameters").
//!
//! Clients drop a tool with an invalid annotation. So invalid annotations are found once, when the plugin is loaded,
//! and removed from the schemas that clients see.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::json::pointer_step;

/// The member of a schema that names a header.
const HEADER_ANNOTATION: &str = "x-mcp-header";

/// The characters of a header name, in addition to letters and digits (RFC 9110, 5.6.2).
const HEADER_NAME_CHARS: &str = "!#$%&'*+-.^_`|~";

/// Keywords that contain one subschema, or a list of them.
const SCHEMA_KEYWORDS: [&str; 16] = [
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "oneOf",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Keywords that contain named subschemas, in addition to `properties`.
const NAMED_SCHEMA_KEYWORDS: [&str; 5] =
    ["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties"];

/// An argument that a header repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderArgument {
    name: String,
    path: Vec<String>,
}

impl HeaderArgument {
    /// The header's name without the common prefix, as written by the plugin.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of the members on the way to the argument.
    #[must_use]
    pub fn path(&self) -> &[String] {
        &self.path
    }

    /// The argument's value, if it is present and isn't `null`.
    #[must_use]
    pub fn value<'a>(&self, arguments: &'a Value) -> Option<&'a Value> {
        let value = self.path.iter().try_fold(arguments, |at, step| at.as_object()?.get(step))?;
        (!value.is_null()).then_some(value)
    }
}

/// An annotation that was removed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InvalidAnnotation {
    /// Its location, as a JSON pointer.
    pub(super) pointer: String,
    /// The reason.
    pub(super) reason: String,
}

/// The arguments of a tool with this input schema that clients repeat in headers.
#[must_use]
pub fn header_arguments(schema: &Value) -> Vec<HeaderArgument> {
    find_annotations(&mut schema.clone()).0
}

/// False only for the text of a schema without annotations. This is much faster than the search.
pub(super) fn may_have_annotations(schema: &str) -> bool {
    schema.contains(HEADER_ANNOTATION) || schema.contains("\\u") // which can spell any name
}

/// Finds the annotations of a schema and removes the invalid ones.
pub(super) fn find_annotations(schema: &mut Value) -> (Vec<HeaderArgument>, Vec<InvalidAnnotation>) {
    let mut search = AnnotationSearch { found: Vec::new(), wrong: Vec::new(), taken: HashMap::new() };
    search.visit(schema, "", Some(&[]));
    (search.found, search.wrong)
}

struct AnnotationSearch {
    found: Vec<HeaderArgument>,
    wrong: Vec<InvalidAnnotation>,
    /// Names in lower case, with their locations.
    taken: HashMap<String, String>,
}

impl AnnotationSearch {
    /// Visits the schema at `at`. `path` is the argument that it describes; `None` means that it isn't a single
    /// argument. The recursion is as deep as the schema, which was compiled before and can't be deep.
    fn visit(&mut self, schema: &mut Value, at: &str, path: Option<&[String]>) {
        let Value::Object(members) = schema else { return };
        if let Some(name) = members.get(HEADER_ANNOTATION) {
            match self.parse_annotation(name, members, at, path) {
                Ok(argument) => self.found.push(argument),
                Err(why) => {
                    members.shift_remove(HEADER_ANNOTATION);
                    self.wrong.push(InvalidAnnotation { pointer: at.to_owned(), reason: why });
                }
            }
        }
        if let Some(Value::Object(properties)) = members.get_mut("properties") {
            for (name, property) in properties {
                let path = path.map(|path| [path, std::slice::from_ref(name)].concat());
                self.visit(property, &format!("{at}/properties/{}", pointer_step(name)), path.as_deref());
            }
        }
        for key in SCHEMA_KEYWORDS {
            match members.get_mut(key) {
                Some(Value::Array(list)) => {
                    for (index, item) in list.iter_mut().enumerate() {
                        self.visit(item, &format!("{at}/{key}/{index}"), None);
                    }
                }
                Some(one) => self.visit(one, &format!("{at}/{key}"), None),
                None => {}
            }
        }
        for key in NAMED_SCHEMA_KEYWORDS {
            let Some(Value::Object(named)) = members.get_mut(key) else { continue };
            for (name, item) in named {
                self.visit(item, &format!("{at}/{key}/{}", pointer_step(name)), None);
            }
        }
    }

    fn parse_annotation(
        &mut self,
        name: &Value,
        schema: &Map<String, Value>,
        at: &str,
        path: Option<&[String]>,
    ) -> Result<HeaderArgument, String> {
        let Some(path) = path.filter(|path| !path.is_empty()) else {
            return Err("only arguments that are nested in `properties` alone can have it".to_owned());
        };
        let Some(name) = name.as_str() else { return Err("it must be a string".to_owned()) };
        let fits = |c: char| c.is_ascii_alphanumeric() || HEADER_NAME_CHARS.contains(c);
        if name.is_empty() || !name.chars().all(fits) {
            return Err(format!("`{}` isn't a valid header name", name.escape_debug()));
        }
        if !matches!(schema.get("type").and_then(Value::as_str), Some("string" | "integer" | "boolean")) {
            return Err("the `type` of the argument must be string, integer or boolean".to_owned());
        }
        let taken = self.taken.entry(name.to_ascii_lowercase()).or_insert_with(|| at.to_owned());
        if taken != at {
            return Err(format!("`{taken}` already has a header with this name"));
        }
        Ok(HeaderArgument { name: name.to_owned(), path: path.to_vec() })
    }
}

#[cfg(test)]
mod tests;
