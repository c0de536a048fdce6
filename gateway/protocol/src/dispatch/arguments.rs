//! Validation of input: arguments as exact text, which is never turned into a tree of values.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::call::CallContext;
use crate::catalog::{Schema, SchemaMismatchError};
use crate::json::{check_strict, pointer_step, without_members};
use crate::manifest::{Prompt, PromptArgument};
use crate::text::{nearest_name, quotable};

use super::DispatchError;
use super::check_pool::{CheckError, CheckLimits, CheckPool};

/// The largest value, in bytes, that is checked on the thread that handles the request: a few hundred microseconds'
/// work. Larger ones are checked on another thread, so that no other request waits.
const MAX_INLINE_CHECK_BYTES: usize = 64 * 1024;

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
        let absent = if is_quick(schema, &self.text) {
            schema.check_arguments(&self.text).map_err(CheckError::Mismatch)?
        } else {
            let text = self.text.clone().into_owned();
            checks.run(schema, move |schema| schema.check_arguments(&text)).await?
        };
        if absent.is_empty() {
            return Ok(Cow::Borrowed(&self.text));
        }
        let text = without_members(&self.text, &absent);
        text.map(Cow::Owned).map_err(|error| CheckError::Mismatch(unreadable(&error)))
    }
}

/// The checks of one call.
pub(super) struct CallChecks<'a> {
    pub(super) pool: &'a CheckPool,
    pub(super) context: &'a CallContext,
    pub(super) limits: CheckLimits,
}

impl CallChecks<'_> {
    async fn run<T: Send + 'static>(
        &self,
        schema: &Schema,
        check: impl FnOnce(&Schema) -> Result<T, SchemaMismatchError> + Send + 'static,
    ) -> Result<T, CheckError> {
        self.pool.run(schema, self.context, self.limits, check).await
    }

    /// Checks the value of a text that can have duplicate keys.
    pub(super) async fn check_text(&self, schema: &Schema, text: &str) -> Result<(), CheckError> {
        if is_quick(schema, text) {
            return check_strictly(schema, text).map_err(CheckError::Mismatch);
        }
        let text = text.to_owned();
        self.run(schema, move |schema| check_strictly(schema, &text)).await
    }
}

fn is_quick(schema: &Schema, text: &str) -> bool {
    text.len() <= MAX_INLINE_CHECK_BYTES && schema.is_quick(text.len())
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
