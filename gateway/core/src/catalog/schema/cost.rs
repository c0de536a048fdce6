//! How much work a schema can ask for, found before it runs.
//!
//! A value's node is compared with one subschema or with several: `allOf`, `$ref` and the like apply where they
//! stand, `properties` and `items` one level below. The cost is an upper bound of how many subschemas meet at any one
//! node, so that a check takes at most that many steps for each node. Where a reference leads back into itself, the
//! validator remembers what it compared already, so that the loop counts once.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::json::pointer_step;

use super::SchemaError;
use super::pattern::places;

/// The most subschemas that may meet at one node.
const MAX_WIDTH: u64 = 10_000;

/// The most regular expressions.
const MAX_PATTERNS: usize = 128;

/// How far subschemas may lie below the top, references followed: the validator is built by recursion.
const MAX_LEVELS: usize = 128;

/// What schemas for schemas refer to; the validator knows them by heart.
const META_SCHEMAS: [&str; 2] = ["https://json-schema.org/", "http://json-schema.org/"];

/// How many subschemas of a schema for schemas meet at one node, and how many of them apply one inside the other.
const META: Meeting = Meeting { here: 16, below: 16, chain: 4 };

/// An upper bound of a schema's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cost {
    /// How many subschemas meet at one node.
    width: u64,
    /// How many of them apply one inside the other.
    chain: u64,
    /// Does it refer back into itself?
    recursive: bool,
    /// In how many places of its regular expressions a match of one text may be under way.
    places: u64,
}

impl Cost {
    /// Walks `schema` and whatever it refers to.
    pub(super) fn of(schema: &Value) -> Result<Self, SchemaError> {
        let mut walk = Walk {
            root: schema,
            anchors: HashMap::new(),
            known: HashMap::new(),
            level: 0,
            recursive: false,
            patterns: 0,
            places: 0,
        };
        walk.find_anchors(schema);
        let meeting = walk.meet(schema, "")?;
        let width = meeting.width();
        if width > MAX_WIDTH {
            let message = format!(
                "its branches and references multiply: {width} subschemas may meet at one value, {MAX_WIDTH} at most are allowed"
            );
            return Err(SchemaError { at: String::new(), message });
        }
        if walk.patterns > MAX_PATTERNS {
            let message =
                format!("it has {} regular expressions; {MAX_PATTERNS} at most are allowed", walk.patterns);
            return Err(SchemaError { at: String::new(), message });
        }
        Ok(Self { width, chain: meeting.chain, recursive: walk.recursive, places: walk.places })
    }

    /// How many steps it takes to find out whether a value of so many nodes fits.
    pub(super) fn steps(&self, nodes: u64) -> u64 {
        self.width.saturating_mul(nodes)
    }

    /// How many steps its regular expressions may take over texts of so many bytes.
    pub(super) fn matching(&self, bytes: u64) -> u64 {
        self.places.saturating_mul(bytes)
    }

    /// How many comparisons lie one inside the other at the bottom of a value so deep: each takes a part of the stack.
    pub(super) fn nesting(&self, depth: usize) -> u64 {
        self.chain.saturating_mul(depth as u64)
    }

    /// How many ways lead to the bottom of a value so deep, where each is followed to tell what is wrong.
    pub(super) fn branches(&self, depth: usize) -> u64 {
        let depth = u32::try_from(depth).unwrap_or(u32::MAX);
        if self.recursive { self.width.saturating_pow(depth) } else { self.width }
    }
}

/// How many subschemas meet where a schema stands, and at the worst node below.
#[derive(Clone, Copy, Default)]
struct Meeting {
    here: u64,
    below: u64,
    /// How many apply one inside the other at one node, the worst node below included.
    chain: u64,
}

impl Meeting {
    fn width(self) -> u64 {
        self.here.max(self.below)
    }

