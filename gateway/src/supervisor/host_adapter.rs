//! Implements the supervisor's plugin interface with the Wasm host.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use moongate_config::{Diagnostic, PluginConfig};
use moongate_host::{LoadError, PathOrigin, ReadFailure, WasmHost, WasmPlugin};
use moongate_model::names::Digest;
use moongate_model::plugin::PastChecks;
use moongate_system::background::MovableFuture;

use super::plugin_host::{CandidateFile, LoadFailure, LoadFuture, LoadedCode, PluginHost, Recovery};

/// Loads plugins with the Wasm host.
pub(super) struct WasmPluginHost {
    pub(super) host: Arc<WasmHost>,
    /// Calls are more important than compiling changed components.
    pub(super) prefers_calls: bool,
}

/// A file that the Wasm host has read.
struct WasmComponentFile {
    host: Arc<WasmHost>,
    component: moongate_host::ComponentFile,
}

impl PluginHost for WasmPluginHost {
    fn read(&self, config: Arc<PluginConfig>) -> LoadFuture<Box<dyn CandidateFile>> {
        let host = Arc::clone(&self.host);
        Box::pin(async move {
            let component = host.read(&config).await.map_err(|error| load_failure(&config, &error))?;
            Ok(Box::new(WasmComponentFile { host, component }) as Box<dyn CandidateFile>)
        })
    }

    fn find_described(&self, config: &Arc<PluginConfig>) -> Option<Arc<dyn LoadedCode>> {
        Some(self.host.find_described(config)? as Arc<dyn LoadedCode>)
    }

    fn start_serving(&self) {
        if self.prefers_calls {
            self.host.start_serving();
        }
    }
}

impl CandidateFile for WasmComponentFile {
    fn digest(&self) -> Digest {
        *self.component.digest()
    }

    fn is_compiled(&self) -> bool {
        self.host.is_compiled(&self.component)
    }

    fn load(self: Box<Self>, config: Arc<PluginConfig>) -> LoadFuture<Arc<dyn LoadedCode>> {
        let Self { host, component } = *self;
        Box::pin(MovableFuture::new(async move {
            let loaded = host.load(Arc::clone(&config), component).await;
            Ok(loaded.map_err(|error| load_failure(&config, &error))? as Arc<dyn LoadedCode>)
        }))
    }
}

impl LoadedCode for WasmPlugin {
    fn with_config(&self, config: Arc<PluginConfig>) -> Arc<dyn LoadedCode> {
        Arc::new(Self::with_config(self, config))
    }

    fn describe_again(self: Arc<Self>) -> LoadFuture<Arc<dyn LoadedCode>> {
        Box::pin(MovableFuture::new(async move {
            let described = Self::describe_again(&self).await;
            let described = described.map_err(|error| load_failure(self.config(), &error))?;
            Ok(Arc::new(described) as Arc<dyn LoadedCode>)
        }))
    }

    fn cache_description(self: Arc<Self>, checks: PastChecks) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(Self::cache_description(self, checks))
    }

    fn retire(&self, delay: Duration) {
        Self::retire(self, delay);
    }
}

/// Describes an error for the operator.
fn load_failure(config: &PluginConfig, error: &LoadError) -> LoadFailure {
    let message = format!("plugin `{}` can't be loaded: {error}", config.id);
    let mut place = &config.source_span;
    if let LoadError::GrantedDirectory { guest: Some(guest), .. } = error
        && let Some(dir) = config.allow.dirs.iter().find(|dir| dir.guest_path == *guest)
    {
        place = &dir.span;
    } else if let Some(spot) = error.config_field() {
        place = config.spans.get(&spot).unwrap_or(place);
    }
    let hint = error.hint(PathOrigin::of(config));
    let problem = Diagnostic { hint: hint.clone(), ..Diagnostic::error(message).with_span(place.clone()) };
    let reason = if names_its_path(error) {
        error.to_string()
    } else {
        format!("`{}` can't be used: {error}", config.source.display())
    };
    let ends_calls = matches!(error, LoadError::GrantedDirectory { .. });
    LoadFailure { reason, hint, recovery: recovery(error), ends_calls, problems: vec![problem] }
}

/// True if the error names the affected file or directory.
fn names_its_path(error: &LoadError) -> bool {
    matches!(
        error,
        LoadError::Read { .. }
            | LoadError::NotLocked(_)
            | LoadError::NotAFile { .. }
            | LoadError::KeepsChanging { .. }
            | LoadError::GrantedDirectory { .. }
    )
}

/// An error that depends on the content alone recurs at every attempt.
fn recovery(error: &LoadError) -> Recovery {
    if matches!(error, LoadError::Read { why: ReadFailure::NotFound { .. }, .. }) {
        Recovery::FileReturns
    } else if error.is_final() {
        Recovery::Change
    } else {
        Recovery::Retry
    }
}
