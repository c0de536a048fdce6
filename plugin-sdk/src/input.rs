//! Asking the client: the person at it, its model, or the program itself.
//!
//! [`Context::ask`] returns the answer where it is there, and otherwise leaves the call through `?`. The gateway asks the
//! client, and when it has the answer it makes the call again, **from the top**; then `ask` returns. No call waits
//! meanwhile, so a person may take their time.
//!
//! ```
//! use moongate_sdk::prelude::*;
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! /// Whom to greet.
//! #[derive(Deserialize, JsonSchema)]
//! struct Name {
//!     /// As you want to be called.
//!     name: String,
//! }
//!
//! #[derive(Default)]
//! struct Greeter;
//!
//! /// Greets.
//! #[plugin]
//! impl Greeter {
//!     /// Asks for a name and greets.
//!     #[tool]
//!     fn greet(&self, ctx: &Context) -> Result<String, ToolError> {
//!         let Name { name } = ctx.ask("name", Form::new("What is your name?"))?;
//!         Ok(format!("Hello, {name}!"))
//!     }
//! }
//!
//! # use moongate_sdk::testing::{self, Client};
//! # use serde_json::json;
//! let client = Client::<Greeter>::new().answer("name", testing::accepted(json!({ "name": "Ada" })));
//! assert_eq!(client.call("greet", json!({})).unwrap().all_text(), "Hello, Ada!");
//! ```
//!
//! The operator has to allow it with `allow.client` in `gateway.toml`, and the client has to be able to;
//! [`Context::capability`] tells. Where it isn't, the call ends with an error that says so.
//!
//! Something has to say what is asked for, as the pattern does here. So does the type of a variable,
//! `let name: Name = ctx.ask(…)?`, or of the form, `Form::<Name>::new(…)`.
//!
//! # What can be asked
//! | question | who answers | answer |
//! |---|---|---|
//! | [`Form`] | the person | a struct of your own |
//! | [`Url`] | the person, in a browser | `()`: they agreed to open it |
//! | [`Sampling`] | the client's model | [`Sampled`] |
//! | [`Roots`] | the program | the folders that it works in, [`Root`] |
//!
//! A person may decline or dismiss a question. Then `ask` ends the call with an error that says so; where your plugin can
//! go on without the answer, use [`Form::may_decline`] or [`Url::may_decline`] and look at the [`Decision`].
//!
//! # Several at once
//! [`Context::ask_all`] takes a tuple of questions, which the client gets together. An entry can be an `Option`: `None`
//! isn't asked.
//!
//! ```
//! # use moongate_sdk::prelude::*;
//! # #[derive(serde::Deserialize, schemars::JsonSchema)]
//! # struct Name { name: String }
//! # fn plan(ctx: &Context) -> Result<String, ToolError> {
//! let (name, poem, folders) = ctx.ask_all((
//!     ("name", Form::<Name>::new("What is your name?")),
//!     ("poem", Sampling::new(200).user("Write two lines on the moon.")),
//!     ctx.capability("roots").then_some(("folders", Roots)),
//! ))?;
//! let folders = folders.unwrap_or_default().len();
//! # Ok(format!("{}{}{folders}", name.name, poem.text()))
//! # }
//! ```
//!
//! # What starts over
//! Everything before a question is done again in each round. So ask first and act afterwards, and where that can't be,
//! put the act into [`Context::once`], whose result later rounds get. A gateway asks up to 8 times in one call. Native
//! tests ([`testing`](crate::testing)) run each round as a gateway does, and fail a call that wrote something before it
//! asked.
//!
//! A key names a question within one call: another question needs another key. The answer of a key is the newest one.
//!
//! # Errors on their way
//! The question travels as a [`ToolError`], which isn't a [`std::error::Error`], so that no other error can swallow it:
//! with another error type in the function's `Result`, `?` on `ask` doesn't compile.
//!
//! ```compile_fail,E0277
//! # use moongate_sdk::prelude::*;
//! fn folders(ctx: &Context) -> Result<usize, Box<dyn std::error::Error>> {
//!     Ok(ctx.ask("folders", Roots)?.len())
//! }
//! ```
//!
//! Let such a function return `Result<_, ToolError>`: `?` turns every other error into that. Or let an enum of your own have
//! a case that holds a `ToolError`, and give it back unchanged:
//!
//! ```
//! # use moongate_sdk::prelude::*;
//! enum BookingError {
//!     FullyBooked,
//!     Asked(ToolError),
//! }
//!
//! impl From<ToolError> for BookingError {
//!     fn from(error: ToolError) -> Self {
//!         Self::Asked(error)
//!     }
//! }
//!
//! impl From<BookingError> for ToolError {
//!     fn from(error: BookingError) -> Self {
//!         match error {
//!             BookingError::FullyBooked => Self::failed("there is no table left; try another day"),
//!             BookingError::Asked(error) => error,
//!         }
//!     }
//! }
//!
//! fn folders(ctx: &Context, tables: u32) -> Result<usize, BookingError> {
//!     if tables == 0 {
//!         return Err(BookingError::FullyBooked);
//!     }
//!     Ok(ctx.ask("folders", Roots)?.len())
//! }
//! ```
//!
//! An `ask` whose error is thrown away (`.ok()`, `.unwrap_or_default()`) asks nobody; tests fail such a
//! call.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::host::{self, request};
use crate::{Context, InputRequest, NeedInput, ToolError};

