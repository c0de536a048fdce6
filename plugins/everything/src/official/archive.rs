//! Files that are compressed with gzip.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use moongate_sdk::ResourceInfo;
use moongate_sdk::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The template of the compressed files' URIs.
pub(crate) const TEMPLATE: &str = "demo://resource/session/{+name}";

const MIME_TYPE: &str = "application/gzip";

/// The maximum size of a file in bytes.
const MAX_SIZE: u64 = 10 * 1024 * 1024;

/// The arguments of `gzip-file-as-resource`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Source {
    /// The name of the compressed file.
    #[serde(default = "Source::default_name")]
    name: String,
    /// The URL of the file: `https:`, `http:` or `data:`. The first two need a grant.
    #[serde(default = "Source::default_data")]
    #[schemars(url)]
    data: String,
    /// The kind of result: 'resource' is the file itself, and 'resourceLink' a link that can be read later.
    #[serde(default)]
    output_type: OutputType,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum OutputType {
    #[default]
    ResourceLink,
    Resource,
}

impl Source {
    fn default_name() -> String {
        "README.md.gz".to_owned()
    }

    fn default_data() -> String {
        "https://raw.githubusercontent.com/modelcontextprotocol/servers/refs/heads/main/README.md".to_owned()
    }
}

/// Compresses a file.
pub(crate) fn compress(source: &Source) -> Result<Content, ToolError> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&read(&source.data)?)?;
    let compressed = encoder.finish()?;
    let uri = uri(&source.name);
    Ok(match source.output_type {
        OutputType::Resource => {
            Content::embedded(ResourceContents::blob(uri, compressed).mime_type(MIME_TYPE))
        }
        OutputType::ResourceLink => {
            kv::set_bytes(&key(&source.name), &compressed)?;
            Content::link(ResourceInfo::new(uri, &source.name).mime_type(MIME_TYPE))
        }
    })
}

/// The compressed file with this name.
pub(crate) fn contents(name: &str) -> Result<ResourceContents, ToolError> {
    let compressed = kv::get_bytes(&key(name))?;
    let compressed = compressed.ok_or_else(|| ToolError::not_found(format!("there is no file `{name}`")))?;
    Ok(ResourceContents::blob(uri(name), compressed).mime_type(MIME_TYPE))
}

fn uri(name: &str) -> String {
    TEMPLATE.replace("{+name}", name)
}

/// The key of a compressed file in the plugin's state.
fn key(name: &str) -> String {
    format!("gzip-{name}")
}

/// The content of a URL.
fn read(url: &str) -> Result<Vec<u8>, ToolError> {
    if let Some(data) = url.strip_prefix("data:") {
        return decode(data).ok_or_else(|| ToolError::failed("invalid data URL"));
    }
    if !url.starts_with("http:") && !url.starts_with("https:") {
        return Err(ToolError::failed(format!(
            "Error processing file {url}: Unsupported URL protocol for {url}. Only http, https, and data URLs are supported."
        )));
    }
    Ok(http::Request::get(url).redirects(5).max_body(MAX_SIZE).send()?.bytes()?)
}

/// The data of a `data:` URL (RFC 2397, section 3).
fn decode(url: &str) -> Option<Vec<u8>> {
    let (kind, data) = url.split_once(',')?;
    let mut bytes = Vec::new();
    let mut rest = data.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        let digits = others.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped =
            digits.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &others[2..] } else { others };
    }
    if kind.ends_with(";base64") { STANDARD.decode(bytes).ok() } else { Some(bytes) }
}
