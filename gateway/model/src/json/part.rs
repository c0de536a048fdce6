//! A value in a larger JSON text, as written.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{Json, lookup, strict};

/// A value in a larger text: valid JSON. It remembers if the whole text has passed the strict check, so that no part of
/// it is checked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonPart<'a> {
    text: &'a str,
    is_strict: bool,
}

impl<'a> JsonPart<'a> {
    /// The whole text, if it passes a fast strict check. `None` doesn't mean that it is invalid, only that it needs a
    /// closer look. Accepted text has no lone surrogates.
    #[must_use]
    pub fn accept(text: &'a str) -> Option<Self> {
        strict::accept(text).ok().map(|_| Self { text: text.trim_ascii(), is_strict: true })
    }

    /// The text.
    #[must_use]
    pub fn get(self) -> &'a str {
        self.text
    }

    /// A copy, after the strict check of [`check_strict`](super::check_strict).
    ///
    /// # Errors
    /// Those of the check.
    pub fn to_strict_json(self) -> Result<Json, serde_json::Error> {
        if self.is_strict {
            Ok(Json::on_one_line(self.text.to_owned()))
        } else {
            Json::parse_strict(self.text)
        }
    }

    /// A copy. Duplicate keys are allowed.
    #[must_use]
    pub fn to_json(self) -> Json {
        if self.is_strict {
            return Json::on_one_line(self.text.to_owned());
        }
        Json::parse(self.text).expect("a part of valid JSON")
    }

    /// Visits the members of an object in their order, until the first error. Other values have none.
    ///
    /// # Errors
    /// The error of `visit`.
    pub fn visit_members<E>(
        self,
        mut visit: impl FnMut(Cow<'a, str>, Self) -> Result<(), E>,
    ) -> Result<(), E> {
        lookup::visit_members(self.text, |name, text| visit(name, Self { text, ..self }))
    }

    /// Visits the elements of an array in their order, until the first error. Other values have none.
    ///
    /// # Errors
    /// The error of `visit`.
    pub fn visit_elements<E>(self, mut visit: impl FnMut(Self) -> Result<(), E>) -> Result<(), E> {
        lookup::visit_elements(self.text, |text| visit(Self { text, ..self }))
    }
}

impl<'a> From<&'a RawValue> for JsonPart<'a> {
    fn from(raw: &'a RawValue) -> Self {
        Self { text: raw.get(), is_strict: false }
    }
}

impl<'a> From<&'a Json> for JsonPart<'a> {
    fn from(json: &'a Json) -> Self {
        Self { text: json.get(), is_strict: false }
    }
}
