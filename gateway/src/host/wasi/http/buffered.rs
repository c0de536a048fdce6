//! What a call's requests and answers hold in the host's memory, all together, while nothing of them is on its way.
//!
//! Each has limits of its own; but a call may have a thousand of them. What came and wasn't fetched yet is counted where
//! it comes ([`crate::host::wasi::http::undelivered`]), and is part of the sum. What the others take is added up as it comes, and what
//! has gone again is only noticed when the sum seems too much: then everything that is there is counted anew. So nothing
//! has to be given back, and nothing can be given back twice.

use http::HeaderMap;
use wasmtime::Result;
use wasmtime::component::ResourceTable;
use wasmtime_wasi_http::FieldMap;
use wasmtime_wasi_http::p2::bindings::http::types::Method;
use wasmtime_wasi_http::p2::types::{HostIncomingResponse, HostOutgoingRequest, HostOutgoingResponse};

use super::{CHUNK, FIELDS};

/// The most that they may hold, in bytes.
pub(super) const MOST: usize = 1 << 20;

/// What each of them takes beside what it holds, and each header beside its name and value: about that.
const EACH: usize = 128;

/// A body that waits to be sent: two pieces of it, and what may be said at its end.
pub(super) const BODY: usize = 2 * CHUNK + FIELDS;

/// What they hold.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// At least what they do.
    seems: usize,
}

/// They hold too much.
#[derive(Debug, thiserror::Error)]
#[error("its requests and answers hold more than {} MiB of headers and unsent bodies at once", MOST >> 20)]
struct TooMuch;

impl Held {
    /// Adds what something more will hold, where so much wasn't fetched yet.
    ///
    /// # Errors
    /// It is too much, with all that there is.
    pub(super) fn more(&mut self, table: &mut ResourceTable, bytes: usize, unfetched: usize) -> Result<()> {
        let room = MOST.saturating_sub(unfetched);
        self.seems = self.seems.saturating_add(bytes).saturating_add(EACH);
        if self.seems > room {
            self.seems = counted(table).saturating_add(bytes).saturating_add(EACH);
        }
        if self.seems > room { Err(TooMuch.into()) } else { Ok(()) }
    }
}

/// What everything in the table holds. Two that share their headers count twice: either may change its own, which
/// makes them two.
fn counted(table: &mut ResourceTable) -> usize {
    let all = table.iter_mut().map(|entry| {
        let body = |has_one: bool| if has_one { BODY } else { 0 };
        if let Some(fields) = entry.downcast_ref::<FieldMap>() {
            EACH + headers(fields)
        } else if let Some(request) = entry.downcast_ref::<HostOutgoingRequest>() {
            EACH + headers(&request.headers) + line(request) + body(request.body.is_some())
        } else if let Some(answer) = entry.downcast_ref::<HostOutgoingResponse>() {
            EACH + headers(&answer.headers) + body(answer.body.is_some())
        } else if let Some(answer) = entry.downcast_ref::<HostIncomingResponse>() {
            EACH + headers(&answer.headers)
        } else {
            0
        }
    });
    all.sum()
}

/// What headers hold.
pub(super) fn headers(map: &HeaderMap) -> usize {
    map.iter().map(|(name, value)| header(name.as_str(), value.as_bytes())).sum()
}

/// What one header holds.
pub(super) fn header(name: &str, value: &[u8]) -> usize {
    name.len() + value.len() + EACH
}

/// What says where a request goes.
fn line(request: &HostOutgoingRequest) -> usize {
    let HostOutgoingRequest { method, scheme: _, authority, path_with_query, headers: _, body: _ } = request;
    let method = if let Method::Other(method) = method { method.len() } else { 0 };
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    method + length(authority) + length(path_with_query)
}
