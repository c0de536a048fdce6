//! Static tokens that are added, replaced and revoked while the gateway runs.

use std::fs;
use std::io::Read as _;

use moongate_tests::{EventStream, Http, Workspace, component, request, stateless_request, wait_until};
use serde_json::json;

const ANN: &str = "Bearer ann-has-a-long-secret";
const EVE: &str = "Bearer eve-has-a-long-secret";
const BOB: &str = "Bearer bob-has-a-long-secret";

/// A configuration with these tokens, each read from the file with its name.
fn config(names: &[&str]) -> String {
    let token = |name: &&str| format!("{{ name = \"{name}\", token = {{ file = \"{name}\" }} }}");
    let tokens: Vec<_> = names.iter().map(token).collect();
    format!(
        "version = 1\n[admin]\nlisten = \"127.0.0.1:0\"\n[http]\nlisten = \"127.0.0.1:0\"\nlegacy_sse = true\n\
         auth.tokens = [{}]\n[plugins.zoo]\nsource = \"@zoo@\"\n",
        tokens.join(", ")
    )
}

fn workspace(names: &[&str]) -> Workspace {
    let workspace = Workspace::new(&config(names));
    for (name, token) in [("ann", ANN), ("bob", BOB)] {
        workspace.write(name, token.trim_start_matches("Bearer "));
    }
    workspace
}

/// Replaces the tokens.
fn configure(workspace: &Workspace, names: &[&str]) {
    let path = |name: &str| component(name).display().to_string();
    workspace.write("gateway.toml", config(names).replace("@zoo@", &path("zoo")));
}

/// The status of a list with this token. An empty one is left out.
fn list(http: &Http, token: &str) -> u16 {
    let headers: &[(&str, &str)] = if token.is_empty() { &[] } else { &[("Authorization", token)] };
    let list = stateless_request(1, "tools/list", json!({}));
    let mut all = headers.to_vec();
    all.extend([("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")]);
    http.post(&all, &list).status
}

/// The streams that a caller can keep open: of a session, of 2026-07-28 and of 2024-11-05.
fn open_streams(http: &Http, token: &str, session: &str) -> [EventStream; 3] {
    let events = ("Accept", "text/event-stream");
    let token = ("Authorization", token);
    let in_session = [events, token, ("Mcp-Session-Id", session), ("MCP-Protocol-Version", "2025-11-25")];
    let filter = json!({ "notifications": { "toolsListChanged": true } });
    let listen = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        token,
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "subscriptions/listen"),
    ];
    let body = stateless_request(2, "subscriptions/listen", filter).to_string();
    let streams = [
        http.open("GET", &in_session, b""),
        http.open("POST", &listen, body.as_bytes()),
        http.open_at("GET", "/sse", &[events, token], b""),
    ];
    streams.iter().for_each(|stream| assert_eq!(stream.reply.status, 200, "{:?}", stream.reply));
    streams
}

fn status_in_session(http: &Http, token: &str, session: &str) -> u16 {
    let headers =
        [("Authorization", token), ("Mcp-Session-Id", session), ("MCP-Protocol-Version", "2025-11-25")];
    http.post(&headers, &request(3, "tools/list", json!({}))).status
}

#[test]
fn a_replaced_secret_file_ends_the_tokens_sessions_and_streams() {
    let workspace = workspace(&["ann", "bob"]);
    let http = Http::start(&workspace);
    let session = |token| http.open_session(&[("Authorization", token)], "2025-11-25");
    let [of_ann, of_bob] = [session(ANN), session(BOB)];
    let streams = open_streams(&http, ANN, &of_ann);
    let mut kept = open_streams(&http, BOB, &of_bob);
    workspace.write("ann", EVE.trim_start_matches("Bearer "));
    for mut stream in streams {
        while stream.event().is_some() {}
    }
    http.wait_for_log("configuration applied: token `ann` replaced");
    assert_eq!([ANN, EVE, BOB].map(|token| list(&http, token)), [401, 200, 200]);
    assert_eq!(status_in_session(&http, EVE, &of_ann), 404, "the session belonged to the revoked token");
    assert_eq!(status_in_session(&http, BOB, &of_bob), 200);
    // Bob's streams are still open: they end with his token.
    configure(&workspace, &["ann"]);
    for stream in &mut kept {
        while stream.event().is_some() {}
    }
    http.wait_for_log("configuration applied: token `bob` revoked");
    assert_eq!([EVE, BOB].map(|token| list(&http, token)), [200, 401]);
}

#[test]
fn tokens_are_added_without_a_restart() {
    let workspace = workspace(&["ann"]);
    let http = Http::start(&workspace);
    let session = http.open_session(&[("Authorization", ANN)], "2025-11-25");
    assert_eq!([ANN, BOB, ""].map(|token| list(&http, token)), [200, 401, 401]);
    configure(&workspace, &["bob", "ann"]);
    http.wait_for_log("configuration applied: token `bob` added");
    wait_until("the new token is accepted", || list(&http, BOB) == 200);
    assert_eq!(status_in_session(&http, ANN, &session), 200, "another token ends nobody's session");
    assert_eq!(status_in_session(&http, BOB, &session), 404);
}

