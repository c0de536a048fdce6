//! Messages that can't be read, or only in part: whoever waits for an answer gets one at once, with its id.

use moongate_tests::{EventStream, Http, Stdio, Workspace, component, request, text};
use serde_json::{Value, json};

use super::questions::{all_capabilities, initialized_client, zoo_with_all_grants};

/// More than the 10 MiB of a line.
const TOO_LONG: usize = 11 << 20;

/// Each kind of unreadable value for `params` or `result`, by name.
fn unreadable() -> [(&'static str, Vec<u8>); 6] {
    [
        ("NaN", b"{\"x\":NaN}".to_vec()),
        ("nested too deep", ["{\"x\":".repeat(200), "1".to_owned(), "}".repeat(200)].concat().into_bytes()),
        ("invalid UTF-8", b"{\"x\":\"\xff\"}".to_vec()),
        ("a NUL", b"{\"x\":\"\0\"}".to_vec()),
        ("a trailing comma", b"{\"x\":1,}".to_vec()),
        ("an unclosed string", b"{\"x\":\"}".to_vec()),
    ]
}

/// A message with the id first and one with the id last.
fn with_id_first_and_last(id: &Value, members: &[u8]) -> [Vec<u8>; 2] {
    let id = id.to_string();
    [
        [b"{\"jsonrpc\":\"2.0\",\"id\":", id.as_bytes(), b",", members, b"}"].concat(),
        [b"{", members, b",\"jsonrpc\":\"2.0\",\"id\":", id.as_bytes(), b"}"].concat(),
    ]
}

fn send_line(stdio: &mut Stdio, line: &[u8]) {
    stdio.send_raw(&[line, b"\n"].concat());
}

#[test]
fn half_an_emoji_reaches_the_tool_as_a_replacement_character() {
    let workspace = Workspace::new("[plugins.memory]\nsource = \"@memory@\"\nallow.state = true\n");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let call = |name: &str| {
        format!(
            r#"{{"method":"tools/call","params":{{"name":"memory_create_entities","arguments":{{"entities":[{{"name":"{name}","entityType":"\udc00","observations":["\ud83d\ude00\\ud83d"]}}]}},"_meta":{{"progressToken":"\ud83d"}}}},"jsonrpc":"2.0","id":"a"}}"#
        )
    };
    for (name, seen) in [(r"cut \ud83d", "cut \u{fffd}"), (r"\ude00\ud83d", "\u{fffd}\u{fffd}")] {
        send_line(&mut stdio, call(name).as_bytes());
        let answer = stdio.receive();
        assert_eq!(answer["id"], "a");
        let entities = answer["result"]["structuredContent"]["entities"].to_string();
        let expected = json!([{ "name": seen, "entityType": "\u{fffd}", "observations": ["😀\\ud83d"] }]);
        assert_eq!(entities, expected.to_string(), "{answer}");
    }
}

#[test]
fn unreadable_requests_are_answered_with_their_id() {
    let workspace = Workspace::with_plugin("time");
    let http = Http::start(&workspace);
    let session = http.open_session(&[], "2025-11-25");
    let headers = [
        ("Accept", "application/json, text/event-stream"),
        ("Content-Type", "application/json"),
        ("Mcp-Session-Id", session.as_str()),
    ];
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for (name, params) in unreadable() {
        let members = [&b"\"method\":\"tools/call\",\"params\":"[..], &params].concat();
        for message in with_id_first_and_last(&json!("own id"), &members) {
            // No program can find an id after a string that doesn't end.
            if name == "an unclosed string" && !message.starts_with(b"{\"jsonrpc\"") {
                continue;
            }
            send_line(&mut stdio, &message);
            let answer = stdio.receive();
            assert_eq!(
                (&answer["id"], &answer["error"]["code"]),
                (&json!("own id"), &json!(-32700)),
                "{name}"
            );
            let reply = http.send("POST", "/mcp", &headers, &message);
            assert_eq!(reply.status, 400, "{name}: {reply:?}");
            assert_eq!(reply.json()["id"], "own id", "{name}: {reply:?}");
        }
    }
}

#[test]
fn messages_above_the_size_limits_are_answered_with_their_id() {
    let workspace = Workspace::new(
        "[http]\nlisten = \"127.0.0.1:0\"\nmax_body = \"64KiB\"\n[plugins.time]\nsource = \"@time@\"\n",
    );
    let long = |size: usize| {
        let members = format!(r#""method":"tools/call","params":{{"id":8,"x":"{}"}}"#, "x".repeat(size));
        with_id_first_and_last(&json!(7), members.as_bytes())
    };
    let mut stdio = Stdio::initialized(&workspace, "2025-03-26");
    for message in long(TOO_LONG) {
        send_line(&mut stdio, &message);
        let answer = stdio.receive();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32600)));
        assert_eq!(answer["error"]["message"], "the line is longer than 10485760 bytes");
    }
    let [first, last] = long(TOO_LONG / 2);
    send_line(&mut stdio, &[b"[", &first[..], b",", &last, b"]"].concat());
    let answers = stdio.receive();
    assert_eq!((&answers[0]["id"], &answers[1]["id"]), (&json!(7), &json!(7)));
    assert_eq!(stdio.request_and_wait("ping", json!({}))["result"], json!({}));

    let http = Http::start(&workspace);
    let headers = [("Accept", "application/json"), ("Content-Type", "application/json")];
    for message in long(80 << 10) {
        let reply = http.send("POST", "/mcp", &headers, &message);
        assert_eq!(reply.status, 413, "{reply:?}");
        assert_eq!(reply.json()["id"], 7, "{reply:?}");
    }
    // A batch gets an error for each message in revisions with batches, and otherwise one.
    let answer = br#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let [first, last] = long(80 << 10);
    let batch = [b"[", &first[..], b",", answer, b",", &last, b"]"].concat();
    for (revision, ids) in [("2025-03-26", json!([7, 7])), ("2025-11-25", json!(null))] {
        let session = http.open_session(&[], revision);
        let headers = [&headers[..], &[("Mcp-Session-Id", &*session)]].concat();
        let reply = http.send("POST", "/mcp", &headers, &batch);
        assert_eq!(reply.status, 413, "{reply:?}");
        let answer = reply.json();
        let found =
            answer.as_array().map(|answers| answers.iter().map(|answer| answer["id"].clone()).collect());
        assert_eq!(json!(found.map(Value::Array)), ids, "{revision}: {answer}");
    }
}

