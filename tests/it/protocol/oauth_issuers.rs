//! OAuth issuers as the gateway meets them: key rotation, floods of unknown keys, outages, lies, and introspection.

use std::thread;

use moongate_tests::{
    AuthorizationServer, Http, IssuerBehaviour, SigningKey, Workspace, initialize_params, request,
    seconds_from_now,
};
use serde_json::json;

use super::oauth::{RESOURCE, bearer, try_token, try_token_from, with, workspace};

#[test]
fn new_keys_are_found_without_a_restart() {
    let (old, new) = (SigningKey::p256("old"), SigningKey::ed25519("new"));
    let issuer = AuthorizationServer::start(&[&old]);
    let workspace = workspace(&issuer.issuer(), "", "");
    let http = Http::start(&workspace);
    let claims = issuer.claims(RESOURCE, "ann");
    assert_eq!(try_token(&http, &old.token(&claims)).status, 200);
    issuer.publish(&[&old, &new]);
    assert_eq!(try_token(&http, &new.token(&claims)).status, 200);
    assert_eq!(try_token(&http, &old.token(&claims)).status, 200);
    assert_eq!(issuer.key_requests(), 2);
}

#[test]
fn unknown_keys_do_not_flood_the_issuer() {
    let key = SigningKey::p256("k");
    let issuer = AuthorizationServer::start(&[&key]);
    let workspace = workspace(&issuer.issuer(), "", "");
    let http = Http::start(&workspace);
    let claims = issuer.claims(RESOURCE, "ann");
    assert_eq!(try_token(&http, &key.token(&claims)).status, 200);
    thread::scope(|scope| {
        for flood in 0..4 {
            let (http, claims) = (&http, &claims);
            scope.spawn(move || {
                for number in 0..5 {
                    let stranger = SigningKey::p256(&format!("{flood}-{number}"));
                    let address = format!("10.0.0.{flood}");
                    assert_eq!(try_token_from(http, &address, &stranger.token(claims)).status, 401);
                }
            });
        }
    });
    assert_eq!(try_token(&http, &key.token(&claims)).status, 200);
    assert_eq!(issuer.key_requests(), 2, "at the start, and for all unknown keys of this minute");
}

#[test]
fn an_outage_of_the_issuer_does_not_concern_known_keys() {
    let key = SigningKey::p256("k");
    let issuer = AuthorizationServer::start(&[&key]);
    let workspace = workspace(&issuer.issuer(), "", "");
    let http = Http::start(&workspace);
    let claims = issuer.claims(RESOURCE, "ann");
    assert_eq!(try_token(&http, &key.token(&claims)).status, 200);
    issuer.set_behaviour(IssuerBehaviour::Down);
    assert_eq!(try_token(&http, &SigningKey::p256("new").token(&claims)).status, 401);
    assert_eq!(try_token(&http, &key.token(&with(claims, json!({ "jti": "2" })))).status, 200);
    http.wait_for_log("its last keys stay in use");
}

#[test]
fn a_lying_issuer_delays_nobody_else() {
    let key = SigningKey::p256("k");
    let honest = AuthorizationServer::start(&[&key]);
    for behaviour in [
        IssuerBehaviour::Down,
        IssuerBehaviour::SendsPages,
        IssuerBehaviour::Floods,
        IssuerBehaviour::LiesAboutItsName,
    ] {
        let broken = AuthorizationServer::start(&[&key]);
        broken.set_behaviour(behaviour);
        let text = format!(
            "[http.auth]\nresource = \"{RESOURCE}\"\ntokens = [{{ name = \"ci\", token = {{ file = \"ci\" }} }}]\n\
             issuers = [{{ issuer = \"{}\" }}, {{ issuer = \"{}\" }}]\n[plugins.zoo]\nsource = \"@zoo@\"\n",
            broken.issuer(),
            honest.issuer()
        );
        let workspace = Workspace::new(&text);
        workspace.write("ci", "ci-has-a-long-secret");
        let http = Http::start(&workspace);
        let refused = try_token(&http, &key.token(&broken.claims(RESOURCE, "ann")));
        assert_eq!((refused.status, refused.header("retry-after")), (503, Some("5")), "{behaviour:?}");
        assert_eq!(refused.header("www-authenticate"), None, "the token may be valid");
        // An error without the id of its request would leave some clients waiting.
        assert_eq!(refused.header("content-type"), Some("text/plain; charset=utf-8"), "{refused:?}");
        assert_eq!(
            try_token(&http, &key.token(&honest.claims(RESOURCE, "ann"))).status,
            200,
            "{behaviour:?}"
        );
        assert_eq!(try_token(&http, "ci-has-a-long-secret").status, 200);
        http.wait_for_log("its tokens can't be verified");
    }
}

