//! One question to the client: its validation, its form in each revision, and the validation of answers (2026-07-28,
//! basic/patterns/mrtr, client/elicitation, client/sampling, client/roots).

use serde_json::{Map, Value, json};

use crate::call::{Capabilities, InputRequest};
use crate::catalog::CatalogPlugin;
use crate::json::{Json, parse_strict};
use crate::names::PluginId;
use crate::policy::ClientFeature;
use crate::tape::JsonTape;
use crate::text::{is_hidden, is_hidden_in_uri, quotable};

use super::super::errors::{ProtocolError, RequestError};
use super::super::revision::{Feature, Revision};
use super::MAX_ANSWER_BYTES;
use super::form::Form;
use super::sampling::{self, SamplingRequest};
use super::sanitise;

const ELICITATION_METHOD: &str = "elicitation/create";
const SAMPLING_METHOD: &str = "sampling/createMessage";
const ROOTS_METHOD: &str = "roots/list";

/// The longest key, in bytes.
const MAX_KEY_BYTES: usize = 128;

/// The longest URL that a user is sent to, in bytes.
const MAX_URL_BYTES: usize = 2_048;

/// The maximum number of values in a question or an answer: far more than in a form with many choices.
const MAX_QUESTION_VALUES: u64 = 20_000;

/// A valid question.
#[derive(Debug)]
pub(super) struct Question {
    /// The plugin's name for it.
    pub(super) key: String,
    kind: QuestionKind,
}

#[derive(Debug)]
enum QuestionKind {
    /// A form for the user.
    Form { message: String, form: Form, meta: Option<Value> },
    /// A page for the user to open. The plugin gets the user's input through that page, not from the client.
    Page { message: String, url: String, meta: Option<Value> },
    /// A request to the model.
    Sampling { asked: Box<SamplingRequest>, meta: Option<Value> },
    /// A request to the model whose content wasn't kept.
    DroppedSampling { tools: bool },
    /// A request for the client's working directories.
    Roots,
}

/// A valid question that can't be sent to the client.
#[derive(Debug)]
pub(super) enum QuestionParamsError {
    /// The client's revision doesn't have this feature.
    Unsupported(&'static str),
    /// The gateway failed; one sentence.
    Internal(&'static str),
}

impl QuestionParamsError {
    /// The error of the request that asked the question.
    pub(super) fn into_request_error(self, plugin: &CatalogPlugin, revision: Revision) -> RequestError {
        match self {
            Self::Unsupported(feature) => RequestError::unanswered(
                plugin,
                format!("the client can't be asked: its revision ({revision}) doesn't support {feature}"),
            ),
            Self::Internal(message) => RequestError::Protocol(ProtocolError::internal(message)),
        }
    }
}

impl Question {
    /// Parses a plugin's question. The error is the reason why it is invalid.
    pub(super) fn read(request: &InputRequest) -> Result<Self, String> {
        let InputRequest { key, method, params } = request;
        if key.is_empty() || key.len() > MAX_KEY_BYTES || key.contains(is_hidden) {
            return Err(format!(
                "the key of a question must have 1 to {MAX_KEY_BYTES} bytes and no invisible characters"
            ));
        }
        let asks = QuestionKind::read(method, params.as_ref())
            .map_err(|why| format!("the question `{}` can't be asked: {why}", quotable(key)))?;
        Ok(Self { key: key.clone(), kind: asks })
    }

    /// A request to a model of which only the use of tools is known.
    pub(super) fn without_content(key: String, tools: bool) -> Self {
        Self { key, kind: QuestionKind::DroppedSampling { tools } }
    }

    /// Reports whether the content wasn't kept, so that the question can't be asked again.
    pub(super) fn has_no_content(&self) -> bool {
        matches!(self.kind, QuestionKind::DroppedSampling { .. })
    }

    /// Reports whether a request to the model uses tools, which is kept instead of a long request. `None` for other
    /// questions.
    pub(super) fn offers_tools(&self) -> Option<bool> {
        match &self.kind {
            QuestionKind::Sampling { asked, .. } => Some(asked.uses_tools()),
            QuestionKind::DroppedSampling { tools } => Some(*tools),
            QuestionKind::Form { .. } | QuestionKind::Page { .. } | QuestionKind::Roots => None,
        }
    }

    /// The feature that the operator must grant.
    pub(super) fn feature(&self) -> ClientFeature {
        match &self.kind {
            QuestionKind::Form { .. } | QuestionKind::Page { .. } => ClientFeature::Elicitation,
            QuestionKind::Sampling { .. } | QuestionKind::DroppedSampling { .. } => ClientFeature::Sampling,
            QuestionKind::Roots => ClientFeature::Roots,
        }
    }

    /// The method of the request.
    pub(super) fn method(&self) -> &'static str {
        match &self.kind {
            QuestionKind::Form { .. } | QuestionKind::Page { .. } => ELICITATION_METHOD,
            QuestionKind::Sampling { .. } | QuestionKind::DroppedSampling { .. } => SAMPLING_METHOD,
            QuestionKind::Roots => ROOTS_METHOD,
        }
    }

    /// The required capabilities that the client doesn't declare, or `revision` doesn't have.
    pub(super) fn missing_capabilities(
        &self,
        revision: Revision,
        declared: &Capabilities,
    ) -> Vec<&'static str> {
        let needed = match &self.kind {
            QuestionKind::Form { .. } => vec![("elicitation.form", revision.has(Feature::Elicitation))],
            QuestionKind::Page { .. } => vec![("elicitation.url", revision.has(Feature::RichForms))],
            QuestionKind::Sampling { asked, .. } => {
                let mut needed = vec![("sampling", true)];
                // Older clients assume context and can't declare it.
                if asked.wants_context() && revision.has(Feature::SamplingTools) {
                    needed.push(("sampling.context", true));
                }
                if asked.uses_tools() {
                    needed.push(("sampling.tools", revision.has(Feature::SamplingTools)));
                }
                needed
            }
            QuestionKind::DroppedSampling { .. } => vec![("sampling", true)],
            QuestionKind::Roots => vec![("roots", true)],
        };
        let missing = needed.into_iter().filter(|(name, known)| !known || !declared.has(name));
        missing.map(|(name, _)| name).collect()
    }

