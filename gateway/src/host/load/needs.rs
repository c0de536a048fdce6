//! From a component's imports to what it needs grants for.

use moongate_core::manifest::Need;
use wasmtime::Engine;
use wasmtime::component::types::{ComponentInstance, ComponentItem};

/// What an imported interface says of its component: by its functions where standard libraries import more of it than
/// they use.
pub(in crate::host) fn needs(engine: &Engine, name: &str, instance: &ComponentInstance) -> Option<Need> {
    let interface = name.split_once('@').map_or(name, |(interface, _)| interface);
    let has = |wanted: &str| {
        let mut functions = instance.exports(engine);
        functions
            .any(|(function, item)| matches!(item.ty, ComponentItem::ComponentFunc(_)) && function == wanted)
    };
    match interface {
        "wasi:filesystem/types" => has("[method]descriptor.open-at").then_some(Need::Files),
        "wasi:http/outgoing-handler" => has("handle").then_some(Need::Http),
        "wasi:keyvalue/store" | "wasi:keyvalue/atomics" => Some(Need::State),
        "wasi:cli/environment" => has("get-environment").then_some(Need::Variables),
        "wasi:config/store" => Some(Need::Settings),
        "moongate:plugin/request" => has("answer").then_some(Need::Client),
        _ => None,
    }
}
