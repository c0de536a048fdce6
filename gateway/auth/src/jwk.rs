//! JSON Web Key Sets (RFC 7517, RFC 8037): the public keys of an issuer.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use moongate_model::json::parse_strict;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey, VerificationAlgorithm,
};
use serde_json::{Map, Value};

/// The maximum number of keys of an issuer. Issuers have a few, and some dozens while they replace them.
const MAX_KEYS: usize = 256;

/// The maximum number of keys that are tried for one signature. Key ids should be unique.
const MAX_TRIED_KEYS: usize = 4;

/// An algorithm of signatures. There is no HMAC: its keys would have to be secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignatureAlgorithm {
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    EdDsa,
}

impl SignatureAlgorithm {
    /// The algorithm with this name (RFC 7518, 3.1; RFC 9864).
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "RS256" => Self::Rs256,
            "RS384" => Self::Rs384,
            "RS512" => Self::Rs512,
            "PS256" => Self::Ps256,
            "PS384" => Self::Ps384,
            "PS512" => Self::Ps512,
            "ES256" => Self::Es256,
            "ES384" => Self::Es384,
            "EdDSA" | "Ed25519" => Self::EdDsa,
            _ => return None,
        })
    }
}

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq)]
enum KeyMaterial {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// A key that verifies signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VerificationKey {
    id: String,
    /// The only algorithm that the issuer uses it with, if it says so.
    algorithm: Option<SignatureAlgorithm>,
    material: KeyMaterial,
}

/// The keys of an issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VerificationKeys(Vec<VerificationKey>);

/// The text isn't a key set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the key set isn't a JSON object with `keys`")]
pub(crate) struct KeySetError;

impl VerificationKeys {
    /// Reads a key set. Keys of other kinds are ignored, as the standard requires, so there can be none.
    ///
    /// # Errors
    /// It isn't a key set.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, KeySetError> {
        let value = str::from_utf8(text).ok().and_then(|text| parse_strict(text).ok());
        let keys = value.as_ref().and_then(|value| value.get("keys")?.as_array());
        let keys = keys.ok_or(KeySetError)?.iter().take(MAX_KEYS);
        Ok(Self(keys.filter_map(|key| VerificationKey::read(key.as_object()?)).collect()))
    }

    /// Reports whether there are no keys.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The keys with this id that the algorithm can use. Ids should be unique, but only for keys of one type.
    pub(crate) fn find<'a>(
        &'a self,
        id: &'a str,
        algorithm: SignatureAlgorithm,
    ) -> impl Iterator<Item = &'a VerificationKey> {
        self.0.iter().filter(move |key| key.id == id && key.is_for(algorithm)).take(MAX_TRIED_KEYS)
    }

    /// Reports whether there is a key with this id, for whatever algorithm.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.0.iter().any(|key| key.id == id)
    }
}

impl VerificationKey {
    fn read(key: &Map<String, Value>) -> Option<Self> {
        let text = |name: &str| key.get(name).and_then(Value::as_str);
        if text("use").is_some_and(|usage| usage != "sig") {
            return None;
        }
        if let Some(operations) = key.get("key_ops").and_then(Value::as_array)
            && !operations.iter().any(|operation| operation == "verify")
        {
            return None;
        }
        let algorithm = match text("alg") {
            Some(name) => Some(SignatureAlgorithm::parse(name)?),
            None => None,
        };
        let bytes = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?).ok();
        let material = match (text("kty")?, text("crv")) {
            ("RSA", _) => {
                KeyMaterial::Rsa { modulus: unpadded(bytes("n")?)?, exponent: unpadded(bytes("e")?)? }
            }
            ("EC", Some("P-256")) => KeyMaterial::P256(point(&bytes("x")?, &bytes("y")?, 32)?),
            ("EC", Some("P-384")) => KeyMaterial::P384(point(&bytes("x")?, &bytes("y")?, 48)?),
            ("OKP", Some("Ed25519")) => KeyMaterial::Ed25519(bytes("x").filter(|x| x.len() == 32)?),
            _ => return None,
        };
        let key = Self { id: text("kid")?.to_owned(), algorithm, material };
        // An algorithm that contradicts the type of the key is never right.
        algorithm.is_none_or(|algorithm| key.is_for(algorithm)).then_some(key)
    }

    fn is_for(&self, algorithm: SignatureAlgorithm) -> bool {
        self.algorithm.is_none_or(|own| own == algorithm) && self.verifier(algorithm).is_some()
    }

    fn verifier(&self, algorithm: SignatureAlgorithm) -> Option<Verifier<'_>> {
        use SignatureAlgorithm::{EdDsa, Es256, Es384, Ps256, Ps384, Ps512, Rs256, Rs384, Rs512};

        match &self.material {
            KeyMaterial::Rsa { modulus, exponent } => {
                let parameters = match algorithm {
                    Rs256 => &RSA_PKCS1_2048_8192_SHA256,
                    Rs384 => &RSA_PKCS1_2048_8192_SHA384,
                    Rs512 => &RSA_PKCS1_2048_8192_SHA512,
                    Ps256 => &RSA_PSS_2048_8192_SHA256,
                    Ps384 => &RSA_PSS_2048_8192_SHA384,
                    Ps512 => &RSA_PSS_2048_8192_SHA512,
                    Es256 | Es384 | EdDsa => return None,
                };
                Some(Verifier::Rsa(parameters, RsaPublicKeyComponents { n: modulus, e: exponent }))
            }
            KeyMaterial::P256(point) if algorithm == Es256 => {
                Some(Verifier::Other(&ECDSA_P256_SHA256_FIXED, point))
            }
            KeyMaterial::P384(point) if algorithm == Es384 => {
                Some(Verifier::Other(&ECDSA_P384_SHA384_FIXED, point))
            }
            KeyMaterial::Ed25519(key) if algorithm == EdDsa => Some(Verifier::Other(&ED25519, key)),
            KeyMaterial::P256(_) | KeyMaterial::P384(_) | KeyMaterial::Ed25519(_) => None,
        }
    }

    /// Reports whether this key made the signature with this algorithm.
    pub(crate) fn verifies(&self, algorithm: SignatureAlgorithm, message: &[u8], signature: &[u8]) -> bool {
        match self.verifier(algorithm) {
            Some(Verifier::Rsa(parameters, key)) => key.verify(parameters, message, signature).is_ok(),
            Some(Verifier::Other(algorithm, key)) => {
                UnparsedPublicKey::new(algorithm, key).verify(message, signature).is_ok()
            }
            None => false,
        }
    }
}

/// A key with the parameters of one algorithm.
enum Verifier<'k> {
    Rsa(&'static RsaParameters, RsaPublicKeyComponents<&'k Vec<u8>>),
    Other(&'static dyn VerificationAlgorithm, &'k [u8]),
}

/// A number without leading zeros, which some issuers send although the standard forbids it.
fn unpadded(mut number: Vec<u8>) -> Option<Vec<u8>> {
    let start = number.iter().position(|byte| *byte != 0)?;
    Some(number.split_off(start))
}

/// An uncompressed point of a curve (SEC 1, 2.3.3).
fn point(x: &[u8], y: &[u8], size: usize) -> Option<Vec<u8>> {
    (x.len() == size && y.len() == size).then(|| [&[4], x, y].concat())
}

#[cfg(test)]
mod tests;
