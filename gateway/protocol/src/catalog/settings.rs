//! Validation of `[plugins.<id>.config]` against the plugin's schema.
//!
//! A plugin gets each setting as a string: strings unchanged, other values as JSON. So a string that is JSON can mean
//! either, and it is valid if one of the two matches. Values can be secrets, so messages contain only their types.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::diagnostic::Diagnostic;
use crate::json::{Json, pointer_step};
use crate::policy::{PluginPolicy, PluginSettings, Secret, Setting};
use crate::text::{nearest_name, quotable};

use super::schema::{ValueError, ValueErrorKind};
use super::{Schema, SchemaError};

/// The maximum number of invalid settings that are reported.
const MAX_REPORTED_SETTINGS: usize = 50;
/// The maximum number of settings that a message lists.
const MAX_LISTED_SETTINGS: usize = 20;
/// The longest name of a setting in a fix, in bytes: a name that was cut fixes nothing.
const MAX_SUGGESTED_NAME_BYTES: usize = 64;

/// The settings that a plugin accepts.
#[derive(Debug, Clone)]
pub(super) struct SettingsSchema {
    schema: Schema,
    /// The settings that the schema names. `None` means that others are possible too.
    known: Option<BTreeSet<String>>,
    /// True if other settings are rejected.
    is_closed: bool,
    /// The settings that are `true` or `false`.
    booleans: BTreeSet<String>,
    /// Settings without problems. `None` if those of the first check had some.
    valid: Option<PluginSettings>,
}

impl SettingsSchema {
    /// Compiles the schema and checks the policy's settings.
    ///
    /// # Errors
    /// The schema is invalid.
    pub(super) fn new(text: &Json, policy: &PluginPolicy) -> Result<Self, SchemaError> {
        let mut settings = Self::with_schema(Schema::compile(text, policy.schema_bounds)?, text);
        if settings.problems(policy).is_empty() {
            settings.valid = Some(policy.settings.clone());
        }
        Ok(settings)
    }

    /// The schema that the policy's settings matched before. It is compiled when other settings are checked.
    pub(super) fn deferred(text: &Json, policy: &PluginPolicy) -> Self {
        let schema = Schema::deferred(text, policy.schema_bounds);
        Self { valid: Some(policy.settings.clone()), ..Self::with_schema(schema, text) }
    }

    fn with_schema(schema: Schema, text: &Json) -> Self {
        let root = text.to_value().unwrap_or_default();
        let is_closed = root.get("additionalProperties") == Some(&Value::Bool(false));
        let known = named_members(&root).map(|names| names.into_iter().map(str::to_owned).collect());
        let properties = root.get("properties").and_then(Value::as_object);
        let is_switch = |schema: &Value| schema.get("type").is_some_and(|its| *its == "boolean");
        let switches = properties.into_iter().flatten().filter(|(_, schema)| is_switch(schema));
        let switches = switches.map(|(name, _)| name.clone()).collect();
        Self { schema, known, is_closed, booleans: switches, valid: None }
    }

    /// True if the policy's settings are known to have no problems.
    pub(super) fn is_valid(&self, policy: &PluginPolicy) -> bool {
        self.valid.as_ref().is_some_and(|valid| valid.is_equivalent_to(&policy.settings))
    }

    /// The problems of a plugin's settings.
    pub(super) fn problems(&self, policy: &PluginPolicy) -> Vec<Diagnostic> {
        if self.is_valid(policy) {
            return Vec::new();
        }
        let mut problems: Vec<_> =
            policy.settings.entries.keys().filter_map(|key| self.unknown_setting(key, policy)).collect();
        problems.extend(match self.value_errors(&policy.settings) {
            Ok(flaws) => flaws.into_iter().filter_map(|flaw| self.setting_problem(flaw, policy)).collect(),
            Err(reason) => vec![invalid_setting(policy, &reason).with_span(policy.settings.place.clone())],
        });
        problems
    }

