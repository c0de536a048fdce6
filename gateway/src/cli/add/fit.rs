//! Checks before a plugin is added: it can use its grants, and serves together with the other plugins.

use std::sync::Arc;

use moongate_config::{Config, Diagnostic, PluginConfig, Requested};
use moongate_model::manifest::{Interfaces, Manifest};
use moongate_model::names::PluginId;
use serde_json::Value;

use crate::cli::error::CommandError;
use crate::cli::{ExitKind, print};
use crate::supervisor::{Supervisor, SupervisorOptions};

/// Rejects grants of the command line that the plugin can't use. `typed` are their keys.
///
/// # Errors
/// None of the plugin's imports needs one of the grants.
pub(super) fn require_usable_grants(
    interfaces: &Interfaces,
    plugin: &PluginConfig,
    typed: &[&str],
) -> Result<(), CommandError> {
    let unusable = plugin
        .compare_with_imports(interfaces)
        .into_iter()
        .find(|found| found.requested == Requested::No && typed.contains(&found.need.config_key()));
    let Some(unusable) = unusable else { return Ok(()) };
    let (key, id) = (unusable.need.config_key(), &plugin.id);
    let message = format!(
        "`{id}` can't {}, so `{key}` has no effect: none of its imports needs the grant",
        unusable.need.verb_phrase()
    );
    let hint = if key == "dirs" { "remove the directories" } else { "remove the grant" };
    Err(CommandError::new(ExitKind::Usage).message(&message, Some(hint)))
}

/// The names of the plugin's missing required settings, for a sentence.
pub(super) fn missing_settings(manifest: &Manifest, plugin: &PluginConfig) -> String {
    let schema = manifest.info.settings_schema.as_ref().and_then(|schema| schema.to_value().ok());
    let schema = schema.unwrap_or_default();
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let missing = required.filter(|key| !plugin.settings.contains_key(*key));
    missing.map(|key| format!("`{}`", print::inline(key))).collect::<Vec<_>>().join(", ")
}

/// The reasons that the plugin wouldn't serve together with the others. Problems of the others aren't reported.
pub(super) async fn conflicts(mut config: Config, plugin: &Arc<PluginConfig>) -> Vec<Diagnostic> {
    if config.plugins.len() < 2 {
        return Vec::new();
    }
    for other in config.plugins.iter_mut().filter(|other| other.id == plugin.id) {
        // A downloaded component isn't locked yet.
        *other = Arc::clone(plugin);
    }
    let Ok(supervisor) = Supervisor::start(config, SupervisorOptions::inspecting()).await else {
        return Vec::new(); // another plugin is required and can't be loaded
    };
    let is_served = supervisor.catalog().borrow().plugins().iter().any(|served| *served.id() == plugin.id);
    if is_served {
        return Vec::new();
    }
    let quoted = format!("`{}`", plugin.id);
    let problems = supervisor.problems().iter();
    problems.filter(|problem| problem.is_error() && problem.message.contains(&quoted)).cloned().collect()
}

/// The error for a plugin that wouldn't serve.
pub(super) fn conflict_error(id: &PluginId, conflicts: &[Diagnostic]) -> CommandError {
    let failure = CommandError::new(ExitKind::Configuration);
    let message = format!("`{id}` wasn't added, because it wouldn't be served");
    conflicts.iter().fold(failure.message(&message, None), |failure, conflict| {
        let hint = conflict.hint.as_deref().map(|hint| format!("add the plugin with an editor, and {hint}"));
        failure.message(&conflict.message, hint.as_deref())
    })
}
