//! Clients of both eras, over both transports, while a plugin is replaced many times in every way.
//!
//! No call fails, each response names its version, and versions never regress across all clients of a gateway. Each
//! client is notified at least once after the last change, at most once per change, and never without a change.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use moongate_generated::{Plugin, TOOL};
use moongate_tests::{
    ClientProgress, EventStream, Http, ReplaceMethod, ReplaceableFile, Stdio, Workspace, request,
    scaled_rounds, stateless_request, text, wait_until,
};
use serde_json::{Value, json};

use super::{tool, version, version_in, workspace};

/// The number of replacements in each way. After the last one, the test waits until all clients have seen it.
const REPLACEMENTS_PER_METHOD: u32 = 3;

/// The number of calls answered while a file is incomplete.
const CALLS_MEANWHILE: u64 = 20;

const LISTEN_ID: u64 = 1_000_000;

/// A client that calls over HTTP.
struct HttpClient<'a> {
    http: &'a Http,
    /// The session id. `None` means a stateless client.
    session: Option<String>,
}

impl HttpClient<'_> {
    fn request_and_wait(&self, method: &str, params: Value) -> Value {
        match &self.session {
            Some(session) => {
                self.http.post(&[("Mcp-Session-Id", session)], &request(1, method, params)).json()
            }
            None => self.http.request_and_wait(method, params).json(),
        }
    }

    fn call(&self) -> u32 {
        version_in(text(&self.request_and_wait("tools/call", json!({ "name": TOOL, "arguments": {} }))))
    }

    fn tools(&self) -> BTreeSet<String> {
        names(&self.request_and_wait("tools/list", json!({})))
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
    let session = http.open_session(&[], "2025-11-25");
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
    let body = stateless_request(LISTEN_ID, "subscriptions/listen", filter()).to_string();
    let mut stream = http.open("POST", &headers, body.as_bytes());
    assert_eq!(stream.message().unwrap()["method"], "notifications/subscriptions/acknowledged");
    stream
}

