//! Handles that a guest's runtime opens once and keeps: the granted directories and the standard streams.
//!
//! Which ones these are is remembered (directories where they are handed out, see `files::changes`), because every other
//! handle that is left after a call is one that the call forgot, see [`State::is_reusable`].

use wasmtime::component::{Linker, Resource};
use wasmtime::{Result, StoreContextMut};
use wasmtime_wasi::cli::WasiCliView as _;
use wasmtime_wasi::p2::bindings::cli::{stderr::Host as _, stdin::Host as _, stdout::Host as _};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream};

use crate::host::sandbox::store::State;

/// Puts functions that remember in the place of WASI's.
pub(super) fn add_to_linker(linker: &mut Linker<State>) -> Result<()> {
    linker.allow_shadowing(true);
    linker.instance("wasi:cli/stdin@0.2.12")?.func_wrap("get-stdin", stdin)?;
    linker.instance("wasi:cli/stdout@0.2.12")?.func_wrap("get-stdout", stdout)?;
    linker.instance("wasi:cli/stderr@0.2.12")?.func_wrap("get-stderr", stderr)?;
    linker.allow_shadowing(false);
    Ok(())
}

fn stdin(mut store: StoreContextMut<'_, State>, (): ()) -> Result<(Resource<DynInputStream>,)> {
    let state = store.data_mut();
    let stream = state.cli().get_stdin()?;
    state.standing.insert(stream.rep());
    Ok((stream,))
}

fn stdout(mut store: StoreContextMut<'_, State>, (): ()) -> Result<(Resource<DynOutputStream>,)> {
    let state = store.data_mut();
    let stream = state.cli().get_stdout()?;
    state.standing.insert(stream.rep());
    Ok((stream,))
}

fn stderr(mut store: StoreContextMut<'_, State>, (): ()) -> Result<(Resource<DynOutputStream>,)> {
    let state = store.data_mut();
    let stream = state.cli().get_stderr()?;
    state.standing.insert(stream.rep());
    Ok((stream,))
}

/// How many of the handles in `state` are such, and their pollables; none: one of the streams isn't what it was.
pub(in crate::host) fn count(state: &State) -> Option<usize> {
    let (mut all, mut streams) = (state.homes.granted(), 0);
    for &handle in &state.standing {
        let (input, output) =
            (Resource::<DynInputStream>::new_borrow(handle), Resource::<DynOutputStream>::new_borrow(handle));
        if state.table.get(&input).is_ok() {
            all += 1 + state.table.iter_children(&input).map_or(0, Iterator::count);
            streams += 1;
        } else if state.table.get(&output).is_ok() {
            all += 1 + state.table.iter_children(&output).map_or(0, Iterator::count);
            streams += 1;
        }
    }
    // The number of a stream that was dropped is given to whatever is opened next.
    (streams == state.output.held()).then_some(all)
}
