//! Claims of access tokens.

use std::collections::BTreeMap;

use moongate_config::KeyLocation;
use serde_json::json;

use super::*;

fn rules(naming: SubjectNaming) -> ClaimRules {
    let issuer = IssuerConfig {
        issuer: "https://a.example".into(),
        audiences: vec!["https://gate.example/mcp".to_owned(), "api://gate".to_owned()],
        keys: KeyLocation::Discovered,
        introspection: None,
        name_claim: Some("email".to_owned()),
    };
    ClaimRules::new(&issuer, naming)
}

/// The claims of a valid token with others. A `null` removes a claim.
fn claims(others: Value) -> Map<String, Value> {
    let mut claims = json!({ "sub": "1", "aud": "api://gate", "exp": 1_000, "scope": "a b" });
    let Value::Object(others) = others else { panic!("claims are an object") };
    for (name, value) in others {
        claims[name] = value;
    }
    let Value::Object(mut claims) = claims else { unreachable!() };
    claims.retain(|_, value| !value.is_null());
    claims
}

fn check(token_type: TokenType, others: Value) -> Result<VerifiedToken, TokenProblem> {
    let claims = claims(others);
    rules(SubjectNaming::Plain).check_signed(&SignedClaims { token_type, claims })
}

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

#[test]
fn every_claim_is_required_and_checked() {
    for (others, expected) in [
        (json!({ "aud": null }), TokenProblem::Audience),
        (json!({ "aud": "https://gate.example/mcp/" }), TokenProblem::Audience),
        (json!({ "aud": "https://gate.example" }), TokenProblem::Audience),
        (json!({ "aud": [] }), TokenProblem::Audience),
        (json!({ "aud": ["other", { "api://gate": 1 }] }), TokenProblem::Audience),
        (json!({ "aud": 1 }), TokenProblem::Audience),
        (json!({ "sub": null }), TokenProblem::NoSubject),
        (json!({ "sub": 1 }), TokenProblem::NoSubject),
        (json!({ "sub": "" }), TokenProblem::NoSubject),
        (json!({ "sub": "x".repeat(256) }), TokenProblem::NoSubject),
        (json!({ "exp": null }), TokenProblem::NoExpiry),
        (json!({ "exp": "1000" }), TokenProblem::Malformed),
        (json!({ "exp": -1 }), TokenProblem::Malformed),
        (json!({ "exp": 1e300 }), TokenProblem::Malformed),
        (json!({ "exp": u64::MAX }), TokenProblem::Malformed),
        (json!({ "nbf": "soon" }), TokenProblem::Malformed),
        (json!({ "cnf": { "jkt": "x" } }), TokenProblem::SenderConstrained),
    ] {
        assert_eq!(check(TokenType::AccessToken, others.clone()).err(), Some(expected), "{others}");
    }
    for others in [
        json!({ "aud": ["other", "https://gate.example/mcp"] }),
        json!({ "exp": 1000.5 }),
        json!({ "scope": null }),
        json!({ "sub": "x".repeat(255) }),
    ] {
        assert!(check(TokenType::AccessToken, others.clone()).is_ok(), "{others}");
    }
}

#[test]
fn times_have_a_tolerance_of_a_minute() {
    let token = check(TokenType::AccessToken, json!({ "nbf": 500 })).unwrap();
    for (now, expected) in [
        (439, Err(TokenProblem::NotYetValid)),
        (440, Ok(())),
        (1_000, Ok(())),
        (1_060, Ok(())),
        (1_061, Err(TokenProblem::Expired)),
    ] {
        assert_eq!(token.check_time(at(now)), expected, "{now}");
    }
    assert_eq!(token.check_time(UNIX_EPOCH), Err(TokenProblem::NotYetValid), "a clock that was set back");
}

#[test]
fn tokens_for_other_purposes_are_refused() {
    for (others, is_accepted) in [
        (json!({}), true),
        (json!({ "scope": null, "scp": ["a"] }), true),
        (json!({ "scope": null, "scp": "a b" }), true),
        (json!({ "scope": null, "roles": ["reader"], "azp": "client" }), true),
        (json!({ "scope": null, "roles": ["reader"] }), false),
        (json!({ "typ": "Bearer" }), true),
        (json!({ "scope": null }), false),
        (json!({ "nonce": "n" }), false),
        (json!({ "at_hash": "h" }), false),
        (json!({ "typ": "ID" }), false),
        (json!({ "typ": "Refresh" }), false),
        (json!({ "events": {} }), false),
    ] {
        let checked = check(TokenType::Jwt, others.clone());
        assert_eq!(checked.is_ok(), is_accepted, "{others}");
        assert!(is_accepted || checked == Err(TokenProblem::NotAnAccessToken), "{others}");
    }
}

#[test]
fn scopes_come_from_either_claim() {
    let scopes = |others| check(TokenType::AccessToken, others).unwrap().subject.facts().scopes.clone();
    let expected = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(scopes(json!({})), expected(&["a", "b"]));
    assert_eq!(scopes(json!({ "scope": null, "scp": ["c", "d e"] })), expected(&["c", "d", "e"]));
    assert_eq!(scopes(json!({ "scope": "", "scp": 1 })), expected(&[]));
}

