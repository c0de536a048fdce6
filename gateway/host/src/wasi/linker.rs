//! The linker with everything that plugins can import, and the check of a plugin's imports before it is linked.
//!
//! The linker would also reject an unknown import, but its message doesn't help an operator. So imports are compared
//! with a table first. A test links each entry of the table.

use moongate_model::manifest::{GuestCapability, Interfaces};
use wasmtime::Engine;
use wasmtime::component::types::{ComponentInstance, ComponentItem};
use wasmtime::component::{Component, HasSelf, Linker};

use crate::bindings::{
    cancellation, changes, config_store, kv_atomics, kv_store, log, progress, request, types,
};
use crate::diagnostics::text;
use crate::load::error::{LoadError, quoted_list};
use crate::sandbox::store::StoreState;
use crate::wasi::contract::{CancellationData, ContractState};
use crate::wasi::http::linker as http;
use crate::wasi::keyvalue::host::KeyValueData;
use crate::wasi::{cli, files};

/// The package of the contract.
pub(crate) const CONTRACT_PACKAGE: &str = "moongate:plugin";
/// The version of the contract that this gateway supports, with any patch number.
const CONTRACT_VERSION: &str = "0.1";

/// The contract's interfaces that plugins can import, with all their functions.
const CONTRACT_IMPORTS: [(&str, &[&str]); 6] = [
    ("types", &[]),
    (
        "request",
        &[
            "principal",
            "client",
            "revision",
            "capability",
            "meta-value",
            "answer",
            "state",
            "remaining-ms",
            "cancelled",
        ],
    ),
    ("cancellation", &["subscribe"]),
    ("log", &["enabled", "write"]),
    ("progress", &["report"]),
    ("changes", &["tools-changed", "resources-changed", "prompts-changed", "resource-updated"]),
];

/// The contract's interfaces that plugins can export.
const CONTRACT_EXPORTS: [&str; 6] = ["lifecycle", "tools", "resources", "prompts", "completions", "types"];

/// WASI's interfaces in version 0.2.
const WASI_IMPORTS: [&str; 29] = [
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stderr",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stderr",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:filesystem/preopens",
    "wasi:filesystem/types",
    "wasi:http/outgoing-handler",
    "wasi:http/types",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:random/random",
    "wasi:sockets/instance-network",
    "wasi:sockets/ip-name-lookup",
    "wasi:sockets/network",
    "wasi:sockets/tcp",
    "wasi:sockets/tcp-create-socket",
    "wasi:sockets/udp",
    "wasi:sockets/udp-create-socket",
];

/// Draft interfaces, which match only in this exact version.
const DRAFT_IMPORTS: [&str; 3] = [
    "wasi:config/store@0.2.0-rc.1",
    "wasi:keyvalue/atomics@0.2.0-draft2",
    "wasi:keyvalue/store@0.2.0-draft2",
];

/// A linker with everything that plugins can import.
pub(crate) fn linker(engine: &Engine) -> wasmtime::Result<Linker<StoreState>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    files::add_to_linker(&mut linker)?;
    http::add_to_linker(&mut linker)?;
    cli::add_to_linker(&mut linker)?;
    type Contract = HasSelf<ContractState>;
    types::add_to_linker::<StoreState, Contract>(&mut linker, StoreState::contract)?;
    request::add_to_linker::<StoreState, Contract>(&mut linker, StoreState::contract)?;
    log::add_to_linker::<StoreState, Contract>(&mut linker, StoreState::contract)?;
    progress::add_to_linker::<StoreState, Contract>(&mut linker, StoreState::contract)?;
    changes::add_to_linker::<StoreState, Contract>(&mut linker, StoreState::contract)?;
    config_store::add_to_linker::<StoreState, Contract>(&mut linker, StoreState::contract)?;
    cancellation::add_to_linker::<StoreState, CancellationData>(&mut linker, StoreState::cancellation)?;
    kv_store::add_to_linker::<StoreState, KeyValueData>(&mut linker, StoreState::key_value)?;
    kv_atomics::add_to_linker::<StoreState, KeyValueData>(&mut linker, StoreState::key_value)?;
    Ok(linker)
}

/// Properties of a component, determined from its imports and exports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Imports {
    /// True if it checks for cancellation, and so can end by itself.
    pub(crate) watches_cancel: bool,
    /// All imports and exports.
    pub(crate) interfaces: Interfaces,
}

