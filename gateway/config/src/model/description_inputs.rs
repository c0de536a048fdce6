//! The parts of a plugin's configuration that its description can depend on.

use std::fmt::{self, Write as _};
use std::hash::{Hash as _, Hasher};

use super::{Credential, DirGrant, Grants, HttpGrant, PluginConfig};

impl PluginConfig {
    /// Hashes everything in the configuration that the plugin's description can depend on: what the plugin can see of it,
    /// and the limits on the description itself. This includes the values of secrets, so the hash must be keyed if it is
    /// stored.
    pub fn hash_description_inputs(&self, hasher: &mut impl Hasher) {
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
            .map(|grant| {
                let HttpGrant {
                    span: _,
                    display_pattern: _,
                    scheme,
                    host,
                    port,
                    methods,
                    path,
                    networks,
                    trace_context,
                } = grant;
                (scheme, host, port, methods, path, networks, trace_context)
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
        limits.hash(hasher);
        let _ = write!(HashedText(hasher), "{:?}", (id, grants, settings)); // hashing doesn't fail
    }
}

/// Hashes the text that is written to it.
struct HashedText<'a, H>(&'a mut H);

impl<H: Hasher> fmt::Write for HashedText<'_, H> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}