mod content; // blocks of content as MCP writes them
mod form; // `Form`, `Url`
mod restricted; // the schema of a form
mod roots; // `Roots`
mod sampling; // `Sampling`

pub use form::{Decision, Form, MayDecline, Url};
pub use roots::{Root, Roots};
pub use sampling::{Sampled, Sampling};

/// Something that the client can be asked: [`Form`], [`Url`], [`Sampling`] or [`Roots`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be asked",
    label = "not a question",
    note = "ask a `Form`, `Url`, `Sampling` or `Roots`"
)]
pub trait Question: sealed::Sealed {
    /// What the answer is read as.
    type Answer;

    /// The method of MCP.
    #[doc(hidden)]
    fn method(&self) -> &'static str;

    /// Its parameters, or why the question can't be asked.
    #[doc(hidden)]
    fn params(&self) -> Result<Value, String>;

    /// Reads the result of the method.
    #[doc(hidden)]
    fn read(&self, answer: Value) -> Result<Self::Answer, ToolError>;
}

/// One entry of what [`Context::ask_all`] takes: a key with its question, or an `Option` of that.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be asked",
    label = "not a key with a question",
    note = "write `(\"key\", Form::new(…))`"
)]
pub trait Entry {
    /// What the answer is read as.
    type Answer;

    /// The answer, if it is there; if not, the question is put with those that are to be asked.
    #[doc(hidden)]
    fn answer(self, asking: &mut Asking) -> Result<Option<Self::Answer>, ToolError>;
}

/// What [`Context::ask_all`] takes: a tuple or a `Vec` of [`Entry`]s.
#[diagnostic::on_unimplemented(
    message = "`{Self}` isn't a list of questions",
    label = "not a list of questions",
    note = "write `((\"a\", first), (\"b\", second))`; for a single question use `Context::ask`"
)]
pub trait Questions {
    /// What the answers are read as.
    type Answers;

    /// The answers, if all are there.
    #[doc(hidden)]
    fn answers(self, asking: &mut Asking) -> Result<Option<Self::Answers>, ToolError>;
}

/// What has no answer yet.
#[derive(Debug, Default)]
#[doc(hidden)]
pub struct Asking(Vec<InputRequest>);

mod sealed {
    pub trait Sealed {}
}

// === impl Context ===

impl Context {
    /// Asks the client. Returns the answer where it is there, and otherwise ends the call through `?`, to start it over
    /// when the client has answered; see [`input`](crate::input). `key` names the question within the call.
    ///
    /// ```
    /// # use moongate_sdk::prelude::*;
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// # struct Name { name: String }
    /// # fn greet(ctx: &Context) -> Result<String, ToolError> {
    /// let Name { name } = ctx.ask("name", Form::new("What is your name?"))?;
    /// # Ok(name)
    /// # }
    /// ```
    ///
    /// # Errors
    /// There is no answer yet; the person declined or dismissed the question; the answer doesn't have the form that was
    /// asked for; or the question can't be asked, such as a form with a struct in it.
    #[cfg_attr(not(target_family = "wasm"), track_caller)] // a test fails where it asks
    pub fn ask<Q: Question>(&self, key: &str, question: Q) -> Result<Q::Answer, ToolError> {
        self.ask_all(((key, question),)).map(|(answer,)| answer)
    }

