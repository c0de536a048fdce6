//! What the gateway offers to plugins, and the reading of what a plugin imports before it is linked.
//!
//! The linker would refuse an unknown import too, but in words that tell an operator nothing; what is asked for is
//! therefore compared with a table first. A test links each entry of the table.

use moongate_core::manifest::Interfaces;
use wasmtime::Engine;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, HasSelf, Linker};

use crate::host::bindings::{
    cancellation, changes, config_store, kv_atomics, kv_store, log, progress, request, types,
};
use crate::host::diagnostics::text;
use crate::host::load::error::{LoadError, list};
use crate::host::load::needs;
use crate::host::sandbox::store::State;
use crate::host::wasi::http::linker as http;
use crate::host::wasi::{environment, files, stdio};

/// The package of the contract.
pub(in crate::host) const PACKAGE: &str = "moongate:plugin";
/// The version of the contract that this gateway speaks: any patch of it.
const MINOR: &str = "0.1";

/// The contract's interfaces that plugins may import, with all their functions.
const CONTRACT: [(&str, &[&str]); 6] = [
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

/// The contract's interfaces that plugins may export.
const EXPORTS: [&str; 6] = ["lifecycle", "tools", "resources", "prompts", "completions", "types"];

/// WASI's interfaces in version 0.2.
const WASI: [&str; 29] = [
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

/// Interfaces that are still drafts: only the exact version matches.
const DRAFTS: [&str; 3] = [
    "wasi:config/store@0.2.0-rc.1",
    "wasi:keyvalue/atomics@0.2.0-draft2",
    "wasi:keyvalue/store@0.2.0-draft2",
];

/// A linker with all that is offered.
pub(in crate::host) fn linker(engine: &Engine) -> wasmtime::Result<Linker<State>> {
    type Own = HasSelf<State>;
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    files::add_to_linker(&mut linker)?;
    http::add_to_linker(&mut linker)?;
    stdio::add_to_linker(&mut linker)?;
    environment::add_to_linker(&mut linker)?;
    types::add_to_linker::<State, Own>(&mut linker, |state| state)?;
    request::add_to_linker::<State, Own>(&mut linker, |state| state)?;
    cancellation::add_to_linker::<State, Own>(&mut linker, |state| state)?;
    log::add_to_linker::<State, Own>(&mut linker, |state| state)?;
    progress::add_to_linker::<State, Own>(&mut linker, |state| state)?;
    changes::add_to_linker::<State, Own>(&mut linker, |state| state)?;
    config_store::add_to_linker::<State, Own>(&mut linker, |state| state)?;
    kv_store::add_to_linker::<State, Own>(&mut linker, |state| state)?;
    kv_atomics::add_to_linker::<State, Own>(&mut linker, |state| state)?;
    Ok(linker)
}

/// What a component's imports say of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::host) struct Imports {
    /// It asks whether its caller has lost interest, and so may end by itself.
    pub(in crate::host) watches_cancel: bool,
    /// All of them, and the exports.
    pub(in crate::host) interfaces: Interfaces,
}

/// Compares what a component imports and exports with what is offered.
///
/// # Errors
/// It was made for another version of the contract, or needs something that isn't offered; all such are named.
pub(in crate::host) fn check(engine: &Engine, component: &Component) -> Result<Imports, LoadError> {
    let component = component.component_type();
    let mut interfaces = Interfaces::default();
    let (mut newer, mut unknown, mut ignored) = (Vec::new(), Vec::new(), Vec::new());
    let mut watches_cancel = false;
    for (name, item) in component.imports(engine) {
        interfaces.imports.push(name.to_owned());
        if let ComponentItem::ComponentInstance(instance) = &item.ty {
            interfaces.needs.extend(needs::needs(engine, name, instance));
        }
        let Some((interface, version)) = of_contract(name) else {
            if !is_offered(name) {
                unknown.push(name.to_owned());
            }
            continue;
        };
        speaks(name, version)?;
        let Some((_, offered)) = CONTRACT.iter().find(|(its, _)| *its == interface) else {
            newer.push(interface.to_owned());
            continue;
        };
        let ComponentItem::ComponentInstance(instance) = item.ty else { continue };
        for (function, item) in instance.exports(engine) {
            if !matches!(item.ty, ComponentItem::ComponentFunc(_)) {
                continue;
            }
            watches_cancel |= matches!((interface, function), ("request", "cancelled") | ("cancellation", _));
            if !offered.contains(&function) {
                newer.push(format!("{interface}.{function}"));
            }
        }
    }
    for (name, _) in component.exports(engine) {
        interfaces.exports.push(name.to_owned());
        if let Some((interface, version)) = of_contract(name) {
            speaks(name, version)?;
            if !EXPORTS.contains(&interface) {
                ignored.push(name.to_owned());
            }
        }
    }
    if !ignored.is_empty() {
        tracing::warn!("it also exports {}, which this gateway doesn't know and won't use", list(&ignored));
    }
    if !newer.is_empty() {
        return Err(LoadError::NewerFunctions { functions: newer });
    }
    if !unknown.is_empty() {
        return Err(LoadError::UnknownImports { imports: unknown });
    }
    Ok(Imports { watches_cancel, interfaces })
}

/// The interface and the version in a name of the contract's package.
fn of_contract(name: &str) -> Option<(&str, &str)> {
    let rest = name.strip_prefix(PACKAGE)?.strip_prefix('/')?;
    Some(rest.split_once('@').unwrap_or((rest, "")))
}

/// Refuses another version of the contract.
fn speaks(name: &str, version: &str) -> Result<(), LoadError> {
    let is_patch = version.strip_prefix(MINOR).and_then(|rest| rest.strip_prefix('.')).is_some();
    if is_patch {
        return Ok(());
    }
    let (version, name) = (text::line(version, text::WORD), text::line(name, text::WORD));
    Err(LoadError::Contract { version, name, spoken: MINOR })
}

/// Is it WASI's, in a version that is offered?
fn is_offered(name: &str) -> bool {
    let Some((interface, version)) = name.split_once('@') else { return false };
    DRAFTS.contains(&name)
        || (version.starts_with("0.2.") && !version.contains('-') && WASI.contains(&interface))
}

#[cfg(test)]
mod tests;
