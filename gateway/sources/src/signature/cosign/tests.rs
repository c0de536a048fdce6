//! Unit tests of cosign signatures.

use moongate_config::{SignatureKey, SignatureKeyContent};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

use super::*;

struct TestSigner {
    pair: EcdsaKeyPair,
    key: SignatureKey,
}

impl TestSigner {
    fn new(name: &str) -> Self {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8.as_ref(), &random).unwrap();
        let content = SignatureKeyContent::Cosign(pair.public_key().as_ref().to_vec());
        Self { pair, key: SignatureKey { name: name.to_owned(), content } }
    }

    fn sign(&self, signed: &[u8]) -> String {
        BASE64_STANDARD.encode(self.pair.sign(&SystemRandom::new(), signed).unwrap())
    }

    fn key(&self) -> CosignKey<'_> {
        (&self.key, self.pair.public_key().as_ref())
    }

    fn bundle(&self, payload_type: &str, statement: &Value) -> Vec<u8> {
        let payload = statement.to_string();
        let signed = pre_authentication_encoding(payload_type, payload.as_bytes());
        let envelope = json!({
            "payload": BASE64_STANDARD.encode(&payload), "payloadType": payload_type,
            "signatures": [{ "sig": self.sign(&signed), "keyid": "" }],
        });
        json!({ "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "dsseEnvelope": envelope })
            .to_string()
            .into()
    }
}

fn payload(digest: &Digest, kind: &str) -> String {
    json!({ "critical": {
        "identity": { "docker-reference": "example.com/time" },
        "image": { "docker-manifest-digest": format!("sha256:{digest}") },
        "type": kind,
    }, "optional": null })
    .to_string()
}

fn statement(digest: &Digest, predicate: &str) -> Value {
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{ "name": "time", "digest": { "sha256": digest.to_string() } }],
        "predicateType": predicate, "predicate": {},
    })
}

#[test]
fn accepts_only_payloads_for_the_manifest_by_a_key() {
    let [manifest, other] = [Digest::of(b"manifest"), Digest::of(b"other")];
    let [ours, stranger] = ["ours", "stranger"].map(TestSigner::new);
    let keys = [ours.key()];
    let good = payload(&manifest, SIMPLE_SIGNING);
    let signature = ours.sign(good.as_bytes());
    assert_eq!(verify_simple(good.as_bytes(), &signature, &manifest, &keys), Some(ours.key.id()));
    let of_other = payload(&other, SIMPLE_SIGNING);
    let of_kind = payload(&manifest, "vulnerability report");
    let refused = [
        (good.clone(), stranger.sign(good.as_bytes())),
        (good.replace("time", "tims"), signature.clone()),
        (of_other.clone(), ours.sign(of_other.as_bytes())),
        (of_kind.clone(), ours.sign(of_kind.as_bytes())),
        (manifest.to_string(), ours.sign(manifest.to_string().as_bytes())),
        (good.clone(), String::new()),
        (good, "no base64!".to_owned()),
    ];
    for (payload, signature) in refused {
        assert_eq!(verify_simple(payload.as_bytes(), &signature, &manifest, &keys), None, "{payload}");
    }
}

#[test]
fn accepts_only_bundles_for_the_manifest_by_a_key() {
    let [manifest, other] = [Digest::of(b"manifest"), Digest::of(b"other")];
    let [ours, stranger] = ["ours", "stranger"].map(TestSigner::new);
    let keys = [stranger.key(), ours.key()];
    let good = statement(&manifest, SIGNATURE_PREDICATE);
    let bundle = ours.bundle(STATEMENT_TYPE, &good);
    assert_eq!(verify_bundle(&bundle, &manifest, &keys), Some(ours.key.id()));
    assert_eq!(verify_bundle(&bundle, &manifest, &keys[..1]), None, "by another key");
    let refused = [
        ours.bundle(STATEMENT_TYPE, &statement(&other, SIGNATURE_PREDICATE)),
        ours.bundle(STATEMENT_TYPE, &statement(&manifest, "https://slsa.dev/provenance/v1")),
        ours.bundle("text/plain", &good),
        String::from_utf8(bundle.clone()).unwrap().replace("in-toto+json", "in-toto+jsom").into_bytes(),
        b"{}".to_vec(),
        b"{\"dsseEnvelope\":{\"payload\":\"\",\"payloadType\":\"\",\"signatures\":[]}}".to_vec(),
        bundle[..bundle.len() / 2].to_vec(),
    ];
    for bundle in refused {
        assert_eq!(verify_bundle(&bundle, &manifest, &keys), None, "{}", String::from_utf8_lossy(&bundle));
    }
}
