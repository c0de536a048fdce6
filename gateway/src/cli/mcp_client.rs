//! An MCP client of a running gateway, used by `call --url` and `list --url`.
//!
//! It uses the newest revision, which needs no session.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
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
use moongate_config::ListenerKind;
use moongate_model::json::Json;
use moongate_protocol::catalog::header_arguments;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::time::timeout;
use url::{Host, Url};

use crate::cli::call::rounds::{RoundInput, RoundResult};
use crate::cli::client_tls::ClientTlsOptions;
use crate::cli::connect::connect_to_socket;
use crate::cli::connection_failure::ConnectionFailure;
use crate::cli::{configuration, print, version};
use crate::transport::http::MCP_PATH;
use crate::transport::http::tls::PLAIN_HTTP_ANSWER;
use crate::transport::unix_socket::ADDRESS_PREFIX;

/// The protocol revision, which is sent with every request.
const PROTOCOL_REVISION: &str = "2026-07-28";

/// The client name of `call`, as plugins see it.
pub(super) const CLIENT_NAME: &str = "moongate-call";

/// The variable with the bearer token. Command lines are visible to every user of the machine.
pub(super) const TOKEN_VARIABLE: &str = "MOONGATE_TOKEN";

/// The longest response, in bytes.
const MAX_RESPONSE_BYTES: usize = 64 << 20;

/// The time limit for connecting. A call has no limit while data arrives.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum number of pages of a list.
const MAX_LIST_PAGES: usize = 1000;

/// An error of the client.
#[derive(Debug)]
pub(super) enum McpClientError {
    /// The connection failed.
    Connection(ConnectionFailure, Url),
    /// The server isn't a gateway, or has another address.
    Unreachable(String),
    /// The server sends no data.
    TimedOut(String),
    /// The token is missing or invalid.
    Unauthorized(String),
    /// The gateway returned an error.
    Rejected(String),
}

/// A client of the gateway at an endpoint.
pub(super) struct McpClient {
    endpoint: Url,
    transport: ClientTransport,
    token: Option<HeaderValue>,
    /// The time limit without data.
    read_timeout: Duration,
    /// The client capabilities.
    capabilities: Value,
}

/// The way to the gateway.
enum ClientTransport {
    Http(HttpTransport),
    /// The Unix socket at this path.
    Socket(PathBuf),
}

/// The HTTP client. Without TLS, it also works on machines that have no CA certificates.
pub(super) enum HttpTransport {
    Plain(Client<HttpConnector, Full<Bytes>>),
    Tls(Client<HttpsConnector<HttpConnector>, Full<Bytes>>),
}

impl ClientTransport {
    fn to(endpoint: &Url, config: Option<&Path>, tls: &ClientTlsOptions) -> Result<Self> {
        match path_of_socket(endpoint) {
            Some(path) => Ok(Self::Socket(path)),
            None => HttpTransport::to(endpoint, config, tls).map(Self::Http),
        }
    }
}

impl HttpTransport {
    /// A client of `endpoint`.
    ///
    /// # Errors
    /// A file of `tls` can't be used, or this machine has no CA certificates.
    pub(super) fn to(endpoint: &Url, config: Option<&Path>, tls: &ClientTlsOptions) -> Result<Self> {
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let client = Client::builder(TokioExecutor::new());
        if endpoint.scheme() == "http" {
            return Ok(Self::Plain(client.build(connector)));
        }
        let tls = tls.client_config(&configuration::read(config), ListenerKind::Http)?;
        let trust = HttpsConnectorBuilder::new().with_tls_config(tls);
        Ok(Self::Tls(client.build(trust.https_only().enable_http1().wrap_connector(connector))))
    }

    pub(super) async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, client::Error> {
        match self {
            Self::Plain(client) => client.request(request).await,
            Self::Tls(client) => client.request(request).await,
        }
    }
}

impl McpClient {
    /// A client of the gateway at `endpoint`. Over TLS, it also trusts the certificate in the configuration that `config`
    /// names or that is found.
    ///
    /// # Errors
    /// The token isn't a valid header value, a file of `tls` can't be used, or this machine has no CA certificates.
    pub(super) fn new(
        endpoint: Url,
        config: Option<&Path>,
        tls: &ClientTlsOptions,
        capabilities: Value,
        read_timeout: Duration,
    ) -> Result<Self> {
        let token = bearer_token()?;
        let transport = ClientTransport::to(&endpoint, config, tls)?;
        Ok(Self { transport, endpoint, token, read_timeout, capabilities })
    }

    /// Prints a note if the token is sent unencrypted to another machine.
    pub(super) fn warn_if_token_exposed(&self) {
        if self.exposes_token() {
            print::note("the token is sent to another machine unencrypted; use https");
        }
    }

    /// True if the token is sent unencrypted to another machine.
    pub(super) fn exposes_token(&self) -> bool {
        self.token.is_some() && is_exposed(&self.endpoint)
    }

