//! The origin of a component, as it claims: the tools that built it, its source, and its software bill of materials.
//!
//! The sections that the WebAssembly tool conventions and `wasm-tools metadata add` define, the older
//! `registry-metadata`, and `.dep-v0` of cargo-auditable. None of it is verified: it comes from the author, or from
//! anyone who has changed the file since.

use std::collections::BTreeSet;
use std::io::Read as _;

use flate2::read::ZlibDecoder;
use serde::Deserialize;
use wasmparser::{KnownCustom, Parser, Payload, ProducersSectionReader};

/// Sections with one text each.
const TEXT_SECTIONS: [&str; 7] =
    ["authors", "description", "homepage", "licenses", "revision", "source", "version"];

/// The section of older versions of cargo-component.
const REGISTRY_SECTION: &str = "registry-metadata";

/// The section of cargo-auditable.
const AUDITABLE_SECTION: &str = ".dep-v0";

/// The longest text, in bytes. Longer ones are left out.
const MAX_TEXT_BYTES: usize = 4096;

/// The largest decompressed bill of materials, in bytes.
const MAX_AUDITABLE_BYTES: u64 = 8 * 1024 * 1024;

/// The maximum number of entries of each kind. Further ones are left out.
const MAX_ENTRIES: usize = 10_000;

/// The origin of a component, as it claims. All texts are foreign.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provenance {
    /// Fields such as `source` and `licenses`, with their values.
    pub fields: BTreeSet<(String, String)>,
    /// The producers: a field such as `processed-by`, a name and a version.
    pub producers: BTreeSet<(String, String, String)>,
    /// The bill of materials. `None` if there is none.
    pub packages: Option<BTreeSet<AuditedPackage>>,
}

/// A package in a bill of materials.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct AuditedPackage {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The registry or repository that it comes from.
    pub source: String,
    /// `build` for a dependency of build scripts.
    #[serde(default)]
    pub kind: String,
}

/// The bill of materials of cargo-auditable.
#[derive(Deserialize)]
struct AuditedPackages {
    packages: Vec<AuditedPackage>,
}

/// The content of `registry-metadata`.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct RegistryMetadata {
    authors: Vec<String>,
    description: Option<String>,
    license: Option<String>,
    links: Vec<RegistryLink>,
}

#[derive(Deserialize)]
struct RegistryLink {
    #[serde(rename = "type")]
    kind: String,
    value: String,
}

impl Provenance {
    /// Reads the sections of a component and of the modules and components in it. Sections that can't be read are left
    /// out.
    #[must_use]
    pub fn read(component: &[u8]) -> Self {
        let mut provenance = Self::default();
        let mut depth = 0_usize;
        for payload in Parser::new(0).parse_all(component) {
            match payload {
                Ok(Payload::ModuleSection { .. } | Payload::ComponentSection { .. }) => depth += 1,
                Ok(Payload::End(_)) => depth = depth.saturating_sub(1),
                Ok(Payload::CustomSection(section)) => match section.as_known() {
                    KnownCustom::Producers(producers) => provenance.add_producers(producers),
                    // Fields of a module in it aren't about the component.
                    _ => provenance.add_section(section.name(), section.data(), depth == 0),
                },
                Ok(_) => {}
                Err(_) => break, // loading reports it
            }
        }
        provenance
    }

    /// True if the component says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { fields, producers, packages } = self;
        fields.is_empty() && producers.is_empty() && packages.is_none()
    }

    fn add_section(&mut self, name: &str, data: &[u8], is_outermost: bool) {
        if is_outermost && TEXT_SECTIONS.contains(&name) {
            self.add_field(name, &String::from_utf8_lossy(data));
        } else if is_outermost && name == REGISTRY_SECTION {
            let RegistryMetadata { authors, description, license, links } =
                serde_json::from_slice(data).unwrap_or_default();
            authors.iter().for_each(|author| self.add_field("authors", author));
            description.iter().for_each(|description| self.add_field("description", description));
            license.iter().for_each(|license| self.add_field("licenses", license));
            links.iter().for_each(|link| self.add_field(&link.kind.to_lowercase(), &link.value));
        } else if name == AUDITABLE_SECTION
            && let Some(AuditedPackages { packages }) = audited_packages(data)
        {
            let all = self.packages.get_or_insert_default();
            let room = MAX_ENTRIES.saturating_sub(all.len());
            let is_short = |package: &AuditedPackage| {
                let AuditedPackage { name, version, source, kind } = package;
                [name, version, source, kind].iter().all(|text| text.len() <= MAX_TEXT_BYTES)
            };
            all.extend(packages.into_iter().filter(is_short).take(room));
        }
    }

    fn add_field(&mut self, name: &str, value: &str) {
        if !value.is_empty() && value.len() <= MAX_TEXT_BYTES && self.fields.len() < MAX_ENTRIES {
            self.fields.insert((name.to_owned(), value.to_owned()));
        }
    }

    fn add_producers(&mut self, producers: ProducersSectionReader<'_>) {
        for field in producers.into_iter().map_while(Result::ok) {
            for value in field.values.into_iter().map_while(Result::ok) {
                let texts = [field.name, value.name, value.version];
                if texts.iter().all(|text| text.len() <= MAX_TEXT_BYTES) && self.producers.len() < MAX_ENTRIES
                {
                    let [field, name, version] = texts.map(str::to_owned);
                    self.producers.insert((field, name, version));
                }
            }
        }
    }
}

/// The packages in a compressed bill of materials. `None` if it can't be read or is too large.
fn audited_packages(data: &[u8]) -> Option<AuditedPackages> {
    let mut text = Vec::new();
    ZlibDecoder::new(data).take(MAX_AUDITABLE_BYTES + 1).read_to_end(&mut text).ok()?;
    if text.len() as u64 > MAX_AUDITABLE_BYTES {
        return None;
    }
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests;
