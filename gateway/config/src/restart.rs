//! Compares a configuration with the one that the gateway started with, to find changes that need a restart and grants
//! that are unsafe until then.
//!
//! Plugins and static tokens change while the gateway runs, but it keeps the addresses, issuers, key and directories
//! that it started with. New grants must not reach these, even if the new file contains others.

use super::sections::plugin::callers_state_in_memory;
use super::{
    AdminConfig, Config, Diagnostic, HttpConfig, OAuthConfig, PluginConfig, Secret, TlsConfig,
    protected_paths,
};

impl Config {
    /// The keys that differ in `new` and need a restart, such as `http.listen`, without their values. `self` is the
    /// configuration that the gateway started with.
    #[must_use]
    pub fn needs_restart(&self, new: &Self) -> Vec<String> {
        // A new field causes a compile error here, so that it isn't forgotten.
        let Self {
            file: _,
            http,
            unix_socket,
            admin,
            audit,
            telemetry,
            watch: _,
            callers: _,
            wider_grants: _,
            require_all: _,  // only matters at start
            startup_wait: _, // likewise
            stop_grace: _,
            cache,
            state,
            ca_file,
            certificates: _, // the environment doesn't change
            concurrency,
            memory,
            page_size,
            sealing_key,
            store,
            sources: _,
            plugins: _,
            roles: _,
            secret_files: _,
            key_files: _,
            secrets: _,
            digest: _,
            source_text: _,
        } = self;
        let mut keys = [
            ("gateway.concurrency", *concurrency != new.concurrency),
            ("gateway.memory", *memory != new.memory),
            ("gateway.page_size", *page_size != new.page_size),
            ("gateway.sealing_key", *sealing_key != new.sealing_key),
            ("gateway.cache", *cache != new.cache),
            ("gateway.state", *state != new.state),
            ("gateway.ca_file", *ca_file != new.ca_file),
        ]
        .to_vec();
        keys.push(("store", *store != new.store));
        keys.push(("audit", *audit != new.audit));
        keys.push(("telemetry", *telemetry != new.telemetry));
        keys.extend(http.changed_keys(&new.http));
        keys.push(("unix_socket", *unix_socket != new.unix_socket));
        keys.push(("http.tls", TlsConfig::needs_restart(http.tls.as_ref(), new.http.tls.as_ref())));
        match (admin, &new.admin) {
            (Some(admin), Some(new)) => keys.extend(admin.changed_keys(new)),
            (admin, new) => keys.push(("admin", admin.is_some() != new.is_some())),
        }
        keys.into_iter().filter(|(_, changed)| *changed).map(|(key, _)| key.to_owned()).collect()
    }

    /// The grants in `new` that reach files or secrets that the gateway uses until it restarts, although `new` replaces
    /// them. `self` is the configuration that the gateway started with, with the TLS in use. Checked in addition to
    /// [`protected_paths::check`] at every reload.
    #[must_use]
    pub fn unsafe_until_restart(&self, new: &Self) -> Vec<Diagnostic> {
        let pending = self.needs_restart(new);
        let is_pending = |key: &str| pending.iter().any(|pending| pending == key);
        let mut kept = Self { plugins: new.plugins.clone(), secret_files: Vec::new(), ..self.clone() };
        if !is_pending("http.tls") {
            kept.http.tls.clone_from(&new.http.tls);
        }
        if !is_pending("admin.tls") && !is_pending("admin") {
            kept.admin.clone_from(&new.admin);
        }
        if ["http.auth.issuers", "gateway.sealing_key", "store", "audit", "telemetry"]
            .into_iter()
            .any(is_pending)
        {
            kept.secret_files.clone_from(&self.secret_files);
        }
        let mut problems = protected_paths::check(&kept);
        if self.state.is_none() && self.store.is_none() {
            problems.extend(callers_state_in_memory(&new.plugins));
        }
        // Problems of the new file itself are reported elsewhere.
        let known = protected_paths::check(new);
        problems.retain(|problem| !known.contains(problem));
        for plugin in &new.plugins {
            let mut clients = self.http.oauth.client_secrets();
            if let Some((issuer, _)) = clients.find(|(_, secret)| is_disclosed_to(secret, plugin)) {
                let message =
                    format!("this would give the plugin the gateway's client secret for `{issuer}`");
                problems.push(Diagnostic::error(message).with_span(plugin.span.clone()));
            }
            if self.sealing_key.as_ref().is_some_and(|key| is_disclosed_to(key, plugin)) {
                let message = "this would give the plugin the gateway's sealing key";
                problems.push(Diagnostic::error(message).with_span(plugin.span.clone()));
            }
            let password = self.store.as_ref().and_then(|store| store.password.as_ref());
            if password.is_some_and(|password| is_disclosed_to(password, plugin)) {
                let message = "this would give the plugin the password of the gateway's store";
                problems.push(Diagnostic::error(message).with_span(plugin.span.clone()));
            }
            let mut headers = self.telemetry.iter().flat_map(|telemetry| &telemetry.headers);
            if headers.any(|(_, value)| is_disclosed_to(value, plugin)) {
                let message = "this would give the plugin the gateway's header for the collector";
                problems.push(Diagnostic::error(message).with_span(plugin.span.clone()));
            }
            let audit_key = self.audit.as_ref().and_then(|audit| audit.key.as_ref());
            if audit_key.is_some_and(|key| is_disclosed_to(key, plugin)) {
                let message = "this would give the plugin the gateway's audit key";
                problems.push(Diagnostic::error(message).with_span(plugin.span.clone()));
            }
        }
        let hint = "restart the gateway first, then add this";
        problems.into_iter().map(|problem| problem.with_hint(hint)).collect()
    }
}

