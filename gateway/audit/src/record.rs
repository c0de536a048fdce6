//! The content of a line.
//!
//! Members that don't apply are left out. Names are stable: tools that read the log depend on them, and a change of
//! their meaning raises [`RECORD_VERSION`].

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::SystemTime;

use moongate_model::text::is_hidden_in_uri;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// The version of the lines.
pub(crate) const RECORD_VERSION: u32 = 1;

/// The longest text of a member that others choose, in bytes.
const MAX_TEXT_BYTES: usize = 1024;

/// The kind of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditEvent {
    /// A call to a tool.
    ToolCall,
    /// A read of a resource.
    ResourceRead,
    /// A prompt was filled in.
    PromptGet,
    /// An argument was completed.
    Completion,
    /// A request that was refused before it reached a plugin.
    Request,
    /// A caller that wasn't authenticated.
    Authentication,
    /// The gateway started.
    GatewayStart,
    /// The gateway stopped.
    GatewayStop,
    /// A configuration was applied or rejected.
    Configuration,
    /// A plugin got other grants.
    Grants,
    /// A plugin got other code.
    Code,
    /// A request at the admin listener, or a signal.
    Admin,
    /// A new file begins.
    LogRotated,
    /// The file ended within a line, which this record accounts for.
    LogRepaired,
    /// Lines that this gateway had written or read are gone.
    LogShortened,
    /// Records were dropped.
    LogDropped,
}

/// The outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditOutcome {
    /// It was allowed, and it succeeded.
    Allowed,
    /// It was refused: no right, no such name, or invalid arguments.
    Denied,
    /// A limit refused or ended it.
    Limited,
    /// It was allowed, and it failed.
    Failed,
    /// The caller ended it.
    Cancelled,
    /// It took too long.
    TimedOut,
}

/// The kind of a caller's identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PrincipalKind {
    /// The process that started the gateway over stdio.
    Local,
    /// The holder of a static token.
    Token,
    /// A subject of an OAuth issuer.
    Subject,
    /// The holder of a client certificate.
    Certificate,
    /// A user of this machine, over the Unix socket.
    User,
    /// Someone who tried a tool on the status page.
    Operator,
    /// A caller without credentials.
    Anonymous,
}

/// The party that acted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct AuditPrincipal {
    /// The kind.
    pub kind: PrincipalKind,
    /// The name of the token or certificate, the subject's display name, or the user id as `uid:1000`.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short_text")]
    pub name: Option<String>,
    /// The issuer of the token.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short_text")]
    pub issuer: Option<String>,
    /// The subject within the issuer.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short_text")]
    pub subject: Option<String>,
    /// The address of an operator, or of a caller without credentials.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short_text")]
    pub address: Option<String>,
}

/// The client program, as it introduced itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditClient {
    /// Its name.
    #[serde(serialize_with = "short_str")]
    pub name: String,
    /// Its version.
    #[serde(serialize_with = "short_str")]
    pub version: String,
}

/// The arguments of a call.
#[derive(Debug, Clone, Serialize)]
pub struct AuditedArguments {
    /// Their keyed hash, as [`ArgumentsHash`](crate::ArgumentsHash) makes it. `None` if the call didn't run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hmac: Option<String>,
    /// Their length, in bytes.
    pub bytes: u64,
    /// The arguments themselves, masked, on one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Box<RawValue>>,
}

/// One record. [`AuditRecord::new`] takes the time.
#[derive(Debug, Clone, Serialize)]
pub struct AuditRecord {
    #[serde(serialize_with = "rfc3339")]
    time: SystemTime,
    /// The kind of event.
    pub event: AuditEvent,
    /// The outcome.
    pub outcome: AuditOutcome,
    /// The reason, as a stable word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// The party that acted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<AuditPrincipal>,
    /// The client program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<AuditClient>,
    /// A hash of the session's id.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short_text")]
    pub session: Option<String>,
    /// The W3C trace id.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short_text")]
    pub trace_id: Option<String>,
    /// The plugin.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short_text")]
    pub plugin: Option<String>,
    /// The digest of the plugin's code, or of the configuration file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The digest of the code before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_digest: Option<String>,
    /// The public name of the tool or prompt, or the name that was asked for.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short_text")]
    pub name: Option<String>,
    /// The URI of the resource.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short_text")]
    pub uri: Option<String>,
    /// The arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<AuditedArguments>,
    /// The size of the result's content, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_bytes: Option<u64>,
    /// The duration, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<f64>,
    /// The number of events that this record stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The number of the first record that rotation has kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_from: Option<u64>,
    /// The changes, for people.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "short_list")]
    pub changes: Vec<String>,
    /// Additions, such as grants.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "short_list")]
    pub added: Vec<String>,
    /// Removals.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "short_list")]
    pub removed: Vec<String>,
    /// The rest of the grants that were narrowed.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "short_list")]
    pub remaining: Vec<String>,
    /// More, for people.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "short_text")]
    pub detail: Option<String>,
}

impl AuditRecord {
    /// A record of something that happens now.
    #[must_use]
    pub fn new(event: AuditEvent, outcome: AuditOutcome) -> Self {
        Self {
            time: SystemTime::now(),
            event,
            outcome,
            reason: None,
            principal: None,
            client: None,
            session: None,
            trace_id: None,
            plugin: None,
            digest: None,
            previous_digest: None,
            name: None,
            uri: None,
            arguments: None,
            result_bytes: None,
            duration_ms: None,
            count: None,
            kept_from: None,
            changes: Vec::new(),
            added: Vec::new(),
            removed: Vec::new(),
            remaining: Vec::new(),
            detail: None,
        }
    }

    /// Its members as JSON text, without the braces.
    pub(crate) fn members(&self) -> Vec<u8> {
        let text = serde_json::to_string(self).expect("records consist of strings and numbers");
        let members = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or_default();
        escape_json(members).into_owned().into_bytes()
    }
}

/// JSON text with its hidden characters as `\uXXXX`, which means the same: such characters are always within strings.
/// The joiners are escaped too, because a name with one looks like another name.
fn escape_json(text: &str) -> Cow<'_, str> {
    // ASCII control characters are escaped already, except for one.
    let is_escaped = |c: char| c >= '\u{7f}' && is_hidden_in_uri(c);
    let is_plain = text.is_ascii() && !text.contains('\u{7f}');
    if is_plain || !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 64);
    for c in text.chars() {
        if is_escaped(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}"); // writing to a string can't fail
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

fn rfc3339<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&humantime::format_rfc3339_millis(*time))
}

/// The part of a text that a record contains. It is cut at a character.
#[must_use]
pub fn short(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TEXT_BYTES)]
}

fn short_str<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(short(text))
}

fn short_text<S: Serializer>(text: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    text.as_deref().map(short).serialize(serializer)
}

fn short_list<S: Serializer>(list: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    const MAX_ITEMS: usize = 64;
    let rest = list.len().saturating_sub(MAX_ITEMS);
    let rest = (rest > 0).then(|| format!("… and {rest} more"));
    let items = list.iter().take(MAX_ITEMS).map(|text| short(text));
    serializer.collect_seq(items.chain(rest.as_deref()))
}
