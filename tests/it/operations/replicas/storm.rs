//! Many questions, and many replaced plugins, through the load balancer.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use moongate_generated::{Plugin, TOOL};
use moongate_tests::{ClientProgress, ReplaceMethod, ReplaceableFile, Workspace, scaled_rounds, text};
use serde_json::{Value, json};

use super::Replicas;
use super::client::{CallEnd, Session, call_stateless};

/// The number of questions that all clients answer.
const QUESTIONS: u32 = 300;

/// The number of replacements of the plugin.
const REPLACEMENTS: u32 = 10;

const ZOO: &str = "[plugins.zoo]\nsource = \"@zoo@\"\nallow.client = [\"elicitation\"]\n";

/// An answer to the question of `zoo_ask_name`.
fn answer() -> Value {
    json!({ "action": "accept", "content": { "name": "Ann" } })
}

#[test]
fn questions_pass_through_the_load_balancer() {
    let Some(replicas) = Replicas::start(ZOO) else { return };
    let questions_of_each = scaled_rounds(QUESTIONS) / 4;
    let address = replicas.balancer.address();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(move || {
                let mut session = Session::open(address);
                for _ in 0..questions_of_each {
                    let params = json!({ "name": "zoo_ask_name", "arguments": {} });
                    let end = session.request("tools/call", params, |session, message| {
                        if message["method"] == "elicitation/create" {
                            session.answer(message, &answer());
                        }
                    });
                    let CallEnd::Response(response) = end else { panic!("{end:?}") };
                    assert_eq!(text(&response), "Hello, Ann!");
                }
            });
            scope.spawn(move || {
                for _ in 0..questions_of_each {
                    let params = json!({ "name": "zoo_ask_name", "arguments": {} });
                    let asked = call_stateless(address, params.clone()).expect("no gateway is lost");
                    let mut retry = params;
                    retry["requestState"] = asked["result"]["requestState"].clone();
                    retry["inputResponses"] = json!({ "name": answer() });
                    let response = call_stateless(address, retry).expect("no gateway is lost");
                    assert_eq!(text(&response), "Hello, Ann!");
                }
            });
        }
    });
}

/// A version of the plugin that answers with its number.
fn version(number: u32) -> Vec<u8> {
    Plugin::version(number).tool(format!("v{number}")).build()
}

#[test]
fn no_call_fails_while_all_gateways_reload() {
    let shared = Workspace::new("");
    shared.write("p.wasm", version(1));
    let mut file = ReplaceableFile::new(shared.path().join("p.wasm"));
    let plugin = format!("[plugins.p]\nsource = \"{}\"\nprefix = \"\"\n", file.file().display());
    let Some(replicas) = Replicas::start(&plugin) else { return };
    let address = replicas.balancer.address();
    let newest = AtomicU32::new(1);
    let progress = ClientProgress::new(2);
    thread::scope(|scope| {
        let (progress, newest) = (&progress, &newest);
        let _guard = progress.failure_guard();
        let check = move |client: usize, response: &Value| {
            let answered: u32 = text(response)[1..].parse().unwrap_or_else(|_| panic!("{response}"));
            assert!(answered <= newest.load(Ordering::SeqCst), "version {answered} wasn't written yet");
            progress.record(client, answered);
        };
        let params = || json!({ "name": TOOL, "arguments": {} });
        scope.spawn(move || {
            let _guard = progress.failure_guard();
            while !progress.should_stop() {
                check(0, &call_stateless(address, params()).expect("no gateway is lost"));
            }
        });
        scope.spawn(move || {
            let _guard = progress.failure_guard();
            let mut session = Session::open(address);
            while !progress.should_stop() {
                let end = session.request("tools/call", params(), |_, _| {});
                let CallEnd::Response(response) = end else { panic!("{end:?}") };
                check(1, &response);
            }
        });
        let last = 1 + scaled_rounds(REPLACEMENTS);
        for number in 2..=last {
            newest.store(number, Ordering::SeqCst);
            let way = ReplaceMethod::ALL[number as usize % ReplaceMethod::ALL.len()];
            file.replace_by(way, &version(number), &mut || progress.wait_for_responses(5));
            progress.wait_until_all_see(number);
        }
        progress.finish();
    });
}
