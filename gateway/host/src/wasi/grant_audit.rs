//! The audit of how calls use their grants.
//!
//! Each missing grant and each exceeded limit is logged once for the operator, with the line of `gateway.toml` that
//! changes it. If a call has a [`GrantReport`], every grant that it used or was missing is also noted, for `--explain`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use moongate_config::PluginConfig;
use moongate_model::call::{GrantEvent, GrantFix, GrantReport, OPERATOR_CAN_ALLOW};
use moongate_model::names::PluginId;

use crate::diagnostics::access_record::AccessRecord;
use crate::diagnostics::log_once::{FirstTime, LogOnce};
use crate::diagnostics::text::{self, display_path};
use crate::wasi::preopens::DirectoryError;

/// The log target of missing grants. It has its own filter: a plugin without a configuration has no grants at all, so
/// only its exceeded limits are worth logging.
const GRANTS_TARGET: &str = "moongate::grants";

/// The log target of granted directories that can't be opened. `check` reports them itself.
const DIRECTORIES_TARGET: &str = "moongate::directories";

/// The warnings that were logged for a plugin under one configuration.
#[derive(Debug, Default)]
pub(crate) struct LoggedWarnings {
    /// By the requested access, which can differ each time.
    missing_grants: LogOnce<String>,
    /// By the limit's name. Separate from the missing grants, so that these can't crowd out the limits.
    limits: LogOnce<&'static str>,
    /// The granted directories that couldn't be opened at the last attempt, by their path on this machine. `None` stands
    /// for all of them.
    unavailable_directories: Mutex<BTreeSet<Option<PathBuf>>>,
    /// The plugin's accesses under all its configurations, for operators.
    access: Arc<AccessRecord>,
}

impl LoggedWarnings {
    /// Nothing was logged yet.
    pub(crate) fn new(access: Arc<AccessRecord>) -> Self {
        Self { access, ..Self::default() }
    }

    /// Nothing was logged yet for another configuration of the same plugin.
    pub(crate) fn renewed(&self) -> Self {
        Self::new(Arc::clone(&self.access))
    }

    /// The accesses of the plugin's calls.
    pub(crate) fn access(&self) -> &AccessRecord {
        &self.access
    }

    /// Records an access that the gateway checked outside the sandbox.
    pub(crate) fn note_access(&self, config: &PluginConfig, event: &GrantEvent) {
        match event {
            GrantEvent::Used(grant) => self.access.used(grant.clone()),
            GrantEvent::Missing { wanted, fix } => self.access.refused(wanted.clone(), || {
                let change = GrantedLists::of(config).change(fix.as_ref()?);
                Some(format!("{change} `[plugins.{}.allow]`", config.id))
            }),
            // Only the sandbox has limits.
            GrantEvent::Limited { .. } => {}
        }
    }

    /// Logs each granted directory when it can't be opened for the first time, and when it can be opened again.
    pub(crate) fn log_directories<'e>(
        &self,
        plugin: &PluginId,
        unavailable: impl IntoIterator<Item = &'e DirectoryError>,
        effect: DirectoryEffect,
    ) {
        let mut logged = self.unavailable_directories.lock().unwrap_or_else(PoisonError::into_inner);
        let mut now = BTreeSet::new();
        for error in unavailable {
            let host = error.host().map(Path::to_owned);
            if !logged.contains(&host) {
                let hint = error.hint(None);
                match effect {
                    DirectoryEffect::LeftOut => tracing::warn!(
                        target: DIRECTORIES_TARGET,
                        %plugin,
                        "{error}; calls to `{plugin}` continue without it (hint: {hint})"
                    ),
                    DirectoryEffect::CallsFail => tracing::error!(
                        target: DIRECTORIES_TARGET,
                        %plugin,
                        "{error}; calls to `{plugin}` fail until it can be opened (hint: {hint})"
                    ),
                }
            }
            now.insert(host);
        }
        if effect == DirectoryEffect::CallsFail {
            // The call ended at the first directory that couldn't be opened, so the state of the others isn't known.
            logged.extend(now);
            return;
        }
        for host in logged.difference(&now).flatten() {
            tracing::info!(%plugin, "the granted directory `{}` is available again", display_path(host));
        }
        *logged = now;
    }

    /// The granted directories that couldn't be opened at the last attempt, as far as they are known.
    pub(crate) fn unavailable_directories(&self) -> Vec<PathBuf> {
        let logged = self.unavailable_directories.lock().unwrap_or_else(PoisonError::into_inner);
        logged.iter().flatten().cloned().collect()
    }
}

/// The effect of a granted directory that can't be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DirectoryEffect {
    /// Calls use the others.
    LeftOut,
    /// Calls fail.
    CallsFail,
}

