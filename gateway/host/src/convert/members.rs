//! The members of a JSON object that a plugin passed as a string, in order and without duplicate keys.

use std::collections::HashSet;
use std::fmt;

use moongate_model::json::Json;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};

use super::ConvertError;

/// The remaining members of an object.
#[derive(Debug)]
pub(super) struct Members(Vec<(String, Json)>);

impl Members {
    /// Reads an object.
    pub(super) fn read(json: &Json) -> Result<Self, ConvertError> {
        serde_json::from_str(json.get())
            .map_err(|error| ConvertError::new(format!("not a JSON object: {error}")))
    }

    /// Removes and returns a member.
    pub(super) fn take(&mut self, key: &str) -> Option<Json> {
        let at = self.0.iter().position(|(name, _)| name == key)?;
        Some(self.0.remove(at).1)
    }

    /// Removes and parses a member.
    pub(super) fn optional<T: for<'de> Deserialize<'de>>(
        &mut self,
        key: &str,
    ) -> Result<Option<T>, ConvertError> {
        let Some(json) = self.take(key) else { return Ok(None) };
        serde_json::from_str(json.get()).map_err(|error| ConvertError::new(format!("`{key}`: {error}")))
    }

    /// Removes and parses a required member.
    pub(super) fn required<T: for<'de> Deserialize<'de>>(&mut self, key: &str) -> Result<T, ConvertError> {
        self.optional(key)?.ok_or_else(|| ConvertError::new(format!("`{key}` is missing")))
    }

    /// Removes an optional object.
    pub(super) fn object(&mut self, key: &str) -> Result<Option<Self>, ConvertError> {
        self.take(key)
            .map(|json| Self::read(&json).map_err(|error| error.at(format_args!("`{key}`"))))
            .transpose()
    }

    /// The remaining members.
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
