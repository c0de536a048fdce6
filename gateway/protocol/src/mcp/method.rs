//! MCP's methods, and the revisions that have them (2025-11-25, schema; 2026-07-28, schema and changelog).

use super::revision::{Era, Revision};

/// A request method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// Starts a session.
    Initialize,
    /// Checks that the server is alive.
    Ping,
    /// Requests the server's identity and capabilities.
    Discover,
    /// Lists tools.
    ListTools,
    /// Calls a tool.
    CallTool,
    /// Lists resources.
    ListResources,
    /// Lists resource templates.
    ListTemplates,
    /// Reads a resource.
    ReadResource,
    /// Lists prompts.
    ListPrompts,
    /// Fills in a prompt.
    GetPrompt,
    /// Suggests values for an argument.
    Complete,
    /// Sets the level of log messages.
    SetLevel,
    /// Subscribes to a resource's changes.
    Subscribe,
    /// Ends a subscription.
    Unsubscribe,
    /// Opens a notification stream.
    Listen,
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 15] = [
        Self::Initialize,
        Self::Ping,
        Self::Discover,
        Self::ListTools,
        Self::CallTool,
        Self::ListResources,
        Self::ListTemplates,
        Self::ReadResource,
        Self::ListPrompts,
        Self::GetPrompt,
        Self::Complete,
        Self::SetLevel,
        Self::Subscribe,
        Self::Unsubscribe,
        Self::Listen,
    ];

    /// Reports whether a request can end in questions to the client (2026-07-28, basic/patterns/mrtr).
    #[must_use]
    pub fn may_ask(self) -> bool {
        match self {
            Self::CallTool | Self::ReadResource | Self::GetPrompt => true,
            Self::Initialize
            | Self::Ping
            | Self::Discover
            | Self::ListTools
            | Self::ListResources
            | Self::ListTemplates
            | Self::ListPrompts
            | Self::Complete
            | Self::SetLevel
            | Self::Subscribe
            | Self::Unsubscribe
            | Self::Listen => false,
        }
    }

    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Ping => "ping",
            Self::Discover => "server/discover",
            Self::ListTools => "tools/list",
            Self::CallTool => "tools/call",
            Self::ListResources => "resources/list",
            Self::ListTemplates => "resources/templates/list",
            Self::ReadResource => "resources/read",
            Self::ListPrompts => "prompts/list",
            Self::GetPrompt => "prompts/get",
            Self::Complete => "completion/complete",
            Self::SetLevel => "logging/setLevel",
            Self::Subscribe => "resources/subscribe",
            Self::Unsubscribe => "resources/unsubscribe",
            Self::Listen => "subscriptions/listen",
        }
    }

    /// The method with that name, if `revision` has it and the gateway supports it.
    #[must_use]
    pub fn find(name: &str, revision: Revision) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.as_str() == name && method.is_supported_in(revision))
    }

    /// Reports whether `revision` has this method and the gateway supports it.
    #[must_use]
    pub fn is_supported_in(self, revision: Revision) -> bool {
        match self {
            Self::Initialize | Self::Ping | Self::SetLevel | Self::Subscribe | Self::Unsubscribe => {
                revision.era() == Era::Handshake
            }
            Self::Discover | Self::Listen => revision.era() == Era::Stateless,
            Self::ListTools
            | Self::CallTool
            | Self::ListResources
            | Self::ListTemplates
            | Self::ReadResource
            | Self::ListPrompts
            | Self::GetPrompt
            | Self::Complete => true,
        }
    }

    /// The member of `params` that the `Mcp-Name` header repeats (2026-07-28, Streamable HTTP).
    #[must_use]
    pub fn name_member(self) -> Option<&'static str> {
        match self {
            Self::CallTool | Self::GetPrompt => Some("name"),
            Self::ReadResource => Some("uri"),
            Self::Initialize
            | Self::Ping
            | Self::Discover
            | Self::ListTools
            | Self::ListResources
            | Self::ListTemplates
            | Self::ListPrompts
            | Self::Complete
            | Self::SetLevel
            | Self::Subscribe
            | Self::Unsubscribe
            | Self::Listen => None,
        }
    }
}
