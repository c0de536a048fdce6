//! `wasi:cli`: the standard streams, and the environment variables that a plugin is granted.
//!
//! A guest's runtime opens the standard streams once and keeps them. Their handles are remembered, like those of the
//! granted directories (in `files`). Every other handle that is left after a call is a leak, and prevents the reuse of
//! its instance.

use std::collections::BTreeSet;
use std::sync::Arc;

use wasmtime::component::{Linker, Resource, ResourceTable};
use wasmtime::{Result, StoreContextMut};
use wasmtime_wasi::WasiView;
use wasmtime_wasi::cli::WasiCliView as _;
use wasmtime_wasi::p2::bindings::cli::environment::Host as _;
use wasmtime_wasi::p2::bindings::cli::{stderr::Host as _, stdin::Host as _, stdout::Host as _};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream};

use crate::diagnostics::output::CapturedOutput;
use crate::wasi::grant_audit::GrantAudit;

/// A store's part for standard streams and the environment.
#[derive(Debug)]
pub(crate) struct CliState {
    output: Arc<CapturedOutput>,
    audit: GrantAudit,
    /// The handles of the guest's standard streams. The guest may have dropped them since.
    stream_handles: BTreeSet<u32>,
}

impl CliState {
    pub(crate) fn new(output: Arc<CapturedOutput>, audit: GrantAudit) -> Self {
        Self { output, audit, stream_handles: BTreeSet::new() }
    }

    /// Prepares for another call to the same instance.
    pub(crate) fn renew(&mut self, audit: GrantAudit) {
        self.audit = audit;
    }

    pub(crate) fn output(&self) -> &Arc<CapturedOutput> {
        &self.output
    }

    /// The number of handles in the table that are standard streams or their pollables. `None` if one of the streams
    /// was dropped, because its handle can then belong to something else.
    pub(crate) fn handles(&self, table: &ResourceTable) -> Option<usize> {
        let mut handles = 0;
        let mut streams = 0;
        for &handle in &self.stream_handles {
            let input = Resource::<DynInputStream>::new_borrow(handle);
            let output = Resource::<DynOutputStream>::new_borrow(handle);
            if table.get(&input).is_ok() {
                handles += 1 + table.iter_children(&input).map_or(0, Iterator::count);
                streams += 1;
            } else if table.get(&output).is_ok() {
                handles += 1 + table.iter_children(&output).map_or(0, Iterator::count);
                streams += 1;
            }
        }
        (streams == self.output.held_streams()).then_some(handles)
    }
}

/// A store with standard streams and an environment.
pub(crate) trait CliView: WasiView + 'static {
    fn cli_state(&mut self) -> &mut CliState;
}

/// Replaces WASI's functions with those of this module.
pub(super) fn add_to_linker<T: CliView>(linker: &mut Linker<T>) -> Result<()> {
    linker.allow_shadowing(true);
    linker.instance("wasi:cli/stdin@0.2.12")?.func_wrap("get-stdin", stdin)?;
    linker.instance("wasi:cli/stdout@0.2.12")?.func_wrap("get-stdout", stdout)?;
    linker.instance("wasi:cli/stderr@0.2.12")?.func_wrap("get-stderr", stderr)?;
    linker.instance("wasi:cli/environment@0.2.12")?.func_wrap("get-environment", environment)?;
    linker.allow_shadowing(false);
    Ok(())
}

fn stdin<T: CliView>(mut store: StoreContextMut<'_, T>, (): ()) -> Result<(Resource<DynInputStream>,)> {
    let stream = store.data_mut().cli().get_stdin()?;
    store.data_mut().cli_state().stream_handles.insert(stream.rep());
    Ok((stream,))
}

fn stdout<T: CliView>(mut store: StoreContextMut<'_, T>, (): ()) -> Result<(Resource<DynOutputStream>,)> {
    let stream = store.data_mut().cli().get_stdout()?;
    store.data_mut().cli_state().stream_handles.insert(stream.rep());
    Ok((stream,))
}

fn stderr<T: CliView>(mut store: StoreContextMut<'_, T>, (): ()) -> Result<(Resource<DynOutputStream>,)> {
    let stream = store.data_mut().cli().get_stderr()?;
    store.data_mut().cli_state().stream_handles.insert(stream.rep());
    Ok((stream,))
}

/// Notes the granted variables as used. A guest's runtime reads all of them when it needs the first one.
fn environment<T: CliView>(mut store: StoreContextMut<'_, T>, (): ()) -> Result<(Vec<(String, String)>,)> {
    let variables = store.data_mut().cli().get_environment()?;
    let audit = &store.data_mut().cli_state().audit;
    for (name, _) in &variables {
        audit.note_used(|| format!("env {name}"));
    }
    Ok((variables,))
}
