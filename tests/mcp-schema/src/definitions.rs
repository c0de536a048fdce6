//! The official schemas, with one compiled validator per definition.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jsonschema::{Draft, Validator};
use serde_json::{Map, Value, json};

/// A protocol revision with a schema, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// 2024-11-05
    V2024_11_05,
    /// 2025-03-26
    V2025_03_26,
    /// 2025-06-18
    V2025_06_18,
    /// 2025-11-25
    V2025_11_25,
    /// 2026-07-28
    V2026_07_28,
}

/// The rule for members that an object's definition doesn't name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExtraMembers {
    /// Allowed, as in the schemas themselves, which leave almost everything open.
    Allowed,
    /// Denied unless the definition allows them explicitly, to find members of other revisions.
    Denied,
}

/// The maximum length of a message in an error, in characters.
const MAX_SHOWN_CHARS: usize = 4000;

/// A message that violates the schema or a rule of its revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaViolation {
    revision: Revision,
    definition: String,
    faults: Vec<String>,
    message: String,
}

impl SchemaViolation {
    pub(crate) fn of(revision: Revision, definition: &str, message: &Value, fault: String) -> Self {
        Self {
            revision,
            definition: definition.to_owned(),
            faults: vec![fault],
            message: message.to_string(),
        }
    }
}

impl fmt::Display for SchemaViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { revision, definition, faults, message } = self;
        writeln!(f, "invalid `{definition}` of {}:", revision.name())?;
        for fault in faults {
            writeln!(f, "  {fault}")?;
        }
        let end = message.char_indices().nth(MAX_SHOWN_CHARS).map_or(message.len(), |(at, _)| at);
        write!(f, "  {}", &message[..end])
    }
}

impl std::error::Error for SchemaViolation {}

type Compiled = HashMap<(Revision, String, ExtraMembers), Arc<Validator>>;

impl Revision {
    /// All revisions, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];

    /// The revision's name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.name() == name)
    }

    /// Returns true if every request contains its revision.
    #[must_use]
    pub fn is_stateless(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// Returns true if an error without a readable request has no `id`.
    pub(crate) fn may_omit_ids(self) -> bool {
        self >= Self::V2025_11_25
    }

    pub(crate) fn error_definition(self) -> &'static str {
        if self.may_omit_ids() { "JSONRPCErrorResponse" } else { "JSONRPCError" }
    }

    pub(crate) fn result_definition(self) -> &'static str {
        if self.may_omit_ids() { "JSONRPCResultResponse" } else { "JSONRPCResponse" }
    }

    fn text(self) -> &'static str {
        match self {
            Self::V2024_11_05 => include_str!("../schemas/2024-11-05.json"),
            Self::V2025_03_26 => include_str!("../schemas/2025-03-26.json"),
            Self::V2025_06_18 => include_str!("../schemas/2025-06-18.json"),
            Self::V2025_11_25 => include_str!("../schemas/2025-11-25.json"),
            Self::V2026_07_28 => include_str!("../schemas/2026-07-28.json"),
        }
    }

    /// Draft 07 until 2025-06-18, draft 2020-12 from then on.
    fn draft(self) -> (Draft, &'static str) {
        if self >= Self::V2025_11_25 { (Draft::Draft202012, "$defs") } else { (Draft::Draft7, "definitions") }
    }

    /// The complete published schema.
    fn published(self) -> &'static Value {
        static READ: [OnceLock<Value>; Revision::ALL.len()] =
            [const { OnceLock::new() }; Revision::ALL.len()];
        READ[self as usize].get_or_init(|| serde_json::from_str(self.text()).expect("the schema is JSON"))
    }

    /// One definition.
    pub(crate) fn definition(self, name: &str) -> Option<&'static Value> {
        self.published()[self.draft().1].get(name)
    }

    /// The message without its JSON-RPC members, unless the definition names them.
    pub(crate) fn bare(self, definition: &str, message: &Value) -> Value {
        let names = |member: &str| {
            let definition = self.definition(definition);
            definition.is_some_and(|definition| definition["properties"].get(member).is_some())
        };
        let mut bare = message.clone();
        if let Some(members) = bare.as_object_mut() {
            members.retain(|member, _| !matches!(member.as_str(), "jsonrpc" | "id") || names(member));
        }
        bare
    }

    /// Checks `value` against one definition.
    ///
    /// # Errors
    /// The value is invalid.
    pub fn check(
        self,
        definition: &str,
        value: &Value,
        members: ExtraMembers,
    ) -> Result<(), SchemaViolation> {
        let validator = self.validator(definition, members);
        let faults: Vec<String> = validator
            .iter_errors(value)
            .map(|error| {
                let at = error.instance_path();
                format!("{error} (at `{at}`, by `{}`)", error.schema_path())
            })
            .collect();
        if faults.is_empty() {
            return Ok(());
        }
        Err(SchemaViolation {
            revision: self,
            definition: definition.to_owned(),
            faults,
            message: value.to_string(),
        })
    }

    fn validator(self, definition: &str, members: ExtraMembers) -> Arc<Validator> {
        static COMPILED: OnceLock<Mutex<Compiled>> = OnceLock::new();
        let mut compiled =
            COMPILED.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        let validator = compiled
            .entry((self, definition.to_owned(), members))
            .or_insert_with(|| Arc::new(self.compile(definition, members)));
        Arc::clone(validator)
    }

    fn compile(self, definition: &str, members: ExtraMembers) -> Validator {
        let (draft, defs) = self.draft();
        let mut all = self.published()[defs].clone();
        assert!(all.get(definition).is_some(), "{} has no `{definition}`", self.name());
        if members == ExtraMembers::Denied {
            let definitions = all.as_object_mut().expect("definitions are an object");
            // `_meta` is open to everyone, and the revision itself uses it: the result that ends a stream names the stream.
            definitions
                .iter_mut()
                .filter(|(name, _)| !name.ends_with("MetaObject"))
                .for_each(|(_, definition)| close(definition));
        }
        let schema = json!({ "allOf": [{ "$ref": format!("#/{defs}/{definition}") }], defs: all });
        jsonschema::options()
            .with_draft(draft)
            .should_validate_formats(true)
            .build(&schema)
            .unwrap_or_else(|error| panic!("`{definition}` of {}: {error}", self.name()))
    }
}

/// Denies members that an object's definition doesn't list, unless it has a rule for others. The parts of an `allOf` stay
/// open, because all of them describe the same object, and so do `_meta` and the schemas of tools, which come from
/// plugins.
fn close(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(close),
        Value::Object(members) => {
            close_object(members);
            for (key, part) in members {
                match key.as_str() {
                    "allOf" | "const" | "enum" | "default" | "examples" => {}
                    "properties" => close_properties(part),
                    _ => close(part),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn close_object(members: &mut Map<String, Value>) {
    let lists = members.get("properties").is_some_and(Value::is_object);
    if lists && members.get("type").is_some_and(|kind| kind == "object") && !members.contains_key("allOf") {
        members.entry("additionalProperties").or_insert(Value::Bool(false));
    }
}

fn close_properties(properties: &mut Value) {
    for (name, part) in properties.as_object_mut().into_iter().flatten() {
        if !matches!(name.as_str(), "inputSchema" | "outputSchema") {
            close(part);
        }
    }
}
