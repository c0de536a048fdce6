//! Properties of any token and any key set, as a plain function for the seeded loop in the tests and for fuzzers.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use moongate_config::{IssuerConfig, KeyLocation};
use serde_json::{Map, Value};

use crate::claims::{ClaimRules, SubjectNaming};
use crate::jwk::VerificationKeys;
use crate::jwt::{SignedClaims, TokenType, UnverifiedJwt};

/// The longest name with the issuer.
const MAX_NAME_CHARS: usize = 160;

/// Parses a token, a header and a document from one line each: the header and the document as parts of a token, and the
/// document as claims and as a key set. Nothing is verified without the private key, and names are short and visible.
///
/// # Panics
/// A property is violated.
pub fn fuzz_token(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut lines = text.splitn(3, '\n');
    let mut next = || lines.next().unwrap_or_default();
    let token = next();
    let header = next();
    let document = next();
    let keys = VerificationKeys::parse(document.as_bytes()).ok();
    let built = [header, document, ""].map(|part| URL_SAFE_NO_PAD.encode(part)).join(".");
    for token in [token, &built] {
        if let (Some(Ok(jwt)), Some(keys)) = (UnverifiedJwt::parse(token), &keys) {
            assert!(jwt.verify(keys).is_err(), "{token} was verified with {document}");
        }
    }
    if let Ok(Value::Object(claims)) = serde_json::from_str(document) {
        check_claims(claims);
    }
}

fn check_claims(claims: Map<String, Value>) {
    let issuer = IssuerConfig {
        issuer: "https://a.example".into(),
        audiences: vec!["gate".to_owned()],
        keys: KeyLocation::Discovered,
        introspection: None,
        name_claim: Some("name".to_owned()),
    };
    let rules = ClaimRules::new(&issuer, SubjectNaming::Qualified);
    let introspected = rules.check_introspected(&claims);
    let signed = rules.check_signed(&SignedClaims { token_type: TokenType::AccessToken, claims });
    for token in introspected.into_iter().chain(signed) {
        let name = token.subject.name();
        assert!(!name.contains(moongate_model::text::is_hidden), "hidden characters in {name:?}");
        assert!(name.chars().count() <= MAX_NAME_CHARS && name.ends_with(" (https://a.example)"), "{name:?}");
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_token_is_valid_without_the_key() {
        moongate_model::seeded::seeded("token", crate::fuzz::fuzz_token);
    }
}