#[test]
fn requests_that_wait_for_keys_share_one_fetch() {
    let key = SigningKey::p256("k");
    let issuer = AuthorizationServer::start(&[&key]);
    issuer.set_behaviour(IssuerBehaviour::Hangs);
    let workspace = workspace(&issuer.issuer(), "", "");
    let http = Http::start(&workspace);
    let token = key.token(&issuer.claims(RESOURCE, "ann"));
    thread::scope(|scope| {
        let waiting: Vec<_> = (0..8).map(|_| scope.spawn(|| try_token(&http, &token).status)).collect();
        // Metadata and static checks don't wait for the issuer.
        assert_eq!(http.send("GET", "/.well-known/oauth-protected-resource", &[], b"").status, 200);
        assert_eq!(try_token(&http, "garbage").status, 401);
        issuer.set_behaviour(IssuerBehaviour::Up);
        for status in waiting.into_iter().map(|request| request.join().unwrap()) {
            assert_eq!(status, 200);
        }
    });
    assert_eq!((issuer.key_requests(), issuer.request_count()), (1, 2));
}

#[test]
fn keys_come_from_an_address_or_a_file() {
    let (key, other) = (SigningKey::p256("k"), SigningKey::p256("other"));
    let issuer = AuthorizationServer::start(&[&key]);
    let address = format!("jwks_uri = \"{}/jwks\"\naudiences = [\"api://gate\", \"x\"]", issuer.issuer());
    let workspace_with_address = workspace(&issuer.issuer(), "", &address);
    let http = Http::start(&workspace_with_address);
    assert_eq!(try_token(&http, &key.token(&issuer.claims("api://gate", "ann"))).status, 200);
    assert_eq!(try_token(&http, &key.token(&issuer.claims(RESOURCE, "ann"))).status, 401);
    assert_eq!(issuer.request_count(), 1, "no discovery");

    let with_file = workspace("https://auth.example", "", "jwks_file = \"jwks.json\"");
    with_file.write("jwks.json", json!({ "keys": [key.jwk()] }).to_string());
    let http = Http::start(&with_file);
    let claims = with(issuer.claims(RESOURCE, "ann"), json!({ "iss": "https://auth.example" }));
    assert_eq!(try_token(&http, &key.token(&claims)).status, 200);
    with_file.write("jwks.json", json!({ "keys": [other.jwk()] }).to_string());
    assert_eq!(try_token(&http, &other.token(&claims)).status, 200, "read again for an unknown key");
}

