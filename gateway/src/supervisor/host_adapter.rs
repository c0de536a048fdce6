//! Implements the supervisor's interface to plugins with the Wasm host.

use std::sync::Arc;
use std::time::Duration;

use moongate_config::{PluginConfig, Problem};
use moongate_host::{Candidate, LoadError, Named, ReadFailure, WasmHost, WasmPlugin};
use moongate_model::names::Digest;

use super::plugin_host::{ComponentFile, LoadFailure, LoadFuture, LoadedCode, PluginHost, Recovery};

/// Loads plugins with the Wasm host.
pub(super) struct WasmPluginHost(pub(super) Arc<WasmHost>);

/// A file that the Wasm host has read.
struct WasmComponentFile {
    host: Arc<WasmHost>,
    component: Candidate,
}

impl PluginHost for WasmPluginHost {
    fn read(&self, config: Arc<PluginConfig>) -> LoadFuture<Box<dyn ComponentFile>> {
        let host = Arc::clone(&self.0);
        Box::pin(async move {
            let component = host.read(&config).await.map_err(|error| load_failure(&config, &error))?;
            Ok(Box::new(WasmComponentFile { host, component }) as Box<dyn ComponentFile>)
        })
    }
}

impl ComponentFile for WasmComponentFile {
    fn digest(&self) -> Digest {
        *self.component.digest()
    }

    fn is_compiled(&self) -> bool {
        self.host.is_compiled(&self.component)
    }

    fn load(self: Box<Self>, config: Arc<PluginConfig>) -> LoadFuture<Arc<dyn LoadedCode>> {
        let Self { host, component } = *self;
        Box::pin(async move {
            let loaded = host.load(Arc::clone(&config), component).await;
            Ok(loaded.map_err(|error| load_failure(&config, &error))? as Arc<dyn LoadedCode>)
        })
    }
}

impl LoadedCode for WasmPlugin {
    fn with_config(&self, config: Arc<PluginConfig>) -> Arc<dyn LoadedCode> {
        Arc::new(self.reconfigured(config))
    }

    fn describe_again(self: Arc<Self>) -> LoadFuture<Arc<dyn LoadedCode>> {
        Box::pin(async move {
            let described = self.described_anew().await;
            let described = described.map_err(|error| load_failure(self.table(), &error))?;
            Ok(Arc::new(described) as Arc<dyn LoadedCode>)
        })
    }

    fn retire(&self, delay: Duration) {
        Self::retire(self, delay);
    }
}

/// Describes an error for the operator.
fn load_failure(config: &PluginConfig, error: &LoadError) -> LoadFailure {
    let message = format!("plugin `{}` can't be loaded: {error}", config.id);
    let mut place = &config.source_place;
    if let LoadError::Grant { guest: Some(guest), .. } = error
        && let Some(dir) = config.allow.dirs.iter().find(|dir| dir.guest == *guest)
    {
        place = &dir.place;
    } else if let Some(spot) = error.spot() {
        place = config.places.get(&spot).unwrap_or(place);
    }
    // A plugin that no configuration mentions has no place in one.
    let named = if config.source_place.is_empty() { Named::ByHand } else { Named::InTable(config) };
    let hint = error.hint(named);
    let problem = Problem { hint: hint.clone(), ..Problem::error(message).at(place.clone()) };
    let reason = if names_its_path(error) {
        error.to_string()
    } else {
        format!("`{}` can't be used: {error}", config.source.display())
    };
    let ends_calls = matches!(error, LoadError::Grant { .. });
    LoadFailure { reason, hint, recovery: recovery(error), ends_calls, problems: vec![problem] }
}

/// True if the error names the file or directory that it is about.
fn names_its_path(error: &LoadError) -> bool {
    matches!(
        error,
        LoadError::Read { .. }
            | LoadError::NoFile { .. }
            | LoadError::Unsettled { .. }
            | LoadError::Grant { .. }
    )
}

/// An error that depends on the content alone is the same whenever loading is tried.
fn recovery(error: &LoadError) -> Recovery {
    if matches!(error, LoadError::Read { why: ReadFailure::Absent { .. }, .. }) {
        Recovery::FileReturns
    } else if error.is_final() {
        Recovery::Change
    } else {
        Recovery::Retry
    }
}
