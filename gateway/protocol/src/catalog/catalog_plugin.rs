//! One plugin, examined alone: its public names, its compiled schemas, and digests of everything that clients see.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::diagnostic::Diagnostic;
use crate::manifest::RejectedItem;
use crate::names::PluginId;
use crate::policy::{ClientFeature, PluginPolicy};

use super::offer::PluginOffer;
use super::{PastChecks, Plugin};

/// A loaded plugin with its policy, ready for a catalog.
#[derive(Debug, Clone)]
pub struct CatalogPlugin {
    plugin: Arc<dyn Plugin>,
    policy: Arc<PluginPolicy>,
    offer: Arc<PluginOffer>,
    /// The client features that were reported as not granted. Each is logged once.
    reported_features: Arc<Mutex<BTreeSet<ClientFeature>>>,
    /// Set once a resource outside the plugin's own URIs was reported.
    has_reported_resource: Arc<AtomicBool>,
}

impl CatalogPlugin {
    /// Assigns public names to the plugin's offer and compiles its schemas, unless they compiled before. This takes
    /// time: call it on a thread that is allowed to block.
    ///
    /// An item that can't be offered is left out, and is one of [`Self::problems`].
    ///
    /// # Errors
    /// An unknown tool, prompt or template is denied, so that the intended one would be offered. All such problems are
    /// returned, with fixes. The plugin must not serve.
    pub fn new(plugin: Arc<dyn Plugin>, policy: Arc<PluginPolicy>) -> Result<Self, Vec<Diagnostic>> {
        let offer = PluginOffer::new(&*plugin, &policy)?;
        Ok(Self {
            plugin,
            policy,
            offer: Arc::new(offer),
            reported_features: Arc::default(),
            has_reported_resource: Arc::default(),
        })
    }

    /// The same plugin after its lists have changed. A denied item can be temporarily absent.
    #[must_use]
    pub fn with_changed_lists(&self, plugin: Arc<dyn Plugin>) -> Self {
        let offer = Arc::new(PluginOffer::after_change(&*plugin, &self.policy));
        Self { plugin, offer, ..self.clone() }
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
    /// lists stay as they were: prefix, filters, URIs and the form of schemas. So a plugin that can't have the names of
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
            prompts,
            resources,
            uris,
            portable_schemas,
            client_features: _,
            instructions: _,
            schema_bounds: _,
            concurrency: _,
            queue: _,
            timeout: _,
            cpu_time: _,
            cancel_grace: _,
            rates: _,
            settings: _,
        } = (*self.policy).clone();
        let names =
            PluginPolicy { prefix, tools, prompts, resources, uris, portable_schemas, ..policy.clone() };
        let policy = Arc::new(names);
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

    /// Problems of a serving plugin. Warnings are items that are left out and probable mistakes, such as unknown
    /// names in the configuration. Errors are invalid settings, with which calls would fail.
    #[must_use]
    pub fn problems(&self) -> Vec<Diagnostic> {
        self.offer.problems(&self.policy)
    }

    /// The items that the configuration offers, but that can't be offered.
    #[must_use]
    pub fn left_out(&self) -> &[RejectedItem] {
        &self.offer.left_out
    }

    /// The results of the checks of the offered tools, all of whose schemas compile, and of the settings.
    #[must_use]
    pub fn past_checks(&self) -> PastChecks {
        PastChecks {
            valid_tools: self.offer.tools.iter().map(|tool| tool.index).collect(),
            has_valid_settings: self.offer.has_valid_settings(&self.policy),
        }
    }

    /// Reports whether the plugin has a resource at `uri` that isn't offered.
    #[must_use]
    pub fn withholds(&self, uri: &str) -> bool {
        self.offer.withheld.covers(uri, None)
    }

    /// Reports whether this is the first request for a client feature that isn't granted, so that it is logged once.
    pub(crate) fn is_first_ungranted_request(&self, feature: ClientFeature) -> bool {
        self.reported_features.lock().unwrap_or_else(PoisonError::into_inner).insert(feature)
    }

    /// Reports whether this is the first resource outside the plugin's own URIs, so that it is logged once: a plugin can
    /// return many in every call.
    pub(crate) fn is_first_foreign_resource(&self) -> bool {
        !self.has_reported_resource.swap(true, Ordering::Relaxed)
    }

    pub(super) fn offer(&self) -> &PluginOffer {
        &self.offer
    }

    /// Reports whether both are the same load of the same plugin.
    pub(super) fn is_same_load(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.offer, &other.offer)
    }
}
