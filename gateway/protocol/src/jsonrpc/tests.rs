//! Tests of parsing and writing messages, and of the answers to invalid ones.

use std::collections::HashSet;

use super::*;
use crate::json::{Json, JsonPart};

const LIMITS: ParseLimits = ParseLimits { max_batch: 3 };

/// One line per message: its kind with id, method and params, or the code and id of the error.
fn seen(bytes: &[u8]) -> String {
    match parse(&MessageText::new(bytes), LIMITS) {
        Ok(Incoming::Single(message)) => message_seen(&message),
        Ok(Incoming::Batch(entries)) => {
            let all: Vec<_> = entries
                .iter()
                .map(|entry| entry.as_ref().map_or_else(malformed_seen, message_seen))
                .collect();
            format!("batch[{}]", all.join("; "))
        }
        Err(malformed) => malformed_seen(&malformed),
    }
}

fn message_seen(message: &Message<'_>) -> String {
    match message {
        Message::Request(it) => {
            format!("request {} {} {}", it.id, it.method, it.params.map_or("-", JsonPart::get))
        }
        Message::Notification(it) => {
            format!("notification {} {}", it.method, it.params.map_or("-", JsonPart::get))
        }
        Message::Response(it) => {
            let id = it.id.as_ref().map_or("-", Id::as_json);
            let outcome =
                it.outcome.as_ref().map_or_else(|error| error.to_string(), |raw| raw.get().to_owned());
            format!("response {id} {outcome}")
        }
    }
}

fn malformed_seen(it: &MalformedMessage) -> String {
    let silent = if it.wants_answer() { "" } else { " silent" };
    format!("{} {}{silent}", it.error.code, it.id.as_ref().map_or("-", Id::as_json))
}

