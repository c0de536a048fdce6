//! [`ToolError`]: the error of a tool, resource or prompt.

use std::error::Error;
use std::fmt::{self, Display, Write as _};

use serde::Serialize;

use crate::{CallOutcome, CustomFault, Failure, Fault, NeedInput, ToolResult};

/// An error that ends a call.
///
/// | constructor | result for a tool's caller |
/// |---|---|
/// | [`failed`](Self::failed), or `?` on any error | a result with `isError`, which the model reads and can react to |
/// | [`invalid_params`](Self::invalid_params), [`not_found`](Self::not_found), [`internal`](Self::internal), [`missing_capability`](Self::missing_capability), [`custom`](Self::custom) | a JSON-RPC error, which the client program handles; the model may never see it |
/// | [`need_input`](Self::need_input) | a question; the call restarts when it is answered |
///
/// Resources and prompts have no `isError`. For them, `failed` is a JSON-RPC error too.
///
/// `?` converts every type that can become a `Box<dyn Error>`: each [`std::error::Error`] that borrows nothing,
/// `Box<dyn Error>` itself, `anyhow::Error`, and strings, as in `Err("there is no such city")?`. A function can also
/// use these types as the error of its `Result`.
///
/// `ToolError` doesn't implement [`std::error::Error`] itself, so that `?` can convert all of those.
pub struct ToolError(Box<ErrorKind>);

#[derive(Debug, Clone, PartialEq)]
enum ErrorKind {
    Failed(String),
    Failure(Failure),
    NeedInput(NeedInput),
}

impl ToolError {
    /// The tool failed. `message` is for the model: explain what went wrong and what to do instead.
    pub fn failed(message: impl Display) -> Self {
        Self::new(ErrorKind::Failed(message.to_string()))
    }

    /// The arguments are invalid in a way that only the client program can fix. For arguments that a model chose, such as
    /// those of most tools, use [`failed`](Self::failed).
    pub fn invalid_params(message: impl Display) -> Self {
        Self::new(ErrorKind::Failure(Failure::InvalidParams(fault(message))))
    }

    /// The requested item doesn't exist.
    pub fn not_found(message: impl Display) -> Self {
        Self::new(ErrorKind::Failure(Failure::NotFound(fault(message))))
    }

    /// An internal error that isn't the caller's fault.
    pub fn internal(message: impl Display) -> Self {
        Self::new(ErrorKind::Failure(Failure::Internal(fault(message))))
    }

    /// The client doesn't support these capabilities, named as for
    /// [`Context::capability`](crate::Context::capability).
    pub fn missing_capability<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self::new(ErrorKind::Failure(Failure::MissingCapability(names.into_iter().map(Into::into).collect())))
    }

    /// A JSON-RPC error with a code outside the ranges that JSON-RPC and MCP reserve.
    pub fn custom(code: i32, message: impl Display) -> Self {
        Self::new(ErrorKind::Failure(Failure::Custom(CustomFault {
            code,
            message: message.to_string(),
            data: None,
        })))
    }

    /// Any other JSON-RPC error of the contract.
    #[must_use]
    pub fn failure(failure: Failure) -> Self {
        Self::new(ErrorKind::Failure(failure))
    }

    /// The call needs input from the client. It restarts when the input is there.
    #[must_use]
    pub fn need_input(input: NeedInput) -> Self {
        Self::new(ErrorKind::NeedInput(input))
    }

    /// Sets the location of the error in the arguments, as a JSON pointer such as `/city`. Only used by
    /// [`invalid_params`](Self::invalid_params), [`not_found`](Self::not_found) and [`internal`](Self::internal).
    #[must_use]
    pub fn at(mut self, pointer: impl Into<String>) -> Self {
        if let Some(fault) = self.fault_mut() {
            fault.at = Some(pointer.into());
        }
        self
    }

    /// Adds details for programs, as `data` of the JSON-RPC error. A value that can't be serialized as JSON is left
    /// out.
    #[must_use]
    pub fn data(mut self, data: &impl Serialize) -> Self {
        let json = serde_json::to_string(data).ok();
        if let Some(fault) = self.fault_mut() {
            fault.data = json;
        } else if let ErrorKind::Failure(Failure::Custom(fault)) = &mut *self.0 {
            fault.data = json;
        }
        self
    }

    /// Converts the error to the outcome of a tool's call.
    ///
    /// # Errors
    /// The error is a JSON-RPC error.
    pub fn into_outcome(self) -> Result<CallOutcome, Failure> {
        match *self.0 {
            ErrorKind::Failed(message) => Ok(CallOutcome::Done(ToolResult::error(message))),
            ErrorKind::NeedInput(input) => Ok(CallOutcome::NeedInput(input)),
            ErrorKind::Failure(failure) => Err(failure),
        }
    }

    /// Converts the error to a question or a failure, for calls that have no `isError`.
    pub(crate) fn into_need_input(self) -> Result<NeedInput, Failure> {
        match *self.0 {
            ErrorKind::Failed(message) => Err(Failure::Internal(fault(message))),
            ErrorKind::NeedInput(input) => Ok(input),
            ErrorKind::Failure(failure) => Err(failure),
        }
    }

    fn new(kind: ErrorKind) -> Self {
        Self(Box::new(kind))
    }

    fn fault_mut(&mut self) -> Option<&mut Fault> {
        match &mut *self.0 {
            ErrorKind::Failure(
                Failure::InvalidParams(fault) | Failure::NotFound(fault) | Failure::Internal(fault),
            ) => Some(fault),
            ErrorKind::Failure(Failure::MissingCapability(_) | Failure::Custom(_))
            | ErrorKind::Failed(_)
            | ErrorKind::NeedInput(_) => None,
        }
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<E: Into<Box<dyn Error>>> From<E> for ToolError {
    /// A tool failure with the message of the error and its sources. A [`Failure`] is passed through unchanged.
    fn from(error: E) -> Self {
        let error: Box<dyn Error> = error.into();
        let error = match error.downcast::<Failure>() {
            Ok(failure) => return Self::failure(*failure),
            Err(error) => error,
        };
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            // Some errors repeat their source in their own message.
            let text = cause.to_string();
            if !message.ends_with(&text) {
                let _infallible = write!(message, ": {text}");
            }
            source = cause.source();
        }
        Self::failed(message)
    }
}

impl From<NeedInput> for ToolError {
    fn from(input: NeedInput) -> Self {
        Self::need_input(input)
    }
}

/// A fault without location or details.
pub(crate) fn fault(message: impl Display) -> Fault {
    Fault { message: message.to_string(), at: None, data: None }
}
