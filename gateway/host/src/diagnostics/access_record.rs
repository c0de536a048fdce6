//! The accesses of a plugin's calls, for operators: used grants, refused accesses and reached limits.
//!
//! It is kept while the plugin is loaded, under all its configurations and versions. Guests choose what they access, so
//! everything here is bounded.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use moongate_config::{Credential, HttpGrant, PluginConfig, StateGrant};
use moongate_model::access_history::{AccessHistory, GrantUse, LastUse, ReachedLimit, RefusedAccess};
use moongate_model::names::PluginId;

/// The maximum number of different refused accesses that are remembered. A guest can try another one each time.
const MAX_REFUSED: usize = 16;

/// The maximum number of used grants that are remembered. Earlier configurations can have granted others, so the one that
/// wasn't used for longest makes room.
const MAX_USED: usize = 1024;

/// The records of all loaded plugins.
#[derive(Debug, Default)]
pub(crate) struct AccessRecords(Mutex<BTreeMap<PluginId, Weak<AccessRecord>>>);

impl AccessRecords {
    /// The record of a plugin. An existing one continues.
    pub(crate) fn of(&self, plugin: &PluginId) -> Arc<AccessRecord> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(record) = all.get(plugin).and_then(Weak::upgrade) {
            return record;
        }
        // Not for each new plugin: a start can add a thousand.
        if all.len().is_power_of_two() {
            all.retain(|_, record| record.strong_count() > 0);
        }
        let record = Arc::default();
        all.insert(plugin.clone(), Arc::downgrade(&record));
        record
    }
}

/// The record of one plugin.
#[derive(Debug, Default)]
pub(crate) struct AccessRecord {
    /// The last use of each grant, in seconds since 1970.
    used: RwLock<HashMap<String, AtomicU64>>,
    /// Newest first.
    refused: Mutex<VecDeque<RefusedAccess>>,
    limited: Mutex<BTreeMap<&'static str, ReachedLimit>>,
}

impl AccessRecord {
    /// A call used a grant, in the words of a grant report.
    pub(crate) fn used(&self, grant: String) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        if let Some(at) = self.used.read().unwrap_or_else(PoisonError::into_inner).get(&grant) {
            at.store(now, Ordering::Relaxed);
            return;
        }
        let mut used = self.used.write().unwrap_or_else(PoisonError::into_inner);
        if used.len() >= MAX_USED {
            let oldest = used.iter().min_by_key(|(_, at)| at.load(Ordering::Relaxed));
            if let Some(oldest) = oldest.map(|(grant, _)| grant.clone()) {
                used.remove(&oldest);
            }
        }
        used.insert(grant, AtomicU64::new(now));
    }

    /// A call was refused an access.
    pub(crate) fn refused(&self, wanted: String, fix: impl FnOnce() -> Option<String>) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let earlier = refused.iter().position(|earlier| earlier.wanted == wanted);
        let (count, fix) = match earlier.and_then(|at| refused.remove(at)) {
            Some(earlier) => (earlier.count, earlier.fix.or_else(fix)),
            None => (0, fix()),
        };
        refused.truncate(MAX_REFUSED - 1);
        refused.push_front(RefusedAccess { wanted, fix, count: count + 1, at: SystemTime::now() });
    }

    /// A call reached a limit and continued.
    pub(crate) fn limited(&self, name: &'static str) {
        let mut limited = self.limited.lock().unwrap_or_else(PoisonError::into_inner);
        let at = SystemTime::now();
        let limit = limited.entry(name).or_insert(ReachedLimit { name, count: 0, at });
        limit.count += 1;
        limit.at = at;
    }

    /// The record, with the grants of this configuration.
    pub(crate) fn history(&self, config: &PluginConfig) -> AccessHistory {
        let used = self.used.read().unwrap_or_else(PoisonError::into_inner);
        let last_use = |key: &str| match used.get(key) {
            Some(at) => LastUse::At(UNIX_EPOCH + Duration::from_secs(at.load(Ordering::Relaxed))),
            None => LastUse::Never,
        };
        let granted = |(kind, grant, key): (&'static str, String, Option<String>)| GrantUse {
            kind,
            grant,
            last_used: key.map_or(LastUse::Unknown, |key| last_use(&key)),
        };
        AccessHistory {
            grants: grants(config).into_iter().map(granted).collect(),
            refused: self.refused.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect(),
            limited: self.limited.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect(),
        }
    }
}

/// The kind and the text of each grant, and the words of its use in a grant report.
fn grants(config: &PluginConfig) -> Vec<(&'static str, String, Option<String>)> {
    let allow = &config.allow;
    let mut all = Vec::new();
    all.extend(allow.dirs.iter().map(|dir| {
        let (guest, mode) = (&dir.guest_path, dir.mode.as_str());
        let host = dir.host_path.to_string_lossy();
        let text =
            if host == *guest { format!("{host} ({mode})") } else { format!("{host} as {guest} ({mode})") };
        ("files", text, Some(format!("dirs {guest} ({mode})")))
    }));
    all.extend(allow.http.iter().map(|grant| {
        ("requests", HttpGrant::describe(grant), Some(format!("http {}", grant.display_pattern)))
    }));
    all.extend(allow.credentials.iter().map(|credential| {
        let key = format!("credentials for {}", credential.origin);
        ("requests", Credential::describe(credential), Some(key))
    }));
    all.extend(allow.client.iter().map(|feature| {
        let feature = feature.as_str();
        ("questions", feature.to_owned(), Some(format!("client {feature}")))
    }));
    let state = match &allow.state {
        StateGrant::NotGranted => None,
        StateGrant::Own => Some(("its own store".to_owned(), "state".to_owned())),
        StateGrant::Shared(name) => Some((format!("the store {name}"), format!("state {name}"))),
    };
    all.extend(state.map(|(text, key)| ("state", text, Some(key))));
    all.extend(allow.env.iter().map(|(name, _)| ("variables", name.clone(), Some(format!("env {name}")))));
    all.extend(config.settings.keys().map(|key| ("settings", key.clone(), Some(format!("config {key}")))));
    if allow.instructions {
        all.push(("instructions", "the server's instructions".to_owned(), None));
    }
    all
}

#[cfg(test)]
mod tests;
