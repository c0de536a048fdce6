//! A thought as sent by a model. Numbers can be strings of digits, and booleans can be words, because models confuse
//! them.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::Value;

/// The largest integer that every JSON parser represents exactly.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// The schema of the arguments, written by hand, because it is more precise than the types of [`Thought`].
pub(crate) const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "thought": { "type": "string", "description": "This thought." },
        "nextThoughtNeeded": {
            "type": ["boolean", "string"],
            "description": "Whether another thought is needed."
        },
        "thoughtNumber": {
            "type": ["integer", "string"], "minimum": 1, "maximum": 9007199254740991, "pattern": "^[0-9]+$",
            "description": "The number of this thought, such as 1, 2, 3."
        },
        "totalThoughts": {
            "type": ["integer", "string"], "minimum": 1, "maximum": 9007199254740991, "pattern": "^[0-9]+$",
            "description": "The current estimate of the total number of thoughts, such as 5 or 10."
        },
        "isRevision": {
            "type": ["boolean", "string"],
            "description": "Whether this thought revises an earlier one."
        },
        "revisesThought": {
            "type": ["integer", "string"], "minimum": 1, "maximum": 9007199254740991, "pattern": "^[0-9]+$",
            "description": "The number of the thought that is revised."
        },
        "branchFromThought": {
            "type": ["integer", "string"], "minimum": 1, "maximum": 9007199254740991, "pattern": "^[0-9]+$",
            "description": "The number of the thought where the branch starts."
        },
        "branchId": { "type": "string", "description": "The name of the branch." },
        "needsMoreThoughts": {
            "type": ["boolean", "string"],
            "description": "Whether more thoughts are needed than estimated."
        }
    },
    "required": ["thought", "nextThoughtNeeded", "thoughtNumber", "totalThoughts"]
}"#;

/// A thought.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Thought {
    thought: String,
    #[serde(rename = "nextThoughtNeeded", deserialize_with = "flag")]
    pub(crate) next_needed: bool,
    #[serde(rename = "thoughtNumber", deserialize_with = "count")]
    pub(crate) number: u64,
    #[serde(rename = "totalThoughts", deserialize_with = "count")]
    pub(crate) total: u64,
    #[serde(default, deserialize_with = "some_flag")]
    is_revision: Option<bool>,
    #[serde(default, deserialize_with = "some_count")]
    revises_thought: Option<u64>,
    #[serde(default, deserialize_with = "some_count")]
    branch_from_thought: Option<u64>,
    branch_id: Option<String>,
    /// Unused, but an invalid boolean is an error.
    #[serde(default, rename = "needsMoreThoughts", deserialize_with = "some_flag")]
    _needs_more: Option<bool>,
}

impl Thought {
    /// The branch of the thought, if it has a name and a start.
    pub(crate) fn branch(&self) -> Option<&str> {
        self.branch_from_thought.and(self.branch_id.as_deref()).filter(|name| !name.is_empty())
    }
}

impl fmt::Display for Thought {
    /// The log message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thought {}/{}", self.number, self.total.max(self.number))?;
        match (self.is_revision, self.revises_thought) {
            (Some(true), Some(number)) => write!(f, ", revising {number}")?,
            (Some(true), None) => f.write_str(", a revision")?,
            (Some(false) | None, _) => {
                if let (Some(name), Some(from)) = (self.branch(), self.branch_from_thought) {
                    write!(f, ", on branch `{name}` from {from}")?;
                }
            }
        }
        write!(f, ": {}", self.thought)
    }
}

fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let word = |word: &str| value.as_str().is_some_and(|text| text.eq_ignore_ascii_case(word));
    match value {
        Value::Bool(flag) => Ok(flag),
        _ if word("true") => Ok(true),
        _ if word("false") => Ok(false),
        other => Err(D::Error::custom(format!("expected true or false, got {other}"))),
    }
}

fn some_flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    flag(deserializer).map(Some)
}

fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let number = match &value {
        Value::String(digits) => digits.parse().ok(),
        // `1.0` and `1e1` are integers, too.
        number => number.as_u64().or_else(|| {
            let number = number.as_f64().filter(|number| number.fract() == 0.0)?;
            format!("{number:.0}").parse().ok()
        }),
    };
    number.filter(|number| (1..=MAX_SAFE_INTEGER).contains(number)).ok_or_else(|| {
        D::Error::custom(format!("expected an integer from 1 to {MAX_SAFE_INTEGER}, got {value}"))
    })
}

fn some_count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    count(deserializer).map(Some)
}

#[cfg(test)]
mod tests;
