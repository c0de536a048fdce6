//! What the SDK wants of authors' types, as traits that say in the compiler's words what to write.
//!
//! Each is implemented for every type that has what it asks for. They stand in the place of foreign traits, because those
//! can't say what an author of a plugin has to do.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ToolError;

/// A type whose form can be told to clients: whatever implements [`JsonSchema`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no JSON Schema, so clients can't be told its form",
    label = "doesn't implement `JsonSchema`",
    note = "write `#[derive(schemars::JsonSchema)]` above the type, with `schemars = \"1\"` in `Cargo.toml`"
)]
pub trait HasSchema: JsonSchema {}

/// A type that arguments are read as: whatever implements [`Deserialize`](serde::Deserialize) without borrowing.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be read from a call's arguments",
    label = "doesn't implement `Deserialize`",
    note = "write `#[derive(serde::Deserialize)]` above the type, with `serde = {{ version = \"1\", features = [\"derive\"] }}` in `Cargo.toml`"
)]
pub trait Readable: DeserializeOwned {}

/// What [`Json`](crate::Json) and [`Pretty`](crate::Pretty) can hold in a tool's result: whatever implements [`Serialize`]
/// and [`JsonSchema`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be a tool's structured content",
    label = "`{Self}` doesn't implement both `Serialize` and `JsonSchema`",
    note = "write `#[derive(serde::Serialize, schemars::JsonSchema)]` above the type"
)]
pub trait Structured: Serialize + JsonSchema {}

/// What a [`Form`](crate::input::Form) can ask for: whatever implements [`Deserialize`](serde::Deserialize) without borrowing
/// and [`JsonSchema`].
#[diagnostic::on_unimplemented(
    message = "nothing says what the form asks for, or no form can be made of it",
    label = "`{Self}` can't be what a form asks for",
    note = "name the struct of the answer, as in `let name: Name = ctx.ask(…)?` or `Form::<Name>::new(…)`, and write \
            `#[derive(serde::Deserialize, schemars::JsonSchema)]` above it"
)]
pub trait FormFields: DeserializeOwned + JsonSchema {}

/// What can stand as the error in the `Result` of a tool, resource or prompt: [`ToolError`], and whatever `?` turns into
/// one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be the error that a call ends with",
    label = "`{Self}` is no error",
    note = "use `ToolError`, `Box<dyn std::error::Error>` or `String`, or implement `std::error::Error` for `{Self}`"
)]
pub trait IntoToolError: Into<ToolError> {}

#[diagnostic::do_not_recommend]
impl<T: JsonSchema> HasSchema for T {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned> Readable for T {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema> FormFields for T {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema> Structured for T {}

#[diagnostic::do_not_recommend]
impl<E: Into<ToolError>> IntoToolError for E {}