/// The audit of one call. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct GrantAudit {
    plugin: PluginId,
    grant_report: Option<Arc<GrantReport>>,
    logged: Arc<LoggedWarnings>,
    caller_note: Arc<Mutex<Option<CallerNote>>>,
    /// The granted directories that can't be opened, as the guest knows them.
    unavailable_directories: Arc<[String]>,
    granted_lists: GrantedLists,
}

/// The lists of the plugin's `allow` table that have entries. A missing grant is another entry of such a list.
#[derive(Debug, Clone, Copy, Default)]
struct GrantedLists {
    dirs: bool,
    http: bool,
    client: bool,
}

/// A note for the caller about the call's first missing grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallerNote {
    pub(crate) text: String,
    /// The requested access. A guest that already names it needs no note.
    pub(crate) wanted: Option<String>,
}

/// Access that a call requested and that isn't granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MissingGrant {
    /// A noun, such as `GET https://example.com`, or an infinitive with `to`.
    pub(crate) wanted: String,
    /// `None` if it can't be granted, or isn't suggested because it would make a system directory writable.
    pub(crate) fix: Option<GrantFix>,
}

impl MissingGrant {
    fn wanted(&self) -> String {
        text::clean_line(&self.wanted, text::MAX_SENTENCE_BYTES)
    }

    /// The fix, if it can be shown unchanged: a line that was truncated or cleaned would grant something else, or break
    /// the file.
    fn shown_fix(&self) -> Option<GrantFix> {
        self.fix.clone().filter(|fix| is_unchanged_by_cleaning(&moongate_config::grant_line(fix)))
    }
}

fn is_unchanged_by_cleaning(line: &str) -> bool {
    line == text::clean_line(line, text::MAX_SENTENCE_BYTES)
}

/// The predicate of a sentence whose subject is the plugin.
fn denied(wanted: &str) -> String {
    match wanted.strip_prefix("to ") {
        Some(action) => format!("was not allowed to {action}"),
        None => format!("was denied {wanted}"),
    }
}

impl GrantedLists {
    fn of(config: &PluginConfig) -> Self {
        let allow = &config.allow;
        Self { dirs: !allow.dirs.is_empty(), http: !allow.http.is_empty(), client: !allow.client.is_empty() }
    }

    /// The change that a fix makes in a table: a phrase that continues with the table's name. A key can't be repeated, so
    /// an existing list gets the entry.
    fn change(self, fix: &GrantFix) -> String {
        let line = moongate_config::grant_line(fix);
        let list = line.split_once(" = [").and_then(|(key, rest)| Some((key, rest.strip_suffix(']')?)));
        match (list, fix) {
            (Some(("dirs", entry)), GrantFix::ChangeDirectory { .. }) if self.dirs => {
                format!("replace the directory's entry in `dirs` with `{entry}` in")
            }
            (Some(("dirs", entry)), _) if self.dirs => format!("add `{entry}` to `dirs` in"),
            (Some(("http", entry)), _) if self.http => format!("add `{entry}` to `http` in"),
            (Some(("client", entry)), _) if self.client => format!("add `{entry}` to `client` in"),
            (Some(_) | None, _) => format!("add `{line}` to"),
        }
    }
}

impl GrantAudit {
    pub(crate) fn new(
        plugin: PluginId,
        grant_report: Option<Arc<GrantReport>>,
        logged: Arc<LoggedWarnings>,
    ) -> Self {
        Self {
            plugin,
            grant_report,
            logged,
            caller_note: Arc::default(),
            unavailable_directories: Arc::default(),
            granted_lists: GrantedLists::default(),
        }
    }

    /// The same audit for a plugin with these grants.
    pub(crate) fn with_grants_of(self, config: &PluginConfig) -> Self {
        Self { granted_lists: GrantedLists::of(config), ..self }
    }

    /// The same audit for a call without some of its granted directories.
    pub(crate) fn without_directories(self, unavailable: Arc<[String]>) -> Self {
        Self { unavailable_directories: unavailable, ..self }
    }

    /// The same audit without a call, for an idle instance.
    pub(crate) fn without_call(&self) -> Self {
        Self {
            grant_report: None,
            caller_note: Arc::default(),
            unavailable_directories: Arc::default(),
            ..self.clone()
        }
    }

    /// Notes that a grant was used.
    pub(crate) fn note_used(&self, grant: impl FnOnce() -> String) {
        let grant = grant();
        if let Some(grant_report) = &self.grant_report {
            grant_report.record(GrantEvent::Used(text::clean_line(&grant, text::MAX_SENTENCE_BYTES)));
        }
        self.logged.access.used(grant);
    }

