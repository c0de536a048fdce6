//! What is granted against what is asked for.

use super::super::problem::Problem;
use super::super::{ClientFeature, PluginConfig};
use crate::manifest::{Interfaces, Need};

/// How one need of a component fits what its table grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// What it is about.
    pub need: Need,
    /// What is granted of it, as the file has it.
    pub granted: Vec<String>,
    /// Whether it imports what needs the grant.
    pub asked: Asked,
}

/// Does a component ask for something?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Its imports say so.
    Yes,
    /// Its language's standard library may have brought the imports.
    Maybe,
    /// Nothing that it imports needs it.
    No,
}

impl PluginConfig {
    /// Compares what a component imports with what this table grants, need by need; needs that are neither asked for
    /// nor granted aren't there.
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

    /// What is granted of a need, a phrase each.
    fn granted(&self, need: Need) -> Vec<String> {
        let allow = &self.allow;
        match need {
            Need::Files => {
                allow.dirs.iter().map(|dir| format!("{} ({})", dir.guest, dir.mode.as_str())).collect()
            }
            Need::Http => allow.http.iter().map(|grant| grant.written.clone()).collect(),
            Need::State => match &allow.state {
                super::StateGrant::Refused => Vec::new(),
                super::StateGrant::Own => vec!["its own store".to_owned()],
                super::StateGrant::Shared(name) => vec![format!("the store {name}")],
            },
            Need::Variables => allow.env.iter().map(|(name, _)| name.clone()).collect(),
            Need::Settings => self.config.keys().cloned().collect(),
            Need::Client => {
                allow.client.iter().copied().map(ClientFeature::as_str).map(str::to_owned).collect()
            }
        }
    }

    /// Warnings for what doesn't fit: grants that nothing uses, and imports that are refused whenever they are used.
    #[must_use]
    pub fn misfits(&self, interfaces: &Interfaces) -> Vec<Problem> {
        self.against(interfaces).iter().filter_map(|found| self.misfit(found)).collect()
    }

    fn misfit(&self, Match { need, granted, asked }: &Match) -> Option<Problem> {
        let id = &self.id;
        let place = match need {
            Need::Files => self.allow.dirs.first().map(|dir| dir.place.clone()),
            Need::Http => self.allow.http.first().map(|grant| grant.place.clone()),
            Need::State | Need::Variables | Need::Settings | Need::Client => None,
        };
        let place = place.unwrap_or_else(|| self.place.clone());
        let (key, verb) = (need.key(), need.verb());
        match asked {
            Asked::No if !granted.is_empty() => {
                let what = match need {
                    Need::Settings => format!("has settings (`{key}`), but never reads any"),
                    _ => format!(
                        "is granted `{key}`, but can't {verb}: nothing that it imports needs the grant"
                    ),
                };
                let problem = Problem::warning(format!("the plugin `{id}` {what}")).at(place);
                Some(problem.hint(format!("remove `{key}`: a later version of the plugin would get it, too")))
            }
            // A plugin without settings has its own defaults.
            Asked::Yes if granted.is_empty() && *need != Need::Settings => {
                let message = format!("the plugin `{id}` was built to {verb}, which isn't granted");
                let hint = format!(
                    "it is refused when it tries; if it should, add a line such as `{}` to `[plugins.{id}.allow]`",
                    need.example()
                );
                Some(Problem::warning(message).at(self.place.clone()).hint(hint))
            }
            Asked::Yes | Asked::Maybe | Asked::No => None,
        }
    }
}

#[cfg(test)]
mod tests;
