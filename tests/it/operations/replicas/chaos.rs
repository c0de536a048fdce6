//! Gateways and the store are killed and stopped, and the network between them is slow, while clients of both eras call,
//! ask, listen and write state.
//!
//! No event is lost or doubled, no acknowledged write is lost, no counter goes back, and each session continues. A call
//! whose gateway is lost ends with an error, or its client can't know whether it was made.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use moongate_tests::{ClientProgress, scaled_rounds, send_signal, text, wait_until};
use serde_json::{Value, json};

use super::client::{CallEnd, SILENCE, Session, call_stateless_within};
use super::{GATEWAYS, Replicas};

const PLUGINS: &str = "[plugins.zoo]\nsource = \"@zoo@\"\nallow.client = [\"elicitation\"]\n\
                       [plugins.stateful]\nsource = \"@stateful@\"\nallow.state = true\n\
                       [plugins.everything]\nsource = \"@everything@\"\n";

/// The number of times that each disturbance is repeated.
const ROUNDS: u32 = 1;

/// The rounds of each client that must succeed after each disturbance.
const ROUNDS_AFTER_DISTURBANCE: u32 = 2;

/// The words of errors that a client may repeat the call after.
const TEMPORARY: [&str; 3] = ["\"retry\":true", "shared store", "try again"];

/// The values that clients wrote and know to be written.
#[derive(Debug, Default)]
struct Acknowledged {
    /// The sums that the shared counter has returned.
    sums: BTreeSet<u64>,
    /// Additions that might have been made.
    unknown: u64,
}

/// A client, and the number of rounds in which it succeeded.
struct ChaosClient<'a> {
    number: usize,
    rounds: u32,
    address: SocketAddr,
    progress: &'a ClientProgress,
    acknowledged: &'a Mutex<Acknowledged>,
    kills: &'a AtomicU32,
}

