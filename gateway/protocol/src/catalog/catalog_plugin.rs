//! One plugin, examined alone: its public names, its compiled schemas, and digests of everything that clients see.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use crate::diagnostic::Diagnostic;
use crate::manifest::{Manifest, Prompt, Tool};
use crate::names::{Digest, NameError, PluginId, PublicName, WARN_PUBLIC_NAME};
use crate::policy::{ClientFeature, PluginPolicy};
use crate::text::{name_suffix, nearest_name};

use super::header_arguments::InvalidAnnotation;
use super::settings::SettingsSchema;
use super::shown_schemas::ShownSchemas;
use super::{Plugin, Schema};

/// The maximum number of tools that a message lists.
const MAX_LISTED_TOOLS: usize = 10;

/// A loaded plugin with its policy, ready for a catalog.
#[derive(Debug, Clone)]
pub struct CatalogPlugin {
    plugin: Arc<dyn Plugin>,
    policy: Arc<PluginPolicy>,
    offer: Arc<PluginOffer>,
    /// The client features that were reported as not granted. Each is logged once.
    reported_features: Arc<Mutex<BTreeSet<ClientFeature>>>,
}

/// The offer of a plugin to clients.
#[derive(Debug)]
pub(super) struct PluginOffer {
    pub(super) tools: Vec<OfferedTool>,
    pub(super) prompts: Vec<OfferedPrompt>,
    /// A digest for each of the manifest's resources.
    pub(super) resources: Vec<Digest>,
    /// A digest for each of the manifest's templates.
    pub(super) templates: Vec<Digest>,
    /// The settings that it accepts. `None` if it has no schema for them, or an invalid one.
    settings: Option<SettingsSchema>,
    /// Probable mistakes, without locations. The second part is the tool name in the configuration that the problem is
    /// about.
    warnings: Vec<(Diagnostic, Option<String>)>,
}

#[derive(Debug)]
pub(super) struct OfferedTool {
    pub(super) public: PublicName,
    /// The index in the manifest's tools.
    pub(super) index: usize,
    pub(super) input: Schema,
    pub(super) output: Option<Schema>,
    pub(super) shown: ShownSchemas,
    pub(super) digest: Digest,
}

#[derive(Debug)]
pub(super) struct OfferedPrompt {
    pub(super) public: PublicName,
    /// The index in the manifest's prompts.
    pub(super) index: usize,
    pub(super) digest: Digest,
}

impl CatalogPlugin {
    /// Assigns public names to the plugin's offer and compiles its schemas. This takes time: call it on a thread that
    /// is allowed to block.
    ///
    /// # Errors
    /// A public name is too long or ambiguous, a schema is invalid, or an unknown tool is denied, so that the intended
    /// one would be offered. All such problems are returned, with fixes. The plugin must not serve.
    pub fn new(plugin: Arc<dyn Plugin>, policy: Arc<PluginPolicy>) -> Result<Self, Vec<Diagnostic>> {
        let known: Vec<&str> = plugin.manifest().tools.iter().map(|tool| tool.name.as_str()).collect();
        let id = &policy.id;
        let unknown = policy.tools.deny.iter().filter(|name| !known.contains(&name.as_str()));
        let denied: Vec<Diagnostic> = unknown
            .map(|name| {
                unknown_tool_problem(id, "deny", name, &known).into_error().with_span(policy.tool_place(name))
            })
            .collect();
        Self::build_offer(plugin, policy, denied)
    }

    /// The same plugin after its lists have changed. A denied tool can be temporarily absent.
    ///
    /// # Errors
    /// As for [`CatalogPlugin::new`], except for unknown denied tools.
    pub fn with_changed_lists(&self, plugin: Arc<dyn Plugin>) -> Result<Self, Vec<Diagnostic>> {
        let anew = Self::build_offer(plugin, Arc::clone(&self.policy), Vec::new())?;
        Ok(Self { reported_features: Arc::clone(&self.reported_features), ..anew })
    }

    fn build_offer(
        plugin: Arc<dyn Plugin>,
        policy: Arc<PluginPolicy>,
        errors: Vec<Diagnostic>,
    ) -> Result<Self, Vec<Diagnostic>> {
        let mut offering = OfferBuilder::new(plugin.manifest(), &policy);
        offering.errors = errors;
        offering.tools();
        offering.warn_of_long_names("tool");
        offering.prompts();
        offering.warn_of_long_names("prompt");
        offering.resources();
        offering.settings();
        let OfferBuilder { offer, errors, .. } = offering;
        if !errors.is_empty() {
            let placed = |problem: Diagnostic| match problem.span {
                Some(_) => problem,
                None => problem.with_span(policy.place.clone()),
            };
            // All unknown names are reported together, including those that would be harmless alone.
            let unknown = offer
                .warnings
                .into_iter()
                .filter_map(|(problem, name)| Some(problem.with_span(policy.tool_place(&name?))));
            return Err(errors.into_iter().map(placed).chain(unknown).collect());
        }
        Ok(Self { plugin, policy, offer: Arc::new(offer), reported_features: Arc::default() })
    }

