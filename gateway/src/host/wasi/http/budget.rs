//! How much one call may send and receive, and how many requests it may make: counted over all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use moongate_core::config::Limits;
use wasmtime_wasi_http::Error;

use crate::host::sandbox::byte_quota::Allowance;
use crate::host::wasi::grant_audit::Uses;
use crate::host::wasi::http::undelivered::Unfetched;

/// What is left of a call's limits.
#[derive(Debug)]
pub(super) struct Budget {
    requests: AtomicU32,
    at_once: AtomicU32,
    sent: Allowance,
    received: Allowance,
    unfetched: Arc<Unfetched>,
    limits: (u32, u32),
    uses: Uses,
}

/// One request of the call, as long as it runs: until its answer was read or given up.
#[derive(Debug)]
pub(super) struct Ticket {
    budget: Arc<Budget>,
}

impl Budget {
    pub(super) fn new(limits: &Limits, uses: Uses) -> Arc<Self> {
        Arc::new(Self {
            requests: AtomicU32::new(limits.requests),
            at_once: AtomicU32::new(limits.requests_at_once),
            sent: Allowance::new(limits.sent),
            received: Allowance::new(limits.received),
            unfetched: Arc::default(),
            limits: (limits.requests, limits.requests_at_once),
            uses,
        })
    }

    /// Begins one more request.
    ///
    /// # Errors
    /// The call has made all that it may, or too many of them run.
    pub(super) fn begin(self: &Arc<Self>) -> Result<Ticket, Error> {
        let one_less = |count: &AtomicU32| {
            count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
        };
        let (requests, at_once) = self.limits;
        if !one_less(&self.at_once) {
            let did = format!("wanted more than {at_once} requests at the same time");
            self.uses.exceeded("requests_at_once", &did);
            return Err(Error::ConnectionLimitReached);
        }
        let ticket = Ticket { budget: Arc::clone(self) };
        if !one_less(&self.requests) {
            self.uses.exceeded("requests", &format!("wanted more than {requests} requests in one call"));
            // The other one has the code that there is, because waiting helps there.
            return Err(Error::InternalError(Some(format!(
                "this call has made all {requests} requests that it may; `requests` among the plugin's limits in \
                 `gateway.toml` says how many"
            ))));
        }
        Ok(ticket)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.budget.at_once.fetch_add(1, Ordering::Relaxed);
    }
}

impl Ticket {
    /// What is left of the call's limits. A body on its way holds this and not the ticket: it may be the last to hear
    /// that its request has ended.
    pub(super) fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }
}

impl Budget {
    /// Counts bytes of a request's body.
    ///
    /// # Errors
    /// They are more than the call may send.
    pub(super) fn sends(&self, bytes: usize) -> Result<(), Error> {
        if self.sent.take(bytes as u64) {
            return Ok(());
        }
        self.uses.exceeded("sent", &format!("sent more than {} in one call", self.sent));
        Err(Error::HttpRequestBodySize(Some(self.sent.most())))
    }

    /// Counts bytes of an answer's body.
    ///
    /// # Errors
    /// They are more than the call may receive.
    pub(super) fn receives(&self, bytes: usize) -> Result<(), Error> {
        if self.received.take(bytes as u64) {
            return Ok(());
        }
        self.uses.exceeded("received", &format!("received more than {} in one call", self.received));
        Err(Error::HttpResponseBodySize(Some(self.received.most())))
    }

    /// What came of the call's answers and wasn't fetched.
    pub(super) fn unfetched(&self) -> &Arc<Unfetched> {
        &self.unfetched
    }
}