    /// Asks several questions at once; see [`input`](crate::input).
    ///
    /// # Errors
    /// As for [`ask`](Self::ask), of any of them.
    #[cfg_attr(not(target_family = "wasm"), track_caller)] // a test fails where it asks
    pub fn ask_all<Q: Questions>(&self, questions: Q) -> Result<Q::Answers, ToolError> {
        let mut asking = Asking::default();
        let answers = questions.answers(&mut asking);
        host::rounds::asked_all();
        if let Some(answers) = answers? {
            return Ok(answers);
        }
        host::rounds::left_to_ask(&asking.0);
        let input = NeedInput { requests: asking.0, state: self.state(), meta: None, extra: None };
        Err(ToolError::need_input(input))
    }
}

// === impl Asking ===

impl Asking {
    fn look<Q: Question>(&mut self, key: &str, question: &Q) -> Result<Option<Q::Answer>, ToolError> {
        let answer = request::answer(key);
        // With an answer there is no need to write the question, but in tests it is checked in each round.
        if answer.is_none() || host::rounds::CHECKED {
            let params = question.params().map_err(|reason| {
                ToolError::internal(format_args!("the question `{key}` can't be asked: {reason}"))
            })?;
            let method = question.method().to_owned();
            let request = InputRequest { key: key.to_owned(), method, params: Some(params.to_string()) };
            host::rounds::asked(&request);
            if answer.is_none() {
                self.0.push(request);
            }
        }
        answer.map(|json| question.read(parse(key, &json)?)).transpose()
    }
}

fn parse(key: &str, json: &str) -> Result<Value, ToolError> {
    serde_json::from_str(json)
        .map_err(|error| ToolError::internal(format_args!("the answer to `{key}` isn't JSON: {error}")))
}

/// Reads an answer as a `T`; `what` was asked for.
fn read<T: DeserializeOwned>(what: &str, answer: Value) -> Result<T, ToolError> {
    T::deserialize(answer)
        .map_err(|error| ToolError::failed(format_args!("the client's answer isn't {what}: {error}")))
}

// === impl Entry, Questions ===

impl<K: AsRef<str>, Q: Question> Entry for (K, Q) {
    type Answer = Q::Answer;

    fn answer(self, asking: &mut Asking) -> Result<Option<Q::Answer>, ToolError> {
        asking.look(self.0.as_ref(), &self.1)
    }
}

impl<E: Entry> Entry for Option<E> {
    type Answer = Option<E::Answer>;

    fn answer(self, asking: &mut Asking) -> Result<Option<Self::Answer>, ToolError> {
        match self {
            None => Ok(Some(None)),
            Some(entry) => Ok(entry.answer(asking)?.map(Some)),
        }
    }
}

impl<E: Entry> Questions for Vec<E> {
    type Answers = Vec<E::Answer>;

    fn answers(self, asking: &mut Asking) -> Result<Option<Self::Answers>, ToolError> {
        // All are looked at before one that is missing ends it, so that all of these are asked at once.
        let answers = self.into_iter().map(|entry| entry.answer(asking)).collect::<Result<Vec<_>, _>>()?;
        Ok(answers.into_iter().collect())
    }
}

macro_rules! tuples {
    ($(($($E:ident $e:ident),+))*) => {$(
        impl<$($E: Entry),+> Questions for ($($E,)+) {
            type Answers = ($($E::Answer,)+);

            fn answers(self, asking: &mut Asking) -> Result<Option<Self::Answers>, ToolError> {
                let ($($e,)+) = self;
                $(let $e = $e.answer(asking)?;)+
                Ok((|| Some(($($e?,)+)))())
            }
        }
    )*};
}
tuples! {
    (A a)
    (A a, B b)
    (A a, B b, C c)
    (A a, B b, C c, D d)
    (A a, B b, C c, D d, E e)
    (A a, B b, C c, D d, E e, F f)
    (A a, B b, C c, D d, E e, F f, G g)
    (A a, B b, C c, D d, E e, F f, G g, H h)
}
