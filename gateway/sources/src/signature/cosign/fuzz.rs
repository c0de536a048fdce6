//! The property of any cosign signature, as a plain function for the seeded loop in the tests and for fuzzers.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use moongate_config::{SignatureKey, SignatureKeyContent};
use moongate_model::names::Digest;
use serde_json::Value;

use super::{verify_bundle, verify_simple};

/// The public key, in base64. The private key has signed the two texts below, and doesn't exist any more.
const POINT: &str =
    "BBBG4c+5s1Tcc8X8eOrW/YGMRcHNwb/93ABsUT3bcX5VDTUmVNlv+3G+Ee6P7nWiIIT7P77sQtrX1AngYOtlsjk=";

/// The simple signing payload that the key has signed.
const PAYLOAD: &str = concat!(
    r#"{"critical":{"identity":{"docker-reference":"example.com/time"},"image":{"docker-manifest-digest":"#,
    r#""sha256:05b3abf2579a5eb66403cd78be557fd860633a1fe2103c7642030defe32c657f"},"#,
    r#""type":"cosign container image signature"},"optional":null}"#,
);

/// The statement that the key has signed.
const STATEMENT: &str = concat!(
    r#"{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"time","digest":{"sha256":"#,
    r#""05b3abf2579a5eb66403cd78be557fd860633a1fe2103c7642030defe32c657f"}}],"#,
    r#""predicateType":"https://sigstore.dev/cosign/sign/v1","predicate":{}}"#,
);

/// Verifies the bytes as a bundle, and as a signature and its payload with a line end between them. Only the signed texts
/// are accepted.
///
/// # Panics
/// Another text is accepted.
pub fn fuzz_cosign(bytes: &[u8]) {
    let point = BASE64_STANDARD.decode(POINT).unwrap_or_default();
    let key = SignatureKey { name: "corpus".to_owned(), content: SignatureKeyContent::Cosign(point.clone()) };
    let keys = [(&key, point.as_slice())];
    let manifest = Digest::of(b"manifest");
    let mut parts = bytes.splitn(2, |byte| *byte == b'\n');
    if let (Some(signature), Some(payload)) = (parts.next(), parts.next()) {
        let signature = String::from_utf8_lossy(signature);
        let is_accepted = verify_simple(payload, &signature, &manifest, &keys).is_some();
        assert!(!is_accepted || payload == PAYLOAD.as_bytes(), "accepted {}", payload.escape_ascii());
    }
    if verify_bundle(bytes, &manifest, &keys).is_some() {
        let bundle: Value = serde_json::from_slice(bytes).unwrap_or_default();
        let payload = bundle["dsseEnvelope"]["payload"].as_str().unwrap_or_default();
        let payload = BASE64_STANDARD.decode(payload).unwrap_or_default();
        assert!(payload == STATEMENT.as_bytes(), "accepted {}", payload.escape_ascii());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_signed_texts_are_accepted() {
        moongate_model::seeded::seeded("cosign", fuzz_cosign);
    }

    #[test]
    fn the_corpus_contains_accepted_signatures() {
        let point = BASE64_STANDARD.decode(POINT).unwrap();
        let key =
            SignatureKey { name: "corpus".to_owned(), content: SignatureKeyContent::Cosign(point.clone()) };
        let keys = [(&key, point.as_slice())];
        let manifest = Digest::of(b"manifest");
        let simple = include_str!("../../../../../fuzz/corpus/cosign/simple");
        let (signature, payload) = simple.split_once('\n').unwrap();
        assert!(verify_simple(payload.as_bytes(), signature, &manifest, &keys).is_some());
        let bundle = include_bytes!("../../../../../fuzz/corpus/cosign/bundle");
        assert!(verify_bundle(bundle, &manifest, &keys).is_some());
    }
}
