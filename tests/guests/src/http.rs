//! HTTP requests through WASI's bindings directly, including everything that a library would correct or refuse.

use std::fmt::Debug;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wasip2::http::outgoing_handler;
use wasip2::http::types::{
    ErrorCode, Fields, FutureIncomingResponse, IncomingBody, IncomingResponse, Method, OutgoingBody,
    OutgoingRequest, RequestOptions, Scheme, http_error_code,
};
use wasip2::io::streams::StreamError;

/// The number of bytes written or read in one step.
const CHUNK_BYTES: usize = 8 << 10;

/// A request.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
pub(crate) struct RequestArgs {
    /// The URL, split at `://` and at the next `/`, and passed on unchanged.
    pub(crate) url: String,
    /// The method. Default: GET.
    #[serde(default)]
    pub(crate) method: Option<String>,
    /// Headers, such as `accept: text/plain`.
    #[serde(default)]
    pub(crate) headers: Vec<String>,
    /// The body. Default: none.
    #[serde(default)]
    pub(crate) body: Option<String>,
    /// The connect timeout in milliseconds.
    #[serde(default)]
    pub(crate) connect_ms: Option<u64>,
    /// The first-byte timeout in milliseconds.
    #[serde(default)]
    pub(crate) first_byte_ms: Option<u64>,
    /// The timeout between bytes in milliseconds.
    #[serde(default)]
    pub(crate) between_bytes_ms: Option<u64>,
}

/// A response.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct ResponseSummary {
    /// The error, if the response is missing or incomplete.
    refused: Option<String>,
    status: Option<u16>,
    /// Headers, one per line.
    headers: Vec<String>,
    /// The number of bytes read from the body.
    read: usize,
    /// The first bytes of the body.
    body: String,
}

fn outcome_text(error: impl Debug) -> String {
    format!("{error:?}").trim_start_matches("ErrorCode::").to_owned()
}

/// Sends a request and reads its response.
pub(crate) fn request(asked: &RequestArgs) -> ResponseSummary {
    match begin(asked).and_then(|future| wait(&future)) {
        Ok(response) => read(&response),
        Err(refused) => ResponseSummary { refused: Some(refused), ..ResponseSummary::default() },
    }
}

/// Sends a request without waiting for its response.
pub(crate) fn begin(asked: &RequestArgs) -> Result<FutureIncomingResponse, String> {
    let headers = Fields::new();
    for header in &asked.headers {
        let (name, value) = header.split_once(": ").unwrap_or((header, ""));
        headers.append(name, value.as_bytes()).map_err(outcome_text)?;
    }
    let (request, body) = prepare(asked, headers, asked.body.is_some())?;
    let future = outgoing_handler::handle(request, Some(options(asked))).map_err(outcome_text)?;
    if let Some(body) = body {
        upload(body, asked.body.clone().unwrap_or_default().as_bytes())?;
    }
    Ok(future)
}

/// Creates a request without sending it.
fn prepare(
    asked: &RequestArgs,
    headers: Fields,
    with_body: bool,
) -> Result<(OutgoingRequest, Option<OutgoingBody>), String> {
    let request = OutgoingRequest::new(headers);
    let (scheme, rest) = asked.url.split_once("://").unwrap_or(("https", &asked.url));
    let scheme = match scheme {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        other => Scheme::Other(other.to_owned()),
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let method = match asked.method.as_deref() {
        None | Some("GET") => Method::Get,
        Some("POST") => Method::Post,
        Some(other) => Method::Other(other.to_owned()),
    };
    let refused = |what: &str| format!("cannot set the {what}");
    request.set_scheme(Some(&scheme)).map_err(|()| refused("scheme"))?;
    request.set_authority(Some(authority)).map_err(|()| refused("authority"))?;
    request.set_path_with_query(Some(path)).map_err(|()| refused("path"))?;
    request.set_method(&method).map_err(|()| refused("method"))?;
    let body = if with_body { Some(request.body().map_err(|()| refused("body"))?) } else { None };
    Ok((request, body))
}

fn options(asked: &RequestArgs) -> RequestOptions {
    let options = RequestOptions::new();
    let nanoseconds = |milliseconds: u64| milliseconds * 1_000_000;
    let _ = options.set_connect_timeout(asked.connect_ms.map(nanoseconds));
    let _ = options.set_first_byte_timeout(asked.first_byte_ms.map(nanoseconds));
    let _ = options.set_between_bytes_timeout(asked.between_bytes_ms.map(nanoseconds));
    options
}

fn upload(body: OutgoingBody, bytes: &[u8]) -> Result<(), String> {
    let stream = body.write().map_err(|()| "cannot write the body".to_owned())?;
    for piece in bytes.chunks(4 << 10) {
        stream.blocking_write_and_flush(piece).map_err(outcome_text)?;
    }
    drop(stream);
    OutgoingBody::finish(body, None).map_err(outcome_text)
}

/// Waits for the head of a response.
pub(crate) fn wait(future: &FutureIncomingResponse) -> Result<IncomingResponse, String> {
    loop {
        match future.get() {
            Some(Ok(answer)) => return answer.map_err(outcome_text),
            Some(Err(())) => return Err("the response is already taken".to_owned()),
            None => future.subscribe().block(),
        }
    }
}

/// Reads a response to its end.
fn read(response: &IncomingResponse) -> ResponseSummary {
    let entries = response.headers().entries();
    let mut answered = ResponseSummary {
        status: Some(response.status()),
        headers: entries
            .iter()
            .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value)))
            .collect(),
        ..ResponseSummary::default()
    };
    let Ok(body) = response.consume() else { return answered };
    let mut kept = Vec::new();
    match body.stream() {
        Ok(stream) => loop {
            match stream.blocking_read(CHUNK_BYTES as u64) {
                Ok(piece) => {
                    answered.read += piece.len();
                    kept.extend_from_slice(
                        &piece[..piece.len().min(CHUNK_BYTES - kept.len().min(CHUNK_BYTES))],
                    );
                }
                Err(StreamError::Closed) => break,
                Err(StreamError::LastOperationFailed(error)) => {
                    let code: Option<ErrorCode> = http_error_code(&error);
                    answered.refused = Some(code.map_or_else(|| error.to_debug_string(), outcome_text));
                    break;
                }
            }
        },
        Err(()) => answered.refused = Some("cannot read the body".to_owned()),
    }
    drop(IncomingBody::finish(body));
    answered.body = String::from_utf8_lossy(&kept).into_owned();
    answered
}

