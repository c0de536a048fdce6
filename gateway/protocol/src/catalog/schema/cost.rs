//! The work that a schema can require, computed before it runs.
//!
//! A node of a value is compared with one or more subschemas: `allOf`, `$ref` and the like apply to the same node,
//! `properties` and `items` one level below. The cost is an upper bound on the number of subschemas that apply to any
//! one node, so that a check takes at most this number of steps per node. The validator remembers comparisons, so a
//! reference that leads back to itself counts once.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::json::pointer_step;

use super::SchemaError;
use super::ecma::{MAX_PATTERN_SIZE, PatternError, PatternMatcher, PatternMatchers};
use super::pattern::compiled_size;
use super::references::{InvalidId, ReferenceError, ReferenceTarget, References};

/// The maximum number of subschemas that apply to one node.
const MAX_SUBSCHEMAS_PER_NODE: u64 = 10_000;

/// The maximum number of regular expressions.
const MAX_PATTERNS: usize = 128;

/// The maximum size of the compiled regular expressions, in bytes, as estimated before they are compiled.
const MAX_PATTERN_BYTES: u64 = 8 << 20;

/// The maximum depth of subschemas, with references followed. The validator is built recursively.
const MAX_SCHEMA_LEVELS: usize = 128;

/// The number of subschemas of a meta-schema that apply to one node, and how many of them nest.
const META_SCHEMA_COUNT: SubschemaCount = SubschemaCount { same_node: 16, levels_below: 16, nesting: 4 };

/// An upper bound on a schema's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SchemaCost {
    /// The number of subschemas that apply to one node.
    width: u64,
    /// The number of them that nest.
    nesting: u64,
    /// True if the schema refers back to itself.
    is_recursive: bool,
    /// True if it has `anyOf` or `oneOf`.
    has_choices: bool,
    /// The length of the longest list of required members. Each of them can be an error.
    most_required: usize,
    /// The highest number of places where a match can be in progress, in a regular expression for values.
    value_places: u64,
    /// The highest total for the regular expressions that are matched against the same key.
    name_places: u64,
    /// The estimated size of all compiled regular expressions, in bytes.
    pattern_bytes: u64,
}

impl SchemaCost {
    /// Examines `schema` and everything it refers to, and compiles its regular expressions.
    pub(super) fn of(schema: &Value) -> Result<(Self, PatternMatchers), SchemaError> {
        let references = References::of(schema)
            .map_err(|InvalidId(message)| SchemaError { pointer: String::new(), message })?;
        let mut walk = CostWalk {
            references,
            known: HashMap::new(),
            level: 0,
            recursive: false,
            choices: false,
            most_required: 0,
            pattern_count: 0,
            pattern_bytes: 0,
            patterns: Vec::new(),
            value_places: 0,
            name_places: 0,
        };
        let meeting = walk.count(schema, "")?;
        let width = meeting.width();
        if width > MAX_SUBSCHEMAS_PER_NODE {
            let message = format!(
                "its branches and references multiply: up to {width} subschemas apply to one value; at most {MAX_SUBSCHEMAS_PER_NODE} are allowed"
            );
            return Err(SchemaError { pointer: String::new(), message });
        }
        if walk.pattern_count > MAX_PATTERNS {
            let message = format!(
                "it has {} regular expressions; at most {MAX_PATTERNS} are allowed",
                walk.pattern_count
            );
            return Err(SchemaError { pointer: String::new(), message });
        }
        if walk.pattern_bytes > MAX_PATTERN_BYTES {
            let message = "its regular expressions are too large, because they repeat too much".to_owned();
            return Err(SchemaError { pointer: String::new(), message });
        }
        let matchers = walk.compile_patterns()?;
        let cost = Self {
            width,
            nesting: meeting.nesting,
            is_recursive: walk.recursive,
            has_choices: walk.choices,
            most_required: walk.most_required,
            value_places: walk.value_places,
            name_places: walk.name_places,
            pattern_bytes: walk.pattern_bytes,
        };
        Ok((cost, matchers))
    }

    /// The estimated size of all compiled regular expressions, in bytes.
    pub(super) fn pattern_bytes(&self) -> u64 {
        self.pattern_bytes
    }

