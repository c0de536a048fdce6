//! Gateways with different clocks.

use std::process::Command;

use moongate_tests::{Http, StoreServer, Workspace, installed, text, wait_until};
use serde_json::{Value, json};

use super::client::{CallEnd, Session, call_stateless};

/// The offsets of the gateways' clocks from the machine's clock.
const OFFSETS: [&str; 3] = ["+0s", "+60s", "-60s"];

/// The calls of `zoo_echo` that are allowed in an hour.
const CALLS: usize = 5;

/// The library that changes the clock of a program. `None` if it isn't installed.
fn faketime_library() -> Option<String> {
    let mut command = Command::new(installed("faketime")?);
    let output = command.args(["-m", "-f", "+0s", "printenv", "LD_PRELOAD"]).output().expect("faketime runs");
    Some(String::from_utf8(output.stdout).expect("a path").trim().to_owned())
}

/// Starts a gateway whose clock has this offset. Only the time of day differs; durations are the same for all.
fn start(workspace: &Workspace, library: &str, offset: &str) -> Http {
    let mut command = workspace.command(&["serve"]);
    command.env("LD_PRELOAD", library).env("FAKETIME", offset);
    command
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
        .env("NO_FAKE_STAT", "1")
        .env("FAKETIME_DISABLE_SHM", "1");
    Http::spawn(command)
}

fn accepted() -> Value {
    json!({ "action": "accept", "content": { "name": "Ann" } })
}

/// Asks without a session at one gateway, and answers at another.
fn ask_stateless(from: &Http, to: &Http) {
    let params = json!({ "name": "zoo_ask_name", "arguments": {} });
    let asked = call_stateless(from.address(), params.clone()).expect("an answer");
    let mut retry = params;
    retry["requestState"] = asked["result"]["requestState"].clone();
    retry["inputResponses"] = json!({ "name": accepted() });
    let response = call_stateless(to.address(), retry.clone()).expect("an answer");
    assert_eq!(text(&response), "Hello, Ann!");
    let again = call_stateless(from.address(), retry).expect("an answer");
    assert!(again["error"]["message"].as_str().is_some_and(|it| it.contains("already used")), "{again}");
}

/// Opens a session at one gateway, where a call asks a question, and answers it at another. There, the session is then
/// notified of a change that the first gateway reports.
fn use_session(from: &Http, to: &Http) {
    let mut session = Session::open(from.address());
    let end = session.request(
        "tools/call",
        json!({ "name": "zoo_ask_name", "arguments": {} }),
        |session, message| {
            session.move_to(to.address());
            session.answer(message, &accepted());
        },
    );
    let CallEnd::Response(response) = end else { panic!("{end:?}") };
    assert_eq!(text(&response), "Hello, Ann!");
    let subscribed = session.request("resources/subscribe", json!({ "uri": "zoo://text" }), |_, _| {});
    assert!(
        matches!(&subscribed, CallEnd::Response(response) if response["result"].is_object()),
        "{subscribed:?}"
    );
    let change = json!({ "name": "zoo_changes_flood", "arguments": { "count": 1 } });
    call_stateless(from.address(), change).expect("an answer");
    let mut is_notified = false;
    while !is_notified {
        let exists = session.listen(&mut None, |message| {
            is_notified |= message.is_some();
            !is_notified
        });
        assert!(exists, "the session continues");
    }
}

#[test]
fn clocks_of_gateways_can_differ_by_a_minute() {
    let Some(library) = faketime_library() else { return };
    let Some(store) = StoreServer::start(&[]) else { return };
    let workspaces = OFFSETS.map(|_| {
        let workspace = Workspace::new(&format!(
            "[gateway]\nsealing_key = {{ file = \"sealing-key\" }}\n[store]\nurl = \"{}\"\n[http]\nkeep_alive = \"1s\"\n\
             [admin]\nlisten = \"127.0.0.1:0\"\n[plugins.zoo]\nsource = \"@zoo@\"\nallow.client = [\"elicitation\"]\n\
             rates.echo = {{ calls = \"{CALLS}/h\" }}\n",
            store.url()
        ));
        workspace.write("sealing-key", "0123456789abcdef0123456789abcdef");
        workspace
    });
    let gateways = [0, 1, 2].map(|number| start(&workspaces[number], &library, OFFSETS[number]));
    let [normal, early, late] =
        [0, 1, 2].map(|number: usize| gateways[number].admin().status()["started"].to_string());
    assert!(late < normal && normal < early, "the clocks don't differ: {late}, {normal}, {early}");
    for from in &gateways {
        for to in &gateways {
            ask_stateless(from, to);
            use_session(from, to);
        }
    }
    let calls = gateways.iter().cycle().take(2 * CALLS).filter(|gateway| {
        let answer = gateway.call("zoo_echo", json!({ "text": "a" }));
        let is_limited = answer["error"]["data"]["reason"] == "rate_limited";
        assert!(is_limited || answer["result"].is_object(), "{answer}");
        !is_limited
    });
    assert_eq!(calls.count(), CALLS);
    for gateway in &gateways {
        wait_until("each gateway sees the others", || {
            gateway.admin().status()["gateways"].as_array().is_some_and(|them| them.len() == gateways.len())
        });
    }
}
