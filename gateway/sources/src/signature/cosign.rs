//! Signatures that cosign makes with a static key, in both forms in which it stores them.
//!
//! Until version 2, a tag named after the manifest's digest leads to simple signing payloads with signatures in
//! annotations. Since version 3, a Sigstore bundle with a DSSE envelope refers to the manifest. In both, the signed
//! text must name the digest of the manifest. Certificates and transparency logs are ignored: the key is configured.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use moongate_config::SignerId;
use moongate_model::names::Digest;
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use serde::Deserialize;

use super::CosignKey;
use crate::error::SourceError;
use crate::manifest::BlobDescriptor;
use crate::registry::Registry;

#[cfg(any(test, feature = "fuzz"))]
mod fuzz;

#[cfg(any(test, feature = "fuzz"))]
pub use fuzz::fuzz_cosign;

/// The media type of a simple signing payload.
const PAYLOAD_TYPE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

/// The annotation with the signature of a payload.
const SIGNATURE_ANNOTATION: &str = "dev.cosignproject.cosign/signature";

/// The `critical.type` of a simple signing payload.
const SIMPLE_SIGNING: &str = "cosign container image signature";

/// The start of the media types of bundles, before the version.
const BUNDLE_TYPE: &str = "application/vnd.dev.sigstore.bundle";

/// The payload type of an envelope with a statement.
const STATEMENT_TYPE: &str = "application/vnd.in-toto+json";

/// The predicate type of a signature. The same key can sign other statements, such as a scan that found faults.
const SIGNATURE_PREDICATE: &str = "https://sigstore.dev/cosign/sign/v1";

/// The maximum number of signatures that are tried in each form.
const MAX_SIGNATURES: usize = 32;

/// The largest payload or bundle, in bytes.
const MAX_SIGNATURE_BYTES: u64 = 1024 * 1024;

#[derive(Deserialize)]
struct SimpleSigning {
    critical: SignedClaims,
}

#[derive(Deserialize)]
struct SignedClaims {
    image: SignedImage,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct SignedImage {
    #[serde(rename = "docker-manifest-digest")]
    digest: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SigstoreBundle {
    dsse_envelope: Option<DsseEnvelope>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DsseEnvelope {
    payload: String,
    payload_type: String,
    signatures: Vec<DsseSignature>,
}

#[derive(Deserialize)]
struct DsseSignature {
    sig: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SignedStatement {
    subject: Vec<StatementSubject>,
    predicate_type: String,
}

#[derive(Deserialize)]
struct StatementSubject {
    digest: SubjectDigest,
}

#[derive(Deserialize)]
struct SubjectDigest {
    sha256: Option<String>,
}

/// The key that has signed a manifest, or the reason why it is none of them.
///
/// # Errors
/// The registry doesn't respond.
pub(super) async fn verify(
    registry: &Registry<'_>,
    manifest: &Digest,
    keys: &[CosignKey<'_>],
) -> Result<Result<SignerId, String>, SourceError> {
    let mut found = 0;
    for descriptor in simple_signatures(registry, manifest).await? {
        found += 1;
        let signature =
            descriptor.annotations.get(SIGNATURE_ANNOTATION).map(String::as_str).unwrap_or_default();
        let payload = registry.blob(&descriptor, MAX_SIGNATURE_BYTES).await?;
        if let Some(signer) = verify_simple(&payload, signature, manifest, keys) {
            return Ok(Ok(signer));
        }
    }
    for descriptor in bundles(registry, manifest).await? {
        found += 1;
        let bundle = registry.blob(&descriptor, MAX_SIGNATURE_BYTES).await?;
        if let Some(signer) = verify_bundle(&bundle, manifest, keys) {
            return Ok(Ok(signer));
        }
    }
    Ok(Err(match found {
        0 => "it has no cosign signature".to_owned(),
        _ => "its cosign signatures are by other keys, or for another manifest".to_owned(),
    }))
}

/// The payloads of cosign 2.
async fn simple_signatures(
    registry: &Registry<'_>,
    manifest: &Digest,
) -> Result<Vec<BlobDescriptor>, SourceError> {
    let found = registry.find_manifest(&format!("sha256-{manifest}.sig")).await?;
    let layers = found.and_then(|found| found.manifest.layers).unwrap_or_default();
    Ok(layers.into_iter().filter(|layer| layer.media_type == PAYLOAD_TYPE).take(MAX_SIGNATURES).collect())
}

/// The bundles of cosign 3.
async fn bundles(registry: &Registry<'_>, manifest: &Digest) -> Result<Vec<BlobDescriptor>, SourceError> {
    let is_bundle = |media_type: &str| media_type.starts_with(BUNDLE_TYPE);
    // A list in a tag can lack the type.
    let referrers = registry.referrers(manifest).await?.into_iter();
    let referrers = referrers.filter(|referrer| referrer.artifact_type.as_deref().is_none_or(is_bundle));
    let mut bundles = Vec::new();
    for referrer in referrers.take(MAX_SIGNATURES) {
        let found = registry.find_manifest(&format!("sha256:{}", referrer.digest()?)).await?;
        let layers = found.and_then(|found| found.manifest.layers).unwrap_or_default();
        bundles.extend(layers.into_iter().filter(|layer| is_bundle(&layer.media_type)).take(1));
    }
    Ok(bundles)
}

fn verify_simple(
    payload: &[u8],
    signature: &str,
    manifest: &Digest,
    keys: &[CosignKey<'_>],
) -> Option<SignerId> {
    let signer = signer(payload, signature, keys)?;
    let SimpleSigning { critical } = serde_json::from_slice(payload).ok()?;
    let is_for_it = critical.kind == SIMPLE_SIGNING && critical.image.digest == format!("sha256:{manifest}");
    is_for_it.then_some(signer)
}

fn verify_bundle(bundle: &[u8], manifest: &Digest, keys: &[CosignKey<'_>]) -> Option<SignerId> {
    let bundle: SigstoreBundle = serde_json::from_slice(bundle).ok()?;
    let DsseEnvelope { payload, payload_type, signatures } = bundle.dsse_envelope?;
    let payload = BASE64_STANDARD.decode(payload).ok()?;
    let signed = pre_authentication_encoding(&payload_type, &payload);
    let signer = signatures.iter().take(MAX_SIGNATURES).find_map(|its| signer(&signed, &its.sig, keys))?;
    if payload_type != STATEMENT_TYPE {
        return None;
    }
    let statement: SignedStatement = serde_json::from_slice(&payload).ok()?;
    let digest = manifest.to_string();
    let mut subjects = statement.subject.iter();
    let is_for_it = statement.predicate_type == SIGNATURE_PREDICATE
        && subjects.any(|subject| subject.digest.sha256.as_deref() == Some(&digest));
    is_for_it.then_some(signer)
}

/// The signed bytes of a DSSE envelope (DSSE 1.0, "Signature Definition").
fn pre_authentication_encoding(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut signed = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    signed.extend_from_slice(payload);
    signed
}

/// The key of a signature in base64.
fn signer(signed: &[u8], signature: &str, keys: &[CosignKey<'_>]) -> Option<SignerId> {
    let signature = BASE64_STANDARD.decode(signature.trim()).ok()?;
    let is_signed = |point: &[u8]| {
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point).verify(signed, &signature).is_ok()
    };
    keys.iter().find(|(_, point)| is_signed(point)).map(|(key, _)| key.id())
}

#[cfg(test)]
mod tests;
