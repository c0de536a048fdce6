//! Signatures of components: minisign, and cosign with static keys.
//!
//! A minisign signature is over the component. It is in a file beside it (`.minisig`), or in an annotation of the
//! manifest. A cosign signature is over a text that contains the manifest's digest, which contains the component's.

mod cosign;

use std::sync::Arc;

use http::StatusCode;
use minisign_verify::{PublicKey, Signature};
use moongate_config::{SignatureKey, SignatureKeyContent, SignerId, SourceReference};
use url::Url;

use crate::error::{SourceError, foreign};
use crate::fetcher::{ComponentOrigin, SourceFetcher};
use crate::registry::{Registry, RegistryAccess, successful};
use crate::source_client::SourceRequest;

#[cfg(any(test, feature = "fuzz"))]
pub use cosign::fuzz_cosign;

/// The extension of minisign signatures.
pub(crate) const MINISIGN_EXTENSION: &str = ".minisig";

/// The largest minisign signature, in bytes. Its comment is free text.
pub(crate) const MAX_MINISIGN_BYTES: u64 = 16 * 1024;

/// A cosign key: its configuration, and its point.
type CosignKey<'k> = (&'k SignatureKey, &'k [u8]);

/// The key that has signed a component.
///
/// # Errors
/// None of the keys has.
pub(crate) async fn verify(
    fetcher: &SourceFetcher,
    keys: &[Arc<SignatureKey>],
    bytes: &[u8],
    origin: &ComponentOrigin,
    reference: &SourceReference,
) -> Result<SignerId, SourceError> {
    let refused = |reason: &str| {
        let names = keys.iter().map(|key| format!("`{}`", key.name)).collect::<Vec<_>>().join(", ");
        let message = format!("`{}` isn't signed by {names}: {reason}", foreign(&reference.shown()));
        SourceError::new(message)
            .with_hint("ask its publisher for a signature, or correct `signed_by` and `[sources.signers]`")
    };
    match (origin, reference) {
        (ComponentOrigin::Web(url), _) => {
            if !keys.iter().any(|key| matches!(key.content, SignatureKeyContent::Minisign(_))) {
                return Err(refused(
                    "a file on a web server needs a minisign signature, and these are cosign keys",
                ));
            }
            let Some(signature) = minisign_beside(fetcher, url).await? else {
                return Err(refused(&format!("there is no signature `{}`", foreign(&minisign_url(url)))));
            };
            verify_minisign(keys, bytes, &signature).map_err(|reason| refused(&reason))
        }
        (ComponentOrigin::Oci { manifest, minisign }, SourceReference::Oci(reference)) => {
            let mut reasons = Vec::new();
            if let Some(signature) = minisign {
                match verify_minisign(keys, bytes, signature) {
                    Ok(signer) => return Ok(signer),
                    Err(reason) => reasons.push(reason),
                }
            }
            let cosign_keys: Vec<CosignKey<'_>> = keys
                .iter()
                .filter_map(|key| match &key.content {
                    SignatureKeyContent::Cosign(point) => Some((&**key, point.as_slice())),
                    SignatureKeyContent::Minisign(_) => None,
                })
                .collect();
            if !cosign_keys.is_empty() {
                let registry =
                    Registry::new(&fetcher.client, &fetcher.credentials, reference, RegistryAccess::Pull)?;
                match cosign::verify(&registry, manifest, &cosign_keys).await? {
                    Ok(signer) => return Ok(signer),
                    Err(reason) => reasons.push(reason),
                }
            }
            let reason =
                if reasons.is_empty() { "it has no signature".to_owned() } else { reasons.join("; ") };
            Err(refused(&reason))
        }
        (ComponentOrigin::Oci { .. }, SourceReference::Web(_)) => {
            unreachable!("a web server has no manifests")
        }
    }
}

/// The address of the signature of a file.
fn minisign_url(url: &Url) -> Url {
    let mut signature = url.clone();
    signature.set_path(&format!("{}{MINISIGN_EXTENSION}", url.path()));
    signature
}

/// The signature beside a file. `None` if there is none.
async fn minisign_beside(fetcher: &SourceFetcher, url: &Url) -> Result<Option<String>, SourceError> {
    let url = minisign_url(url);
    let response = fetcher.client.send(SourceRequest::get(url.clone(), "*/*", MAX_MINISIGN_BYTES)).await?;
    if matches!(response.status, StatusCode::NOT_FOUND | StatusCode::GONE | StatusCode::FORBIDDEN) {
        return Ok(None); // some object stores say "forbidden" if there is no file
    }
    Ok(Some(String::from_utf8_lossy(&successful(&url, response)?.body).into_owned()))
}

/// The key of a minisign signature. The error is the reason why it is none of them.
pub(crate) fn verify_minisign(
    keys: &[Arc<SignatureKey>],
    bytes: &[u8],
    signature: &str,
) -> Result<SignerId, String> {
    let signature = Signature::decode(signature.trim_end())
        .map_err(|_| "its minisign signature is damaged".to_owned())?;
    let mut reason = "its minisign signature is by another key";
    for key in keys {
        let SignatureKeyContent::Minisign(text) = &key.content else { continue };
        let Ok(public_key) = PublicKey::from_base64(text) else { continue };
        match public_key.verify(bytes, &signature, true) {
            Ok(()) => return Ok(key.id()),
            Err(minisign_verify::Error::UnexpectedKeyId) => {}
            Err(_) => reason = "its minisign signature isn't valid for these bytes: one of them was replaced",
        }
    }
    Err(reason.to_owned())
}

#[cfg(test)]
mod tests;