#[test]
fn names_with_escapes_are_found_in_unreadable_messages() {
    let workspace = Workspace::with_plugin("time");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let unreadable = r#""params":{"x":NaN}"#;
    let long = format!(r#""params":{{"x":"{}"}}"#, "x".repeat(TOO_LONG));
    for params in [unreadable, &long] {
        for (name, method) in [
            (r"\u0069d", "method"),
            (r"i\u0064", r"\u006d\u0065\u0074\u0068\u006f\u0064"),
            (r"\u0069\u0064", r"metho\u0064"),
        ] {
            for message in [
                format!(r#"{{"{name}":7,"{method}":"ping",{params}}}"#),
                format!(r#"{{{params},"{method}":"ping","{name}":7}}"#),
            ] {
                send_line(&mut stdio, message.as_bytes());
                let answer = stdio.receive();
                assert_eq!(answer["id"], 7, "{name}: {answer}");
            }
        }
        // Another name, and two ids.
        for members in [r#""\u0069D":7"#, r#""id\u0020":7"#, r#""\\u0069d":7"#, r#""id":7,"\u0069d":8"#] {
            send_line(&mut stdio, format!(r#"{{{members},"method":"ping",{params}}}"#).as_bytes());
            let answer = stdio.receive();
            assert!(answer["id"].is_null(), "{members}: {answer}");
        }
    }
}

#[test]
fn an_unreadable_answer_ends_its_call_at_once() {
    let mut stdio = initialized_client(&zoo_with_all_grants(), "2025-11-25", all_capabilities("2025-11-25"));
    let mut answers: Vec<(&str, Vec<u8>)> = unreadable()
        .into_iter()
        .map(|(name, result)| (name, [&b"\"result\":"[..], &result].concat()))
        .filter(|(name, _)| *name != "an unclosed string")
        .collect();
    answers.extend([
        ("too long", format!(r#""result":{{"x":"{}"}}"#, "x".repeat(TOO_LONG)).into_bytes()),
        ("both kinds", br#""result":{},"error":{"code":1,"message":"no"}"#.to_vec()),
        ("no kind", br#""x":1"#.to_vec()),
        ("an error without a code", br#""error":{"message":"no"}"#.to_vec()),
    ]);
    for (name, answer) in answers {
        for id_last in [false, true] {
            stdio.send(&request(50, "tools/call", json!({ "name": "zoo_ask_name", "arguments": {} })));
            let question = stdio.receive();
            let messages = with_id_first_and_last(&question["id"], &answer);
            send_line(&mut stdio, &messages[usize::from(id_last)]);
            let response = stdio.response(50);
            assert_eq!(response["result"]["isError"], true, "{name}: {response}");
            assert!(text(&response).contains("the client's answer can't be read"), "{name}: {response}");
        }
    }
}

#[test]
fn an_unreadable_answer_over_http_ends_its_call_at_once() {
    let source = component("zoo");
    let workspace = Workspace::new(&format!(
        "[http]\nlisten = \"127.0.0.1:0\"\nmax_body = \"64KiB\"\n[plugins.zoo]\nsource = \"{}\"\n[plugins.zoo.allow]\nclient = [\"elicitation\"]\n",
        source.display()
    ));
    let http = Http::start(&workspace);
    let mut initialize = moongate_tests::initialize_params("2025-11-25");
    initialize["capabilities"] = all_capabilities("2025-11-25");
    let opened = http.post(&[], &request(1, "initialize", initialize));
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let headers = [
        ("Accept", "application/json, text/event-stream"),
        ("Content-Type", "application/json"),
        ("Mcp-Session-Id", session.as_str()),
        ("MCP-Protocol-Version", "2025-11-25"),
    ];
    let long = format!(r#""result":{{"x":"{}"}}"#, "x".repeat(80 << 10));
    for (answer, status) in [(&b"\"result\":{\"x\":NaN}"[..], 400), (long.as_bytes(), 413)] {
        let call = request(50, "tools/call", json!({ "name": "zoo_ask_name", "arguments": {} }));
        let mut stream = http.open("POST", &headers, call.to_string().as_bytes());
        let question = next(&mut stream);
        let [_, message] = with_id_first_and_last(&question["id"], answer);
        assert_eq!(http.send("POST", "/mcp", &headers, &message).status, status);
        let response = next(&mut stream);
        assert_eq!(response["id"], 50, "{response}");
        assert!(text(&response).contains("the client's answer can't be read"), "{response}");
    }
}

fn next(stream: &mut EventStream) -> Value {
    stream.message().expect("the stream has ended")
}