    /// The parameters in the form of `revision`, with the plugin's id wherever possible.
    pub(super) fn params(
        &self,
        plugin: &PluginId,
        revision: Revision,
    ) -> Result<Option<Json>, QuestionParamsError> {
        let mut params = Map::new();
        let mut its_meta = None;
        let mut has_meta = revision.has(Feature::QuestionMeta);
        match &self.kind {
            QuestionKind::Form { message, form, meta } => {
                if revision.has(Feature::RichForms) {
                    params.insert("mode".to_owned(), "form".into());
                }
                params.insert("message".to_owned(), sanitise::signed_message(plugin, message).into());
                params.insert(
                    "requestedSchema".to_owned(),
                    form.schema(revision).map_err(QuestionParamsError::Unsupported)?,
                );
                its_meta = meta.as_ref();
            }
            QuestionKind::Page { message, url, meta } => {
                params.insert("mode".to_owned(), "url".into());
                params.insert("message".to_owned(), sanitise::signed_message(plugin, message).into());
                params.insert("url".to_owned(), url.as_str().into());
                if revision.has(Feature::QuestionMeta) {
                    params.insert("elicitationId".to_owned(), elicitation_id()?.into());
                }
                its_meta = meta.as_ref();
            }
            QuestionKind::Sampling { asked, meta } => {
                params = asked.params(revision).map_err(QuestionParamsError::Unsupported)?;
                its_meta = meta.as_ref();
            }
            QuestionKind::DroppedSampling { .. } => {
                return Err(QuestionParamsError::Internal(
                    "the question was too long to keep, so the client can't be asked again",
                ));
            }
            QuestionKind::Roots => has_meta = revision.has(Feature::ItemMeta),
        }
        if has_meta {
            params.insert("_meta".to_owned(), sanitise::signed_meta(plugin, its_meta));
        }
        Ok((!params.is_empty()).then(|| Json::from_value(&Value::Object(params))))
    }

    /// Validates an answer and returns it as the plugin gets it. The error is the reason why it is invalid.
    pub(super) fn validate_answer(&self, answer: &str) -> Result<Json, String> {
        if answer.len() > MAX_ANSWER_BYTES {
            return Err(format!("it is longer than {} KiB", MAX_ANSWER_BYTES / 1024));
        }
        let value = read_value(answer)?;
        let object = value.as_object().ok_or("it must be an object")?;
        match &self.kind {
            QuestionKind::Form { form, .. } => match elicitation_action(object)? {
                "accept" => {
                    let content = form.check(object.get("content"))?;
                    Ok(Json::from_value(&json!({ "action": "accept", "content": content })))
                }
                other => Ok(Json::from_value(&json!({ "action": other }))),
            },
            QuestionKind::Page { .. } => {
                Ok(Json::from_value(&json!({ "action": elicitation_action(object)? })))
            }
            QuestionKind::Sampling { asked, .. } => {
                sampling::check_answer(object, asked.uses_tools()).and_then(|()| json_text(answer))
            }
            QuestionKind::DroppedSampling { tools } => {
                sampling::check_answer(object, *tools).and_then(|()| json_text(answer))
            }
            QuestionKind::Roots => check_roots(object).and_then(|()| json_text(answer)),
        }
    }
}

