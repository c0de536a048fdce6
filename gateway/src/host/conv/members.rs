//! The members of a JSON object that a plugin handed over as text, in their order, each key once.

use std::collections::HashSet;
use std::fmt;

use moongate_core::json::Json;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};

use super::Bad;

/// What is left of an object while its known members are taken out.
#[derive(Debug)]
pub(super) struct Members(Vec<(String, Json)>);

impl Members {
    /// Reads an object.
    pub(super) fn read(json: &Json) -> Result<Self, Bad> {
        serde_json::from_str(json.get()).map_err(|error| Bad::new(format!("it is no JSON object: {error}")))
    }

    /// Takes a member out.
    pub(super) fn take(&mut self, key: &str) -> Option<Json> {
        let at = self.0.iter().position(|(its, _)| its == key)?;
        Some(self.0.remove(at).1)
    }

    /// Takes a member out and reads it.
    pub(super) fn read_as<T: for<'de> Deserialize<'de>>(&mut self, key: &str) -> Result<Option<T>, Bad> {
        let Some(json) = self.take(key) else { return Ok(None) };
        serde_json::from_str(json.get()).map_err(|error| Bad::new(format!("`{key}`: {error}")))
    }

    /// Takes a member out that must be there, and reads it.
    pub(super) fn need<T: for<'de> Deserialize<'de>>(&mut self, key: &str) -> Result<T, Bad> {
        self.read_as(key)?.ok_or_else(|| Bad::new(format!("`{key}` is missing")))
    }

    /// Takes an object out that may be missing.
    pub(super) fn object(&mut self, key: &str) -> Result<Option<Self>, Bad> {
        self.take(key)
            .map(|json| Self::read(&json).map_err(|bad| bad.at(format_args!("`{key}`"))))
            .transpose()
    }

    /// Everything that wasn't taken.
    pub(super) fn rest(self) -> Option<Vec<(String, String)>> {
        let all = self.0.into_iter().map(|(key, value)| (key, value.get().to_owned()));
        Some(all.collect())
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members: Vec<(String, Json)> = Vec::new();
                let mut seen = HashSet::new();
                while let Some((key, value)) = map.next_entry::<String, Json>()? {
                    if !seen.insert(key.clone()) {
                        return Err(A::Error::custom(format_args!("duplicate key `{key}`")));
                    }
                    members.push((key, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}