/// Sends requests one after the other until one is refused.
pub(crate) fn many(url: &str, count: u32) -> String {
    let asked = RequestArgs { url: url.to_owned(), ..RequestArgs::default() };
    for done in 0..count {
        if let ResponseSummary { refused: Some(refused), .. } = request(&asked) {
            return format!("{done} answered, then refused: {refused}");
        }
    }
    format!("{count} answered")
}

/// Starts requests without reading their responses until one is refused.
pub(crate) fn at_once(url: &str, count: u32) -> String {
    let asked = RequestArgs { url: url.to_owned(), ..RequestArgs::default() };
    let mut open = Vec::new();
    for _ in 0..count {
        let begun = begin(&asked).and_then(|future| Ok((wait(&future)?, future)));
        match begun {
            Ok(answer) => open.push(answer),
            Err(refused) => return format!("{} open, then refused: {refused}", open.len()),
        }
    }
    format!("{} open", open.len())
}

/// Posts a body of this size, and returns the number of bytes accepted.
pub(crate) fn upload_of(url: &str, bytes: usize) -> String {
    let asked =
        RequestArgs { url: url.to_owned(), method: Some("POST".to_owned()), ..RequestArgs::default() };
    let sent = || -> Result<String, String> {
        let (request, body) = prepare(&asked, Fields::new(), true)?;
        let future = outgoing_handler::handle(request, None).map_err(outcome_text)?;
        let body = body.ok_or("there is no body")?;
        let written = upload(body, &vec![b'x'; bytes]);
        let answer = wait(&future);
        let status = answer.map_err(|refused| format!("refused: {refused}"))?.status();
        Ok(format!("{status}, {}", written.map_or_else(|error| error, |()| "all written".to_owned())))
    };
    sent().unwrap_or_else(|refused| refused)
}

/// Posts fewer or more bytes than the `content-length`.
pub(crate) fn lie(url: &str, content_length: &str, body: &str) -> String {
    let asked =
        RequestArgs { url: url.to_owned(), method: Some("POST".to_owned()), ..RequestArgs::default() };
    let sent = || -> Result<u16, String> {
        let headers = Fields::new();
        headers.append("content-length", content_length.as_bytes()).map_err(outcome_text)?;
        let (request, written) = prepare(&asked, headers, true)?;
        let future = outgoing_handler::handle(request, None).map_err(outcome_text)?;
        let uploaded = written.map_or(Ok(()), |written| upload(written, body.as_bytes()));
        let status = wait(&future)?.status();
        uploaded.map(|()| status)
    };
    sent().map_or_else(|refused| format!("refused: {refused}"), |status| status.to_string())
}

/// Adds a header to a list.
pub(crate) fn header(name: &str, value: &str) -> String {
    let added = Fields::new().append(name, value.as_bytes());
    added.map_or_else(|error| format!("refused: {error:?}"), |()| "taken".to_owned())
}

