//! The offer of one plugin to clients: public names, compiled schemas, digests, and the items that are left out.
//!
//! An item that isn't offered isn't examined, and an item that can't be offered is left out alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use crate::diagnostic::Diagnostic;
use crate::manifest::{ItemKind, Manifest, Prompt, RejectedItem, Tool, UriTemplate};
use crate::names::{Digest, PublicName, WARN_PUBLIC_NAME};
use crate::policy::PluginPolicy;
use crate::text::quotable;

use super::header_arguments::InvalidAnnotation;
use super::schema::SchemaBudget;
use super::settings::SettingsSchema;
use super::shown_schemas::ShownSchemas;
use super::{Plugin, Schema};

mod unknown_names;
mod withheld;

use withheld::WithheldUris;

/// The maximum number of items of one plugin that are reported as left out.
const MAX_REPORTED_ITEMS: usize = 50;
/// The longest name in a fix, in bytes: a name that was cut fixes nothing.
const MAX_SUGGESTED_NAME_BYTES: usize = 64;

/// The offer of a plugin to clients.
#[derive(Debug, Default)]
pub(super) struct PluginOffer {
    pub(super) tools: Vec<OfferedTool>,
    pub(super) prompts: Vec<OfferedPrompt>,
    pub(super) resources: Vec<OfferedResource>,
    /// The resource templates.
    pub(super) templates: Vec<OfferedResource>,
    /// The plugin's resources that aren't offered.
    pub(super) withheld: WithheldUris,
    /// Items that the configuration offers, but that can't be offered.
    pub(super) left_out: Vec<RejectedItem>,
    /// The settings that it accepts. `None` if it has no schema for them, or an invalid one.
    settings: Option<SettingsSchema>,
    /// Probable mistakes, without locations.
    warnings: Vec<OfferWarning>,
}

#[derive(Debug)]
pub(super) struct OfferedTool {
    pub(super) public: PublicName,
    /// The index in the manifest's tools.
    pub(super) index: usize,
    pub(super) input: Schema,
    pub(super) output: Option<Schema>,
    pub(super) shown: ShownSchemas,
    /// The description in the configuration. `None` means the plugin's own.
    pub(super) description: Option<String>,
    pub(super) digest: Digest,
}

#[derive(Debug)]
pub(super) struct OfferedPrompt {
    pub(super) public: PublicName,
    /// The index in the manifest's prompts.
    pub(super) index: usize,
    pub(super) digest: Digest,
}

/// A resource or a resource template.
#[derive(Debug)]
pub(super) struct OfferedResource {
    /// The index in the manifest's list.
    pub(super) index: usize,
    pub(super) digest: Digest,
}

/// A probable mistake.
#[derive(Debug)]
struct OfferWarning {
    problem: Diagnostic,
    /// The name in the configuration that the problem is about.
    item: Option<(ItemKind, String)>,
}

impl PluginOffer {
    /// The offer of a newly loaded plugin.
    ///
    /// # Errors
    /// An unknown item is denied. All unknown names are returned, including those that would be harmless alone.
    pub(super) fn new(plugin: &dyn Plugin, policy: &PluginPolicy) -> Result<Self, Vec<Diagnostic>> {
        let mut offer = Self::after_change(plugin, policy);
        let mut denied = unknown_names::denied(plugin.manifest(), policy);
        if denied.iter().any(|warning| warning.problem.is_error()) {
            denied.extend(offer.warnings.into_iter().filter(|warning| warning.item.is_some()));
            return Err(denied.iter().map(|warning| warning.located(policy)).collect());
        }
        offer.warnings.extend(denied);
        Ok(offer)
    }

    /// The offer of a plugin that changed its lists. A denied item can be temporarily absent.
    pub(super) fn after_change(plugin: &dyn Plugin, policy: &PluginPolicy) -> Self {
        let manifest = plugin.manifest();
        let mut builder = OfferBuilder { plugin, manifest, policy, offer: Self::default() };
        builder.offer.warnings = unknown_names::selected(manifest, policy);
        builder.rejected();
        builder.tools();
        builder.prompts();
        builder.resources();
        builder.settings();
        builder.offer
    }

