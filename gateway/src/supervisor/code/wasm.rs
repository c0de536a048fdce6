//! The Wasm host, as the supervisor asks it.

use std::sync::Arc;
use std::time::Duration;

use moongate_core::config::{PluginConfig, Problem};
use moongate_core::names::Digest;

use crate::host::{self, LoadError, Named, Unreadable, WasmHost, WasmPlugin};

use super::{Candidate, Code, Failure, Helps, Host, Work};

/// The Wasm host.
pub(in crate::supervisor) struct Wasm(pub(in crate::supervisor) Arc<WasmHost>);

/// A file that was read.
struct Read {
    host: Arc<WasmHost>,
    candidate: host::Candidate,
}

impl Host for Wasm {
    fn read(&self, table: Arc<PluginConfig>) -> Work<Box<dyn Candidate>> {
        let host = Arc::clone(&self.0);
        Box::pin(async move {
            let candidate = host.read(&table).await.map_err(|error| failure(&table, &error))?;
            Ok(Box::new(Read { host, candidate }) as Box<dyn Candidate>)
        })
    }
}

impl Candidate for Read {
    fn digest(&self) -> Digest {
        *self.candidate.digest()
    }

    fn is_compiled(&self) -> bool {
        self.host.is_compiled(&self.candidate)
    }

    fn load(self: Box<Self>, table: Arc<PluginConfig>) -> Work<Arc<dyn Code>> {
        let Self { host, candidate } = *self;
        Box::pin(async move {
            let loaded = host.load(Arc::clone(&table), candidate).await;
            Ok(loaded.map_err(|error| failure(&table, &error))? as Arc<dyn Code>)
        })
    }
}

impl Code for WasmPlugin {
    fn under(&self, table: Arc<PluginConfig>) -> Arc<dyn Code> {
        Arc::new(self.reconfigured(table))
    }

    fn described_anew(self: Arc<Self>) -> Work<Arc<dyn Code>> {
        Box::pin(async move {
            let described = Self::described_anew(&self).await;
            Ok(Arc::new(described.map_err(|error| failure(self.table(), &error))?) as Arc<dyn Code>)
        })
    }

    fn retire(&self, after: Duration) {
        Self::retire(self, after);
    }
}

/// What the operator is told.
fn failure(table: &PluginConfig, error: &LoadError) -> Failure {
    let message = format!("plugin `{}` can't be loaded: {error}", table.id);
    let mut place = &table.source_place;
    if let LoadError::Grant { guest: Some(guest), .. } = error
        && let Some(dir) = table.allow.dirs.iter().find(|dir| dir.guest == *guest)
    {
        place = &dir.place;
    } else if let Some(spot) = error.spot() {
        place = table.places.get(&spot).unwrap_or(place);
    }
    // Where no configuration mentions it, nothing stands anywhere.
    let named = if table.source_place.is_empty() { Named::ByHand } else { Named::InTable(table) };
    let hint = error.hint(named);
    let problem = Problem { hint: hint.clone(), ..Problem::error(message).at(place.clone()) };
    let reason = if names_what_is_wrong(error) {
        error.to_string()
    } else {
        format!("`{}` can't be used: {error}", table.source.display())
    };
    let ends_calls = matches!(error, LoadError::Grant { .. });
    Failure { reason, hint, helps: helps(error), ends_calls, problems: vec![problem] }
}

/// The file itself, or a directory, where the file is well.
fn names_what_is_wrong(error: &LoadError) -> bool {
    matches!(
        error,
        LoadError::Read { .. }
            | LoadError::NoFile { .. }
            | LoadError::Unsettled { .. }
            | LoadError::Grant { .. }
    )
}

/// What depends on the bytes alone is the same whenever it is tried.
fn helps(error: &LoadError) -> Helps {
    if matches!(error, LoadError::Read { why: Unreadable::Absent { .. }, .. }) {
        Helps::Return
    } else if error.is_final() {
        Helps::Change
    } else {
        Helps::Time
    }
}
