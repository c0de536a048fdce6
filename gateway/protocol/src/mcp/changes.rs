//! Change notifications as clients subscribe to and receive them (2025-11-25, server/tools, server/prompts and
//! server/resources; 2026-07-28, basic/patterns/subscriptions).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap, Serializer};
use tokio::sync::watch;

use crate::caller::Caller;
use crate::catalog::{Catalog, ListKind};
use crate::changes::{ChangeEvent, ChangeListener, ResourceUpdates, SubscriptionLimitError};
use crate::dispatch::DispatchError;
use crate::json::Json;
use crate::jsonrpc::{self, Id};
use crate::names::{Principal, ResourceUri};

use super::errors::{ErrorAnswer, ProtocolError};
use super::params::Params;
use super::render::render;
use super::revision::Revision;
use super::{Identity, Protocol};

mod filter;

use filter::ChangeFilter;

/// The key of the stream that a message belongs to.
const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// A notification stream that a client opened with `subscriptions/listen`.
#[derive(Debug)]
pub struct NotificationStream {
    listener: ChangeListener,
    id: Id,
    /// The first message: the subscriptions that the gateway accepted.
    pub acknowledgement: Vec<u8>,
    /// The result, sent if the gateway closes the stream.
    pub result: Json,
}

impl NotificationStream {
    /// The next message. Cancel-safe.
    pub async fn next(&self) -> Vec<u8> {
        notification(&self.listener.next().await, Some(&self.id))
    }
}

impl Protocol {
    /// A listener for a session, which receives all list changes, and updates to the resources that it subscribes to.
    #[must_use]
    pub fn listener(&self, updates: &Arc<ResourceUpdates>, principal: &Principal) -> ChangeListener {
        ChangeListener::new(self.dispatcher.watch(), updates, principal.clone(), ListKind::ALL)
    }

    /// The catalog and those that follow it.
    pub(crate) fn watch_catalog(&self) -> watch::Receiver<Arc<Catalog>> {
        self.dispatcher.watch()
    }

    /// Subscribes to a resource (`resources/subscribe`).
    ///
    /// # Errors
    /// -32602: `uri` is missing, or the session has reached the limit on subscriptions. -32002: no plugin has the
    /// resource.
    pub fn subscribe(
        &self,
        listener: &ChangeListener,
        revision: Revision,
        caller: &Caller,
        params: &Params,
    ) -> Result<(), ProtocolError> {
        let uri = self.subscribable_uri(revision, caller, params)?;
        listener
            .subscribe(caller, &uri)
            .map_err(|error| subscription_limit_error(error, "/uri", "unsubscribe from some first"))
    }

    /// The resource in the parameters of `resources/subscribe`.
    ///
    /// # Errors
    /// -32602: `uri` is missing. -32002: no plugin has the resource.
    pub(crate) fn subscribable_uri(
        &self,
        revision: Revision,
        caller: &Caller,
        params: &Params,
    ) -> Result<ResourceUri, ProtocolError> {
        let uri = params.string("uri")?;
        let uri = uri.as_ref();
        let view = self.dispatcher.view_for(&caller.principal());
        let unknown = || {
            ErrorAnswer::for_dispatch_error(&DispatchError::resource_not_found(uri, &view), revision).error
        };
        owned_uri(&view, uri).ok_or_else(unknown)
    }

    /// Ends a subscription (`resources/unsubscribe`), if there is one.
    ///
    /// # Errors
    /// -32602: `uri` is missing.
    pub fn unsubscribe(&self, listener: &ChangeListener, params: &Params) -> Result<(), ProtocolError> {
        if let Ok(uri) = ResourceUri::new(&params.string("uri")?) {
            listener.unsubscribe(&uri);
        }
        Ok(())
    }

