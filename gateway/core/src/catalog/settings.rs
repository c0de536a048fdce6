//! `[plugins.<id>.config]` against the schema that the plugin gives of it.
//!
//! A plugin gets each setting as a text: the text itself, or the JSON of whatever else it is. So a text that is JSON may
//! be meant either way, and it fits where one of the two does. Values may be secrets: only their types are told.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::diagnostic::Problem;
use crate::json::{Json, pointer_step};
use crate::policy::{PluginPolicy, PluginSettings, SchemaBounds, Secret, Setting};
use crate::text::{nearest_name, quotable};

use super::schema::{Flaw, Flawed};
use super::{Schema, SchemaError};

/// How many wrong settings are told of.
const MOST: usize = 50;
/// How many settings are named to whoever named none of them.
const NAMED: usize = 20;
/// The longest name of a setting that a cure has, in bytes: what is cut cures nothing.
const LONGEST: usize = 64;

/// What a plugin takes for settings.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    schema: Schema,
    /// The settings that it names; none: others may have a meaning, too.
    known: Option<BTreeSet<String>>,
    /// It refuses those that it doesn't name.
    is_closed: bool,
    /// The settings that are `true` or `false`.
    switches: BTreeSet<String>,
}

impl Settings {
    /// Compiles the schema.
    ///
    /// # Errors
    /// It can't be used.
    pub(super) fn new(text: &Json, bounds: SchemaBounds) -> Result<Self, SchemaError> {
        let schema = Schema::compile(text, bounds)?;
        let root = text.to_value().unwrap_or_default();
        let is_closed = root.get("additionalProperties") == Some(&Value::Bool(false));
        let known = named_members(&root).map(|names| names.into_iter().map(str::to_owned).collect());
        let properties = root.get("properties").and_then(Value::as_object);
        let is_switch = |schema: &Value| schema.get("type").is_some_and(|its| *its == "boolean");
        let switches = properties.into_iter().flatten().filter(|(_, schema)| is_switch(schema));
        let switches = switches.map(|(name, _)| name.clone()).collect();
        Ok(Self { schema, known, is_closed, switches })
    }

    /// What is wrong with the settings of a table.
    pub(super) fn problems(&self, policy: &PluginPolicy) -> Vec<Problem> {
        let mut problems: Vec<_> =
            policy.settings.entries.keys().filter_map(|key| self.unknown(key, policy)).collect();
        problems.extend(match self.flaws(&policy.settings) {
            Ok(flaws) => flaws.into_iter().filter_map(|flaw| self.flawed(flaw, policy)).collect(),
            Err(reason) => vec![misfit(policy, &reason).at(policy.settings.place.clone())],
        });
        problems
    }

