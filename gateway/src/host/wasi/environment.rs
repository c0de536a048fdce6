//! Reading environment variables: WASI's own function, which notes that the granted ones were read.
//!
//! A guest's runtime gets all of them at once, when it is asked for the first one.

use wasmtime::component::Linker;
use wasmtime::{Result, StoreContextMut};
use wasmtime_wasi::cli::WasiCliView as _;
use wasmtime_wasi::p2::bindings::cli::environment::Host as _;

use crate::host::sandbox::store::State;

/// Puts a function that notes in the place of WASI's.
pub(super) fn add_to_linker(linker: &mut Linker<State>) -> Result<()> {
    linker.allow_shadowing(true);
    linker.instance("wasi:cli/environment@0.2.12")?.func_wrap("get-environment", environment)?;
    linker.allow_shadowing(false);
    Ok(())
}

fn environment(mut store: StoreContextMut<'_, State>, (): ()) -> Result<(Vec<(String, String)>,)> {
    let state = store.data_mut();
    let variables = state.cli().get_environment()?;
    for (name, _) in &variables {
        state.uses.used(|| format!("env {name}"));
    }
    Ok((variables,))
}
