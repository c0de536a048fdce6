//! Requests to an OCI registry (OCI distribution specification 1.1), and logging in to it.
//!
//! A registry is trusted with nothing but its availability: manifests and blobs are requested by their digests, and
//! digests are computed over what was received. Only a tag's digest comes from the registry.

use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use bytesize::ByteSize;
use http::header::{HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use http::{Method, StatusCode};
use moongate_config::{OciReference, parse_host_and_port, parse_web_address};
use moongate_model::names::Digest;
use moongate_model::secret::Secret;
use serde::Deserialize;
use url::Url;
use url::form_urlencoded::Serializer;

use crate::credentials::{CredentialFiles, RegistryCredential, is_docker_hub};
use crate::error::{SourceError, foreign};
use crate::manifest::{ACCEPTED_TYPES, ArtifactManifest, BlobDescriptor, INDEX_TYPE};
use crate::source_client::{SourceClient, SourceRequest, SourceResponse, failed};

/// The largest manifest, in bytes. The specification recommends this limit to registries.
pub(crate) const MAX_MANIFEST_BYTES: u64 = 4 * 1024 * 1024;

/// The largest response of an authorization server, in bytes.
const MAX_TOKEN_BYTES: u64 = 64 * 1024;

/// The client that refreshes a token, for the log of the authorization server.
const CLIENT_ID: &str = "moongate";

/// The actions that a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RegistryAccess {
    Pull,
    Push,
}

/// A repository in a registry.
#[derive(Debug)]
pub(crate) struct Registry<'a> {
    client: &'a SourceClient,
    credentials: &'a CredentialFiles,
    reference: &'a OciReference,
    /// The address of the repository in the API.
    base: Url,
    access: RegistryAccess,
    authorization: Mutex<Option<HeaderValue>>,
}

/// A manifest as received.
#[derive(Debug, Clone)]
pub(crate) struct FetchedManifest {
    pub(crate) digest: Digest,
    pub(crate) manifest: ArtifactManifest,
}

/// The response of an authorization server.
#[derive(Deserialize)]
struct TokenResponse {
    token: Option<String>,
    access_token: Option<String>,
}

/// The response to a request that failed.
#[derive(Deserialize)]
struct ErrorResponse {
    errors: Vec<RegistryError>,
}

#[derive(Deserialize)]
struct RegistryError {
    code: String,
    #[serde(default)]
    message: String,
}

impl<'a> Registry<'a> {
    /// The repository of a reference.
    ///
    /// # Errors
    /// The registry isn't a host.
    pub(crate) fn new(
        client: &'a SourceClient,
        credentials: &'a CredentialFiles,
        reference: &'a OciReference,
        access: RegistryAccess,
    ) -> Result<Self, SourceError> {
        let invalid = || SourceError::new(format!("`{}` isn't a registry", foreign(&reference.registry())));
        let (host, port) = parse_host_and_port(reference.registry()).ok_or_else(invalid)?;
        let scheme = if client.plain_http().contains(&host, port) { "http" } else { "https" };
        let base = if is_docker_hub(reference.registry()) {
            let library = if reference.repository().contains('/') { "" } else { "library/" };
            format!("https://registry-1.docker.io/v2/{library}{}/", reference.repository())
        } else {
            format!("{scheme}://{}/v2/{}/", reference.registry(), reference.repository())
        };
        let base = Url::parse(&base).map_err(|_| invalid())?;
        Ok(Self { client, credentials, reference, base, access, authorization: Mutex::default() })
    }