#[test]
fn scopes_and_claims_of_a_token_have_a_common_limit() {
    let many = |count: usize| (0..count).map(|number| format!("{number:036}")).collect::<Vec<_>>();
    for (name, count) in [("groups", 700), ("scp", 700)] {
        assert!(check(TokenType::AccessToken, json!({ name: many(count) })).is_ok(), "{name}");
        let refused = check(TokenType::AccessToken, json!({ name: many(count + 100) }));
        assert_eq!(refused, Err(TokenProblem::TooLong), "{name}");
    }
}

#[test]
fn names_come_from_the_claim_or_the_subject() {
    let name = |naming, others: Value| {
        let signed = SignedClaims { token_type: TokenType::AccessToken, claims: claims(others) };
        rules(naming).check_signed(&signed).unwrap().subject.name().to_owned()
    };
    let ann = json!({ "email": "ann@example.com" });
    assert_eq!(name(SubjectNaming::Plain, ann.clone()), "ann@example.com");
    assert_eq!(name(SubjectNaming::Qualified, ann), "ann@example.com (https://a.example)");
    for none in [json!({}), json!({ "email": " " }), json!({ "email": "\u{202e}" }), json!({ "email": 1 })] {
        assert_eq!(name(SubjectNaming::Plain, none), "1 (https://a.example)");
    }
    let uid = json!({ "email": "uid:0" });
    assert_eq!(name(SubjectNaming::Plain, uid), "uid:0 (https://a.example)");
}

#[test]
fn an_introspected_token_must_be_for_this_gateway() {
    let rules = rules(SubjectNaming::Plain);
    let cases = BTreeMap::from([
        (r#"{}"#, None),
        (r#"{"iss":"https://a.example","token_type":"Bearer"}"#, None),
        (r#"{"typ":"Bearer"}"#, None),
        (r#"{"typ":"Refresh"}"#, Some(TokenProblem::NotAnAccessToken)),
        (r#"{"typ":"ID"}"#, Some(TokenProblem::NotAnAccessToken)),
        (r#"{"sub":"client:1"}"#, Some(TokenProblem::NoSubject)),
        (r#"{"iss":"https://b.example"}"#, Some(TokenProblem::Issuer)),
        (r#"{"token_type":"DPoP"}"#, Some(TokenProblem::SenderConstrained)),
        (r#"{"token_type":"refresh_token"}"#, Some(TokenProblem::NotAnAccessToken)),
        (r#"{"aud":null}"#, Some(TokenProblem::Audience)),
        (r#"{"exp":null}"#, Some(TokenProblem::NoExpiry)),
        (r#"{"sub":null}"#, Some(TokenProblem::NoSubject)),
    ]);
    for (others, expected) in cases {
        let answer = claims(serde_json::from_str(others).unwrap());
        assert_eq!(rules.check_introspected(&answer).err(), expected, "{others}");
    }
}

#[test]
fn a_client_without_a_user_is_no_user() {
    let rules = rules(SubjectNaming::Plain);
    let subject = |others: &str| {
        let answer = claims(serde_json::from_str(others).unwrap());
        let token = rules.check_introspected(&answer).unwrap();
        token.subject.subject().to_owned()
    };
    assert_eq!(subject(r#"{"sub":null,"client_id":"1"}"#), "client:1");
    assert_eq!(subject(r#"{"sub":"1","client_id":"2"}"#), "1");
}

#[test]
fn roles_can_name_flat_and_nested_claims() {
    let token = check(
        TokenType::AccessToken,
        json!({
            "groups": ["a", 1, true, null, ["x"], { "y": 1 }],
            "tenant": "t",
            "level": 3,
            "empty": [],
            "https://a.example/roles": ["admin"],
            "realm_access": { "roles": ["r"], "deep": { "er": { "most": "yes", "too": { "far": "no" } } } },
            "own.name": "flat",
            "own": { "name": "nested" },
        }),
    );
    let facts = token.unwrap().subject.facts().clone();
    let values =
        |name: &str| facts.claims.get(name).map(|values| values.iter().map(String::as_str).collect());
    let expected: [(&str, Option<Vec<&str>>); 12] = [
        ("groups", Some(vec!["a", "1", "true"])),
        ("tenant", Some(vec!["t"])),
        ("level", Some(vec!["3"])),
        ("empty", Some(vec![])),
        ("https://a.example/roles", Some(vec!["admin"])),
        ("realm_access.roles", Some(vec!["r"])),
        ("realm_access.deep.er.most", Some(vec!["yes"])),
        ("realm_access.deep.er.too.far", None),
        ("own.name", Some(vec!["flat"])),
        ("sub", None),
        ("scope", None),
        ("exp", None),
    ];
    for (name, expected) in expected {
        assert_eq!(values(name), expected, "{name}");
    }
    assert!(facts.scopes.iter().eq(["a", "b"]));
}
