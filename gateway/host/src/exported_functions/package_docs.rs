//! The documentation of functions in a component's section `package-docs`.
//!
//! Tools write this section into WIT packages, and into components only on request. Its format is that of `wit-parser`:
//! a version, and a JSON object.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The name of the section.
const SECTION_NAME: &[u8] = b"package-docs";
/// The supported versions.
const VERSIONS: [u8; 2] = [0, 1];
/// The longest section that is read, in bytes.
const MAX_SECTION_BYTES: usize = 1 << 20;
/// The length of the header before the sections of a component.
const HEADER_BYTES: usize = 8;

#[derive(Deserialize)]
struct PackageDocs {
    #[serde(default)]
    worlds: BTreeMap<String, WorldDocs>,
    #[serde(default)]
    interfaces: BTreeMap<String, InterfaceDocs>,
}

#[derive(Deserialize)]
struct WorldDocs {
    #[serde(default)]
    interfaces: BTreeMap<String, InterfaceDocs>,
    #[serde(default)]
    interface_exports: BTreeMap<String, InterfaceDocs>,
    #[serde(default)]
    funcs: BTreeMap<String, FunctionDocs>,
    #[serde(default)]
    func_exports: BTreeMap<String, FunctionDocs>,
}

#[derive(Deserialize)]
struct InterfaceDocs {
    #[serde(default)]
    funcs: BTreeMap<String, FunctionDocs>,
}

/// The documentation of a function: text in version 0, an object in version 1.
#[derive(Deserialize)]
#[serde(untagged)]
enum FunctionDocs {
    Text(Option<String>),
    Object { docs: Option<String> },
}

/// The key of a function's documentation. `interface` is its name without package and version.
pub(crate) fn key(interface: Option<&str>, function: &str) -> String {
    match interface {
        Some(interface) => format!("{interface}#{function}"),
        None => function.to_owned(),
    }
}

/// The documentation of the functions of a component, by their keys. Empty if there is none that can be read.
pub(crate) fn read(component: &[u8]) -> BTreeMap<String, String> {
    let section = find_section(component.get(HEADER_BYTES..).unwrap_or_default());
    let Some((version, json)) =
        section.filter(|section| section.len() <= MAX_SECTION_BYTES).and_then(<[u8]>::split_first)
    else {
        return BTreeMap::new();
    };
    let docs = Some(json).filter(|_| VERSIONS.contains(version));
    let Some(PackageDocs { worlds, interfaces }) = docs.and_then(|json| serde_json::from_slice(json).ok())
    else {
        tracing::debug!("ignoring a section `package-docs` that can't be read");
        return BTreeMap::new();
    };
    let mut found = BTreeMap::new();
    let mut add = |interface: Option<&str>, functions: BTreeMap<String, FunctionDocs>| {
        for (function, docs) in functions {
            let (FunctionDocs::Text(docs) | FunctionDocs::Object { docs }) = docs;
            found.extend(docs.map(|docs| (key(interface, &function), docs)));
        }
    };
    for (name, interface) in interfaces {
        add(Some(&name), interface.funcs);
    }
    for WorldDocs { interfaces, interface_exports, funcs, func_exports } in worlds.into_values() {
        for (name, interface) in interfaces.into_iter().chain(interface_exports) {
            add(Some(&name), interface.funcs);
        }
        add(None, funcs);
        add(None, func_exports);
    }
    found
}

/// The contents of the first custom section with the name, among the sections of a component.
fn find_section(mut rest: &[u8]) -> Option<&[u8]> {
    while let Some((id, after)) = rest.split_first() {
        let (length, after) = read_length(after)?;
        let (section, after) = after.split_at_checked(length)?;
        if *id == 0 {
            let (length, named) = read_length(section)?;
            let (name, contents) = named.split_at_checked(length)?;
            if name == SECTION_NAME {
                return Some(contents);
            }
        }
        rest = after;
    }
    None
}

/// A number in LEB128, and the bytes after it.
fn read_length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let end = bytes.iter().take(5).position(|byte| byte & 0x80 == 0)?;
    let (number, rest) = bytes.split_at_checked(end + 1)?;
    let number = number.iter().rev().fold(0_u64, |sum, byte| sum << 7 | u64::from(byte & 0x7f));
    Some((usize::try_from(number).ok()?, rest))
}
