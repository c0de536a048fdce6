//! One request, from checking its grants to the head of its response.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, HOST, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri, Version};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::{Body as _, Incoming};
use moongate_config::{HttpOrigin, ReservedHeader, is_same_header};
use moongate_model::trace_context::{Span, SpanContext};
use tokio::time::{Instant, timeout_at};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

use super::body::{BodyEnd, RequestBody, ResponseBody, ResponseSource, UploadProgress};
use super::buffered::undelivered_headers;
use super::check::{GrantedRequest, check, check_destination};
use super::observed_request::ObservedRequest;
use super::pool::Connection;
use super::quota::{HttpQuota, RequestPermit};
use super::{RequestSender, failure};
use crate::wasi::grant_audit::GrantAudit;

/// The time limit for connecting, including the host's name lookup and TLS.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The timeouts of one request.
#[derive(Debug, Clone, Copy)]
struct RequestTimeouts {
    connect: Duration,
    /// The deadline for the head of the response.
    head: Instant,
    /// True if the deadline is the plugin's limit, and not an earlier one of the guest.
    head_is_limit: bool,
    between_bytes: Duration,
}

impl RequestTimeouts {
    /// The guest's timeouts, reduced to the limit.
    fn new(options: RequestOptions, limit: Duration) -> Self {
        let RequestOptions { connect_timeout, first_byte_timeout, between_bytes_timeout } = options;
        let at_most =
            |asked: Option<Duration>, limit: Duration| asked.map_or(limit, |asked| asked.min(limit));
        Self {
            connect: at_most(connect_timeout, CONNECT_TIMEOUT),
            head: Instant::now() + at_most(first_byte_timeout, limit),
            head_is_limit: first_byte_timeout.is_none_or(|asked| asked >= limit),
            between_bytes: at_most(between_bytes_timeout, limit),
        }
    }

    fn connect_deadline(&self) -> Instant {
        self.head.min(Instant::now() + self.connect)
    }
}

impl RequestSender {
    /// Sends a request as [`Self::send`] does, and reports it to the observer.
    pub(super) async fn send_observed(
        &self,
        request: Request<WasiBody>,
        options: RequestOptions,
        permit: RequestPermit,
        audit: &GrantAudit,
        span: Option<Span>,
    ) -> Result<Response<WasiBody>, Error> {
        let Some(observer) = &self.outbound.observer else {
            return self.send(request, options, permit, audit, None).await;
        };
        let observed = ObservedRequest::start(observer, &self.config.id, span, &request);
        let answer = self.send(request, options, permit, audit, span.map(|span| span.context)).await;
        observed.finish(&answer);
        answer
    }

