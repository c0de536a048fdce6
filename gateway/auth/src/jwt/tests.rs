//! The form and signature of a JWT.

use serde_json::json;

use super::*;
use crate::test_keys::{TestKey, encoded};

const PAYLOAD: &str = r#"{"iss":"https://a.example","sub":"1"}"#;

fn keys(key: &TestKey) -> VerificationKeys {
    VerificationKeys::parse(json!({ "keys": [key.jwk("k")] }).to_string().as_bytes()).unwrap()
}

fn verify(token: &str, keys: &VerificationKeys) -> Result<SignedClaims, TokenProblem> {
    UnverifiedJwt::parse(token).expect("three parts")?.verify(keys)
}

fn problem(token: &str, keys: &VerificationKeys) -> Option<TokenProblem> {
    verify(token, keys).err()
}

#[test]
fn verifies_every_kind_of_signature() {
    for key in [TestKey::rsa(), TestKey::p256(), TestKey::p384(), TestKey::ed25519()] {
        let token = key.token(&serde_json::from_str(PAYLOAD).unwrap());
        assert_eq!(verify(&token, &keys(&key)).unwrap().claims["sub"], "1");
        let (message, signature) = token.rsplit_once('.').unwrap();
        let (header, _) = message.split_once('.').unwrap();
        let other = encoded(r#"{"iss":"https://a.example","sub":"2"}"#);
        for forged in
            [format!("{header}.{other}.{signature}"), format!("{message}."), format!("{message}.AAAA")]
        {
            assert_eq!(problem(&forged, &keys(&key)), Some(TokenProblem::Signature), "{forged}");
        }
    }
    let rsa = TestKey::rsa();
    let token = rsa.sign(&json!({ "alg": "PS512", "kid": "k" }), PAYLOAD);
    assert!(verify(&token, &keys(&rsa)).is_ok());
}

#[test]
fn the_header_cannot_choose_a_weaker_check() {
    let rsa = TestKey::rsa();
    let all = keys(&rsa);
    let sign = |header: Value| rsa.sign(&header, PAYLOAD);
    for (header, expected) in [
        (json!({ "kid": "k" }), TokenProblem::Algorithm),
        (json!({ "alg": "none", "kid": "k" }), TokenProblem::Algorithm),
        (json!({ "alg": "None", "kid": "k" }), TokenProblem::Algorithm),
        (json!({ "alg": "HS256", "kid": "k" }), TokenProblem::Algorithm),
        (json!({ "alg": ["RS256"], "kid": "k" }), TokenProblem::Algorithm),
        (json!({ "alg": "ES256", "kid": "k" }), TokenProblem::Algorithm),
        (json!({ "alg": "EdDSA", "kid": "k" }), TokenProblem::Algorithm),
        (json!({ "alg": "PS256", "kid": "k" }), TokenProblem::Signature),
        (json!({ "alg": "RS256" }), TokenProblem::NoKeyId),
        (json!({ "alg": "RS256", "kid": 1 }), TokenProblem::NoKeyId),
        (json!({ "alg": "RS256", "kid": "other" }), TokenProblem::UnknownKey),
        (json!({ "alg": "RS256", "jwk": rsa.jwk("mine"), "kid": "mine" }), TokenProblem::UnknownKey),
        (json!({ "alg": "RS256", "kid": "k", "crit": ["exp"], "exp": 1 }), TokenProblem::CriticalHeader),
        (json!({ "alg": "RS256", "kid": "k", "crit": [] }), TokenProblem::CriticalHeader),
        (json!({ "alg": "RS256", "kid": "k", "b64": false, "crit": ["b64"] }), TokenProblem::CriticalHeader),
        (json!({ "alg": "RS256", "kid": "k", "typ": "dpop+jwt" }), TokenProblem::TokenType),
        (json!({ "alg": "RS256", "kid": "k", "typ": "logout+jwt" }), TokenProblem::TokenType),
        (json!({ "alg": "RS256", "kid": "k", "typ": 1 }), TokenProblem::TokenType),
    ] {
        assert_eq!(problem(&sign(header.clone()), &all), Some(expected), "{header}");
    }
    for typ in ["at+jwt", "AT+JWT", "application/at+jwt", "JWT", "jwt"] {
        let token = sign(json!({ "alg": "RS256", "kid": "k", "typ": typ }));
        assert_eq!(problem(&token, &all), None, "{typ}");
    }
    assert_eq!(problem(&sign(json!({ "alg": "RS256", "kid": "k" })), &all), None);
}

#[test]
fn other_forms_are_opaque_or_malformed() {
    for opaque in ["", "x", "a.b", "a.b.c", "a.b.c.d.e", "W10.e30.x", ".."] {
        assert!(UnverifiedJwt::parse(opaque).is_none(), "{opaque}");
    }
    let key = TestKey::ed25519();
    let header = json!({ "alg": "EdDSA", "kid": "k" });
    for payload in ["", "[]", "{", r#"{"sub":"1","sub":"2"}"#, "\"x\""] {
        let token = key.sign(&header, payload);
        assert_eq!(problem(&token, &keys(&key)), Some(TokenProblem::Malformed), "{payload}");
    }
    // The header has two algorithms, so it isn't an object that can be trusted.
    let twice = encoded(r#"{"alg":"EdDSA","alg":"none","kid":"k"}"#);
    assert!(UnverifiedJwt::parse(&format!("{twice}.{}.", encoded(PAYLOAD))).is_none());
}
