//! Compares the grants of a plugin with the imports of its component.

use std::ops::Range;
use std::path::Path;

use super::{ClientFeature, Diagnostic, DirGrant, HttpGrant, PluginConfig, StateGrant};
use moongate_model::manifest::{GuestCapability, Interfaces, PluginInfo};

/// One capability, with its grants and whether the component requests it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeedMatch {
    /// The capability.
    pub need: GuestCapability,
    /// Its grants, as written in the file.
    pub granted: Vec<String>,
    /// The evidence that the component requests it.
    pub requested: Requested,
}

/// The evidence that a component requests a capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requested {
    /// Its imports request it.
    Yes,
    /// Its imports request it, but they may come from the standard library of its language.
    Maybe,
    /// Its imports don't request it.
    No,
}

impl PluginConfig {
    /// Compares the imports of a component with the grants, capability by capability. Capabilities that are neither
    /// requested nor granted are omitted.
    #[must_use]
    pub fn compare_with_imports(&self, interfaces: &Interfaces) -> Vec<NeedMatch> {
        let matched = |need: GuestCapability| {
            let asked = match (interfaces.capabilities.contains(&need), need.is_deliberate()) {
                (true, true) => Requested::Yes,
                (true, false) => Requested::Maybe,
                (false, _) => Requested::No,
            };
            let granted = self.granted(need);
            (asked != Requested::No || !granted.is_empty()).then_some(NeedMatch {
                need,
                granted,
                requested: asked,
            })
        };
        GuestCapability::ALL.into_iter().filter_map(matched).collect()
    }

    /// The grants of a capability, one phrase each.
    fn granted(&self, need: GuestCapability) -> Vec<String> {
        let allow = &self.allow;
        match need {
            GuestCapability::Files => {
                let phrase = |dir: &DirGrant| {
                    format!("{} = {} ({})", dir.guest_path, dir.host_path.display(), dir.mode.as_str())
                };
                allow.dirs.iter().map(phrase).collect()
            }
            GuestCapability::Http => allow.http.iter().map(HttpGrant::describe).collect(),
            GuestCapability::State => match &allow.state {
                StateGrant::NotGranted => Vec::new(),
                StateGrant::Own => vec![format!("its own store{}", allow.state_scope.described())],
                StateGrant::Shared(name) => {
                    vec![format!("the store {name}{}", allow.state_scope.described())]
                }
            },
            GuestCapability::Variables => allow.env.iter().map(|(name, _)| name.clone()).collect(),
            GuestCapability::Settings => self.settings.keys().map(|key| self.setting(key)).collect(),
            GuestCapability::Client => {
                allow.client.iter().copied().map(ClientFeature::as_str).map(str::to_owned).collect()
            }
        }
    }

    /// A setting, and the variables and files that its value comes from.
    fn setting(&self, key: &str) -> String {
        match self.setting_origins.get(key) {
            None => key.to_owned(),
            Some(origins) => {
                let origins: Vec<&str> = origins.iter().map(String::as_str).collect();
                format!("{key} (from {})", origins.join(", "))
            }
        }
    }

    /// Warnings about grants that the component can't use, and about imports that aren't granted. `state` is the
    /// directory for state, if it outlives the gateway.
    #[must_use]
    pub fn grant_warnings(
        &self,
        interfaces: &Interfaces,
        info: &PluginInfo,
        state: Option<&Path>,
    ) -> Vec<Diagnostic> {
        let matches = self.compare_with_imports(interfaces);
        let grant_mismatches = matches.iter().filter_map(|found| self.grant_warning(found));
        grant_mismatches
            .chain(self.unused_instructions(info))
            .chain(self.lost_state(&matches, state))
            .collect()
    }

    fn grant_warning(&self, NeedMatch { need, granted, requested: asked }: &NeedMatch) -> Option<Diagnostic> {
        let id = &self.id;
        let place = match need {
            GuestCapability::Files => self.allow.dirs.first().map(|dir| dir.span.clone()),
            GuestCapability::Http => self.allow.http.first().map(|grant| grant.span.clone()),
            GuestCapability::State
            | GuestCapability::Variables
            | GuestCapability::Settings
            | GuestCapability::Client => self.allow.spans.get(need.config_key()).cloned(),
        };
        let place = place.unwrap_or_else(|| self.span.clone());
        let key = need.config_key();
        let verb = need.verb_phrase();
        match asked {
            Requested::No if !granted.is_empty() => {
                let what = match need {
                    GuestCapability::Settings => format!("has settings (`{key}`) but doesn't read any"),
                    _ => format!("is granted `{key}` but can't {verb}: none of its imports needs the grant"),
                };
                let problem = Diagnostic::warning(format!("the plugin `{id}` {what}")).with_span(place);
                Some(
                    problem
                        .with_hint(format!("remove `{key}`, or a later version of the plugin gets it too")),
                )
            }
            // A plugin without settings uses its own defaults.
            Requested::Yes if granted.is_empty() && *need != GuestCapability::Settings => {
                let message = format!("the plugin `{id}` was built to {verb}, which isn't granted");
                let hint = format!(
                    "to allow it, add a line such as `{}` to `[plugins.{id}.allow]`",
                    need.example_line()
                );
                Some(Diagnostic::warning(message).with_span(self.span.clone()).with_hint(hint))
            }
            Requested::Yes | Requested::Maybe | Requested::No => None,
        }
    }

    fn unused_instructions(&self, info: &PluginInfo) -> Option<Diagnostic> {
        if !self.allow.instructions
            || info.instructions.as_deref().is_some_and(|text| !text.trim().is_empty())
        {
            return None;
        }
        let message = format!("the plugin `{}` is granted `instructions` but has none", self.id);
        Some(
            Diagnostic::warning(message)
                .with_span(self.grant_place("instructions"))
                .with_hint("remove `instructions`, or a later version of the plugin can instruct the model"),
        )
    }

    fn lost_state(&self, matches: &[NeedMatch], state: Option<&Path>) -> Option<Diagnostic> {
        let keeps = |found: &NeedMatch| {
            found.need == GuestCapability::State
                && found.requested != Requested::No
                && !found.granted.is_empty()
        };
        if state.is_some() || !matches.iter().any(keeps) {
            return None;
        }
        let message = format!("the state of the plugin `{}` is lost when the gateway stops", self.id);
        let hint = "to keep it in a directory, add `state = \"state\"` to `[gateway]`";
        Some(
            Diagnostic::warning(message)
                .with_span(self.grant_place("state"))
                .with_label("kept in memory only")
                .with_hint(hint),
        )
    }

    /// The location of a key of `allow`.
    fn grant_place(&self, key: &str) -> Range<usize> {
        self.allow.spans.get(key).unwrap_or(&self.span).clone()
    }
}

#[cfg(test)]
mod tests;
