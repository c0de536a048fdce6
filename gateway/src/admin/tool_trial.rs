//! Calls of tools from the status page: who may make them, the message of a submitted form, and its answer.
//!
//! A call is an ordinary request of the stateless revision (2026-07-28, server/tools) by the caller `operator`: it has the
//! same limits and records as any other. Questions to the user are forms of the page (2026-07-28, client/elicitation),
//! whose hidden inputs carry the request and its sealed state, so the gateway keeps nothing between two forms.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::header::HOST;
use axum::http::{Version, request};
use moongate_config::{AdminConfig, ToolTrialPolicy, is_loopback_host, parse_host_and_port};
use moongate_model::json;
use moongate_protocol::catalog::{Catalog, ToolEntry};
use moongate_protocol::mcp::UNUSABLE_ANSWERS_KEY;
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;

use crate::admin::AdminContext;
use crate::admin::authentication::peer;
use crate::admin::page::trial;
use crate::admin::rejection::AdminRejection;
use crate::admin::tool_form::{FormErrors, FormField, FormValues, form_fields, read_object};

/// The maximum size of a submitted form, in bytes.
pub(super) const MAX_TRIAL_BODY_BYTES: usize = 2 * 1024 * 1024;

/// The maximum number of calls from the page at the same time: far below the number of connections.
const MAX_RUNNING_TRIALS: usize = 8;

/// The revision of the requests.
const REVISION: &str = "2026-07-28";

/// The headers in which proxies name the client that they speak for.
const PROXY_HEADERS: [&str; 11] = [
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-proto",
    "x-real-ip",
    "x-client-ip",
    "x-envoy-external-address",
    "cf-connecting-ip",
    "true-client-ip",
];

/// The inputs of the forms that aren't fields.
pub(super) const TOOL_INPUT: &str = "tool";
pub(super) const JSON_INPUT: &str = "json";
pub(super) const ARGUMENTS_INPUT: &str = "arguments";
pub(super) const STATE_INPUT: &str = "state";
pub(super) const QUESTIONS_INPUT: &str = "questions";

/// The prefix of the inputs of arguments.
pub(super) const ARGUMENT_PREFIX: &str = "a";

/// Calls from the page.
#[derive(Debug)]
pub(super) struct ToolTrials {
    policy: ToolTrialPolicy,
    /// True if requests to the listener need credentials.
    needs_credentials: bool,
    running: Semaphore,
}

/// The permission of a request to try tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrialAccess {
    Allowed,
    /// The reason.
    Denied(&'static str),
}

/// The page of a tool.
#[derive(Debug)]
pub(super) struct TrialPage {
    pub(super) tool: ToolEntry,
    /// The schema of its arguments.
    pub(super) schema: Value,
    /// The values that the form shows. `None` means the defaults.
    pub(super) values: Option<FormValues>,
    pub(super) errors: FormErrors,
    pub(super) outcome: Option<TrialOutcome>,
}

/// The outcome of a call.
#[derive(Debug)]
pub(super) enum TrialOutcome {
    /// A result of the tool.
    Result {
        /// The result in its protocol form.
        result: Value,
        /// The duration of the call.
        took: Duration,
    },
    /// No result.
    Failed(String),
    /// Questions to the user.
    Questions(OpenForms),
}

/// The questions of a call.
#[derive(Debug)]
pub(super) struct OpenForms {
    /// The arguments of the call, as JSON.
    pub(super) arguments: String,
    /// The sealed state of the call.
    pub(super) state: String,
    /// `inputRequests` of the result.
    pub(super) requests: Map<String, Value>,
    /// The reasons for which the gateway repeats a question.
    pub(super) reasons: Vec<String>,
    /// The answers so far, and their errors.
    pub(super) values: FormValues,
    pub(super) errors: FormErrors,
}

/// The content that a form sends.
struct TrialRequest {
    arguments: Map<String, Value>,
    /// The sealed state, and the answers to the questions.
    answers: Option<(String, Map<String, Value>)>,
}

impl ToolTrials {
    pub(super) fn new(config: &AdminConfig) -> Self {
        Self {
            policy: config.try_tools,
            needs_credentials: config.requires_authentication(),
            running: Semaphore::new(MAX_RUNNING_TRIALS),
        }
    }

