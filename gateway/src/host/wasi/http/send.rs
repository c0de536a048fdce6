//! One request, from the grants to the head of its answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, HOST, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri, Version};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::{Body as _, Incoming};
use moongate_core::config::{HttpOrigin, Reserved, is_same_header};
use tokio::time::{Instant, timeout_at};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

use super::body::{Download, Progress, Source, Upload};
use super::budget::{Budget, Ticket};
use super::check::{Permit, check, check_destination};
use super::pool::Connection;
use super::{Sender, failure};
use crate::host::wasi::grant_audit::Uses;

/// The longest that a connection may take, with the lookup of the host's name and TLS.
const CONNECTING: Duration = Duration::from_secs(5);

/// When a request has to have come so far.
#[derive(Debug, Clone, Copy)]
struct Times {
    connecting: Duration,
    /// For the head of the answer.
    head: Instant,
    /// Whether that is the limit, and not less that the guest asked for.
    is_limit: bool,
    between: Duration,
}

impl Times {
    /// What the guest asks for, if it isn't more than it may have.
    fn new(options: RequestOptions, most: Duration) -> Self {
        let RequestOptions { connect_timeout, first_byte_timeout, between_bytes_timeout } = options;
        let at_most = |asked: Option<Duration>, most: Duration| asked.map_or(most, |asked| asked.min(most));
        Self {
            connecting: at_most(connect_timeout, CONNECTING),
            head: Instant::now() + at_most(first_byte_timeout, most),
            is_limit: first_byte_timeout.is_none_or(|asked| asked >= most),
            between: at_most(between_bytes_timeout, most),
        }
    }

    fn connected(&self) -> Instant {
        self.head.min(Instant::now() + self.connecting)
    }
}