    /// Sends a request if it is granted, and returns the response once its head has arrived.
    pub(super) async fn send(
        &self,
        request: Request<WasiBody>,
        options: RequestOptions,
        permit: RequestPermit,
        audit: &GrantAudit,
        position: Option<SpanContext>,
    ) -> Result<Response<WasiBody>, Error> {
        let (mut head, body) = request.into_parts();
        let granted = check(&self.config, &self.outbound.self_addresses, head.method.as_str(), &head.uri)
            .map_err(|refusal| refusal.report(audit))?;
        check_destination(&self.config, &granted, &mut head.headers)
            .map_err(|refusal| refusal.report(audit))?;
        let timeouts = RequestTimeouts::new(options, self.config.limits.request_timeout);
        let body = RequestBody::new(body, Arc::clone(permit.quota()));
        let upload = body.progress();
        let request = self.request(&granted, head.headers, body, position)?;
        let request_authenticates_connection = authenticates_connection(request.headers());
        let exchanged = self.exchange(&granted, request, timeouts, permit.quota(), audit).await;
        let (mut response, connection, upload) = exchanged.map_err(|error| {
            let limit = self.config.limits.sent.as_u64();
            if upload.is_over_quota() { Error::HttpRequestBodySize(Some(limit)) } else { error }
        })?;
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return Err(Error::HttpUpgradeFailed);
        }
        let undelivered = undelivered_headers(permit.quota().undelivered(), response.headers());
        response.extensions_mut().insert(undelivered.ok_or(Error::HttpResponseHeaderSectionSize(None))?);
        // Some servers authenticate a connection. No other call can use that one.
        let is_shareable = !request_authenticates_connection && !authenticates_connection(response.headers());
        let pool = is_shareable.then(|| Arc::clone(&self.pool));
        let source = ResponseSource { connection, origin: granted.origin, pool, upload };
        let end = BodyEnd::of(response.headers());
        Ok(response
            .map(|body| ResponseBody::new(body, end, permit, timeouts.between_bytes, source).boxed_unsync()))
    }

    /// The request as it is sent: in the form that was compared with the grants, with the gateway's headers.
    fn request(
        &self,
        granted: &GrantedRequest<'_>,
        headers: HeaderMap,
        body: RequestBody,
        position: Option<SpanContext>,
    ) -> Result<Request<RequestBody>, Error> {
        let mut request = Request::new(body);
        *request.method_mut() = Method::from_bytes(granted.target.method().as_bytes())
            .map_err(|_| Error::HttpRequestMethodInvalid)?;
        *request.uri_mut() = Uri::from(granted.path_and_query.clone());
        *request.version_mut() = Version::HTTP_11;
        let sent = request.headers_mut();
        *sent = headers;
        // A plugin can't set these, but it can forward the headers of a response.
        remove(sent, |name| {
            ReservedHeader::of(name.as_str()).is_some_and(|reserved| !reserved.is_settable_by_plugins())
        });
        let HttpOrigin { scheme, host, port } = &granted.origin;
        let host = if *port == scheme.default_port() { host.to_string() } else { format!("{host}:{port}") };
        sent.insert(HOST, HeaderValue::try_from(host).map_err(|_| Error::HttpRequestUriInvalid)?);
        if let Some(position) = position.filter(|_| granted.sends_trace_context()) {
            let parent = HeaderValue::try_from(position.to_string()).expect("digits and `-`");
            sent.remove("tracestate"); // belongs to the plugin's `traceparent`, which is replaced
            sent.insert("traceparent", parent);
        }
        for credential in granted.credentials(&self.config.allow) {
            for (name, value) in &credential.headers {
                let name = HeaderName::try_from(name.as_str());
                let value = HeaderValue::try_from(value.expose());
                let (Ok(name), Ok(mut value)) = (name, value) else {
                    tracing::error!(plugin = %self.config.id, "invalid credential for {}: not a valid header", granted.origin);
                    return Err(Error::ConfigurationError);
                };
                // Some servers treat `_` like `-`, so they could read the plugin's header instead.
                remove(sent, |its| is_same_header(its.as_str(), name.as_str()));
                value.set_sensitive(true); // not shown in debug output
                sent.insert(name, value);
            }
        }
        Ok(request)
    }

    /// Sends the request over an idle connection, or a new one.
    async fn exchange(
        &self,
        granted: &GrantedRequest<'_>,
        mut request: Request<RequestBody>,
        timeouts: RequestTimeouts,
        quota: &Arc<HttpQuota>,
        audit: &GrantAudit,
    ) -> Result<(Response<Incoming>, Connection, Arc<UploadProgress>), Error> {
        loop {
            let idle = self.pool.take(&granted.origin, |address| granted.grant_for(address).is_some());
            let was_idle = idle.is_some();
            let mut connection = match idle {
                Some(mut connection) => {
                    match timeout_at(timeouts.connect_deadline(), connection.sender.ready()).await {
                        Ok(Ok(())) => connection,
                        Ok(Err(_)) | Err(_) => continue,
                    }
                }
                None => self.connect(granted, timeouts.connect_deadline(), audit).await?,
            };
            if let Some(grant) = granted.grant_for(connection.address) {
                audit.note_used(|| format!("http {}", grant.display_pattern));
            }
            if granted.credentials(&self.config.allow).next().is_some() {
                audit.note_used(|| format!("credentials for {}", granted.origin));
            }
            // A server can close an idle connection just as the request is sent on it.
            let mut retry = was_idle.then(|| retry(&request, quota)).flatten();
            let upload = request.body().progress();
            connection.head_limit.start();
            let response = timeout_at(timeouts.head, connection.sender.try_send_request(request)).await;
            connection.head_limit.end();
            let Ok(response) = response else {
                if timeouts.head_is_limit {
                    audit.report_limit("request_timeout", "waited too long for a response");
                }
                return Err(Error::HttpResponseTimeout);
            };
            match response {
                Ok(response) => return Ok((response, connection, upload)),
                Err(_) if let Some(error) = connection.head_limit.error() => return Err(error),
                Err(mut failed) => match failed.take_message() {
                    Some(unsent) if was_idle => request = unsent,
                    Some(_) | None => {
                        let error = failed.into_error();
                        let cut_off =
                            error.is_incomplete_message() || error.is_closed() || error.is_canceled();
                        match retry.take().filter(|_| cut_off) {
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

/// True if these headers belong to an authentication of the whole connection (RFC 4559, NTLM).
fn authenticates_connection(headers: &HeaderMap) -> bool {
    let values = headers.get_all(AUTHORIZATION).iter().chain(headers.get_all(WWW_AUTHENTICATE));
    let mut schemes = values.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    schemes.any(|scheme| {
        let name = scheme.trim_ascii().split(u8::is_ascii_whitespace).next().unwrap_or_default();
        ["ntlm", "negotiate"].iter().any(|one| name.eq_ignore_ascii_case(one.as_bytes()))
    })
}

/// A copy of the request, if it is safe to send it twice: it only reads and has no body.
fn retry(request: &Request<RequestBody>, quota: &Arc<HttpQuota>) -> Option<Request<RequestBody>> {
    let only_reads = [Method::GET, Method::HEAD].contains(request.method());
    if !only_reads || !request.body().is_end_stream() || request.headers().contains_key(CONTENT_LENGTH) {
        return None;
    }
    let empty = Empty::<Bytes>::new().map_err(|never| match never {}).boxed_unsync();
    let mut copy = Request::new(RequestBody::new(empty, Arc::clone(quota)));
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    Some(copy)
}
