//! `wasi:http/outgoing-handler` as plain blocking functions, so that the fake needs no WASI resources.
//!
//! A WASI resource must be dropped after its children, so the order of the fields is the order of their drops.

use std::time::{Duration, Instant};

use wasip2::clocks::monotonic_clock;
use wasip2::http::outgoing_handler;
use wasip2::http::types::{
    ErrorCode, Fields, FutureIncomingResponse, IncomingBody, IncomingResponse, Method, OutgoingBody,
    OutgoingRequest, RequestOptions, Scheme, http_error_code,
};
use wasip2::io::poll::{Pollable, poll};
use wasip2::io::streams::{InputStream, OutputStream, StreamError};

use super::failure::explain;
use crate::http::{Headers, HttpError, PreparedRequest, RequestTarget};

/// The head of a response, and its body.
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) body: HttpBody,
}

/// A body that is being received.
pub(crate) struct HttpBody {
    stream: InputStream,
    _body: IncomingBody,
    _response: IncomingResponse,
    place: RequestTarget,
}

/// Sends a request and waits for the head of the response.
pub(crate) fn send(outgoing: &PreparedRequest, deadline: Option<Instant>) -> Result<HttpResponse, HttpError> {
    let place = outgoing.place();
    let request = request(outgoing, &place)?;
    let body = match &outgoing.body {
        Some(bytes) => Some((request.body().map_err(|()| unexpected("its body is already taken"))?, bytes)),
        None => None,
    };
    let answer = outgoing_handler::handle(request, options(deadline))
        .map_err(|error| explain(&error, place.clone()))?;
    if let Some((body, bytes)) = body {
        upload(body, bytes, &answer, deadline, &place)?;
    }
    let response = response(&answer, deadline, &place)?;
    let status = response.status();
    let headers = response.headers().entries().into_iter().collect();
    let body = response.consume().map_err(|()| unexpected("its body is already read"))?;
    let stream = body.stream().map_err(|()| unexpected("its body is already read"))?;
    Ok(HttpResponse { status, headers, body: HttpBody { stream, _body: body, _response: response, place } })
}

impl HttpBody {
    /// Returns the next chunk of at most `most` bytes. Empty at the end.
    pub(crate) fn read(&mut self, most: usize, deadline: Option<Instant>) -> Result<Vec<u8>, HttpError> {
        loop {
            match self.stream.read(most as u64) {
                Ok(bytes) if bytes.is_empty() => {
                    wait(&[&self.stream.subscribe()], deadline, &self.place)?;
                }
                Ok(bytes) => return Ok(bytes),
                Err(StreamError::Closed) => return Ok(Vec::new()),
                Err(error) => return Err(broken(&error, &self.place)),
            }
        }
    }
}

fn request(outgoing: &PreparedRequest, place: &RequestTarget) -> Result<OutgoingRequest, HttpError> {
    let headers = Fields::new();
    for (name, value) in outgoing.headers.iter() {
        add(&headers, name, value)?;
    }
    if let Some(body) = &outgoing.body {
        if outgoing.headers.get("content-length").is_none() {
            add(&headers, "content-length", body.len().to_string().as_bytes())?;
        }
    }
    let url = &outgoing.url;
    let scheme = if url.scheme() == "https" { Scheme::Https } else { Scheme::Http };
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let request = OutgoingRequest::new(headers);
    let set = request.set_method(&method(&outgoing.method));
    let set = set.and_then(|()| request.set_scheme(Some(&scheme)));
    let set = set.and_then(|()| request.set_authority(Some(url.authority())));
    let set = set.and_then(|()| request.set_path_with_query(Some(&path)));
    set.map_err(|()| HttpError::InvalidUrl {
        url: place.origin.clone(),
        reason: "the gateway rejected its method, host or path".to_owned(),
    })?;
    Ok(request)
}

fn add(headers: &Fields, name: &str, value: &[u8]) -> Result<(), HttpError> {
    headers
        .append(name, value)
        .map_err(|error| HttpError::InvalidHeader { name: name.to_owned(), reason: error.to_string() })
}

