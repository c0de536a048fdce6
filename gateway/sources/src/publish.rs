//! Publishes a component as a Wasm OCI artifact (OCI distribution specification 1.1, "Pushing"; Wasm OCI artifact
//! layout of the CNCF): a configuration that lists exports and imports, and one layer.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::header::LOCATION;
use http::{Method, StatusCode};
use moongate_config::OciReference;
use moongate_model::names::Digest;
use serde_json::json;
use url::Url;

use crate::error::SourceError;
use crate::fetcher::{SourceSettings, connect};
use crate::manifest::{COMPONENT_TYPE, MANIFEST_TYPE, MINISIGN_ANNOTATION};
use crate::registry::{Registry, RegistryAccess, successful};
use crate::signature::MAX_MINISIGN_BYTES;
use crate::source_client::{SourceRequest, failed};

/// The media type of the configuration of a Wasm artifact.
const CONFIG_TYPE: &str = "application/vnd.wasm.config.v0+json";

/// The largest response to an upload, in bytes.
const MAX_RESPONSE_BYTES: u64 = 64 * 1024;

/// A component to publish.
#[derive(Debug, Clone)]
pub struct PublishRequest {
    /// The repository and the tag.
    pub reference: OciReference,
    /// The component.
    pub component: Vec<u8>,
    /// The interfaces that it exports.
    pub exports: Vec<String>,
    /// The interfaces that it imports.
    pub imports: Vec<String>,
    /// Annotations of the manifest, such as `org.opencontainers.image.version`.
    pub annotations: BTreeMap<String, String>,
    /// A minisign signature of the component.
    pub minisign: Option<String>,
    /// The time of the artifact (RFC 3339).
    pub created: String,
}

/// Publishes a component. Returns the reference of the manifest by its digest.
///
/// # Errors
/// The registry doesn't accept it.
pub async fn publish(settings: SourceSettings, request: PublishRequest) -> Result<OciReference, SourceError> {
    let PublishRequest { reference, component, exports, imports, mut annotations, minisign, created } =
        request;
    let Some(tag) = reference.tag().filter(|_| reference.digest().is_none()) else {
        let error = SourceError::new("a component is published under a tag, not under a digest");
        return Err(error.with_hint("end the reference with a tag, such as `:1.2`"));
    };
    if let Some(signature) = minisign {
        if signature.len() as u64 > MAX_MINISIGN_BYTES {
            return Err(SourceError::new("the signature is too large"));
        }
        annotations.insert(MINISIGN_ANNOTATION.to_owned(), signature);
    }
    let component = Bytes::from(component);
    let digest = Digest::of(&component);
    let config = json!({
        "created": created,
        "architecture": "wasm",
        "os": "wasip2",
        "layerDigests": [format!("sha256:{digest}")],
        "component": { "exports": exports, "imports": imports },
    });
    let config = Bytes::from(config.to_string());
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": descriptor(CONFIG_TYPE, &config),
        "layers": [descriptor(COMPONENT_TYPE, &component)],
        "annotations": annotations,
    });
    let manifest = Bytes::from(manifest.to_string());
    let (client, credentials) = connect(settings).await;
    let registry = Registry::new(&client, &credentials, &reference, RegistryAccess::Push)?;
    upload(&registry, config).await?;
    upload(&registry, component).await?;
    let url = registry.url(&format!("manifests/{tag}"))?;
    let manifest_digest = Digest::of(&manifest);
    let mut put = SourceRequest::get(url.clone(), "*/*", MAX_RESPONSE_BYTES);
    put.method = Method::PUT;
    put.content_type = Some(MANIFEST_TYPE);
    put.body = manifest;
    successful(&url, registry.send(put).await?)?;
    Ok(reference.with_digest(manifest_digest))
}

fn descriptor(media_type: &str, content: &Bytes) -> serde_json::Value {
    json!({ "mediaType": media_type, "digest": format!("sha256:{}", Digest::of(content)), "size": content.len() })
}

/// Uploads a blob, unless the registry has it.
async fn upload(registry: &Registry<'_>, content: Bytes) -> Result<(), SourceError> {
    let digest = Digest::of(&content);
    let url = registry.url(&format!("blobs/sha256:{digest}"))?;
    let mut head = SourceRequest::get(url, "*/*", MAX_RESPONSE_BYTES);
    head.method = Method::HEAD;
    if registry.send(head).await?.status == StatusCode::OK {
        return Ok(());
    }
    let url = registry.url("blobs/uploads/")?;
    let mut start = SourceRequest::get(url.clone(), "*/*", MAX_RESPONSE_BYTES);
    start.method = Method::POST;
    let started = successful(&url, registry.send(start).await?)?;
    let location = started.headers.get(LOCATION).and_then(|location| location.to_str().ok());
    let target = location.and_then(|location| url.join(location).ok());
    let mut target = target.ok_or_else(|| failed(&url, &"the registry's response has no upload address"))?;
    check_upload(&url, &target)?;
    target.query_pairs_mut().append_pair("digest", &format!("sha256:{digest}"));
    let mut put = SourceRequest::get(target.clone(), "*/*", MAX_RESPONSE_BYTES);
    put.method = Method::PUT;
    put.content_type = Some("application/octet-stream");
    put.body = content;
    successful(&target, registry.send(put).await?).map(drop)
}

/// Refuses an upload over plain HTTP if the registry uses HTTPS.
fn check_upload(registry: &Url, target: &Url) -> Result<(), SourceError> {
    if registry.scheme() == "https" && target.scheme() != "https" {
        return Err(failed(registry, &"the registry requires the upload over plain HTTP"));
    }
    Ok(())
}