    /// The manifest with a tag or a digest. `None` if there is none.
    ///
    /// # Errors
    /// The registry doesn't respond with it.
    pub(crate) async fn find_manifest(&self, version: &str) -> Result<Option<FetchedManifest>, SourceError> {
        let url = self.url(&format!("manifests/{version}"))?;
        let request = SourceRequest::get(url.clone(), ACCEPTED_TYPES, MAX_MANIFEST_BYTES);
        let response = self.send(request).await?;
        if response.status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let body = successful(&url, response)?.body;
        let digest = Digest::of(&body);
        if let Some(wanted) = version.strip_prefix("sha256:").filter(|wanted| *wanted != digest.to_string()) {
            return Err(failed(
                &url,
                &format_args!(
                    "the registry sent another manifest, sha256:{digest} instead of sha256:{wanted}"
                ),
            ));
        }
        let manifest = ArtifactManifest::parse(&body).map_err(|error| failed(&url, &error))?;
        Ok(Some(FetchedManifest { digest, manifest }))
    }

    /// The manifest that the reference names.
    ///
    /// # Errors
    /// There is none, or the registry doesn't respond with it.
    pub(crate) async fn manifest(&self) -> Result<FetchedManifest, SourceError> {
        let by_digest = self.reference.digest().map(|digest| format!("sha256:{digest}"));
        let version = by_digest.as_deref().or(self.reference.tag()).unwrap_or_default();
        let found = self.find_manifest(version).await?;
        found.ok_or_else(|| {
            let message = format!("`{}` doesn't exist", self.reference);
            SourceError::new(message).with_hint("correct the repository, the tag or the digest")
        })
    }

    /// A blob, checked against its descriptor.
    ///
    /// # Errors
    /// The registry doesn't respond with it, or it is larger than `max_bytes`.
    pub(crate) async fn blob(
        &self,
        descriptor: &BlobDescriptor,
        max_bytes: u64,
    ) -> Result<Bytes, SourceError> {
        let digest = descriptor.digest()?;
        if descriptor.size > max_bytes {
            let sizes = [descriptor.size, max_bytes].map(|size| ByteSize::b(size).display().iec());
            return Err(SourceError::new(format!("it has {}; at most {} are allowed", sizes[0], sizes[1])));
        }
        let blob = self.checked_blob(&digest, descriptor.size, ", which its manifest announces").await?;
        if blob.len() as u64 != descriptor.size {
            let message = format!(
                "the manifest announces {} bytes, and the registry sent {}",
                descriptor.size,
                blob.len()
            );
            return Err(SourceError::new(message));
        }
        Ok(blob)
    }

    /// The blob with a digest.
    ///
    /// # Errors
    /// The registry doesn't respond with it, or it is larger than `max_bytes`.
    pub(crate) async fn blob_by_digest(&self, digest: &Digest, max_bytes: u64) -> Result<Bytes, SourceError> {
        self.checked_blob(digest, max_bytes, "").await
    }

    async fn checked_blob(
        &self,
        digest: &Digest,
        max_bytes: u64,
        limit_origin: &'static str,
    ) -> Result<Bytes, SourceError> {
        let url = self.url(&format!("blobs/sha256:{digest}"))?;
        let request = SourceRequest { limit_origin, ..SourceRequest::get(url.clone(), "*/*", max_bytes) };
        let response = self.send(request).await?;
        let body = successful(&url, response)?.body;
        let received = Digest::of(&body);
        if received != *digest {
            return Err(failed(
                &url,
                &format_args!("the registry sent other content, with the digest sha256:{received}"),
            ));
        }
        Ok(body)
    }

    /// The descriptors of artifacts that refer to a manifest: from the referrers API, or otherwise from the tag that
    /// replaces it (OCI distribution specification 1.1, "Listing Referrers").
    ///
    /// # Errors
    /// The registry doesn't respond with a list.
    pub(crate) async fn referrers(&self, digest: &Digest) -> Result<Vec<BlobDescriptor>, SourceError> {
        let url = self.url(&format!("referrers/sha256:{digest}"))?;
        let response = self.send(SourceRequest::get(url.clone(), INDEX_TYPE, MAX_MANIFEST_BYTES)).await?;
        let is_list = response
            .headers
            .get(http::header::CONTENT_TYPE)
            .is_some_and(|its| its.as_bytes().starts_with(INDEX_TYPE.as_bytes()));
        if response.status == StatusCode::OK && is_list {
            let index = ArtifactManifest::parse(&response.body).map_err(|error| failed(&url, &error))?;
            return Ok(index.manifests.unwrap_or_default());
        }
        let index = self.find_manifest(&format!("sha256-{digest}")).await?;
        Ok(index.and_then(|index| index.manifest.manifests).unwrap_or_default())
    }