    /// Problems of a serving plugin, with locations.
    pub(super) fn problems(&self, policy: &PluginPolicy) -> Vec<Diagnostic> {
        let reported = self.left_out.iter().take(MAX_REPORTED_ITEMS).map(|item| left_out(item, policy));
        let more = self.left_out.len().saturating_sub(MAX_REPORTED_ITEMS);
        let more = (more > 0).then(|| {
            let id = &policy.id;
            Diagnostic::warning(format!("{more} more items of plugin `{id}` are left out"))
                .with_span(policy.place.clone())
                .with_hint(format!("run `moongate inspect {id}` to list all of them"))
        });
        let warnings = self.warnings.iter().map(|warning| warning.located(policy));
        let settings = self.settings.as_ref().map(|settings| settings.problems(policy));
        reported.chain(more).chain(warnings).chain(settings.unwrap_or_default()).collect()
    }

    /// Reports whether there is a schema for the settings, and no problem with them.
    pub(super) fn has_valid_settings(&self, policy: &PluginPolicy) -> bool {
        self.settings.as_ref().is_some_and(|settings| settings.is_valid(policy))
    }
}

impl OfferWarning {
    fn located(&self, policy: &PluginPolicy) -> Diagnostic {
        let place = match &self.item {
            Some((kind, name)) => policy.item_place(*kind, name),
            None => policy.place.clone(),
        };
        self.problem.clone().with_span(place)
    }
}

/// The warning about an item that is left out.
fn left_out(item: &RejectedItem, policy: &PluginPolicy) -> Diagnostic {
    let RejectedItem { kind, name, reason, fix } = item;
    let (id, what) = (&policy.id, kind.as_str());
    let fix = fix.as_deref().unwrap_or("fix it in the plugin");
    let hint = if is_suggestible(name) {
        format!("{fix}, or hide the {what} with `{}.deny = [\"{name}\"]`", kind.config_table())
    } else {
        fix.to_owned()
    };
    Diagnostic::warning(format!("the {what} `{}` of plugin `{id}` is left out: {reason}", quotable(name)))
        .with_span(policy.item_place(*kind, name))
        .with_hint(hint)
}

/// Reports whether a plugin's own name can be part of a line to add to the configuration.
fn is_suggestible(name: &str) -> bool {
    let is_plain = |byte: u8| (byte == b' ' || byte.is_ascii_graphic()) && !b"\"\\`*$".contains(&byte);
    !name.is_empty() && name.len() <= MAX_SUGGESTED_NAME_BYTES && name.bytes().all(is_plain)
}

/// A [`PluginOffer`] under construction.
struct OfferBuilder<'a> {
    plugin: &'a dyn Plugin,
    manifest: &'a Manifest,
    policy: &'a PluginPolicy,
    offer: PluginOffer,
}