#[test]
fn the_first_token_ends_anonymous_access_until_a_restart() {
    let workspace = workspace(&[]);
    let http = Http::start(&workspace);
    let session = http.open_session(&[], "2025-11-25");
    let filter = json!({ "notifications": { "toolsListChanged": true } });
    let headers = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "subscriptions/listen"),
    ];
    let body = stateless_request(2, "subscriptions/listen", filter).to_string();
    let mut listening = http.open("POST", &headers, body.as_bytes());
    assert_eq!([list(&http, ""), list(&http, ANN)], [200, 200]);
    configure(&workspace, &["ann"]);
    while listening.event().is_some() {}
    assert_eq!([list(&http, ""), list(&http, BOB), list(&http, ANN)], [401, 401, 200]);
    assert_eq!(status_in_session(&http, ANN, &session), 404);
    // A leaked token can be the only one: removing it must not let everyone in.
    configure(&workspace, &[]);
    http.wait_for_log("configuration applied: token `ann` revoked");
    assert_eq!([list(&http, ""), list(&http, ANN)], [401, 401]);
    assert_eq!(list(&Http::start(&workspace), ""), 200);
}

/// The command line's address counts, not the one in the file.
#[test]
fn the_last_token_of_a_public_address_is_never_removed() {
    let workspace = workspace(&["ann"]);
    let http = Http::spawn(workspace.command(&["serve", "--http", "0.0.0.0:0"]));
    let session = http.open_session(&[("Authorization", ANN)], "2025-11-25");
    configure(&workspace, &[]);
    http.wait_for_log("rejected the new configuration; the current one stays in effect");
    http.wait_for_log("refusing to listen on non-loopback address 0.0.0.0");
    assert_eq!([list(&http, ""), status_in_session(&http, ANN, &session)], [401, 200]);
    workspace.write("ann", "short");
    configure(&workspace, &["ann"]);
    http.wait_for_log("the token `ann` is too short");
    assert_eq!([list(&http, "Bearer short"), status_in_session(&http, ANN, &session)], [401, 200]);
}

/// An operator in a hurry deletes or empties the secret file, and a broken one of another token must not keep the rest
/// from being applied.
#[test]
fn a_token_without_a_usable_secret_is_refused_alone() {
    let workspace = workspace(&["ann", "bob"]);
    workspace.write("eve", EVE.trim_start_matches("Bearer "));
    configure(&workspace, &["ann", "bob", "eve"]);
    let http = Http::start(&workspace);
    // The tries below can be too many.
    let is_refused = |token| [401, 429].contains(&list(&http, token));
    let session = http.open_session(&[("Authorization", BOB)], "2025-11-25");
    assert_eq!([ANN, BOB, EVE].map(|token| list(&http, token)), [200; 3]);
    for (content, problem) in
        [(None, "doesn't exist"), (Some(""), "is empty"), (Some("two words"), "contains white space")]
    {
        match content {
            Some(content) => workspace.write("ann", content),
            None => fs::remove_file(workspace.path().join("ann")).unwrap(),
        }
        wait_until("the token is refused", || is_refused(ANN));
        http.admin().wait_until_status("the secret is reported", |status| {
            status["config"]["rejected"].as_str().is_some_and(|reason| reason.contains(problem))
        });
        http.wait_for_log("refusing tokens whose secret can't be used; the rest was applied");
        let failed = http.admin().reload()["failed"].to_string();
        assert!(failed.contains(problem), "{failed}");
        assert_eq!(status_in_session(&http, BOB, &session), 200);
        workspace.write("ann", ANN.trim_start_matches("Bearer "));
        wait_until("the token is accepted again", || list(&http, ANN) == 200);
    }
    fs::remove_file(workspace.path().join("ann")).unwrap();
    configure(&workspace, &["ann", "bob"]);
    wait_until("the other token is revoked", || is_refused(EVE));
    // The last token: nobody is admitted without one.
    configure(&workspace, &["ann"]);
    wait_until("all tokens are refused", || is_refused(BOB));
    assert!(is_refused(ANN) && is_refused(""));
}

/// A call ends with its token, even if its response isn't a stream.
#[test]
fn revoking_a_token_ends_its_calls() {
    let workspace = workspace(&["ann", "bob"]);
    let http = Http::start(&workspace);
    let instances = || http.admin().metric("moongate_plugin_instances{plugin=\"zoo\"}");
    let [mut ann, _bob] = [ANN, BOB]
        .map(|token| http.start_call_with(&[("Authorization", token)], "zoo_sleep_forever", json!({})));
    wait_until("both calls run", || instances() == Some(2.0));
    configure(&workspace, &["bob"]);
    let mut status = [0; 12];
    ann.read_exact(&mut status).unwrap();
    assert_eq!(str::from_utf8(&status).unwrap(), "HTTP/1.1 401");
    wait_until("the call has ended", || instances() == Some(1.0));
}
