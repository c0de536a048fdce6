//! A request's `params`: parsed once, strictly, together with the text that is passed on (2025-11-25, basic).
//!
//! The gateway checks the value; a plugin gets the text. Duplicate keys are rejected at any depth, so that both are
//! equivalent.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::OwnedSemaphorePermit;

use crate::call::LogLevel;
use crate::json::{self, Json};
use crate::text::quotable;

use super::errors::ProtocolError;

/// The parameters of one request: an object, by name.
#[derive(Debug, Clone, Default)]
pub struct Params {
    value: Map<String, Value>,
    /// `arguments` as written.
    arguments: Option<Json>,
    /// `_meta` as written.
    meta: Option<Json>,
    /// `inputResponses` as written.
    responses: Option<Json>,
    /// The memory permit of a large request.
    _memory_permit: Option<Arc<OwnedSemaphorePermit>>,
}

impl Params {
    /// Reads the parameters. Absent ones are an empty object.
    ///
    /// # Errors
    /// -32602: the parameters aren't an object, or have a duplicate key.
    pub fn read(raw: Option<&RawValue>) -> Result<Self, ProtocolError> {
        let Some(raw) = raw else { return Ok(Self::default()) };
        match json::parse_strict(raw.get()) {
            Ok(Value::Object(value)) => {
                let keys = ["arguments", "_meta", "inputResponses"];
                let [arguments, meta, responses] =
                    json::members(raw.get(), keys).map(|it| it.map(Json::from));
                Ok(Self { value, arguments, meta, responses, _memory_permit: None })
            }
            Ok(_) => Err(ProtocolError::params("", "`params` must be an object")),
            Err(error) => Err(ProtocolError::params("", &format!("`params` can't be read: {error}"))),
        }
    }

    /// The same parameters, holding a memory permit until they are dropped.
    #[must_use]
    pub fn with_memory_permit(self, room: OwnedSemaphorePermit) -> Self {
        Self { _memory_permit: Some(Arc::new(room)), ..self }
    }

    /// A member.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.value.get(key)
    }

    /// A string member, such as the name that a header repeats.
    #[must_use]
    pub fn name(&self, key: &str) -> Option<&str> {
        self.value.get(key)?.as_str()
    }

    /// Reports whether the request continues an earlier one.
    pub(super) fn continues_earlier_request(&self) -> bool {
        self.value.contains_key("inputResponses") || self.value.contains_key("requestState")
    }

    /// The answers to questions of an earlier round, not validated.
    pub(super) fn input_responses(&self) -> Option<&Json> {
        self.responses.as_ref()
    }

    /// All members, sorted by name.
    pub(super) fn sorted(&self) -> Vec<(&str, &Value)> {
        let mut all: Vec<_> = self.value.iter().map(|(key, value)| (key.as_str(), value)).collect();
        all.sort_by_key(|(key, _)| *key);
        all
    }

    /// A tool's arguments, as text and as value.
    pub(super) fn arguments(&self) -> Option<(&Json, &Value)> {
        Some((self.arguments.as_ref()?, self.value.get("arguments")?))
    }

    /// A required string.
    pub(super) fn string(&self, key: &str) -> Result<&str, ProtocolError> {
        match self.value.get(key) {
            Some(Value::String(text)) => Ok(text),
            Some(_) => Err(ProtocolError::params(&format!("/{key}"), &format!("`{key}` must be a string"))),
            None => Err(ProtocolError::params(&format!("/{key}"), &format!("`{key}` is missing"))),
        }
    }

    /// A member of `_meta`.
    pub(super) fn meta(&self, key: &str) -> Option<&Value> {
        self.value.get("_meta")?.get(key)
    }

    /// The level of `logging/setLevel`.
    ///
    /// # Errors
    /// -32602: the level is missing or not one of the eight.
    pub fn level(&self) -> Result<LogLevel, ProtocolError> {
        let name = self.string("level")?;
        LogLevel::from_name(name).ok_or_else(|| {
            ProtocolError::params(
                "/level",
                "`level` must be debug, info, notice, warning, error, critical, alert or emergency",
            )
        })
    }

    /// `_meta` as text, if it is an object.
    pub(super) fn meta_text(&self) -> Option<&Json> {
        self.meta.as_ref().filter(|meta| meta.is_object())
    }

    /// Arguments whose values are all strings: of a prompt, or the context of a completion.
    pub(super) fn strings(value: Option<&Value>, at: &str) -> Result<Vec<(String, String)>, ProtocolError> {
        match value {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Object(members)) => members
                .iter()
                .map(|(key, value)| match value {
                    Value::String(text) => Ok((key.clone(), text.clone())),
                    _ => Err(ProtocolError::params(
                        &format!("{at}/{}", json::pointer_step(key)),
                        &format!("`{}` must be a string, not {}", quotable(key), json::type_of(value)),
                    )),
                })
                .collect(),
            Some(_) => Err(ProtocolError::params(at, "the arguments must be an object")),
        }
    }
}
