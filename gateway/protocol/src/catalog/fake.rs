//! Catalogs of fake plugins, for tests.

use std::sync::Arc;
use std::time::Duration;

use bytesize::ByteSize;

use crate::call_rate::ToolRates;
use crate::names::PluginId;
use crate::policy::{ItemFilter, PluginPolicy, PluginSettings, SchemaBounds};

use super::{Catalog, CatalogBuild, CatalogPlugin};

pub use crate::test_support::{FakePlugin, ready};

/// The policy of a plugin without grants, with the default limits.
#[must_use]
pub fn bare_policy(id: &PluginId) -> PluginPolicy {
    PluginPolicy {
        id: id.clone(),
        place: 0..0,
        prefix: id.to_string(),
        tools: ItemFilter::default(),
        prompts: ItemFilter::default(),
        resources: ItemFilter::default(),
        uris: Vec::new(),
        portable_schemas: false,
        client_features: <_>::default(),
        instructions: false,
        schema_bounds: SchemaBounds { max_size: ByteSize::kib(256), max_depth: 64 },
        concurrency: 16,
        queue: 256,
        timeout: Duration::from_secs(30),
        cpu_time: Duration::from_secs(10),
        cancel_grace: Duration::from_millis(250),
        rates: ToolRates::default(),
        settings: PluginSettings::default(),
    }
}

/// Makes plugins of a catalog from fake plugins.
pub trait IntoCatalogPlugin {
    /// The plugin under [`bare_policy`], changed by `set`.
    ///
    /// # Panics
    /// The plugin can't be offered under that policy.
    fn into_catalog_plugin(self, set: impl FnOnce(&mut PluginPolicy)) -> CatalogPlugin;
}

impl<T: Send + Sync + 'static> IntoCatalogPlugin for FakePlugin<T> {
    fn into_catalog_plugin(self, set: impl FnOnce(&mut PluginPolicy)) -> CatalogPlugin {
        let mut policy = bare_policy(&self.id);
        set(&mut policy);
        CatalogPlugin::new(Arc::new(self), Arc::new(policy)).expect("a plugin that can be offered")
    }
}

/// A catalog of plugins that don't conflict.
///
/// # Panics
/// Two plugins conflict.
#[must_use]
pub fn catalog(plugins: Vec<CatalogPlugin>) -> Arc<Catalog> {
    let CatalogBuild { catalog, refused, .. } = Catalog::build(1, plugins, None);
    assert_eq!(refused, []);
    Arc::new(catalog)
}
