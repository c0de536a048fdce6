//! Builds a catalog from plugins.

use std::collections::HashMap;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::manifest::ItemKind;
use crate::names::{Digest, PublicName};

use super::claims::UriClaims;
use super::conflict_resolution::{self, ConflictTable, Resolution};
use super::view::CatalogScope;
use super::{
    Catalog, CatalogCandidate, CatalogPlugin, PromptEntry, RefusedPlugin, ResourceEntry, TemplateEntry,
    ToolEntry,
};

/// A catalog, and the problems found while building it.
#[derive(Debug)]
pub struct CatalogBuild {
    /// The catalog.
    pub catalog: Catalog,
    /// For each candidate the number of the version that serves; 0 is the best. `None` means that the plugin isn't in
    /// the catalog.
    pub versions: Vec<Option<usize>>,
    /// Plugins that are left out, or serve only in an earlier version, because they conflict with others.
    pub refused: Vec<RefusedPlugin>,
    /// Probable mistakes, and problems that make calls fail although the plugin serves.
    pub problems: Vec<Diagnostic>,
}

impl Catalog {
    /// Joins `plugins` as [`Self::join`] does. A plugin that was in `previous` with an equivalent policy falls back to
    /// that version if it conflicts now.
    #[must_use]
    pub fn build(generation: u64, plugins: Vec<CatalogPlugin>, previous: Option<&Self>) -> CatalogBuild {
        let with_before = |catalog_plugin: CatalogPlugin| match earlier_version(&catalog_plugin, previous) {
            Some(before) => CatalogCandidate::new(catalog_plugin).with_fallback(before),
            None => CatalogCandidate::new(catalog_plugin),
        };
        let candidates: Vec<_> = plugins.into_iter().map(with_before).collect();
        Self::join(generation, &candidates, previous)
    }

    /// Joins plugins in the order of `gateway.toml`.
    ///
    /// If two conflict, the one in `previous` continues: first the plugins that didn't change since, then the changed
    /// ones, then the new ones, each in file order. The other is refused as a whole and serves in its best fallback
    /// that fits. So a conflicting change takes nothing away, either from the changed plugin or from another one.
    #[must_use]
    pub fn join(generation: u64, candidates: &[CatalogCandidate], previous: Option<&Self>) -> CatalogBuild {
        let Resolution { table, picks, refused } =
            conflict_resolution::resolve_conflicts(candidates, previous);
        // Includes the problems of refused versions: an unknown name in `rename` can be the cause.
        let tried =
            candidates.iter().zip(&picks).flat_map(|(candidate, pick)| candidate.versions_up_to(*pick));
        let problems = tried.flat_map(CatalogPlugin::problems).collect();
        let (catalog, problems) = CatalogBuilder { table, problems }.finish(generation);
        CatalogBuild { catalog, versions: picks, refused, problems }
    }
}

/// The version of the plugin in `previous`, unless it is the same one or its policy was a different one.
fn earlier_version(catalog_plugin: &CatalogPlugin, previous: Option<&Catalog>) -> Option<CatalogPlugin> {
    let before = previous?.plugin(catalog_plugin.id())?;
    if before.is_same_load(catalog_plugin) {
        None
    } else {
        before.with_policy(Arc::clone(catalog_plugin.policy()))
    }
}

/// A catalog under construction, after conflict resolution.
struct CatalogBuilder {
    table: ConflictTable,
    problems: Vec<Diagnostic>,
}

impl CatalogBuilder {
    /// Lists the offers of the admitted plugins.
    fn finish(mut self, generation: u64) -> (Catalog, Vec<Diagnostic>) {
        let admitted: Vec<usize> = self.table.admitted.keys().copied().collect();
        let place = |at| admitted.binary_search(&at).expect("claims belong to admitted plugins");
        self.table.claims.renumber(place);
        let plugins: Vec<Arc<CatalogPlugin>> =
            admitted.iter().map(|at| Arc::new(self.table.plugins[*at].clone())).collect();
        let mut tools = Vec::new();
        let mut prompts = Vec::new();
        let mut resources = Vec::new();
        let mut templates = Vec::new();
        for (owner, catalog_plugin) in plugins.iter().enumerate() {
            let offer = catalog_plugin.offer();
            tools.extend(
                (0..offer.tools.len())
                    .map(|at| ToolEntry { catalog_plugin: Arc::clone(catalog_plugin), index: at }),
            );
            prompts.extend(
                (0..offer.prompts.len())
                    .map(|at| PromptEntry { catalog_plugin: Arc::clone(catalog_plugin), index: at }),
            );
            let manifest = catalog_plugin.plugin().manifest();
            for (at, resource) in offer.resources.iter().enumerate() {
                if self.still_owns(owner, catalog_plugin, manifest.resources[resource.index].uri.as_str()) {
                    resources.push(ResourceEntry { catalog_plugin: Arc::clone(catalog_plugin), index: at });
                }
            }
            for (at, template) in offer.templates.iter().enumerate() {
                let prefix = manifest.templates[template.index].uri_template.prefix();
                if self.still_owns(owner, catalog_plugin, prefix) {
                    templates.push(TemplateEntry { catalog_plugin: Arc::clone(catalog_plugin), index: at });
                }
            }
        }
        self.warn_of_similar_names(
            ItemKind::Tool,
            tools.iter().map(|entry| (entry.public_name(), entry.plugin())),
        );
        self.warn_of_similar_names(
            ItemKind::Prompt,
            prompts.iter().map(|entry| (entry.public_name(), entry.plugin())),
        );
        let catalog = CatalogItems { plugins: plugins.clone(), tools, prompts, resources, templates }
            .into_catalog(generation, Arc::new(self.table.claims), plugins, CatalogScope::Everything);
        (catalog, self.problems)
    }