    /// The number of steps to check a value with this number of nodes.
    pub(super) fn steps(&self, nodes: u64) -> u64 {
        self.width.saturating_mul(nodes)
    }

    /// An upper bound on the number of steps of its regular expressions for a text of this length.
    pub(super) fn pattern_steps(&self, bytes: u64) -> u64 {
        let places = self.value_places.max(self.name_places);
        places.saturating_mul(self.width).saturating_mul(bytes)
    }

    /// The number of steps of the regular expressions for keys of this total length.
    pub(super) fn name_steps(&self, bytes: u64) -> u64 {
        self.name_places.saturating_mul(bytes)
    }

    /// The nesting depth of comparisons at the bottom of a value of this depth. Each uses stack.
    pub(super) fn nesting_depth(&self, depth: usize) -> u64 {
        self.nesting.saturating_mul(depth as u64)
    }

    /// Reports whether the schema has `anyOf` or `oneOf`, whose error contains the errors of every form.
    pub(super) fn has_choices(&self) -> bool {
        self.has_choices
    }

    /// An upper bound on the number of errors of a value of this depth and with this number of nodes.
    pub(super) fn errors(&self, depth: usize, nodes: u64) -> u64 {
        self.branches(depth).saturating_mul(nodes).saturating_mul(self.most_required.max(1) as u64)
    }

    /// The number of paths to the bottom of a value of this depth. Finding errors follows each of them.
    pub(super) fn branches(&self, depth: usize) -> u64 {
        let depth = u32::try_from(depth).unwrap_or(u32::MAX);
        if self.is_recursive { self.width.saturating_pow(depth) } else { self.width }
    }
}

/// The number of subschemas that apply to the node of a schema, and to the worst node below.
#[derive(Clone, Copy, Default)]
struct SubschemaCount {
    same_node: u64,
    levels_below: u64,
    /// The number of them that nest at one node, the worst node below included.
    nesting: u64,
}

impl SubschemaCount {
    fn width(self) -> u64 {
        self.same_node.max(self.levels_below)
    }

    /// Both apply to the same node.
    fn with(self, other: Self) -> Self {
        Self {
            same_node: self.same_node.saturating_add(other.same_node),
            levels_below: self.levels_below.saturating_add(other.levels_below),
            nesting: self.nesting.max(other.nesting),
        }
    }

    /// Either one or the other applies.
    fn or(self, other: Self) -> Self {
        Self {
            same_node: self.same_node.max(other.same_node),
            levels_below: self.levels_below.max(other.levels_below),
            nesting: self.nesting.max(other.nesting),
        }
    }

    /// The same, applied one level below.
    fn lowered(self) -> Self {
        Self { same_node: 0, levels_below: self.width(), nesting: self.nesting }
    }
}

struct CostWalk<'s> {
    references: References<'s>,
    /// Results by address. `None` means that the computation is in progress.
    known: HashMap<*const Value, Option<SubschemaCount>>,
    /// The nesting depth of the schemas being examined.
    level: usize,
    recursive: bool,
    /// True if any schema has `anyOf` or `oneOf`.
    choices: bool,
    /// The length of the longest list of required members so far.
    most_required: usize,
    /// The number of regular expressions so far. Each can take a tenth of a second to compile.
    pattern_count: usize,
    /// The estimated size of these, compiled.
    pattern_bytes: u64,
    /// The regular expressions, up to the maximum number.
    patterns: Vec<SchemaPattern<'s>>,
    value_places: u64,
    name_places: u64,
}

