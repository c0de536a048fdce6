//! A component's imports and exports. They show everything that the component can request.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// The interfaces of one component.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interfaces {
    /// The full names of its imports, such as `wasi:io/streams@0.2.6`, in order.
    pub imports: Vec<String>,
    /// The full names of its exports, in order.
    pub exports: Vec<String>,
    /// The capabilities that need a grant, derived from the imported functions.
    pub capabilities: BTreeSet<GuestCapability>,
    /// The size of its file, in bytes.
    pub file_size: u64,
    /// The documentation of its exported functions, if it contains any.
    pub documentation: BTreeMap<String, String>,
}

/// A capability that works only if `gateway.toml` grants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum GuestCapability {
    /// Opening files (`wasi:filesystem/types`).
    Files,
    /// Sending requests (`wasi:http/outgoing-handler`).
    Http,
    /// Keeping state (`wasi:keyvalue`).
    State,
    /// Reading environment variables (`wasi:cli/environment`).
    Variables,
    /// Reading its settings (`wasi:config/store`).
    Settings,
    /// Asking the user, the model or the client (`moongate:plugin/request.answer`).
    Client,
}

impl GuestCapability {
    /// All capabilities.
    pub const ALL: [Self; 6] =
        [Self::Files, Self::Http, Self::State, Self::Variables, Self::Settings, Self::Client];

    /// The capability that an imported interface needs, with or without its version. For some interfaces it depends on
    /// their functions, because standard libraries import more of them than they use.
    pub fn of_import(name: &str, imports_function: impl Fn(&str) -> bool) -> Option<Self> {
        let interface = name.split_once('@').map_or(name, |(interface, _)| interface);
        match interface {
            "wasi:filesystem/types" => imports_function("[method]descriptor.open-at").then_some(Self::Files),
            "wasi:http/outgoing-handler" => imports_function("handle").then_some(Self::Http),
            "wasi:keyvalue/store" | "wasi:keyvalue/atomics" => Some(Self::State),
            "wasi:cli/environment" => imports_function("get-environment").then_some(Self::Variables),
            "wasi:config/store" => Some(Self::Settings),
            "moongate:plugin/request" => imports_function("answer").then_some(Self::Client),
            _ => None,
        }
    }

    /// The key of `gateway.toml` that grants it: in the plugin's `allow` table, except for `config`.
    #[must_use]
    pub fn config_key(self) -> &'static str {
        match self {
            Self::Files => "dirs",
            Self::Http => "http",
            Self::State => "state",
            Self::Variables => "env",
            Self::Settings => "config",
            Self::Client => "client",
        }
    }

    /// A verb phrase that follows "it can".
    #[must_use]
    pub fn verb_phrase(self) -> &'static str {
        match self {
            Self::Files => "open files",
            Self::Http => "send requests",
            Self::State => "keep state",
            Self::Variables => "read environment variables",
            Self::Settings => "read its settings",
            Self::Client => "ask the client",
        }
    }

    /// Reports whether an import is a deliberate choice of the author. Standard libraries import files and variables
    /// even if the program never uses them.
    #[must_use]
    pub fn is_deliberate(self) -> bool {
        match self {
            Self::Http | Self::State | Self::Settings | Self::Client => true,
            Self::Files | Self::Variables => false,
        }
    }

    /// An example line of `gateway.toml` that grants it.
    #[must_use]
    pub fn example_line(self) -> &'static str {
        match self {
            Self::Files => "dirs = [{ host = \"./notes\", guest = \"/notes\", mode = \"ro\" }]",
            Self::Http => "http = [\"https://example.com\"]",
            Self::State => "state = true",
            Self::Variables => "env = [\"LANG\"]",
            Self::Settings => "key = \"value\"",
            Self::Client => "client = [\"elicitation\"]",
        }
    }
}
