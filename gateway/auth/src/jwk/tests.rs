//! Key sets.

use serde_json::json;

use super::*;
use crate::test_keys::TestKey;

fn keys(keys: &[Value]) -> Result<VerificationKeys, KeySetError> {
    VerificationKeys::parse(json!({ "keys": keys }).to_string().as_bytes())
}

/// The key with other members. A `null` removes a member.
fn with(mut key: Value, members: Value) -> Value {
    let Value::Object(members) = members else { panic!("members are an object") };
    for (name, value) in members {
        key[name] = value;
    }
    key.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    key
}

#[test]
fn an_algorithm_belongs_to_one_type_of_key() {
    use SignatureAlgorithm::{EdDsa, Es256, Es384, Ps256, Ps384, Ps512, Rs256, Rs384, Rs512};

    let rsa = &[Rs256, Rs384, Rs512, Ps256, Ps384, Ps512][..];
    let every = [Rs256, Rs384, Rs512, Ps256, Ps384, Ps512, Es256, Es384, EdDsa];
    for (key, own) in [
        (TestKey::rsa(), rsa),
        (TestKey::p256(), &[Es256]),
        (TestKey::p384(), &[Es384]),
        (TestKey::ed25519(), &[EdDsa]),
    ] {
        let keys = keys(&[key.jwk("k")]).unwrap();
        let usable: Vec<_> = every.into_iter().filter(|it| keys.find("k", *it).next().is_some()).collect();
        assert_eq!(usable, own);
    }
    assert_eq!(
        ["none", "HS256", "HS512", "ES512", "ES256K", "rs256", ""].map(SignatureAlgorithm::parse),
        [None; 7]
    );
}

#[test]
fn unusable_keys_are_ignored() {
    let good = TestKey::p256().jwk("good");
    let rsa = TestKey::rsa().jwk("rsa");
    for bad in [
        json!({ "kty": "oct", "k": "c2VjcmV0", "kid": "k", "alg": "HS256" }),
        with(good.clone(), json!({ "kid": null })),
        with(good.clone(), json!({ "use": "enc" })),
        with(good.clone(), json!({ "key_ops": ["sign"] })),
        with(good.clone(), json!({ "alg": "ES384" })),
        with(good.clone(), json!({ "alg": "HS256" })),
        with(good.clone(), json!({ "alg": "RS256" })),
        with(good.clone(), json!({ "crv": "P-521" })),
        with(good.clone(), json!({ "x": "AAAA" })),
        with(good.clone(), json!({ "x": "not base64!" })),
        with(rsa.clone(), json!({ "alg": "ES256" })),
        with(rsa.clone(), json!({ "n": "AAAA" })),
        with(rsa, json!({ "e": null })),
        json!("a string"),
        json!({}),
    ] {
        assert!(keys(std::slice::from_ref(&bad)).unwrap().is_empty(), "{bad}");
        assert!(keys(&[bad.clone(), good.clone()]).unwrap().has("good"), "{bad}");
    }
    for text in ["", "[]", "{}", "{\"keys\":{}}", "{\"keys\":[],\"keys\":[]}", "\u{feff}{}"] {
        assert_eq!(VerificationKeys::parse(text.as_bytes()), Err(KeySetError), "{text}");
    }
}

#[test]
fn a_key_of_an_issuer_can_restrict_its_algorithm() {
    let key = with(TestKey::rsa().jwk("k"), json!({ "alg": "PS512", "use": "sig", "key_ops": ["verify"] }));
    let keys = keys(&[key]).unwrap();
    assert!(keys.find("k", SignatureAlgorithm::Ps512).next().is_some());
    assert!(keys.find("k", SignatureAlgorithm::Rs256).next().is_none());
}

#[test]
fn an_issuer_has_a_limited_number_of_keys() {
    let many =
        (0..=MAX_KEYS).map(|number| with(TestKey::rsa().jwk("k"), json!({ "kid": number.to_string() })));
    let keys = keys(&many.collect::<Vec<_>>()).unwrap();
    assert!(keys.has("0") && keys.has(&(MAX_KEYS - 1).to_string()) && !keys.has(&MAX_KEYS.to_string()));
}