/// What a client does until the test ends.
type ClientTask = fn(ChaosClient<'_>);

/// The kinds of clients, with their names.
const CLIENTS: [(&str, ClientTask); 7] = [
    ("add", |client| client.add()),
    ("add at the same time", |client| client.add()),
    ("write", |client| client.write()),
    ("ask without a session", |client| client.ask_stateless()),
    ("ask in a session", |client| client.ask_in_session()),
    ("report progress", |client| client.report_progress()),
    ("listen", |client| client.listen()),
];

impl ChaosClient<'_> {
    fn succeed(&mut self) {
        self.rounds += 1;
        self.progress.record(self.number, self.rounds);
    }

    /// The number of gateways that were killed so far.
    fn kills(&self) -> u32 {
        self.kills.load(Ordering::SeqCst)
    }

    /// Calls a tool without a session; `None` if it failed for a moment or its outcome is unknown.
    fn call(&self, tool: &str, arguments: &Value, more: &Value) -> Option<Value> {
        let mut params = json!({ "name": tool, "arguments": arguments });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let response = call_stateless_within(self.address, params, SILENCE).ok()?;
        is_success(&response).then_some(response)
    }

    /// Increments a counter that several clients share.
    fn add(mut self) {
        let mut newest = 0;
        while !self.progress.should_stop() {
            let added = self.call("stateful_add", &json!({ "key": "sum" }), &json!({}));
            let mut acknowledged = self.acknowledged.lock().unwrap();
            match added {
                Some(response) => {
                    let sum: u64 = text(&response).parse().unwrap();
                    assert!(sum > newest, "the counter went back from {newest} to {sum}");
                    assert!(acknowledged.sums.insert(sum), "the sum {sum} was returned twice");
                    newest = sum;
                    drop(acknowledged);
                    self.succeed();
                }
                None => acknowledged.unknown += 1,
            }
        }
    }

    /// Writes ever higher numbers, and reads them at another gateway.
    fn write(mut self) {
        // A write whose outcome is unknown can take effect late, once its gateway continues.
        let mut late = BTreeSet::new();
        let mut possible = BTreeSet::from([0]);
        let mut written = 0;
        while !self.progress.should_stop() {
            written += 1;
            let value = json!({ "key": "number", "value": written.to_string() });
            let is_written = self.call("stateful_set", &value, &json!({})).is_some();
            if is_written {
                possible = late.clone();
            } else {
                late.insert(written);
            }
            possible.insert(written);
            let Some(response) = self.call("stateful_get", &json!({ "key": "number" }), &json!({})) else {
                continue;
            };
            let found = text(&response).parse().unwrap_or(0);
            assert!(possible.contains(&found), "{found} instead of {possible:?}");
            if is_written {
                self.succeed();
            }
        }
    }

    /// Answers a question of 2026-07-28, which is asked at one gateway and answered at another.
    fn ask_stateless(mut self) {
        while !self.progress.should_stop() {
            let Some(asked) = self.call("zoo_ask_name", &json!({}), &json!({})) else { continue };
            let answers = json!({ "name": accepted() });
            let retry = json!({ "requestState": asked["result"]["requestState"], "inputResponses": answers });
            if let Some(response) = self.call("zoo_ask_name", &json!({}), &retry) {
                assert_eq!(text(&response), "Hello, Ann!");
                self.succeed();
            }
        }
    }

    /// Answers questions within a session.
    fn ask_in_session(mut self) {
        let mut session = Session::open_within(self.address, SILENCE);
        while !self.progress.should_stop() {
            let params = json!({ "name": "zoo_ask_name", "arguments": {} });
            let end = session.request("tools/call", params, |session, message| {
                if message["method"] == "elicitation/create" {
                    session.answer(message, &accepted());
                }
            });
            match end {
                CallEnd::Response(response) if is_success(&response) => {
                    assert_eq!(text(&response), "Hello, Ann!");
                    self.succeed();
                }
                CallEnd::Response(_) | CallEnd::Unknown(_) => {}
                CallEnd::SessionEnded => panic!("the store keeps sessions"),
            }
        }
    }

    /// Calls a tool that reports its progress, and checks that each report arrives once and in order.
    fn report_progress(mut self) {
        let mut session = Session::open_within(self.address, SILENCE);
        while !self.progress.should_stop() {
            let mut reports = Vec::new();
            let params = json!({ "name": "everything_test_tool_with_progress", "arguments": {} });
            let end = session.request("tools/call", params, |_, message| {
                assert_eq!(message["method"], "notifications/progress", "{message}");
                reports.push(message["params"]["progress"].as_f64().unwrap());
            });
            let expected = [0.0, 50.0, 100.0];
            match end {
                CallEnd::Response(response) if is_success(&response) => {
                    assert_eq!(reports, expected, "{response}");
                    self.succeed();
                }
                CallEnd::Response(_) | CallEnd::Unknown(_) => {
                    assert!(expected.starts_with(&reports), "{reports:?}")
                }
                CallEnd::SessionEnded => panic!("the store keeps sessions"),
            }
        }
    }

    /// Is notified of a resource, and reports its next change then.
    fn listen(mut self) {
        let mut session = Session::open_within(self.address, SILENCE);
        while !matches!(
            session.request("resources/subscribe", json!({ "uri": "zoo://text" }), |_, _| {}),
            CallEnd::Response(response) if is_success(&response)
        ) {}
        let mut last = None;
        while !self.progress.should_stop() {
            let kills = self.kills();
            // A change that might not have been reported is reported again.
            let changed = self.call("zoo_changes_flood", &json!({ "count": 1 }), &json!({}));
            if changed.is_none() {
                continue;
            }
            let mut is_notified = false;
            // A gateway that is killed might not have told the others of the change yet.
            while !is_notified && self.kills() == kills && !self.progress.should_stop() {
                let exists = session.listen(&mut last, |message| {
                    is_notified |=
                        message.is_some_and(|it| it["method"] == "notifications/resources/updated");
                    !is_notified && self.kills() == kills && !self.progress.should_stop()
                });
                assert!(exists, "the store keeps sessions");
            }
            if is_notified {
                self.succeed();
            }
        }
    }
}

fn accepted() -> Value {
    json!({ "action": "accept", "content": { "name": "Ann" } })
}

/// Did the call succeed? If not, its error must be one that the client may repeat it after.
fn is_success(response: &Value) -> bool {
    let is_success = response.get("result").is_some_and(|result| result["isError"] != true);
    let text = response.to_string();
    assert!(is_success || TEMPORARY.iter().any(|words| text.contains(words)), "{response}");
    is_success
}

