//! The definition of each method in each revision.

use serde_json::Value;

use crate::Revision;

/// The first and the last revision of a definition, and its name.
type Span = (Revision, Revision, &'static str);

const FIRST: Revision = Revision::V2024_11_05;
const HANDSHAKE: Revision = Revision::V2025_11_25;
const STATELESS: Revision = Revision::V2026_07_28;

fn within((first, last, definition): Span, revision: Revision) -> Option<&'static str> {
    (first <= revision && revision <= last).then_some(definition)
}

/// The definition of the result of `method`. If a method has two kinds of results, `result` determines which one.
pub(crate) fn result(revision: Revision, method: &str, result: &Value) -> Option<&'static str> {
    let asks = revision.is_stateless() && result["resultType"] == "input_required";
    let span = match method {
        "tools/call" | "prompts/get" | "resources/read" if asks => {
            (STATELESS, STATELESS, "InputRequiredResult")
        }
        "initialize" => (FIRST, HANDSHAKE, "InitializeResult"),
        "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => {
            (FIRST, HANDSHAKE, "EmptyResult")
        }
        "server/discover" => (STATELESS, STATELESS, "DiscoverResult"),
        "subscriptions/listen" => (STATELESS, STATELESS, "SubscriptionsListenResult"),
        "tools/list" => (FIRST, STATELESS, "ListToolsResult"),
        "tools/call" => (FIRST, STATELESS, "CallToolResult"),
        "resources/list" => (FIRST, STATELESS, "ListResourcesResult"),
        "resources/templates/list" => (FIRST, STATELESS, "ListResourceTemplatesResult"),
        "resources/read" => (FIRST, STATELESS, "ReadResourceResult"),
        "prompts/list" => (FIRST, STATELESS, "ListPromptsResult"),
        "prompts/get" => (FIRST, STATELESS, "GetPromptResult"),
        "completion/complete" => (FIRST, STATELESS, "CompleteResult"),
        _ => return None,
    };
    within(span, revision)
}

/// The definition of a server's notification.
pub(crate) fn notification(revision: Revision, method: &str) -> Option<&'static str> {
    let span = match method {
        "notifications/cancelled" => (FIRST, STATELESS, "CancelledNotification"),
        "notifications/progress" => (FIRST, STATELESS, "ProgressNotification"),
        "notifications/message" => (FIRST, STATELESS, "LoggingMessageNotification"),
        "notifications/tools/list_changed" => (FIRST, STATELESS, "ToolListChangedNotification"),
        "notifications/prompts/list_changed" => (FIRST, STATELESS, "PromptListChangedNotification"),
        "notifications/resources/list_changed" => (FIRST, STATELESS, "ResourceListChangedNotification"),
        "notifications/resources/updated" => (FIRST, STATELESS, "ResourceUpdatedNotification"),
        "notifications/elicitation/complete" => (HANDSHAKE, HANDSHAKE, "ElicitationCompleteNotification"),
        "notifications/subscriptions/acknowledged" => {
            (STATELESS, STATELESS, "SubscriptionsAcknowledgedNotification")
        }
        _ => return None,
    };
    within(span, revision)
}

/// The definition of a server's request.
pub(crate) fn request(revision: Revision, method: &str) -> Option<&'static str> {
    let span = match method {
        "ping" => (FIRST, HANDSHAKE, "PingRequest"),
        "roots/list" => (FIRST, HANDSHAKE, "ListRootsRequest"),
        "sampling/createMessage" => (FIRST, HANDSHAKE, "CreateMessageRequest"),
        "elicitation/create" => (Revision::V2025_06_18, HANDSHAKE, "ElicitRequest"),
        _ => return None,
    };
    within(span, revision)
}

/// The definition of an error code. `None` means that the code has no definition.
pub(crate) fn error(revision: Revision, code: i64) -> Option<&'static str> {
    let span = match code {
        -32042 => (HANDSHAKE, HANDSHAKE, "URLElicitationRequiredError"),
        -32022 => (STATELESS, STATELESS, "UnsupportedProtocolVersionError"),
        -32021 => (STATELESS, STATELESS, "MissingRequiredClientCapabilityError"),
        -32020 => (STATELESS, STATELESS, "HeaderMismatchError"),
        _ => return None,
    };
    within(span, revision)
}
