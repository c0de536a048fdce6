//! Validation of input: arguments as exact text, which is never turned into a tree of values.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use crate::call::{BusyReason, CallContext, CallError};
use crate::catalog::{Schema, SchemaMismatchError};
use crate::json::{check_strict, pointer_step, without_members};
use crate::manifest::{Prompt, PromptArgument};
use crate::text::{nearest_name, quotable};
use crate::unread_responses::UnreadResponses;

use super::DispatchError;
use super::check_pool::{CheckError, CheckLimits, CheckPool};

/// The largest value, in bytes, that is checked on the thread that handles the request: a few hundred microseconds'
/// work to read. Larger ones are checked on another thread, so that no other request waits.
const MAX_INLINE_CHECK_BYTES: usize = 128 * 1024;

/// A tool's arguments: the text of an object without duplicate keys.
#[derive(Debug, Clone)]
pub struct Arguments<'a> {
    text: Cow<'a, str>,
}

impl Arguments<'static> {
    /// No arguments: an empty object.
    #[must_use]
    pub fn empty() -> Self {
        Self { text: Cow::Borrowed("{}") }
    }
}

impl<'a> Arguments<'a> {
    /// The arguments with this text, which has passed [`check_strict`]. `null` means no arguments.
    ///
    /// # Errors
    /// The value isn't an object.
    pub fn new(text: &'a str) -> Result<Self, DispatchError> {
        match text.trim_ascii_start() {
            text if text.starts_with('{') => Ok(Self { text: Cow::Borrowed(text) }),
            text if text.starts_with('n') => Ok(Arguments::empty()),
            _ => {
                let message = "`arguments` must be an object".to_owned();
                Err(DispatchError::InvalidArguments { message, pointer: Some(String::new()) })
            }
        }
    }

    /// The text.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Reads `text`. `null` means no arguments.
    ///
    /// # Errors
    /// The text isn't JSON, has a duplicate key, or isn't an object.
    pub fn parse(text: &'a str) -> Result<Self, DispatchError> {
        check_strict(text)
            .map_err(|error| DispatchError::InvalidArguments { message: error.to_string(), pointer: None })?;
        Self::new(text)
    }

    /// Checks the value against a tool's schema. Returns the text for the plugin: the exact text, but without members
    /// that are `null` although the schema doesn't allow it.
    pub(super) async fn check(
        &self,
        schema: &Schema,
        checks: &CallChecks<'_>,
    ) -> Result<Cow<'_, str>, CheckError> {
        let text = &*self.text;
        let is_quick = text.len() <= MAX_INLINE_CHECK_BYTES && schema.is_quick_for_arguments(text);
        let changed = if is_quick {
            check_arguments(schema, text).map_err(CheckError::Mismatch)?
        } else {
            checks.run(schema, text, check_arguments).await?
        };
        Ok(changed.map_or(Cow::Borrowed(text), Cow::Owned))
    }
}

/// The checks of one call.
pub(super) struct CallChecks<'a> {
    pub(super) pool: &'a CheckPool,
    pub(super) unread_responses: &'a Arc<UnreadResponses>,
    pub(super) context: &'a CallContext,
    pub(super) limits: CheckLimits,
}

impl CallChecks<'_> {
    async fn run<T: Send + 'static>(
        &self,
        schema: &Schema,
        text: &str,
        check: fn(&Schema, &str) -> Result<T, SchemaMismatchError>,
    ) -> Result<T, CheckError> {
        self.pool.run(schema, self.context, self.limits, text, check).await
    }

    /// Checks a result with this text, which can have duplicate keys. It counts as unread while its check waits, and so do
    /// `others`, the bytes of its other parts.
    pub(super) async fn check_result(
        &self,
        schema: &Schema,
        text: &str,
        others: usize,
    ) -> Result<(), CheckError> {
        if text.len() <= MAX_INLINE_CHECK_BYTES && schema.is_quick(text) {
            return check_strictly(schema, text).map_err(CheckError::Mismatch);
        }
        let busy = |_| CheckError::Call(CallError::Busy(BusyReason::UnreadResponses));
        let _waiting =
            self.unread_responses.reserve(&self.context.caller, text.len() + others).map_err(busy)?;
        self.run(schema, text, check_strictly).await
    }
}

/// Checks arguments. Returns the text without the members that count as absent, if there are any.
fn check_arguments(schema: &Schema, text: &str) -> Result<Option<String>, SchemaMismatchError> {
    let absent = schema.check_arguments(text)?;
    if absent.is_empty() {
        return Ok(None);
    }
    without_members(text, &absent).map(Some).map_err(|error| unreadable(&error))
}

fn check_strictly(schema: &Schema, text: &str) -> Result<(), SchemaMismatchError> {
    check_strict(text).map_err(|error| unreadable(&error))?;
    schema.check_text(text)
}

fn unreadable(error: &impl ToString) -> SchemaMismatchError {
    SchemaMismatchError { message: error.to_string(), pointer: None }
}

/// Checks that a prompt's required arguments are present and that there are no duplicates. Undeclared ones are passed
/// on, because the plugin could know them.
pub(super) fn check_prompt_arguments(
    prompt: &Prompt,
    public: &str,
    arguments: &[(String, String)],
) -> Result<(), DispatchError> {
    let mut given = HashSet::new();
    let wrong = |message: String, name: &str| {
        let message = format!("prompt `{}` {message}", quotable(public));
        DispatchError::InvalidArguments { message, pointer: Some(format!("/{}", pointer_step(name))) }
    };
    for (name, _) in arguments {
        if !given.insert(name.as_str()) {
            return Err(wrong(format!("got a duplicate argument `{}`", quotable(name)), name));
        }
    }
    let is_missing = |it: &&PromptArgument| it.required && !given.contains(it.name.as_str());
    let Some(missing) = prompt.arguments.iter().find(is_missing) else { return Ok(()) };
    let declared: HashSet<_> = prompt.arguments.iter().map(|it| it.name.as_str()).collect();
    let strays = arguments.iter().map(|(name, _)| name.as_str()).filter(|name| !declared.contains(name));
    let mut message = format!("requires the argument `{}`", quotable(&missing.name));
    if let Some(stray) = nearest_name(&missing.name, strays) {
        message.push_str(&format!(" (did you mean `{}`?)", quotable(stray)));
    }
    Err(wrong(message, &missing.name))
}
