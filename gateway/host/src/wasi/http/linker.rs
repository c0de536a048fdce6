//! `wasi:http` in the linker.
//!
//! The memory of requests is counted until they are sent, and the memory of responses after they arrive, see
//! [`super::buffered`]. Each part of a request has a maximum length, and a guest can't set headers that are
//! reserved for the gateway.

use moongate_config::ReservedHeader;
use wasmtime::component::{Linker, Resource, ResourceTable};
use wasmtime::{Result, StoreContextMut};
use wasmtime_wasi_http::p2::HeaderResult;
use wasmtime_wasi_http::p2::bindings::http::types::{
    ErrorCode, FutureIncomingResponse, FutureTrailers, HeaderError, HostFields, HostFutureIncomingResponse,
    HostFutureTrailers, HostOutgoingRequest, HostOutgoingResponse, IncomingResponse, IoError, Method,
    OutgoingBody, OutgoingRequest, OutgoingResponse,
};
use wasmtime_wasi_http::{Error, FieldMap, WasiHttpCtxView, WasiHttpView, p2};

use super::{HttpState, buffered, failure};

/// The maximum length of a method, in bytes.
const MAX_METHOD_BYTES: usize = 64;

/// The maximum length of a host with its port, in bytes. A name has at most 253.
const MAX_AUTHORITY_BYTES: usize = 300;

type Accepted = (std::result::Result<(), ()>,);
type HeaderAnswer<T> = (std::result::Result<T, HeaderError>,);
type ResponseAnswer =
    Option<std::result::Result<std::result::Result<Resource<IncomingResponse>, ErrorCode>, ()>>;
type TrailersAnswer = Option<std::result::Result<std::result::Result<Option<Fields>, ErrorCode>, ()>>;
type Fields = Resource<FieldMap>;

/// A store with requests.
pub(crate) trait HttpView: WasiHttpView + 'static {
    fn http_parts(&mut self) -> HttpParts<'_>;
}

/// The parts of a store that these functions need.
pub(crate) struct HttpParts<'a> {
    pub(crate) state: &'a mut HttpState,
    pub(crate) table: &'a mut ResourceTable,
}

impl HttpParts<'_> {
    /// Counts a part of a request or response that is about to be added to the table.
    fn buffer(&mut self, bytes: usize) -> Result<()> {
        self.state.hooks.buffered.add(self.table, bytes)
    }

    fn http(&mut self) -> WasiHttpCtxView<'_> {
        self.state.view(self.table)
    }
}

/// Links `wasi:http`, with an `http-error-code` that also recognises the errors of our response bodies.
pub(crate) fn add_to_linker<T: HttpView>(linker: &mut Linker<T>) -> Result<()> {
    p2::add_only_http_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    let mut types = linker.instance("wasi:http/types@0.2.12")?;
    types.func_wrap("http-error-code", |store: StoreContextMut<'_, T>, (error,)| {
        Ok((error_code(store, &error)?,))
    })?;
    types.func_wrap("[constructor]fields", new_fields)?;
    types.func_wrap("[static]fields.from-list", fields_from_list)?;
    types.func_wrap("[method]fields.set", set_field)?;
    types.func_wrap("[method]fields.append", append_field)?;
    types.func_wrap("[method]fields.clone", clone_fields)?;
    types.func_wrap("[constructor]outgoing-request", new_request)?;
    types.func_wrap("[method]outgoing-request.set-method", set_method)?;
    types.func_wrap("[method]outgoing-request.set-authority", set_authority)?;
    types.func_wrap("[method]outgoing-request.set-path-with-query", set_path)?;
    types.func_wrap("[method]outgoing-request.body", request_body)?;
    types.func_wrap("[method]outgoing-response.body", response_body)?;
    types.func_wrap("[method]future-incoming-response.get", get_response)?;
    types.func_wrap("[method]future-trailers.get", get_trailers)?;
    linker.allow_shadowing(false);
    Ok(())
}

// === headers ===

fn new_fields<T: HttpView>(mut store: StoreContextMut<'_, T>, (): ()) -> Result<(Fields,)> {
    let mut parts = store.data_mut().http_parts();
    parts.buffer(0)?;
    Ok((HostFields::new(&mut parts.http())?,))
}

fn fields_from_list<T: HttpView>(
    mut store: StoreContextMut<'_, T>,
    (entries,): (Vec<(String, Vec<u8>)>,),
) -> Result<HeaderAnswer<Fields>> {
    if entries.iter().any(|(name, _)| is_reserved(name)) {
        return Ok((Err(HeaderError::Forbidden),));
    }
    let size = entries.iter().map(|(name, value)| buffered::header_bytes(name, value)).sum();
    let mut parts = store.data_mut().http_parts();
    parts.buffer(size)?;
    header_answer(HostFields::from_list(&mut parts.http(), entries))
}

fn set_field<T: HttpView>(
    mut store: StoreContextMut<'_, T>,
    (fields, name, values): (Fields, String, Vec<Vec<u8>>),
) -> Result<HeaderAnswer<()>> {
    if is_reserved(&name) {
        return Ok((Err(HeaderError::Forbidden),));
    }
    let size = values.iter().map(|value| buffered::header_bytes(&name, value)).sum();
    let mut parts = store.data_mut().http_parts();
    parts.buffer(size)?;
    header_answer(HostFields::set(&mut parts.http(), fields, name, values))
}

