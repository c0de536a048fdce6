//! Members that are `null` although the schema doesn't allow it. Models often send them for arguments that they leave
//! out, so they count as absent.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use super::{MAX_LISTED_STEPS, MAX_STEPS, Schema, SchemaMismatchError, ValueSize, meter};

/// The maximum number of checks of one value. A large value needs one for each member, because only its first error is
/// known.
const MAX_CHECKS: u64 = 8;

impl Schema {
    /// Checks arguments. Members that are `null` and not allowed to be count as absent; the result is their locations,
    /// as JSON pointers.
    ///
    /// # Errors
    /// As [`Schema::check`]. The error doesn't mention members that count as absent, unless they are required.
    pub fn check_arguments(&self, value: &Value) -> Result<Vec<String>, SchemaMismatchError> {
        let Err(mismatch) = self.check(value) else { return Ok(Vec::new()) };
        self.forbidden_nulls(value).map_err(|rest| {
            let rest = rest.and_then(|rest| self.check(&rest).err());
            rest.unwrap_or(mismatch)
        })
    }

    /// The members that are `null` and not allowed to be.
    ///
    /// # Errors
    /// The value doesn't match without them either. The error is the rest of the value, if it is known.
    fn forbidden_nulls(&self, value: &Value) -> Result<Vec<String>, Option<Value>> {
        if !has_null_member(value) {
            return Err(None);
        }
        let cost = &self.0.cost;
        let size = ValueSize::of(value);
        if cost.steps(size.nodes) > MAX_STEPS / MAX_CHECKS
            || cost.name_steps(size.key_bytes) > meter::MAX_MATCH_STEPS / MAX_CHECKS
        {
            return Err(None);
        }
        let is_small = cost.branches(size.depth).saturating_mul(size.nodes) <= MAX_LISTED_STEPS;
        if !is_small && (cost.has_choices() || cost.branches(size.depth) > MAX_STEPS) {
            return Err(None);
        }
        let mut rest = value.clone();
        let mut removed = Vec::new();
        for _ in 0..MAX_CHECKS {
            if meter::is_too_long() || !meter::may_continue() {
                return Err(None);
            }
            let mut found = Vec::new();
            if is_small {
                self.0
                    .validator
                    .iter_errors(&rest)
                    .for_each(|error| collect_nulls(&error, &rest, &mut found));
            } else if let Err(error) = self.0.validator.validate(&rest) {
                collect_nulls(&error, &rest, &mut found);
            }
            if found.is_empty() && is_small {
                return Err(Some(self.without_optional_nulls(value, &rest, &removed)));
            }
            if found.is_empty() {
                return Err(None);
            }
            found.iter().for_each(|pointer| remove_member(&mut rest, pointer));
            removed.append(&mut found);
            if self.0.validator.is_valid(&rest) {
                return if meter::is_too_long() { Err(None) } else { Ok(removed) };
            }
        }
        Err(None)
    }

    /// The value without the removed members, except for those that `rest` is missing because they are required: they
    /// are reported as `null`.
    fn without_optional_nulls(&self, value: &Value, rest: &Value, removed: &[String]) -> Value {
        let required = self.0.validator.iter_errors(rest).filter_map(|error| {
            let ValidationErrorKind::Required { property } = error.kind() else { return None };
            let name = property.as_str()?.replace('~', "~0").replace('/', "~1");
            Some(format!("{}/{name}", error.instance_path()))
        });
        let required: Vec<String> = required.collect();
        let mut kept = value.clone();
        let optional = removed.iter().filter(|pointer| !required.contains(pointer));
        optional.for_each(|pointer| remove_member(&mut kept, pointer));
        kept
    }
}

/// Collects the members that an error is about and that are `null`. The error of a choice contains those of its forms.
fn collect_nulls(error: &ValidationError<'_>, value: &Value, found: &mut Vec<String>) {
    let pointer = error.instance_path().to_string();
    let parent = pointer.rsplit_once('/').and_then(|(parent, _)| value.pointer(parent));
    if parent.is_some_and(Value::is_object)
        && value.pointer(&pointer) == Some(&Value::Null)
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

fn remove_member(value: &mut Value, pointer: &str) {
    let Some((parent, name)) = pointer.rsplit_once('/') else { return };
    if let Some(Value::Object(members)) = value.pointer_mut(parent) {
        members.shift_remove(&name.replace("~1", "/").replace("~0", "~"));
    }
}

fn has_null_member(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.values().any(|member| member.is_null() || has_null_member(member)),
        Value::Array(items) => items.iter().any(has_null_member),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests;