    /// Warns of an unknown setting. It is an error if the schema rejects it.
    fn unknown_setting(&self, key: &str, policy: &PluginPolicy) -> Option<Diagnostic> {
        let known = self.known.as_ref().filter(|known| !known.contains(key))?;
        let id = &policy.id;
        let message = format!("the plugin `{id}` has no setting `{}`", quotable(key));
        let place = policy.settings.entries.get(key)?.key_place.clone();
        let hint = match nearest_name(key, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{}`?", quotable(near)),
            None if known.is_empty() => "remove it: the plugin has no settings".to_owned(),
            None => {
                let names: Vec<_> = known
                    .iter()
                    .take(MAX_LISTED_SETTINGS)
                    .map(|name| format!("`{}`", quotable(name)))
                    .collect();
                let more = if known.len() > MAX_LISTED_SETTINGS { ", …" } else { "" };
                format!("use one of {}{more}", names.join(", "))
            }
        };
        let problem = Diagnostic::warning(message).with_span(place).with_hint(hint);
        Some(if self.is_closed { problem.into_error() } else { problem })
    }

    /// The errors of the settings.
    fn value_errors(&self, settings: &PluginSettings) -> Result<Vec<ValueError>, String> {
        let as_json = |text: &Secret| {
            let text = text.expose();
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
        };
        let mut forms: Map<String, Value> =
            settings.entries.iter().map(|(key, setting)| (key.clone(), as_json(&setting.value))).collect();
        let flaws = |forms: &Map<String, Value>| {
            let found = self.schema.value_errors(&Value::Object(forms.clone()), MAX_REPORTED_SETTINGS);
            found.map(|found| found.errors).map_err(|misfit| misfit.message)
        };
        let first = flaws(&forms)?;
        let mut turned = false;
        for key in first.iter().filter_map(setting_name) {
            if let (Some(form), Some(setting)) = (forms.get_mut(&key), settings.entries.get(&key)) {
                let as_text = Value::String(setting.value.expose().to_owned());
                turned |= std::mem::replace(form, as_text.clone()) != as_text;
            }
        }
        if !turned {
            return Ok(first);
        }
        let still: BTreeSet<_> = flaws(&forms)?.iter().filter_map(setting_name).collect();
        Ok(first
            .into_iter()
            .filter(|flaw| setting_name(flaw).is_none_or(|key| still.contains(&key)))
            .collect())
    }

    /// An error of the schema as a problem, with its location and fix. `None` if it was reported before.
    fn setting_problem(&self, flaw: ValueError, policy: &PluginPolicy) -> Option<Diagnostic> {
        let id = &policy.id;
        let show = format!("run `moongate inspect {id}` to see its settings");
        let Some(key) = setting_name(&flaw) else {
            // The message can quote a part of any of them.
            let all = "its settings together don't match its schema";
            let reason =
                if policy.settings.entries.values().all(is_literal) { flaw.message.as_str() } else { all };
            return Some(
                invalid_setting(policy, reason).with_span(policy.settings.place.clone()).with_hint(show),
            );
        };
        let its = format!("/{}", pointer_step(&key));
        if matches!(flaw.kind, ValueErrorKind::Unknown) && flaw.pointer == its && self.known.is_some() {
            return None;
        }
        if matches!(flaw.kind, ValueErrorKind::Missing) && flaw.pointer == its {
            let message = format!("the plugin `{id}` is missing the required setting `{}`", quotable(&key));
            let hint = match toml_key(&key) {
                Some(key) => format!("add `{key} = …` to `[plugins.{id}.config]`; {show}"),
                None => show,
            };
            return Some(Diagnostic::error(message).with_span(policy.settings.place.clone()).with_hint(hint));
        }
        let setting = policy.settings.entries.get(&key);
        // Parts of a secret aren't shown.
        let is_shown = flaw.pointer == its && matches!(flaw.kind, ValueErrorKind::Type)
            || setting.is_none_or(is_literal);
        let reason = if is_shown {
            flaw.message
        } else {
            format!("`{}` doesn't match the plugin's schema", quotable(&key))
        };
        let written = setting.filter(|setting| is_literal(setting) && self.booleans.contains(&key));
        let meant = written.and_then(|setting| boolean_meaning(&setting.value));
        let hint = meant.map_or(show, |meant| format!("write `{meant}`, without quotes"));
        let place = setting.map_or(&policy.place, |setting| &setting.value_place).clone();
        Some(invalid_setting(policy, &reason).with_span(place).with_hint(hint))
    }
}

/// Keywords that describe members without naming them. With one of these, no member is unknown.
const OPEN_KEYWORDS: [&str; 9] = [
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

/// The members that the schema of an object names. `None` means that others are possible too.
#[must_use]
pub fn named_members(schema: &Value) -> Option<BTreeSet<&str>> {
    let takes_others = schema.get("additionalProperties").is_some_and(|others| *others != false);
    if takes_others || OPEN_KEYWORDS.iter().any(|word| schema.get(*word).is_some()) {
        return None;
    }
    let properties = schema.get("properties")?.as_object()?;
    Some(properties.keys().map(String::as_str).collect())
}

/// A setting's name as a TOML key. `None` if the name could be mistaken for other text, or is too long.
fn toml_key(name: &str) -> Option<String> {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match name {
        _ if name.len() > MAX_SUGGESTED_NAME_BYTES => None,
        _ if !name.is_empty() && name.chars().all(is_bare) => Some(name.to_owned()),
        _ if name.chars().all(|c| c == '.' || c == ' ' || is_bare(c)) => Some(format!("\"{name}\"")),
        _ => None,
    }
}

/// The setting that an error is about. `None` if it is about all of them.
fn setting_name(flaw: &ValueError) -> Option<String> {
    let step = flaw.pointer.strip_prefix('/')?.split('/').next()?;
    Some(step.replace("~1", "/").replace("~0", "~"))
}

/// Reports whether the value is written in the configuration file itself.
fn is_literal(setting: &Setting) -> bool {
    setting.sources.is_empty()
}

/// The boolean that a word or a number probably means.
fn boolean_meaning(written: &Secret) -> Option<bool> {
    match written.expose().trim().to_ascii_lowercase().as_str() {
        "yes" | "on" | "y" | "1" | "true" => Some(true),
        "no" | "off" | "n" | "0" | "false" => Some(false),
        _ => None,
    }
}

fn invalid_setting(policy: &PluginPolicy, reason: &str) -> Diagnostic {
    Diagnostic::error(format!("invalid setting of the plugin `{}`: {reason}", policy.id))
}

#[cfg(test)]
mod tests;
