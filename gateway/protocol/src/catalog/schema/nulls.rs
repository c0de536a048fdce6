//! Members that are `null` although the schema doesn't allow it. Models often send them for arguments that they leave
//! out, so they count as absent.

use crate::check_meter;
use crate::json::without_members;
use crate::tape::{JsonTape, TapeNode};
use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;

use super::{CompiledSchema, MAX_STEPS, Schema, SchemaMismatchError, read_tape};

/// The maximum number of checks of one value. A large value needs one for each member, because only its first error is
/// known.
const MAX_CHECKS: u64 = 8;

impl Schema {
    /// Reports whether arguments with this text are checked without a noticeable delay. Those with `null` can need
    /// several checks, and as many searches for errors.
    #[must_use]
    pub fn is_quick_for_arguments(&self, text: &str) -> bool {
        let has_null = memchr::memmem::find(text.as_bytes(), b"null").is_some();
        let passes = if has_null { 2 * MAX_CHECKS } else { 1 };
        self.is_quick_for(text, passes)
    }

    /// Checks arguments with this text, which is JSON without duplicate keys. Members that are `null` and not allowed to
    /// be count as absent; the result is their locations, as JSON pointers.
    ///
    /// # Errors
    /// As [`Schema::check_text`]. The error doesn't mention members that count as absent, unless they are required.
    pub fn check_arguments(&self, text: &str) -> Result<Vec<String>, SchemaMismatchError> {
        let tape = read_tape(text)?;
        let Err(mismatch) = self.check_tape(&tape) else { return Ok(Vec::new()) };
        self.forbidden_nulls(text, tape).map_err(|rest| rest.unwrap_or(mismatch))
    }

    /// The members that are `null` and not allowed to be.
    ///
    /// # Errors
    /// The value doesn't match without them either. The error is that of the rest of the value, if it is known.
    fn forbidden_nulls(
        &self,
        text: &str,
        tape: JsonTape<'_>,
    ) -> Result<Vec<String>, Option<SchemaMismatchError>> {
        if !has_null_member(tape.root()) {
            return Err(None);
        }
        let compiled = self.compiled().map_err(Some)?;
        let cost = &compiled.cost;
        let size = tape.size();
        if cost.steps(size.nodes) > MAX_STEPS / MAX_CHECKS
            || cost.name_steps(size.key_bytes) > check_meter::MAX_MATCH_STEPS / MAX_CHECKS
        {
            return Err(None);
        }
        let is_small = compiled.has_few_errors(size);
        if !is_small && (cost.has_choices() || cost.branches(size.depth) > MAX_STEPS) {
            return Err(None);
        }
        let mut removed = compiled.nulls_in_errors(&tape, is_small);
        drop(tape);
        if removed.is_empty() {
            return Err(None);
        }
        for _ in 0..MAX_CHECKS {
            if check_meter::is_too_long() || !check_meter::may_continue() {
                return Err(None);
            }
            let rest = without_members(text, &removed).map_err(|_| None)?;
            let tape = JsonTape::read(&rest).map_err(|_| None)?;
            if compiled.validator.is_valid(tape.root()) {
                return if check_meter::is_too_long() { Err(None) } else { Ok(removed) };
            }
            let mut more = compiled.nulls_in_errors(&tape, is_small);
            if more.is_empty() {
                let error = is_small.then(|| self.error_without_nulls(text, &tape, &removed));
                return Err(error.flatten());
            }
            removed.append(&mut more);
        }
        Err(None)
    }

    /// The error of a text without the removed members, except for those that `rest` is missing because they are
    /// required: they are reported as `null`.
    fn error_without_nulls(
        &self,
        text: &str,
        rest: &JsonTape<'_>,
        removed: &[String],
    ) -> Option<SchemaMismatchError> {
        let required = self.compiled().ok()?.validator.iter_errors(rest.root()).filter_map(|error| {
            let ValidationErrorKind::Required { property } = error.kind() else { return None };
            let name = property.as_str()?.replace('~', "~0").replace('/', "~1");
            Some(format!("{}/{name}", error.instance_path()))
        });
        let required: Vec<String> = required.collect();
        let optional = removed.iter().filter(|pointer| !required.contains(pointer)).cloned();
        let kept = without_members(text, &optional.collect::<Vec<_>>()).ok()?;
        self.check_tape(&JsonTape::read(&kept).ok()?).err()
    }
}

impl CompiledSchema {
    /// The members that are `null` and that an error is about.
    fn nulls_in_errors(&self, tape: &JsonTape<'_>, is_small: bool) -> Vec<String> {
        let mut found = Vec::new();
        if is_small {
            let errors = self.validator.iter_errors(tape.root());
            errors.for_each(|error| collect_nulls(&error, tape.root(), &mut found));
        } else if let Err(error) = self.validator.validate(tape.root()) {
            collect_nulls(&error, tape.root(), &mut found);
        }
        found
    }
}

/// Collects the members that an error is about and that are `null`. The error of a choice contains those of its forms.
fn collect_nulls(error: &ValidationError<'_>, value: TapeNode<'_>, found: &mut Vec<String>) {
    let pointer = error.instance_path().to_string();
    let parent = pointer.rsplit_once('/').and_then(|(parent, _)| value.pointer(parent));
    if parent.is_some_and(TapeNode::is_object)
        && value.pointer(&pointer).is_some_and(TapeNode::is_null)
        && !found.contains(&pointer)
    {
        found.push(pointer);
    }
    if let ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } =
        error.kind()
    {
        context.iter().flatten().for_each(|error| collect_nulls(error, value, found));
    }
}

/// The recursion is as deep as the value, whose depth is limited where it is read.
fn has_null_member(value: TapeNode<'_>) -> bool {
    let Some(container) = value.container() else { return false };
    if container.is_object() {
        container.members().any(|(_, member)| member.is_null() || has_null_member(member))
    } else {
        container.elements().any(has_null_member)
    }
}

#[cfg(test)]
mod tests;
