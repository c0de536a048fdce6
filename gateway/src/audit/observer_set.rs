//! Several observers as one.

use std::net::IpAddr;
use std::sync::Arc;

use moongate_model::caller::Caller;
use moongate_model::trace_context::{Span, SpanContext};
use moongate_protocol::dispatch::{
    AdmittedCall, CallAdmission, CallEnd, InputHasher, Observer, RefusedName, RefusedRequest, RequestEnd,
    SessionEnd,
};

/// Passes everything to each observer, in this order.
#[derive(Debug)]
pub struct ObserverSet(Vec<Arc<dyn Observer>>);

impl ObserverSet {
    /// These observers.
    #[must_use]
    pub fn new(observers: Vec<Arc<dyn Observer>>) -> Arc<Self> {
        Arc::new(Self(observers))
    }
}

impl Observer for ObserverSet {
    fn call_admitted(&self, call: &AdmittedCall<'_>) {
        self.0.iter().for_each(|observer| observer.call_admitted(call));
    }

    fn call_ended(&self, call: &CallEnd<'_>) {
        self.0.iter().for_each(|observer| observer.call_ended(call));
    }

    fn request_begun(&self, parent: Option<SpanContext>) -> Option<Span> {
        // Only one of them traces.
        self.0.iter().find_map(|observer| observer.request_begun(parent))
    }

    fn request_ended(&self, request: &RequestEnd<'_>) {
        self.0.iter().for_each(|observer| observer.request_ended(request));
    }

    fn session_ended(&self, session: &SessionEnd) {
        self.0.iter().for_each(|observer| observer.session_ended(session));
    }

    fn admission(&self, caller: &Caller) -> CallAdmission {
        let all = self.0.iter().map(|observer| observer.admission(caller));
        all.max().unwrap_or(CallAdmission::Admitted)
    }

    fn input_hasher(&self) -> Option<Box<dyn InputHasher>> {
        // Only one of them hashes.
        self.0.iter().find_map(|observer| observer.input_hasher())
    }

    fn name_refused(&self, refused: &RefusedName<'_>) {
        self.0.iter().for_each(|observer| observer.name_refused(refused));
    }

    fn authentication_failed(&self, address: IpAddr, reason: &'static str) {
        self.0.iter().for_each(|observer| observer.authentication_failed(address, reason));
    }

    fn request_refused(&self, caller: &Caller, why: RefusedRequest) {
        self.0.iter().for_each(|observer| observer.request_refused(caller, why));
    }
}