fn method(name: &str) -> Method {
    match name {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "CONNECT" => Method::Connect,
        "OPTIONS" => Method::Options,
        "TRACE" => Method::Trace,
        "PATCH" => Method::Patch,
        other => Method::Other(other.to_owned()),
    }
}

/// Sets the timeouts of a shorter deadline, so that the gateway ends the connection in time.
fn options(deadline: Option<Instant>) -> Option<RequestOptions> {
    let left = nanoseconds(deadline?.saturating_duration_since(Instant::now()));
    let options = RequestOptions::new();
    // Ignore an unsupported timeout: the wait ends at the deadline in any case.
    let _ = options.set_connect_timeout(Some(left));
    let _ = options.set_first_byte_timeout(Some(left));
    let _ = options.set_between_bytes_timeout(Some(left));
    Some(options)
}

/// Writes the whole body, unless the server responds before it has read everything.
fn upload(
    body: OutgoingBody,
    bytes: &[u8],
    answer: &FutureIncomingResponse,
    deadline: Option<Instant>,
    place: &RequestTarget,
) -> Result<(), HttpError> {
    let stream = body.write().map_err(|()| unexpected("its body is already written"))?;
    let written = write(&stream, bytes, answer, deadline, place)?;
    drop(stream);
    match written {
        UploadEnd::All => OutgoingBody::finish(body, None).map_err(|error| explain(&error, place.clone())),
        UploadEnd::NotAll => Ok(()), // the response explains it
    }
}

enum UploadEnd {
    All,
    NotAll,
}

fn write(
    stream: &OutputStream,
    mut bytes: &[u8],
    answer: &FutureIncomingResponse,
    deadline: Option<Instant>,
    place: &RequestTarget,
) -> Result<UploadEnd, HttpError> {
    let room = stream.subscribe();
    let answered = answer.subscribe();
    let mut flushing = false;
    loop {
        match stream.check_write() {
            Ok(0) => {
                if answered.ready() {
                    return Ok(UploadEnd::NotAll);
                }
                wait(&[&room, &answered], deadline, place)?;
            }
            Ok(_) if flushing => return Ok(UploadEnd::All),
            Ok(most) => {
                let (now, later) =
                    bytes.split_at(bytes.len().min(usize::try_from(most).unwrap_or(usize::MAX)));
                bytes = later;
                flushing = later.is_empty();
                let done = stream.write(now).and_then(|()| if flushing { stream.flush() } else { Ok(()) });
                if done.is_err() {
                    return Ok(UploadEnd::NotAll);
                }
            }
            Err(_) => return Ok(UploadEnd::NotAll),
        }
    }
}

fn response(
    answer: &FutureIncomingResponse,
    deadline: Option<Instant>,
    place: &RequestTarget,
) -> Result<IncomingResponse, HttpError> {
    loop {
        match answer.get() {
            Some(Ok(end)) => return end.map_err(|error| explain(&error, place.clone())),
            Some(Err(())) => return Err(unexpected("its response is already taken")),
            None => wait(&[&answer.subscribe()], deadline, place)?,
        }
    }
}

/// Waits until one of the pollables is ready.
fn wait(pollables: &[&Pollable], deadline: Option<Instant>, place: &RequestTarget) -> Result<(), HttpError> {
    let Some(deadline) = deadline else {
        poll(pollables);
        return Ok(());
    };
    let left = deadline.saturating_duration_since(Instant::now());
    let clock = monotonic_clock::subscribe_duration(nanoseconds(left));
    let all: Vec<&Pollable> = pollables.iter().copied().chain([&clock]).collect();
    let ready = poll(&all);
    if ready.iter().all(|index| *index as usize == pollables.len()) {
        return Err(HttpError::Timeout { origin: place.origin.clone() });
    }
    Ok(())
}

fn broken(error: &StreamError, place: &RequestTarget) -> HttpError {
    let StreamError::LastOperationFailed(error) = error else {
        return explain(&ErrorCode::HttpResponseIncomplete, place.clone());
    };
    match http_error_code(error) {
        Some(code) => explain(&code, place.clone()),
        None => HttpError::Protocol { origin: place.origin.clone(), reason: error.to_debug_string() },
    }
}

fn unexpected(what: &str) -> HttpError {
    HttpError::Other(format!("internal error in an HTTP request: {what}"))
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
