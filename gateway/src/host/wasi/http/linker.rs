//! `wasi:http` in the linker.
//!
//! What lies in the host's memory until a request is sent, and after its answer came, is counted ([`crate::host::wasi::http::buffered`]); no
//! part of a request is as long as a guest likes; and headers that aren't for plugins are refused where they are said.

use moongate_core::config::Reserved;
use wasmtime::component::{Linker, Resource};
use wasmtime::{Result, StoreContextMut};
use wasmtime_wasi_http::p2::HeaderResult;
use wasmtime_wasi_http::p2::bindings::http::types::{
    ErrorCode, FutureIncomingResponse, FutureTrailers, HeaderError, HostFields, HostFutureIncomingResponse,
    HostFutureTrailers, HostOutgoingRequest, HostOutgoingResponse, IncomingResponse, IoError, Method,
    OutgoingBody, OutgoingRequest, OutgoingResponse,
};
use wasmtime_wasi_http::{Error, FieldMap, WasiHttpCtxView, WasiHttpView, p2};

use super::{buffered, failure};
use crate::host::sandbox::store::State;

/// The longest method, in bytes.
const METHOD: usize = 64;

/// The longest host with its port, in bytes: a name has 253 at most.
const AUTHORITY: usize = 300;

type Done = (std::result::Result<(), ()>,);
type Changed<T> = (std::result::Result<T, HeaderError>,);
type Got = Option<std::result::Result<std::result::Result<Resource<IncomingResponse>, ErrorCode>, ()>>;
type GotTrailers = Option<std::result::Result<std::result::Result<Option<Fields>, ErrorCode>, ()>>;
type Fields = Resource<FieldMap>;

/// Links it, with an `http-error-code` that also knows what answers break off with: the bindings know only what they
/// make themselves.
pub(in crate::host) fn add_to_linker(linker: &mut Linker<State>) -> Result<()> {
    p2::add_only_http_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    let mut types = linker.instance("wasi:http/types@0.2.12")?;
    types.func_wrap("http-error-code", |store: StoreContextMut<'_, State>, (error,)| {
        Ok((told(store, &error)?,))
    })?;
    types.func_wrap("[constructor]fields", new_fields)?;
    types.func_wrap("[static]fields.from-list", from_list)?;
    types.func_wrap("[method]fields.set", set)?;
    types.func_wrap("[method]fields.append", append)?;
    types.func_wrap("[method]fields.clone", clone)?;
    types.func_wrap("[constructor]outgoing-request", new_request)?;
    types.func_wrap("[method]outgoing-request.set-method", set_method)?;
    types.func_wrap("[method]outgoing-request.set-authority", set_authority)?;
    types.func_wrap("[method]outgoing-request.set-path-with-query", set_path)?;
    types.func_wrap("[method]outgoing-request.body", request_body)?;
    types.func_wrap("[method]outgoing-response.body", response_body)?;
    types.func_wrap("[method]future-incoming-response.get", get)?;
    types.func_wrap("[method]future-trailers.get", get_trailers)?;
    linker.allow_shadowing(false);
    Ok(())
}

// === headers ===

fn new_fields(mut store: StoreContextMut<'_, State>, (): ()) -> Result<(Fields,)> {
    store.data_mut().holds(0)?;
    Ok((HostFields::new(&mut store.data_mut().http())?,))
}

fn from_list(
    mut store: StoreContextMut<'_, State>,
    (entries,): (Vec<(String, Vec<u8>)>,),
) -> Result<Changed<Fields>> {
    if entries.iter().any(|(name, _)| is_reserved(name)) {
        return Ok((Err(HeaderError::Forbidden),));
    }
    let size = entries.iter().map(|(name, value)| buffered::header(name, value)).sum();
    store.data_mut().holds(size)?;
    changed(HostFields::from_list(&mut store.data_mut().http(), entries))
}

fn set(
    mut store: StoreContextMut<'_, State>,
    (fields, name, values): (Fields, String, Vec<Vec<u8>>),
) -> Result<Changed<()>> {
    if is_reserved(&name) {
        return Ok((Err(HeaderError::Forbidden),));
    }
    let size = values.iter().map(|value| buffered::header(&name, value)).sum();
    store.data_mut().holds(size)?;
    changed(HostFields::set(&mut store.data_mut().http(), fields, name, values))
}

