//! Forms with each kind of field.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A name.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Name {
    pub(crate) name: String,
}

/// A color.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Color {
    pub(crate) color: String,
}

/// A confirmation.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Confirmation {
    pub(crate) ok: bool,
}

/// The topic of a prompt.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Topic {
    pub(crate) context: String,
}

/// The user's name and address.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct User {
    /// User's response
    username: String,
    /// User's email address
    email: String,
}

/// A default for each kind of field.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Defaults {
    /// User name
    name: String,
    /// User age
    age: i64,
    /// User score
    score: f64,
    /// User status
    status: Status,
    /// Verification status
    verified: bool,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Status {
    Active,
    Inactive,
    Pending,
}

impl Default for Defaults {
    fn default() -> Self {
        Self { name: "John Doe".to_owned(), age: 30, score: 95.5, status: Status::Active, verified: true }
    }
}

/// Each kind of choice.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Choices {
    /// Select one option
    #[serde(skip_serializing_if = "Option::is_none")]
    untitled_single: Option<Untitled>,
    /// Select one option with titles
    #[serde(skip_serializing_if = "Option::is_none")]
    titled_single: Option<Titled>,
    /// Select one option (legacy)
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enumNames" = ["Option One", "Option Two", "Option Three"]))]
    legacy_enum: Option<Legacy>,
    /// Select multiple options
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 3))]
    untitled_multi: Option<Vec<Untitled>>,
    /// Select multiple options with titles
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 3))]
    titled_multi: Option<Vec<Several>>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Untitled {
    Option1,
    Option2,
    Option3,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Legacy {
    Opt1,
    Opt2,
    Opt3,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Titled {
    #[schemars(title = "First Option")]
    Value1,
    #[schemars(title = "Second Option")]
    Value2,
    #[schemars(title = "Third Option")]
    Value3,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Several {
    #[schemars(title = "First Choice")]
    Value1,
    #[schemars(title = "Second Choice")]
    Value2,
    #[schemars(title = "Third Choice")]
    Value3,
}
