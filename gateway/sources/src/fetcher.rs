//! From an address to a stored component and its entry for the lock file.

use std::path::PathBuf;
use std::time::SystemTime;

use bytes::Bytes;
use bytesize::ByteSize;
use moongate_config::{
    LockedComponent, OciReference, PlainHttpHosts, SignatureRule, SignerId, SourceReference,
};
use moongate_model::names::Digest;
use moongate_system::https_client::https_client;
use url::Url;

use crate::credentials::CredentialFiles;
use crate::error::{SourceError, foreign};
use crate::interfaces::read_interfaces;
use crate::registry::{Registry, RegistryAccess, successful};
use crate::signature;
use crate::source_client::{SourceClient, SourceRequest};
use crate::store::ComponentStore;

/// The first bytes of every component: the magic number, the version and the layer.
const COMPONENT_HEADER: &[u8] = b"\0asm\x0d\0\x01\0";

/// Downloads components.
#[derive(Debug)]
pub struct SourceFetcher {
    pub(crate) client: SourceClient,
    pub(crate) credentials: CredentialFiles,
    store: ComponentStore,
}

/// Settings of downloads.
#[derive(Debug, Clone, Default)]
pub struct SourceSettings {
    /// A CA bundle to trust in addition to the system trust store.
    pub ca_file: Option<PathBuf>,
    /// Hosts that are contacted over plain HTTP.
    pub plain_http: PlainHttpHosts,
}

/// A component to download.
#[derive(Debug, Clone, Copy)]
pub struct FetchRequest<'a> {
    /// The address as configured, with variables filled in.
    pub source: &'a str,
    /// The parsed address.
    pub reference: &'a SourceReference,
    /// The digest that the component must have. `None` means any.
    pub pinned: Option<Digest>,
    /// The signatures that it needs.
    pub signatures: &'a SignatureRule,
    /// Its largest size.
    pub max_size: ByteSize,
}

/// A component as received.
pub(crate) struct ReceivedComponent {
    pub(crate) bytes: Bytes,
    pub(crate) digest: Digest,
    pub(crate) origin: ComponentOrigin,
}

/// The place that a component came from, where its signatures are.
pub(crate) enum ComponentOrigin {
    /// The address of a file.
    Web(Url),
    /// A manifest.
    Oci { manifest: Digest, minisign: Option<String> },
}