/// Name, bytes and expected messages. The numbers help to find a case.
const CORNERS: &[(&str, &[u8], &str)] = &[
    (
        "request",
        br#"{"jsonrpc":"2.0","id":1,"method":"a/b","params":{"x":1.50}}"#,
        r#"request 1 a/b {"x":1.50}"#,
    ),
    ("notification", br#"{"jsonrpc":"2.0","method":"n"}"#, "notification n -"),
    ("result", br#"{"jsonrpc":"2.0","id":"s-1","result":{}}"#, r#"response "s-1" {}"#),
    ("result null", br#"{"jsonrpc":"2.0","id":1,"result":null}"#, "response 1 null"),
    (
        "error",
        br#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no","data":[]}}"#,
        "response 1 no (-1)",
    ),
    ("1 not JSON", b"{nope}", "-32700 -"),
    ("1 cut short", br#"{"jsonrpc":"2.0","id":1,"method":"#, "-32700 1"),
    ("1 nothing", b"", "-32700 -"),
    ("2 not UTF-8", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xFF\"}", "-32700 1"),
    ("3 byte order mark", b"\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"method\":\"n\"}", "notification n -"),
    ("3 two of them", b"\xEF\xBB\xBF\xEF\xBB\xBF{}", "-32700 -"),
    ("4 carriage return", b"{\"jsonrpc\":\"2.0\",\"method\":\"n\"}\r", "notification n -"),
    ("5 two messages", br#"{"jsonrpc":"2.0","method":"n"}{"jsonrpc":"2.0","method":"n"}"#, "-32700 -"),
    ("5 garbage behind", br#"{"jsonrpc":"2.0","method":"n"} x"#, "-32700 -"),
    ("6 first line of a printed message", b"{", "-32700 -"),
    ("6 a middle line", br#"  "id": 1,"#, "-32700 -"),
    ("8 number", b"7", "-32600 -"),
    ("8 string", b"\"x\"", "-32600 -"),
    ("8 null", b"null", "-32600 -"),
    ("8 true", b"true", "-32600 -"),
    ("9 empty batch", b"[]", "-32600 -"),
    ("10 batch of numbers", b"[1,2]", "batch[-32600 -; -32600 -]"),
    ("10 batch in a batch", b"[[]]", "batch[-32600 -]"),
    (
        "11 mixed batch",
        br#"[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"n"},{"id":2}]"#,
        "batch[request 1 a -; notification n -; -32600 2]",
    ),
    ("14 too many", b"[1,2,3,4]", "-32600 -"),
    ("14 as many as allowed", b"[1,2,3]", "batch[-32600 -; -32600 -; -32600 -]"),
    ("15 no jsonrpc", br#"{"id":7,"method":"a"}"#, "-32600 7"),
    ("15 another jsonrpc", br#"{"jsonrpc":"1.0","id":7,"method":"a"}"#, "-32600 7"),
    ("15 jsonrpc as number", br#"{"jsonrpc":2.0,"id":7,"method":"a"}"#, "-32600 7"),
    ("15 jsonrpc with an escape", br#"{"jsonrpc":"\u0032.0","method":"n"}"#, "notification n -"),
    ("16 no method", br#"{"jsonrpc":"2.0","id":7}"#, "-32600 7"),
    ("16 method as number", br#"{"jsonrpc":"2.0","id":7,"method":1}"#, "-32600 7"),
    ("16 method null", br#"{"jsonrpc":"2.0","id":7,"method":null}"#, "-32600 7"),
    ("16 method with an escape", br#"{"jsonrpc":"2.0","method":"a\/b"}"#, "notification a/b -"),
    ("16 empty object", b"{}", "-32600 -"),
    ("17 id null", br#"{"jsonrpc":"2.0","id":null,"method":"a"}"#, "-32600 -"),
    ("18 fraction", br#"{"jsonrpc":"2.0","id":1.5,"method":"a"}"#, "-32600 -"),
    ("18 exponent", br#"{"jsonrpc":"2.0","id":1e3,"method":"a"}"#, "-32600 -"),
    ("18 whole float", br#"{"jsonrpc":"2.0","id":1.0,"method":"a"}"#, "request 1.0 a -"),
    ("18 true", br#"{"jsonrpc":"2.0","id":true,"method":"a"}"#, "-32600 -"),
    ("18 object", br#"{"jsonrpc":"2.0","id":{},"method":"a"}"#, "-32600 -"),
    ("18 array", br#"{"jsonrpc":"2.0","id":[1],"method":"a"}"#, "-32600 -"),
    (
        "19 above 2^53",
        br#"{"jsonrpc":"2.0","id":9007199254740993,"method":"a"}"#,
        "request 9007199254740993 a -",
    ),
    (
        "19 u64",
        br#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"a"}"#,
        "request 18446744073709551615 a -",
    ),
    ("19 above u64", br#"{"jsonrpc":"2.0","id":18446744073709551616,"method":"a"}"#, "-32600 -"),
    ("19 negative", br#"{"jsonrpc":"2.0","id":-9,"method":"a"}"#, "request -9 a -"),
    ("19 minus zero", br#"{"jsonrpc":"2.0","id":-0,"method":"a"}"#, "request -0 a -"),
    ("20 empty string", br#"{"jsonrpc":"2.0","id":"","method":"a"}"#, r#"request "" a -"#),
    ("20 escapes kept", br#"{"jsonrpc":"2.0","id":"\u0041\/","method":"a"}"#, r#"request "\u0041\/" a -"#),
    ("24 array of params", br#"{"jsonrpc":"2.0","id":1,"method":"a","params":[1]}"#, "request 1 a [1]"),
    ("24 number of params", br#"{"jsonrpc":"2.0","id":1,"method":"a","params":5}"#, "-32600 1"),
    ("25 params null", br#"{"jsonrpc":"2.0","id":1,"method":"a","params":null}"#, "request 1 a -"),
    ("27 method and result", br#"{"jsonrpc":"2.0","id":1,"method":"a","result":1}"#, "-32600 1"),
    ("27 method and error", br#"{"jsonrpc":"2.0","id":1,"method":"a","error":{}}"#, "-32600 1"),
    ("28 result and error", br#"{"jsonrpc":"2.0","id":1,"result":1,"error":{}}"#, "-32600 1 silent"),
    ("28 error as string", br#"{"jsonrpc":"2.0","id":1,"error":"x"}"#, "-32600 1 silent"),
    ("28 error without code", br#"{"jsonrpc":"2.0","id":1,"error":{"message":"x"}}"#, "-32600 1 silent"),
    ("28 response without jsonrpc", br#"{"id":1,"result":1}"#, "-32600 1 silent"),
    ("28 id of another type", br#"{"jsonrpc":"2.0","id":true,"result":1}"#, "-32600 - silent"),
    ("29 id null", br#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}"#, "response - x (1)"),
    ("29 no id", br#"{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}"#, "response - x (1)"),
    ("30 params of a notification", br#"{"jsonrpc":"2.0","method":"n","params":5}"#, "-32600 - silent"),
    ("34 unknown members", br#"{"jsonrpc":"2.0","method":"n","x":1,"x":2}"#, "notification n -"),
    ("35 id twice", br#"{"jsonrpc":"2.0","id":1,"id":1,"method":"a"}"#, "-32600 -"),
    (
        "35 id and jsonrpc twice",
        br#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"id":2,"method":"a"}"#,
        "-32600 -",
    ),
    ("35 method twice", br#"{"jsonrpc":"2.0","id":1,"method":"a","method":"a"}"#, "-32600 1"),
    (
        "35 method twice, once with an escape",
        br#"{"jsonrpc":"2.0","id":1,"method":"a","m\u0065thod":"b"}"#,
        "-32600 1",
    ),
    ("35 params twice", br#"{"jsonrpc":"2.0","id":1,"method":"a","params":{},"params":{}}"#, "-32600 1"),
    ("35 result twice", br#"{"jsonrpc":"2.0","id":1,"result":1,"result":1}"#, "-32600 1"),
    (
        "37 half a pair",
        br#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":"\ud800"}}"#,
        r#"request 1 a {"x":"\ufffd"}"#,
    ),
    (
        "37 the other half, in a key",
        br#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"\uDC00":1}}"#,
        r#"request 1 a {"\ufffd":1}"#,
    ),
    (
        "37 both halves in the wrong order",
        br#"{"jsonrpc":"2.0","id":1,"method":"\ude00\ud83d","params":["\ud83d\ud83d\ude00"]}"#,
        "request 1 \u{fffd}\u{fffd} [\"\\ufffd\\ud83d\\ude00\"]",
    ),
    (
        "37 in ids, which are returned as received",
        br#"[{"jsonrpc":"2.0","id":"\ud83d","method":"\ud83d"},{"jsonrpc":"2.0","method":"a","id":"\udc00"}]"#,
        "batch[request \"\\ud83d\" \u{fffd} -; request \"\\udc00\" a -]",
    ),
    (
        "37 in an answer",
        br#"{"jsonrpc":"2.0","id":"s-1","result":{"a":"\ud83d"}}"#,
        r#"response "s-1" {"a":"\ufffd"}"#,
    ),
    (
        "37 a whole pair",
        br#"{"jsonrpc":"2.0","method":"n","params":["\ud83d\ude00"]}"#,
        r#"notification n ["\ud83d\ude00"]"#,
    ),
    (
        "37 an escaped backslash",
        br#"{"jsonrpc":"2.0","method":"n","params":["\\ud800"]}"#,
        r#"notification n ["\\ud800"]"#,
    ),
    ("38 NaN", br#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":NaN}}"#, "-32700 1"),
    ("38 trailing comma", br#"{"jsonrpc":"2.0","id":1,"method":"a",}"#, "-32700 1"),
    ("38 comment", br#"{"jsonrpc":"2.0","id":1,/* */"method":"a"}"#, "-32700 1"),
    (
        "39 a number outside the range of floats passes as text",
        br#"{"jsonrpc":"2.0","method":"n","params":[1e400]}"#,
        "notification n [1e400]",
    ),
    ("40 NUL in a name", br#"{"jsonrpc":"2.0","method":"a\u0000"}"#, "notification a\0 -"),
    ("40 raw control character", b"{\"jsonrpc\":\"2.0\",\"method\":\"a\x01\"}", "-32700 -"),
];

#[test]
fn parses_every_corner_of_the_grammar() {
    let wrong: Vec<String> = CORNERS
        .iter()
        .filter_map(|(name, bytes, expected)| {
            let seen = seen(bytes);
            (seen != *expected).then(|| format!("{name}: {seen} instead of {expected}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Text that can't be parsed, and the ids and kinds of the errors.
const UNREADABLE: &[(&str, &[u8], &str)] = &[
    ("id last", br#"{"method":"a","params":{"id":7,"x":NaN},"jsonrpc":"2.0","id":"b"}"#, r#"-32700 "b""#),
    ("white space", b"\xEF\xBB\xBF { \"id\" : 1 , \"method\" : x }", "-32700 1"),
    ("a nested id", br#"{"method":"a","params":{"id":7},}"#, "-32700 -"),
    ("an id in a string", br#"{"method":"\",\"id\":7","params":x}"#, "-32700 -"),
    ("two ids", br#"{"id":1,"id":2,"method":x}"#, "-32700 -"),
    ("two ids, cut short", br#"{"id":1,"method":"a","id":2"#, "-32700 -"),
    ("an id that is cut short", br#"{"method":"a","id":12"#, "-32700 -"),
    ("an id in two parts", br#"{"id":1 2,"method":"a"}"#, "-32700 -"),
    ("an id of another type", br#"{"id":{"id":1},"method":x}"#, "-32700 -"),
    ("an id that isn't UTF-8", b"{\"id\":\"\xFF\",\"method\":\"a\"}", "-32700 -"),
    ("text after the message", br#"{"id":1,"method":"a"} {"id":2}"#, "-32700 1"),
    ("an unclosed string", br#"{"id":1,"method":"a,"params":{}}"#, "-32700 1"),
    ("a closing bracket too many", br#"{"id":1,"params":{}}}"#, "-32700 1"),
    ("a NUL", b"{\"id\":1,\"method\":\"a\0\"}", "-32700 1"),
    ("an answer", br#"{"id":"s-1","result":{"x":NaN}}"#, r#"-32700 "s-1" silent"#),
    ("a refusal", br#"{"error":{"code":1,},"id":"s-1"}"#, r#"-32700 "s-1" silent"#),
    (
        "one message of a batch",
        br#"[{"jsonrpc":"2.0","id":1,"method":"a"},{"id":2,"method":"a","params":[NaN]},{"jsonrpc":"2.0","id":3,"method":"a"}]"#,
        "batch[request 1 a -; -32700 2; request 3 a -]",
    ),
    (
        "a value beside messages",
        br#"[{"jsonrpc":"2.0","id":1,"method":"a"},[{"id":5}],1e400]"#,
        "batch[-32700 1]",
    ),
    ("a batch that is cut short", br#"[{"jsonrpc":"2.0","id":1,"method":"a"},{"id":2,"#, "batch[-32700 1; -32700 2]"),
    ("text after a batch", br#"[{"jsonrpc":"2.0","id":1,"method":"a"}]]"#, "batch[-32700 1]"),
    (
        "too many messages",
        br#"[{"id":1,"method":"a"},{"method":"a"},{"id":3},{"id":4,"result":1}]"#,
        "batch[-32600 1; -32600 -; -32600 3; -32600 4 silent]",
    ),
];

#[test]
fn finds_ids_in_text_that_cant_be_parsed() {
    let wrong: Vec<String> = UNREADABLE
        .iter()
        .filter_map(|(name, bytes, expected)| {
            let seen = seen(bytes);
            (seen != *expected).then(|| format!("{name}: {seen} instead of {expected}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn finds_the_id_of_a_message_that_nests_too_deep() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let request = format!(r#"{{"method":"a","params":{deep},"jsonrpc":"2.0","id":1}}"#);
    assert_eq!(seen(request.as_bytes()), "-32700 1");
    let batch = format!(r#"[{request},{{"jsonrpc":"2.0","id":2,"method":"a"}}]"#);
    assert_eq!(seen(batch.as_bytes()), "batch[-32700 1; request 2 a -]");
}

#[test]
fn limits_the_length_of_ids() {
    let with_id = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"a"}}"#);
    let long = format!("\"{}\"", "x".repeat(Id::MAX_BYTES - 2));
    assert_eq!(seen(with_id(&long).as_bytes()), format!("request {long} a -"));
    let longer = format!("\"{}\"", "x".repeat(Id::MAX_BYTES - 1));
    assert_eq!(seen(with_id(&longer).as_bytes()), "-32600 -");
    assert_eq!(seen(with_id(&format!("1.{}", "0".repeat(Id::MAX_BYTES))).as_bytes()), "-32600 -");
}

#[test]
fn limits_the_depth_of_raw_text() {
    let nested = |levels: usize| {
        let open = "[".repeat(levels - 1); // the message's own brace is the first level
        format!(r#"{{"jsonrpc":"2.0","method":"n","params":{open}{}}}"#, "]".repeat(levels - 1))
    };
    let deep = nested(MAX_DEPTH);
    let text = MessageText::new(deep.as_bytes());
    let Ok(Incoming::Single(Message::Notification(it))) = parse(&text, LIMITS) else {
        panic!("{}", seen(deep.as_bytes()))
    };
    // Every later reader can read a message that passes here.
    crate::json::parse_strict(it.params.unwrap().get()).unwrap();
    assert_eq!(seen(nested(MAX_DEPTH + 1).as_bytes()), "-32700 -");
    // Brackets in strings don't nest.
    let text = format!(r#"{{"jsonrpc":"2.0","method":"{}\"["}}"#, "[".repeat(500));
    assert!(seen(text.as_bytes()).starts_with("notification [[["));
}

#[test]
fn compares_ids_by_value_and_returns_their_token() {
    let id = |token: &str| Id::from_token(token).unwrap();
    assert_eq!(id(r#""\u0041""#), id(r#""A""#));
    assert_eq!(id(r#""\u0041""#), Id::string("A"));
    assert_eq!(Id::string("a\"b"), id(r#""a\"b""#));
    assert_eq!(id("9007199254740993.0").as_json(), "9007199254740993.0");
    assert_eq!(id("7"), Id::from(7));
    let different: HashSet<Id> = ["1", "\"1\"", "1.0", "\"\\u0031.0\"", "-1"].into_iter().map(id).collect();
    assert_eq!(different.len(), 5);
}

#[test]
fn borrows_methods_without_escapes() {
    let bytes = br#"{"jsonrpc":"2.0","method":"tools/call"}"#;
    let text = MessageText::new(bytes);
    let Ok(Incoming::Single(Message::Notification(it))) = parse(&text, LIMITS) else { panic!() };
    assert!(matches!(it.method, Cow::Borrowed("tools/call")));
}

#[test]
fn error_messages_name_the_problem() {
    let said = |text: &str| parse(&MessageText::new(text.as_bytes()), LIMITS).unwrap_err().error.message;
    assert_eq!(said("[1,2,3,4]"), "the batch contains 4 messages; at most 3 are allowed");
    assert_eq!(said("{\"id\":1,}"), "the message is not JSON: trailing comma at line 1 column 9");
    assert_eq!(
        said(r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#),
        "`id` must not be null; omit it to send a notification"
    );
    assert_eq!(said(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}"#), "duplicate member `id`");
}

#[test]
fn writers_append_one_line() {
    let raw = |text: &str| Json::parse(text).unwrap();
    let write = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut out = b"before ".to_vec();
        write(&mut out);
        String::from_utf8(out.split_off(7)).unwrap()
    };
    let result = raw("{\"a\":\r\n1.0}");
    assert_eq!(
        write(&|out| write_result(out, &Id::from(1), &result)),
        r#"{"jsonrpc":"2.0","id":1,"result":{"a":  1.0}}"#
    );
    let data = Some(Json::parse("[\n]").unwrap());
    let error = ErrorObject { data, ..ErrorObject::new(METHOD_NOT_FOUND, "no \"x\"\n") };
    let rest = r#""error":{"code":-32601,"message":"no \"x\"\n","data":[ ]}}"#;
    assert_eq!(
        write(&|out| write_error(out, Some(&Id::string("a")), MissingId::Null, &error)),
        format!(r#"{{"jsonrpc":"2.0","id":"a",{rest}"#)
    );
    assert_eq!(
        write(&|out| write_error(out, None, MissingId::Null, &error)),
        format!(r#"{{"jsonrpc":"2.0","id":null,{rest}"#)
    );
    assert_eq!(
        write(&|out| write_error(out, None, MissingId::Omit, &error)),
        format!(r#"{{"jsonrpc":"2.0",{rest}"#)
    );
    assert_eq!(write(&|out| write_notification(out, "n", None)), r#"{"jsonrpc":"2.0","method":"n"}"#);
    let params = raw("{}");
    assert_eq!(
        write(&|out| write_request(out, &Id::from(2), "a\"", Some(&params))),
        r#"{"jsonrpc":"2.0","id":2,"method":"a\"","params":{}}"#
    );
}

#[test]
fn mutated_messages_round_trip() {
    moongate_model::seeded::seeded("jsonrpc", fuzz_one);
}

#[test]
fn nothing_runs_in_a_batch_with_invalid_punctuation() {
    let one = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let cut = r#"{"jsonrpc":"2.0","id":2,"method":"ping","params":{"a":01}}"#;
    for broken in [
        format!("[{one} {cut}]"),
        format!("[{one}, tru, {cut}]"),
        format!("[{one},, {cut}]"),
        format!("[, {one}, {cut}]"),
        format!("[{one}, {cut},]"),
    ] {
        let seen = seen(broken.as_bytes());
        assert!(!seen.starts_with("batch[request"), "{broken}: {seen}");
    }
}
