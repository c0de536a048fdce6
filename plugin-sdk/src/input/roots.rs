//! [`Roots`]: the client's workspace directories.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::sealed::Sealed;
use super::{Question, read};
use crate::ToolError;

/// Asks the client for its workspace directories (MCP's `roots/list`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Roots;

/// A workspace directory or file of the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// The URI, today always `file://…`.
    pub uri: String,
    /// The name shown to people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Sealed for Roots {}
impl Question for Roots {
    type Answer = Vec<Root>;

    fn method(&self) -> &'static str {
        "roots/list"
    }

    fn params(&self) -> Result<Value, String> {
        Ok(json!({}))
    }

    fn read(&self, answer: Value) -> Result<Vec<Root>, ToolError> {
        #[derive(Deserialize)]
        struct ListRootsResult {
            roots: Vec<Root>,
        }
        read::<ListRootsResult>("a list of roots", answer).map(|listed| listed.roots)
    }
}