/// Compares a component's imports and exports with the tables.
///
/// # Errors
/// It was built for another version of the contract, or has unknown imports. The error names all of them.
pub(crate) fn check(engine: &Engine, component: &Component) -> Result<Imports, LoadError> {
    let component = component.component_type();
    let mut interfaces = Interfaces::default();
    let mut newer = Vec::new();
    let mut unknown = Vec::new();
    let mut ignored = Vec::new();
    let mut watches_cancel = false;
    for (name, item) in component.imports(engine) {
        interfaces.imports.push(name.to_owned());
        if let ComponentItem::ComponentInstance(instance) = &item.ty {
            interfaces.capabilities.extend(need_of(engine, name, instance));
        }
        let Some((interface, version)) = contract_interface(name) else {
            if !is_known(name) && needs_implementation(engine, &item.ty) {
                unknown.push(name.to_owned());
            }
            continue;
        };
        check_version(name, version)?;
        let Some((_, known)) = CONTRACT_IMPORTS.iter().find(|(known, _)| *known == interface) else {
            newer.push(interface.to_owned());
            continue;
        };
        let ComponentItem::ComponentInstance(instance) = item.ty else { continue };
        for (function, item) in instance.exports(engine) {
            if !matches!(item.ty, ComponentItem::ComponentFunc(_)) {
                continue;
            }
            watches_cancel |= matches!((interface, function), ("request", "cancelled") | ("cancellation", _));
            if !known.contains(&function) {
                newer.push(format!("{interface}.{function}"));
            }
        }
    }
    for (name, _) in component.exports(engine) {
        interfaces.exports.push(name.to_owned());
        if let Some((interface, version)) = contract_interface(name) {
            check_version(name, version)?;
            if !CONTRACT_EXPORTS.contains(&interface) {
                ignored.push(name.to_owned());
            }
        }
    }
    if !ignored.is_empty() {
        tracing::warn!(
            "the component also exports {}, which this gateway doesn't know and ignores",
            quoted_list(&ignored)
        );
    }
    if !newer.is_empty() {
        return Err(LoadError::NewerFunctions { functions: newer });
    }
    if !unknown.is_empty() {
        return Err(LoadError::UnknownImports { imports: unknown });
    }
    Ok(Imports { watches_cancel, interfaces })
}

/// The need for a grant, determined from an imported interface and its functions.
fn need_of(engine: &Engine, name: &str, instance: &ComponentInstance) -> Option<GuestCapability> {
    GuestCapability::of_import(name, |wanted| {
        let mut functions = instance.exports(engine);
        functions
            .any(|(function, item)| matches!(item.ty, ComponentItem::ComponentFunc(_)) && function == wanted)
    })
}

/// The interface and the version in a name of the contract's package.
fn contract_interface(name: &str) -> Option<(&str, &str)> {
    let rest = name.strip_prefix(CONTRACT_PACKAGE)?.strip_prefix('/')?;
    Some(rest.split_once('@').unwrap_or((rest, "")))
}

/// Rejects another version of the contract.
fn check_version(name: &str, version: &str) -> Result<(), LoadError> {
    let is_patch = version.strip_prefix(CONTRACT_VERSION).and_then(|rest| rest.strip_prefix('.')).is_some();
    if is_patch {
        return Ok(());
    }
    Err(LoadError::ContractVersion {
        version: text::clean_line(version, text::MAX_WORD_BYTES),
        name: text::clean_line(name, text::MAX_WORD_BYTES),
        spoken: CONTRACT_VERSION,
    })
}

/// False for an import that only names types, such as a record that a component's world defines.
fn needs_implementation(engine: &Engine, item: &ComponentItem) -> bool {
    match item {
        ComponentItem::Type(_) => false,
        ComponentItem::ComponentInstance(instance) => {
            let mut members = instance.exports(engine);
            members.len() == 0 || members.any(|(_, item)| !matches!(item.ty, ComponentItem::Type(_)))
        }
        ComponentItem::ComponentFunc(_)
        | ComponentItem::CoreFunc(_)
        | ComponentItem::Module(_)
        | ComponentItem::Component(_)
        | ComponentItem::Resource(_) => true,
    }
}

/// True for an interface of WASI in a known version.
fn is_known(name: &str) -> bool {
    let Some((interface, version)) = name.split_once('@') else { return false };
    DRAFT_IMPORTS.contains(&name)
        || (version.starts_with("0.2.") && !version.contains('-') && WASI_IMPORTS.contains(&interface))
}

/// The version in which an interface of WASI is offered. `None` if it isn't offered at all.
pub(crate) fn offered_version(interface: &str) -> Option<&'static str> {
    let drafts = DRAFT_IMPORTS.iter().filter_map(|draft| draft.split_once('@'));
    let draft = drafts.into_iter().find(|(name, _)| *name == interface).map(|(_, version)| version);
    draft.or_else(|| WASI_IMPORTS.contains(&interface).then_some("0.2.0"))
}

#[cfg(test)]
mod tests;
