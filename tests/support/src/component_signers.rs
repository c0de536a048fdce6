//! Keys that sign components: minisign keys and cosign's static keys.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use moongate_model::names::Digest;
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use serde_json::json;

/// The start of a public key of P-256 in DER (RFC 5480).
const P256_HEADER: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// A minisign key.
#[derive(Debug)]
pub struct MinisignSigner {
    id: [u8; 8],
    pair: Ed25519KeyPair,
}

/// A cosign key.
#[derive(Debug)]
pub struct CosignSigner(EcdsaKeyPair);

impl MinisignSigner {
    /// A new key.
    ///
    /// # Panics
    /// If there is no randomness.
    #[must_use]
    pub fn generate() -> Self {
        let random = SystemRandom::new();
        let mut id = [0; 8];
        random.fill(&mut id).expect("randomness");
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&random).expect("randomness");
        Self { id, pair: Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).expect("a valid key") }
    }

    /// The public key, as in the second line of `minisign.pub`.
    #[must_use]
    pub fn public_key(&self) -> String {
        BASE64_STANDARD.encode([b"Ed", &self.id[..], self.pair.public_key().as_ref()].concat())
    }

    /// The content of a `.minisig` file. The signature is over the content itself, not over its BLAKE2b digest.
    #[must_use]
    pub fn sign(&self, content: &[u8]) -> String {
        let signature = self.pair.sign(content);
        let comment = "timestamp:0\tfile:time.wasm";
        let global = self.pair.sign(&[signature.as_ref(), comment.as_bytes()].concat());
        let own = BASE64_STANDARD.encode([b"Ed", &self.id[..], signature.as_ref()].concat());
        let global = BASE64_STANDARD.encode(global.as_ref());
        format!("untrusted comment: signature\n{own}\ntrusted comment: {comment}\n{global}\n")
    }
}

impl CosignSigner {
    /// A new key.
    ///
    /// # Panics
    /// If there is no randomness.
    #[must_use]
    pub fn generate() -> Self {
        let random = SystemRandom::new();
        let pkcs8 =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).expect("randomness");
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8.as_ref(), &random);
        Self(pair.expect("a valid key"))
    }

    /// The content of `cosign.pub`.
    #[must_use]
    pub fn public_key(&self) -> String {
        let der = BASE64_STANDARD.encode([&P256_HEADER, self.0.public_key().as_ref()].concat());
        let (first, second) = der.split_at(64);
        format!("-----BEGIN PUBLIC KEY-----\n{first}\n{second}\n-----END PUBLIC KEY-----\n")
    }

    /// The simple signing payload for a manifest, and its signature.
    #[must_use]
    pub fn sign_payload(&self, manifest: &Digest) -> (String, String) {
        let payload = json!({ "critical": {
            "identity": { "docker-reference": "" },
            "image": { "docker-manifest-digest": format!("sha256:{manifest}") },
            "type": "cosign container image signature",
        }, "optional": null });
        let payload = payload.to_string();
        let signature = self.sign(payload.as_bytes());
        (payload, signature)
    }

    /// The Sigstore bundle for a manifest.
    #[must_use]
    pub fn bundle(&self, manifest: &Digest) -> String {
        let statement = json!({
            "_type": "https://in-toto.io/Statement/v1", "subject": [{ "digest": { "sha256": manifest.to_string() } }],
            "predicateType": "https://sigstore.dev/cosign/sign/v1", "predicate": {},
        });
        let (kind, payload) = ("application/vnd.in-toto+json", statement.to_string());
        let signed = format!("DSSEv1 {} {kind} {} {payload}", kind.len(), payload.len());
        let envelope = json!({
            "payload": BASE64_STANDARD.encode(&payload), "payloadType": kind,
            "signatures": [{ "sig": self.sign(signed.as_bytes()) }],
        });
        json!({
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": { "publicKey": { "hint": "" } }, "dsseEnvelope": envelope,
        })
        .to_string()
    }

    fn sign(&self, content: &[u8]) -> String {
        BASE64_STANDARD.encode(self.0.sign(&SystemRandom::new(), content).expect("randomness"))
    }
}
