//! Questions to the client: to its user, its model, or the program itself.
//!
//! [`guide::questions`](crate::guide::questions) explains how a call asks, with examples.
//!
//! | question | answered by | answer |
//! |---|---|---|
//! | [`Form`] | the user | a struct of your own |
//! | [`Url`] | the user, in a browser | `()`: they agreed to open it |
//! | [`Sampling`] | the client's model | [`Sampled`] |
//! | [`Roots`] | the client program | its workspace directories, [`Root`] |
//!
//! With [`Form::may_decline`] and [`Url::may_decline`], the answer is a [`Decision`].
//!
//! # Errors and questions
//! The question travels as a [`ToolError`], which isn't a [`std::error::Error`], so that no other error can swallow
//! it: with another error type in the function's `Result`, `?` on `ask` doesn't compile.
//!
//! ```compile_fail,E0277
//! # use moongate_sdk::prelude::*;
//! fn directories(ctx: &Context) -> Result<usize, Box<dyn std::error::Error>> {
//!     Ok(ctx.ask("directories", Roots)?.len())
//! }
//! ```
//!
//! Let such a function return `Result<_, ToolError>`, into which `?` converts every other error. Or add a variant
//! with a `ToolError` to your error enum, and return it unchanged:
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
//! fn directories(ctx: &Context, tables: u32) -> Result<usize, BookingError> {
//!     if tables == 0 {
//!         return Err(BookingError::FullyBooked);
//!     }
//!     Ok(ctx.ask("directories", Roots)?.len())
//! }
//! ```
//!
//! If an `ask` error is discarded (`.ok()`, `.unwrap_or_default()`), the question is never sent. Tests fail such a
//! call.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::host::{self, request};
use crate::{Context, InputRequest, NeedInput, ToolError};

mod content; // content blocks as MCP's JSON
mod form; // `Form`, `Url`
mod restricted; // the schema of a form
mod roots; // `Roots`
mod sampling; // `Sampling`

pub use form::{Decision, Form, MayDecline, Url};
pub use roots::{Root, Roots};
pub use sampling::{Sampled, Sampling};

/// A question to the client: [`Form`], [`Url`], [`Sampling`] or [`Roots`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be asked",
    label = "not a question",
    note = "ask a `Form`, `Url`, `Sampling` or `Roots`"
)]
pub trait Question: sealed::Sealed {
    /// The type of the answer.
    type Answer;

    /// The MCP method.
    #[doc(hidden)]
    fn method(&self) -> &'static str;

    /// The method's parameters, or the reason why the question can't be sent.
    #[doc(hidden)]
    fn params(&self) -> Result<Value, String>;

    /// Reads the result of the method.
    #[doc(hidden)]
    fn read(&self, answer: Value) -> Result<Self::Answer, ToolError>;
}

/// An entry for [`Context::ask_all`]: a key with its question, or an `Option` of that.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be asked",
    label = "not a key with a question",
    note = "write `(\"key\", Form::new(…))`"
)]
pub trait Entry {
    /// The type of the answer.
    type Answer;

    /// Returns the answer if it is available. Otherwise adds the question to `asking`.
    #[doc(hidden)]
    fn answer(self, asking: &mut Asking) -> Result<Option<Self::Answer>, ToolError>;
}

/// A tuple or a `Vec` of [`Entry`]s for [`Context::ask_all`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` isn't a list of questions",
    label = "not a list of questions",
    note = "write `((\"a\", first), (\"b\", second))`; for a single question use `Context::ask`"
)]
pub trait Questions {
    /// The type of the answers.
    type Answers;

    /// Returns the answers if all are available.
    #[doc(hidden)]
    fn answers(self, asking: &mut Asking) -> Result<Option<Self::Answers>, ToolError>;
}

/// The questions without an answer.
#[derive(Debug, Default)]
#[doc(hidden)]
pub struct Asking(Vec<InputRequest>);

mod sealed {
    pub trait Sealed {}
}

// === impl Context ===

impl Context {
    /// Asks the client. Returns the answer if it is available. Otherwise ends the call through `?`; the call restarts
    /// when the client has answered. See [`input`](crate::input). `key` identifies the question within the call.
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
    /// There is no answer yet; the user declined or dismissed the question; the answer has the wrong type; or the
    /// question can't be asked, for example a form with a nested struct.
    #[cfg_attr(not(target_family = "wasm"), track_caller)] // a test fails at the caller's line
    pub fn ask<Q: Question>(&self, key: &str, question: Q) -> Result<Q::Answer, ToolError> {
        self.ask_all(((key, question),)).map(|(answer,)| answer)
    }

    /// Asks several questions together. See [`input`](crate::input).
    ///
    /// # Errors
    /// As for [`ask`](Self::ask), for any of the questions.
    #[cfg_attr(not(target_family = "wasm"), track_caller)] // a test fails at the caller's line
    pub fn ask_all<Q: Questions>(&self, questions: Q) -> Result<Q::Answers, ToolError> {
        let mut asking = Asking::default();
        let answers = questions.answers(&mut asking);
        host::rounds::fail_on_problem();
        if let Some(answers) = answers? {
            return Ok(answers);
        }
        host::rounds::record_open_questions(&asking.0);
        let input = NeedInput { requests: asking.0, state: self.state(), meta: None, extra: None };
        Err(ToolError::need_input(input))
    }
}

// === impl Asking ===

impl Asking {
    fn look<Q: Question>(&mut self, key: &str, question: &Q) -> Result<Option<Q::Answer>, ToolError> {
        let answer = request::answer(key);
        // With an answer, there is no need to serialize the question, but tests check it in each round.
        if answer.is_none() || host::rounds::CHECKS_ANSWERED_QUESTIONS {
            let params = question.params().map_err(|reason| {
                ToolError::internal(format_args!("the question `{key}` can't be asked: {reason}"))
            })?;
            let method = question.method().to_owned();
            let request = InputRequest { key: key.to_owned(), method, params: Some(params.to_string()) };
            host::rounds::record_question(&request);
            if answer.is_none() {
                self.0.push(request);
            }
        }
        answer.map(|json| question.read(parse(key, &json)?)).transpose()
    }
}

fn parse(key: &str, json: &str) -> Result<Value, ToolError> {
    serde_json::from_str(json)
        .map_err(|error| ToolError::internal(format_args!("invalid JSON in the answer to `{key}`: {error}")))
}

/// Deserializes an answer as a `T`. `what` describes the expected answer.
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
        // Look at all entries before returning, so that all missing answers are requested together.
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
