//! Questions to the user: [`Form`] and [`Url`] (MCP's elicitation).

use std::fmt;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::sealed::Sealed;
use super::{Question, read, restricted};
use crate::{FormFields, ToolError, schema};

/// Asks the user to fill in a form: the fields of the struct `Fields`.
///
/// A form is flat. A field is a string, number or boolean, a choice (an enum without data), or several choices (a
/// `Vec` of that enum). An `Option` makes it optional. schemars supplies the rest: a field's doc comment is its
/// description; `#[schemars(title = "…")]` its title, also of a choice; `#[serde(default)]` its default;
/// `#[schemars(length(min = 1))]`, `range(…)` and `email` its constraints. An unsupported field makes
/// [`Context::ask`](crate::Context::ask) fail with an error that names it.
///
/// Don't ask for passwords and other secrets in a form. Use [`Url`] for these.
///
/// ```
/// use moongate_sdk::input::Form;
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Booking {
///     /// The number of guests.
///     #[schemars(range(min = 1, max = 8))]
///     persons: u8,
///     #[schemars(title = "Where to sit")]
///     place: Place,
///     /// Special requests.
///     remarks: Option<String>,
/// }
///
/// #[derive(Deserialize, JsonSchema)]
/// #[serde(rename_all = "lowercase")]
/// enum Place {
///     #[schemars(title = "Under the trees")]
///     Garden,
///     #[schemars(title = "By the fire")]
///     Inside,
/// }
///
/// let form = Form::<Booking>::new("Please complete your booking.");
/// ```
pub struct Form<Fields> {
    message: String,
    schema: FormSchema,
    read: fn(Value) -> Result<Fields, ToolError>,
}

/// The source of a form's schema. The schema of a type is only generated when the form is sent.
#[derive(Debug)]
enum FormSchema {
    OfType { make: fn() -> Value, name: &'static str },
    Written(Value),
}

/// Asks the user to open a page: to log in, to pay, or to enter a secret that the client must not see. The answer is
/// only that they agreed; the result has to come from the page's server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    message: String,
    url: String,
}

/// The user's decision on a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision<T> {
    /// The user answered.
    Accepted(T),
    /// The user declined.
    Declined,
    /// The user dismissed the question.
    Dismissed,
}

/// A question that the user can decline; made by [`Form::may_decline`] and [`Url::may_decline`].
#[derive(Debug)]
pub struct MayDecline<Q>(Q);

// === impl Form ===

impl<Fields: FormFields> Form<Fields> {
    /// A form with the fields of the struct `Fields`. `message` explains to the user what you need and why.
    ///
    /// If nothing else determines the struct, name it here: `Form::<Booking>::new("…")`.
    pub fn new(message: impl Into<String>) -> Self {
        let schema =
            FormSchema::OfType { make: schema::input_value::<Fields>, name: std::any::type_name::<Fields>() };
        Self { message: message.into(), schema, read: asked_for }
    }
}

impl<Fields: DeserializeOwned> Form<Fields> {
    /// A form with a schema written by hand, in the subset that MCP allows for `requestedSchema`. The answer is
    /// deserialized as `Fields`, for example a map.
    ///
    /// ```
    /// use moongate_sdk::input::Form;
    /// use serde_json::{Map, Value, json};
    ///
    /// let form = Form::<Map<String, Value>>::with_schema(
    ///     "Which one?",
    ///     json!({ "type": "object", "properties": { "row": { "type": "integer", "minimum": 1 } } }),
    /// );
    /// ```
    pub fn with_schema(message: impl Into<String>, schema: Value) -> Self {
        Self { message: message.into(), schema: FormSchema::Written(schema), read: asked_for }
    }
}

impl<Fields> Form<Fields> {
    /// Lets the user decline the form without ending the call.
    #[must_use]
    pub fn may_decline(self) -> MayDecline<Self> {
        MayDecline(self)
    }
}

impl<Fields> fmt::Debug for Form<Fields> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Form").field("message", &self.message).field("schema", &self.schema).finish()
    }
}

// === impl Url ===

impl Url {
    /// The page at `url`, an absolute URI. `message` explains to the user why to open it.
    pub fn new(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self { message: message.into(), url: url.into() }
    }

