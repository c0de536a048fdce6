//! Applying another configuration, or rejecting it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use moongate_config::{
    BearerToken, Config, ConfigSource, Diagnostic, PluginConfig, RenderStyle, Severity, WiderGrantsPolicy,
    render_diagnostics,
};
use moongate_model::names::{Digest, PluginId};
use moongate_model::roles::{AccessRole, AccessRoles};
use tokio::time::Instant;

use crate::supervisor::check::{CheckCause, CheckRequest};
use crate::supervisor::desired_config::{ConfigVerdict, ReadRequest, judge, next_policy};
use crate::supervisor::managed_plugin::{ConfigEffect, GrantChange, Logged, ManagedPlugin, WaitingConfig};
use crate::supervisor::observer::SupervisorChange;
use crate::supervisor::reload_report::describe_removal;
use crate::supervisor::watch::WatchTarget;
use crate::telemetry::log_problems;

use super::{Reconciler, RetiredCode, retire_delay};

/// The log messages about a file that isn't used, or not completely.
const REJECTED_FILE: &str = "rejected the new configuration; the current one stays in effect";
const REJECTED_TLS: &str =
    "rejected the new certificate; the current one stays in use, and the rest was applied";
const REJECTED_TOKENS: &str = "refusing tokens whose secret can't be used; the rest was applied";
const REJECTED_CREDENTIALS: &str = "rejected the new certificate and refusing tokens whose secret can't be used; the \
                                    current certificate stays in use, and the rest was applied";

/// The changes in a configuration.
#[derive(Debug, Default)]
struct ConfigChanges {
    /// Changes, one per line.
    lines: Vec<String>,
    /// Keys that need a restart since this change.
    needs_restart: Vec<String>,
    /// Changes that wait for a reload request since this change.
    waiting: Vec<String>,
    /// Granted and revoked permissions of each plugin.
    grants: Vec<PluginGrants>,
    /// A grant or a plugin was removed, which must be published at once.
    publish_now: bool,
}

/// A plugin's granted and revoked permissions.
#[derive(Debug)]
struct PluginGrants {
    plugin: PluginId,
    granted: Vec<String>,
    revoked: Vec<String>,
    /// What remains of narrowed permissions.
    remaining: Vec<String>,
}

impl Reconciler {
    pub(super) fn handle_config(&mut self, loaded: moongate_config::LoadedConfig) {
        let now = Instant::now();
        let read = self.desired.finish_read().unwrap_or(ReadRequest { detected: now, request: None });
        let moongate_config::LoadedConfig {
            source,
            config,
            problems,
            mut token_problems,
            mut tls_problems,
            files,
            ..
        } = loaded;
        let partly_rejected = match (&token_problems[..], &tls_problems[..]) {
            ([], []) => None,
            ([], _) => Some(REJECTED_TLS),
            (_, []) => Some(REJECTED_TOKENS),
            (_, _) => Some(REJECTED_CREDENTIALS),
        };
        token_problems.append(&mut tls_problems);
        match config {
            Some(config) => {
                let logged_rejection = self.desired.logged_rejection.take();
                self.log_warnings(&problems, &source);
                self.desired.files = files;
                if let Some(title) = partly_rejected {
                    self.desired.rejected = None;
                    self.desired.logged_rejection = logged_rejection;
                    self.apply_config(&config, read, now);
                    self.reject_part(title, &token_problems, &source, read, now);
                } else {
                    self.apply_config(&config, read, now);
                }
            }
            None => {
                // A change in any of these files may be the fix.
                self.desired.files.extend(files);
                self.reject_part(REJECTED_FILE, &problems, &source, read, now);
            }
        }
        self.update_watch_target();
        if let Some(request) = read.request {
            let cause = CheckCause::Operator(request);
            for plugin in &mut self.plugins {
                plugin.request_check(CheckRequest { cause, ..CheckRequest::of_file(read.detected) });
            }
        }
    }

    /// Updates the watched files.
    pub(super) fn update_watch_target(&self) {
        let mut files = self.desired.files.clone();
        files.insert(self.desired.started.file.clone());
        for plugin in &self.plugins {
            let configs = [Some(plugin.config()), plugin.waiting_config()].into_iter().flatten();
            files.extend(configs.filter_map(|config| config.component_file()).map(Path::to_owned));
        }
        self.deps.watch.set_target(WatchTarget { files, config: self.desired.watch });
    }