    /// The permission of this request to try tools. By default, only local users may, and nobody may without credentials
    /// where the endpoint asks for some.
    pub(super) fn access(&self, admin: &AdminContext, head: &request::Parts) -> TrialAccess {
        match self.policy {
            ToolTrialPolicy::All => TrialAccess::Allowed,
            ToolTrialPolicy::Off => TrialAccess::Denied("`try_tools` in `[admin]` is `off`"),
            ToolTrialPolicy::Local if !is_from_this_machine(head) => TrialAccess::Denied(
                "only users of the gateway's machine may try tools; to allow it, set `try_tools = \"all\"` in `[admin]`",
            ),
            ToolTrialPolicy::Local if !self.needs_credentials && !(admin.is_endpoint_open)() => {
                TrialAccess::Denied(
                    "the admin listener needs no credentials, but the endpoint does, or there are roles; to try tools, \
                     add `token` to `[admin]`",
                )
            }
            ToolTrialPolicy::Local => TrialAccess::Allowed,
        }
    }

    /// The page that a link opens: that of a tool, or the list.
    pub(super) fn open(admin: &AdminContext, query: &str) -> String {
        let catalog = Arc::clone(&admin.catalog.borrow());
        let values = FormValues::parse(query.as_bytes());
        let Some(name) = values.get(TOOL_INPUT) else { return trial::list(&catalog) };
        match TrialPage::new(&catalog, name) {
            Some(page) => trial::document(&page),
            None => trial::unknown_tool(name),
        }
    }

    /// Handles a submitted form, and returns the page with the outcome.
    ///
    /// # Errors
    /// Too many calls are running, or the gateway stops.
    pub(super) async fn submit(
        &self,
        admin: &AdminContext,
        head: &request::Parts,
        body: &[u8],
    ) -> Result<String, AdminRejection> {
        let values = FormValues::parse(body);
        let name = values.get(TOOL_INPUT).unwrap_or_default().to_owned();
        let catalog = Arc::clone(&admin.catalog.borrow());
        let Some(mut page) = TrialPage::new(&catalog, &name) else { return Ok(trial::unknown_tool(&name)) };
        let request = match page.read(values) {
            Ok(request) => request,
            Err(InvalidForm) => return Ok(trial::document(&page)),
        };
        let _permit = self.running.try_acquire().map_err(|_| AdminRejection::TooManyTrials)?;
        let started = Instant::now();
        let call = (admin.call)(peer(head), request.message(&name));
        let answer = tokio::select! {
            answer = call => answer,
            () = admin.draining.cancelled() => return Err(AdminRejection::Stopping),
        };
        page.outcome = Some(outcome(answer.as_deref(), &request, started.elapsed()));
        Ok(trial::document(&page))
    }
}

/// True for a client on this machine that isn't a proxy. A proxy can be recognised by its headers, by the public host name,
/// or by HTTP/1.0, which browsers don't use.
fn is_from_this_machine(head: &request::Parts) -> bool {
    let is_forwarded = PROXY_HEADERS.iter().any(|header| head.headers.contains_key(*header));
    let host = head.headers.get(HOST).and_then(|host| parse_host_and_port(host.to_str().ok()?));
    peer(head).to_canonical().is_loopback()
        && !is_forwarded
        && head.version >= Version::HTTP_11
        && host.is_some_and(|(host, _)| is_loopback_host(&host))
}

/// The form has errors, which its page shows.
#[derive(Debug)]
struct InvalidForm;

impl TrialPage {
    fn new(catalog: &Catalog, name: &str) -> Option<Self> {
        let tool = catalog.tool(name)?.clone();
        let schema = tool.shown_input().to_value().unwrap_or_default();
        Some(Self { tool, schema, values: None, errors: FormErrors::new(), outcome: None })
    }

