//! The official schemas, and one compiled validator for each of their definitions.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jsonschema::{Draft, Validator};
use serde_json::{Map, Value, json};

/// A revision that there is a schema of, oldest first.
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

/// Whether an object may have members that its definition doesn't name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Members {
    /// It may, as in the schemas themselves, which leave almost everything open.
    Open,
    /// Only where the definition says so in words: this finds a member that another revision has.
    Closed,
}

/// So much of a message is shown.
const LONGEST: usize = 4000;

/// Why a message isn't what its revision wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    revision: Revision,
    definition: String,
    faults: Vec<String>,
    message: String,
}

impl Misfit {
    pub(crate) fn of(revision: Revision, definition: &str, message: &Value, fault: String) -> Self {
        Self {
            revision,
            definition: definition.to_owned(),
            faults: vec![fault],
            message: message.to_string(),
        }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { revision, definition, faults, message } = self;
        writeln!(f, "this is no `{definition}` of {}:", revision.name())?;
        for fault in faults {
            writeln!(f, "  {fault}")?;
        }
        let end = message.char_indices().nth(LONGEST).map_or(message.len(), |(at, _)| at);
        write!(f, "  {}", &message[..end])
    }
}

impl std::error::Error for Misfit {}

type Compiled = HashMap<(Revision, String, Members), Arc<Validator>>;

impl Revision {
    /// All of them, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];

    /// Its name on the wire.
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

    /// The revision of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.name() == name)
    }

    /// Every request says its revision itself.
    #[must_use]
    pub fn is_stateless(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// An error whose request couldn't be read has no `id`.
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

    /// The whole schema as it is published.
    fn published(self) -> &'static Value {
        static READ: [OnceLock<Value>; Revision::ALL.len()] =
            [const { OnceLock::new() }; Revision::ALL.len()];
        READ[self as usize].get_or_init(|| serde_json::from_str(self.text()).expect("a schema is JSON"))
    }

    /// One definition.
    pub(crate) fn definition(self, name: &str) -> Option<&'static Value> {
        self.published()[self.draft().1].get(name)
    }

    /// A message without JSON-RPC's own members, where the revision's definitions don't name them.
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

    /// Holds `value` against one definition.
    ///
    /// # Errors
    /// It doesn't fit.
    pub fn check(self, definition: &str, value: &Value, members: Members) -> Result<(), Misfit> {
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
        Err(Misfit { revision: self, definition: definition.to_owned(), faults, message: value.to_string() })
    }

    fn validator(self, definition: &str, members: Members) -> Arc<Validator> {
        static COMPILED: OnceLock<Mutex<Compiled>> = OnceLock::new();
        let mut compiled =
            COMPILED.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        let validator = compiled
            .entry((self, definition.to_owned(), members))
            .or_insert_with(|| Arc::new(self.compile(definition, members)));
        Arc::clone(validator)
    }

    fn compile(self, definition: &str, members: Members) -> Validator {
        let (draft, defs) = self.draft();
        let mut all = self.published()[defs].clone();
        assert!(all.get(definition).is_some(), "{} has no `{definition}`", self.name());
        if members == Members::Closed {
            let definitions = all.as_object_mut().expect("definitions are an object");
            // Anybody may add to `_meta`, and the revision itself does: a result that ends a stream names the stream.
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

/// Lets no object have members beyond those that are listed, unless something is said about others. Parts of an
/// `allOf` stay open, because each describes the same object; so do `_meta` and the schemas of tools, which are
/// plugins' own.
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