    /// Warns of a setting that the plugin doesn't know. Where it refuses such, it is an error.
    fn unknown(&self, key: &str, policy: &PluginPolicy) -> Option<Problem> {
        let known = self.known.as_ref().filter(|known| !known.contains(key))?;
        let id = &policy.id;
        let message = format!("the plugin `{id}` has no setting `{}`", quotable(key));
        let place = policy.settings.entries.get(key)?.key_place.clone();
        let hint = match nearest_name(key, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{}`?", quotable(near)),
            None if known.is_empty() => "it has no settings at all".to_owned(),
            None => {
                let names: Vec<_> =
                    known.iter().take(NAMED).map(|name| format!("`{}`", quotable(name))).collect();
                let more = if known.len() > NAMED { ", …" } else { "" };
                format!("it has {}{more}", names.join(", "))
            }
        };
        let problem = Problem::warning(message).at(place).hint(hint);
        Some(if self.is_closed { problem.into_error() } else { problem })
    }

    /// What keeps settings from being what the plugin wants.
    fn flaws(&self, settings: &PluginSettings) -> Result<Vec<Flaw>, String> {
        let as_json = |text: &Secret| {
            let text = text.expose();
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
        };
        let mut forms: Map<String, Value> =
            settings.entries.iter().map(|(key, setting)| (key.clone(), as_json(&setting.value))).collect();
        let flaws = |forms: &Map<String, Value>| {
            let found = self.schema.flaws(&Value::Object(forms.clone()), MOST);
            found.map(|found| found.flaws).map_err(|misfit| misfit.message)
        };
        let first = flaws(&forms)?;
        let mut turned = false;
        for key in first.iter().filter_map(of) {
            if let (Some(form), Some(setting)) = (forms.get_mut(&key), settings.entries.get(&key)) {
                let as_text = Value::String(setting.value.expose().to_owned());
                turned |= std::mem::replace(form, as_text.clone()) != as_text;
            }
        }
        if !turned {
            return Ok(first);
        }
        let still: BTreeSet<_> = flaws(&forms)?.iter().filter_map(of).collect();
        Ok(first.into_iter().filter(|flaw| of(flaw).is_none_or(|key| still.contains(&key))).collect())
    }

    /// A flaw, with its place and its cure; none where it was told already.
    fn flawed(&self, flaw: Flaw, policy: &PluginPolicy) -> Option<Problem> {
        let id = &policy.id;
        let show = format!("`moongate inspect {id}` shows what its settings may be");
        let Some(key) = of(&flaw) else {
            // It may be about a part of any of them.
            let all = "they aren't together what the plugin's schema asks for";
            let reason =
                if policy.settings.entries.values().all(is_literal) { flaw.message.as_str() } else { all };
            return Some(misfit(policy, reason).at(policy.settings.place.clone()).hint(show));
        };
        let its = format!("/{}", pointer_step(&key));
        if matches!(flaw.kind, Flawed::Unknown) && flaw.at == its && self.known.is_some() {
            return None;
        }
        if matches!(flaw.kind, Flawed::Missing) && flaw.at == its {
            let message =
                format!("the plugin `{id}` needs the setting `{}`, which isn't there", quotable(&key));
            let hint = match as_key(&key) {
                Some(key) => format!("add `{key} = …` to `[plugins.{id}.config]`; {show}"),
                None => show,
            };
            return Some(Problem::error(message).at(policy.settings.place.clone()).hint(hint));
        }
        let setting = policy.settings.entries.get(&key);
        // What stands inside of a secret stays there.
        let is_shown = flaw.at == its && matches!(flaw.kind, Flawed::Type) || setting.is_none_or(is_literal);
        let reason = if is_shown {
            flaw.message
        } else {
            format!("`{}` isn't what the plugin's schema asks for", quotable(&key))
        };
        let written = setting.filter(|setting| is_literal(setting) && self.switches.contains(&key));
        let meant = written.and_then(|setting| switch(&setting.value));
        let hint = meant.map_or(show, |meant| format!("write `{meant}`, without quotes"));
        let place = setting.map_or(&policy.place, |setting| &setting.value_place).clone();
        Some(misfit(policy, &reason).at(place).hint(hint))
    }
}

/// Words with which schemas say more of members than their names: then none is unknown.
const OPEN: [&str; 9] = [
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
];

/// The members that the schema of an object names; none: others may have a meaning, too.
#[must_use]
pub fn named_members(schema: &Value) -> Option<BTreeSet<&str>> {
    let takes_others = schema.get("additionalProperties").is_some_and(|others| *others != false);
    if takes_others || OPEN.iter().any(|word| schema.get(*word).is_some()) {
        return None;
    }
    let properties = schema.get("properties")?.as_object()?;
    Some(properties.keys().map(String::as_str).collect())
}

/// A setting's name as a key of TOML; none where the plugin's words would read as something else, or fill a screen.
fn as_key(name: &str) -> Option<String> {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match name {
        _ if name.len() > LONGEST => None,
        _ if !name.is_empty() && name.chars().all(is_bare) => Some(name.to_owned()),
        _ if name.chars().all(|c| c == '.' || c == ' ' || is_bare(c)) => Some(format!("\"{name}\"")),
        _ => None,
    }
}

/// The setting that a flaw is about; none: it is about all of them.
fn of(flaw: &Flaw) -> Option<String> {
    let step = flaw.at.strip_prefix('/')?.split('/').next()?;
    Some(step.replace("~1", "/").replace("~0", "~"))
}

/// Reports whether the value is written in the configuration file itself.
fn is_literal(setting: &Setting) -> bool {
    setting.sources.is_empty()
}

/// What was meant by a word or a number for a switch.
fn switch(written: &Secret) -> Option<bool> {
    match written.expose().trim().to_ascii_lowercase().as_str() {
        "yes" | "on" | "y" | "1" | "true" => Some(true),
        "no" | "off" | "n" | "0" | "false" => Some(false),
        _ => None,
    }
}

fn misfit(policy: &PluginPolicy, reason: &str) -> Problem {
    Problem::error(format!("a setting of the plugin `{}` doesn't fit: {reason}", policy.id))
}

#[cfg(test)]
mod tests;