    /// The tools in their protocol form, up to the page with the one named `until`.
    pub(super) async fn tools(&self, until: Option<&str>) -> Result<Vec<Value>, McpClientError> {
        self.list("tools/list", "tools", until).await
    }

    /// The items that a method lists under `key`, in their protocol form, up to the page with the one named `until`.
    pub(super) async fn list(
        &self,
        method: &str,
        key: &str,
        until: Option<&str>,
    ) -> Result<Vec<Value>, McpClientError> {
        let mut items = Vec::new();
        let mut cursor = None;
        for _ in 0..MAX_LIST_PAGES {
            let parameters = cursor.map_or(json!({}), |cursor: Value| json!({ "cursor": cursor }));
            let mut page = self.request(method, None, &[], parameters).await?;
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

    /// Calls a tool; returns its result or questions in their protocol form.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: &Json,
        schema: &Value,
        more: &RoundInput,
    ) -> Result<RoundResult<Value>, McpClientError> {
        let arguments = arguments.to_value().map_err(|error| McpClientError::Rejected(error.to_string()))?;
        let header_values = header_values(schema, &arguments);
        let mut parameters = json!({ "name": tool, "arguments": arguments });
        if let Some(state) = &more.state {
            parameters["requestState"] = json!(state);
            parameters["inputResponses"] = Value::Object(more.answers.clone());
        }
        let result = self.request("tools/call", Some(tool), &header_values, parameters).await?;
        let asks = result["resultType"] == "input_required";
        Ok(if asks { RoundResult::InputRequired(result) } else { RoundResult::Done(result) })
    }

    /// Sends one request and returns its result.
    async fn request(
        &self,
        method: &str,
        name: Option<&str>,
        header_values: &[(String, String)],
        mut parameters: Value,
    ) -> Result<Value, McpClientError> {
        parameters["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": PROTOCOL_REVISION,
            "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            "io.modelcontextprotocol/clientInfo": { "name": CLIENT_NAME, "version": version::GATEWAY_VERSION },
        });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": parameters });
        let transport = match &self.transport {
            ClientTransport::Http(transport) => transport,
            ClientTransport::Socket(path) => return self.request_over_socket(path, &body).await,
        };
        let mut request = Request::post(self.endpoint.as_str())
            .header(ACCEPT, "application/json, text/event-stream")
            .header(CONTENT_TYPE, "application/json")
            .header("mcp-protocol-version", PROTOCOL_REVISION)
            .header("mcp-method", method);
        for (header, value) in header_values.iter().map(|(header, value)| (header.as_str(), value.as_str())) {
            request = request.header(header, value);
        }
        if let Some(name) = name {
            request = request.header("mcp-name", name);
        }
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token);
        }
        let request = request.body(Full::from(body.to_string())).map_err(|_| {
            McpClientError::Rejected(format!("invalid tool name `{}`", name.unwrap_or_default()))
        })?;
        let response = self.with_timeout(transport.send(request)).await?;
        let response = response.map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        let mut body = Limited::new(response.into_body(), MAX_RESPONSE_BYTES);
        let mut whole = Vec::new();
        while let Some(frame) = self.with_timeout(body.frame()).await? {
            if let Ok(data) = frame.map_err(|error| self.unreachable(&*error))?.into_data() {
                whole.extend_from_slice(&data);
            }
        }
        self.result(status, &String::from_utf8_lossy(&whole))
    }

    /// Sends one request over the Unix socket and returns its result.
    async fn request_over_socket(&self, path: &Path, body: &Value) -> Result<Value, McpClientError> {
        let failed = |error: io::Error| self.unreachable(&error);
        let stream = self.with_timeout(connect_to_socket(path)).await?.map_err(failed)?;
        let (input, mut output) = stream.into_split();
        let request = format!("{body}\n");
        self.with_timeout(output.write_all(request.as_bytes())).await?.map_err(failed)?;
        let mut lines = BufReader::new(input.take(MAX_RESPONSE_BYTES as u64)).lines();
        loop {
            let closed = || failed(io::ErrorKind::UnexpectedEof.into());
            let line = self.with_timeout(lines.next_line()).await?.map_err(failed)?.ok_or_else(closed)?;
            let message: Value = serde_json::from_str(&line).unwrap_or_default();
            // An error without an id is about the connection.
            if message["id"] == 1 || message["id"].is_null() && message["error"].is_object() {
                return self.result(StatusCode::OK, &line);
            }
        }
    }

    /// Waits for data, up to the time limit.
    async fn with_timeout<T>(&self, next: impl Future<Output = T>) -> Result<T, McpClientError> {
        timeout(self.read_timeout, next).await.map_err(|_| {
            let seconds = usize::try_from(self.read_timeout.as_secs()).unwrap_or(usize::MAX);
            let seconds = print::count(seconds, "second");
            McpClientError::TimedOut(format!("no data from {} for {seconds}", self.endpoint))
        })
    }

    fn unreachable(&self, error: &(dyn std::error::Error + 'static)) -> McpClientError {
        let root = std::iter::successors(Some(error), |error| error.source()).last().unwrap_or(error);
        if let Some((other, meant)) = self.correct_scheme(&root.to_string()) {
            return McpClientError::Unreachable(format!(
                "no gateway responds at {}: the server uses {other}: write {meant}",
                self.endpoint
            ));
        }
        let is_tls = self.endpoint.scheme() == "https";
        McpClientError::Connection(ConnectionFailure::of(error, is_tls), self.endpoint.clone())
    }

    /// The other scheme and the URL with it, if the error shows that the server uses that scheme.
    fn correct_scheme(&self, failure: &str) -> Option<(&'static str, Url)> {
        let other = match self.endpoint.scheme() {
            "https" if failure.contains("InvalidContentType") => "http",
            "http" if failure == PLAIN_HTTP_ANSWER => "https",
            _ => return None,
        };
        let mut meant = self.endpoint.clone();
        meant.set_scheme(other).ok()?;
        Some((other, meant))
    }

    fn result(&self, status: StatusCode, body: &str) -> Result<Value, McpClientError> {
        if body == PLAIN_HTTP_ANSWER {
            return Err(self.unreachable(&io::Error::other(PLAIN_HTTP_ANSWER)));
        }
        let answer = parse_response(body).unwrap_or_default();
        let message = answer["error"]["message"].as_str();
        match (status, answer.get("result"), message) {
            (StatusCode::UNAUTHORIZED, ..) => Err(McpClientError::Unauthorized(match message {
                Some(message) => format!("the gateway reported an error: {}", print::inline(message)),
                None => format!("the gateway reported an error: {status}"),
            })),
            (_, Some(result), _) => Ok(result.clone()),
            (StatusCode::NOT_FOUND, None, _) if self.endpoint.path() != MCP_PATH => {
                let mut meant = self.endpoint.clone();
                meant.set_path(MCP_PATH);
                Err(McpClientError::Unreachable(format!(
                    "no gateway responds at {}: the path of the endpoint is `{MCP_PATH}`, so write {meant}",
                    self.endpoint
                )))
            }
            (_, None, Some(message)) => Err(McpClientError::Rejected(print::inline(message))),
            (_, None, None) => Err(McpClientError::Unreachable(format!(
                "the server at {} isn't a gateway: {status}",
                self.endpoint
            ))),
        }
    }
}

