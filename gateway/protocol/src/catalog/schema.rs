//! JSON Schemas that plugins write and the gateway runs: compiled once, checked in bounded time.
//!
//! A schema that compiled before, when its plugin was cached, is compiled again at its first check.
//!
//! A schema is untrusted code. It gets regular expressions that run in linear time, no references to other documents,
//! and a bounded number of branches: references multiply, and thirty lines of them can require a billion comparisons.

use std::sync::{Arc, OnceLock};

use bytesize::ByteSize;
use jsonschema::{Draft, Keyword, Validator};
use serde_json::Value;

use crate::check_meter;
use crate::json::{Json, parse_strict};
use crate::policy::SchemaBounds;
use crate::tape::{JsonTape, TapeJson, TextTooLongError, ValueSize, count_entries};

mod budget;
mod cost;
mod describe;
mod ecma;
mod nulls;
mod pattern;
mod references;

pub(super) use budget::SchemaBudget;
use cost::SchemaCost;
use describe::ErrorDescriber;
pub(super) use describe::{ValueError, ValueErrorKind};
use ecma::PatternKeyword;
pub(super) use references::{ReferenceTarget, References};

/// The maximum number of comparisons of one check: a second's work.
const MAX_STEPS: u64 = 50_000_000;

/// The maximum number of comparisons of a check that delays other requests: a millisecond's work.
const MAX_QUICK_STEPS: u64 = 20_000;

/// The maximum number of steps of regular expressions in such a check: another millisecond's work.
const MAX_QUICK_PATTERN_STEPS: u64 = 100_000;

/// The maximum nesting depth of comparisons. Each uses stack, and in a debug build the 2 MiB of a worker thread are
/// enough for more than twice as many.
const MAX_NESTING: u64 = 600;

/// The error for a value that needs too many steps.
const TOO_LARGE: &str = "the value is too large for this schema";

/// The error of a check that ended early. Its caller replaces it by the reason.
const ENDED: &str = "the check ended early";

/// The maximum number of invalid members in one message.
const MAX_LISTED_ERRORS: usize = 5;

/// The most possible errors of a value for which every error is collected. The validator keeps all errors in memory, at
/// some 440 bytes each, so this bounds the list at about a megabyte, and a millisecond's work.
const MAX_FOUND_ERRORS: u64 = 2_500;

/// A compiled JSON Schema, or one that is compiled at its first check.
#[derive(Debug, Clone)]
pub struct Schema(Arc<SchemaState>);

#[derive(Debug)]
enum SchemaState {
    Compiled(CompiledSchema),
    /// The text is known to be a valid schema.
    Deferred {
        text: Json,
        bounds: SchemaBounds,
        compiled: OnceLock<Result<CompiledSchema, SchemaError>>,
    },
}

#[derive(Debug)]
struct CompiledSchema {
    validator: Validator<TapeJson>,
    /// The schema, for error messages.
    schema: Value,
    cost: SchemaCost,
}

/// A schema that the gateway can't run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (at `{pointer}`)")]
pub struct SchemaError {
    /// The location in the schema, as a JSON pointer. Empty means the schema itself.
    pub pointer: String,
    /// The reason.
    pub message: String,
}

/// A value that doesn't match a schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SchemaMismatchError {
    /// One sentence for each of the first invalid members.
    pub message: String,
    /// The location of the first of them, as a JSON pointer.
    pub pointer: Option<String>,
}

impl Schema {
    /// Compiles `text`. Without `$schema` it is draft 2020-12, as MCP specifies; 2019-09, 07 and 06 are supported too.
    ///
    /// # Errors
    /// The text is longer or nests deeper than `bounds` allow, isn't a schema, refers to other documents, or needs more
    /// work than can be bounded.
    pub fn compile(text: &Json, bounds: SchemaBounds) -> Result<Self, SchemaError> {
        Ok(Self(Arc::new(SchemaState::Compiled(CompiledSchema::new(text, bounds)?))))
    }

    /// The schema with this text, which was compiled before, so that its errors are known. It is compiled at its first
    /// check.
    pub(super) fn deferred(text: &Json, bounds: SchemaBounds) -> Self {
        let compiled = OnceLock::new();
        Self(Arc::new(SchemaState::Deferred { text: text.clone(), bounds, compiled }))
    }

