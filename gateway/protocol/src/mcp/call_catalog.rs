//! The view of the catalog for a call.
//!
//! After a start, some plugins are still being loaded, and the lists of others come from a cache. A call waits for the
//! plugins that may have the called item, and cached lists are compared with the plugin's own before they are used for a
//! call: for its arguments, its headers, and the error for an unknown name (2025-11-25, server/tools).

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::catalog::{Catalog, CatalogPlugin};
use crate::names::Principal;

use super::Protocol;

/// The longest wait for the current lists of a plugin whose cached lists are wrong.
const MAX_REPLACEMENT_WAIT: Duration = Duration::from_secs(5);

impl Protocol {
    /// The view for a call of the item that `find` returns the plugin of.
    pub(super) async fn view_for(
        &self,
        principal: &Principal,
        cancel: &CancellationToken,
        find: impl Fn(&Catalog) -> Option<&Arc<CatalogPlugin>>,
    ) -> Arc<Catalog> {
        let view = self.dispatcher.view_for(principal);
        let is_known = match find(&view) {
            Some(found) => found.plugin().is_confirmed(),
            None => self.dispatcher.startup_wait().is_over_for_names(),
        };
        if is_known {
            return view;
        }
        // Rare, so it doesn't enlarge the future of every call.
        Box::pin(self.confirmed_view(principal, cancel, find)).await
    }

    /// The view after the start is complete, or the called plugin has confirmed its lists.
    async fn confirmed_view(
        &self,
        principal: &Principal,
        cancel: &CancellationToken,
        find: impl Fn(&Catalog) -> Option<&Arc<CatalogPlugin>>,
    ) -> Arc<Catalog> {
        let mut view = self.dispatcher.view_for(principal);
        if find(&view).is_none() {
            self.dispatcher.startup_wait().wait_for_names(cancel).await;
            view = self.dispatcher.view_for(principal);
        }
        let Some(found) = find(&view).cloned() else { return view };
        let confirmed = tokio::select! {
            confirmed = found.plugin().confirm() => confirmed,
            () = cancel.cancelled() => return view,
        };
        match confirmed {
            Ok(false) => {
                let is_replaced = |view: &Catalog| {
                    !find(view).is_some_and(|current| Arc::ptr_eq(current.plugin(), found.plugin()))
                };
                self.wait_for_catalog(principal, cancel, is_replaced).await;
                self.dispatcher.view_for(principal)
            }
            // If the plugin can't describe itself, the call returns the reason.
            Ok(true) | Err(_) => view,
        }
    }

    /// Waits for a catalog with a property, for a limited time.
    async fn wait_for_catalog(
        &self,
        principal: &Principal,
        cancel: &CancellationToken,
        is_wanted: impl Fn(&Catalog) -> bool,
    ) {
        let mut updates = self.dispatcher.watch();
        let wanted = updates.wait_for(|catalog| is_wanted(&catalog.visible_to(principal)));
        tokio::select! {
            biased;
            _ = timeout(MAX_REPLACEMENT_WAIT, wanted) => {}
            () = cancel.cancelled() => {}
        }
    }
}
