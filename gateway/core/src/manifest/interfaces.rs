//! What a component imports and exports: what it could ask for, whether or not it ever does.

use std::collections::BTreeSet;

/// The interfaces of one component.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interfaces {
    /// Full names of what it imports, such as `wasi:io/streams@0.2.6`, in order.
    pub imports: Vec<String>,
    /// Full names of what it exports, in order.
    pub exports: Vec<String>,
    /// What it needs grants for, going by the functions that it imports.
    pub needs: BTreeSet<Need>,
    /// The size of its file, in bytes.
    pub size: u64,
}

/// Something that works only as far as `gateway.toml` grants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Need {
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
    /// Asking the person, the model or the client (`moongate:plugin/request.answer`).
    Client,
}

impl Need {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Files, Self::Http, Self::State, Self::Variables, Self::Settings, Self::Client];

    /// The key of `gateway.toml` that is for it: in the plugin's `allow` table, but for `config`.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Files => "dirs",
            Self::Http => "http",
            Self::State => "state",
            Self::Variables => "env",
            Self::Settings => "config",
            Self::Client => "client",
        }
    }

    /// What it is, to stand after "it can".
    #[must_use]
    pub fn verb(self) -> &'static str {
        match self {
            Self::Files => "open files",
            Self::Http => "send requests",
            Self::State => "keep state",
            Self::Variables => "read environment variables",
            Self::Settings => "read its settings",
            Self::Client => "ask the client",
        }
    }

    /// Does importing it say that the author wanted it? Standard libraries import files and variables whether or not
    /// anybody uses them.
    #[must_use]
    pub fn is_deliberate(self) -> bool {
        match self {
            Self::Http | Self::State | Self::Settings | Self::Client => true,
            Self::Files | Self::Variables => false,
        }
    }

    /// A line of `gateway.toml` that would grant it, to be filled in.
    #[must_use]
    pub fn example(self) -> &'static str {
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
