//! Views: the part of a catalog that the callers with one set of roles see.
//!
//! A view is a catalog of its own, which answers as if nothing else existed: other names are unknown, and other plugins
//! own no URIs. It is built when a caller first needs it, once for each set of roles, and cached with the catalog.
//! Roles are part of the catalog, so that plugins and roles change together.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::names::{PluginId, Principal};
use crate::roles::{AccessRoles, RoleSet, VisibleItems};

use super::build::CatalogItems;
use super::{Catalog, CatalogPlugin};

/// The maximum number of cached views of a catalog. There are few sets of roles, unless clients request tokens with
/// ever other scopes. Building a view again only takes time.
const MAX_CACHED_VIEWS: usize = 64;

/// Identifies a catalog or a view of it, for caches of what was rendered from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ViewId {
    /// The generation of the catalog.
    pub generation: u64,
    /// The number of the view. 0 is the whole catalog.
    pub view: u64,
}

/// The extent of a catalog.
#[derive(Debug)]
pub(super) enum CatalogScope {
    /// It has everything, for every caller.
    Everything,
    /// It has everything, and callers see views of it.
    ByRole(CatalogViews),
    /// It is a view.
    View {
        /// Its number.
        number: u64,
        items: VisibleItems,
    },
}

/// The views of a catalog, by roles.
#[derive(Debug)]
pub(super) struct CatalogViews {
    roles: Arc<AccessRoles>,
    cached: Mutex<CachedViews>,
}

#[derive(Debug, Default)]
struct CachedViews {
    views: HashMap<RoleSet, CachedView>,
    /// The number of the latest view.
    number: u64,
    /// The number of requests for views.
    requests: u64,
}

#[derive(Debug)]
struct CachedView {
    number: u64,
    /// The number of the latest request for it.
    used: u64,
    /// The view, once the first caller has built it.
    catalog: Arc<OnceLock<Arc<Catalog>>>,
}

impl CachedViews {
    /// The number and the place of the view for these roles. If there are too many, the one that wasn't used for longest
    /// is removed.
    fn of(&mut self, set: &RoleSet) -> (u64, Arc<OnceLock<Arc<Catalog>>>) {
        self.requests += 1;
        let used = self.requests;
        if let Some(view) = self.views.get_mut(set) {
            view.used = used;
            return (view.number, Arc::clone(&view.catalog));
        }
        if self.views.len() >= MAX_CACHED_VIEWS {
            let oldest = self.views.iter().min_by_key(|(_, view)| view.used).map(|(set, _)| set.clone());
            oldest.map(|oldest| self.views.remove(&oldest));
        }
        self.number += 1;
        let view = CachedView { number: self.number, used, catalog: Arc::default() };
        let catalog = Arc::clone(&view.catalog);
        self.views.insert(set.clone(), view);
        (self.number, catalog)
    }
}

impl CatalogScope {
    /// Reports whether a resource is in this extent.
    pub(super) fn has_resource(&self, plugin: &PluginId, uri: &str) -> bool {
        match self {
            Self::Everything | Self::ByRole(_) => true,
            Self::View { number: _, items } => items.has_resource(plugin, uri),
        }
    }
}

impl Catalog {
    /// The same catalog, of which callers see what these roles show.
    #[must_use]
    pub fn with_roles(self, roles: Option<Arc<AccessRoles>>) -> Self {
        let scope = match roles {
            None => CatalogScope::Everything,
            Some(roles) => CatalogScope::ByRole(CatalogViews { roles, cached: Mutex::default() }),
        };
        Self { scope, ..self }
    }

    /// The roles of its callers. `None` means that all see everything.
    #[must_use]
    pub fn roles(&self) -> Option<&Arc<AccessRoles>> {
        match &self.scope {
            CatalogScope::ByRole(views) => Some(&views.roles),
            CatalogScope::Everything | CatalogScope::View { .. } => None,
        }
    }

    /// The part of the catalog that `principal` sees. A view of a view is the same view.
    #[must_use]
    pub fn visible_to(self: &Arc<Self>, principal: &Principal) -> Arc<Self> {
        let CatalogScope::ByRole(views) = &self.scope else { return Arc::clone(self) };
        if *principal == Principal::Operator {
            return Arc::clone(self);
        }
        let set = views.roles.of(principal);
        let (number, cached) = views.cached.lock().unwrap_or_else(PoisonError::into_inner).of(&set);
        // Without the lock, because it can take milliseconds.
        let view = || Arc::new(self.view(number, VisibleItems::new(Arc::clone(&views.roles), set)));
        Arc::clone(cached.get_or_init(view))
    }