    /// Reports that the configuration, or a part of it, isn't used.
    fn reject_part(
        &mut self,
        title: &str,
        problems: &[Diagnostic],
        source: &ConfigSource,
        read: ReadRequest,
        now: Instant,
    ) {
        let errors = problems.iter().filter(|problem| problem.is_error());
        let reason = errors.map(|problem| with_place(problem, source)).collect::<Vec<_>>().join("; ");
        self.desired.rejected = Some(reason.clone());
        let rendered = render_diagnostics(problems, source, RenderStyle::Plain);
        if self.desired.logged_rejection.as_ref() == Some(&rendered) {
            return;
        }
        log_problems(title, Severity::Error, problems, source);
        self.desired.logged_rejection = Some(rendered);
        self.deps.observer.changed(&SupervisorChange::ConfigurationRejected(&reason));
        self.report.counts.rejected += 1;
        self.report.add_failure(None, now - read.detected, reason);
    }

    /// Logs warnings, once.
    fn log_warnings(&mut self, problems: &[Diagnostic], source: &ConfigSource) {
        let rendered = render_diagnostics(problems, source, RenderStyle::Plain);
        if !rendered.is_empty() && self.desired.logged_warnings.as_ref() != Some(&rendered) {
            log_problems("configuration has warnings", Severity::Warning, problems, source);
        }
        self.desired.logged_warnings = Some(rendered);
        self.desired.logged_rejection = None;
    }

    /// Applies a configuration, except for changes that have to wait.
    fn apply_config(&mut self, config: &Config, read: ReadRequest, now: Instant) {
        let policy = if read.request.is_some() { WiderGrantsPolicy::Live } else { self.desired.wider_grants };
        let mut changes = ConfigChanges::default();
        let order: Vec<_> = self.plugins.iter().map(|plugin| plugin.id().clone()).collect();
        let before = std::mem::take(&mut self.plugins);
        let mut before: BTreeMap<PluginId, ManagedPlugin> =
            before.into_iter().map(|plugin| (plugin.id().clone(), plugin)).collect();
        for config in &config.plugins {
            let plugin = match before.remove(&config.id) {
                Some(plugin) if plugin.waits_for_approval() => {
                    self.add_plugin(config, policy, plugin.logged, now, &mut changes)
                }
                Some(plugin) => self.change_plugin(plugin, config, policy, now, &mut changes),
                None => self.add_plugin(config, policy, Logged::default(), now, &mut changes),
            };
            self.plugins.push(plugin);
        }
        for plugin in before.into_values() {
            self.remove_plugin(plugin, &mut changes);
        }
        let is_kept = |id: &&PluginId| self.plugins.iter().any(|plugin| plugin.id() == *id);
        let order_before = order.iter().filter(is_kept);
        let order_now = self.plugins.iter().map(ManagedPlugin::id).filter(|id| order.contains(id));
        if !order_before.eq(order_now) {
            changes.lines.push("plugin order".to_owned());
            changes.publish_now = true;
        }
        self.apply_global_keys(config, policy, read, &mut changes);
        if changes.publish_now {
            self.publish_now();
        }
        // New tokens get the new roles.
        self.apply_tokens(config, policy, &mut changes);
        self.apply_admin(config, policy, &mut changes);
        let digest = Digest::of(config.source_text.expose().as_bytes());
        self.report_changes(digest, changes, read, now);
    }

    /// Applies the static tokens, except for changes that have to wait.
    fn apply_tokens(&mut self, config: &Config, policy: WiderGrantsPolicy, changes: &mut ConfigChanges) {
        let desired = &mut self.desired;
        if desired.started.http.delays_tokens(&config.http) {
            return;
        }
        let mut tokens = config.http.tokens.clone();
        let is_new = |token: &BearerToken| !desired.tokens.contains(token);
        let waits = policy == WiderGrantsPolicy::Wait && tokens.iter().any(is_new);
        if waits {
            tokens.retain(|token| !is_new(token));
        }
        if waits && !desired.tokens_wait {
            tracing::warn!("`http.auth.tokens` has new tokens, which wait for a reload request");
            changes.waiting.push("new tokens in `http.auth.tokens`".to_owned());
        }
        desired.tokens_wait = waits;
        if desired.tokens != tokens {
            changes.lines.extend(describe_tokens(&desired.tokens, &tokens));
            desired.tokens.clone_from(&tokens);
            self.deps.tokens.send_replace(tokens);
        }
    }

