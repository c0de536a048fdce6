//! Calls of tools from the status page: who may make them, the message of a submitted form, and its answer.
//!
//! A call is an ordinary request of the stateless revision (2026-07-28, server/tools) by the caller `operator`: it has the
//! same limits and records as any other. Questions to the user are forms of the page (2026-07-28, client/elicitation),
//! whose hidden inputs carry the request and its sealed state, so the gateway keeps nothing between two forms.
//!
//! Arguments and results can be large. They stay text, and count towards the memory of requests and of unread responses.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::header::HOST;
use axum::http::{Version, request};
use bytes::Bytes;
use moongate_config::{AdminConfig, ToolTrialPolicy, is_loopback_host, parse_host_and_port};
use moongate_model::caller::Caller;
use moongate_model::json;
use moongate_protocol::catalog::{Catalog, ToolEntry};
use moongate_protocol::mcp::UNUSABLE_ANSWERS_KEY;
use moongate_protocol::server::RequestBodyMemory;
use moongate_protocol::unread_responses::CountedMessage;
use moongate_system::background::{WorkOwner, move_to_background};
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;

use crate::admin::AdminContext;
use crate::admin::authentication::peer;
use crate::admin::page::trial;
use crate::admin::rejection::AdminRejection;
use crate::admin::tool_form::{
    FormErrors, FormField, FormValues, finished_object, form_fields, push_member, quoted, read_object,
};

/// The maximum size of a submitted form, in bytes.
pub(super) const MAX_TRIAL_BODY_BYTES: usize = 2 * 1024 * 1024;