/// The address of a Unix socket as a URL, such as `unix:/run/moongate/mcp.sock`. `None` if it isn't an absolute path.
pub(super) fn socket_url(path: &Path) -> Option<Url> {
    let file = Url::from_file_path(path).ok()?;
    Url::parse(&format!("{ADDRESS_PREFIX}{}", file.path())).ok()
}

/// The path of the Unix socket at this URL. `None` if it is an address of HTTP.
fn path_of_socket(url: &Url) -> Option<PathBuf> {
    let path = url.as_str().strip_prefix(ADDRESS_PREFIX)?;
    Url::parse(&format!("file://{path}")).ok()?.to_file_path().ok()
}

/// The header with the bearer token in the variable, if it is set.
///
/// # Errors
/// The token isn't a valid header value.
pub(super) fn bearer_token() -> Result<Option<HeaderValue>> {
    let token = std::env::var(TOKEN_VARIABLE).ok().filter(|token| !token.is_empty());
    if token.as_ref().is_some_and(|token| is_header_value(token)) {
        bail!("{TOKEN_VARIABLE} starts with `Bearer`: remove that and keep only the token");
    }
    let token = token.map(|token| HeaderValue::try_from(format!("Bearer {token}"))).transpose();
    let mut token = token.with_context(|| format!("{TOKEN_VARIABLE} isn't a valid token"))?;
    token.iter_mut().for_each(|token| token.set_sensitive(true));
    Ok(token)
}

/// True if requests to this endpoint are sent to another machine without encryption.
pub(super) fn is_exposed(endpoint: &Url) -> bool {
    let is_here = match endpoint.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.to_canonical().is_loopback(),
        None => false,
    };
    endpoint.scheme() == "http" && !is_here
}

/// True if the text is a whole header value instead of a token.
fn is_header_value(token: &str) -> bool {
    token.trim_start().get(..7).is_some_and(|word| word.eq_ignore_ascii_case("bearer "))
}

/// The response in a body, which is a JSON document or an event stream.
fn parse_response(body: &str) -> Option<Value> {
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

/// The headers that repeat arguments, for proxies that don't read bodies.
fn header_values(schema: &Value, arguments: &Value) -> Vec<(String, String)> {
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

/// The text as a header value, encoded unless it is plain.
fn header_text(text: &str) -> String {
    let is_unambiguous_path = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
        && text.trim() == text
        && !text.starts_with("=?");
    if is_unambiguous_path { text.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(text)) }
}

#[cfg(test)]
mod tests;
