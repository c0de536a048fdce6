//! Mismatches of two answers, and intended differences.

use serde_json::Value;

/// An intended difference, shown on the page.
#[derive(Debug)]
pub(crate) struct Difference {
    /// The difference, in a sentence for the page.
    pub(crate) description: &'static str,
    /// The reason, in a sentence for the page.
    pub(crate) reason: &'static str,
    /// Returns true if this mismatch is intended. The condition is as narrow as possible, so that other mismatches fail.
    pub(crate) matches: fn(&Mismatch<'_>) -> bool,
}

/// One place where two answers differ.
#[derive(Debug)]
pub(crate) struct Mismatch<'a> {
    /// The method, such as `tools/call`.
    pub(crate) method: &'a str,
    /// The tool, prompt or resource of the request. Empty if there is none.
    pub(crate) name: &'a str,
    /// The arguments of the official server's request.
    pub(crate) arguments: &'a Value,
    /// The place in the answers' normal form: a JSON pointer.
    pub(crate) at: &'a str,
    /// The official server's value, if there is one.
    pub(crate) theirs: Option<&'a Value>,
    /// The plugin's value, if there is one.
    pub(crate) ours: Option<&'a Value>,
    /// Both complete answers, the official one first.
    pub(crate) answers: (&'a Value, &'a Value),
}

impl Mismatch<'_> {
    /// Returns true if the mismatch is at this place of a listed tool, such as `/inputSchema/properties/n/type`.
    pub(crate) fn is_tool_property(&self, tool: &str, at: &str) -> bool {
        let place = self.at.strip_prefix("/items/").and_then(|rest| rest.strip_prefix(tool));
        self.method == "tools/list" && place == Some(at)
    }
}

/// A place with both values.
pub(crate) type Place<'a> = (String, Option<&'a Value>, Option<&'a Value>);

/// The deepest places where two values differ. Objects are compared by member, and lists of the same length by item.
pub(crate) fn places<'a>(theirs: &'a Value, ours: &'a Value) -> Vec<Place<'a>> {
    let mut found = Vec::new();
    walk(String::new(), Some(theirs), Some(ours), &mut found);
    found
}

fn walk<'a>(at: String, theirs: Option<&'a Value>, ours: Option<&'a Value>, found: &mut Vec<Place<'a>>) {
    if theirs == ours {
        return;
    }
    match (theirs, ours) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            let new = right.keys().filter(|key| !left.contains_key(*key));
            for key in left.keys().chain(new) {
                let step = key.replace('~', "~0").replace('/', "~1");
                walk(format!("{at}/{step}"), left.get(key), right.get(key), found);
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                walk(format!("{at}/{index}"), Some(left), Some(right), found);
            }
        }
        _ => found.push((at, theirs, ours)),
    }
}

#[cfg(test)]
mod tests;