/// The maximum size of the questions in a form, in bytes. They become trees of values, at most 20,000 for each question.
/// Larger questions are an error.
const MAX_QUESTIONS_BYTES: usize = 512 * 1024;

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
        /// The response with the result.
        response: CountedMessage,
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
    /// A JSON object.
    arguments: String,
    /// The sealed state, and the answers to the questions as a JSON object.
    answers: Option<(String, String)>,
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

    /// Handles a submitted form, and returns the page with the outcome. `memory` is that of the form.
    ///
    /// # Errors
    /// Too many calls are running, or the gateway stops.
    pub(super) async fn submit(
        &self,
        admin: &AdminContext,
        head: &request::Parts,
        body: Bytes,
        memory: RequestBodyMemory,
    ) -> Result<CountedMessage, AdminRejection> {
        let _permit = self.running.try_acquire().map_err(|_| AdminRejection::TooManyTrials)?;
        let operator = Caller::Operator(peer(head));
        // Forms and pages can be large.
        move_to_background(WorkOwner { plugin: None, caller: Some(&operator) }).await;
        let values = FormValues::parse(&body);
        drop(body);
        let name = values.get(TOOL_INPUT).unwrap_or_default().to_owned();
        let catalog = Arc::clone(&admin.catalog.borrow());
        let shown = |page: String| CountedMessage::from(page.into_bytes()).counted(&admin.unread, &operator);
        let Some(mut page) = TrialPage::new(&catalog, &name) else {
            return Ok(shown(trial::unknown_tool(&name)));
        };
        let request = match page.read(values) {
            Ok(request) => request,
            Err(InvalidForm) => return Ok(shown(trial::document(&page))),
        };
        let started = Instant::now();
        let call = (admin.call)(peer(head), request.message(&name), memory);
        let answer = tokio::select! {
            answer = call => answer,
            () = admin.draining.cancelled() => return Err(AdminRejection::Stopping),
        };
        page.outcome = Some(outcome(answer, &request, started.elapsed()));
        Ok(shown(trial::document(&page)))
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
        let parsed = read_json_object(&arguments).unwrap_or_else(|_| "{}".to_owned());
        let shown = FormValues::of_members(&self.fields(), &parsed);
        self.values = Some(shown.unwrap_or_else(|| FormValues::of_input(JSON_INPUT, parsed.clone())));
        let requests = values.get(QUESTIONS_INPUT).filter(|text| text.len() <= MAX_QUESTIONS_BYTES);
        let requests = requests.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
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

/// The text of a JSON object.
fn read_json_object(text: &str) -> Result<String, String> {
    match json::check_strict(text) {
        Ok(()) if json::type_of_text(text) == "object" => Ok(text.to_owned()),
        Ok(()) => Err("enter a JSON object".to_owned()),
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

/// The answers to questions, by their keys, as a JSON object.
fn read_answers(requests: &Map<String, Value>, values: &FormValues) -> Result<String, FormErrors> {
    let mut answers = String::new();
    let mut errors = FormErrors::new();
    for (at, (key, request)) in requests.iter().enumerate() {
        let action = values.get(&action_input(at)).unwrap_or("accept");
        let mut answer = String::new();
        push_member(&mut answer, "action", &quoted(action));
        if action == "accept" {
            let fields = form_fields(&request["params"]["requestedSchema"], &question_prefix(at));
            match read_object(&fields, values) {
                Ok(content) => push_member(&mut answer, "content", &content),
                Err(invalid) => {
                    errors.extend(invalid);
                    continue;
                }
            }
        }
        push_member(&mut answers, key, &finished_object(answer));
    }
    if errors.is_empty() { Ok(finished_object(answers)) } else { Err(errors) }
}

impl TrialRequest {
    /// The JSON-RPC request.
    fn message(&self, tool: &str) -> Vec<u8> {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": REVISION,
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
            "io.modelcontextprotocol/clientInfo": {
                "name": "moongate-status-page",
                "version": env!("CARGO_PKG_VERSION"),
            },
        });
        let mut params = String::with_capacity(self.arguments.len() + 1024);
        push_member(&mut params, "name", &quoted(tool));
        push_member(&mut params, "arguments", &self.arguments);
        push_member(&mut params, "_meta", &meta.to_string());
        if let Some((state, answers)) = &self.answers {
            push_member(&mut params, "requestState", &quoted(state));
            push_member(&mut params, "inputResponses", answers);
        }
        let params = finished_object(params);
        // A message must be one line, but arguments from a text area can have several.
        let params = params.replace(['\n', '\r'], " ");
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#).into_bytes()
    }
}

/// Reads the response to a call.
fn outcome(answer: Option<CountedMessage>, request: &TrialRequest, took: Duration) -> TrialOutcome {
    let Some(answer) = answer else {
        return TrialOutcome::Failed("the call was cancelled".to_owned());
    };
    let text = std::str::from_utf8(&answer).unwrap_or_default();
    let [result, error] = json::members(text, ["result", "error"]);
    let string = |text: Option<&str>| text.and_then(json::string_value).unwrap_or_default().into_owned();
    if let Some(message) = error.and_then(|error| json::member(error, "message")) {
        return TrialOutcome::Failed(string(Some(message)));
    }
    let parts = ["resultType", "inputRequests", "requestState", "_meta"];
    let [kind, requests, state, meta] = json::members(result.unwrap_or_default(), parts);
    let is_question = string(kind) == "input_required";
    let requests = requests.filter(|_| is_question);
    if requests.is_some_and(|requests| requests.len() > MAX_QUESTIONS_BYTES) {
        return TrialOutcome::Failed("the questions of the tool are too large for this page".to_owned());
    }
    // Each question has a limited number of values.
    let requests = requests.and_then(|requests| serde_json::from_str(requests).ok());
    let Some(requests) = requests else { return TrialOutcome::Result { response: answer, took } };
    let mut reasons = Vec::new();
    let unusable = meta.and_then(|meta| json::member(meta, UNUSABLE_ANSWERS_KEY)).unwrap_or_default();
    let _ = json::visit_members::<()>(unusable, |key, reason| {
        reasons.push(format!("{key}: {}", string(Some(reason))));
        Ok(())
    });
    TrialOutcome::Questions(OpenForms {
        arguments: request.arguments.clone(),
        state: string(state),
        requests,
        reasons,
        values: FormValues::default(),
        errors: FormErrors::new(),
    })
}