    /// Applies the credentials of the admin listener, except for changes that have to wait: the listener accepts
    /// requests that apply everything else that waits.
    fn apply_admin(&mut self, config: &Config, policy: WiderGrantsPolicy, changes: &mut ConfigChanges) {
        if self.desired.started.admin.is_none() {
            return;
        }
        let (admin, desired) = (&self.deps.admin, &mut self.desired);
        let new = config.admin.as_ref();
        let waits = policy == WiderGrantsPolicy::Wait && new.is_some_and(|new| admin.admits_others(new));
        if waits && !desired.admin_waits {
            tracing::warn!("the credentials in `admin` changed; the change waits for a reload request");
            changes.waiting.push("other credentials in `admin`".to_owned());
        }
        desired.admin_waits = waits;
        if waits {
            return;
        }
        let token = new.and_then(|new| new.token.clone());
        if admin.token.send_if_modified(|current| replace_if_different(current, &token)) {
            changes.lines.push("`admin.token`".to_owned());
        }
        let keeps_tls = desired.needs_restart.iter().any(|key| key == "admin" || key == "admin.tls");
        let tls = new.and_then(|new| new.tls.clone());
        if !keeps_tls && admin.tls.send_if_modified(|current| replace_if_different(current, &tls)) {
            changes.lines.push("`admin.tls` certificate".to_owned());
        }
    }

    /// Applies the keys outside of plugins' tables.
    fn apply_global_keys(
        &mut self,
        config: &Config,
        policy: WiderGrantsPolicy,
        read: ReadRequest,
        changes: &mut ConfigChanges,
    ) {
        let desired = &mut self.desired;
        let needs_restart = desired.started.needs_restart(config);
        for key in needs_restart.iter().filter(|key| !desired.needs_restart.contains(key)) {
            let stays = match key.as_str() {
                "http.auth.issuers" => "the current issuers stay in use",
                "http.auth.tokens" => "no static token is accepted", // see `HttpConfig::changed_keys`
                "http.tls" if desired.started.http.tls.is_some() => "the current TLS settings stay in use",
                "http.tls" => "plain HTTP stays in use",
                "admin.token" => "requests without credentials are refused",
                _ => "the current value stays in use",
            };
            tracing::warn!("`{key}` changed and needs a restart; until then, {stays}");
            changes.needs_restart.push(format!("`{key}`"));
        }
        if !needs_restart.iter().any(|key| key == "http.tls")
            && desired.tls.send_if_modified(|tls| replace_if_different(tls, &config.http.tls))
        {
            changes.lines.push("`http.tls` certificate".to_owned());
        }
        if desired.needs_restart != needs_restart {
            let line = needs_restart.is_empty().then(|| "nothing needs a restart any more".to_owned());
            changes.lines.extend(line);
            desired.needs_restart = needs_restart;
        }
        let in_file = config.wider_grants.unwrap_or_default();
        let wider_grants = next_policy(desired.wider_grants, in_file, read.request.is_some());
        if wider_grants != in_file && !desired.wider_grants_waits {
            tracing::warn!("`wider_grants` was loosened; the change waits for a reload request");
            changes.waiting.push("`gateway.wider_grants`".to_owned());
        }
        desired.wider_grants_waits = wider_grants != in_file;
        if wider_grants != desired.wider_grants {
            changes.lines.push("`gateway.wider_grants`".to_owned());
        }
        desired.wider_grants = wider_grants;
        let have_same_roles = AccessRoles::are_equivalent(desired.roles.as_ref(), config.roles.as_ref());
        // A change of roles can show more to one caller and less to another, so it always counts as a wider grant.
        let roles_wait = !have_same_roles && policy == WiderGrantsPolicy::Wait;
        if roles_wait && !desired.roles_wait {
            tracing::warn!("`roles` changed; the change waits for a reload request");
            changes.waiting.push(describe_roles(desired.roles.as_ref(), config.roles.as_ref()));
        }
        desired.roles_wait = roles_wait;
        if !have_same_roles && !roles_wait {
            changes.lines.push(describe_roles(desired.roles.as_ref(), config.roles.as_ref()));
            desired.roles.clone_from(&config.roles);
            changes.publish_now = true;
        }
        desired.digest = config.digest;
        if desired.stop_grace != config.stop_grace {
            desired.stop_grace = config.stop_grace;
            changes.lines.push("`gateway.stop_grace`".to_owned());
        }
        let have_same_limits = desired.callers == config.callers;
        if !have_same_limits {
            desired.callers = config.callers;
            changes.lines.push("`callers`".to_owned());
        }
        if !have_same_limits || !have_same_roles {
            self.deps.limiter.set_caller_limits(desired.callers, desired.roles.clone());
        }
        if desired.watch != config.watch {
            desired.watch = config.watch;
            changes.lines.push("file watching".to_owned());
        }
    }

