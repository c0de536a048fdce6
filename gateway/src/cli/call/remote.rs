//! Calling a tool of a gateway that runs, as one more client of it. Used by `call --url`.
//!
//! It speaks the newest revision, which needs no session: one request for each thing asked.

use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::{Request, Response, StatusCode};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{self as client, Client};
use hyper_util::rt::TokioExecutor;
use moongate_model::json::Json;
use moongate_protocol::catalog::header_arguments;
use serde_json::{Value, json};
use tokio::time::timeout;
use url::{Host, Url};

use super::here::NAME;
use super::rounds::{More, Step};
use crate::cli::{print, version};
use crate::transport::http::PATH;

/// The revision that is spoken: what it needs stands in every request.
const REVISION: &str = "2026-07-28";

/// The variable with the bearer token: a command line is seen by everybody on the machine.
pub(in crate::cli) const TOKEN: &str = "MOONGATE_TOKEN";

/// No answer is longer, in bytes.
const LONGEST: usize = 64 << 20;

/// How long connecting may take. What a call takes is the gateway's matter, as long as it says something.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Lists have no more pages.
const PAGES: usize = 1000;

/// Why there is no result.
#[derive(Debug)]
pub(in crate::cli) enum Refusal {
    /// Nobody answers there, or somebody who isn't a gateway.
    Unreachable(String),
    /// Somebody is there, and says nothing.
    Silent(String),
    /// Another token is needed, or one at all.
    Unauthorized(String),
    /// The gateway says no.
    Error(String),
}

/// A gateway at an address.
pub(in crate::cli) struct Remote {
    endpoint: Url,
    wire: Wire,
    token: Option<HeaderValue>,
    /// How long it may say nothing.
    silence: Duration,
    /// What it is told that can be asked here.
    capabilities: Value,
}

/// What requests go through. Machines that trust nobody can still call without TLS.
enum Wire {
    Plain(Client<HttpConnector, Full<Bytes>>),
    Tls(Client<HttpsConnector<HttpConnector>, Full<Bytes>>),
}

impl Wire {
    fn to(endpoint: &Url) -> Result<Self> {
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let client = Client::builder(TokioExecutor::new());
        if endpoint.scheme() == "http" {
            return Ok(Self::Plain(client.build(connector)));
        }
        let trust = HttpsConnectorBuilder::new().with_native_roots().map_err(|_| {
            anyhow!("this machine has no certificates of authorities; install them (`ca-certificates`)")
        })?;
        Ok(Self::Tls(client.build(trust.https_only().enable_http1().wrap_connector(connector))))
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, client::Error> {
        match self {
            Self::Plain(client) => client.request(request).await,
            Self::Tls(client) => client.request(request).await,
        }
    }
}

impl Remote {
    /// The gateway at `endpoint`.
    ///
    /// # Errors
    /// The token can't stand in a header, or this machine trusts nobody.
    pub(in crate::cli) fn new(endpoint: Url, capabilities: Value, silence: Duration) -> Result<Self> {
        let token = std::env::var(TOKEN).ok().filter(|token| !token.is_empty());
        if token.as_ref().is_some_and(|token| is_header(token)) {
            bail!("what {TOKEN} holds begins with `Bearer`: leave that away, only the token belongs there");
        }
        let token = token
            .map(|token| HeaderValue::try_from(format!("Bearer {token}")))
            .transpose()
            .with_context(|| format!("what {TOKEN} holds can't be a token"))?
            .map(|mut value| {
                value.set_sensitive(true);
                value
            });
        Ok(Self { wire: Wire::to(&endpoint)?, endpoint, token, silence, capabilities })
    }

    /// Says so where others would see the token.
    pub(in crate::cli) fn warn(&self) {
        if self.tells_its_token() {
            print::remark("the token goes to another machine unencrypted; https would keep it to itself");
        }
    }