impl OfferBuilder<'_> {
    fn leave_out(&mut self, kind: ItemKind, name: &str, reason: String, fix: Option<String>) {
        self.offer.left_out.push(RejectedItem { kind, name: name.to_owned(), reason, fix });
    }

    fn warn(&mut self, message: String, hint: impl Into<String>) {
        let problem = Diagnostic::warning(message).with_hint(hint);
        self.offer.warnings.push(OfferWarning { problem, item: None });
    }

    /// Takes over the items that the manifest rejects.
    fn rejected(&mut self) {
        let is_offered = |item: &&RejectedItem| self.policy.filter(item.kind).offers(&item.name);
        self.offer.left_out.extend(self.manifest.rejected.iter().filter(is_offered).cloned());
    }

    fn tools(&mut self) {
        let mut valid = Vec::new();
        let mut budget = SchemaBudget::default();
        for (index, tool) in self.manifest.tools.iter().enumerate() {
            if !self.policy.tools.offers(tool.name.as_str()) {
                continue;
            }
            match self.schemas(index, tool, &mut budget) {
                Ok(schemas) => valid.push((index, tool, schemas)),
                Err(reason) => self.leave_out(ItemKind::Tool, tool.name.as_str(), reason, None),
            }
        }
        let prefix = &self.policy.prefix;
        let names = valid.iter().map(|(_, tool, _)| (tool.name.as_str(), tool.name.with_prefix(prefix)));
        let names = self.public_names(ItemKind::Tool, names.collect());
        for ((index, tool, (input, output)), public) in valid.into_iter().zip(names) {
            let Some(public) = public else { continue };
            let shown = self.shown_schemas(tool);
            let description = self.policy.tools.describe.get(tool.name.as_str()).cloned();
            let digest = tool_digest(&public, tool, description.as_deref(), &shown);
            self.offer.tools.push(OfferedTool { public, index, input, output, shown, description, digest });
        }
    }

    fn prompts(&mut self) {
        let prompts = self.manifest.prompts.iter().enumerate();
        let offered: Vec<_> =
            prompts.filter(|(_, prompt)| self.policy.prompts.offers(prompt.name.as_str())).collect();
        let prefix = &self.policy.prefix;
        let names = offered.iter().map(|(_, it)| (it.name.as_str(), it.name.with_prefix(prefix))).collect();
        let names = self.public_names(ItemKind::Prompt, names);
        for ((index, prompt), public) in offered.into_iter().zip(names) {
            let Some(public) = public else { continue };
            let digest = prompt_digest(&public, prompt);
            self.offer.prompts.push(OfferedPrompt { public, index, digest });
        }
    }

    /// The public names of items, each with its own name and its default public name. `None` for an item whose public
    /// name another item has: one that is renamed comes first, then one whose own name is unchanged.
    fn public_names(&mut self, kind: ItemKind, items: Vec<(&str, PublicName)>) -> Vec<Option<PublicName>> {
        let rename = &self.policy.filter(kind).rename;
        let mut ranked: Vec<_> = items
            .into_iter()
            .enumerate()
            .map(|(at, (own, default))| match rename.get(own) {
                Some(public) => (0, at, own, public.clone()),
                None if default.as_str().ends_with(own) => (1, at, own, default),
                None => (2, at, own, default),
            })
            .collect();
        ranked.sort_unstable_by_key(|(rank, at, _, _)| (*rank, *at));
        let mut taken = BTreeMap::<PublicName, &str>::new();
        let mut names = vec![None; ranked.len()];
        for (_, at, own, public) in ranked {
            if let Some(other) = taken.get(&public) {
                let what = kind.as_str();
                let reason = format!("the {what} `{other}` has the same public name, `{public}`");
                let table = format!("`[plugins.{}.{}.rename]`", self.policy.id, kind.config_table());
                let fix = format!("give one of them another name in {table}");
                self.leave_out(kind, own, reason, Some(fix));
            } else {
                taken.insert(public.clone(), own);
                names[at] = Some(public);
            }
        }
        self.warn_of_long_names(kind, &names);
        names
    }

    fn resources(&mut self) {
        let Manifest { resources, templates, rejected, .. } = self.manifest;
        let filter = &self.policy.resources;
        let mut withheld = WithheldUris::default();
        for (index, resource) in resources.iter().enumerate() {
            if filter.offers(resource.uri.as_str()) {
                let digest = debug_digest(resource);
                self.offer.resources.push(OfferedResource { index, digest });
            } else {
                withheld.add_uri(resource.uri.as_str());
            }
        }
        // The gateway tells templates apart by their prefixes, so a denied template takes others with it.
        let is_denied = |template: &UriTemplate| filter.deny.contains(template.as_str());
        let denied: BTreeMap<_, _> = templates
            .iter()
            .map(|template| &template.uri_template)
            .filter(|template| is_denied(template))
            .map(|template| (template.prefix(), template.as_str()))
            .collect();
        for (index, template) in templates.iter().enumerate() {
            let uri_template = &template.uri_template;
            let text = uri_template.as_str();
            if !filter.offers(text) {
                withheld.add_prefix(uri_template.prefix());
            } else if let Some(other) = denied.get(uri_template.prefix()) {
                let reason = format!("its URIs start like those of the denied template `{other}`");
                let fix = "deny both templates, or neither".to_owned();
                self.leave_out(ItemKind::Template, text, reason, Some(fix));
            } else {
                let digest = debug_digest(template);
                self.offer.templates.push(OfferedResource { index, digest });
            }
        }
        for item in rejected {
            match item.kind {
                ItemKind::Resource => withheld.add_uri(&item.name),
                ItemKind::Template => {
                    if let Ok(template) = UriTemplate::new(&item.name) {
                        withheld.add_prefix(template.prefix());
                    }
                }
                ItemKind::Tool | ItemKind::Prompt => {}
            }
        }
        for denied in &filter.deny {
            withheld.add_uri(denied);
            // The plugin may not list a denied template at the moment.
            if let (true, Ok(template)) = (denied.contains('{'), UriTemplate::new(denied)) {
                withheld.add_prefix(template.prefix());
            }
        }
        self.offer.withheld = withheld;
    }

    fn settings(&mut self) {
        let Some(schema) = &self.manifest.info.settings_schema else { return };
        let settings = match self.plugin.past_checks().has_valid_settings {
            true => Ok(SettingsSchema::deferred(schema, self.policy)),
            false => SettingsSchema::new(schema, self.policy),
        };
        match settings {
            Ok(settings) => self.offer.settings = Some(settings),
            Err(error) => {
                let id = &self.policy.id;
                let message = format!("invalid schema for the settings of plugin `{id}`: {error}");
                self.warn(message, "fix it in the plugin; its `config` isn't checked until then");
            }
        }
    }

    /// Warns of all long names of one kind together: they usually have the same cause.
    fn warn_of_long_names(&mut self, kind: ItemKind, names: &[Option<PublicName>]) {
        let long: BTreeSet<_> =
            names.iter().flatten().filter(|name| name.as_str().len() > WARN_PUBLIC_NAME).collect();
        let (id, what) = (&self.policy.id, kind.as_str());
        let refused = "hosts that add a prefix to";
        let message = match long.first() {
            None => return,
            Some(name) if long.len() == 1 => {
                let length = name.as_str().len();
                format!("the {what} name `{name}` is {length} characters long; {refused} it may refuse it")
            }
            Some(_) => {
                let count = long.len();
                let names: Vec<_> = long.iter().map(|name| format!("`{name}`")).collect();
                format!(
                    "{count} {what} names of plugin `{id}` are longer than {WARN_PUBLIC_NAME} characters; {refused} them may refuse them: {}",
                    names.join(", ")
                )
            }
        };
        let hint = format!(
            "set a shorter `prefix` in `[plugins.{id}]`, or give it a name in `[plugins.{id}.{}.rename]`",
            kind.config_table()
        );
        self.warn(message, hint);
    }

    /// The schemas of the tool with this index, or the reason why they can't be used.
    fn schemas(
        &self,
        index: usize,
        tool: &Tool,
        budget: &mut SchemaBudget,
    ) -> Result<(Schema, Option<Schema>), String> {
        let bounds = self.policy.schema_bounds;
        // Schemas that were accepted before are within the budget.
        if self.plugin.past_checks().valid_tools.contains(&index) {
            let output = tool.output_schema.as_ref().map(|schema| Schema::deferred(schema, bounds));
            return Ok((Schema::deferred(&tool.input_schema, bounds), output));
        }
        let mut compile = |schema| budget.compile(schema, bounds);
        let input = compile(&tool.input_schema);
        let output = tool.output_schema.as_ref().map(compile).transpose();
        match (input, output) {
            (Ok(input), Ok(output)) => Ok((input, output)),
            (Err(input), Ok(_)) => Err(format!("invalid input schema: {input}")),
            (Ok(_), Err(output)) => Err(format!("invalid output schema: {output}")),
            (Err(input), Err(output)) => {
                Err(format!("invalid input schema: {input}; invalid output schema: {output}"))
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
            self.warn(message, "fix it in the plugin; clients would drop the whole tool");
        }
        shown
    }
}

/// The digest of everything that clients see of a tool: everything except the plugin's own name for it. New fields must
/// be added here.
fn tool_digest(public: &PublicName, tool: &Tool, described: Option<&str>, shown: &ShownSchemas) -> Digest {
    let Tool { name: _, title, description, input_schema: _, output_schema: _, hints, icons, meta, extra } =
        tool;
    let description = described.unwrap_or(description);
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
