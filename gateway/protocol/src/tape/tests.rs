//! The tape compared with the parsed value.

use jsonschema::json::{Array, Json as _, Node as _, Object};
use serde_json::{Value, json};

use super::equality::equals;
use super::*;

/// The value of a node, read only through the tape.
fn value(node: TapeNode<'_>) -> Value {
    if let Some(object) = node.as_object() {
        return object
            .members()
            .map(|(name, member)| (name.string().unwrap().into_owned(), value(member)))
            .collect();
    }
    match node.as_array() {
        Some(array) => Value::Array(array.elements().map(value).collect()),
        None => node.to_value().into_owned(),
    }
}

fn documents() -> Vec<String> {
    let many: serde_json::Map<_, _> = (0..40).map(|at| (format!("k{}", at * 7 % 40), json!([at]))).collect();
    vec![
        json!({ "a": [1, -2.5, "x", true, false, null, {}, []], "b": { "c": { "d": "é🌙" } } }).to_string(),
        Value::Object(many.clone()).to_string(),
        json!([many, { "k": many }, 1]).to_string(),
        r#" { "a\u0062" : "\"\\\n" , "k1":1,"k2":2,"k3":3,"k4":4,"k5":5,"\u006b6":6,"k7":7,"k8":8,"k9":[] } "#.to_owned(),
        "0".to_owned(),
        r#""""#.to_owned(),
        "[[[[]]]]".to_owned(),
        "null".to_owned(),
    ]
}

#[test]
fn reads_what_the_parser_reads() {
    for text in documents() {
        let parsed: Value = serde_json::from_str(&text).unwrap();
        let tape = JsonTape::read(&text).unwrap();
        assert_eq!(value(tape.root()), parsed, "{text}");
        assert!(equals(tape.root(), &parsed), "{text}");
        let mut pointers = vec![String::new()];
        while let Some(pointer) = pointers.pop() {
            let wanted = parsed.pointer(&pointer).unwrap();
            let found = tape.root().pointer(&pointer).unwrap();
            assert_eq!(&value(found), wanted, "{pointer} in {text}");
            if let (Value::Object(members), Some(object)) = (wanted, found.as_object()) {
                assert_eq!(Object::len(&object), members.len());
                assert!(object.get(&TapeJson::prepare_key("missing")).is_none());
                pointers.extend(members.keys().map(|name| format!("{pointer}/{name}")));
            }
            if let (Value::Array(items), Some(array)) = (wanted, found.as_array()) {
                assert_eq!(Array::len(&array), items.len());
                pointers.extend((0..items.len()).map(|at| format!("{pointer}/{at}")));
            }
        }
        assert!(tape.root().pointer("/missing").is_none() && tape.root().pointer("x").is_none());
    }
}

#[test]
fn measures_values() {
    for (text, nodes, depth, bytes, key_bytes) in
        [("1", 1, 1, 0, 0), (r#""abc""#, 1, 1, 3, 0), ("[]", 1, 1, 0, 0), (r#"{"ab":["c",1]}"#, 4, 3, 3, 2)]
    {
        let size = JsonTape::read(text).unwrap().size();
        assert_eq!(size, ValueSize { nodes, depth, bytes, key_bytes }, "{text}");
    }
}

#[test]
fn takes_at_most_four_times_the_text() {
    let repeat = |item: &str| format!("[{}]", vec![item; 10_000].join(","));
    let keys = (0..10_000).map(|at| format!("\"{at}\":0")).collect::<Vec<_>>().join(",");
    for text in [repeat("0"), repeat("[]"), repeat(r#"{"a":0}"#), repeat(r#""""#), format!("{{{keys}}}")] {
        let tape = JsonTape::read(&text).unwrap();
        let used = tape.entries.len() * size_of::<TapeEntry>();
        assert!(used <= 4 * text.len() + 64, "{used} for {}", text.len());
        assert_eq!(tape.entries.capacity(), count_entries(&text), "it never grows");
    }
}

#[test]
fn finds_equal_elements() {
    let numbers =
        |last: &str| format!("[{},{last}]", (0..5_000).map(|n| n.to_string()).collect::<Vec<_>>().join(","));
    let precise = |last: &str| {
        let all = (0..5_000_u64).map(|n| (9_007_199_254_740_992 + n).to_string());
        format!("[{},{last}]", all.collect::<Vec<_>>().join(","))
    };
    for (text, is_unique) in [
        ("[]".to_owned(), true),
        ("[1,2,1.0]".to_owned(), false),
        ("[0,-0.0]".to_owned(), false),
        (r#"[{"a":1,"b":[2]},{"b":[2.0],"a":1}]"#.to_owned(), false),
        (r#"[{"a":1},{"a":1,"b":2},"1",1,true,null,[1],[1,1]]"#.to_owned(), true),
        // Integers above 2^64, which are the same as floats.
        ("[18446744073709551616,18446744073709551617,-18446744073709551617]".to_owned(), true),
        ("[18446744073709551617,1,18446744073709551617]".to_owned(), false),
        ("[18446744073709551616,1.8446744073709551616e19]".to_owned(), false),
        (
            format!("[{},18446744073709551617]", numbers("18446744073709551616").trim_matches(['[', ']'])),
            true,
        ),
        (numbers("\"1\""), true),
        (numbers("4.999e3"), false),
        (numbers("-1"), true),
        (precise("1"), true),
        (precise("9007199254740993"), false),
        (format!("[{}]", vec!["0"; 100_000].join(",")), false),
    ] {
        let tape = JsonTape::read(&text).unwrap();
        assert_eq!(tape.root().as_array().unwrap().is_unique(), is_unique, "{}", &text[..text.len().min(80)]);
    }
}

#[test]
fn sorts_keys_with_escapes_by_their_characters() {
    let written: Vec<_> = (0..2_000).map(|at| format!("\"\\u{:04x}{at}\":{at}", at * 31 % 0xD7FF)).collect();
    let text = format!("{{{},\"\\ud83d\\ude00\":-1,\"\\uffff\":-2}}", written.join(","));
    let parsed: serde_json::Map<String, Value> = serde_json::from_str(&text).unwrap();
    let tape = JsonTape::read(&text).unwrap();
    let object = tape.root().container().unwrap();
    let mut names: Vec<_> = parsed.keys().cloned().collect();
    names.sort_unstable();
    let sorted: Vec<_> =
        object.sorted_members().map(|(name, _)| name.string().unwrap().into_owned()).collect();
    assert_eq!(sorted, names);
    for (name, value) in &parsed {
        assert!(equals(object.member(name).unwrap(), value), "{name}");
    }
}

#[test]
fn survives_text_that_is_not_json() {
    for text in
        ["", "{", "}", "]]", "{\"a\"", "[1,", "\"\\", "{:}", "{\"a\":}", "xyz", "[,,]", "{1:2}", "\u{1F319}"]
    {
        let tape = JsonTape::read(text).unwrap();
        let _ = (value(tape.root()), tape.size());
        let _ = tape.root().container().map(|container| container.member("a"));
    }
}
