//! Public keys that sign components: minisign keys and cosign's static keys.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use moongate_model::names::Digest;
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject as _;

/// The algorithm and the key id at the start of a minisign key, in bytes.
const MINISIGN_HEADER_BYTES: usize = 10;

/// The length of a minisign key, in bytes: the header and an Ed25519 key.
const MINISIGN_KEY_BYTES: usize = MINISIGN_HEADER_BYTES + 32;

/// The start of a `SubjectPublicKeyInfo` with an uncompressed point of P-256 (RFC 5480).
const P256_HEADER: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// The length of an uncompressed point of P-256, in bytes.
const P256_POINT_BYTES: usize = 65;

/// A public key that signs components.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureKey {
    /// Its name in the configuration.
    pub name: String,
    /// The key itself.
    pub content: SignatureKeyContent,
}

/// The content of a public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignatureKeyContent {
    /// A minisign key, in base64.
    Minisign(String),
    /// A cosign key: an uncompressed point of P-256.
    Cosign(Vec<u8>),
}

/// The identity of a key in the lock file: its kind, and the digest of its bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SignerId(String);

/// The signatures that a component from an address needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SignatureRule {
    /// None.
    #[default]
    NotRequired,
    /// One by any of these keys.
    AnyOf(Vec<Arc<SignatureKey>>),
}

impl SignatureKeyContent {
    /// Parses the content of a key's file, or a minisign key alone.
    ///
    /// # Errors
    /// The text is neither a minisign key nor a P-256 key in PEM. The error is a hint.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.contains("-----BEGIN") {
            if text.contains("PRIVATE KEY-----") {
                return Err("this is a private key: name the public one");
            }
            let der = SubjectPublicKeyInfoDer::from_pem_slice(text.as_bytes());
            let der = der.map_err(
                |_| "the file needs one public key in PEM, which starts with `-----BEGIN PUBLIC KEY-----`",
            )?;
            let point =
                der.as_ref().strip_prefix(&P256_HEADER).filter(|point| point.len() == P256_POINT_BYTES);
            let point = point
                .ok_or("the key must be an ECDSA P-256 key, as `cosign generate-key-pair` creates it")?;
            return Ok(Self::Cosign(point.to_vec()));
        }
        let is_key = |line: &&str| !line.is_empty() && !line.starts_with("untrusted comment:");
        let key = text.lines().map(str::trim).rfind(is_key).unwrap_or_default();
        let bytes = BASE64_STANDARD.decode(key).unwrap_or_default();
        if bytes.len() == MINISIGN_KEY_BYTES && bytes.starts_with(b"Ed") {
            return Ok(Self::Minisign(key.to_owned()));
        }
        Err(
            "write a minisign public key, which starts with `RW`, or name the file of a minisign or cosign public key",
        )
    }
}

impl SignatureKey {
    /// The identity of the key. A minisign key's own id is chosen by its owner, so it isn't used.
    #[must_use]
    pub fn id(&self) -> SignerId {
        let (kind, bytes) = match &self.content {
            SignatureKeyContent::Minisign(text) => {
                ("minisign", BASE64_STANDARD.decode(text).unwrap_or_default())
            }
            SignatureKeyContent::Cosign(point) => ("cosign", point.clone()),
        };
        SignerId(format!("{kind}:sha256:{}", Digest::of(&bytes)))
    }
}

impl SignatureRule {
    /// Reports whether a component with this signer satisfies the rule.
    #[must_use]
    pub fn accepts(&self, signer: Option<&SignerId>) -> bool {
        match self {
            Self::NotRequired => true,
            Self::AnyOf(keys) => signer.is_some_and(|signer| keys.iter().any(|key| key.id() == *signer)),
        }
    }
}

impl fmt::Display for SignerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that isn't the identity of a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid signer")]
pub struct InvalidSignerError;

impl FromStr for SignerId {
    type Err = InvalidSignerError;

    fn from_str(text: &str) -> Result<Self, InvalidSignerError> {
        let digest = ["minisign:sha256:", "cosign:sha256:"].iter().find_map(|kind| text.strip_prefix(kind));
        match digest.map(Digest::from_str) {
            Some(Ok(digest)) if text.ends_with(&digest.to_string()) => Ok(Self(text.to_owned())),
            _ => Err(InvalidSignerError),
        }
    }
}
