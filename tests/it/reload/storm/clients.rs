//! Clients of both eras, over both transports, while a plugin is replaced many times in every way.
//!
//! No call fails, each response names its version, and versions never regress across all clients of a gateway. Each
//! client is notified at least once after the last change, at most once per change, and never without a change.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use moongate_generated::{Plugin, TOOL};
use moongate_tests::{
    Board, EventStream, Http, Replaced, Stdio, Way, Workspace, request, rounds, stateless, text, until,
};
use serde_json::{Value, json};

use super::{named, tool, version, workspace};

/// The number of replacements in each way. After the last one, the test waits until all clients have seen it.
const TIMES: u32 = 3;

/// The number of calls answered while a file is incomplete.
const MEANWHILE: u64 = 20;

const LISTEN: u64 = 1_000_000;

/// A client that calls over HTTP.
struct Caller<'a> {
    http: &'a Http,
    /// The session id. `None` means a stateless client.
    session: Option<String>,
}

impl Caller<'_> {
    fn ask(&self, method: &str, params: Value) -> Value {
        match &self.session {
            Some(session) => {
                self.http.post(&[("Mcp-Session-Id", session)], &request(1, method, params)).json()
            }
            None => self.http.ask(method, params).json(),
        }
    }

    fn call(&self) -> u32 {
        named(text(&self.ask("tools/call", json!({ "name": TOOL, "arguments": {} }))))
    }

    fn tools(&self) -> BTreeSet<String> {
        names(&self.ask("tools/list", json!({})))
    }

    /// The client's notification stream.
    fn stream(&self) -> EventStream {
        let Some(session) = &self.session else { return listen(self.http) };
        let headers = [("Mcp-Session-Id", session.as_str()), ("Accept", "text/event-stream")];
        let stream = self.http.open("GET", &headers, b"");
        assert_eq!(stream.reply.status, 200, "{:?}", stream.reply);
        stream
    }
}

/// Opens a session.
fn session(http: &Http) -> String {
    let session = http.greet(&[], "2025-11-25");
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(http.post(&[("Mcp-Session-Id", &session)], &initialized).status, 202);
    session
}

fn filter() -> Value {
    json!({ "notifications": { "toolsListChanged": true } })
}

fn listen(http: &Http) -> EventStream {
    let headers = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "subscriptions/listen"),
    ];
    let body = stateless(LISTEN, "subscriptions/listen", filter()).to_string();
    let mut stream = http.open("POST", &headers, body.as_bytes());
    assert_eq!(stream.message().unwrap()["method"], "notifications/subscriptions/acknowledged");
    stream
}