    /// The fields of the arguments.
    pub(super) fn fields(&self) -> Vec<FormField<'_>> {
        form_fields(&self.schema, ARGUMENT_PREFIX)
    }

    /// Reads a submitted form, whose values the page then shows.
    fn read(&mut self, values: FormValues) -> Result<TrialRequest, InvalidForm> {
        let Some(arguments) = values.filled(ARGUMENTS_INPUT) else {
            let read = match values.filled(JSON_INPUT) {
                Some(text) => {
                    read_json_object(text).map_err(|error| FormErrors::from([(JSON_INPUT.to_owned(), error)]))
                }
                None => read_object(&self.fields(), &values),
            };
            self.values = Some(values);
            return match read {
                Ok(arguments) => Ok(TrialRequest { arguments, answers: None }),
                Err(errors) => {
                    self.errors = errors;
                    Err(InvalidForm)
                }
            };
        };
        // The hidden inputs come from this page. If someone changed them, the gateway refuses the state.
        let arguments = arguments.to_owned();
        let parsed = read_json_object(&arguments).unwrap_or_default();
        self.values = Some(FormValues::of_members(&self.fields(), &Value::Object(parsed.clone())));
        let requests = read_json_object(values.get(QUESTIONS_INPUT).unwrap_or_default()).unwrap_or_default();
        let state = values.get(STATE_INPUT).unwrap_or_default().to_owned();
        match read_answers(&requests, &values) {
            Ok(answers) => Ok(TrialRequest { arguments: parsed, answers: Some((state, answers)) }),
            Err(errors) => {
                let open = OpenForms { arguments, state, requests, reasons: Vec::new(), values, errors };
                self.outcome = Some(TrialOutcome::Questions(open));
                Err(InvalidForm)
            }
        }
    }
}

fn read_json_object(text: &str) -> Result<Map<String, Value>, String> {
    match json::parse_strict(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err("enter a JSON object".to_owned()),
        Err(error) => Err(format!("invalid JSON: {error}")),
    }
}

/// The prefix of the inputs for the fields of a question.
pub(super) fn question_prefix(at: usize) -> String {
    format!("q{at}-")
}

/// The input for the reaction to a question: `accept`, `decline` or `cancel`.
pub(super) fn action_input(at: usize) -> String {
    format!("q{at}-action")
}

/// The answers to questions, by their keys.
fn read_answers(
    requests: &Map<String, Value>,
    values: &FormValues,
) -> Result<Map<String, Value>, FormErrors> {
    let mut answers = Map::new();
    let mut errors = FormErrors::new();
    for (at, (key, request)) in requests.iter().enumerate() {
        let action = values.get(&action_input(at)).unwrap_or("accept");
        let answer = if action == "accept" {
            let fields = form_fields(&request["params"]["requestedSchema"], &question_prefix(at));
            match read_object(&fields, values) {
                Ok(content) => json!({ "action": action, "content": content }),
                Err(invalid) => {
                    errors.extend(invalid);
                    continue;
                }
            }
        } else {
            json!({ "action": action })
        };
        answers.insert(key.clone(), answer);
    }
    if errors.is_empty() { Ok(answers) } else { Err(errors) }
}

impl TrialRequest {
    /// The JSON-RPC request.
    fn message(&self, tool: &str) -> Vec<u8> {
        let mut params = json!({
            "name": tool,
            "arguments": self.arguments,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": REVISION,
                "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
                "io.modelcontextprotocol/clientInfo": {
                    "name": "moongate-status-page",
                    "version": env!("CARGO_PKG_VERSION"),
                },
            },
        });
        if let Some((state, answers)) = &self.answers {
            params["requestState"] = json!(state);
            params["inputResponses"] = json!(answers);
        }
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        request.to_string().into_bytes()
    }
}

/// Reads the response to a call.
fn outcome(answer: Option<&[u8]>, request: &TrialRequest, took: Duration) -> TrialOutcome {
    let cancelled = || TrialOutcome::Failed("the call was cancelled".to_owned());
    let Some(answer) = answer else { return cancelled() };
    let mut response: Value = serde_json::from_slice(answer).unwrap_or_default();
    if let Some(error) = response["error"]["message"].as_str() {
        return TrialOutcome::Failed(error.to_owned());
    }
    let mut result = response["result"].take();
    let reasons = result["_meta"][UNUSABLE_ANSWERS_KEY].as_object().into_iter().flatten();
    let reasons = reasons.map(|(key, reason)| format!("{key}: {}", reason.as_str().unwrap_or_default()));
    let reasons = reasons.collect();
    match (result["inputRequests"].take(), result["resultType"] == "input_required") {
        (Value::Object(requests), true) => TrialOutcome::Questions(OpenForms {
            arguments: Value::Object(request.arguments.clone()).to_string(),
            state: result["requestState"].as_str().unwrap_or_default().to_owned(),
            requests,
            reasons,
            values: FormValues::default(),
            errors: FormErrors::new(),
        }),
        _ => TrialOutcome::Result { result, took },
    }
}