    /// The estimated size of all compiled regular expressions, in bytes. It is 0 if the schema isn't compiled yet.
    fn pattern_bytes(&self) -> u64 {
        self.if_compiled().map_or(0, |compiled| compiled.cost.pattern_bytes())
    }

    /// The compiled schema, which is compiled now if necessary.
    fn compiled(&self) -> Result<&CompiledSchema, SchemaMismatchError> {
        match &*self.0 {
            SchemaState::Compiled(compiled) => Ok(compiled),
            SchemaState::Deferred { text, bounds, compiled } => {
                let compiled = compiled.get_or_init(|| CompiledSchema::new(text, *bounds));
                compiled.as_ref().map_err(|error| SchemaMismatchError {
                    message: format!("the schema is invalid: {error}"),
                    pointer: None,
                })
            }
        }
    }

    /// The compiled schema. `None` if it isn't compiled yet.
    fn if_compiled(&self) -> Option<&CompiledSchema> {
        match &*self.0 {
            SchemaState::Compiled(compiled) => Some(compiled),
            SchemaState::Deferred { compiled, .. } => compiled.get()?.as_ref().ok(),
        }
    }
}

impl CompiledSchema {
    fn new(text: &Json, bounds: SchemaBounds) -> Result<Self, SchemaError> {
        Self::new_unsanitised(text, bounds).map_err(|SchemaError { pointer: at, message }| SchemaError {
            pointer: describe::quote(&at),
            message: describe::quote_long(&message),
        })
    }

    fn new_unsanitised(
        text: &Json,
        SchemaBounds { max_size, max_depth }: SchemaBounds,
    ) -> Result<Self, SchemaError> {
        let root = |message: String| SchemaError { pointer: String::new(), message };
        let length = text.get().len() as u64;
        if length > max_size.as_u64() {
            let length = ByteSize(length).display().iec();
            let max_size = max_size.display().iec();
            return Err(root(format!("it is {length} long; at most {max_size} are allowed")));
        }
        let mut schema = parse_strict(text.get()).map_err(|error| root(error.to_string()))?;
        if depth(&schema) > max_depth as usize {
            return Err(root(format!("it is nested deeper than {max_depth} levels")));
        }
        if Draft::default().detect(&schema) == Draft::Draft4 {
            return Err(root(
                "its `$schema` is draft 4; use 2020-12, 2019-09, draft 7 or draft 6".to_owned(),
            ));
        }
        let (cost, matchers) = SchemaCost::of(&schema)?;
        ecma::translate_names(&mut schema);
        references::replace_empty_references(&mut schema);
        let validator = jsonschema::options_for::<TapeJson>()
            .with_pattern_options(ecma::pattern_options())
            .with_keyword("pattern", move |_, value, _| {
                PatternKeyword::of(value, &matchers)
                    .map(|keyword| Box::new(keyword) as Box<dyn for<'i> Keyword<'i, TapeJson>>)
            })
            .offline()
            .build(&schema)
            .map_err(|error| SchemaError {
                pointer: error.instance_path().to_string(),
                message: describe::describe_schema_error(&error),
            })?;
        Ok(Self { validator, schema, cost })
    }

    /// Reports whether a value of this size can have only so many errors that all of them are collected.
    fn has_few_errors(&self, size: ValueSize) -> bool {
        self.cost.errors(size.depth, size.nodes) <= MAX_FOUND_ERRORS
    }
}

impl Schema {
    /// Reports whether a value with this text is checked without a noticeable delay. The cost is that of reading the text.
    #[must_use]
    pub fn is_quick(&self, text: &str) -> bool {
        self.is_quick_for(text, 1)
    }

    /// Reports whether so many checks of a value with this text cause no noticeable delay.
    fn is_quick_for(&self, text: &str, checks: u64) -> bool {
        // Compiling takes longer than most checks.
        let Some(CompiledSchema { cost, .. }) = self.if_compiled() else { return false };
        let is_within = |nodes: usize| cost.steps(nodes as u64) <= MAX_QUICK_STEPS / checks;
        // The shortest member of a value is a digit and a comma.
        cost.pattern_steps(text.len() as u64) <= MAX_QUICK_PATTERN_STEPS / checks
            && (is_within(text.len() / 2 + 1) || is_within(count_entries(text)))
    }

