//! Compares the grants of a plugin with the imports of its component.

use std::ops::Range;
use std::path::Path;

use super::{ClientFeature, DirGrant, HttpGrant, PluginConfig, Problem, StateGrant};
use moongate_model::manifest::{Interfaces, Need, PluginInfo};

/// One capability, with its grants and whether the component requests it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The capability.
    pub need: Need,
    /// Its grants, as written in the file.
    pub granted: Vec<String>,
    /// Whether the component requests it.
    pub asked: Asked,
}

/// The evidence that a component requests a capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
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
    pub fn against(&self, interfaces: &Interfaces) -> Vec<Match> {
        let matched = |need: Need| {
            let asked = match (interfaces.needs.contains(&need), need.is_deliberate()) {
                (true, true) => Asked::Yes,
                (true, false) => Asked::Maybe,
                (false, _) => Asked::No,
            };
            let granted = self.granted(need);
            (asked != Asked::No || !granted.is_empty()).then_some(Match { need, granted, asked })
        };
        Need::ALL.into_iter().filter_map(matched).collect()
    }

    /// The grants of a capability, one phrase each.
    fn granted(&self, need: Need) -> Vec<String> {
        let allow = &self.allow;
        match need {
            Need::Files => {
                let phrase = |dir: &DirGrant| {
                    format!("{} = {} ({})", dir.guest, dir.host.display(), dir.mode.as_str())
                };
                allow.dirs.iter().map(phrase).collect()
            }
            Need::Http => allow.http.iter().map(HttpGrant::described).collect(),
            Need::State => match &allow.state {
                StateGrant::Refused => Vec::new(),
                StateGrant::Own => vec!["its own store".to_owned()],
                StateGrant::Shared(name) => vec![format!("the store {name}")],
            },
            Need::Variables => allow.env.iter().map(|(name, _)| name.clone()).collect(),
            Need::Settings => self.config.keys().map(|key| self.setting(key)).collect(),
            Need::Client => {
                allow.client.iter().copied().map(ClientFeature::as_str).map(str::to_owned).collect()
            }
        }
    }

    /// A setting, and the variables and files that its value comes from.
    fn setting(&self, key: &str) -> String {
        match self.filled_from.get(key) {
            None => key.to_owned(),
            Some(origins) => {
                let origins: Vec<&str> = origins.iter().map(String::as_str).collect();
                format!("{key} (from {})", origins.join(", "))
            }
        }
    }

    /// Warnings about grants that the component can't use, and about imports that aren't granted. `state` is the
    /// directory for state, if there is one.
    #[must_use]
    pub fn misfits(&self, interfaces: &Interfaces, info: &PluginInfo, state: Option<&Path>) -> Vec<Problem> {
        let matches = self.against(interfaces);
        let misfits = matches.iter().filter_map(|found| self.misfit(found));
        misfits.chain(self.unused_instructions(info)).chain(self.lost_state(&matches, state)).collect()
    }

    fn misfit(&self, Match { need, granted, asked }: &Match) -> Option<Problem> {
        let id = &self.id;
        let place = match need {
            Need::Files => self.allow.dirs.first().map(|dir| dir.place.clone()),
            Need::Http => self.allow.http.first().map(|grant| grant.place.clone()),
            Need::State | Need::Variables | Need::Settings | Need::Client => {
                self.allow.places.get(need.key()).cloned()
            }
        };
        let place = place.unwrap_or_else(|| self.place.clone());
        let (key, verb) = (need.key(), need.verb());
        match asked {
            Asked::No if !granted.is_empty() => {
                let what = match need {
                    Need::Settings => format!("has settings (`{key}`) but doesn't read any"),
                    _ => format!("is granted `{key}` but can't {verb}: none of its imports needs the grant"),
                };
                let problem = Problem::warning(format!("the plugin `{id}` {what}")).at(place);
                Some(problem.hint(format!("remove `{key}`, or a later version of the plugin gets it too")))
            }
            // A plugin without settings uses its own defaults.
            Asked::Yes if granted.is_empty() && *need != Need::Settings => {
                let message = format!("the plugin `{id}` was built to {verb}, which isn't granted");
                let hint =
                    format!("to allow it, add a line such as `{}` to `[plugins.{id}.allow]`", need.example());
                Some(Problem::warning(message).at(self.place.clone()).hint(hint))
            }
            Asked::Yes | Asked::Maybe | Asked::No => None,
        }
    }

    fn unused_instructions(&self, info: &PluginInfo) -> Option<Problem> {
        if !self.allow.instructions
            || info.instructions.as_deref().is_some_and(|text| !text.trim().is_empty())
        {
            return None;
        }
        let message = format!("the plugin `{}` is granted `instructions` but has none", self.id);
        Some(
            Problem::warning(message)
                .at(self.grant_place("instructions"))
                .hint("remove `instructions`, or a later version of the plugin can instruct the model"),
        )
    }

    fn lost_state(&self, matches: &[Match], state: Option<&Path>) -> Option<Problem> {
        let keeps = |found: &Match| {
            found.need == Need::State && found.asked != Asked::No && !found.granted.is_empty()
        };
        if state.is_some() || !matches.iter().any(keeps) {
            return None;
        }
        let message = format!("the state of the plugin `{}` is lost when the gateway stops", self.id);
        let hint = "to keep it in a directory, add `state = \"state\"` to `[gateway]`";
        Some(Problem::warning(message).at(self.grant_place("state")).label("kept in memory only").hint(hint))
    }

    /// The location of a key of `allow`.
    fn grant_place(&self, key: &str) -> Range<usize> {
        self.allow.places.get(key).unwrap_or(&self.place).clone()
    }
}

#[cfg(test)]
mod tests;