impl QuestionKind {
    fn read(method: &str, params: Option<&Json>) -> Result<Self, String> {
        let params = params.map(|params| read_value(params.get())).transpose()?;
        let params = params.unwrap_or_else(|| json!({}));
        let params = params.as_object().ok_or("its parameters must be an object")?;
        let meta = params.get("_meta").cloned();
        match method {
            ELICITATION_METHOD => {
                let message =
                    params.get("message").and_then(Value::as_str).ok_or("`message` must be a string")?;
                let message = sanitise::sanitised_message(message);
                match params.get("mode").map(Value::as_str) {
                    None | Some(Some("form")) => {
                        let schema = params.get("requestedSchema").ok_or("`requestedSchema` is missing")?;
                        Ok(Self::Form { message, form: Form::read(schema)?, meta })
                    }
                    Some(Some("url")) => Ok(Self::Page { message, url: check_url(params.get("url"))?, meta }),
                    Some(_) => Err("`mode` must be `form` or `url`".to_owned()),
                }
            }
            SAMPLING_METHOD => Ok(Self::Sampling { asked: Box::new(SamplingRequest::read(params)?), meta }),
            ROOTS_METHOD => Ok(Self::Roots),
            other => Err(format!("`{}` is not a question to a client", quotable(other))),
        }
    }
}

/// Parses a question or an answer, which is kept until the call ends.
fn read_value(text: &str) -> Result<Value, String> {
    if JsonTape::read(text).map_or(true, |tape| tape.size().nodes > MAX_QUESTION_VALUES) {
        return Err(format!("it has more than {MAX_QUESTION_VALUES} values"));
    }
    parse_strict(text).map_err(|error| error.to_string())
}

/// The user's action on an elicitation.
fn elicitation_action(answer: &Map<String, Value>) -> Result<&str, String> {
    match answer.get("action").and_then(Value::as_str) {
        Some(action @ ("accept" | "decline" | "cancel")) => Ok(action),
        Some(_) | None => Err("`action` must be `accept`, `decline` or `cancel`".to_owned()),
    }
}

/// The URL of a page for the user, who must see where it leads. Letters of other scripts can look like those of a
/// trusted host, and escapes in a host are decoded.
fn check_url(given: Option<&Value>) -> Result<String, String> {
    const URL_REQUIREMENT: &str = "`url` must be an `https:` or `http:` URL with an ASCII host (`xn--` for other scripts), no user name and no invisible characters";
    let url = given.and_then(Value::as_str).ok_or(URL_REQUIREMENT)?;
    let lower = url.to_ascii_lowercase();
    let rest =
        lower.strip_prefix("https://").or_else(|| lower.strip_prefix("http://")).ok_or(URL_REQUIREMENT)?;
    let host = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let fits = url.len() <= MAX_URL_BYTES
        && !host.is_empty()
        && !host.starts_with(':')
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte))
        && !url.contains(|c: char| c.is_whitespace() || is_hidden_in_uri(c) || c == '\\');
    if fits { Ok(url.to_owned()) } else { Err(URL_REQUIREMENT.to_owned()) }
}

/// Validates a list of roots, each with a `file:` URI.
fn check_roots(answer: &Map<String, Value>) -> Result<(), String> {
    let roots = answer.get("roots").and_then(Value::as_array).ok_or("`roots` must be a list")?;
    for root in roots {
        let uri = root.get("uri").and_then(Value::as_str);
        if !uri.is_some_and(|uri| uri.starts_with("file://")) {
            return Err("the `uri` of each root must start with `file://`".to_owned());
        }
        if root.get("name").is_some_and(|name| !name.is_string()) {
            return Err("the `name` of a root must be a string".to_owned());
        }
    }
    Ok(())
}

fn json_text(answer: &str) -> Result<Json, String> {
    Json::parse(answer).map_err(|error| error.to_string())
}

/// An unguessable id. Nothing refers to it later, because the gateway isn't notified when the user is done with the
/// page.
fn elicitation_id() -> Result<String, QuestionParamsError> {
    let mut bytes = [0_u8; 16];
    let failed = |_| QuestionParamsError::Internal("the system has no random bytes for the question's id");
    getrandom::fill(&mut bytes).map_err(failed)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