    /// Would the token be seen by others on the way?
    pub(super) fn tells_its_token(&self) -> bool {
        let is_here = match self.endpoint.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(ip)) => ip.is_loopback(),
            Some(Host::Ipv6(ip)) => ip.is_loopback(),
            None => false,
        };
        self.token.is_some() && self.endpoint.scheme() == "http" && !is_here
    }

    /// The tools that there are, as the protocol has them; no more of them than up to the one of this name.
    pub(super) async fn tools(&self, until: Option<&str>) -> Result<Vec<Value>, Refusal> {
        self.list("tools/list", "tools", until).await
    }

    /// What this method lists under this key, as the protocol has it; no more than up to the one of this name.
    pub(in crate::cli) async fn list(
        &self,
        method: &str,
        key: &str,
        until: Option<&str>,
    ) -> Result<Vec<Value>, Refusal> {
        let (mut items, mut cursor) = (Vec::new(), None);
        for _ in 0..PAGES {
            let parameters = cursor.map_or(json!({}), |cursor: Value| json!({ "cursor": cursor }));
            let mut page = self.ask(method, None, &[], parameters).await?;
            if let Value::Array(more) = page[key].take() {
                items.extend(more);
            }
            let is_there = until.is_some_and(|name| items.iter().any(|item| item["name"] == name));
            if is_there || page["nextCursor"].is_null() {
                break;
            }
            cursor = Some(page["nextCursor"].take());
        }
        Ok(items)
    }

    /// The tool's result, as the protocol has it, or what it asks.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: &Json,
        schema: &Value,
        more: &More,
    ) -> Result<Step<Value>, Refusal> {
        let arguments = arguments.to_value().map_err(|error| Refusal::Error(error.to_string()))?;
        let repeated = repeated(schema, &arguments);
        let mut parameters = json!({ "name": tool, "arguments": arguments });
        if let Some(state) = &more.state {
            parameters["requestState"] = json!(state);
            parameters["inputResponses"] = Value::Object(more.answers.clone());
        }
        let result = self.ask("tools/call", Some(tool), &repeated, parameters).await?;
        let asks = result["resultType"] == "input_required";
        Ok(if asks { Step::Asks(result) } else { Step::Done(result) })
    }

    /// One request, and its result.
    async fn ask(
        &self,
        method: &str,
        name: Option<&str>,
        repeated: &[(String, String)],
        mut parameters: Value,
    ) -> Result<Value, Refusal> {
        parameters["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": REVISION,
            "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            "io.modelcontextprotocol/clientInfo": { "name": NAME, "version": version::SHORT },
        });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": parameters });
        let mut request = Request::post(self.endpoint.as_str())
            .header(ACCEPT, "application/json, text/event-stream")
            .header(CONTENT_TYPE, "application/json")
            .header("mcp-protocol-version", REVISION)
            .header("mcp-method", method);
        for (header, value) in repeated.iter().map(|(header, value)| (header.as_str(), value.as_str())) {
            request = request.header(header, value);
        }
        if let Some(name) = name {
            request = request.header("mcp-name", name);
        }
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token);
        }
        let request = request.body(Full::from(body.to_string())).map_err(|_| {
            Refusal::Error(format!("`{}` can't be the name of a tool", name.unwrap_or_default()))
        })?;
        let response = self.heard(self.wire.send(request)).await?;
        let response = response.map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        let (mut body, mut whole) = (Limited::new(response.into_body(), LONGEST), Vec::new());
        while let Some(frame) = self.heard(body.frame()).await? {
            if let Ok(data) = frame.map_err(|error| self.unreachable(&*error))?.into_data() {
                whole.extend_from_slice(&data);
            }
        }
        self.result(status, &String::from_utf8_lossy(&whole))
    }

    /// What it says next, unless it is silent for too long.
    async fn heard<T>(&self, next: impl Future<Output = T>) -> Result<T, Refusal> {
        timeout(self.silence, next).await.map_err(|_| {
            let seconds = usize::try_from(self.silence.as_secs()).unwrap_or(usize::MAX);
            let seconds = print::count(seconds, "second");
            Refusal::Silent(format!("what is at {} has said nothing for {seconds}", self.endpoint))
        })
    }

    fn unreachable(&self, error: &(dyn std::error::Error + 'static)) -> Refusal {
        let root = std::iter::successors(Some(error), |error| error.source()).last().unwrap_or(error);
        let why = match self.other_scheme(&root.to_string()) {
            Some((other, meant)) => format!("what listens there speaks {other}: write {meant}"),
            None => root.to_string(),
        };
        Refusal::Unreachable(format!("no gateway answers at {}: {why}", self.endpoint))
    }

    /// The scheme that is spoken there, and the address with it, where the failure says that it is the other one.
    fn other_scheme(&self, failure: &str) -> Option<(&'static str, Url)> {
        let other = match self.endpoint.scheme() {
            "https" if failure.contains("InvalidContentType") => "http",
            _ => return None,
        };
        let mut meant = self.endpoint.clone();
        meant.set_scheme(other).ok()?;
        Some((other, meant))
    }

    fn result(&self, status: StatusCode, body: &str) -> Result<Value, Refusal> {
        let answer = answer(body).unwrap_or_default();
        let message = answer["error"]["message"].as_str();
        match (status, answer.get("result"), message) {
            (StatusCode::UNAUTHORIZED, ..) => Err(Refusal::Unauthorized(match message {
                Some(message) => format!("the gateway says: {}", print::said(message)),
                None => format!("the gateway says: {status}"),
            })),
            (_, Some(result), _) => Ok(result.clone()),
            (StatusCode::NOT_FOUND, None, _) if self.endpoint.path() != PATH => {
                let mut meant = self.endpoint.clone();
                meant.set_path(PATH);
                Err(Refusal::Unreachable(format!(
                    "no gateway answers at {}: a gateway's address ends in `{PATH}`, so write {meant}",
                    self.endpoint
                )))
            }
            (_, None, Some(message)) => Err(Refusal::Error(print::said(message))),
            (_, None, None) => Err(Refusal::Unreachable(format!(
                "what answers at {} is no gateway: {status}",
                self.endpoint
            ))),
        }
    }
}

