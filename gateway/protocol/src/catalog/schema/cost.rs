//! The work that a schema can require, computed before it runs.
//!
//! A node of a value is compared with one or more subschemas: `allOf`, `$ref` and the like apply to the same node,
//! `properties` and `items` one level below. The cost is an upper bound on the number of subschemas that apply to any
//! one node, so that a check takes at most this number of steps per node. The validator remembers comparisons, so a
//! reference that leads back to itself counts once.

use std::collections::HashMap;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use crate::json::pointer_step;

use super::SchemaError;
use super::pattern::pattern_places;

/// The maximum number of subschemas that apply to one node.
const MAX_SUBSCHEMAS_PER_NODE: u64 = 10_000;

/// The maximum number of regular expressions.
const MAX_PATTERNS: usize = 128;

/// The maximum depth of subschemas, with references followed. The validator is built recursively.
const MAX_SCHEMA_LEVELS: usize = 128;

/// The addresses of meta-schemas, which are built into the validator.
const META_SCHEMAS: [&str; 2] = ["https://json-schema.org/", "http://json-schema.org/"];

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
    /// The number of places in its regular expressions where a match of one string can be in progress.
    pattern_places: u64,
}

impl SchemaCost {
    /// Examines `schema` and everything it refers to.
    pub(super) fn of(schema: &Value) -> Result<Self, SchemaError> {
        let mut walk = CostWalk {
            root: schema,
            anchors: HashMap::new(),
            known: HashMap::new(),
            level: 0,
            recursive: false,
            choices: false,
            patterns: 0,
            places: 0,
        };
        walk.find_anchors(schema);
        let meeting = walk.count(schema, "")?;
        let width = meeting.width();
        if width > MAX_SUBSCHEMAS_PER_NODE {
            let message = format!(
                "its branches and references multiply: up to {width} subschemas apply to one value; at most {MAX_SUBSCHEMAS_PER_NODE} are allowed"
            );
            return Err(SchemaError { pointer: String::new(), message });
        }
        if walk.patterns > MAX_PATTERNS {
            let message =
                format!("it has {} regular expressions; at most {MAX_PATTERNS} are allowed", walk.patterns);
            return Err(SchemaError { pointer: String::new(), message });
        }
        Ok(Self {
            width,
            nesting: meeting.nesting,
            is_recursive: walk.recursive,
            has_choices: walk.choices,
            pattern_places: walk.places,
        })
    }

    /// The number of steps to check a value with this number of nodes.
    pub(super) fn steps(&self, nodes: u64) -> u64 {
        self.width.saturating_mul(nodes)
    }

    /// The number of steps of its regular expressions for strings of this total length.
    pub(super) fn pattern_steps(&self, bytes: u64) -> u64 {
        self.pattern_places.saturating_mul(bytes)
    }

    /// The nesting depth of comparisons at the bottom of a value of this depth. Each uses stack.
    pub(super) fn nesting_depth(&self, depth: usize) -> u64 {
        self.nesting.saturating_mul(depth as u64)
    }

    /// Reports whether the schema has `anyOf` or `oneOf`, whose error contains the errors of every form.
    pub(super) fn has_choices(&self) -> bool {
        self.has_choices
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
    root: &'s Value,
    anchors: HashMap<&'s str, Vec<&'s Value>>,
    /// Results by address. `None` means that the computation is in progress.
    known: HashMap<*const Value, Option<SubschemaCount>>,
    /// The nesting depth of the schemas being examined.
    level: usize,
    recursive: bool,
    /// True if any schema has `anyOf` or `oneOf`.
    choices: bool,
    /// The number of regular expressions so far. Each can take a tenth of a second to compile.
    patterns: usize,
    /// The highest number of places in one regular expression, or in all that are matched against the same key.
    places: u64,
}

impl<'s> CostWalk<'s> {
    /// Collects every `$anchor` at any position: too many are better than too few.
    fn find_anchors(&mut self, value: &'s Value) {
        match value {
            Value::Object(members) => {
                for key in ["$anchor", "$dynamicAnchor"] {
                    if let Some(Value::String(name)) = members.get(key) {
                        self.anchors.entry(name).or_default().push(value);
                    }
                }
                members.values().for_each(|member| self.find_anchors(member));
            }
            Value::Array(items) => items.iter().for_each(|item| self.find_anchors(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

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
        if !at.is_empty() && members.get("$id").is_some_and(Value::is_string) {
            let message = "`$id` is only allowed at the top: references are resolved within one document";
            return Err(SchemaError { pointer: at.to_owned(), message: message.to_owned() });
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
        let long = |key| members.get(key).and_then(Value::as_array).map_or(0, Vec::len) as u64 / 64;
        self.choices |= ["anyOf", "oneOf"].iter().any(|key| members.contains_key(*key));
        if let Some(Value::String(pattern)) = members.get("pattern") {
            self.patterns += 1;
            self.places = self.places.max(pattern_places(pattern));
        }
        if let Some(Value::Object(named)) = members.get("patternProperties") {
            self.patterns += named.len();
            let all = named.keys().map(|pattern| pattern_places(pattern)).fold(0, u64::saturating_add);
            self.places = self.places.max(all);
        }
        let dependent: usize = ["dependentRequired", "dependencies"]
            .iter()
            .filter_map(|key| members.get(*key)?.as_object())
            .flat_map(Map::values)
            .filter_map(Value::as_array)
            .map(Vec::len)
            .sum();
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
        if META_SCHEMAS.iter().any(|start| reference.starts_with(start)) {
            self.recursive = true;
            self.choices = true;
            return Ok(META_SCHEMA_COUNT);
        }
        let wrong = |message: String| SchemaError { pointer: at.to_owned(), message };
        let Some(fragment) = reference.strip_prefix('#') else {
            return Err(wrong(format!(
                "`{reference}` refers to another document; move its target to `$defs`"
            )));
        };
        let root = self.root;
        if fragment.is_empty() {
            return self.count(root, "");
        }
        if fragment.starts_with('/') {
            // Invalid escapes stay as they are.
            let pointer = percent_decode_str(fragment).decode_utf8_lossy();
            let target = root.pointer(&pointer);
            return match target {
                Some(target) => self.count(target, &pointer),
                None => Err(wrong(format!("`{reference}` has no target"))),
            };
        }
        let targets = self.anchors.get(fragment).cloned().unwrap_or_default();
        if targets.is_empty() {
            return Err(wrong(format!("`{reference}` has no target: no `$anchor` has that name")));
        }
        targets
            .into_iter()
            .try_fold(SubschemaCount::default(), |most, target| Ok(most.or(self.count(target, reference)?)))
    }
}
