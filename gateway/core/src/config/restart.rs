//! A configuration beside the one that the gateway started with: what waits for a restart, and what would undo it.
//!
//! Plugins change while the gateway serves, but it goes on with the addresses, tokens, key and folders that it began
//! with. So a new table of a plugin has to respect these too, even where the new file names others.

use crate::config::{Config, HttpConfig, PluginConfig, Problem, Secret};

impl Config {
    /// The keys that differ in `new` and that only a restart takes into use, such as `http.listen`; never what they
    /// hold. `self` is what the gateway started with.
    #[must_use]
    pub fn needs_restart(&self, new: &Self) -> Vec<String> {
        // Whatever is added must be named here.
        let Self {
            file: _,
            http,
            admin,
            watch: _,
            wider_grants: _,
            require_all: _, // it counts when the gateway starts
            stop_grace: _,
            cache,
            state,
            ca_file,
            concurrency,
            page_size,
            sealing_key,
            plugins: _,
            secret_files: _,
            secrets: _,
            written: _,
        } = self;
        let mut keys = [
            ("gateway.concurrency", *concurrency != new.concurrency),
            ("gateway.page_size", *page_size != new.page_size),
            ("gateway.sealing_key", *sealing_key != new.sealing_key),
            ("gateway.cache", *cache != new.cache),
            ("gateway.state", *state != new.state),
            ("gateway.ca_file", *ca_file != new.ca_file),
        ]
        .to_vec();
        keys.extend(http.changed(&new.http));
        keys.push(("admin.listen", *admin != new.admin && admin.is_some() && new.admin.is_some()));
        keys.push(("admin", admin.is_some() != new.admin.is_some()));
        keys.into_iter().filter(|(_, changed)| *changed).map(|(key, _)| key.to_owned()).collect()
    }

    /// What in `new` would let a plugin reach what the gateway lives by until it is restarted, though `new` names
    /// something else in its place. `self` is what the gateway started with. Asked beside [`crate::config::grant_guard::check`],
    /// at every reload.
    #[must_use]
    pub fn endangered_by(&self, new: &Self) -> Vec<Problem> {
        let waits = self.needs_restart(new);
        let waits = |key: &str| waits.iter().any(|waiting| waiting == key);
        let mut kept = Self { plugins: new.plugins.clone(), secret_files: Vec::new(), ..self.clone() };
        if waits("http.auth.tokens") || waits("gateway.sealing_key") {
            kept.secret_files.clone_from(&self.secret_files);
        }
        let mut problems = crate::config::grant_guard::check(&kept);
        // What the new file is refused for anyway is said once.
        let known = crate::config::grant_guard::check(new);
        problems.retain(|problem| !known.contains(problem));
        for plugin in &new.plugins {
            problems.extend(self.http.tokens.iter().filter(|token| plugin.is_given(&token.token)).map(
                |token| {
                    let message = format!("this would give the plugin the token `{}`", token.name);
                    Problem::error(message).at(plugin.place.clone())
                },
            ));
            if self.sealing_key.as_ref().is_some_and(|key| plugin.is_given(key)) {
                let message = "this would give the plugin the gateway's sealing key";
                problems.push(Problem::error(message).at(plugin.place.clone()));
            }
        }
        let hint = "the gateway uses it until it is restarted: restart it first, then add this";
        problems.into_iter().map(|problem| problem.hint(hint)).collect()
    }
}

impl HttpConfig {
    /// Every key, and whether it differs.
    fn changed(&self, new: &Self) -> [(&'static str, bool); 10] {
        let Self {
            listen,
            tokens,
            unread_tokens,
            allowed_hosts,
            allowed_origins,
            max_body,
            max_sessions,
            session_idle,
            keep_alive,
            close_streams_after,
            legacy_sse,
        } = self;
        let same_tokens = *unread_tokens == new.unread_tokens
            && tokens.len() == new.tokens.len()
            && tokens.iter().zip(&new.tokens).all(|(a, b)| a.name == b.name && a.token == b.token);
        [
            ("http.listen", *listen != new.listen),
            ("http.allowed_hosts", *allowed_hosts != new.allowed_hosts),
            ("http.allowed_origins", *allowed_origins != new.allowed_origins),
            ("http.max_body", *max_body != new.max_body),
            ("http.max_sessions", *max_sessions != new.max_sessions),
            ("http.session_idle", *session_idle != new.session_idle),
            ("http.keep_alive", *keep_alive != new.keep_alive),
            ("http.close_streams_after", *close_streams_after != new.close_streams_after),
            ("http.legacy_sse", *legacy_sse != new.legacy_sse),
            ("http.auth.tokens", !same_tokens),
        ]
    }
}

impl PluginConfig {
    /// Would it learn this secret of the gateway from its variables or settings?
    fn is_given(&self, secret: &Secret) -> bool {
        let variables = self.allow.env.iter().map(|(_, value)| value.as_str());
        variables.chain(self.config.values().map(Secret::expose)).any(|given| secret.is_told_by(given))
    }
}

#[cfg(test)]
mod tests;
