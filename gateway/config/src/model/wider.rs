//! Compares grants with earlier ones, and describes the additional access to the operator.

use std::collections::BTreeSet;
use std::path::Path;

use super::diagnostic::visible;
use super::{Credential, DirGrant, Grants, HttpGrant, PluginConfig, StateGrant};

impl PluginConfig {
    /// The access that this configuration grants and `before` doesn't, one phrase each: grants, and variables and files
    /// that settings are filled from. `None` means that the plugin is new.
    #[must_use]
    pub fn wider_than(&self, before: Option<&Self>) -> Vec<String> {
        self.added_to(before, DirGrant::compared)
    }

    /// The same, without comparing directories with those in `before`. With the arguments swapped, it lists the access
    /// that was removed.
    #[must_use]
    pub fn alone_wider_than(&self, before: Option<&Self>) -> Vec<String> {
        self.added_to(before, |dir, _| dir.described())
    }

    fn added_to(&self, before: Option<&Self>, of_dir: fn(&DirGrant, &[DirGrant]) -> String) -> Vec<String> {
        let nothing = Grants::default();
        let granted = before.map_or(&nothing, |before| &before.allow);
        let mut wider = self.allow.added_to(granted, of_dir);
        let known = |origin: &str| {
            before.is_some_and(|before| before.filled_from.values().any(|origins| origins.contains(origin)))
                || granted.env.iter().any(|(name, _)| origin.strip_prefix("env ") == Some(name))
        };
        let origins: BTreeSet<&String> = self.filled_from.values().flatten().collect();
        let handed_over = origins.into_iter().filter(|origin| !known(origin));
        wider.extend(handed_over.map(|origin| visible(&format!("config from {origin}")).into_owned()));
        wider
    }
}

impl Grants {
    /// The access that these grants allow and `before` doesn't, one phrase each, such as `env LANG`. The value of a
    /// variable isn't part of the grant.
    #[must_use]
    pub fn wider_than(&self, before: &Self) -> Vec<String> {
        self.added_to(before, DirGrant::compared)
    }

    fn added_to(&self, before: &Self, of_dir: fn(&DirGrant, &[DirGrant]) -> String) -> Vec<String> {
        // A new field causes a compile error here, so that it isn't forgotten.
        let Self { dirs, env, client, instructions, http, credentials, state, places: _ } = self;
        let new = dirs.iter().filter(|dir| !dir.is_within(&before.dirs));
        let mut wider: Vec<String> = new.map(|dir| of_dir(dir, &before.dirs)).collect();
        let known = |name: &str| before.env.iter().any(|(other, _)| other == name);
        wider.extend(env.iter().filter(|(name, _)| !known(name)).map(|(name, _)| format!("env {name}")));
        let known = |grant: &HttpGrant| before.http.iter().any(|other| grant.is_within(other));
        let new = http.iter().filter(|grant| !known(grant));
        wider.extend(new.map(|grant| format!("http {}", grant.described())));
        let known = |added: &Credential| before.credentials.iter().any(|other| added.is_within(other));
        let new = credentials.iter().filter(|added| !known(added));
        wider.extend(new.map(Credential::described));
        wider.extend(client.difference(&before.client).map(|feature| format!("client {}", feature.as_str())));
        wider.extend(state.wider_than(&before.state));
        if *instructions && !before.instructions {
            wider.push("instructions".to_owned());
        }
        wider.iter().map(|phrase| visible(phrase).into_owned()).collect()
    }

    /// All access that these grants allow, one phrase each.
    #[must_use]
    pub fn all(&self) -> Vec<String> {
        self.wider_than(&Self::default())
    }
}

impl DirGrant {
    /// Reports whether one of `others` allows everything that this grant allows.
    fn is_within(&self, others: &[Self]) -> bool {
        let Self { place: _, host, named: _, guest: _, mode } = self;
        others.iter().any(|other| host.starts_with(&other.host) && mode.is_within(other.mode))
    }

    fn described(&self) -> String {
        let Self { place: _, host, named: _, guest, mode } = self;
        format!("dirs {guest} = {} ({})", shown(host), mode.as_str())
    }

    /// A phrase for this grant, compared with the earlier grant at the same path.
    fn compared(&self, before: &[Self]) -> String {
        let Self { place: _, host, named: _, guest, mode } = self;
        let here = shown(host);
        let same_path = before.iter().find(|other| other.guest == *guest);
        match same_path {
            Some(other) if other.host == *host => {
                format!("dirs {guest} = {here}: {} instead of {}", mode.as_str(), other.mode.as_str())
            }
            Some(other) => format!(
                "dirs {guest} = {here} ({}) instead of {} ({})",
                mode.as_str(),
                shown(&other.host),
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
            Self::Refused => None,
            Self::Own => Some("state".to_owned()),
            Self::Shared(name) => Some(format!("state {name}")),
        }
    }
}

#[cfg(test)]
mod tests;
