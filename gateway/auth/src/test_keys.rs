//! Keys of an issuer for tests: signs tokens, and shows the public keys as JWKs.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair as _, RSA_PKCS1_SHA256, RSA_PSS_SHA512, RsaKeyPair,
};
use serde_json::{Value, json};

/// A private key.
pub(crate) enum TestKey {
    Rsa(RsaKeyPair),
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

pub(crate) fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl TestKey {
    /// The key that is the same in all tests, because ring can't generate RSA keys.
    pub(crate) fn rsa() -> Self {
        Self::Rsa(RsaKeyPair::from_pkcs8(include_bytes!("jwk/test-rsa-key.der")).unwrap())
    }

    pub(crate) fn p256() -> Self {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        Self::P256(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key.as_ref(), &random).unwrap())
    }

    pub(crate) fn p384() -> Self {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P384_SHA384_FIXED_SIGNING, &random).unwrap();
        Self::P384(EcdsaKeyPair::from_pkcs8(&ECDSA_P384_SHA384_FIXED_SIGNING, key.as_ref(), &random).unwrap())
    }

    pub(crate) fn ed25519() -> Self {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed25519(Ed25519KeyPair::from_pkcs8(key.as_ref()).unwrap())
    }

    /// The public key with this id.
    pub(crate) fn jwk(&self, id: &str) -> Value {
        let point = |key: &EcdsaKeyPair, curve: &str| {
            let point = &key.public_key().as_ref()[1..];
            let (x, y) = point.split_at(point.len() / 2);
            json!({ "kty": "EC", "crv": curve, "x": encoded(x), "y": encoded(y), "kid": id })
        };
        match self {
            Self::Rsa(key) => {
                let PublicKeyComponents { n, e } = PublicKeyComponents::<Vec<u8>>::from(key.public());
                json!({ "kty": "RSA", "n": encoded(n), "e": encoded(e), "kid": id })
            }
            Self::P256(key) => point(key, "P-256"),
            Self::P384(key) => point(key, "P-384"),
            Self::Ed25519(key) => {
                let x = encoded(key.public_key().as_ref());
                json!({ "kty": "OKP", "crv": "Ed25519", "x": x, "kid": id })
            }
        }
    }

    /// The algorithm that [`TestKey::sign`] uses.
    pub(crate) fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa(_) => "RS256",
            Self::P256(_) => "ES256",
            Self::P384(_) => "ES384",
            Self::Ed25519(_) => "EdDSA",
        }
    }

    /// A signed token with the key id `k`.
    pub(crate) fn token(&self, claims: &Value) -> String {
        self.sign(&json!({ "alg": self.algorithm(), "typ": "at+jwt", "kid": "k" }), &claims.to_string())
    }

    /// A signed token with this header and payload.
    pub(crate) fn sign(&self, header: &Value, payload: &str) -> String {
        let message = format!("{}.{}", encoded(header.to_string()), encoded(payload));
        let bytes = message.as_bytes();
        let random = SystemRandom::new();
        let signature = match self {
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                let padding: &dyn ring::signature::RsaEncoding =
                    if header["alg"] == "PS512" { &RSA_PSS_SHA512 } else { &RSA_PKCS1_SHA256 };
                key.sign(padding, &random, bytes, &mut signature).unwrap();
                signature
            }
            Self::P256(key) | Self::P384(key) => key.sign(&random, bytes).unwrap().as_ref().to_vec(),
            Self::Ed25519(key) => key.sign(bytes).as_ref().to_vec(),
        };
        format!("{message}.{}", encoded(signature))
    }
}
