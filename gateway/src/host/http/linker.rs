//! `wasi:http` in the linker.

use wasmtime::component::{Linker, Resource};
use wasmtime::{Result, StoreContextMut};
use wasmtime_wasi_http::p2::bindings::http::types::{ErrorCode, IoError};
use wasmtime_wasi_http::{Error, WasiHttpCtxView, WasiHttpView, p2};

use super::failure;
use crate::host::store::State;

/// Links it, with an `http-error-code` that also knows what answers break off with: the bindings know only what they
/// make themselves.
pub(in crate::host) fn add_to_linker(linker: &mut Linker<State>) -> Result<()> {
    p2::add_only_http_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    linker
        .instance("wasi:http/types@0.2.12")?
        .func_wrap("http-error-code", |store: StoreContextMut<'_, State>, (error,)| {
            Ok((told(store, &error)?,))
        })?;
    linker.allow_shadowing(false);
    Ok(())
}

fn told(mut store: StoreContextMut<'_, State>, error: &Resource<IoError>) -> Result<Option<ErrorCode>> {
    let WasiHttpCtxView { table, .. } = store.data_mut().http();
    let error = table.get(error)?;
    let of_bindings = error.downcast_ref::<ErrorCode>().cloned();
    Ok(of_bindings.or_else(|| error.downcast_ref::<Error>().map(failure::code)))
}
