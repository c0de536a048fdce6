//! The quota of one call: its number of requests, and the bytes that it can send and receive.

use std::sync::Arc;

use bytesize::ByteSize;
use moongate_config::Limits;
use wasmtime_wasi_http::Error;

use super::buffered::MAX_BUFFERED_BYTES;
use crate::sandbox::quota::{ByteQuota, CountPermit, CountQuota};
use crate::wasi::grant_audit::GrantAudit;

/// The remaining quota of a call.
#[derive(Debug)]
pub(super) struct HttpQuota {
    requests: CountQuota,
    concurrent: Arc<CountQuota>,
    sent: ByteQuota,
    received: ByteQuota,
    /// Headers and trailers that were received and that the guest hasn't fetched yet.
    undelivered: Arc<ByteQuota>,
    audit: GrantAudit,
}

/// A running request, until its response was read or abandoned.
#[derive(Debug)]
pub(super) struct RequestPermit {
    quota: Arc<HttpQuota>,
    _concurrent: CountPermit,
}

impl HttpQuota {
    pub(super) fn new(limits: &Limits, audit: GrantAudit) -> Arc<Self> {
        Arc::new(Self {
            requests: CountQuota::new(limits.requests),
            concurrent: Arc::new(CountQuota::new(limits.requests_at_once)),
            sent: ByteQuota::new(limits.sent),
            received: ByteQuota::new(limits.received),
            undelivered: Arc::new(ByteQuota::new(ByteSize::b(MAX_BUFFERED_BYTES as u64))),
            audit,
        })
    }

    /// Counts one more request.
    ///
    /// # Errors
    /// The call has used up its requests, or too many of them are running.
    pub(super) fn start_request(self: &Arc<Self>) -> Result<RequestPermit, Error> {
        let Self { requests, concurrent, audit, .. } = &**self;
        let Some(permit) = concurrent.acquire() else {
            let did = format!("tried to send more than {concurrent} requests at the same time");
            audit.report_limit("requests_at_once", &did);
            return Err(Error::ConnectionLimitReached);
        };
        if !requests.take(1) {
            audit.report_limit(
                "requests",
                &format!("tried to send more than {requests} requests in one call"),
            );
            // Not the code above, which means that waiting helps.
            return Err(Error::InternalError(Some(format!(
                "this call has used all its {requests} requests (`limits.requests`)"
            ))));
        }
        Ok(RequestPermit { quota: Arc::clone(self), _concurrent: permit })
    }

    /// Counts bytes of a request's body.
    ///
    /// # Errors
    /// They exceed the call's quota for sending.
    pub(super) fn send(&self, bytes: usize) -> Result<(), Error> {
        if self.sent.take(bytes as u64) {
            return Ok(());
        }
        self.audit.report_limit("sent", &format!("sent more than {} in one call", self.sent));
        Err(Error::HttpRequestBodySize(Some(self.sent.limit())))
    }

    /// Counts bytes of a response's body.
    ///
    /// # Errors
    /// They exceed the call's quota for receiving.
    pub(super) fn receive(&self, bytes: usize) -> Result<(), Error> {
        if self.received.take(bytes as u64) {
            return Ok(());
        }
        self.audit.report_limit("received", &format!("received more than {} in one call", self.received));
        Err(Error::HttpResponseBodySize(Some(self.received.limit())))
    }

    pub(super) fn undelivered(&self) -> &Arc<ByteQuota> {
        &self.undelivered
    }
}

impl RequestPermit {
    /// A body in transit keeps the quota but not the permit, because it can outlive its request.
    pub(super) fn quota(&self) -> &Arc<HttpQuota> {
        &self.quota
    }
}
