//! The fake of outgoing requests: a function of the test answers them, and they are recorded.

use std::fmt;
use std::rc::Rc;
use std::time::Instant;

use super::{read, rounds, tell};
use crate::http::{Headers, HttpError, PreparedRequest, RequestTarget};
use crate::testing::{HttpAnswer, HttpRequest};

/// The size of a body chunk in bytes. It is small so that tests read more than one chunk.
const CHUNK_BYTES: usize = 1000;

/// Answers a request in place of a server.
type ServeFn = dyn Fn(&HttpRequest) -> Result<HttpAnswer, HttpError>;

/// The function that replaces all servers.
#[derive(Clone)]
pub(crate) struct Servers(pub(crate) Rc<ServeFn>);

/// The head of a response, and its body.
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) body: HttpBody,
}

/// A body that is being received.
pub(crate) struct HttpBody {
    left: std::vec::IntoIter<u8>,
    /// The error that ends the body, if it breaks off.
    broken: Option<HttpError>,
}

pub(crate) fn send(outgoing: &PreparedRequest, deadline: Option<Instant>) -> Result<HttpResponse, HttpError> {
    let request = HttpRequest {
        method: outgoing.method.clone(),
        url: outgoing.url.to_string(),
        headers: outgoing.headers.clone(),
        body: outgoing.body.clone().unwrap_or_default(),
        remaining: deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())),
    };
    if !matches!(request.method.as_str(), "GET" | "HEAD" | "OPTIONS") {
        rounds::record_effect(&format!("a {} request to {}", request.method, outgoing.place().origin));
    }
    tell(|gateway| gateway.requests.push(request.clone()));
    let Some(servers) = read(|gateway| gateway.servers.clone()) else {
        let RequestTarget { method, origin } = outgoing.place();
        return Err(HttpError::NotGranted { method, origin });
    };
    let HttpAnswer { status, headers, body, broken } = (servers.0)(&request)?;
    let body = if request.method == "HEAD" { Vec::new() } else { body };
    Ok(HttpResponse { status, headers, body: HttpBody { left: body.into_iter(), broken } })
}

impl HttpBody {
    pub(crate) fn read(&mut self, most: usize, _deadline: Option<Instant>) -> Result<Vec<u8>, HttpError> {
        let piece: Vec<u8> = self.left.by_ref().take(most.min(CHUNK_BYTES)).collect();
        match (piece.is_empty(), self.broken.take()) {
            (true, Some(error)) => Err(error),
            (_, broken) => {
                self.broken = broken;
                Ok(piece)
            }
        }
    }
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Servers")
    }
}