/// Is it the whole value of the header, and not only the token?
fn is_header(token: &str) -> bool {
    token.trim_start().get(..7).is_some_and(|word| word.eq_ignore_ascii_case("bearer "))
}

/// The response in a body: that of one JSON document, or of a stream of events.
fn answer(body: &str) -> Option<Value> {
    if let Ok(document) = serde_json::from_str::<Value>(body) {
        return Some(document);
    }
    let mut data = String::new();
    for line in body.lines().chain([""]) {
        if let Some(more) = line.strip_prefix("data:") {
            data.push_str(more.strip_prefix(' ').unwrap_or(more));
        } else if line.is_empty() {
            match serde_json::from_str::<Value>(&data) {
                Ok(message) if message["id"] == 1 => return Some(message),
                Ok(_) | Err(_) => data.clear(),
            }
        }
    }
    None
}

/// Headers that repeat arguments, for those on the way that don't read bodies.
fn repeated(schema: &Value, arguments: &Value) -> Vec<(String, String)> {
    let wanted = header_arguments(schema).into_iter();
    wanted
        .filter_map(|argument| {
            let value = match argument.value(arguments)? {
                Value::String(text) => header_text(text),
                value @ (Value::Number(_) | Value::Bool(_)) => value.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => return None,
            };
            Some((format!("mcp-param-{}", argument.name()), value))
        })
        .collect()
}

/// A text as a header can carry it: whatever isn't plain goes encoded.
fn header_text(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
        && text.trim() == text
        && !text.starts_with("=?");
    if is_plain { text.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(text)) }
}

/// A result as `call` shows results.
pub(super) fn document(result: &Value) -> Value {
    let content = result["content"].as_array().into_iter().flatten().map(item).collect::<Vec<_>>();
    let mut document = json!({ "isError": result["isError"] == true, "content": content });
    if let Some(structured) = result.get("structuredContent") {
        document["structured"] = structured.clone();
    }
    document
}

fn item(block: &Value) -> Value {
    match block["type"].as_str() {
        Some("resource_link") => json!({ "type": "link", "uri": block["uri"], "name": block["name"] }),
        Some("resource") => {
            let mut item = block["resource"].clone();
            if let Some(members) = item.as_object_mut() {
                members.insert("type".to_owned(), json!("resource"));
                if let Some(data) = members.remove("blob") {
                    members.insert("data".to_owned(), data);
                }
            }
            item
        }
        _ => block.clone(),
    }
}

#[cfg(test)]
mod tests;