    /// Reports whether the text still belongs to the plugin, or the configuration grants it to another.
    fn still_owns(&mut self, owner: usize, catalog_plugin: &CatalogPlugin, text: &str) -> bool {
        let keeps = self.table.claims.holds(owner, text);
        if !keeps {
            let id = catalog_plugin.id();
            let message =
                format!("`{text}` of plugin `{id}` is not listed: `uris` grants it to another plugin");
            self.problems.push(Diagnostic::warning(message).with_span(catalog_plugin.policy().place.clone()));
        }
        keeps
    }

    /// Warns of names that differ only in case, `-` and `_`. Hosts that normalise names would merge them.
    fn warn_of_similar_names<'a>(
        &mut self,
        kind: ItemKind,
        names: impl Iterator<Item = (&'a PublicName, &'a Arc<CatalogPlugin>)>,
    ) {
        let (what, table) = (kind.as_str(), kind.config_table());
        let mut seen = HashMap::<String, &PublicName>::new();
        for (name, catalog_plugin) in names {
            let tidy = name.as_str().to_ascii_lowercase().replace('-', "_");
            if let Some(other) = seen.insert(tidy, name) {
                let message = format!(
                    "the {what} names `{other}` and `{name}` differ only in case, `-` and `_`; some hosts treat them as equal"
                );
                let id = catalog_plugin.id();
                let hint = format!(
                    "set another `prefix` in `[plugins.{id}]`, or give the {what} another name in `[plugins.{id}.{table}.rename]`"
                );
                self.problems.push(
                    Diagnostic::warning(message)
                        .with_span(catalog_plugin.policy().place.clone())
                        .with_hint(hint),
                );
            }
        }
    }
}

/// The plugins of a catalog or of a view, and their items.
pub(super) struct CatalogItems {
    pub(super) plugins: Vec<Arc<CatalogPlugin>>,
    pub(super) tools: Vec<ToolEntry>,
    pub(super) prompts: Vec<PromptEntry>,
    pub(super) resources: Vec<ResourceEntry>,
    pub(super) templates: Vec<TemplateEntry>,
}

impl CatalogItems {
    /// Adds indices and digests. `owners` are the plugins that `claims` refers to.
    pub(super) fn into_catalog(
        self,
        generation: u64,
        claims: Arc<UriClaims>,
        owners: Vec<Arc<CatalogPlugin>>,
        scope: CatalogScope,
    ) -> Catalog {
        let Self { plugins, tools, prompts, resources, templates } = self;
        let digests = [
            combined_digest(tools.iter().map(ToolEntry::digest)),
            combined_digest(prompts.iter().map(PromptEntry::digest)),
            combined_digest(
                resources
                    .iter()
                    .map(ResourceEntry::digest)
                    .chain([Digest::of(b"templates")])
                    .chain(templates.iter().map(TemplateEntry::digest)),
            ),
        ];
        let tool_names = tools.iter().enumerate().map(|(at, entry)| (entry.public_name().clone(), at));
        let prompt_names = prompts.iter().enumerate().map(|(at, entry)| (entry.public_name().clone(), at));
        let uris = resources.iter().enumerate().map(|(at, entry)| (entry.resource().uri.clone(), at));
        Catalog {
            generation,
            tool_at: tool_names.collect(),
            prompt_at: prompt_names.collect(),
            resource_at: uris.collect(),
            plugins,
            tools,
            prompts,
            resources,
            templates,
            claims,
            owners,
            digests,
            scope,
        }
    }
}

/// The digest of a sequence of digests.
fn combined_digest(digests: impl Iterator<Item = Digest>) -> Digest {
    Digest::of(&digests.flat_map(|digest| *digest.as_bytes()).collect::<Vec<u8>>())
}
