//! Tells the gateway, during a call, that what it keeps of this plugin is out of date. It looks again after the call.

use crate::host::changes;

/// [`Plugin::tools`](crate::Plugin::tools) would answer differently now.
pub fn tools() {
    changes::tools_changed();
}

/// [`Plugin::resources`](crate::Plugin::resources) or [`Plugin::templates`](crate::Plugin::templates) would answer
/// differently now.
pub fn resources() {
    changes::resources_changed();
}

/// [`Plugin::prompts`](crate::Plugin::prompts) would answer differently now.
pub fn prompts() {
    changes::prompts_changed();
}

/// The resource of this URI holds something new. Clients that subscribed to it are told.
pub fn resource(uri: &str) {
    changes::resource_updated(uri);
}