    /// The same plugin with an equivalent policy, whose locations in the configuration file can differ. `None` if the
    /// policies aren't equivalent.
    #[must_use]
    pub fn with_policy(&self, policy: Arc<PluginPolicy>) -> Option<Self> {
        self.policy.is_equivalent_to(&policy).then(|| Self { policy, ..self.clone() })
    }

    /// The same offer and policy with another `plugin`: the same plugin with the same manifest but, for example, other
    /// code. `None` if the manifest differs and the offer must be made again.
    pub(super) fn with_plugin(&self, plugin: Arc<dyn Plugin>) -> Option<Self> {
        let is_same = plugin.id() == self.id() && plugin.manifest() == self.plugin.manifest();
        is_same.then(|| Self { plugin, ..self.clone() })
    }

    /// The same offer with another `plugin`, which runs with the grants, limits and settings of `policy`. Names and
    /// lists stay as they were: prefix, tools, URIs and the form of schemas. So a plugin that can't have the names of
    /// its new policy continues under the earlier ones, without any permission that it has lost.
    ///
    /// `None` if `plugin` or `policy` belongs to another plugin, or the manifest differs.
    #[must_use]
    pub fn with_permissions_of(&self, plugin: Arc<dyn Plugin>, policy: &PluginPolicy) -> Option<Self> {
        if *self.id() != policy.id {
            return None;
        }
        let PluginPolicy {
            id: _,
            place: _,
            prefix,
            tools,
            uris,
            portable_schemas,
            client_features: _,
            instructions: _,
            schema_bounds: _,
            concurrency: _,
            queue: _,
            cancel_grace: _,
            settings: _,
        } = (*self.policy).clone();
        let policy = Arc::new(PluginPolicy { prefix, tools, uris, portable_schemas, ..policy.clone() });
        Some(Self { policy, ..self.with_plugin(plugin)? })
    }

    /// The plugin's id.
    #[must_use]
    pub fn id(&self) -> &PluginId {
        self.plugin.id()
    }

    /// The plugin.
    #[must_use]
    pub fn plugin(&self) -> &Arc<dyn Plugin> {
        &self.plugin
    }

    /// The policy that it was loaded with.
    #[must_use]
    pub fn policy(&self) -> &Arc<PluginPolicy> {
        &self.policy
    }

    /// Problems of a plugin that serves. Warnings are probable mistakes, such as unknown names in the configuration.
    /// Errors are invalid settings, with which calls would fail.
    #[must_use]
    pub fn problems(&self) -> Vec<Diagnostic> {
        let place = |name: &Option<String>| match name {
            Some(name) => self.policy.tool_place(name),
            None => self.policy.place.clone(),
        };
        let warnings =
            self.offer.warnings.iter().map(|(problem, name)| problem.clone().with_span(place(name)));
        let settings = self.offer.settings.as_ref().map(|settings| settings.problems(&self.policy));
        warnings.chain(settings.unwrap_or_default()).collect()
    }

    /// Reports whether this is the first request for a client feature that isn't granted, so that it is logged once.
    pub(crate) fn is_first_ungranted_request(&self, feature: ClientFeature) -> bool {
        self.reported_features.lock().unwrap_or_else(PoisonError::into_inner).insert(feature)
    }

    pub(super) fn offer(&self) -> &PluginOffer {
        &self.offer
    }

    /// Reports whether both are the same load of the same plugin.
    pub(super) fn is_same_load(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.offer, &other.offer)
    }
}

/// A [`CatalogPlugin`] under construction.
struct OfferBuilder<'a> {
    manifest: &'a Manifest,
    policy: &'a PluginPolicy,
    offer: PluginOffer,
    errors: Vec<Diagnostic>,
    /// Public names that some hosts could reject.
    long_names: Vec<PublicName>,
}

impl<'a> OfferBuilder<'a> {
    fn new(manifest: &'a Manifest, policy: &'a PluginPolicy) -> Self {
        let tools = Vec::new();
        let prompts = Vec::new();
        let resources = Vec::new();
        let templates = Vec::new();
        let offer =
            PluginOffer { tools, prompts, resources, templates, settings: None, warnings: Vec::new() };
        Self { manifest, policy, offer, errors: Vec::new(), long_names: Vec::new() }
    }

