//! The SDK's requirements on plugin authors' types, as traits whose compiler errors explain what to write.
//!
//! Each trait is implemented for every type that meets its requirements. They replace foreign traits, whose errors
//! can't tell a plugin author what to do.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ToolError;

/// A type whose schema can be sent to clients: any type that implements [`JsonSchema`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no JSON Schema, so clients don't know its structure",
    label = "doesn't implement `JsonSchema`",
    note = "write `#[derive(schemars::JsonSchema)]` above the type, with `schemars = \"1\"` in `Cargo.toml`"
)]
pub trait HasSchema: JsonSchema {}

/// A type that arguments are deserialized into: any type that implements [`Deserialize`](serde::Deserialize) without
/// borrowing.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be read from a call's arguments",
    label = "doesn't implement `Deserialize`",
    note = "write `#[derive(serde::Deserialize)]` above the type, with `serde = {{ version = \"1\", features = [\"derive\"] }}` in `Cargo.toml`"
)]
pub trait Readable: DeserializeOwned {}

/// A type that [`Json`](crate::Json) and [`Pretty`](crate::Pretty) can hold in a tool's result: any type that
/// implements [`Serialize`] and [`JsonSchema`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be a tool's structured content",
    label = "`{Self}` doesn't implement both `Serialize` and `JsonSchema`",
    note = "write `#[derive(serde::Serialize, schemars::JsonSchema)]` above the type"
)]
pub trait Structured: Serialize + JsonSchema {}

/// A type that a [`Form`](crate::input::Form) can ask for: any type that implements
/// [`Deserialize`](serde::Deserialize) without borrowing and [`JsonSchema`].
#[diagnostic::on_unimplemented(
    message = "the fields of the form are unknown, or can't be shown in a form",
    label = "`{Self}` can't be the fields of a form",
    note = "name the struct of the answer, as in `let name: Name = ctx.ask(…)?` or `Form::<Name>::new(…)`, and write \
            `#[derive(serde::Deserialize, schemars::JsonSchema)]` above it"
)]
pub trait FormFields: DeserializeOwned + JsonSchema {}

/// A type that can be the error in the `Result` of a tool, resource or prompt: [`ToolError`], and every type that `?`
/// converts into one.
#[diagnostic::on_unimplemented(
    message = "a call can't fail with `{Self}`",
    label = "`{Self}` isn't an error",
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
