//! `wasi:http` in the linker.

use wasmtime::component::{Linker, Resource};
use wasmtime::{Result, StoreContextMut};
use wasmtime_wasi_http::p2::bindings::http::types::{
    ErrorCode, HostOutgoingRequest as _, IoError, Method, OutgoingRequest,
};
use wasmtime_wasi_http::{Error, WasiHttpCtxView, WasiHttpView, p2};

use super::failure;
use crate::host::store::State;

/// The longest method, in bytes.
const METHOD: usize = 64;

/// The longest host with its port, in bytes: a name has 253 at most.
const AUTHORITY: usize = 300;

type Done = (std::result::Result<(), ()>,);

/// Links it, with an `http-error-code` that also knows what answers break off with: the bindings know only what they
/// make themselves.
pub(in crate::host) fn add_to_linker(linker: &mut Linker<State>) -> Result<()> {
    p2::add_only_http_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    let mut types = linker.instance("wasi:http/types@0.2.12")?;
    types.func_wrap("http-error-code", |store: StoreContextMut<'_, State>, (error,)| {
        Ok((told(store, &error)?,))
    })?;
    types.func_wrap("[method]outgoing-request.set-method", set_method)?;
    types.func_wrap("[method]outgoing-request.set-authority", set_authority)?;
    linker.allow_shadowing(false);
    Ok(())
}

/// Requests that are never sent lie in the host's memory, a thousand of them: no part of one may be as long as a guest
/// likes.
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
    Ok((store.data_mut().http().set_authority(request, authority)?,))
}

fn told(mut store: StoreContextMut<'_, State>, error: &Resource<IoError>) -> Result<Option<ErrorCode>> {
    let WasiHttpCtxView { table, .. } = store.data_mut().http();
    let error = table.get(error)?;
    let of_bindings = error.downcast_ref::<ErrorCode>().cloned();
    Ok(of_bindings.or_else(|| error.downcast_ref::<Error>().map(failure::code)))
}
