//! Reports changes to lists and resources to the gateway, which reads them again after the call.

use crate::host::changes;

/// Reports that [`Plugin::tools`](crate::Plugin::tools) has changed.
pub fn tools() {
    changes::tools_changed();
}

/// Reports that [`Plugin::resources`](crate::Plugin::resources) or [`Plugin::templates`](crate::Plugin::templates)
/// has changed.
pub fn resources() {
    changes::resources_changed();
}

/// Reports that [`Plugin::prompts`](crate::Plugin::prompts) has changed.
pub fn prompts() {
    changes::prompts_changed();
}

/// Reports that the resource with this URI has changed. Clients that subscribed to it are notified.
pub fn resource(uri: &str) {
    changes::resource_updated(uri);
}
