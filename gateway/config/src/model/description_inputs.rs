//! The parts of a plugin's configuration that its description can depend on.

use super::{Credential, DirGrant, Grants, HttpGrant, PluginConfig, Secret};

impl PluginConfig {
    /// Everything in the configuration that the plugin's description can depend on: what the plugin can see of it, and
    /// the limits on the description itself. It contains the values of secrets, so only a keyed hash of it may be stored.
    #[must_use]
    pub fn description_inputs(&self) -> Secret {
        // A new field causes a compile error here, so that it isn't forgotten.
        let Self {
            id,
            span: _,
            source: _, // the digest of its content counts
            builtin: _,
            remote: _,
            source_span: _,
            sha256: _,
            reload: _,
            instances: _,
            prefix: _, // the catalog applies names and filters to the description
            tools: _,
            prompts: _,
            resources: _,
            uris: _,
            portable_schemas: _,
            allow,
            limits,
            rates: _,
            settings,
            setting_origins: _,
            spans: _,
        } = self;
        let Grants { dirs, env, client, instructions, http, credentials, state, state_scope, spans: _ } =
            allow;
        let dirs: Vec<_> = dirs
            .iter()
            .map(|DirGrant { span: _, host_path, unresolved_host_path, guest_path, mode, allows_system }| {
                (host_path, unresolved_host_path, guest_path, mode, allows_system)
            })
            .collect();
        let http: Vec<_> = http
            .iter()
            .map(|HttpGrant { span: _, display_pattern: _, scheme, host, port, methods, path, networks }| {
                (scheme, host, port, methods, path, networks)
            })
            .collect();
        let credentials: Vec<_> = credentials
            .iter()
            .map(|Credential { span: _, origin, headers, origins: _ }| {
                let headers = headers.iter().map(|(name, value)| (name, value.expose()));
                (origin, headers.collect::<Vec<_>>())
            })
            .collect();
        let settings: Vec<_> = settings.iter().map(|(key, value)| (key, value.expose())).collect();
        let grants = (dirs, env, client, instructions, http, credentials, state, state_scope);
        Secret::new(format!("{:?}", (id, grants, limits, settings)))
    }
}