    /// Opens a notification stream (`subscriptions/listen`). It includes the requested resources that some plugin has
    /// now, and the acknowledgement names them.
    ///
    /// # Errors
    /// -32602: `notifications` is missing or invalid, or names more resources than the limit of a stream.
    pub fn listen(
        &self,
        updates: &Arc<ResourceUpdates>,
        revision: Revision,
        caller: &Caller,
        id: &Id,
        params: &Params,
    ) -> Result<NotificationStream, ProtocolError> {
        let ChangeFilter { kinds, uris } = ChangeFilter::read(params)?;
        let view = self.dispatcher.view_for(&caller.principal());
        let listener =
            ChangeListener::new(self.dispatcher.watch(), updates, caller.principal(), kinds.iter().copied());
        let mut honoured = ChangeFilter { kinds, uris: Vec::new() };
        for uri in uris.iter().filter_map(|uri| owned_uri(&view, uri)) {
            listener.subscribe(caller, &uri).map_err(|error| {
                subscription_limit_error(
                    error,
                    "/notifications/resourceSubscriptions",
                    "open another stream for the others",
                )
            })?;
            honoured.uris.push(uri.to_string());
        }
        let acknowledged = ChangeParams { filter: Some(&honoured), uri: None, subscription: Some(id) };
        let mut acknowledgement = Vec::with_capacity(256);
        jsonrpc::write_notification(
            &mut acknowledgement,
            "notifications/subscriptions/acknowledged",
            Some(&render(&acknowledged)),
        );
        let result = render(&ListenResult { identity: &self.identity, revision, id });
        Ok(NotificationStream { listener, id: id.clone(), acknowledgement, result })
    }
}

/// The notification of `event` to a session, which is the same in every handshake revision.
#[must_use]
pub fn session_notification(event: &ChangeEvent) -> Vec<u8> {
    notification(event, None)
}

/// The URI, if a plugin owns it.
fn owned_uri(catalog: &Catalog, uri: &str) -> Option<ResourceUri> {
    catalog.resource_owner(uri)?;
    ResourceUri::new(uri).ok()
}

/// The error for a session with too many subscriptions.
pub(crate) fn too_many_subscriptions() -> ProtocolError {
    subscription_limit_error(SubscriptionLimitError::Listener, "/uri", "unsubscribe from some first")
}

fn subscription_limit_error(error: SubscriptionLimitError, at: &str, hint: &str) -> ProtocolError {
    ProtocolError::params(at, &format!("{error}; {hint}"))
}

fn notification(event: &ChangeEvent, subscription: Option<&Id>) -> Vec<u8> {
    let (method, uri) = match event {
        ChangeEvent::ListChanged(ListKind::Tools) => ("notifications/tools/list_changed", None),
        ChangeEvent::ListChanged(ListKind::Prompts) => ("notifications/prompts/list_changed", None),
        ChangeEvent::ListChanged(ListKind::Resources) => ("notifications/resources/list_changed", None),
        ChangeEvent::Updated(uri) => ("notifications/resources/updated", Some(uri)),
    };
    let params = ChangeParams { filter: None, uri, subscription };
    let params = (uri.is_some() || subscription.is_some()).then(|| render(&params));
    let mut out = Vec::with_capacity(192);
    jsonrpc::write_notification(&mut out, method, params.as_ref());
    out
}

/// The parameters of a change notification.
struct ChangeParams<'a> {
    filter: Option<&'a ChangeFilter>,
    uri: Option<&'a ResourceUri>,
    subscription: Option<&'a Id>,
}

impl Serialize for ChangeParams<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { filter, uri, subscription } = self;
        let mut map = serializer.serialize_map(None)?;
        if let Some(filter) = filter {
            map.serialize_entry("notifications", filter)?;
        }
        if let Some(uri) = uri {
            map.serialize_entry("uri", uri.as_str())?;
        }
        if let Some(id) = subscription {
            map.serialize_entry("_meta", &BTreeMap::from([(SUBSCRIPTION_KEY, id_token(id))]))?;
        }
        map.end()
    }
}

/// The result of `subscriptions/listen`.
struct ListenResult<'a> {
    identity: &'a Identity,
    revision: Revision,
    id: &'a Id,
}

impl Serialize for ListenResult<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { identity, revision, id } = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("resultType", "complete")?;
        identity.write_meta(&mut map, *revision, &vec![(SUBSCRIPTION_KEY.to_owned(), id_token(id))])?;
        map.end()
    }
}

/// The exact token of the id.
fn id_token(id: &Id) -> Json {
    Json::parse(id.as_json()).expect("an id is a JSON string or number")
}