    fn tools(&mut self) {
        self.warn_of_unknown_names();
        let exposure = &self.policy.tools;
        let mut taken = HashSet::new();
        for (at, tool) in self.manifest.tools.iter().enumerate() {
            let name = tool.name.as_str();
            let allowed = exposure.allow.as_ref().is_none_or(|only| only.contains(name));
            if !allowed || exposure.deny.contains(name) {
                continue;
            }
            let public = match exposure.rename.get(name) {
                Some(public) => Ok(public.clone()),
                None => PublicName::join(&self.policy.prefix, name),
            };
            let Some(public) = self.check_public_name("tool", name, public) else { continue };
            let Some((input, output)) = self.schemas(tool) else { continue };
            if taken.insert(public.clone()) {
                let shown = self.shown_schemas(tool);
                let digest = tool_digest(&public, tool, &shown);
                self.offer.tools.push(OfferedTool { public, index: at, input, output, shown, digest });
            } else {
                self.report_duplicate("tool", &public);
            }
        }
    }

    fn prompts(&mut self) {
        let mut taken = HashSet::new();
        for (at, prompt) in self.manifest.prompts.iter().enumerate() {
            let name = prompt.name.as_str();
            let Some(public) =
                self.check_public_name("prompt", name, PublicName::join(&self.policy.prefix, name))
            else {
                continue;
            };
            if taken.insert(public.clone()) {
                let digest = prompt_digest(&public, prompt);
                self.offer.prompts.push(OfferedPrompt { public, index: at, digest });
            } else {
                self.report_duplicate("prompt", &public);
            }
        }
    }

    fn resources(&mut self) {
        let Manifest { resources, templates, .. } = self.manifest;
        let mut taken = HashSet::new();
        for resource in resources {
            if !taken.insert(resource.uri.as_str()) {
                self.report_duplicate("resource", &resource.uri);
            }
        }
        for template in templates {
            if !taken.insert(template.uri_template.as_str()) {
                self.report_duplicate("resource template", &template.uri_template.as_str());
            }
        }
        self.offer.resources = resources.iter().map(|it| debug_digest(&it)).collect();
        self.offer.templates = templates.iter().map(|it| debug_digest(&it)).collect();
    }

    fn settings(&mut self) {
        let Some(schema) = &self.manifest.info.settings_schema else { return };
        match SettingsSchema::new(schema, self.policy.schema_bounds) {
            Ok(settings) => self.offer.settings = Some(settings),
            Err(error) => {
                let id = &self.policy.id;
                let message = format!("invalid schema for the settings of plugin `{id}`: {error}");
                let hint = "fix it in the plugin; its `config` isn't checked until then";
                self.offer.warnings.push((Diagnostic::warning(message).with_hint(hint), None));
            }
        }
    }

    /// Reports unknown names in the configuration. Denied ones were checked before.
    fn warn_of_unknown_names(&mut self) {
        let exposure = &self.policy.tools;
        let known: Vec<&str> = self.manifest.tools.iter().map(|tool| tool.name.as_str()).collect();
        let lists = [
            ("allow", exposure.allow.iter().flatten().collect::<Vec<_>>()),
            ("rename", exposure.rename.keys().collect()),
        ];
        for (list, names) in lists {
            for name in names.into_iter().filter(|name| !known.contains(&name.as_str())) {
                let problem = unknown_tool_problem(&self.policy.id, list, name, &known);
                let new = exposure.rename.get(name).map(PublicName::as_str).filter(|_| list == "rename");
                let problem = match new.filter(|new| known.contains(new)) {
                    Some(old) => problem.with_hint(format!("put the old name first: `{old} = \"{name}\"`")),
                    None => problem,
                };
                self.offer.warnings.push((problem, Some(name.clone())));
            }
        }
    }

    /// Records problems of a public name.
    fn check_public_name(
        &mut self,
        kind: &str,
        name: &str,
        public: Result<PublicName, NameError>,
    ) -> Option<PublicName> {
        let id = &self.policy.id;
        match public {
            Ok(public) => {
                if public.as_str().len() > WARN_PUBLIC_NAME {
                    self.long_names.push(public.clone());
                }
                Some(public)
            }
            Err(error) => {
                let message = format!("the {kind} `{name}` of plugin `{id}` can't be offered: {error}");
                self.errors.push(Diagnostic::error(message).with_hint(shorten_name_hint(id, kind)));
                None
            }
        }
    }

    /// Warns of all long names of one kind together: they usually have the same cause.
    fn warn_of_long_names(&mut self, kind: &str) {
        let long = std::mem::take(&mut self.long_names);
        let id = &self.policy.id;
        let refused = "hosts that add a prefix to";
        let message = match long.as_slice() {
            [] => return,
            [name] => {
                let length = name.as_str().len();
                format!("the {kind} name `{name}` is {length} characters long; {refused} it can refuse it")
            }
            names => {
                let count = names.len();
                let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
                format!(
                    "{count} {kind} names of plugin `{id}` are longer than {WARN_PUBLIC_NAME} characters; {refused} them can refuse them: {}",
                    names.join(", ")
                )
            }
        };
        self.offer.warnings.push((Diagnostic::warning(message).with_hint(shorten_name_hint(id, kind)), None));
    }

