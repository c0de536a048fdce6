//! Compares grants with earlier ones, and describes the additional access to the operator.

use std::collections::BTreeSet;
use std::path::Path;

use super::diagnostic::visible;
use super::{Credential, DirGrant, Grants, HttpGrant, PluginConfig, StateGrant, StateScope};

impl PluginConfig {
    /// The access that this configuration grants and `before` doesn't, one phrase each: grants, and variables and files
    /// that settings are filled from. `None` means that the plugin is new.
    #[must_use]
    pub fn widened_grants(&self, before: Option<&Self>) -> Vec<String> {
        self.added_to(before, DirGrant::compared)
    }

    /// The same, without comparing directories with those in `before`. With the arguments swapped, it lists the access
    /// that was removed.
    #[must_use]
    pub fn added_grants(&self, before: Option<&Self>) -> Vec<String> {
        self.added_to(before, |dir, _| dir.described())
    }

    /// The rest of the grants in `before` that were narrowed, such as `dirs … (ro)` of `dirs … (rw)`.
    #[must_use]
    pub fn narrowed_grants(&self, before: &Self) -> Vec<String> {
        let all = |config: &Self| config.allow.added_to(&Grants::default(), |dir, _| dir.described());
        let (earlier, added) = (all(before), self.added_grants(Some(before)));
        let mut narrowed = all(self);
        narrowed.retain(|grant| !earlier.contains(grant) && !added.contains(grant));
        narrowed
    }

    fn added_to(&self, before: Option<&Self>, of_dir: fn(&DirGrant, &[DirGrant]) -> String) -> Vec<String> {
        let nothing = Grants::default();
        let granted = before.map_or(&nothing, |before| &before.allow);
        let mut wider = self.allow.added_to(granted, of_dir);
        let known = |origin: &str| {
            before
                .is_some_and(|before| before.setting_origins.values().any(|origins| origins.contains(origin)))
                || granted.env.iter().any(|(name, _)| origin.strip_prefix("env ") == Some(name))
        };
        let origins: BTreeSet<&String> = self.setting_origins.values().flatten().collect();
        let handed_over = origins.into_iter().filter(|origin| !known(origin));
        wider.extend(handed_over.map(|origin| visible(&format!("config from {origin}")).into_owned()));
        wider
    }
}

impl Grants {
    /// The access that these grants allow and `before` doesn't, one phrase each, such as `env LANG`. The value of a
    /// variable isn't part of the grant.
    #[must_use]
    pub fn widened_grants(&self, before: &Self) -> Vec<String> {
        self.added_to(before, DirGrant::compared)
    }

    fn added_to(&self, before: &Self, of_dir: fn(&DirGrant, &[DirGrant]) -> String) -> Vec<String> {
        // A new field causes a compile error here, so that it isn't forgotten.
        let Self { dirs, env, client, instructions, http, credentials, state, state_scope, spans: _ } = self;
        let new = dirs.iter().filter(|dir| !dir.is_within(&before.dirs));
        let mut wider: Vec<String> = new.map(|dir| of_dir(dir, &before.dirs)).collect();
        let known = |name: &str| before.env.iter().any(|(other, _)| other == name);
        wider.extend(env.iter().filter(|(name, _)| !known(name)).map(|(name, _)| format!("env {name}")));
        let known = |grant: &HttpGrant| before.http.iter().any(|other| grant.is_covered_by(other));
        let new = http.iter().filter(|grant| !known(grant));
        wider.extend(new.map(|grant| format!("http {}", grant.describe())));
        let known = |added: &Credential| before.credentials.iter().any(|other| added.is_covered_by(other));
        let new = credentials.iter().filter(|added| !known(added));
        wider.extend(new.map(Credential::describe));
        wider.extend(client.difference(&before.client).map(|feature| format!("client {}", feature.as_str())));
        wider.extend(state.wider_than(&before.state).or_else(|| {
            let is_shared = *state_scope == StateScope::Plugin && before.state_scope == StateScope::Caller;
            (*state != StateGrant::NotGranted && is_shared).then(|| "state shared by all callers".to_owned())
        }));
        if *instructions && !before.instructions {
            wider.push("instructions".to_owned());
        }
        wider.iter().map(|phrase| visible(phrase).into_owned()).collect()
    }

    /// All access that these grants allow, one phrase each.
    #[must_use]
    pub fn describe_all(&self) -> Vec<String> {
        self.widened_grants(&Self::default())
    }
}

impl DirGrant {
    /// Reports whether one of `others` allows everything that this grant allows.
    fn is_within(&self, others: &[Self]) -> bool {
        let Self { host_path: host, mode, span: _, unresolved_host_path: _, guest_path: _, allows_system: _ } =
            self;
        others.iter().any(|other| host.starts_with(&other.host_path) && mode.is_covered_by(other.mode))
    }

    fn described(&self) -> String {
        let Self {
            host_path: host,
            guest_path: guest,
            mode,
            span: _,
            unresolved_host_path: _,
            allows_system: _,
        } = self;
        format!("dirs {guest} = {} ({})", shown(host), mode.as_str())
    }

    /// A phrase for this grant, compared with the earlier grant at the same path.
    fn compared(&self, before: &[Self]) -> String {
        let Self {
            host_path: host,
            guest_path: guest,
            mode,
            span: _,
            unresolved_host_path: _,
            allows_system: _,
        } = self;
        let here = shown(host);
        let same_path = before.iter().find(|other| other.guest_path == *guest);
        match same_path {
            Some(other) if other.host_path == *host => {
                format!("dirs {guest} = {here}: {} instead of {}", mode.as_str(), other.mode.as_str())
            }
            Some(other) => format!(
                "dirs {guest} = {here} ({}) instead of {} ({})",
                mode.as_str(),
                shown(&other.host_path),
                other.mode.as_str()
            ),
            None => self.described(),
        }
    }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

impl StateGrant {
    /// A different store is a different grant: it can contain state of other plugins.
    fn wider_than(&self, before: &Self) -> Option<String> {
        if self == before {
            return None;
        }
        match self {
            Self::NotGranted => None,
            Self::Own => Some("state".to_owned()),
            Self::Shared(name) => Some(format!("state {name}")),
        }
    }
}

#[cfg(test)]
mod tests;