#[test]
fn opaque_tokens_are_introspected_and_kept_for_a_minute() {
    let key = SigningKey::p256("k");
    let issuer = AuthorizationServer::start(&[&key]);
    let introspection = "introspection = { client_id = \"gate way\", client_secret = { file = \"secret\" } }";
    let workspace = workspace(&issuer.issuer(), "", introspection);
    workspace.write("secret", "a-secret:with-a-colon");
    let http = Http::start(&workspace);
    let active = with(issuer.claims(RESOURCE, "ann"), json!({ "active": true }));
    for (token, answer, status) in [
        ("good-token", active.clone(), 200),
        ("no-user", with(active.clone(), json!({ "sub": null, "client_id": "ann" })), 200),
        ("nobody", with(active.clone(), json!({ "sub": null, "client_id": null })), 401),
        ("refresh", with(active.clone(), json!({ "typ": "Refresh" })), 401),
        ("weak-token", with(active.clone(), json!({ "scope": "other" })), 403),
        ("inactive", with(active.clone(), json!({ "active": false })), 401),
        ("not-a-boolean", with(active.clone(), json!({ "active": "true" })), 503),
        ("wrong-audience", with(active.clone(), json!({ "aud": "https://other.example" })), 401),
        ("wrong-issuer", with(active.clone(), json!({ "iss": "https://other.example" })), 401),
        ("expired", with(active.clone(), json!({ "exp": seconds_from_now(-90) })), 401),
        ("bound", with(active.clone(), json!({ "cnf": { "jkt": "x" } })), 401),
    ] {
        issuer.set_opaque_token(token, answer);
        let reply = try_token(&http, token);
        assert_eq!(reply.status, status, "{token}: {reply:?}");
    }
    let asked = issuer.introspection_requests();
    assert_eq!(asked.len(), 11);
    // RFC 6749, 2.3.1: encoded as in forms, then in Base64.
    let credentials = "Basic Z2F0ZSt3YXk6YS1zZWNyZXQlM0F3aXRoLWEtY29sb24=";
    assert!(asked.iter().all(|request| request.header("authorization") == Some(credentials)), "{asked:?}");

    issuer.set_behaviour(IssuerBehaviour::Down);
    for _ in 0..3 {
        assert_eq!(try_token(&http, "good-token").status, 200, "kept");
        assert_eq!(try_token(&http, "weak-token").status, 403, "kept");
    }
    assert_eq!(try_token(&http, "never-seen").status, 503);
    issuer.set_behaviour(IssuerBehaviour::Up);
    assert_eq!(try_token(&http, "never-seen").status, 401);
    // JWTs are verified here, and aren't sent to the issuer. Neither is what can't be a token.
    let before = issuer.introspection_requests().len();
    assert_eq!(try_token(&http, &key.token(&issuer.claims(RESOURCE, "ann"))).status, 200);
    assert_eq!(
        try_token(
            &http,
            &key.token(&with(issuer.claims(RESOURCE, "ann"), json!({ "iss": "https://b.example" })))
        )
        .status,
        401
    );
    assert_eq!(try_token(&http, "not a token").status, 401);
    assert_eq!(issuer.introspection_requests().len(), before);
    let log = http.log();
    for secret in ["good-token", "never-seen", "a-secret"] {
        assert!(!log.contains(secret), "`{secret}` was logged: {log}");
    }
}

/// Otherwise, anyone could let the gateway send requests to the issuer.
#[test]
fn inactive_tokens_count_as_guesses_and_are_asked_about_once() {
    let issuer = AuthorizationServer::start(&[&SigningKey::p256("k")]);
    let introspection = "introspection = { client_id = \"gate\", client_secret = { file = \"secret\" } }";
    let workspace = workspace(&issuer.issuer(), "", introspection);
    workspace.write("secret", "a-client-secret");
    let http = Http::start(&workspace);
    assert_eq!([(); 3].map(|()| try_token(&http, "dead").status), [401; 3]);
    assert_eq!(issuer.introspection_requests().len(), 1);
    let refused = (0..100).find(|number| try_token(&http, &format!("guess-{number}")).status == 429);
    assert!(refused.is_some(), "guesses are limited");
    let active = with(issuer.claims(RESOURCE, "ann"), json!({ "active": true }));
    issuer.set_opaque_token("good-token", active);
    assert_eq!(try_token(&http, "good-token").status, 200);
}

#[test]
fn a_session_of_an_opaque_token_goes_on_with_the_next_one() {
    let issuer = AuthorizationServer::start(&[&SigningKey::p256("k")]);
    let introspection =
        "introspection = { client_id = \"gate\", client_secret = { env = \"CLIENT_SECRET\" } }";
    let workspace = workspace(&issuer.issuer(), "", introspection);
    let mut command = workspace.command(&["serve"]);
    command.env("CLIENT_SECRET", "a-client-secret");
    let http = Http::spawn(command);
    let active = with(issuer.claims(RESOURCE, "ann"), json!({ "active": true }));
    for token in ["first", "second"] {
        issuer.set_opaque_token(token, active.clone());
    }
    let session = http.open_session(&[("Authorization", &bearer("first"))], "2025-11-25");
    let headers = [("Authorization", &*bearer("second")), ("Mcp-Session-Id", &*session)];
    assert_eq!(http.post(&headers, &request(2, "tools/list", json!({}))).status, 200);
    assert_eq!(
        http.post(&headers[..1], &request(1, "initialize", initialize_params("2025-11-25"))).status,
        200
    );
    assert_eq!(issuer.introspection_requests().len(), 2);
}
