//! Extracts the part of a plugin's configuration that the protocol needs.

use super::{Limits, PluginConfig, SourceField};
use moongate_model::policy::{PluginPolicy, PluginSettings, SchemaBounds, Setting};

impl PluginConfig {
    /// The part of the configuration that the catalog, dispatch and the protocol need.
    #[must_use]
    pub fn policy(&self) -> PluginPolicy {
        PluginPolicy {
            id: self.id.clone(),
            place: self.span.clone(),
            prefix: self.prefix.clone(),
            tools: self.tools.clone(),
            prompts: self.prompts.clone(),
            resources: self.resources.clone(),
            uris: self.uris.clone(),
            portable_schemas: self.portable_schemas,
            client_features: self.allow.client.clone(),
            instructions: self.allow.instructions,
            schema_bounds: self.limits.schema_bounds(),
            concurrency: self.limits.concurrency,
            queue: self.limits.queue,
            timeout: self.limits.timeout,
            cpu_time: self.limits.cpu_time,
            cancel_grace: self.limits.cancel_grace,
            rates: self.rates.clone(),
            settings: self.plugin_settings(),
        }
    }

    /// This configuration with the public names, URIs and schema form of `other`. A plugin that can't have its new
    /// names keeps the earlier ones this way, with the current grants, limits and settings.
    #[must_use]
    pub fn with_names_of(&self, other: &Self) -> Self {
        let Self {
            id: _,
            span: _,
            source: _,
            builtin: _,
            remote: _,
            source_span: _,
            sha256: _,
            reload: _,
            instances: _,
            prefix,
            tools,
            prompts,
            resources,
            uris,
            portable_schemas,
            allow: _,
            limits: _,
            rates: _,
            settings: _,
            setting_origins: _,
            spans: _,
        } = other.clone();
        Self { prefix, tools, prompts, resources, uris, portable_schemas, ..self.clone() }
    }

    fn plugin_settings(&self) -> PluginSettings {
        let place = |spot: &SourceField| self.spans.get(spot).unwrap_or(&self.span).clone();
        let entries = self.settings.iter().map(|(key, value)| {
            let setting = Setting {
                value: value.clone(),
                sources: self.setting_origins.get(key).cloned().unwrap_or_default(),
                key_place: place(&SourceField::SettingKey(key.clone())),
                value_place: place(&SourceField::SettingValue(key.clone())),
            };
            (key.clone(), setting)
        });
        PluginSettings { place: place(&SourceField::Settings), entries: entries.collect() }
    }
}

impl Limits {
    /// The largest JSON Schema that is accepted from the plugin.
    #[must_use]
    pub fn schema_bounds(&self) -> SchemaBounds {
        SchemaBounds { max_size: self.schema, max_depth: self.schema_depth }
    }
}