    /// Checks the value with this text, which is JSON without duplicate keys.
    ///
    /// # Errors
    /// The value doesn't match, or checking it would take too long.
    pub fn check_text(&self, text: &str) -> Result<(), SchemaMismatchError> {
        self.check_tape(&read_tape(text)?)
    }

    /// Checks a small value.
    ///
    /// # Errors
    /// As [`Schema::check_text`].
    pub fn check(&self, value: &Value) -> Result<(), SchemaMismatchError> {
        self.check_text(&value.to_string())
    }

    fn check_tape(&self, tape: &JsonTape<'_>) -> Result<(), SchemaMismatchError> {
        let ValueErrors { errors: flaws, further_errors: more } =
            self.tape_errors(tape, MAX_LISTED_ERRORS)?;
        let Some(first) = flaws.first() else { return Ok(()) };
        let at = Some(first.pointer.clone());
        let mut message = flaws.into_iter().map(|flaw| flaw.message).collect::<Vec<_>>().join("; ");
        if more > 0 {
            message.push_str(&format!("; and {more} more"));
        }
        Err(SchemaMismatchError { message, pointer: at })
    }

    /// The errors of a small value, `most` of them in detail.
    ///
    /// # Errors
    /// Checking the value, or finding its errors, would take too long.
    pub(super) fn value_errors(
        &self,
        value: &Value,
        most: usize,
    ) -> Result<ValueErrors, SchemaMismatchError> {
        self.tape_errors(&read_tape(&value.to_string())?, most)
    }

    fn tape_errors(&self, tape: &JsonTape<'_>, most: usize) -> Result<ValueErrors, SchemaMismatchError> {
        let compiled = self.compiled()?;
        let CompiledSchema { validator, schema, cost } = compiled;
        let misfit = |message: &str| Err(SchemaMismatchError { message: message.to_owned(), pointer: None });
        let size = tape.size();
        if cost.steps(size.nodes) > MAX_STEPS
            || cost.name_steps(size.key_bytes) > check_meter::MAX_MATCH_STEPS
        {
            return misfit(TOO_LARGE);
        }
        if cost.nesting_depth(size.depth) > MAX_NESTING {
            return misfit("the value is nested too deeply for this schema");
        }
        let mut found = ValueErrors::default();
        check_meter::start_counting();
        if !check_meter::may_continue() {
            return misfit(ENDED);
        }
        let is_valid = validator.is_valid(tape.root());
        if check_meter::is_too_long() {
            return misfit(TOO_LARGE);
        }
        if is_valid {
            return Ok(found);
        }
        if !check_meter::may_continue() {
            return misfit(ENDED);
        }
        // Finding the errors follows every branch, while `is_valid` above takes the shortest path. The error of a
        // choice contains those of all its forms, so even the first error of a large value has no size limit.
        let is_small = compiled.has_few_errors(size);
        if cost.branches(size.depth) > MAX_STEPS || (cost.has_choices() && !is_small) {
            return misfit("the value doesn't match the schema");
        }
        let mut words = ErrorDescriber::new(schema);
        if !is_small {
            found.errors.extend(validator.validate(tape.root()).err().map(|error| words.describe(&error)));
            return Ok(found);
        }
        for error in validator.iter_errors(tape.root()) {
            if found.errors.len() < most {
                found.errors.push(words.describe(&error))
            } else {
                found.further_errors += 1
            }
        }
        Ok(found)
    }
}

fn read_tape(text: &str) -> Result<JsonTape<'_>, SchemaMismatchError> {
    JsonTape::read(text)
        .map_err(|TextTooLongError| SchemaMismatchError { message: TOO_LARGE.to_owned(), pointer: None })
}

/// The errors of a value.
#[derive(Default)]
pub(super) struct ValueErrors {
    /// The first errors. Empty means that the value matches.
    pub(super) errors: Vec<ValueError>,
    /// The number of further errors.
    further_errors: usize,
}

/// The nesting depth of a value.
fn depth(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(members) => members.values().map(depth).max().unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

#[cfg(test)]
mod tests;