fn names(list: &Value) -> BTreeSet<String> {
    let tools = list["result"]["tools"].as_array().unwrap_or_else(|| panic!("no tool list: {list}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// A client that lists the tools after each notification.
struct Told<'a> {
    caller: Caller<'a>,
    stream: EventStream,
    times: u32,
}

impl Told<'_> {
    /// Reads notifications until the tool is listed.
    fn until_listed(&mut self, tool: &str) {
        while {
            let news = self.stream.message().unwrap();
            assert_eq!(news["method"], "notifications/tools/list_changed", "{news}");
            self.times += 1;
            !self.caller.tools().contains(tool)
        } {}
    }
}

/// A stdio client with its own gateway.
struct Piped {
    stdio: Stdio,
    revision: &'static str,
    times: u32,
}

impl Piped {
    fn start(workspace: &Workspace, revision: &'static str) -> Self {
        let stdio = if revision < "2026" {
            Stdio::greeted(workspace, revision)
        } else {
            let mut stdio = Stdio::start(workspace);
            stdio.send(&stateless(LISTEN, "subscriptions/listen", filter()));
            assert_eq!(stdio.receive()["method"], "notifications/subscriptions/acknowledged");
            stdio
        };
        Self { stdio, revision, times: 0 }
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let params = if self.revision < "2026" { params } else { stateless(0, "", params)["params"].clone() };
        self.stdio.ask(method, params)
    }

    fn call(&mut self) -> u32 {
        named(text(&self.ask("tools/call", json!({ "name": TOOL, "arguments": {} }))))
    }

    /// Checks for a new notification; if there is one, returns whether the tool is listed now.
    fn is_told_of(&mut self, tool: &str) -> bool {
        let news = self.stdio.early();
        for message in &news {
            assert_eq!(message["method"], "notifications/tools/list_changed", "{message}");
            self.times += 1;
        }
        !news.is_empty() && names(&self.ask("tools/list", json!({}))).contains(tool)
    }

    fn until_listed(&mut self, tool: &str) {
        while !self.is_told_of(tool) {
            self.call();
        }
    }
}

/// Calls until the test is over. `peers` are the clients of the same gateway: a version seen by one is served to all.
fn calls(board: &Board, written: &AtomicU32, client: usize, peers: &[usize], mut call: impl FnMut() -> u32) {
    let _alarm = board.alarm();
    while !board.is_over() {
        let oldest = board.newest(peers);
        let version = call();
        assert!(version >= oldest, "version {version} answered after {oldest}");
        assert!(version <= written.load(Ordering::SeqCst), "version {version} wasn't written yet");
        board.saw(client, version);
    }
}

/// Two notified HTTP clients, one of each era, and two stdio clients, one of each era.
fn listeners<'a>(workspace: &Workspace, http: &'a Http) -> ([Told<'a>; 2], [Piped; 2]) {
    let told = [Some(session(http)), None].map(|session| {
        let caller = Caller { http, session };
        Told { stream: caller.stream(), caller, times: 0 }
    });
    (told, ["2025-06-18", "2026-07-28"].map(|revision| Piped::start(workspace, revision)))
}

#[test]
fn no_call_fails_and_versions_never_regress() {
    let workspace = workspace(&["p"], "");
    let http = Http::start(&workspace);
    let (mut told, mut piped) = listeners(&workspace, &http);
    let callers = [Some(session(&http)), Some(session(&http)), None, None]
        .map(|session| Caller { http: &http, session });
    let (over_http, board) = ([0, 1, 2, 3], Board::new(callers.len() + piped.len()));
    let times = rounds(TIMES);
    let (written, last) = (AtomicU32::new(1), Way::ALL.len() as u32 * times + 1);
    let mut file = Replaced::new(workspace.path().join("p.wasm"));
    thread::scope(|scope| {
        let (board, written, _alarm) = (&board, &written, board.alarm());
        for (client, caller) in callers.iter().enumerate() {
            scope.spawn(move || calls(board, written, client, &over_http, || caller.call()));
        }
        for (client, piped) in (callers.len()..).zip(&mut piped) {
            scope.spawn(move || {
                let mut is_listed = false;
                calls(board, written, client, &[client], || {
                    is_listed |= piped.is_told_of(&tool(last));
                    piped.call()
                });
                if !is_listed {
                    piped.until_listed(&tool(last));
                }
            });
        }
        for told in &mut told {
            scope.spawn(move || {
                let _alarm = board.alarm();
                told.until_listed(&tool(last));
            });
        }
        board.until_all_see(1);
        for number in 2..=last {
            written.store(number, Ordering::SeqCst);
            let way = Way::ALL[((number - 2) / times) as usize];
            file.by(way, &version(number).build(), &mut || board.until_answered(MEANWHILE));
            if (number - 1).is_multiple_of(TIMES) {
                board.until_all_see(number);
            }
        }
        board.end();
    });
    for times in told.iter().map(|it| it.times).chain(piped.iter().map(|it| it.times)) {
        assert!((1..last).contains(&times), "a client got {times} notifications for {} changes", last - 1);
    }
}

#[test]
fn clients_are_notified_once_per_list_change() {
    let workspace = workspace(&["p"], "");
    let http = Http::start(&workspace);
    let (mut told, mut piped) = listeners(&workspace, &http);
    let mut file = Replaced::new(workspace.path().join("p.wasm"));
    for way in [Way::Rename, Way::InPlace, Way::DataSwap] {
        file.by(way, &version(1).build(), &mut || {});
        assert_eq!(
            http.admin().reload()["changed"],
            json!([]),
            "{way:?}: identical content was reported as a change"
        );
    }
    file.with(&Plugin::version(2).tool(tool(1)).build());
    until("the new code answers", || told[0].caller.call() == 2);
    for piped in &mut piped {
        until("the new code answers", || piped.call() == 2);
    }
    for (number, times) in [(3, 1), (4, 2)] {
        file.with(&version(number).build());
        for told in &mut told {
            told.until_listed(&tool(number));
            assert_eq!(told.times, times, "notifications after version {number}");
        }
        for piped in &mut piped {
            piped.until_listed(&tool(number));
            assert_eq!(piped.times, times, "notifications after version {number}, in {}", piped.revision);
        }
    }
}