    /// Identifies this catalog or view.
    #[must_use]
    pub fn view_id(&self) -> ViewId {
        let view = match &self.scope {
            CatalogScope::Everything | CatalogScope::ByRole(_) => 0,
            CatalogScope::View { number, items: _ } => *number,
        };
        ViewId { generation: self.generation, view }
    }

    /// The names of the roles whose view this is. `None` means that it is a whole catalog.
    #[must_use]
    pub fn role_names(&self) -> Option<Vec<&str>> {
        match &self.scope {
            CatalogScope::Everything | CatalogScope::ByRole(_) => None,
            CatalogScope::View { number: _, items } => Some(items.role_names().collect()),
        }
    }

    /// Reports whether a plugin has this resource, but only other callers see it. If a visible plugin has a resource of
    /// the same name in this view, only content from that plugin (`source`) is about its resource.
    pub(crate) fn hides_resource(&self, uri: &str, source: Option<&PluginId>) -> bool {
        match &self.scope {
            CatalogScope::Everything | CatalogScope::ByRole(_) => false,
            CatalogScope::View { .. } => {
                let Some(claim) = self.claims.covering(uri, |_| true) else { return false };
                match self.resource_owner(uri).map(|shown| shown.id()) {
                    Some(shown) => Some(shown) != source && shown != self.owners[claim.owner].id(),
                    None => true,
                }
            }
        }
    }

    /// The plugins of which everything is visible. A plugin's instructions can mention everything that it offers.
    pub(crate) fn whole_plugins(&self) -> impl Iterator<Item = &Arc<CatalogPlugin>> {
        self.plugins.iter().filter(|catalog_plugin| self.shows_all_of(catalog_plugin))
    }

    fn shows_all_of(&self, catalog_plugin: &CatalogPlugin) -> bool {
        let CatalogScope::View { number: _, items } = &self.scope else { return true };
        let id = catalog_plugin.id();
        let manifest = catalog_plugin.plugin().manifest();
        let offer = catalog_plugin.offer();
        offer.tools.iter().all(|tool| items.has_tool(id, tool.public.as_str()))
            && offer.prompts.iter().all(|prompt| items.has_prompt(id, prompt.public.as_str()))
            && offer
                .resources
                .iter()
                .all(|resource| items.has_resource(id, manifest.resources[resource.index].uri.as_str()))
            && offer.templates.iter().all(|template| {
                items.has_resource(id, manifest.templates[template.index].uri_template.as_str())
            })
    }

    fn view(&self, number: u64, items: VisibleItems) -> Self {
        let tools = self
            .tools
            .iter()
            .filter(|entry| items.has_tool(entry.plugin().id(), entry.public_name().as_str()));
        let tools: Vec<_> = tools.cloned().collect();
        let prompts = self
            .prompts
            .iter()
            .filter(|entry| items.has_prompt(entry.plugin().id(), entry.public_name().as_str()));
        let prompts: Vec<_> = prompts.cloned().collect();
        let resources = self
            .resources
            .iter()
            .filter(|entry| items.has_resource(entry.plugin().id(), entry.resource().uri.as_str()));
        let resources: Vec<_> = resources.cloned().collect();
        let templates = self
            .templates
            .iter()
            .filter(|entry| items.has_resource(entry.plugin().id(), entry.template().uri_template.as_str()));
        let templates: Vec<_> = templates.cloned().collect();
        let tool_owners = tools.iter().map(|entry| entry.plugin().id());
        let prompt_owners = prompts.iter().map(|entry| entry.plugin().id());
        let resource_owners = resources.iter().map(|entry| entry.plugin().id());
        let template_owners = templates.iter().map(|entry| entry.plugin().id());
        let shown: HashSet<&PluginId> =
            tool_owners.chain(prompt_owners).chain(resource_owners).chain(template_owners).collect();
        let plugins = self.plugins.iter().filter(|catalog_plugin| shown.contains(catalog_plugin.id()));
        let plugins = plugins.cloned().collect();
        CatalogItems { plugins, tools, prompts, resources, templates }.into_catalog(
            self.generation,
            Arc::clone(&self.claims),
            self.owners.clone(),
            CatalogScope::View { number, items },
        )
    }
}
