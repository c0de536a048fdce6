//! The released MCP revisions, and the features of each (2025-03-26, changelog; 2025-06-18, changelog; 2025-11-25,
//! changelog; 2026-07-28, changelog).
//!
//! Other modules don't compare revisions; they ask whether a revision [has](Revision::has) a [`Feature`].

use std::fmt;

/// A released revision of the Model Context Protocol, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// 2024-11-05: stdio, and HTTP with a separate event stream.
    V2024_11_05,
    /// 2025-03-26: Streamable HTTP, batches, audio, tool annotations.
    V2025_03_26,
    /// 2025-06-18: structured results, elicitation, resource links.
    V2025_06_18,
    /// 2025-11-25: icons, URL elicitation, input errors as tool errors.
    V2025_11_25,
    /// 2026-07-28: stateless; no handshake and no sessions.
    V2026_07_28,
}

/// The start of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// With `initialize`, whose result applies to the session.
    Handshake,
    /// Without a handshake: every request carries its context.
    Stateless,
}

/// A feature that depends on the revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// Several messages in one array (only in 2025-03-26).
    Batches,
    /// `annotations` of a tool.
    ToolHints,
    /// Content blocks with the type `audio`.
    Audio,
    /// `completions` among the server's capabilities.
    CompletionsCapability,
    /// `message` of a progress notification.
    ProgressMessages,
    /// `title` in addition to `name`.
    Titles,
    /// `_meta` on listed items and content blocks.
    ItemMeta,
    /// `annotations.lastModified`.
    LastModified,
    /// Content blocks with the type `resource_link`.
    ResourceLinks,
    /// `outputSchema` and `structuredContent`.
    Structured,
    /// `icons`, and a server's `description` and `websiteUrl`.
    Icons,
    /// Invalid arguments are reported to the model, not to the program (SEP-1303).
    InputErrorsAsResults,
    /// An error whose request couldn't be read may omit `id`.
    OptionalErrorId,
    /// Event streams start with an event id, and may be closed early.
    Priming,
    /// Questions to the user.
    Elicitation,
    /// Multiple choice in forms, defaults of all kinds, `mode`, and questions that open a page.
    RichForms,
    /// `elicitationId`, and `_meta` in the parameters of questions to users and models (only in 2025-11-25).
    QuestionMeta,
    /// Tools, and messages of several blocks, in requests to the model.
    SamplingTools,
    /// `structuredContent` of any JSON type.
    AnyStructured,
    /// `true` and `false` as the schema of a property.
    BooleanSchemas,
    /// `resultType` and caching hints.
    ResultTypes,
}

impl Revision {
    /// All revisions, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];

    /// The result of `initialize` if the client requests an unknown or stateless revision.
    pub const LATEST_HANDSHAKE: Self = Self::V2025_11_25;

    /// The stateless revisions, which `server/discover` lists.
    pub const STATELESS: [Self; 1] = [Self::V2026_07_28];

    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision with that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == name)
    }

    /// The start of a conversation.
    #[must_use]
    pub fn era(self) -> Era {
        if Self::STATELESS.contains(&self) { Era::Stateless } else { Era::Handshake }
    }

    /// Reports whether the revision has `feature`.
    #[must_use]
    pub fn has(self, feature: Feature) -> bool {
        let (first, last) = feature.span();
        first <= self && self <= last
    }
}

impl Feature {
    /// The first and the last revision that have it.
    fn span(self) -> (Revision, Revision) {
        const NOW: Revision = Revision::V2026_07_28;
        match self {
            Self::Batches => (Revision::V2025_03_26, Revision::V2025_03_26),
            Self::ToolHints | Self::Audio | Self::CompletionsCapability | Self::ProgressMessages => {
                (Revision::V2025_03_26, NOW)
            }
            Self::Titles
            | Self::ItemMeta
            | Self::LastModified
            | Self::ResourceLinks
            | Self::Structured
            | Self::Elicitation => (Revision::V2025_06_18, NOW),
            Self::Icons
            | Self::InputErrorsAsResults
            | Self::OptionalErrorId
            | Self::RichForms
            | Self::SamplingTools => (Revision::V2025_11_25, NOW),
            Self::QuestionMeta | Self::Priming => (Revision::V2025_11_25, Revision::V2025_11_25),
            Self::AnyStructured | Self::BooleanSchemas | Self::ResultTypes => (NOW, NOW),
        }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
