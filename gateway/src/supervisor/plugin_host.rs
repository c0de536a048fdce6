//! The interface to whichever host loads plugins, as traits, so that the supervisor's rules can be tested with fakes.
//!
//! Code is loaded in two steps: reading a file returns a [`CandidateFile`] with a digest, and the file is loaded only
//! if its digest is new. [`LoadedCode`] can get another configuration without being loaded again.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use moongate_config::{Diagnostic, PluginConfig};
use moongate_model::names::Digest;
use moongate_protocol::catalog::{CatalogPlugin, PastChecks, Plugin};

/// A step of loading a plugin.
pub(super) type LoadFuture<T> = Pin<Box<dyn Future<Output = Result<T, LoadFailure>> + Send>>;

/// Loads plugins.
pub(super) trait PluginHost: Send + Sync {
    /// Reads a component's file, once no write is in progress.
    fn read(&self, config: Arc<PluginConfig>) -> LoadFuture<Box<dyn CandidateFile>>;

    /// The plugin as its description is cached, if its file hasn't changed. Neither the file nor the code is read.
    /// Blocks while file systems are accessed, so it must be called on a blocking thread.
    fn find_described(&self, _config: &Arc<PluginConfig>) -> Option<Arc<dyn LoadedCode>> {
        None
    }

    /// From now on, calls are more important than compiling.
    fn start_serving(&self) {}
}

/// The content of a component's file.
pub(super) trait CandidateFile: Send {
    fn digest(&self) -> Digest;

    /// True if compiled code is cached, so loading is quick.
    fn is_compiled(&self) -> bool;

    /// Compiles the component if necessary, and asks it for its description.
    fn load(self: Box<Self>, config: Arc<PluginConfig>) -> LoadFuture<Arc<dyn LoadedCode>>;
}

/// A plugin whose code is loaded.
pub(super) trait LoadedCode: Plugin {
    /// The same code and lists, with the grants, limits and settings of `config`.
    fn with_config(&self, config: Arc<PluginConfig>) -> Arc<dyn LoadedCode>;

    /// The same code with a new description.
    fn describe_again(self: Arc<Self>) -> LoadFuture<Arc<dyn LoadedCode>>;

    /// Caches the description for the next start.
    fn cache_description(self: Arc<Self>, _checks: PastChecks) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(std::future::ready(()))
    }

    /// Unloads the code after `delay`, even if it is still referenced.
    fn retire(&self, delay: Duration);
}

/// A loaded plugin with all items that it offers to clients.
#[derive(Debug, Clone)]
pub(super) struct LoadedPlugin {
    pub(super) code: Arc<dyn LoadedCode>,
    pub(super) catalog_plugin: CatalogPlugin,
    /// The current configuration, with the public names that the plugin serves under.
    pub(super) config: Arc<PluginConfig>,
}

impl LoadedPlugin {
    /// Checks the plugin's description. This is slow.
    pub(super) fn new(code: Arc<dyn LoadedCode>, config: Arc<PluginConfig>) -> Result<Self, Vec<Diagnostic>> {
        let plugin: Arc<dyn Plugin> = Arc::<dyn LoadedCode>::clone(&code);
        Ok(Self { catalog_plugin: CatalogPlugin::new(plugin, Arc::new(config.policy()))?, code, config })
    }

    /// The same plugin under another configuration: with its grants, limits and settings, but with the current names.
    pub(super) fn with_config(&self, config: &Arc<PluginConfig>) -> Option<Self> {
        self.regranted(self.code.with_config(Arc::clone(config)), config)
    }

    fn regranted(&self, code: Arc<dyn LoadedCode>, config: &Arc<PluginConfig>) -> Option<Self> {
        let catalog_plugin =
            self.catalog_plugin.with_permissions_of(Arc::<dyn LoadedCode>::clone(&code), &config.policy())?;
        Some(Self { catalog_plugin, code, config: Arc::new(config.with_names_of(&self.config)) })
    }

    /// The same plugin under an equal configuration, which can have another position in the file. `None` if it isn't
    /// equal.
    pub(super) fn moved_to(&self, config: &Arc<PluginConfig>) -> Option<Self> {
        let is_same = self.config.is_equivalent_to(config);
        let catalog_plugin =
            self.catalog_plugin.with_policy(Arc::new(config.policy())).filter(|_| is_same)?;
        Some(Self { catalog_plugin, code: Arc::clone(&self.code), config: Arc::clone(config) })
    }

    /// Follows an equal configuration to its new position in the file.
    pub(super) fn relocate(&mut self, config: &Arc<PluginConfig>) {
        let regranted = || self.regranted(Arc::clone(&self.code), config);
        if let Some(moved) = self.moved_to(config).or_else(regranted) {
            *self = moved;
        }
    }

    /// Caches the description for the next start.
    pub(super) async fn cache_description(&self) {
        let checks = self.catalog_plugin.past_checks();
        Arc::clone(&self.code).cache_description(checks).await;
    }

    pub(super) fn digest(&self) -> Digest {
        *self.code.digest()
    }

    /// True if it is the same instance, not only the same code.
    pub(super) fn is_same_instance(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.code, &other.code)
    }
}

/// A plugin's failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LoadFailure {
    /// One line that names the file or the configuration.
    pub(super) reason: String,
    pub(super) hint: Option<String>,
    pub(super) recovery: Recovery,
    /// True if every call fails until the problem is fixed, including calls to an earlier version.
    pub(super) ends_calls: bool,
    /// The same reason, with its locations in the configuration.
    pub(super) problems: Vec<Diagnostic>,
}

/// The remedy for a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recovery {
    /// Only another file or another configuration can help.
    Change,
    /// A retry can help.
    Retry,
    /// The file is missing; a replacement can be in progress.
    FileReturns,
}

impl LoadFailure {
    pub(super) fn new(problems: Vec<Diagnostic>) -> Self {
        let errors = problems.iter().filter(|problem| problem.is_error());
        let reason = errors.map(|problem| problem.message.clone()).collect::<Vec<_>>().join("; ");
        let hint = problems.iter().find_map(|problem| problem.hint.clone());
        Self { reason, hint, recovery: Recovery::Change, ends_calls: false, problems }
    }

    /// The plugin's file wasn't read in time.
    pub(super) fn read_timeout(config: &PluginConfig, limit: Duration) -> Self {
        let source = config.source.display();
        let reason = format!("reading `{source}` takes longer than {limit:?}");
        let problem = Diagnostic::error(format!("plugin `{}` can't be loaded: {reason}", config.id));
        let problem =
            problem.with_span(config.source_span.clone()).with_hint("check that its file system responds");
        Self { reason, recovery: Recovery::Retry, ..Self::new(vec![problem]) }
    }

    /// An internal error of the gateway.
    pub(super) fn internal(config: &PluginConfig, error: &dyn fmt::Display) -> Self {
        let message = format!("plugin `{}` can't be used: internal error: {error}", config.id);
        let problem = Diagnostic::error(message).with_span(config.span.clone());
        Self { recovery: Recovery::Retry, ..Self::new(vec![problem]) }
    }
}