fn append(
    mut store: StoreContextMut<'_, State>,
    (fields, name, value): (Fields, String, Vec<u8>),
) -> Result<Changed<()>> {
    if is_reserved(&name) {
        return Ok((Err(HeaderError::Forbidden),));
    }
    store.data_mut().holds(buffered::header(&name, &value))?;
    changed(HostFields::append(&mut store.data_mut().http(), fields, name, value))
}

fn clone(mut store: StoreContextMut<'_, State>, (fields,): (Fields,)) -> Result<(Fields,)> {
    let state = store.data_mut();
    let size = buffered::headers(state.table.get(&fields)?);
    state.holds(size)?;
    Ok((HostFields::clone(&mut state.http(), fields)?,))
}

fn is_reserved(name: &str) -> bool {
    Reserved::of(name).is_some_and(|reserved| !reserved.is_for_plugins())
}

fn changed<T>(result: HeaderResult<T>) -> Result<Changed<T>> {
    match result {
        Ok(value) => Ok((Ok(value),)),
        Err(error) => Ok((Err(error.downcast()?),)),
    }
}

// === requests ===

fn new_request(
    mut store: StoreContextMut<'_, State>,
    (headers,): (Fields,),
) -> Result<(Resource<OutgoingRequest>,)> {
    store.data_mut().holds(0)?;
    Ok((HostOutgoingRequest::new(&mut store.data_mut().http(), headers)?,))
}

fn set_method(
    mut store: StoreContextMut<'_, State>,
    (request, method): (Resource<OutgoingRequest>, Method),
) -> Result<Done> {
    if matches!(&method, Method::Other(name) if name.len() > METHOD) {
        return Ok((Err(()),));
    }
    Ok((store.data_mut().http().set_method(request, method)?,))
}

fn set_authority(
    mut store: StoreContextMut<'_, State>,
    (request, authority): (Resource<OutgoingRequest>, Option<String>),
) -> Result<Done> {
    if authority.as_ref().is_some_and(|authority| authority.len() > AUTHORITY) {
        return Ok((Err(()),));
    }
    store.data_mut().holds(AUTHORITY)?;
    Ok((store.data_mut().http().set_authority(request, authority)?,))
}

fn set_path(
    mut store: StoreContextMut<'_, State>,
    (request, path): (Resource<OutgoingRequest>, Option<String>),
) -> Result<Done> {
    store.data_mut().holds(path.as_ref().map_or(0, String::len))?;
    Ok((store.data_mut().http().set_path_with_query(request, path)?,))
}

type Body = (std::result::Result<Resource<OutgoingBody>, ()>,);

fn request_body(
    mut store: StoreContextMut<'_, State>,
    (request,): (Resource<OutgoingRequest>,),
) -> Result<Body> {
    store.data_mut().holds(buffered::BODY)?;
    Ok((HostOutgoingRequest::body(&mut store.data_mut().http(), request)?,))
}

/// Nobody wants a plugin's answers to requests, but it can make them.
fn response_body(
    mut store: StoreContextMut<'_, State>,
    (response,): (Resource<OutgoingResponse>,),
) -> Result<Body> {
    store.data_mut().holds(buffered::BODY)?;
    Ok((HostOutgoingResponse::body(&mut store.data_mut().http(), response)?,))
}

// === answers ===

fn get(
    mut store: StoreContextMut<'_, State>,
    (future,): (Resource<FutureIncomingResponse>,),
) -> Result<(Got,)> {
    let state = store.data_mut();
    let got = HostFutureIncomingResponse::get(&mut state.http(), future)?;
    if let Some(Ok(Ok(answer))) = &got {
        let size = buffered::headers(&state.table.get(answer)?.headers);
        state.holds(size)?;
    }
    Ok((got,))
}

fn get_trailers(
    mut store: StoreContextMut<'_, State>,
    (future,): (Resource<FutureTrailers>,),
) -> Result<(GotTrailers,)> {
    let state = store.data_mut();
    let got = HostFutureTrailers::get(&mut state.http(), future)?;
    if let Some(Ok(Ok(Some(trailers)))) = &got {
        let size = buffered::headers(state.table.get(trailers)?);
        state.fetched_trailers(size);
        state.holds(size)?;
    }
    Ok((got,))
}

fn told(mut store: StoreContextMut<'_, State>, error: &Resource<IoError>) -> Result<Option<ErrorCode>> {
    let WasiHttpCtxView { table, .. } = store.data_mut().http();
    let error = table.get(error)?;
    let of_bindings = error.downcast_ref::<ErrorCode>().cloned();
    Ok(of_bindings.or_else(|| error.downcast_ref::<Error>().map(failure::code)))
}
