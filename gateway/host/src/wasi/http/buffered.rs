//! The memory that a call's requests and responses use in the host while they aren't in transit.
//!
//! Each of them has limits, but a call can have a thousand of them. The quota of
//! [`HttpQuota::undelivered`](super::quota::HttpQuota::undelivered) counts received headers exactly until the guest
//! fetches them, because they can arrive at any time on another thread. The rest is estimated: additions are summed up,
//! and only when the sum is above the limit is everything in the table counted again. So nothing has to be returned to
//! the quota, and nothing can be returned twice.

use std::sync::Arc;

use http::HeaderMap;
use wasmtime::Result;
use wasmtime::component::ResourceTable;
use wasmtime_wasi_http::FieldMap;
use wasmtime_wasi_http::p2::bindings::http::types::Method;
use wasmtime_wasi_http::p2::types::{HostIncomingResponse, HostOutgoingRequest, HostOutgoingResponse};

use super::{BODY_CHUNK_BYTES, MAX_FIELDS_BYTES};
use crate::sandbox::quota::{BytePermit, ByteQuota};

/// The maximum for all of them together, in bytes.
pub(super) const MAX_BUFFERED_BYTES: usize = 1 << 20;

/// The approximate overhead of each resource, and of each header.
const OVERHEAD_BYTES: usize = 128;

/// A body that waits to be sent: two chunks of it, and its trailers.
pub(super) const BODY_BYTES: usize = 2 * BODY_CHUNK_BYTES + MAX_FIELDS_BYTES;

/// The memory in use by one call.
#[derive(Debug)]
pub(super) struct BufferedBytes {
    /// Never less than the memory in use.
    estimate: usize,
    undelivered: Arc<ByteQuota>,
}

/// Counts the headers of a response until it is dropped. It is stored in the response's extensions.
#[derive(Debug, Clone)]
pub(super) struct UndeliveredHeaders {
    _permit: Arc<BytePermit>,
}

/// The requests and responses use too much memory.
#[derive(Debug, thiserror::Error)]
#[error(
    "the plugin's requests and responses hold more than {} MiB of headers and unsent bodies at once",
    MAX_BUFFERED_BYTES >> 20
)]
struct BufferLimitError;

impl BufferedBytes {
    pub(super) fn new(undelivered: Arc<ByteQuota>) -> Self {
        Self { estimate: 0, undelivered }
    }

    /// Counts an addition to the table in advance.
    ///
    /// # Errors
    /// The total would exceed the maximum.
    pub(super) fn add(&mut self, table: &mut ResourceTable, bytes: usize) -> Result<()> {
        let room = usize::try_from(self.undelivered.left()).unwrap_or(usize::MAX);
        self.estimate = self.estimate.saturating_add(bytes).saturating_add(OVERHEAD_BYTES);
        if self.estimate > room {
            self.estimate = in_table(table).saturating_add(bytes).saturating_add(OVERHEAD_BYTES);
        }
        if self.estimate > room { Err(BufferLimitError.into()) } else { Ok(()) }
    }

    /// The guest fetched trailers of this size, and they are counted with the rest from now on.
    pub(super) fn fetched_trailers(&self, bytes: usize) {
        self.undelivered.give_back(bytes as u64);
    }
}

/// Counts received headers until they are dropped. `None` if they exceed the maximum.
pub(super) fn undelivered_headers(quota: &Arc<ByteQuota>, headers: &HeaderMap) -> Option<UndeliveredHeaders> {
    let permit = quota.acquire(headers_bytes(headers) as u64)?;
    Some(UndeliveredHeaders { _permit: Arc::new(permit) })
}

/// Counts received trailers until they are [fetched](BufferedBytes::fetched_trailers), or until the call ends. Returns
/// false if they exceed the maximum.
pub(super) fn undelivered_trailers(quota: &ByteQuota, trailers: &HeaderMap) -> bool {
    quota.take(headers_bytes(trailers) as u64)
}

/// The bytes of everything in the table. Headers that two resources share count twice, because changing one of them
/// separates them.
fn in_table(table: &mut ResourceTable) -> usize {
    let resources = table.iter_mut().map(|entry| {
        let body = |has_body: bool| if has_body { BODY_BYTES } else { 0 };
        if let Some(fields) = entry.downcast_ref::<FieldMap>() {
            OVERHEAD_BYTES + headers_bytes(fields)
        } else if let Some(request) = entry.downcast_ref::<HostOutgoingRequest>() {
            OVERHEAD_BYTES
                + headers_bytes(&request.headers)
                + request_line_bytes(request)
                + body(request.body.is_some())
        } else if let Some(response) = entry.downcast_ref::<HostOutgoingResponse>() {
            OVERHEAD_BYTES + headers_bytes(&response.headers) + body(response.body.is_some())
        } else if let Some(response) = entry.downcast_ref::<HostIncomingResponse>() {
            OVERHEAD_BYTES + headers_bytes(&response.headers)
        } else {
            0
        }
    });
    resources.sum()
}

pub(super) fn headers_bytes(map: &HeaderMap) -> usize {
    map.iter().map(|(name, value)| header_bytes(name.as_str(), value.as_bytes())).sum()
}

pub(super) fn header_bytes(name: &str, value: &[u8]) -> usize {
    name.len() + value.len() + OVERHEAD_BYTES
}

fn request_line_bytes(request: &HostOutgoingRequest) -> usize {
    let HostOutgoingRequest { method, scheme: _, authority, path_with_query, headers: _, body: _ } = request;
    let method = if let Method::Other(method) = method { method.len() } else { 0 };
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    method + length(authority) + length(path_with_query)
}