/// A regular expression in a schema, or several that are matched against the same key.
enum SchemaPattern<'s> {
    Value { pattern: &'s str, at: String },
    Names { names: &'s Map<String, Value>, at: String },
}

impl<'s> CostWalk<'s> {
    fn count(&mut self, schema: &'s Value, at: &str) -> Result<SubschemaCount, SchemaError> {
        let Value::Object(members) = schema else {
            return Ok(SubschemaCount { same_node: 1, levels_below: 0, nesting: 1 });
        };
        match self.known.get(&std::ptr::from_ref(schema)) {
            Some(Some(meeting)) => return Ok(*meeting),
            Some(None) => {
                self.recursive = true;
                return Ok(SubschemaCount { same_node: 1, levels_below: 1, nesting: 1 });
            }
            None => {}
        }
        if self.level == MAX_SCHEMA_LEVELS {
            let message = format!("it is nested deeper than {MAX_SCHEMA_LEVELS} levels, references included");
            return Err(SchemaError { pointer: at.to_owned(), message });
        }
        self.known.insert(schema, None);
        self.level += 1;
        let mut here = self.count_same_node(members, at)?;
        here.nesting += 1;
        let meeting = here.with(self.count_members(members, at)?).with(self.count_items(members, at)?);
        self.level -= 1;
        self.known.insert(schema, Some(meeting));
        Ok(meeting)
    }

    /// The subschemas that apply to the same node.
    fn count_same_node(
        &mut self,
        members: &'s Map<String, Value>,
        at: &str,
    ) -> Result<SubschemaCount, SchemaError> {
        let count = |key| members.get(key).and_then(Value::as_array).map_or(0, Vec::len);
        let long = |key| count(key) as u64 / 64;
        self.choices |= ["anyOf", "oneOf"].iter().any(|key| members.contains_key(*key));
        self.note_patterns(members, at);
        let dependent: usize = ["dependentRequired", "dependencies"]
            .iter()
            .filter_map(|key| members.get(*key)?.as_object())
            .flat_map(Map::values)
            .filter_map(Value::as_array)
            .map(Vec::len)
            .sum();
        self.most_required = self.most_required.max(count("required") + dependent);
        let here = 1 + long("enum") + long("required") + dependent as u64 / 64;
        let mut sum = SubschemaCount { same_node: here, levels_below: 0, nesting: 0 };
        for key in ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"] {
            sum = sum.with(self.sum(members.get(key), at, key)?);
        }
        for key in ["dependentSchemas", "dependencies"] {
            sum = sum.with(self.sum_values(members.get(key), at, key)?);
        }
        for key in ["$ref", "$dynamicRef", "$recursiveRef"] {
            if let Some(Value::String(reference)) = members.get(key) {
                sum = sum.with(self.count_target(reference, &format!("{at}/{key}"))?);
            }
        }
        Ok(sum)
    }

    /// Counts the regular expressions of a schema.
    fn note_patterns(&mut self, members: &'s Map<String, Value>, at: &str) {
        let names = members.get("patternProperties").and_then(Value::as_object);
        let pattern = members.get("pattern").and_then(Value::as_str);
        self.pattern_count += names.map_or(0, Map::len) + pattern.map_or(0, PatternMatcher::count);
        let all = names.into_iter().flat_map(Map::keys).map(String::as_str).chain(pattern);
        let size = all.map(|pattern| compiled_size(pattern).min(MAX_PATTERN_SIZE as u64)).sum();
        self.pattern_bytes = self.pattern_bytes.saturating_add(size);
        if self.pattern_count > MAX_PATTERNS {
            return; // The schema is refused, so none of them is needed.
        }
        self.patterns.extend(pattern.map(|pattern| SchemaPattern::Value { pattern, at: at.to_owned() }));
        self.patterns.extend(names.map(|names| SchemaPattern::Names { names, at: at.to_owned() }));
    }

    /// Compiles the regular expressions.
    fn compile_patterns(&mut self) -> Result<PatternMatchers, SchemaError> {
        let wrong = |pattern: &str, pointer: String, error: PatternError| SchemaError {
            pointer,
            message: error.message(pattern),
        };
        let mut matchers = PatternMatchers::new();
        for found in std::mem::take(&mut self.patterns) {
            match found {
                SchemaPattern::Value { pattern, at } => {
                    if !matchers.contains_key(pattern) {
                        let matcher = PatternMatcher::compile(pattern)
                            .map_err(|error| wrong(pattern, format!("{at}/pattern"), error))?;
                        self.value_places = self.value_places.max(matcher.places);
                        matchers.insert(pattern.to_owned(), Arc::new(matcher));
                    }
                }
                SchemaPattern::Names { names, at } => {
                    let places = names.keys().try_fold(0, |sum: u64, name| -> Result<u64, SchemaError> {
                        let pointer = || format!("{at}/patternProperties/{}", pointer_step(name));
                        let matcher = PatternMatcher::compile_name(name)
                            .map_err(|error| wrong(name, pointer(), error))?;
                        Ok(sum.saturating_add(matcher.places))
                    })?;
                    self.name_places = self.name_places.max(places);
                }
            }
        }
        Ok(matchers)
    }

    /// The subschemas that apply to an object's members.
    fn count_members(
        &mut self,
        members: &'s Map<String, Value>,
        at: &str,
    ) -> Result<SubschemaCount, SchemaError> {
        let mut named = self.sum(members.get("additionalProperties"), at, "additionalProperties")?;
        if let Some(Value::Object(properties)) = members.get("properties") {
            for (name, property) in properties {
                named = named.or(self.count(property, &format!("{at}/properties/{}", pointer_step(name)))?);
            }
        }
        let mut sum = named;
        sum = sum.with(self.sum_values(members.get("patternProperties"), at, "patternProperties")?);
        for key in ["unevaluatedProperties", "propertyNames"] {
            sum = sum.with(self.sum(members.get(key), at, key)?);
        }
        Ok(sum.lowered())
    }

    /// The subschemas that apply to an array's items.
    fn count_items(
        &mut self,
        members: &'s Map<String, Value>,
        at: &str,
    ) -> Result<SubschemaCount, SchemaError> {
        let mut one = SubschemaCount::default();
        for key in ["items", "prefixItems", "additionalItems"] {
            let each = match members.get(key) {
                Some(Value::Array(list)) => list.as_slice(),
                Some(other) => std::slice::from_ref(other),
                None => &[],
            };
            for (index, item) in each.iter().enumerate() {
                one = one.or(self.count(item, &format!("{at}/{key}/{index}"))?);
            }
        }
        let mut sum = one;
        for key in ["contains", "unevaluatedItems"] {
            sum = sum.with(self.sum(members.get(key), at, key)?);
        }
        Ok(sum.lowered())
    }

    /// A subschema, or a list of them that all apply.
    fn sum(&mut self, value: Option<&'s Value>, at: &str, key: &str) -> Result<SubschemaCount, SchemaError> {
        match value {
            Some(Value::Array(list)) => {
                list.iter().enumerate().try_fold(SubschemaCount::default(), |sum, (index, item)| {
                    Ok(sum.with(self.count(item, &format!("{at}/{key}/{index}"))?))
                })
            }
            Some(one) => self.count(one, &format!("{at}/{key}")),
            None => Ok(SubschemaCount::default()),
        }
    }

    /// An object whose values are subschemas that can all apply.
    fn sum_values(
        &mut self,
        value: Option<&'s Value>,
        at: &str,
        key: &str,
    ) -> Result<SubschemaCount, SchemaError> {
        let Some(Value::Object(entries)) = value else { return Ok(SubschemaCount::default()) };
        entries.iter().try_fold(SubschemaCount::default(), |sum, (name, item)| {
            Ok(sum.with(self.count(item, &format!("{at}/{key}/{}", pointer_step(name)))?))
        })
    }

    /// The target of a reference.
    fn count_target(&mut self, reference: &'s str, at: &str) -> Result<SubschemaCount, SchemaError> {
        let wrong = |message: String| SchemaError { pointer: at.to_owned(), message };
        let targets = match self.references.target(reference) {
            Ok(ReferenceTarget::Local(targets)) => targets,
            Ok(ReferenceTarget::MetaSchema) => {
                self.recursive = true;
                self.choices = true;
                return Ok(META_SCHEMA_COUNT);
            }
            Err(ReferenceError::OtherDocument) => {
                return Err(wrong(format!(
                    "`{reference}` refers to another document; move its target to `$defs`"
                )));
            }
            Err(ReferenceError::NoTarget) => return Err(wrong(format!("`{reference}` has no target"))),
            Err(ReferenceError::NoAnchor) => {
                return Err(wrong(format!("`{reference}` has no target: no `$anchor` has that name")));
            }
        };
        targets.into_iter().try_fold(SubschemaCount::default(), |most, (target, location)| {
            Ok(most.or(self.count(target, location.as_deref().unwrap_or(reference))?))
        })
    }
}
