//! The gateway as an OAuth resource server (2026-07-28, basic/authorization): metadata, challenges, tokens, sessions and
//! streams.

use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use moongate_tests::{
    AuthorizationServer, EventStream, Http, Reply, SigningKey, Workspace, initialize_params, request,
    seconds_from_now, stateless_request, wait_until,
};
use ring::hmac;
use serde_json::{Value, json};

pub(super) const RESOURCE: &str = "https://gate.example/mcp";

const METADATA_URL: &str = "https://gate.example/.well-known/oauth-protected-resource/mcp";

const JSON: (&str, &str) = ("Content-Type", "application/json");

/// A gateway with one issuer, and more keys of `[http.auth]` and other tables.
pub(super) fn workspace(issuer: &str, auth: &str, more: &str) -> Workspace {
    Workspace::new(&format!(
        "[http]\ntrusted_proxies = [\"127.0.0.1\"]\n[http.auth]\nresource = \"{RESOURCE}\"\nscopes = [\"mcp\"]\n{auth}\n\
         [[http.auth.issuers]]\nissuer = \"{issuer}\"\n{more}\n[plugins.zoo]\nsource = \"@zoo@\"\n"
    ))
}

/// The `Authorization` header with a token.
pub(super) fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

/// Starts a session with a token; only the authentication matters.
pub(super) fn try_token(http: &Http, token: &str) -> Reply {
    try_token_from(http, "192.0.2.1", token)
}

/// The same as a client at another address. Refusals are slowed down by address.
pub(super) fn try_token_from(http: &Http, address: &str, token: &str) -> Reply {
    http.post(&[("Authorization", &bearer(token)), ("X-Forwarded-For", address)], &initialize())
}

fn initialize() -> Value {
    request(1, "initialize", initialize_params("2025-11-25"))
}

/// The claims with others. A `null` removes a claim.
pub(super) fn with(mut claims: Value, others: Value) -> Value {
    let Value::Object(others) = others else { panic!("claims are an object") };
    for (name, value) in others {
        claims[name] = value;
    }
    claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    claims
}

#[test]
fn metadata_is_at_three_addresses_and_needs_no_token() {
    let issuer = AuthorizationServer::start(&[]);
    let workspace = workspace(&issuer.issuer(), "", "");
    let http = Http::start(&workspace);
    let expected = json!({
        "resource": RESOURCE,
        "authorization_servers": [issuer.issuer()],
        "scopes_supported": ["mcp"],
        "bearer_methods_supported": ["header"],
        "resource_name": "Moongate",
    });
    let root = "/.well-known/oauth-protected-resource";
    for path in [root, "/.well-known/oauth-protected-resource/mcp"] {
        // The public address never comes from the request.
        let forwarded =
            [("Host", "gate.example"), ("X-Forwarded-Host", "evil.example"), ("Forwarded", "host=evil")];
        for headers in [&[][..], &forwarded] {
            let reply = http.send("GET", path, headers, b"");
            assert_eq!(
                (reply.status, reply.header("content-type")),
                (200, Some("application/json")),
                "{path}"
            );
            assert_eq!(reply.json(), expected);
        }
        assert_eq!(http.send("HEAD", path, &[], b"").status, 200);
        assert_eq!(http.send("POST", path, &[JSON], b"{}").status, 405);
        let page = [("Origin", "http://localhost:6274"), ("Access-Control-Request-Method", "GET")];
        let preflight = http.send("OPTIONS", path, &page, b"");
        assert_eq!(preflight.header("access-control-allow-origin"), Some(page[0].1), "{preflight:?}");
        assert_eq!(
            http.send("GET", path, &page[..1], b"").header("access-control-allow-origin"),
            Some(page[0].1)
        );
        assert_eq!(http.send("GET", path, &[("Host", "evil.example")], b"").status, 403);
    }
    // Exactly these paths, not what ends or starts like them.
    for path in [
        "/mcp/.well-known/oauth-protected-resource",
        "/mcp?x=/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/../../mcp",
        "/.well-known/oauth-protected-resource/mcp/x",
        "/.well-known/oauth-protected-resource%2fmcp",
        "//.well-known/oauth-protected-resource",
    ] {
        let reply = http.send("POST", path, &[JSON], &initialize().to_string().into_bytes());
        assert!([401, 404].contains(&reply.status), "{path}: {reply:?}");
    }
}

