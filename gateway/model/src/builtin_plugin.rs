//! The plugins that are part of the gateway.

/// The prefix of a `source` that names one.
pub const BUILTIN_PREFIX: &str = "builtin:";

/// A plugin that is part of the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BuiltinPlugin {
    /// Files in granted directories.
    Filesystem,
    /// Web pages as readable text.
    Fetch,
    /// Git repositories in granted directories.
    Git,
    /// A knowledge graph.
    Memory,
    /// Thinking in steps.
    SequentialThinking,
    /// The current time, and conversions between time zones.
    Time,
    /// The fixture of the conformance suite.
    Everything,
}

impl BuiltinPlugin {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; 7] = [
        Self::Filesystem,
        Self::Fetch,
        Self::Git,
        Self::Memory,
        Self::SequentialThinking,
        Self::Time,
        Self::Everything,
    ];

    /// The name after `builtin:`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Filesystem => "filesystem",
            Self::Fetch => "fetch",
            Self::Git => "git",
            Self::Memory => "memory",
            Self::SequentialThinking => "sequential-thinking",
            Self::Time => "time",
            Self::Everything => "everything",
        }
    }

    /// The plugin with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|plugin| plugin.name() == name)
    }

    /// The plugin that a value of `source` names. No path of a component starts like one, because it is absolute.
    #[must_use]
    pub fn from_source(source: &str) -> Option<Self> {
        source.strip_prefix(BUILTIN_PREFIX).and_then(Self::named)
    }

    /// The value of `source` that names it.
    #[must_use]
    pub fn source(self) -> String {
        format!("{BUILTIN_PREFIX}{}", self.name())
    }
}