#[test]
fn no_event_or_acknowledged_write_is_lost() {
    let Some(mut replicas) = Replicas::start(PLUGINS) else { return };
    let address = replicas.balancer.address();
    let progress = ClientProgress::new(CLIENTS.len());
    let acknowledged = Mutex::default();
    let kills = Arc::clone(&replicas.kills);
    thread::scope(|scope| {
        let _guard = progress.failure_guard();
        for (number, (_, client)) in CLIENTS.into_iter().enumerate() {
            let (progress, acknowledged, kills) = (&progress, &acknowledged, &*kills);
            scope.spawn(move || {
                let _guard = progress.failure_guard();
                client(ChaosClient { number, rounds: 0, address, progress, acknowledged, kills });
            });
        }
        wait_until_all_continue(&progress);
        for round in 0..scaled_rounds(ROUNDS) as usize {
            for (number, disturbance) in DISTURBANCES.into_iter().enumerate() {
                disturbance(&mut replicas, (round + number) % GATEWAYS, &progress);
                // In the other rounds, the next disturbance comes before all clients have recovered from this one.
                if round % 2 == 1 {
                    wait_until_all_continue(&progress);
                }
            }
            wait_until_all_continue(&progress);
        }
        progress.finish();
    });
    let Acknowledged { sums, unknown } = acknowledged.into_inner().unwrap();
    let mut found = 0_u64;
    wait_until("the sum can be read", || {
        let answer = replicas.balancer.call("stateful_add", json!({ "key": "sum", "count": 0 }));
        is_success(&answer)
            && text(&answer).parse().is_ok_and(|sum| {
                found = sum;
                true
            })
    });
    let most = sums.len() as u64 + unknown;
    assert!(sums.last() <= Some(&found) && (sums.len() as u64..=most).contains(&found), "{found}: {unknown}");
    for gateway in &replicas.gateways {
        assert!(!gateway.log().contains("panicked"), "{}", gateway.log());
    }
}

/// Waits until each client has succeeded a few more times.
fn wait_until_all_continue(progress: &ClientProgress) {
    let names = CLIENTS.into_iter().map(|(name, _)| name);
    super::wait_until_all_continue(progress, names, ROUNDS_AFTER_DISTURBANCE);
}

/// What happens to the gateways and to the store; `gateway` is one of them.
const DISTURBANCES: [fn(&mut Replicas, usize, &ClientProgress); 7] = [
    |replicas, gateway, progress| {
        replicas.kill(gateway);
        progress.wait_for_responses(20);
        replicas.restart(gateway);
    },
    |replicas, gateway, progress| {
        send_signal(replicas.gateways[gateway].pid(), "STOP");
        progress.wait_for_responses(20);
        send_signal(replicas.gateways[gateway].pid(), "CONT");
    },
    |replicas, _, _| {
        replicas.store.kill();
        replicas.store.restart();
    },
    |replicas, gateway, _| {
        send_signal(replicas.store.pid(), "STOP");
        let gateway = &replicas.gateways[gateway];
        wait_until("a gateway notices that the store doesn't respond", || {
            !is_success(&gateway.call("stateful_get", json!({ "key": "number" })))
        });
        send_signal(replicas.store.pid(), "CONT");
    },
    |replicas, gateway, _| {
        replicas.store.kill();
        replicas.kill(gateway);
        replicas.restart(gateway);
        replicas.store.restart();
    },
    |replicas, gateway, _| lose_while_stopped(replicas, gateway),
    |replicas, _, progress| {
        replicas.network.set_slow(true);
        wait_until_all_continue(progress);
        replicas.network.set_slow(false);
    },
];

/// Stops a gateway for so long that the others consider its calls lost.
fn lose_while_stopped(replicas: &Replicas, gateway: usize) {
    let stopped = &replicas.gateways[gateway];
    loop {
        let mut session = Session::open_within(stopped.address(), SILENCE);
        let params = json!({ "name": "zoo_ask_name", "arguments": {} });
        let end = session.request("tools/call", params, |session, _| {
            session.move_to(replicas.balancer.address());
            send_signal(stopped.pid(), "STOP");
        });
        send_signal(stopped.pid(), "CONT");
        match end {
            CallEnd::Response(response) => {
                assert_eq!(response["error"]["data"]["reason"], "replica_lost", "{response}");
                return;
            }
            // It was stopped before the question was stored.
            CallEnd::Unknown(_) => {}
            CallEnd::SessionEnded => panic!("the store keeps sessions"),
        }
    }
}