#[test]
fn metadata_is_also_at_the_path_that_clients_see() {
    let issuer = AuthorizationServer::start(&[]);
    let text = format!(
        "[http.auth]\nresource = \"https://gate.example/tools/mcp\"\n[[http.auth.issuers]]\nissuer = \"{}\"\n",
        issuer.issuer()
    );
    let http = Http::start(&Workspace::new(&text));
    for path in ["", "/mcp", "/tools/mcp"] {
        let path = format!("/.well-known/oauth-protected-resource{path}");
        let document = http.send("GET", &path, &[], b"").json();
        assert_eq!(document["resource"], "https://gate.example/tools/mcp", "{path}");
        assert_eq!(document.get("scopes_supported"), None);
    }
    let reply = http.post(&[], &initialize());
    let url = "https://gate.example/.well-known/oauth-protected-resource/tools/mcp";
    assert_eq!(reply.header("www-authenticate"), Some(&*format!("Bearer resource_metadata=\"{url}\"")));
}

#[test]
fn challenges_name_the_metadata_and_all_scopes() {
    let key = SigningKey::p256("k");
    let issuer = AuthorizationServer::start(&[&key]);
    let workspace = workspace(&issuer.issuer(), "", "");
    let http = Http::start(&workspace);
    let parameters = format!("resource_metadata=\"{METADATA_URL}\", scope=\"mcp\"");

    let missing = http.post(&[], &initialize());
    assert_eq!(missing.status, 401);
    assert_eq!(missing.header("www-authenticate"), Some(&*format!("Bearer {parameters}")));
    for (method, path) in [("GET", "/mcp"), ("DELETE", "/mcp"), ("POST", "/mcp/")] {
        assert_eq!(
            http.send(method, path, &[], b"").header("www-authenticate"),
            missing.header("www-authenticate")
        );
    }

    let invalid = try_token(&http, "garbage");
    assert_eq!(invalid.status, 401);
    let description = "the token is malformed";
    let expected =
        format!("Bearer error=\"invalid_token\", error_description=\"{description}\", {parameters}");
    assert_eq!(invalid.header("www-authenticate"), Some(&*expected));

    let weak = key.token(&with(issuer.claims(RESOURCE, "ann"), json!({ "scope": "openid" })));
    let insufficient = try_token(&http, &weak);
    assert_eq!(insufficient.status, 403);
    let description = "the token needs more scopes";
    let expected =
        format!("Bearer error=\"insufficient_scope\", error_description=\"{description}\", {parameters}");
    assert_eq!(insufficient.header("www-authenticate"), Some(&*expected));
    let page = [("Origin", "http://localhost:6274")];
    let exposed = http.post(&page, &initialize());
    assert!(
        exposed.header("access-control-expose-headers").is_some_and(|all| all.contains("www-authenticate"))
    );
}

#[test]
fn accepts_tokens_of_every_kind_of_key() {
    let keys = [SigningKey::rsa("r"), SigningKey::p256("p"), SigningKey::ed25519("e")];
    let issuer = AuthorizationServer::start(&keys.each_ref());
    let workspace = workspace(&issuer.issuer(), "", "name_claim = \"email\"");
    let http = Http::start(&workspace);
    for key in &keys {
        let claims = with(issuer.claims(RESOURCE, "1"), json!({ "email": "ann@example.com\u{202e}\n" }));
        let token = key.token(&claims);
        let about = http.post(
            &[
                ("Authorization", &bearer(&token)),
                ("MCP-Protocol-Version", "2026-07-28"),
                ("Mcp-Method", "tools/call"),
                ("Mcp-Name", "zoo_echo_context"),
            ],
            &stateless_request(1, "tools/call", json!({ "name": "zoo_echo_context", "arguments": {} })),
        );
        let principal = about.json()["result"]["structuredContent"]["principal"].clone();
        assert!(principal.as_str().unwrap().starts_with("ann@example.com #"), "{about:?}");
    }
    assert_eq!(issuer.key_requests(), 1);
}