fn append_field<T: HttpView>(
    mut store: StoreContextMut<'_, T>,
    (fields, name, value): (Fields, String, Vec<u8>),
) -> Result<HeaderAnswer<()>> {
    if is_reserved(&name) {
        return Ok((Err(HeaderError::Forbidden),));
    }
    let mut parts = store.data_mut().http_parts();
    parts.buffer(buffered::header_bytes(&name, &value))?;
    header_answer(HostFields::append(&mut parts.http(), fields, name, value))
}

fn clone_fields<T: HttpView>(mut store: StoreContextMut<'_, T>, (fields,): (Fields,)) -> Result<(Fields,)> {
    let mut parts = store.data_mut().http_parts();
    let size = buffered::headers_bytes(parts.table.get(&fields)?);
    parts.buffer(size)?;
    Ok((HostFields::clone(&mut parts.http(), fields)?,))
}

fn is_reserved(name: &str) -> bool {
    ReservedHeader::of(name).is_some_and(|reserved| !reserved.is_settable_by_plugins())
}

fn header_answer<T>(result: HeaderResult<T>) -> Result<HeaderAnswer<T>> {
    match result {
        Ok(value) => Ok((Ok(value),)),
        Err(error) => Ok((Err(error.downcast()?),)),
    }
}

// === requests ===

fn new_request<T: HttpView>(
    mut store: StoreContextMut<'_, T>,
    (headers,): (Fields,),
) -> Result<(Resource<OutgoingRequest>,)> {
    let mut parts = store.data_mut().http_parts();
    parts.buffer(0)?;
    Ok((HostOutgoingRequest::new(&mut parts.http(), headers)?,))
}

fn set_method<T: HttpView>(
    mut store: StoreContextMut<'_, T>,
    (request, method): (Resource<OutgoingRequest>, Method),
) -> Result<Accepted> {
    if matches!(&method, Method::Other(name) if name.len() > MAX_METHOD_BYTES) {
        return Ok((Err(()),));
    }
    Ok((store.data_mut().http().set_method(request, method)?,))
}

fn set_authority<T: HttpView>(
    mut store: StoreContextMut<'_, T>,
    (request, authority): (Resource<OutgoingRequest>, Option<String>),
) -> Result<Accepted> {
    if authority.as_ref().is_some_and(|authority| authority.len() > MAX_AUTHORITY_BYTES) {
        return Ok((Err(()),));
    }
    let mut parts = store.data_mut().http_parts();
    parts.buffer(MAX_AUTHORITY_BYTES)?;
    Ok((parts.http().set_authority(request, authority)?,))
}

fn set_path<T: HttpView>(
    mut store: StoreContextMut<'_, T>,
    (request, path): (Resource<OutgoingRequest>, Option<String>),
) -> Result<Accepted> {
    let mut parts = store.data_mut().http_parts();
    parts.buffer(path.as_ref().map_or(0, String::len))?;
    Ok((parts.http().set_path_with_query(request, path)?,))
}

type BodyAnswer = (std::result::Result<Resource<OutgoingBody>, ()>,);

fn request_body<T: HttpView>(
    mut store: StoreContextMut<'_, T>,
    (request,): (Resource<OutgoingRequest>,),
) -> Result<BodyAnswer> {
    let mut parts = store.data_mut().http_parts();
    parts.buffer(buffered::BODY_BYTES)?;
    Ok((HostOutgoingRequest::body(&mut parts.http(), request)?,))
}

/// Plugins serve no requests, but they can create responses.
fn response_body<T: HttpView>(
    mut store: StoreContextMut<'_, T>,
    (response,): (Resource<OutgoingResponse>,),
) -> Result<BodyAnswer> {
    let mut parts = store.data_mut().http_parts();
    parts.buffer(buffered::BODY_BYTES)?;
    Ok((HostOutgoingResponse::body(&mut parts.http(), response)?,))
}

// === responses ===

fn get_response<T: HttpView>(
    mut store: StoreContextMut<'_, T>,
    (future,): (Resource<FutureIncomingResponse>,),
) -> Result<(ResponseAnswer,)> {
    let mut parts = store.data_mut().http_parts();
    let answer = HostFutureIncomingResponse::get(&mut parts.http(), future)?;
    if let Some(Ok(Ok(response))) = &answer {
        let size = buffered::headers_bytes(&parts.table.get(response)?.headers);
        parts.buffer(size)?;
    }
    Ok((answer,))
}

fn get_trailers<T: HttpView>(
    mut store: StoreContextMut<'_, T>,
    (future,): (Resource<FutureTrailers>,),
) -> Result<(TrailersAnswer,)> {
    let mut parts = store.data_mut().http_parts();
    let answer = HostFutureTrailers::get(&mut parts.http(), future)?;
    if let Some(Ok(Ok(Some(trailers)))) = &answer {
        let size = buffered::headers_bytes(parts.table.get(trailers)?);
        parts.state.hooks.buffered.fetched_trailers(size);
        parts.buffer(size)?;
    }
    Ok((answer,))
}

fn error_code<T: HttpView>(
    mut store: StoreContextMut<'_, T>,
    error: &Resource<IoError>,
) -> Result<Option<ErrorCode>> {
    let error = store.data_mut().http_parts().table.get(error)?;
    let of_bindings = error.downcast_ref::<ErrorCode>().cloned();
    Ok(of_bindings.or_else(|| error.downcast_ref::<Error>().map(failure::code)))
}
