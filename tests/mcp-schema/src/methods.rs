//! Which definition belongs to which method, in which revision.

use serde_json::Value;

use crate::Revision;

/// The first and the last revision that have something, and the name of its definition.
type Span = (Revision, Revision, &'static str);

const FIRST: Revision = Revision::V2024_11_05;
const HANDSHAKE: Revision = Revision::V2025_11_25;
const NOW: Revision = Revision::V2026_07_28;

fn within((first, last, definition): Span, revision: Revision) -> Option<&'static str> {
    (first <= revision && revision <= last).then_some(definition)
}

/// The definition of what answers `method`; some methods have two kinds of answers, and the answer says which it is.
pub(crate) fn result(revision: Revision, method: &str, result: &Value) -> Option<&'static str> {
    let asks = revision.is_stateless() && result["resultType"] == "input_required";
    let span = match method {
        "tools/call" | "prompts/get" | "resources/read" if asks => (NOW, NOW, "InputRequiredResult"),
        "initialize" => (FIRST, HANDSHAKE, "InitializeResult"),
        "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => {
            (FIRST, HANDSHAKE, "EmptyResult")
        }
        "server/discover" => (NOW, NOW, "DiscoverResult"),
        "subscriptions/listen" => (NOW, NOW, "SubscriptionsListenResult"),
        "tools/list" => (FIRST, NOW, "ListToolsResult"),
        "tools/call" => (FIRST, NOW, "CallToolResult"),
        "resources/list" => (FIRST, NOW, "ListResourcesResult"),
        "resources/templates/list" => (FIRST, NOW, "ListResourceTemplatesResult"),
        "resources/read" => (FIRST, NOW, "ReadResourceResult"),
        "prompts/list" => (FIRST, NOW, "ListPromptsResult"),
        "prompts/get" => (FIRST, NOW, "GetPromptResult"),
        "completion/complete" => (FIRST, NOW, "CompleteResult"),
        _ => return None,
    };
    within(span, revision)
}

/// The definition of a notification that a server may send.
pub(crate) fn notification(revision: Revision, method: &str) -> Option<&'static str> {
    let span = match method {
        "notifications/cancelled" => (FIRST, NOW, "CancelledNotification"),
        "notifications/progress" => (FIRST, NOW, "ProgressNotification"),
        "notifications/message" => (FIRST, NOW, "LoggingMessageNotification"),
        "notifications/tools/list_changed" => (FIRST, NOW, "ToolListChangedNotification"),
        "notifications/prompts/list_changed" => (FIRST, NOW, "PromptListChangedNotification"),
        "notifications/resources/list_changed" => (FIRST, NOW, "ResourceListChangedNotification"),
        "notifications/resources/updated" => (FIRST, NOW, "ResourceUpdatedNotification"),
        "notifications/elicitation/complete" => (HANDSHAKE, HANDSHAKE, "ElicitationCompleteNotification"),
        "notifications/subscriptions/acknowledged" => (NOW, NOW, "SubscriptionsAcknowledgedNotification"),
        _ => return None,
    };
    within(span, revision)
}

/// The definition of a request that a server may make.
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

/// The definition of errors with a code of their own.
pub(crate) fn error(revision: Revision, code: i64) -> Option<&'static str> {
    let span = match code {
        -32042 => (HANDSHAKE, HANDSHAKE, "URLElicitationRequiredError"),
        -32022 => (NOW, NOW, "UnsupportedProtocolVersionError"),
        -32021 => (NOW, NOW, "MissingRequiredClientCapabilityError"),
        -32020 => (NOW, NOW, "HeaderMismatchError"),
        _ => return None,
    };
    within(span, revision)
}