#[test]
fn refuses_every_token_that_is_not_for_this_gateway() {
    let (rsa, stranger) = (SigningKey::rsa("k"), SigningKey::p256("k"));
    let issuer = AuthorizationServer::start(&[&rsa]);
    let workspace = workspace(&issuer.issuer(), "", "");
    let http = Http::start(&workspace);
    let valid = issuer.claims(RESOURCE, "ann");
    let signed = |others: Value| rsa.token(&with(valid.clone(), others));
    let headed = |header: Value| rsa.sign(&with(rsa.header(), header), &valid.to_string());
    let good = signed(json!({}));
    assert_eq!(try_token(&http, &good).status, 200);

    let unsigned = |header: Value| {
        let parts = [header.to_string(), valid.to_string()].map(|part| URL_SAFE_NO_PAD.encode(part));
        parts.join(".")
    };
    let hmac_message = unsigned(json!({ "alg": "HS256", "typ": "at+jwt", "kid": "k" }));
    let hmac_key = hmac::Key::new(hmac::HMAC_SHA256, &rsa.public_bytes());
    let hmac_tag = hmac::sign(&hmac_key, hmac_message.as_bytes());
    let duplicate = format!("{}, \"sub\": \"root\" }}", valid.to_string().trim_end_matches('}'));
    let (head, _) = good.rsplit_once('.').unwrap();

    let cases = [
        ("malformed", "garbage".to_owned()),
        ("malformed", "a.b.c".to_owned()),
        ("malformed", format!("{good}=!")),
        ("too long", "x".repeat(20_000)),
        ("expired", signed(json!({ "exp": seconds_from_now(-90) }))),
        ("not valid yet", signed(json!({ "nbf": seconds_from_now(90) }))),
        ("no expiry", signed(json!({ "exp": null }))),
        ("not issued for this server", signed(json!({ "aud": "https://other.example/mcp" }))),
        ("not issued for this server", signed(json!({ "aud": null }))),
        ("not issued for this server", signed(json!({ "aud": ["a", "https://gate.example/mcp/other"] }))),
        ("issuer", signed(json!({ "iss": "https://other.example" }))),
        ("issuer", signed(json!({ "iss": null }))),
        ("issuer", signed(json!({ "iss": format!("{}/", issuer.issuer()) }))),
        ("no valid subject", signed(json!({ "sub": null }))),
        ("no key id", headed(json!({ "kid": null }))),
        ("unknown key", headed(json!({ "kid": "other" }))),
        ("algorithm", headed(json!({ "alg": "none" }))),
        ("algorithm", headed(json!({ "alg": "HS256" }))),
        ("algorithm", format!("{hmac_message}.{}", URL_SAFE_NO_PAD.encode(hmac_tag))),
        ("algorithm", format!("{}.", unsigned(json!({ "alg": "none", "typ": "at+jwt", "kid": "k" })))),
        ("algorithm", stranger.token(&valid)),
        ("(crit)", headed(json!({ "crit": ["b64"], "b64": true }))),
        ("type", headed(json!({ "typ": "id_token+jwt" }))),
        ("not an access token", {
            let claims = with(valid.clone(), json!({ "nonce": "n" }));
            rsa.sign(&with(rsa.header(), json!({ "typ": "JWT" })), &claims.to_string())
        }),
        ("key or certificate", signed(json!({ "cnf": { "jkt": "x" } }))),
        ("signature", format!("{head}.")),
        ("signature", format!("{head}.{}", URL_SAFE_NO_PAD.encode([1; 256]))),
        ("malformed", rsa.sign(&rsa.header(), &duplicate)),
    ];
    for (number, (expected, token)) in cases.iter().enumerate() {
        let reply = try_token_from(&http, &format!("10.0.0.{number}"), token);
        assert_eq!(reply.status, 401, "{expected}: {reply:?}");
        let challenge = reply.header("www-authenticate").unwrap();
        assert!(challenge.contains(expected) && challenge.contains(METADATA_URL), "{expected}: {challenge}");
    }
    // Only the header counts, and only one.
    let query = format!("/mcp?access_token={good}");
    assert_eq!(http.send("POST", &query, &[JSON], initialize().to_string().as_bytes()).status, 401);
    let header = bearer(&good);
    let twice = [JSON, ("Authorization", &*header), ("Authorization", &*header)];
    assert_eq!(http.send("POST", "/mcp", &twice, initialize().to_string().as_bytes()).status, 401);
    assert_eq!(try_token(&http, &good).status, 200, "others aren't affected");

    for (expected, _) in &cases {
        let is_line = |line: &str| line.contains("refused a request") && line.contains(expected);
        wait_until("the reason is logged", || http.log().lines().any(is_line));
    }
    let log = http.log();
    for token in cases.iter().map(|(_, token)| token).chain([&good]) {
        let (start, _) = token.split_at(token.len().min(30));
        assert!(start == "garbage" || !log.contains(start), "a token was logged: {log}");
    }
}

