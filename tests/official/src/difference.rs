//! Where two answers differ, and differences that are meant.

use serde_json::Value;

/// A difference that is meant: data, from which the page is written.
#[derive(Debug)]
pub(crate) struct Difference {
    /// What differs: a sentence for people.
    pub(crate) what: &'static str,
    /// Why it has to, or should: a sentence for people.
    pub(crate) reason: &'static str,
    /// Is this gap one of these? As narrow as it can be said: what isn't meant has to fail.
    pub(crate) meant: fn(&Gap<'_>) -> bool,
}

/// A place at which two answers differ.
#[derive(Debug)]
pub(crate) struct Gap<'a> {
    /// The method, such as `tools/call`.
    pub(crate) method: &'a str,
    /// The tool, prompt or resource, where the request names one.
    pub(crate) name: &'a str,
    /// The arguments as the official server got them.
    pub(crate) arguments: &'a Value,
    /// The place in the answers' normal form: a JSON pointer.
    pub(crate) at: &'a str,
    /// What the official server says there, if anything.
    pub(crate) theirs: Option<&'a Value>,
    /// What the plugin says there, if anything.
    pub(crate) ours: Option<&'a Value>,
    /// Both answers whole, the official one first.
    pub(crate) answers: (&'a Value, &'a Value),
}

impl Gap<'_> {
    /// Is it about a tool of the list, at this place below it, such as `/inputSchema/properties/n/type`?
    pub(crate) fn lists(&self, tool: &str, at: &str) -> bool {
        let place = self.at.strip_prefix("/items/").and_then(|rest| rest.strip_prefix(tool));
        self.method == "tools/list" && place == Some(at)
    }
}

/// One place with what both say there.
pub(crate) type Place<'a> = (String, Option<&'a Value>, Option<&'a Value>);

/// All places at which two values differ, the deepest ones: objects are compared member by member, lists of the same
/// length item by item.
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