    /// Lets the user decline to open the page without ending the call.
    #[must_use]
    pub fn may_decline(self) -> MayDecline<Self> {
        MayDecline(self)
    }
}

// === impl Question ===

impl<Fields> Sealed for Form<Fields> {}
impl<Fields> Question for Form<Fields> {
    type Answer = Fields;

    fn method(&self) -> &'static str {
        ELICIT
    }

    fn params(&self) -> Result<Value, String> {
        let schema = match &self.schema {
            FormSchema::OfType { make, name } => restricted::form(&make())
                .map_err(|reason| format!("`{name}` can't be shown as a form: {reason}"))?,
            FormSchema::Written(schema) => restricted::form(schema)?,
        };
        Ok(json!({ "mode": "form", "message": self.message, "requestedSchema": schema }))
    }

    fn read(&self, answer: Value) -> Result<Fields, ToolError> {
        accepted(&self.message, self.decision(answer)?)
    }
}

impl Sealed for Url {}
impl Question for Url {
    type Answer = ();

    fn method(&self) -> &'static str {
        ELICIT
    }

    fn params(&self) -> Result<Value, String> {
        Ok(json!({ "mode": "url", "message": self.message, "url": self.url }))
    }

    fn read(&self, answer: Value) -> Result<(), ToolError> {
        accepted(&self.message, self.decision(answer)?)
    }
}

impl<Q> Sealed for MayDecline<Q> {}
impl<Q: Declinable> Question for MayDecline<Q> {
    type Answer = Decision<Q::Answer>;

    fn method(&self) -> &'static str {
        self.0.method()
    }

    fn params(&self) -> Result<Value, String> {
        self.0.params()
    }

    fn read(&self, answer: Value) -> Result<Self::Answer, ToolError> {
        self.0.decision(answer)
    }
}

/// A question that can be declined.
trait Declinable: Question {
    fn decision(&self, answer: Value) -> Result<Decision<Self::Answer>, ToolError>;
}

impl<Fields> Declinable for Form<Fields> {
    fn decision(&self, answer: Value) -> Result<Decision<Fields>, ToolError> {
        decision(answer)?.map(self.read)
    }
}

impl Declinable for Url {
    fn decision(&self, answer: Value) -> Result<Decision<()>, ToolError> {
        decision(answer)?.map(|_| Ok(()))
    }
}

// === impl Decision ===

impl<T> Decision<T> {
    /// Returns the answer, if there is one.
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accepted(answer) => Some(answer),
            Self::Declined | Self::Dismissed => None,
        }
    }

    fn map<U>(self, read: impl FnOnce(T) -> Result<U, ToolError>) -> Result<Decision<U>, ToolError> {
        Ok(match self {
            Self::Accepted(answer) => Decision::Accepted(read(answer)?),
            Self::Declined => Decision::Declined,
            Self::Dismissed => Decision::Dismissed,
        })
    }
}

const ELICIT: &str = "elicitation/create";

/// MCP's `ElicitResult`.
fn decision(answer: Value) -> Result<Decision<Value>, ToolError> {
    #[derive(Deserialize)]
    struct ElicitResult {
        action: Action,
        content: Option<Value>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Action {
        Accept,
        Decline,
        Cancel,
    }
    let ElicitResult { action, content } = read("an answer to a question", answer)?;
    Ok(match action {
        Action::Accept => Decision::Accepted(content.unwrap_or_else(|| Value::Object(Map::new()))),
        Action::Decline => Decision::Declined,
        Action::Cancel => Decision::Dismissed,
    })
}

fn asked_for<Fields: DeserializeOwned>(content: Value) -> Result<Fields, ToolError> {
    read("the content of the form", content)
}

/// Returns the answer. If the user declined, the call fails.
fn accepted<T>(message: &str, decision: Decision<T>) -> Result<T, ToolError> {
    let what = match decision {
        Decision::Accepted(answer) => return Ok(answer),
        Decision::Declined => "declined",
        Decision::Dismissed => "dismissed",
    };
    Err(ToolError::failed(format_args!("the user {what} the question {message:?}")))
}

#[cfg(test)]
mod tests;