#[test]
fn a_session_belongs_to_issuer_and_subject() {
    let key = SigningKey::p256("k");
    let (issuer, other_issuer) = (AuthorizationServer::start(&[&key]), AuthorizationServer::start(&[&key]));
    let text = format!(
        "[http.auth]\nresource = \"{RESOURCE}\"\ntokens = [{{ name = \"ann\", token = {{ file = \"ann\" }} }}]\n\
         issuers = [{{ issuer = \"{}\" }}, {{ issuer = \"{}\" }}]\n[plugins.zoo]\nsource = \"@zoo@\"\n",
        issuer.issuer(),
        other_issuer.issuer()
    );
    let workspace = Workspace::new(&text);
    workspace.write("ann", "ann-has-a-long-secret");
    let http = Http::start(&workspace);
    let token = |issuer: &AuthorizationServer, subject: &str, id: &str| {
        bearer(&key.token(&with(issuer.claims(RESOURCE, subject), json!({ "jti": id }))))
    };
    let first = token(&issuer, "ann", "1");
    let session = http.open_session(&[("Authorization", &first)], "2025-11-25");
    let list = request(2, "tools/list", json!({}));
    let in_session =
        |token: &str| http.post(&[("Authorization", token), ("Mcp-Session-Id", &session)], &list).status;
    assert_eq!(in_session(&first), 200);
    assert_eq!(in_session(&token(&issuer, "ann", "2")), 200, "a refreshed token");
    assert_eq!(in_session(&token(&issuer, "bob", "3")), 404, "another subject");
    assert_eq!(in_session(&token(&other_issuer, "ann", "4")), 404, "another issuer");
    assert_eq!(in_session("Bearer ann-has-a-long-secret"), 404, "a static token");
    assert_eq!(http.post(&[("Mcp-Session-Id", &session)], &list).status, 401);
    let bob = token(&issuer, "bob", "5");
    let delete = [("Authorization", &*bob), ("Mcp-Session-Id", &*session)];
    assert_eq!(http.send("DELETE", "/mcp", &delete, b"").status, 404);
    assert_eq!(in_session(&token(&issuer, "ann", "6")), 200);
}

/// Reads a stream to its end, and returns how long that took.
fn read_to_end(mut stream: EventStream) -> f64 {
    assert_eq!(stream.reply.status, 200, "{:?}", stream.reply);
    let started = Instant::now();
    while stream.event().is_some() {}
    started.elapsed().as_secs_f64()
}

#[test]
fn every_stream_ends_when_its_token_expires() {
    let key = SigningKey::ed25519("k");
    let issuer = AuthorizationServer::start(&[&key]);
    let text = format!(
        "[http]\nlisten = \"127.0.0.1:0\"\nlegacy_sse = true\nkeep_alive = \"1s\"\n[http.auth]\nresource = \"{RESOURCE}\"\n\
         issuers = [{{ issuer = \"{}\" }}]\n[plugins.zoo]\nsource = \"@zoo@\"\n",
        issuer.issuer()
    );
    let http = Http::start(&Workspace::new(&text));
    // Accepted for some seconds more, because of the tolerance for clocks of a minute.
    let short = |seconds: i64| {
        let claims = with(issuer.claims(RESOURCE, "ann"), json!({ "exp": seconds_from_now(seconds - 60) }));
        bearer(&key.token(&claims))
    };
    let session = http.open_session(&[("Authorization", &short(60))], "2025-11-25");
    let events = ("Accept", "text/event-stream");
    let token = short(6);
    let in_session = http.open(
        "GET",
        &[
            events,
            ("Authorization", &token),
            ("Mcp-Session-Id", &session),
            ("MCP-Protocol-Version", "2025-11-25"),
        ],
        b"",
    );
    let filter = json!({ "notifications": { "toolsListChanged": true } });
    let listening = http.open(
        "POST",
        &[
            JSON,
            ("Accept", "application/json, text/event-stream"),
            ("Authorization", &token),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "subscriptions/listen"),
        ],
        stateless_request(2, "subscriptions/listen", filter).to_string().as_bytes(),
    );
    let legacy = http.open_at("GET", "/sse", &[events, ("Authorization", &token)], b"");
    let started = Instant::now();
    for (name, stream) in [("GET", in_session), ("listen", listening), ("HTTP+SSE", legacy)] {
        let _ = read_to_end(stream);
        assert!(started.elapsed().as_secs() < 20, "{name} outlived its token");
    }
    // The session itself goes on with the next token.
    let list = request(2, "tools/list", json!({}));
    let next = short(60);
    assert_eq!(http.post(&[("Authorization", &token), ("Mcp-Session-Id", &session)], &list).status, 401);
    assert_eq!(http.post(&[("Authorization", &next), ("Mcp-Session-Id", &session)], &list).status, 200);
}