    /// Reports that a call exceeded a limit and continued. `key` is the limit's key; `did` follows "plugin `x`".
    pub(crate) fn report_limit(&self, key: &'static str, did: &str) {
        self.note_limit(Some(key), did);
        self.logged.access.limited(key);
        let plugin = &self.plugin;
        if self.logged.limits.insert(key) == FirstTime::Yes {
            tracing::warn!(
                %plugin,
                "plugin `{plugin}` {did}; to allow more, raise `{key}` in `[plugins.{plugin}.limits]`"
            );
        }
    }

    /// The same for a limit without a key. `name` identifies it, and `reason` explains it.
    pub(crate) fn report_derived_limit(&self, name: &'static str, did: &str, reason: &str) {
        self.note_limit(None, did);
        self.logged.access.limited(name);
        let plugin = &self.plugin;
        if self.logged.limits.insert(name) == FirstTime::Yes {
            tracing::warn!(%plugin, "plugin `{plugin}` {did}; {reason}");
        }
    }

    fn note_limit(&self, key: Option<&'static str>, did: &str) {
        if let Some(grant_report) = &self.grant_report {
            grant_report
                .record(GrantEvent::Limited { key, what: text::clean_line(did, text::MAX_SENTENCE_BYTES) });
        }
    }

    /// Reports a missing grant.
    pub(crate) fn report_missing(&self, missing: &MissingGrant) {
        self.log_missing(missing);
        self.note_missing(missing);
    }

    /// Reports a missing grant to the caller as well, if the call fails. The caller doesn't learn the line that grants
    /// it: a model that can edit files could add it.
    pub(crate) fn report_missing_to_caller(&self, missing: &MissingGrant) {
        let plugin = &self.plugin;
        let wanted = missing.wanted();
        let text = format!("plugin `{plugin}` {}; {OPERATOR_CAN_ALLOW}", denied(&wanted));
        let mut note = self.caller_note.lock().unwrap_or_else(PoisonError::into_inner);
        // A guest doesn't know the remark in parentheses.
        let wanted = wanted.split(" (").next().map(str::to_owned);
        note.get_or_insert(CallerNote { text, wanted });
        drop(note);
        self.report_missing(missing);
    }

    /// Reports to the caller of a failed call which granted directories can't be opened. The log already shows them.
    /// False if there are none.
    pub(crate) fn note_unavailable_directories(&self) -> bool {
        let names: Vec<_> = self.unavailable_directories.iter().map(|guest| format!("`{guest}`")).collect();
        let text = match &names[..] {
            [] => return false,
            [name] => format!("the granted directory {name} can't be opened"),
            names => format!("the granted directories {} can't be opened", names.join(", ")),
        };
        let mut note = self.caller_note.lock().unwrap_or_else(PoisonError::into_inner);
        note.get_or_insert(CallerNote { text, wanted: None });
        true
    }

    /// Notes a grant that may have been missing. It is created only if the call has a grant report, and isn't logged.
    pub(crate) fn note_possibly_missing(&self, missing: impl FnOnce() -> MissingGrant) {
        if self.grant_report.is_some() {
            self.note_missing(&missing());
        }
    }

    /// The note for the caller of a failed call.
    pub(crate) fn caller_note(&self) -> Option<CallerNote> {
        self.caller_note.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note_missing(&self, missing: &MissingGrant) {
        if let Some(grant_report) = &self.grant_report {
            grant_report.record(GrantEvent::Missing { wanted: missing.wanted(), fix: missing.shown_fix() });
        }
    }

    fn log_missing(&self, missing: &MissingGrant) {
        let plugin = &self.plugin;
        let denied = denied(&missing.wanted());
        self.logged.access.refused(missing.wanted(), || {
            let change = self.granted_lists.change(&missing.shown_fix()?);
            Some(format!("{change} `[plugins.{plugin}.allow]`"))
        });
        match self.logged.missing_grants.insert(missing.wanted()) {
            FirstTime::No => {}
            FirstTime::LimitReached => tracing::warn!(
                target: GRANTS_TARGET,
                %plugin,
                "plugin `{plugin}` is missing more grants, which aren't logged; to see a call's missing grants, run \
                 `moongate call --explain`"
            ),
            FirstTime::Yes => match (missing.shown_fix(), &missing.fix) {
                (Some(fix), _) => {
                    let change = self.granted_lists.change(&fix);
                    tracing::warn!(
                        target: GRANTS_TARGET,
                        %plugin,
                        "plugin `{plugin}` {denied}; to allow it, {change} `[plugins.{plugin}.allow]`"
                    );
                }
                (None, Some(_)) => tracing::warn!(
                    target: GRANTS_TARGET,
                    %plugin,
                    "plugin `{plugin}` {denied}; the line that allows it is too long to show"
                ),
                (None, None) => tracing::warn!(
                    target: GRANTS_TARGET,
                    %plugin,
                    "plugin `{plugin}` {denied}; no line is suggested that allows it"
                ),
            },
        }
    }
}

#[cfg(test)]
mod tests;
