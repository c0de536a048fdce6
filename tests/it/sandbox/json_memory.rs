//! The memory that requests and results cost: a small multiple of their text, whatever it contains. A tree of values
//! would cost up to sixty times the text.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use moongate_tests::{Http, ResourceUsage, Workspace, peak_memory};
use serde_json::{Value, json};

use crate::protocol::questions::{all_capabilities, initialized_client, zoo_with_all_grants};

const MIB: u64 = 1 << 20;

/// The most that a request may cost, as a multiple of its text.
const MAX_MULTIPLE: u64 = 8;

/// The memory that an instance of the zoo may use, in MiB.
const INSTANCE_MEMORY: u64 = 17;

/// The memory that the gateway uses apart from requests: threads, buffers, instances.
const OTHER_MEMORY: u64 = 24 * MIB;

/// A list with this text length whose tree is as large as possible.
fn list_of(item: &str, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + item.len() + 2);
    text.push('[');
    while text.len() < bytes {
        text.push_str(item);
        text.push(',');
    }
    text.pop();
    text.push(']');
    text
}

/// Lists of values that need much memory for little text.
fn dense_lists(bytes: usize) -> [String; 4] {
    let nested = format!("{}0{}", r#"{"a":"#.repeat(60), "}".repeat(60));
    [r#"{"a":0}"#, "[]", "0", &nested].map(|item| list_of(item, bytes))
}

/// Sends a request of 2026-07-28 with this text in its parameters. Returns its connection.
fn send(http: &Http, method: &str, name: &str, member: &str, text: &str) -> TcpStream {
    let envelope = moongate_tests::envelope();
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"_meta":{envelope},"name":"{name}","{member}":{text}}}}}"#
    );
    let mut head = String::new();
    let _ = write!(head, "POST /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", http.address());
    let _ = write!(head, "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n");
    let _ = write!(head, "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\nMcp-Name: {name}\r\n");
    let _ = write!(head, "Content-Length: {}\r\n\r\n", body.len());
    let mut stream = TcpStream::connect(http.address()).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    stream
}

fn answer(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 "), "{answer}");
    answer
}

/// The growth of the process while `work` runs, at its highest, in bytes.
fn peak_growth(pid: u32, work: impl FnOnce()) -> u64 {
    let before = ResourceUsage::of(pid).resident * 1024;
    fs::write(format!("/proc/{pid}/clear_refs"), "5").unwrap(); // the peak starts again
    work();
    peak_memory(pid).saturating_sub(before)
}

fn gateway() -> Http {
    Http::start(&Workspace::new(
        "[http]\nlisten = \"127.0.0.1:0\"\n[plugins.zoo]\nsource = \"@zoo@\"\nlimits.memory = \"17MiB\"\n[plugins.memory]\nsource = \"@memory@\"\nallow.state = true\n",
    ))
}

#[test]
fn a_request_costs_a_small_multiple_of_its_text() {
    let http = gateway();
    let bytes = 1 << 20;
    let most = MAX_MULTIPLE * MIB + OTHER_MEMORY;
    for list in dense_lists(bytes) {
        for (method, name, member) in [
            ("tools/call", "zoo_calls_seen", "arguments"),
            ("tools/call", "no_such_tool", "padding"),
            ("tools/call", "memory_create_entities", "arguments"),
            ("tools/list", "x", "padding"),
            ("prompts/get", "x", "arguments"),
            ("no/such/method", "x", "padding"),
        ] {
            let text = if member == "arguments" { format!(r#"{{"entities":{list}}}"#) } else { list.clone() };
            let grown = peak_growth(http.pid(), || drop(answer(send(&http, method, name, member, &text))));
            assert!(grown <= most, "{} MiB for {method} {name} with {}…", grown / MIB, &list[..20]);
        }
    }
}

#[test]
fn requests_at_once_cost_a_small_multiple_of_their_text() {
    let http = gateway();
    let list = format!(r#"{{"entities":{}}}"#, list_of(r#"{"a":0}"#, 1 << 20));
    let grown = peak_growth(http.pid(), || {
        let calls = || send(&http, "tools/call", "memory_create_entities", "arguments", &list);
        std::iter::repeat_with(calls).take(8).collect::<Vec<_>>().into_iter().for_each(|it| drop(answer(it)));
    });
    assert!(grown <= 8 * MAX_MULTIPLE * MIB + OTHER_MEMORY, "{} MiB", grown / MIB);
}

#[test]
fn a_waiting_request_holds_its_text_once() {
    let mut client = initialized_client(&zoo_with_all_grants(), "2025-11-25", all_capabilities("2025-11-25"));
    let padding: Value = serde_json::from_str(&list_of(r#"{"a":0}"#, 1 << 20)).unwrap();
    let pid = client.pid();
    let grown = peak_growth(pid, || {
        for id in 100..116 {
            let params = json!({ "name": "zoo_ask_name", "arguments": {}, "padding": padding });
            client.send(&moongate_tests::request(id, "tools/call", params));
            assert_eq!(client.receive()["method"], "elicitation/create");
        }
    });
    let held = ResourceUsage::of(pid).resident * 1024;
    assert!(grown <= 16 * 2 * MIB + OTHER_MEMORY, "{} MiB, {} in all", grown / MIB, held / MIB);
}

#[test]
fn a_checked_result_costs_a_small_multiple_of_its_text() {
    let http = gateway();
    let count = 200_000; // 1.6 MB
    let arguments = format!(r#"{{"count":{count}}}"#);
    for at_once in [1, 8] {
        let grown = peak_growth(http.pid(), || {
            let call = || send(&http, "tools/call", "zoo_many_objects", "arguments", &arguments);
            for call in std::iter::repeat_with(call).take(at_once).collect::<Vec<_>>() {
                let answer = answer(call);
                let start = &answer[..answer.len().min(1000)];
                assert!(answer.contains(r#""structuredContent":{"items":[{"a":0}"#), "{start}");
            }
        });
        let most = at_once as u64 * (MAX_MULTIPLE * 2 + INSTANCE_MEMORY) * MIB + OTHER_MEMORY;
        assert!(grown <= most, "{} MiB for {at_once}", grown / MIB);
    }
}