    /// Adds a new plugin, or one that the operator hasn't approved yet. `logged` is the last log message about the
    /// latter.
    fn add_plugin(
        &mut self,
        config: &Arc<PluginConfig>,
        policy: WiderGrantsPolicy,
        logged: Logged,
        now: Instant,
        changes: &mut ConfigChanges,
    ) -> ManagedPlugin {
        let serial = self.next_serial();
        match judge(None, config, policy) {
            ConfigVerdict::Apply => {
                changes.lines.push(format!("`{}` added", config.id));
                changes.add_grants(None, config);
                ManagedPlugin::new(serial, Arc::clone(config), now)
            }
            ConfigVerdict::Hold(grants) => {
                let mut plugin = ManagedPlugin::waiting_for_approval(serial, Arc::clone(config), grants);
                plugin.logged.waiting = logged.waiting;
                plugin
            }
        }
    }

    fn change_plugin(
        &mut self,
        mut plugin: ManagedPlugin,
        config: &Arc<PluginConfig>,
        policy: WiderGrantsPolicy,
        now: Instant,
        changes: &mut ConfigChanges,
    ) -> ManagedPlugin {
        let before = Arc::clone(plugin.config());
        match judge(Some(&before), config, policy) {
            ConfigVerdict::Apply => {
                match plugin.set_config(config, now) {
                    ConfigEffect::None => return plugin,
                    ConfigEffect::Changed => {}
                    ConfigEffect::ActiveChanged { earlier, grants } => {
                        let delay = retire_delay(&before, Some(config));
                        plugin.add_earlier_code(&earlier.code);
                        match grants {
                            // Earlier code also has the revoked grants, and multi-round calls may still use it.
                            GrantChange::Narrower => {
                                let earlier = plugin.earlier_code();
                                self.retired.extend(earlier.map(|code| RetiredCode { code, delay }));
                                changes.publish_now = true;
                            }
                            GrantChange::SameOrWider => {
                                self.retired.push(RetiredCode { code: earlier.code, delay });
                            }
                        }
                        self.mark_ready();
                    }
                }
                changes.lines.push(format!("`{}` changed", config.id));
                changes.add_grants(Some(&before), config);
            }
            ConfigVerdict::Hold(grants) => {
                plugin.hold_config(WaitingConfig { config: Arc::clone(config), grants }, now);
            }
        }
        plugin
    }

    fn remove_plugin(&mut self, plugin: ManagedPlugin, changes: &mut ConfigChanges) {
        changes.lines.push(describe_removal(plugin.id(), plugin.active_loaded()));
        if let Some(active) = plugin.active_loaded() {
            let (plugin, before) = (plugin.id(), Some(active.digest()));
            self.deps.observer.changed(&SupervisorChange::Code { plugin, before, after: None });
        }
        changes.publish_now = true;
        self.list_refreshes.forget(plugin.id());
        let delay = retire_delay(plugin.config(), None);
        self.retired.extend(plugin.earlier_code().map(|code| RetiredCode { code, delay }));
        let loaded = plugin.into_loaded().into_iter();
        self.retired.extend(loaded.map(|loaded| RetiredCode { code: loaded.code, delay }));
    }