    /// An address below that of the repository.
    pub(crate) fn url(&self, path: &str) -> Result<Url, SourceError> {
        self.base.join(path).map_err(|error| failed(&self.base, &error))
    }

    /// Sends a request, and logs in if the registry requires it.
    ///
    /// # Errors
    /// The registry doesn't respond, or denies access.
    pub(crate) async fn send(&self, mut request: SourceRequest) -> Result<SourceResponse, SourceError> {
        // A registry can name another host for uploads, and redirect to one. Neither gets its credentials, nor can name a
        // server that does.
        let is_own = |url: &Url| url.origin() == self.base.origin();
        request.authorization = self.authorization().filter(|_| is_own(&request.url));
        let response = self.client.send(request.clone()).await?;
        if response.status != StatusCode::UNAUTHORIZED || !is_own(&request.url) || !is_own(&response.url) {
            return Ok(response);
        }
        let authorization = self.log_in(&response.headers).await?;
        *self.authorization.lock().unwrap_or_else(PoisonError::into_inner) = Some(authorization.clone());
        request.authorization = Some(authorization);
        let response = self.client.send(request).await?;
        let is_denied = matches!(response.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        if is_denied && is_own(&response.url) {
            return Err(self.denied()?);
        }
        Ok(response)
    }

    fn authorization(&self) -> Option<HeaderValue> {
        self.authorization.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The `Authorization` header that answers a challenge (RFC 9110, 11.6.1).
    async fn log_in(&self, headers: &HeaderMap) -> Result<HeaderValue, SourceError> {
        let credential = self.credentials.find(self.reference)?;
        let challenges =
            headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|challenge| challenge.to_str().ok());
        let mut challenges =
            challenges.filter_map(|challenge| challenge.trim().split_once(' ').or(Some((challenge, ""))));
        let wanted = challenges
            .find(|(scheme, _)| ["bearer", "basic"].contains(&scheme.to_ascii_lowercase().as_str()));
        let Some((scheme, parameters)) = wanted else {
            return Err(SourceError::new(format!(
                "`{}` requires an unknown kind of login",
                self.reference.registry()
            )));
        };
        if let Some(RegistryCredential::AccessToken(token)) = &credential {
            return bearer(token.expose());
        }
        if scheme.eq_ignore_ascii_case("basic") {
            return match &credential {
                Some(RegistryCredential::Basic { user, password }) => basic(user, password),
                Some(RegistryCredential::RefreshToken(_) | RegistryCredential::AccessToken(_)) | None => {
                    Err(self.denied()?)
                }
            };
        }
        self.token(parameters, credential.as_ref()).await
    }

    /// Requests a token from the registry's authorization server.
    async fn token(
        &self,
        parameters: &str,
        credential: Option<&RegistryCredential>,
    ) -> Result<HeaderValue, SourceError> {
        let realm = parameter(parameters, "realm").unwrap_or_default();
        let mut url = parse_web_address(&realm, self.client.plain_http()).map_err(|error| {
            SourceError::new(format!(
                "`{}` names an unsupported authorization server: {}",
                self.reference.registry(),
                foreign(&error)
            ))
        })?;
        let actions = match self.access {
            RegistryAccess::Pull => "pull",
            RegistryAccess::Push => "pull,push",
        };
        let name = self.base.path().trim_start_matches("/v2/").trim_end_matches('/');
        let scope = format!("repository:{name}:{actions}");
        let service = parameter(parameters, "service");
        let mut request = SourceRequest::get(url.clone(), "application/json", MAX_TOKEN_BYTES);
        match credential {
            Some(RegistryCredential::RefreshToken(token)) => {
                let mut form = Serializer::new(String::new());
                form.append_pair("grant_type", "refresh_token").append_pair("client_id", CLIENT_ID);
                form.append_pair("refresh_token", token.expose()).append_pair("scope", &scope);
                form.extend_pairs(service.iter().map(|service| ("service", service)));
                request.method = Method::POST;
                request.content_type = Some("application/x-www-form-urlencoded");
                request.body = form.finish().into();
            }
            Some(RegistryCredential::Basic { .. } | RegistryCredential::AccessToken(_)) | None => {
                let mut query = url.query_pairs_mut();
                query
                    .extend_pairs(service.iter().map(|service| ("service", service)))
                    .append_pair("scope", &scope);
                drop(query);
                request.url = url.clone();
                if let Some(RegistryCredential::Basic { user, password }) = credential {
                    request.authorization = Some(basic(user, password)?);
                }
            }
        }
        let response = self.client.send(request).await?;
        if matches!(response.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Err(self.denied()?);
        }
        let body = successful(&url, response)?.body;
        let response: TokenResponse =
            serde_json::from_slice(&body).map_err(|_| failed(&url, &"the response contains no token"))?;
        let token = response.token.or(response.access_token).filter(|token| !token.is_empty());
        bearer(&token.ok_or_else(|| failed(&url, &"the response contains no token"))?)
    }

    /// The error if access is denied.
    fn denied(&self) -> Result<SourceError, SourceError> {
        let registry = self.reference.registry();
        let has_credential = self.credentials.find(self.reference)?.is_some();
        let hint = match self.credentials.helper(self.reference) {
            _ if has_credential => {
                format!("check the stored credentials: log in again with `skopeo login {registry}`")
            }
            Some(helper) => format!(
                "the credential helper `{}` isn't supported: log in with `skopeo login {registry}`, which uses a file",
                foreign(&helper)
            ),
            None => format!(
                "correct the repository, or log in with `skopeo login {registry}` or `docker login {registry}`"
            ),
        };
        let action = match self.access {
            RegistryAccess::Pull => "access to",
            RegistryAccess::Push => "publishing to",
        };
        let message = format!("`{registry}` denies {action} `{}`", self.reference.repository());
        Ok(SourceError::new(message).with_hint(hint))
    }
}

/// The response, if it was successful.
pub(crate) fn successful(url: &Url, response: SourceResponse) -> Result<SourceResponse, SourceError> {
    if response.status.is_success() {
        return Ok(response);
    }
    let errors = serde_json::from_slice::<ErrorResponse>(&response.body).ok();
    let reason = errors.and_then(|response| response.errors.into_iter().next());
    let reason =
        reason.map(|RegistryError { code, message }| format!(": {code} {message}")).unwrap_or_default();
    Err(failed(url, &format_args!("HTTP status {}{}", response.status, foreign(&reason))))
}

/// The value of a parameter of a challenge: `name="value"` or `name=value`.
fn parameter(parameters: &str, name: &str) -> Option<String> {
    let mut rest = parameters;
    while let Some((key, after)) = rest.split_once('=') {
        let (value, next) = match after.trim_start().strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_once(',').unwrap_or((after, "")),
        };
        if key.trim_matches([' ', ',']).eq_ignore_ascii_case(name) {
            return Some(value.trim().to_owned());
        }
        rest = next;
    }
    None
}

fn basic(user: &str, password: &Secret) -> Result<HeaderValue, SourceError> {
    header("Basic", &BASE64_STANDARD.encode(format!("{user}:{}", password.expose())))
}

fn bearer(token: &str) -> Result<HeaderValue, SourceError> {
    header("Bearer", token)
}

fn header(scheme: &str, value: &str) -> Result<HeaderValue, SourceError> {
    let mut header = HeaderValue::try_from(format!("{scheme} {value}"))
        .map_err(|_| SourceError::new("the credentials contain invalid characters"))?;
    header.set_sensitive(true);
    Ok(header)
}

#[cfg(test)]
mod tests;