fn names(list: &Value) -> BTreeSet<String> {
    let tools = list["result"]["tools"].as_array().unwrap_or_else(|| panic!("no tool list: {list}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// A client that lists the tools after each notification.
struct NotifiedClient<'a> {
    caller: HttpClient<'a>,
    stream: EventStream,
    notification_count: u32,
}

impl NotifiedClient<'_> {
    /// Reads notifications until the tool is listed.
    fn wait_until_listed(&mut self, tool: &str) {
        while {
            let notification = self.stream.message().unwrap();
            assert_eq!(notification["method"], "notifications/tools/list_changed", "{notification}");
            self.notification_count += 1;
            !self.caller.tools().contains(tool)
        } {}
    }
}

/// A stdio client with its own gateway.
struct StdioClient {
    stdio: Stdio,
    revision: &'static str,
    notification_count: u32,
}

impl StdioClient {
    fn start(workspace: &Workspace, revision: &'static str) -> Self {
        let stdio = if revision < "2026" {
            Stdio::initialized(workspace, revision)
        } else {
            let mut stdio = Stdio::start(workspace);
            stdio.send(&stateless_request(LISTEN_ID, "subscriptions/listen", filter()));
            assert_eq!(stdio.receive()["method"], "notifications/subscriptions/acknowledged");
            stdio
        };
        Self { stdio, revision, notification_count: 0 }
    }

    fn request_and_wait(&mut self, method: &str, params: Value) -> Value {
        let params =
            if self.revision < "2026" { params } else { stateless_request(0, "", params)["params"].clone() };
        self.stdio.request_and_wait(method, params)
    }

    fn call(&mut self) -> u32 {
        version_in(text(&self.request_and_wait("tools/call", json!({ "name": TOOL, "arguments": {} }))))
    }

    /// Checks for a new notification; if there is one, returns whether the tool is listed now.
    fn was_notified_of(&mut self, tool: &str) -> bool {
        let notifications = self.stdio.take_queued();
        for message in &notifications {
            assert_eq!(message["method"], "notifications/tools/list_changed", "{message}");
            self.notification_count += 1;
        }
        !notifications.is_empty() && names(&self.request_and_wait("tools/list", json!({}))).contains(tool)
    }

    fn wait_until_listed(&mut self, tool: &str) {
        while !self.was_notified_of(tool) {
            self.call();
        }
    }
}

/// Calls until the test is over. `peers` are the clients of the same gateway: a version seen by one is served to all.
fn call_until_over(
    progress: &ClientProgress,
    written: &AtomicU32,
    client: usize,
    peers: &[usize],
    mut call: impl FnMut() -> u32,
) {
    let _guard = progress.failure_guard();
    while !progress.should_stop() {
        let oldest = progress.newest_seen(peers);
        let version = call();
        assert!(version >= oldest, "version {version} answered after {oldest}");
        assert!(version <= written.load(Ordering::SeqCst), "version {version} wasn't written yet");
        progress.record(client, version);
    }
}

/// Two notified HTTP clients, one of each era, and two stdio clients, one of each era.
fn listeners<'a>(workspace: &Workspace, http: &'a Http) -> ([NotifiedClient<'a>; 2], [StdioClient; 2]) {
    let notified = [Some(session(http)), None].map(|session| {
        let caller = HttpClient { http, session };
        NotifiedClient { stream: caller.stream(), caller, notification_count: 0 }
    });
    (notified, ["2025-06-18", "2026-07-28"].map(|revision| StdioClient::start(workspace, revision)))
}

#[test]
fn no_call_fails_and_versions_never_regress() {
    let workspace = workspace(&["p"], "");
    let http = Http::start(&workspace);
    let (mut notified, mut piped) = listeners(&workspace, &http);
    let callers = [Some(session(&http)), Some(session(&http)), None, None]
        .map(|session| HttpClient { http: &http, session });
    let over_http = [0, 1, 2, 3];
    let progress = ClientProgress::new(callers.len() + piped.len());
    let times = scaled_rounds(REPLACEMENTS_PER_METHOD);
    let written = AtomicU32::new(1);
    let last = ReplaceMethod::ALL.len() as u32 * times + 1;
    let mut file = ReplaceableFile::new(workspace.path().join("p.wasm"));
    thread::scope(|scope| {
        let progress = &progress;
        let written = &written;
        let _guard = progress.failure_guard();
        for (client, caller) in callers.iter().enumerate() {
            scope.spawn(move || call_until_over(progress, written, client, &over_http, || caller.call()));
        }
        for (client, piped) in (callers.len()..).zip(&mut piped) {
            scope.spawn(move || {
                let mut is_listed = false;
                call_until_over(progress, written, client, &[client], || {
                    is_listed |= piped.was_notified_of(&tool(last));
                    piped.call()
                });
                if !is_listed {
                    piped.wait_until_listed(&tool(last));
                }
            });
        }
        for notified in &mut notified {
            scope.spawn(move || {
                let _guard = progress.failure_guard();
                notified.wait_until_listed(&tool(last));
            });
        }
        progress.wait_until_all_see(1);
        for number in 2..=last {
            written.store(number, Ordering::SeqCst);
            let way = ReplaceMethod::ALL[((number - 2) / times) as usize];
            file.replace_by(way, &version(number).build(), &mut || {
                progress.wait_for_responses(CALLS_MEANWHILE);
            });
            if (number - 1).is_multiple_of(REPLACEMENTS_PER_METHOD) {
                progress.wait_until_all_see(number);
            }
        }
        progress.finish();
    });
    for times in notified
        .iter()
        .map(|client| client.notification_count)
        .chain(piped.iter().map(|client| client.notification_count))
    {
        assert!((1..last).contains(&times), "a client got {times} notifications for {} changes", last - 1);
    }
}

#[test]
fn clients_are_notified_once_per_list_change() {
    let workspace = workspace(&["p"], "");
    let http = Http::start(&workspace);
    let (mut notified, mut piped) = listeners(&workspace, &http);
    let mut file = ReplaceableFile::new(workspace.path().join("p.wasm"));
    for way in [ReplaceMethod::Rename, ReplaceMethod::InPlace, ReplaceMethod::DataSwap] {
        file.replace_by(way, &version(1).build(), &mut || {});
        assert_eq!(
            http.admin().reload()["changed"],
            json!([]),
            "{way:?}: identical content was reported as a change"
        );
    }
    file.replace(&Plugin::version(2).tool(tool(1)).build());
    wait_until("the new code answers", || notified[0].caller.call() == 2);
    for piped in &mut piped {
        wait_until("the new code answers", || piped.call() == 2);
    }
    for (number, times) in [(3, 1), (4, 2)] {
        file.replace(&version(number).build());
        for notified in &mut notified {
            notified.wait_until_listed(&tool(number));
            assert_eq!(notified.notification_count, times, "notifications after version {number}");
        }
        for piped in &mut piped {
            piped.wait_until_listed(&tool(number));
            assert_eq!(
                piped.notification_count, times,
                "notifications after version {number}, in {}",
                piped.revision
            );
        }
    }
}