    /// Both apply at the same place.
    fn with(self, other: Self) -> Self {
        Self {
            here: self.here.saturating_add(other.here),
            below: self.below.saturating_add(other.below),
            chain: self.chain.max(other.chain),
        }
    }

    /// One or the other applies.
    fn or(self, other: Self) -> Self {
        Self {
            here: self.here.max(other.here),
            below: self.below.max(other.below),
            chain: self.chain.max(other.chain),
        }
    }

    /// It applies one level below.
    fn lowered(self) -> Self {
        Self { here: 0, below: self.width(), chain: self.chain }
    }
}

struct Walk<'s> {
    root: &'s Value,
    anchors: HashMap<&'s str, Vec<&'s Value>>,
    /// By address: what was found out, or none while it is being found out.
    known: HashMap<*const Value, Option<Meeting>>,
    /// How many schemas are being looked at, one inside the other.
    level: usize,
    recursive: bool,
    /// How many regular expressions there are: each may take a tenth of a second to compile.
    patterns: usize,
    /// The most places in one regular expression, or in all that are compared with the same name.
    places: u64,
}

impl<'s> Walk<'s> {
    /// Notes every `$anchor`, wherever it stands: too many are better than too few.
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

    fn meet(&mut self, schema: &'s Value, at: &str) -> Result<Meeting, SchemaError> {
        let Value::Object(members) = schema else { return Ok(Meeting { here: 1, below: 0, chain: 1 }) };
        match self.known.get(&std::ptr::from_ref(schema)) {
            Some(Some(meeting)) => return Ok(*meeting),
            Some(None) => {
                self.recursive = true;
                return Ok(Meeting { here: 1, below: 1, chain: 1 });
            }
            None => {}
        }
        if !at.is_empty() && members.get("$id").is_some_and(Value::is_string) {
            let message = "`$id` may only stand at the top: references are resolved within one document";
            return Err(SchemaError { at: at.to_owned(), message: message.to_owned() });
        }
        if self.level == MAX_LEVELS {
            let message = format!("it lies deeper than {MAX_LEVELS} levels, references followed");
            return Err(SchemaError { at: at.to_owned(), message });
        }
        self.known.insert(schema, None);
        self.level += 1;
        let mut here = self.in_place(members, at)?;
        here.chain += 1;
        let meeting = here.with(self.members(members, at)?).with(self.items(members, at)?);
        self.level -= 1;
        self.known.insert(schema, Some(meeting));
        Ok(meeting)
    }