impl AdminConfig {
    /// Every key, and whether it differs and needs a restart.
    fn changed_keys(&self, new: &Self) -> [(&'static str, bool); 5] {
        let Self { listen, token, has_unreadable_token: _, tls, has_broken_tls: _, allowed_hosts, try_tools } =
            self;
        [
            ("admin.listen", *listen != new.listen),
            ("admin.allowed_hosts", *allowed_hosts != new.allowed_hosts),
            ("admin.try_tools", *try_tools != new.try_tools),
            // A removed token is refused at once, but requests without credentials are refused until a restart.
            ("admin.token", token.is_some() && new.token.is_none()),
            ("admin.tls", TlsConfig::needs_restart(tls.as_ref(), new.tls.as_ref())),
        ]
    }
}

impl HttpConfig {
    /// Reports whether the static tokens of `new` have to wait for a restart. `self` is the configuration that the gateway
    /// started with.
    ///
    /// With a single issuer and no static tokens, the names of subjects don't contain their issuer. They could be the same
    /// as the names of static tokens.
    #[must_use]
    pub fn delays_tokens(&self, new: &Self) -> bool {
        let has_plain_names =
            self.oauth.issuers.len() == 1 && self.tokens.is_empty() && !self.accepts_certificates();
        has_plain_names && !new.tokens.is_empty()
    }

    /// Every key, and whether it differs.
    fn changed_keys(&self, new: &Self) -> [(&'static str, bool); 18] {
        let Self {
            listen,
            tokens,
            oauth: OAuthConfig { resource, scopes, issuers },
            unreadable_tokens: _, // they are refused
            has_broken_tls: _,    // the certificate in use is kept
            allowed_hosts,
            allowed_origins,
            max_body,
            max_sessions,
            session_idle,
            keep_alive,
            idle_timeout,
            close_streams_after,
            legacy_sse,
            websocket,
            max_connections,
            trusted_proxies,
            health,
            tls: _, // compared by the caller, because a new certificate needs no restart
        } = self;
        // Removed tokens are refused at once, but nobody is admitted without one until a restart.
        let opens = !tokens.is_empty() && !new.requires_authentication();
        [
            ("http.listen", *listen != new.listen),
            ("http.allowed_hosts", *allowed_hosts != new.allowed_hosts),
            ("http.allowed_origins", *allowed_origins != new.allowed_origins),
            ("http.max_body", *max_body != new.max_body),
            ("http.max_sessions", *max_sessions != new.max_sessions),
            ("http.session_idle", *session_idle != new.session_idle),
            ("http.keep_alive", *keep_alive != new.keep_alive),
            ("http.idle_timeout", *idle_timeout != new.idle_timeout),
            ("http.close_streams_after", *close_streams_after != new.close_streams_after),
            ("http.legacy_sse", *legacy_sse != new.legacy_sse),
            ("http.websocket", *websocket != new.websocket),
            ("http.max_connections", *max_connections != new.max_connections),
            ("http.health", *health != new.health),
            ("http.trusted_proxies", *trusted_proxies != new.trusted_proxies),
            ("http.auth.tokens", opens || self.delays_tokens(new)),
            ("http.auth.resource", *resource != new.oauth.resource),
            ("http.auth.scopes", *scopes != new.oauth.scopes),
            ("http.auth.issuers", *issuers != new.oauth.issuers),
        ]
    }
}

/// Reports whether a plugin gets this secret of the gateway through its variables or settings.
fn is_disclosed_to(secret: &Secret, plugin: &PluginConfig) -> bool {
    let variables = plugin.allow.env.iter().map(|(_, value)| value.as_str());
    variables.chain(plugin.settings.values().map(Secret::expose)).any(|value| secret.is_in(value))
}

#[cfg(test)]
mod tests;
