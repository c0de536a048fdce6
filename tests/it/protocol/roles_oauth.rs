//! Roles by issuer, subject, scope and claim of access tokens. A session belongs to the subject; what it sees depends on
//! the token of each request.

use moongate_tests::{AuthorizationServer, Http, SigningKey, Workspace, request};
use serde_json::{Value, json};

use super::oauth::{RESOURCE, bearer, with, workspace};
use super::roles::{listen, names, stateless_with};

/// The tools that a token shows.
fn tools(http: &Http, token: &str) -> Vec<String> {
    let (_, body) = stateless_with(http, token, "tools/list", json!({}));
    let answer: Value = serde_json::from_str(&body).unwrap();
    names(&answer["result"], "tools", "name")
}

/// A gateway with these roles, in which each tool belongs to one condition.
fn with_roles(issuer: &AuthorizationServer, roles: &[(&str, &str)]) -> Workspace {
    let table = |(number, (member, tool)): (usize, &(&str, &str))| {
        format!("[roles.role-{number}]\nmembers = [{member}]\nallow.tools = [\"{tool}\"]\n")
    };
    let roles: String = roles.iter().enumerate().map(table).collect();
    workspace(&issuer.issuer(), "", &roles)
}

#[test]
fn scopes_claims_and_subjects_give_roles() {
    let key = SigningKey::p256("k");
    let issuer = AuthorizationServer::start(&[&key]);
    let workspace = with_roles(
        &issuer,
        &[
            ("{ scope = \"notes:write\" }", "zoo_echo"),
            ("{ claim = \"groups\", value = \"staff\" }", "zoo_echo_context"),
            ("{ claim = \"realm_access.roles\", value = \"admin\" }", "zoo_panic"),
            ("{ subject = \"bob\", claim = \"groups\", value = \"staff\" }", "zoo_sleep"),
            ("{ claim = \"verified\", value = \"true\" }", "zoo_error_result"),
        ],
    );
    let http = Http::start(&workspace);
    let seen =
        |subject: &str, more: Value| tools(&http, &key.token(&with(issuer.claims(RESOURCE, subject), more)));
    assert_eq!(seen("ann", json!({})), [""; 0]);
    assert_eq!(seen("ann", json!({ "scope": "mcp notes:write" })), ["zoo_echo"]);
    assert_eq!(seen("ann", json!({ "scope": "mcp notes:writer" })), [""; 0]);
    assert_eq!(seen("ann", json!({ "groups": ["other", "staff"] })), ["zoo_echo_context"]);
    assert_eq!(seen("ann", json!({ "groups": "staff" })), ["zoo_echo_context"]);
    assert_eq!(seen("ann", json!({ "groups": "staff other" })), [""; 0]);
    assert_eq!(seen("ann", json!({ "realm_access": { "roles": ["admin"] } })), ["zoo_panic"]);
    // A claim named like the path hides the nested one: it isn't a second way in.
    assert_eq!(
        seen("ann", json!({ "realm_access.roles": ["none"], "realm_access": { "roles": ["admin"] } })),
        [""; 0]
    );
    assert_eq!(seen("ann", json!({ "verified": true })), ["zoo_error_result"]);
    let both = seen("bob", json!({ "groups": ["staff"] }));
    assert!(
        both.contains(&"zoo_echo_context".to_owned()) && both.contains(&"zoo_sleep".to_owned()),
        "{both:?}"
    );
}

#[test]
fn claims_of_another_issuer_give_no_role() {
    let keys = ["a", "b"].map(SigningKey::p256);
    let issuers = keys.each_ref().map(|key| AuthorizationServer::start(&[key]));
    let [first, second] = issuers.each_ref().map(AuthorizationServer::issuer);
    let roles = format!(
        "[[http.auth.issuers]]\nissuer = \"{second}\"\n\
         [roles.staff]\nmembers = [{{ issuer = \"{first}\", claim = \"groups\", value = \"staff\" }}]\nallow.plugins = [\"*\"]\n"
    );
    let http = Http::start(&workspace(&first, "", &roles));
    let seen = |at: usize| {
        let claims = with(issuers[at].claims(RESOURCE, "ann"), json!({ "groups": ["staff"] }));
        tools(&http, &keys[at].token(&claims))
    };
    assert!(!seen(0).is_empty());
    assert_eq!(seen(1), [""; 0]);
}

#[test]
fn view_of_a_session_follows_the_token_of_the_request() {
    let key = SigningKey::p256("k");
    let issuer = AuthorizationServer::start(&[&key]);
    let workspace = with_roles(
        &issuer,
        &[("{ scope = \"mcp\" }", "zoo_echo_context"), ("{ scope = \"notes:write\" }", "zoo_echo")],
    );
    let http = Http::start(&workspace);
    let token = |scope: &str| key.token(&with(issuer.claims(RESOURCE, "ann"), json!({ "scope": scope })));
    let (weak, strong) = (bearer(&token("mcp")), bearer(&token("mcp notes:write")));
    let session = http.open_session(&[("Authorization", &strong)], "2025-06-18");
    let ask = |authorization: &str, id: u64, method: &str, params: Value| {
        let headers = [("Authorization", authorization), ("Mcp-Session-Id", &*session)];
        http.post(&headers, &request(id, method, params)).json()
    };
    let headers =
        [("Authorization", &*strong), ("Mcp-Session-Id", &session), ("Accept", "text/event-stream")];
    let mut stream = http.open("GET", &headers, b"");
    let call = json!({ "name": "zoo_echo", "arguments": { "text": "x" } });
    assert!(ask(&strong, 2, "tools/call", call.clone()).get("result").is_some());
    let unknown = ask(&weak, 3, "tools/call", call.clone());
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    assert_eq!(stream.message().unwrap()["method"], "notifications/tools/list_changed");
    assert!(ask(&strong, 4, "tools/call", call).get("result").is_some());
    assert_eq!(stream.message().unwrap()["method"], "notifications/tools/list_changed");
    let listed = ask(&weak, 5, "tools/list", json!({}));
    assert_eq!(names(&listed["result"], "tools", "name"), ["zoo_echo_context"]);
}

#[test]
fn streams_show_what_their_own_token_shows() {
    let key = SigningKey::p256("k");
    let issuer = AuthorizationServer::start(&[&key]);
    let roles = "[roles.reader]\nmembers = [{ scope = \"notes:read\" }]\nallow.plugins = [\"*\"]\n";
    let http = Http::start(&workspace(&issuer.issuer(), "", roles));
    let token = |scope: &str| key.token(&with(issuer.claims(RESOURCE, "ann"), json!({ "scope": scope })));
    let accepted = |token: &str| {
        let first = listen(&http, token, &["zoo://text"]).message().unwrap();
        first["params"]["notifications"]["resourceSubscriptions"].clone()
    };
    assert_eq!(accepted(&token("mcp notes:read")), json!(["zoo://text"]));
    assert_eq!(accepted(&token("mcp")), Value::Null);
}