    fn report_changes(&mut self, digest: Digest, changes: ConfigChanges, read: ReadRequest, now: Instant) {
        let ConfigChanges { lines, needs_restart, waiting, grants, publish_now: _ } = changes;
        let observer = Arc::clone(&self.deps.observer);
        if !waiting.is_empty() {
            observer.changed(&SupervisorChange::ConfigurationWaits(&waiting));
        }
        let was_rejected = self.desired.rejected.take().is_some();
        if lines.is_empty() && needs_restart.is_empty() && !was_rejected {
            self.report.counts.unchanged += u64::from(read.request.is_none());
            return;
        }
        self.desired.since = SystemTime::now();
        self.report.counts.configured += 1;
        observer.changed(&SupervisorChange::ConfigurationApplied {
            digest,
            lines: &lines,
            needs_restart: &needs_restart,
        });
        let lines = lines.join(", ");
        let restart = format!("needs a restart: {}", needs_restart.join(", "));
        let line = match (lines.is_empty(), needs_restart.is_empty()) {
            (true, true) => "configuration applied: same as before".to_owned(),
            (true, false) => format!("configuration read: {restart}"),
            (false, true) => format!("configuration applied: {lines}"),
            (false, false) => format!("configuration applied: {lines}; {restart}"),
        };
        tracing::info!("{line}");
        self.report.add_change(None, now - read.detected, line);
        for PluginGrants { plugin, granted, revoked, remaining } in grants {
            let (added, removed, remaining) = (&granted[..], &revoked[..], &remaining[..]);
            observer.changed(&SupervisorChange::Grants { plugin: &plugin, added, removed, remaining });
            let line = grants_line(added, removed, remaining);
            tracing::info!(%plugin, "{line}");
            self.report.add_change(Some(&plugin), now - read.detected, line);
        }
    }
}

impl ConfigChanges {
    /// Adds a line about the grants that `config` adds and removes.
    fn add_grants(&mut self, before: Option<&PluginConfig>, config: &PluginConfig) {
        let granted = config.added_grants(before);
        let revoked = before.map(|before| before.added_grants(Some(config))).unwrap_or_default();
        if !granted.is_empty() || !revoked.is_empty() {
            let remaining = before.map(|before| config.narrowed_grants(before)).unwrap_or_default();
            self.grants.push(PluginGrants { plugin: config.id.clone(), granted, revoked, remaining });
        }
    }
}

/// The changes of static tokens, without their values.
fn describe_tokens<'t>(
    before: &'t [BearerToken],
    now: &'t [BearerToken],
) -> impl Iterator<Item = String> + use<'t> {
    let find = |tokens: &'t [BearerToken], name: &str| tokens.iter().find(|token| *token.principal == *name);
    let changed = now.iter().filter_map(move |token| match find(before, &token.principal) {
        None => Some(format!("token `{}` added", token.principal)),
        Some(earlier) if earlier.token != token.token => {
            Some(format!("token `{}` replaced", token.principal))
        }
        Some(_) => None,
    });
    let removed = before.iter().filter(move |token| find(now, &token.principal).is_none());
    changed.chain(removed.map(|token| format!("token `{}` revoked", token.principal)))
}

/// The changes of roles in one line. If only their order is different, it names none.
fn describe_roles(before: Option<&Arc<AccessRoles>>, now: Option<&Arc<AccessRoles>>) -> String {
    let (before, now) =
        (before.map_or(&[][..], |roles| roles.roles()), now.map_or(&[][..], |roles| roles.roles()));
    fn find<'r>(roles: &'r [AccessRole], name: &str) -> Option<&'r AccessRole> {
        roles.iter().find(|role| *role.name == *name)
    }
    let mut changes: Vec<_> = now
        .iter()
        .filter_map(|role| match find(before, &role.name) {
            None => Some(format!("`{}` added", role.name)),
            Some(earlier) if !earlier.is_equivalent_to(role) => Some(format!("`{}` changed", role.name)),
            Some(_) => None,
        })
        .collect();
    let removed = before.iter().filter(|role| find(now, &role.name).is_none());
    changes.extend(removed.map(|role| format!("`{}` removed", role.name)));
    if changes.is_empty() { "`roles`".to_owned() } else { format!("`roles` ({})", changes.join(", ")) }
}

/// Replaces a value. Returns whether it was different.
fn replace_if_different<T: Clone + PartialEq>(current: &mut T, new: &T) -> bool {
    let is_different = current != new;
    current.clone_from(new);
    is_different
}

/// A plugin's granted and revoked permissions in one line.
fn grants_line(granted: &[String], revoked: &[String], remaining: &[String]) -> String {
    let parts = [("newly granted", granted), ("revoked", revoked), ("still granted", remaining)];
    let parts = parts.iter().filter(|(_, grants)| !grants.is_empty());
    parts.map(|(what, grants)| format!("{what}: {}", grants.join(", "))).collect::<Vec<_>>().join("; ")
}

/// A problem in one line, with its place.
fn with_place(problem: &Diagnostic, source: &ConfigSource) -> String {
    let before = problem.span.as_ref().and_then(|place| source.text.get(..place.start));
    match before {
        Some(before) => {
            let line = before.matches('\n').count() + 1;
            format!("{}:{line}: {problem}", source.path.display())
        }
        None => problem.to_string(),
    }
}
