//! References within a schema document: by pointer, by anchor, and by the `$id` of the schema or of a part of it.
//!
//! A reference is relative to the `$id` around it. Instead of tracking that, every `$id` of the document is tried as
//! the base, so the result can have more targets than the validator's, but never fewer.

use std::collections::HashMap;

use percent_encoding::percent_decode_str;
use serde_json::Value;
use url::Url;

/// The base of a document without `$id`.
const ROOT_BASE: &str = "json-schema:///";

/// The addresses of meta-schemas, which are built into the validator.
const META_SCHEMAS: [&str; 2] = ["https://json-schema.org/", "http://json-schema.org/"];

/// The maximum number of parts with their own `$id`, because each reference is tried with each of them.
const MAX_RESOURCES: usize = 64;

/// The possible targets of references.
pub(in crate::catalog) struct References<'s> {
    resources: Vec<IdentifiedSchema<'s>>,
    anchors: HashMap<&'s str, Vec<&'s Value>>,
}

/// The document, or a part of it with its own `$id`.
struct IdentifiedSchema<'s> {
    base: Url,
    schema: &'s Value,
}

/// The target of a reference.
pub(in crate::catalog) enum ReferenceTarget<'s> {
    /// One of these schemas, each with its location in the document if it is known.
    Local(Vec<(&'s Value, Option<String>)>),
    /// A meta-schema.
    MetaSchema,
}

/// A reference without a target.
pub(in crate::catalog) enum ReferenceError {
    /// It leads to another document.
    OtherDocument,
    /// Nothing is at its pointer.
    NoTarget,
    /// No anchor has its name.
    NoAnchor,
}

/// An `$id` that can't be used. The message says why.
pub(in crate::catalog) struct InvalidId(pub(in crate::catalog) String);

impl<'s> References<'s> {
    /// Finds every `$id` and anchor, at any position: too many are better than too few.
    pub(in crate::catalog) fn of(root: &'s Value) -> Result<Self, InvalidId> {
        let base = Url::parse(ROOT_BASE).map_err(|error| InvalidId(error.to_string()))?;
        let mut found = Self {
            resources: vec![IdentifiedSchema { base: base.clone(), schema: root }],
            anchors: HashMap::new(),
        };
        found.collect(root, &base)?;
        Ok(found)
    }

    fn collect(&mut self, value: &'s Value, base: &Url) -> Result<(), InvalidId> {
        match value {
            Value::Object(members) => {
                let mut base = base.clone();
                if let Some(Value::String(id)) = members.get("$id") {
                    match id.strip_prefix('#') {
                        Some(anchor) if !anchor.is_empty() => {
                            self.anchors.entry(anchor).or_default().push(value); // as in drafts 6 and 7
                        }
                        _ => base = self.add_resource(value, id, &base)?,
                    }
                }
                for key in ["$anchor", "$dynamicAnchor"] {
                    if let Some(Value::String(name)) = members.get(key) {
                        self.anchors.entry(name).or_default().push(value);
                    }
                }
                members.values().try_for_each(|member| self.collect(member, &base))
            }
            Value::Array(items) => items.iter().try_for_each(|item| self.collect(item, base)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }

    fn add_resource(&mut self, schema: &'s Value, id: &str, base: &Url) -> Result<Url, InvalidId> {
        let Some(own) = resolve(base, id) else {
            return Err(InvalidId(format!("the `$id` `{id}` isn't a valid URI reference")));
        };
        let is_same = |other: &&IdentifiedSchema<'_>| document_key(&other.base) == document_key(&own);
        match self.resources.iter().find(is_same) {
            Some(other) if !std::ptr::eq(other.schema, schema) => {
                return Err(InvalidId(format!("two parts of the schema have the `$id` `{id}`")));
            }
            Some(_) => {}
            None => self.resources.push(IdentifiedSchema { base: own.clone(), schema }),
        }
        if self.resources.len() > MAX_RESOURCES + 1 {
            return Err(InvalidId(format!("more than {MAX_RESOURCES} parts of the schema have an `$id`")));
        }
        Ok(own)
    }

    /// The possible targets of a reference.
    pub(in crate::catalog) fn target(&self, reference: &str) -> Result<ReferenceTarget<'s>, ReferenceError> {
        let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let mut found: Vec<(&Value, Option<String>)> = Vec::new();
        let mut is_local = false;
        let mut is_meta_schema = false;
        let mut add = |target: &'s Value, at| {
            if !found.iter().any(|(other, _)| std::ptr::eq(*other, target)) {
                found.push((target, at));
            }
        };
        for from in &self.resources {
            let Some(address) = resolve(&from.base, document) else { continue };
            let key = document_key(&address);
            is_meta_schema |= META_SCHEMAS.iter().any(|start| address.as_str().starts_with(start));
            for (index, resource) in self.resources.iter().enumerate() {
                if document_key(&resource.base) != key {
                    continue;
                }
                is_local = true;
                if fragment.is_empty() || fragment.starts_with('/') {
                    // Invalid escapes stay as they are.
                    let pointer = percent_decode_str(fragment).decode_utf8_lossy();
                    if let Some(target) = resource.schema.pointer(&pointer) {
                        let is_root = index == 0 || std::ptr::eq(resource.schema, self.resources[0].schema);
                        add(target, is_root.then(|| pointer.into_owned()));
                    }
                } else {
                    let named = self.anchors.get(fragment).into_iter().flatten().copied();
                    named.for_each(|target| add(target, None));
                }
            }
        }
        match (found.is_empty(), is_local, is_meta_schema) {
            (false, ..) => Ok(ReferenceTarget::Local(found)),
            (true, _, true) => Ok(ReferenceTarget::MetaSchema),
            (true, false, false) => Err(ReferenceError::OtherDocument),
            (true, true, false) if fragment.starts_with('/') => Err(ReferenceError::NoTarget),
            (true, true, false) => Err(ReferenceError::NoAnchor),
        }
    }
}

/// `reference` without its fragment, relative to `base`.
fn resolve(base: &Url, reference: &str) -> Option<Url> {
    let (document, _) = reference.split_once('#').unwrap_or((reference, ""));
    // A URN can't be the base of a path, but of an empty reference.
    let mut address = if document.is_empty() { base.clone() } else { base.join(document).ok()? };
    address.set_fragment(None);
    Some(address)
}

/// Equal for all addresses that the validator can take for the same.
fn document_key(address: &Url) -> String {
    percent_decode_str(address.as_str()).decode_utf8_lossy().to_lowercase()
}

/// Replaces the empty reference, which the validator ignores, with `#`: both lead to the document itself.
pub(super) fn replace_empty_references(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get_mut("$ref")
                && reference.is_empty()
            {
                "#".clone_into(reference);
            }
            members.values_mut().for_each(replace_empty_references);
        }
        Value::Array(items) => items.iter_mut().for_each(replace_empty_references),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