/// Adds headers endlessly; returns the number accepted.
pub(crate) fn headers_flood() -> u32 {
    let headers = Fields::new();
    let mut taken = 0;
    while headers.append(&format!("x-{taken}"), &[b'x'; 1000]).is_ok() {
        taken += 1;
    }
    taken
}

/// Creates request resources without sending them: headers, requests, requests with long paths or bodies, or modified
/// copies of headers. `dropped` keeps none.
pub(crate) fn hoard(what: &str, count: u32) -> String {
    let full = || -> Result<Fields, String> {
        let headers = Fields::new();
        for at in 0..20 {
            headers.append(&format!("x-{at}"), &[b'x'; 1_000]).map_err(outcome_text)?;
        }
        Ok(headers)
    };
    let path = format!("/{}", "p".repeat(60_000));
    let hoarded = || -> Result<usize, String> {
        let (mut headers, mut requests, mut bodies) = (Vec::new(), Vec::new(), Vec::new());
        let first = full()?;
        for _ in 0..count {
            match what {
                "headers" => headers.push(full()?),
                "copies" => {
                    let copy = first.clone();
                    copy.append("x-more", b"x").map_err(outcome_text)?;
                    headers.push(copy);
                }
                "requests" => requests.push(OutgoingRequest::new(full()?)),
                "paths" => {
                    let request = OutgoingRequest::new(Fields::new());
                    request
                        .set_path_with_query(Some(&path))
                        .map_err(|()| "cannot set the path".to_owned())?;
                    requests.push(request);
                }
                "bodies" => {
                    let request = OutgoingRequest::new(Fields::new());
                    let body = request.body().map_err(|()| "no body".to_owned())?;
                    let stream = body.write().map_err(|()| "no stream".to_owned())?;
                    stream.check_write().map_err(outcome_text)?;
                    stream.write(&[b'x'; 4_096]).map_err(outcome_text)?;
                    drop(stream);
                    requests.push(request);
                    bodies.push(body);
                }
                "dropped" => drop(OutgoingRequest::new(full()?)),
                other => return Err(format!("unknown kind {other}")),
            }
        }
        Ok(headers.len() + requests.len())
    };
    hoarded().map_or_else(|error| error, |kept| format!("{kept} kept"))
}

/// Gets responses and keeps their heads before fetching them (`heads`), or their trailers: fetched (`trailers`), not
/// fetched (`unfetched`), or fetched and dropped (`dropped`). Returns their number.
pub(crate) fn hoard_answers(what: &str, url: &str, count: u32) -> String {
    let asked = RequestArgs { url: url.to_owned(), ..RequestArgs::default() };
    let (mut heads, mut bodies, mut trailers) = (Vec::new(), Vec::new(), Vec::new());
    let mut one_more = || -> Result<(), String> {
        let future = begin(&asked)?;
        if what == "heads" {
            future.subscribe().block();
            heads.push(future);
            return Ok(());
        }
        let answer = wait(&future)?;
        let body = answer.consume().map_err(|()| "there is no body".to_owned())?;
        let stream = body.stream().map_err(|()| "cannot read the body".to_owned())?;
        loop {
            match stream.blocking_read(CHUNK_BYTES as u64) {
                Ok(_) => {}
                Err(StreamError::Closed) => break,
                Err(StreamError::LastOperationFailed(error)) => {
                    return Err(http_error_code(&error).map_or_else(|| error.to_debug_string(), outcome_text));
                }
            }
        }
        drop(stream);
        if what == "unfetched" {
            bodies.push(body);
            return Ok(());
        }
        let end = IncomingBody::finish(body);
        end.subscribe().block();
        match end.get() {
            Some(Ok(Ok(Some(fields)))) if what == "trailers" => trailers.push(fields),
            Some(Ok(Ok(Some(_)))) => {}
            other => return Err(format!("nothing follows: {other:?}")),
        }
        Ok(())
    };
    let refused = (0..count).find_map(|_| one_more().err());
    let heads = heads.iter().filter(|head| matches!(head.get(), Some(Ok(Ok(_))))).count();
    let kept = heads + bodies.len() + trailers.len();
    refused.map_or_else(|| format!("{kept} kept"), |error| format!("{kept} kept, then {error}"))
}

/// Sends a response's headers with another request, and returns its response.
pub(crate) fn pass_on(from: &str, to: &str) -> Result<ResponseSummary, String> {
    let asked = RequestArgs { url: from.to_owned(), ..RequestArgs::default() };
    let answer = wait(&begin(&asked)?)?;
    let headers = answer.headers().clone();
    headers.delete("content-length").map_err(outcome_text)?;
    let asked = RequestArgs { url: to.to_owned(), ..RequestArgs::default() };
    let (request, _) = prepare(&asked, headers, false)?;
    let future = outgoing_handler::handle(request, None).map_err(outcome_text)?;
    Ok(read(&wait(&future)?))
}
