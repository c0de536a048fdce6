//! Which members of an object a schema knows: for whoever says that one is unknown.

use std::collections::BTreeSet;

use serde_json::Value;

/// Words with which schemas say more of members than their names: then none is unknown.
const OPEN: [&str; 9] = [
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
];

/// The members that the schema of an object names; none: others may have a meaning, too.
#[must_use]
pub fn named_members(schema: &Value) -> Option<BTreeSet<&str>> {
    let takes_others = schema.get("additionalProperties").is_some_and(|others| *others != false);
    if takes_others || OPEN.iter().any(|word| schema.get(*word).is_some()) {
        return None;
    }
    let properties = schema.get("properties")?.as_object()?;
    Some(properties.keys().map(String::as_str).collect())
}

#[cfg(test)]
mod tests;