    /// What applies where the schema stands.
    fn in_place(&mut self, members: &'s Map<String, Value>, at: &str) -> Result<Meeting, SchemaError> {
        let long = |key| members.get(key).and_then(Value::as_array).map_or(0, Vec::len) as u64 / 64;
        if let Some(Value::String(pattern)) = members.get("pattern") {
            self.patterns += 1;
            self.places = self.places.max(places(pattern));
        }
        if let Some(Value::Object(named)) = members.get("patternProperties") {
            self.patterns += named.len();
            let all = named.keys().map(|pattern| places(pattern)).fold(0, u64::saturating_add);
            self.places = self.places.max(all);
        }
        let mut sum = Meeting { here: 1 + long("enum") + long("required"), below: 0, chain: 0 };
        for key in ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"] {
            sum = sum.with(self.sum(members.get(key), at, key)?);
        }
        for key in ["dependentSchemas", "dependencies"] {
            sum = sum.with(self.sum_values(members.get(key), at, key)?);
        }
        for key in ["$ref", "$dynamicRef", "$recursiveRef"] {
            if let Some(Value::String(reference)) = members.get(key) {
                sum = sum.with(self.follow(reference, &format!("{at}/{key}"))?);
            }
        }
        Ok(sum)
    }

    /// What applies to an object's members.
    fn members(&mut self, members: &'s Map<String, Value>, at: &str) -> Result<Meeting, SchemaError> {
        let mut named = self.sum(members.get("additionalProperties"), at, "additionalProperties")?;
        if let Some(Value::Object(properties)) = members.get("properties") {
            for (name, property) in properties {
                named = named.or(self.meet(property, &format!("{at}/properties/{}", pointer_step(name)))?);
            }
        }
        let mut sum = named;
        sum = sum.with(self.sum_values(members.get("patternProperties"), at, "patternProperties")?);
        for key in ["unevaluatedProperties", "propertyNames"] {
            sum = sum.with(self.sum(members.get(key), at, key)?);
        }
        Ok(sum.lowered())
    }

    /// What applies to an array's items.
    fn items(&mut self, members: &'s Map<String, Value>, at: &str) -> Result<Meeting, SchemaError> {
        let mut one = Meeting::default();
        for key in ["items", "prefixItems", "additionalItems"] {
            let each = match members.get(key) {
                Some(Value::Array(list)) => list.as_slice(),
                Some(other) => std::slice::from_ref(other),
                None => &[],
            };
            for (index, item) in each.iter().enumerate() {
                one = one.or(self.meet(item, &format!("{at}/{key}/{index}"))?);
            }
        }
        let mut sum = one;
        for key in ["contains", "unevaluatedItems"] {
            sum = sum.with(self.sum(members.get(key), at, key)?);
        }
        Ok(sum.lowered())
    }

    /// A subschema, or a list of them that all apply.
    fn sum(&mut self, value: Option<&'s Value>, at: &str, key: &str) -> Result<Meeting, SchemaError> {
        match value {
            Some(Value::Array(list)) => {
                list.iter().enumerate().try_fold(Meeting::default(), |sum, (index, item)| {
                    Ok(sum.with(self.meet(item, &format!("{at}/{key}/{index}"))?))
                })
            }
            Some(one) => self.meet(one, &format!("{at}/{key}")),
            None => Ok(Meeting::default()),
        }
    }

    /// An object whose values are subschemas that may all apply.
    fn sum_values(&mut self, value: Option<&'s Value>, at: &str, key: &str) -> Result<Meeting, SchemaError> {
        let Some(Value::Object(entries)) = value else { return Ok(Meeting::default()) };
        entries.iter().try_fold(Meeting::default(), |sum, (name, item)| {
            Ok(sum.with(self.meet(item, &format!("{at}/{key}/{}", pointer_step(name)))?))
        })
    }

    /// Whatever a reference leads to.
    fn follow(&mut self, reference: &'s str, at: &str) -> Result<Meeting, SchemaError> {
        if META_SCHEMAS.iter().any(|start| reference.starts_with(start)) {
            self.recursive = true;
            return Ok(META);
        }
        let wrong = |message: String| SchemaError { at: at.to_owned(), message };
        let Some(fragment) = reference.strip_prefix('#') else {
            return Err(wrong(format!(
                "`{reference}` leads out of the schema; put what it names under `$defs`"
            )));
        };
        let root = self.root;
        if fragment.is_empty() {
            return self.meet(root, "");
        }
        if fragment.starts_with('/') {
            let pointer = percent_decoded(fragment);
            let target = root.pointer(&pointer);
            return match target {
                Some(target) => self.meet(target, &pointer),
                None => Err(wrong(format!("`{reference}` leads nowhere"))),
            };
        }
        let targets = self.anchors.get(fragment).cloned().unwrap_or_default();
        if targets.is_empty() {
            return Err(wrong(format!("`{reference}` leads nowhere: no `$anchor` has that name")));
        }
        targets
            .into_iter()
            .try_fold(Meeting::default(), |most, target| Ok(most.or(self.meet(target, reference)?)))
    }
}

/// A fragment as the pointer that it stands for; what isn't an escape stays.
pub(in crate::catalog) fn percent_decoded(fragment: &str) -> String {
    percent_encoding::percent_decode_str(fragment).decode_utf8_lossy().into_owned()
}