impl SourceFetcher {
    /// A fetcher for this store. Reads the credentials of container tools and the system's certificates.
    pub async fn start(settings: SourceSettings, store: ComponentStore) -> Self {
        let (client, credentials) = connect(settings).await;
        Self { client, credentials, store }
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &ComponentStore {
        &self.store
    }

    /// Resolves an address, downloads the component, verifies its signature, and stores it. Returns the entry for the
    /// lock file, which isn't written.
    ///
    /// # Errors
    /// The component can't be downloaded or stored, isn't a component, or doesn't satisfy the request.
    pub async fn fetch(&self, request: &FetchRequest<'_>) -> Result<LockedComponent, SourceError> {
        let ReceivedComponent { bytes, digest, origin } =
            self.receive(request).await.map_err(|error| error.about(request.reference))?;
        check(&bytes, digest, request)?;
        let parsed = bytes.clone();
        blocking(move || read_interfaces(&parsed)).await?.map_err(|reason| broken(request, &reason))?;
        let signer = self.verify(&bytes, &origin, request).await?;
        self.put(bytes.clone()).await?;
        let resolved = match (&origin, request.reference) {
            (ComponentOrigin::Oci { manifest, .. }, SourceReference::Oci(reference)) => {
                Some(reference.with_digest(*manifest).to_string())
            }
            (ComponentOrigin::Web(_) | ComponentOrigin::Oci { .. }, _) => None,
        };
        Ok(LockedComponent {
            source: request.source.to_owned(),
            resolved,
            component: digest,
            size: bytes.len() as u64,
            signer,
            fetched: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        })
    }

    /// Downloads and stores a component that is in the lock file. Returns the signer if it must be signed: the lock file
    /// isn't trusted.
    ///
    /// # Errors
    /// The component can't be downloaded or stored, the server has another one now, or there is no valid signature.
    pub async fn fetch_locked(
        &self,
        request: &FetchRequest<'_>,
        locked: &LockedComponent,
    ) -> Result<Option<SignerId>, SourceError> {
        let bytes = match request.reference {
            SourceReference::Oci(reference) => {
                let registry =
                    Registry::new(&self.client, &self.credentials, reference, RegistryAccess::Pull)?;
                registry.blob_by_digest(&locked.component, request.max_size.as_u64()).await?
            }
            SourceReference::Web(url) => self.download(url, request.max_size).await?,
        };
        let digest = Digest::of(&bytes);
        if digest != locked.component {
            let message = format!(
                "the server has another file now: its digest is sha256:{digest}, and sha256:{} is locked",
                locked.component
            );
            return Err(SourceError::new(message).with_hint("to accept the new file, run `moongate update`"));
        }
        if bytes.len() as u64 != locked.size {
            let message = format!("the component has {} bytes instead of {}", bytes.len(), locked.size);
            return Err(SourceError::new(message).with_hint("run `moongate update`, which locks it again"));
        }
        let signer = self.verify_origin(&bytes, request, locked).await?;
        self.put(bytes).await?;
        Ok(signer)
    }

    /// Verifies the signature of a component that is in the lock file and in the store, for example because other keys
    /// are configured now.
    ///
    /// # Errors
    /// There is no valid signature, or the component isn't in the store.
    pub async fn verify_locked(
        &self,
        request: &FetchRequest<'_>,
        locked: &LockedComponent,
    ) -> Result<Option<SignerId>, SourceError> {
        let (store, component) = (self.store.clone(), locked.component);
        let bytes = blocking(move || store.read(&component)).await?;
        let bytes = bytes.ok_or_else(|| SourceError::new("the component isn't in the store"))?;
        self.verify_origin(&bytes, request, locked).await
    }

    /// Verifies the signature of a component that is in the lock file, where the lock file says that it comes from.
    async fn verify_origin(
        &self,
        bytes: &[u8],
        request: &FetchRequest<'_>,
        locked: &LockedComponent,
    ) -> Result<Option<SignerId>, SourceError> {
        if *request.signatures == SignatureRule::NotRequired {
            return Ok(None);
        }
        let origin = match request.reference {
            SourceReference::Web(url) => ComponentOrigin::Web(url.clone()),
            SourceReference::Oci(_) => {
                let resolved = locked.resolved.as_deref().and_then(|text| text.strip_prefix("oci://"));
                let reference = resolved.and_then(|text| OciReference::parse(text).ok());
                let reference =
                    reference.ok_or_else(|| SourceError::new("`resolved` in the lock file is invalid"))?;
                let registry =
                    Registry::new(&self.client, &self.credentials, &reference, RegistryAccess::Pull)?;
                let found = registry.manifest().await?;
                if found.manifest.component()?.digest()? != locked.component {
                    return Err(SourceError::new(
                        "the manifest in the lock file is that of another component",
                    ));
                }
                ComponentOrigin::Oci {
                    manifest: found.digest,
                    minisign: minisign_annotation(&found.manifest),
                }
            }
        };
        self.verify(bytes, &origin, request).await
    }

    async fn receive(&self, request: &FetchRequest<'_>) -> Result<ReceivedComponent, SourceError> {
        match request.reference {
            SourceReference::Web(url) => {
                let bytes = self.download(url, request.max_size).await?;
                Ok(ReceivedComponent {
                    digest: Digest::of(&bytes),
                    bytes,
                    origin: ComponentOrigin::Web(url.clone()),
                })
            }
            SourceReference::Oci(reference) => {
                let registry =
                    Registry::new(&self.client, &self.credentials, reference, RegistryAccess::Pull)?;
                let found = registry.manifest().await?;
                let layer = found.manifest.component()?;
                let bytes = registry.blob(layer, request.max_size.as_u64()).await?;
                let origin = ComponentOrigin::Oci {
                    manifest: found.digest,
                    minisign: minisign_annotation(&found.manifest),
                };
                Ok(ReceivedComponent { bytes, digest: layer.digest()?, origin })
            }
        }
    }

    async fn download(&self, url: &Url, max_size: ByteSize) -> Result<Bytes, SourceError> {
        let request = SourceRequest::get(url.clone(), "application/wasm, */*", max_size.as_u64());
        let response = self.client.send(request).await?;
        Ok(successful(url, response)?.body)
    }

    async fn verify(
        &self,
        bytes: &[u8],
        origin: &ComponentOrigin,
        request: &FetchRequest<'_>,
    ) -> Result<Option<SignerId>, SourceError> {
        match request.signatures {
            SignatureRule::NotRequired => Ok(None),
            SignatureRule::AnyOf(keys) => {
                signature::verify(self, keys, bytes, origin, request.reference).await.map(Some)
            }
        }
    }

    async fn put(&self, bytes: Bytes) -> Result<(), SourceError> {
        let store = self.store.clone();
        blocking(move || store.put(&bytes)).await?.map(drop)
    }
}

/// A client with these settings, and the credentials of container tools. Reads files.
pub(crate) async fn connect(settings: SourceSettings) -> (SourceClient, CredentialFiles) {
    let SourceSettings { ca_file, plain_http } = settings;
    let read = move || {
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        (https_client(ca_file.as_deref()), CredentialFiles::read(variable))
    };
    let (http, credentials) = tokio::task::spawn_blocking(read).await.expect("reading files doesn't panic");
    (SourceClient::new(http, plain_http), credentials)
}

fn minisign_annotation(manifest: &crate::manifest::ArtifactManifest) -> Option<String> {
    manifest.annotations.get(crate::manifest::MINISIGN_ANNOTATION).cloned()
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, SourceError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| SourceError::new(format!("internal error: {error}")))
}

/// The error for a component that is truncated or invalid.
fn broken(request: &FetchRequest<'_>, reason: &str) -> SourceError {
    let message = format!("`{}` is broken: {}", foreign(&request.reference.shown()), foreign(&reason));
    SourceError::new(message)
        .with_hint("run the command again; if it fails again, ask the component's publisher")
}

/// Checks that the bytes are a component, and the right one.
fn check(bytes: &[u8], digest: Digest, request: &FetchRequest<'_>) -> Result<(), SourceError> {
    if !bytes.starts_with(COMPONENT_HEADER) {
        let found = if bytes.is_empty() {
            "an empty file"
        } else if bytes.trim_ascii_start().starts_with(b"<") {
            "a web page"
        } else if bytes.starts_with(b"\0asm") {
            "a core WebAssembly module"
        } else {
            "another file"
        };
        let message =
            format!("`{}` isn't a component: the server sent {found}", foreign(&request.reference.shown()));
        return Err(SourceError::new(message).with_hint("use the address of the `.wasm` file itself"));
    }
    match request.pinned.filter(|pinned| *pinned != digest) {
        Some(pinned) => {
            let message = format!("its digest is sha256:{digest}, and `sha256` pins {pinned}");
            Err(SourceError::new(message).with_hint("to accept the new component, correct `sha256`"))
        }
        None => Ok(()),
    }
}