impl Sender {
    /// Sends a request if it is granted, and gives back its answer when the head is there.
    pub(super) async fn send(
        &self,
        request: Request<WasiBody>,
        options: RequestOptions,
        ticket: Ticket,
        uses: &Uses,
    ) -> Result<Response<WasiBody>, Error> {
        let (mut head, body) = request.into_parts();
        let permit = check(&self.config, &self.outlet.own, head.method.as_str(), &head.uri);
        let permit = permit.map_err(|refusal| refusal.told(uses))?;
        check_destination(&self.config, &permit, &mut head.headers).map_err(|refusal| refusal.told(uses))?;
        let times = Times::new(options, self.config.limits.request_timeout);
        let upload = Upload::new(body, Arc::clone(ticket.budget()));
        let uploaded = upload.progress();
        let request = self.request(&permit, head.headers, upload)?;
        let is_known = binds(request.headers());
        let exchanged = self.exchange(&permit, request, times, ticket.budget(), uses).await;
        let (mut answer, connection, sent) = exchanged.map_err(|error| {
            let most = self.config.limits.sent.as_u64();
            if uploaded.was_too_much() { Error::HttpRequestBodySize(Some(most)) } else { error }
        })?;
        let (origin, pool) = (permit.origin, Arc::clone(&self.pool));
        if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
            return Err(Error::HttpUpgradeFailed);
        }
        let head = ticket.budget().unfetched().head(answer.headers());
        answer.extensions_mut().insert(head.ok_or(Error::HttpResponseHeaderSectionSize(None))?);
        // Some servers remember who has shown on a connection that it is they: nobody else gets that one.
        let pool = (!is_known && !binds(answer.headers())).then_some(pool);
        let source = Source { connection, origin, pool, sent };
        Ok(answer.map(|body| Download::new(body, ticket, times.between, source).boxed_unsync()))
    }

    /// The request as it is sent: in the form that was compared with the grants, and with what the gateway adds.
    fn request(
        &self,
        permit: &Permit<'_>,
        headers: HeaderMap,
        upload: Upload,
    ) -> Result<Request<Upload>, Error> {
        let mut request = Request::new(upload);
        *request.method_mut() = Method::from_bytes(permit.target.method().as_bytes())
            .map_err(|_| Error::HttpRequestMethodInvalid)?;
        *request.uri_mut() = Uri::from(permit.asked.clone());
        *request.version_mut() = Version::HTTP_11;
        let sent = request.headers_mut();
        *sent = headers;
        // A plugin can't say them, but it can pass on the headers of an answer.
        remove(sent, |name| Reserved::of(name.as_str()).is_some_and(|reserved| !reserved.is_for_plugins()));
        let HttpOrigin { scheme, host, port } = &permit.origin;
        let host = if *port == scheme.default_port() { host.to_string() } else { format!("{host}:{port}") };
        sent.insert(HOST, HeaderValue::try_from(host).map_err(|_| Error::HttpRequestUriInvalid)?);
        for credential in permit.credentials(&self.config.allow) {
            for (name, value) in &credential.headers {
                let name = HeaderName::try_from(name.as_str());
                let value = HeaderValue::try_from(value.expose());
                let (Ok(name), Ok(mut value)) = (name, value) else {
                    tracing::error!(plugin = %self.config.id, "a credential for {} can't be a header", permit.origin);
                    return Err(Error::ConfigurationError);
                };
                // Some servers take `_` for `-`: the plugin's own would stand beside it, or in its place.
                remove(sent, |its| is_same_header(its.as_str(), name.as_str()));
                value.set_sensitive(true); // no debugging aid shows it
                sent.insert(name, value);
            }
        }
        Ok(request)
    }

    /// Sends it over a connection that waits for one, or a new one.
    async fn exchange(
        &self,
        permit: &Permit<'_>,
        mut request: Request<Upload>,
        times: Times,
        budget: &Arc<Budget>,
        uses: &Uses,
    ) -> Result<(Response<Incoming>, Connection, Arc<Progress>), Error> {
        loop {
            let kept = self.pool.take(&permit.origin, |address| permit.by(address).is_some());
            let is_kept = kept.is_some();
            let mut connection = match kept {
                Some(mut connection) => {
                    match timeout_at(times.connected(), connection.sender.ready()).await {
                        Ok(Ok(())) => connection,
                        Ok(Err(_)) | Err(_) => continue,
                    }
                }
                None => self.connect(permit, times.connected(), uses).await?,
            };
            if let Some(grant) = permit.by(connection.address) {
                uses.used(|| format!("http {}", grant.written));
            }
            if permit.credentials(&self.config.allow).next().is_some() {
                uses.used(|| format!("credentials for {}", permit.origin));
            }
            // A server may close a connection that waited just as the request goes out on it.
            let mut again = is_kept.then(|| repeatable(&request, budget)).flatten();
            let sent = request.body().progress();
            connection.preface.begin();
            let answer = timeout_at(times.head, connection.sender.try_send_request(request)).await;
            connection.preface.end();
            let Ok(answer) = answer else {
                if times.is_limit {
                    uses.exceeded("request_timeout", "waited too long for an answer");
                }
                return Err(Error::HttpResponseTimeout);
            };
            match answer {
                Ok(answer) => return Ok((answer, connection, sent)),
                Err(_) if let Some(error) = connection.preface.error() => return Err(error),
                Err(mut failed) => match failed.take_message() {
                    Some(unsent) if is_kept => request = unsent,
                    Some(_) | None => {
                        let error = failed.into_error();
                        let cut_off =
                            error.is_incomplete_message() || error.is_closed() || error.is_canceled();
                        match again.take().filter(|_| cut_off) {
                            Some(same) => request = same,
                            None => return Err(failure::of_request(&error)),
                        }
                    }
                },
            }
        }
    }
}

fn remove(headers: &mut HeaderMap, is_one: impl Fn(&HeaderName) -> bool) {
    let names: Vec<HeaderName> = headers.keys().filter(|name| is_one(name)).cloned().collect();
    for name in names {
        headers.remove(name);
    }
}

/// Do these headers belong to one of the ways to say who one is (RFC 4559, NTLM) that hold for the whole connection?
fn binds(headers: &HeaderMap) -> bool {
    let said = headers.get_all(AUTHORIZATION).iter().chain(headers.get_all(WWW_AUTHENTICATE));
    let mut schemes = said.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    schemes.any(|scheme| {
        let name = scheme.trim_ascii().split(u8::is_ascii_whitespace).next().unwrap_or_default();
        ["ntlm", "negotiate"].iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()))
    })
}

/// The same request once more, where sending it twice does no harm: one that only reads, and has no body.
fn repeatable(request: &Request<Upload>, budget: &Arc<Budget>) -> Option<Request<Upload>> {
    let only_reads = [Method::GET, Method::HEAD].contains(request.method());
    if !only_reads || !request.body().is_end_stream() || request.headers().contains_key(CONTENT_LENGTH) {
        return None;
    }
    let nothing = Empty::<Bytes>::new().map_err(|never| match never {}).boxed_unsync();
    let mut same = Request::new(Upload::new(nothing, Arc::clone(budget)));
    *same.method_mut() = request.method().clone();
    *same.uri_mut() = request.uri().clone();
    *same.headers_mut() = request.headers().clone();
    Some(same)
}