    fn schemas(&mut self, tool: &Tool) -> Option<(Schema, Option<Schema>)> {
        let bounds = self.policy.schema_bounds;
        let input = Schema::compile(&tool.input_schema, bounds);
        let output = tool.output_schema.as_ref().map(|schema| Schema::compile(schema, bounds)).transpose();
        let mut usable = |kind: &str, error| {
            let message = format!(
                "invalid {kind} schema of tool `{}` of plugin `{}`: {error}",
                tool.name, self.policy.id
            );
            let hint =
                format!("fix it in the plugin, or hide the tool with `tools.deny = [\"{}\"]`", tool.name);
            self.errors.push(Diagnostic::error(message).with_hint(hint));
        };
        match (input, output) {
            (Ok(input), Ok(output)) => Some((input, output)),
            (input, output) => {
                if let Err(error) = input {
                    usable("input", error);
                }
                if let Err(error) = output {
                    usable("output", error);
                }
                None
            }
        }
    }

    /// The tool's schemas as clients see them. Records the annotations that are removed.
    fn shown_schemas(&mut self, tool: &Tool) -> ShownSchemas {
        let (shown, wrong) = ShownSchemas::of(tool, self.policy);
        for InvalidAnnotation { pointer: at, reason: why } in wrong {
            let message = format!(
                "`x-mcp-header` at `{at}` in the input schema of tool `{}` of plugin `{}` is ignored: {why}",
                tool.name, self.policy.id
            );
            let hint = "fix it in the plugin; clients would drop the whole tool";
            self.offer.warnings.push((Diagnostic::warning(message).with_hint(hint), None));
        }
        shown
    }

    fn report_duplicate(&mut self, kind: &str, name: &dyn std::fmt::Display) {
        let id = &self.policy.id;
        let problem = Diagnostic::error(format!("plugin `{id}` offers two {kind}s as `{name}`"));
        self.errors.push(problem.with_hint("give one of them another name"));
    }
}

/// The hint for shortening a public name.
fn shorten_name_hint(id: &PluginId, kind: &str) -> String {
    let prefix = format!("set a shorter `prefix` in `[plugins.{id}]`");
    match kind {
        "tool" => format!("{prefix}, or give it a name in `[plugins.{id}.tools.rename]`"),
        _ => prefix,
    }
}

/// The problem of an unknown name in the configuration; `known` are the plugin's tools.
fn unknown_tool_problem(id: &PluginId, list: &str, name: &str, known: &[&str]) -> Diagnostic {
    let problem =
        Diagnostic::warning(format!("plugin `{id}` has no tool `{name}`, which `tools.{list}` names"));
    const OWN: &str = "these are the plugin's own names, without the prefix";
    // A public name means the plugin's own name that it ends with.
    let is_end = |tool: &&&str| name_suffix(name, tool).is_some();
    let meant = known.iter().filter(is_end).max_by_key(|tool| tool.len()).copied();
    match meant.or_else(|| nearest_name(name, known.iter().copied())) {
        Some(meant) => problem.with_hint(format!("did you mean `{meant}`? {OWN}")),
        None if known.is_empty() => problem.with_hint("remove it: the plugin has no tools"),
        None => {
            let listed: Vec<_> =
                known.iter().take(MAX_LISTED_TOOLS).map(|tool| format!("`{tool}`")).collect();
            let and_more = if known.len() > MAX_LISTED_TOOLS { ", …" } else { "" };
            problem.with_hint(format!("use one of {}{and_more}; {OWN}", listed.join(", ")))
        }
    }
}

/// The digest of everything that clients see of a tool: everything except the plugin's own name for it. New fields must
/// be added here.
fn tool_digest(public: &PublicName, tool: &Tool, shown: &ShownSchemas) -> Digest {
    let Tool { name: _, title, description, input_schema: _, output_schema: _, hints, icons, meta, extra } =
        tool;
    let input = shown.input(tool);
    let output = shown.output(tool);
    debug_digest(&(public, title, description, input, output, hints, icons, meta, extra))
}

/// The same for a prompt.
fn prompt_digest(public: &PublicName, prompt: &Prompt) -> Digest {
    let Prompt { name: _, title, description, arguments, icons, meta, extra } = prompt;
    debug_digest(&(public, title, description, arguments, icons, meta, extra))
}

/// The digest of plain values. Their `Debug` text names every field and quotes every string, so only equal values have
/// equal digests. They are compared within one process only.
pub(super) fn debug_digest(value: &dyn Debug) -> Digest {
    Digest::of(format!("{value:?}").as_bytes())
}
