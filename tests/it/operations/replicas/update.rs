//! Gateways are replaced one after another while clients call, ask and listen.

use std::thread;

use moongate_tests::{ClientProgress, text};
use serde_json::{Value, json};

use super::client::{CallEnd, Session, call_stateless};
use super::{GATEWAYS, Replicas, wait_until_all_continue};

const ZOO: &str = "[plugins.zoo]\nsource = \"@zoo@\"\nallow.client = [\"elicitation\"]\n";

/// The kinds of clients.
const CLIENTS: [&str; 3] = ["call", "ask in a session", "listen"];

/// The rounds that each client must complete before the next gateway stops.
const ROUNDS_BETWEEN: u32 = 3;

fn echo() -> Value {
    json!({ "name": "zoo_echo", "arguments": { "text": "a" } })
}

#[test]
fn a_rolling_update_loses_no_call_and_no_notification() {
    let Some(mut replicas) = Replicas::start(ZOO) else { return };
    let address = replicas.balancer.address();
    let call = move |round: u32| {
        let response = call_stateless(address, echo())
            .unwrap_or_else(|outcome| panic!("call {round} is lost: {outcome:?}"));
        assert_eq!(text(&response), "a");
    };
    let ask = move |session: &mut Session| {
        let params = json!({ "name": "zoo_ask_name", "arguments": {} });
        let end = session.request("tools/call", params, |session, message| {
            if message["method"] == "elicitation/create" {
                session.answer(message, &json!({ "action": "accept", "content": { "name": "Ann" } }));
            }
        });
        let CallEnd::Response(response) = end else { panic!("{end:?}") };
        assert_eq!(text(&response), "Hello, Ann!");
    };
    let progress = ClientProgress::new(CLIENTS.len());
    thread::scope(|scope| {
        let progress = &progress;
        let _guard = progress.failure_guard();
        let repeat = move |client: usize, round: &mut dyn FnMut(u32)| {
            let _guard = progress.failure_guard();
            for number in 1.. {
                if progress.should_stop() {
                    return;
                }
                round(number);
                progress.record(client, number);
            }
        };
        scope.spawn(move || repeat(0, &mut |number| call(number)));
        scope.spawn(move || {
            let mut session = Session::open(address);
            repeat(1, &mut |_| ask(&mut session));
        });
        scope.spawn(move || {
            let mut session = Session::open(address);
            let subscribed =
                session.request("resources/subscribe", json!({ "uri": "zoo://text" }), |_, _| {});
            assert!(matches!(subscribed, CallEnd::Response(_)), "{subscribed:?}");
            let mut last = None;
            repeat(2, &mut |_| {
                let change = json!({ "name": "zoo_changes_flood", "arguments": { "count": 1 } });
                call_stateless(address, change).expect("no call is lost");
                let mut is_notified = false;
                while !is_notified && !progress.should_stop() {
                    let exists = session.listen(&mut last, |message| {
                        is_notified |= message.is_some();
                        !is_notified && !progress.should_stop()
                    });
                    assert!(exists, "the session continues");
                }
            });
        });
        for gateway in 0..GATEWAYS {
            wait_until_all_continue(progress, CLIENTS.into_iter(), ROUNDS_BETWEEN);
            replicas.update(gateway);
        }
        wait_until_all_continue(progress, CLIENTS.into_iter(), ROUNDS_BETWEEN);
        progress.finish();
    });
}
