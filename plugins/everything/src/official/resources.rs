//! Resources that are made from a number, as text or as bytes.

use std::time::{SystemTime, UNIX_EPOCH};

use moongate_sdk::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The type of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) enum ResourceKind {
    #[default]
    Text,
    Blob,
}

impl ResourceKind {
    /// All types.
    pub(crate) const ALL: [Self; 2] = [Self::Text, Self::Blob];

    /// The name, which is also the value of arguments.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "Text",
            Self::Blob => "Blob",
        }
    }

    /// The URI of a resource.
    pub(crate) fn uri(self, id: u64) -> String {
        format!("demo://resource/dynamic/{}/{id}", self.name().to_lowercase())
    }

    /// The content of a resource, with the time in UTC.
    pub(crate) fn contents(self, uri: &str, id: u64) -> ResourceContents {
        let time = time_of_day();
        let contents = match self {
            Self::Text => {
                let text = format!("Resource {id}: This is a plaintext resource created at {time}");
                ResourceContents::text(uri, text)
            }
            Self::Blob => {
                let text = format!("Resource {id}: This is a base64 blob created at {time}");
                ResourceContents::blob(uri, text.into_bytes())
            }
        };
        contents.mime_type("text/plain")
    }
}

/// The number of a resource, if it is a positive integer.
pub(crate) fn number(value: f64) -> Option<u64> {
    value.to_string().parse().ok().filter(|id| *id > 0)
}

/// The number in an argument or URI.
pub(crate) fn parsed_number(text: &str) -> Option<u64> {
    number(text.trim().parse().ok()?)
}

/// The resource with this URI.
pub(crate) fn read(kind: ResourceKind, uri: &str, id: &str) -> Result<ResourceContents, ToolError> {
    let id = parsed_number(id).ok_or_else(|| ToolError::not_found(format!("Unknown resource: {uri}")))?;
    Ok(kind.contents(uri, id))
}

/// The suggestions for a number: the number itself, if it is valid.
pub(crate) fn numbers(typed: &str) -> Vec<String> {
    parsed_number(typed).map(|_| typed.to_owned()).into_iter().collect()
}

/// The suggestions for a type.
pub(crate) fn kinds(typed: &str) -> Vec<&'static str> {
    ResourceKind::ALL.map(ResourceKind::name).into_iter().filter(|name| name.starts_with(typed)).collect()
}

/// The current time of day in UTC, such as `8:30:12 PM`.
fn time_of_day() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (hour, minute, second) = (now / 3600 % 24, now / 60 % 60, now % 60);
    let half = if hour < 12 { "AM" } else { "PM" };
    let hour = if hour % 12 == 0 { 12 } else { hour % 12 };
    format!("{hour}:{minute:02}:{second:02} {half}")
}
