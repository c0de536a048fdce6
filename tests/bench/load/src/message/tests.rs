//! Requests, and detection of wrong answers.

use super::{Spec, Template, tools_page};

fn written(template: &Template, id: u64) -> serde_json::Value {
    let mut request = Vec::new();
    template.write(id, &mut request);
    serde_json::from_slice(&request).expect("a request is JSON")
}

fn answer(id: u64, text: &str) -> Vec<u8> {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#)
        .into_bytes()
}

#[test]
fn writes_id_tool_text_and_metadata() {
    for (revision, meta) in [("2025-11-25", false), ("2026-07-28", true)] {
        let spec = Spec { revision: revision.to_owned(), bytes: 1000, ..Spec::default() };
        let request = written(&Template::new(&spec).expect("a template"), 77);
        assert_eq!(request["id"], 77);
        assert_eq!(request["params"]["name"], "echo");
        assert_eq!(request["params"]["arguments"]["text"].as_str().map(str::len), Some(1000));
        assert_eq!(request["params"]["_meta"].is_object(), meta);
    }
}

#[test]
fn accepts_only_the_right_answer() {
    let template = Template::new(&Spec::default()).expect("a template");
    let text =
        |id| written(&template, id)["params"]["arguments"]["text"].as_str().expect("a text").to_owned();
    template.check(7, &answer(7, &text(7))).expect("the right answer");
    assert!(template.check(7, &answer(8, &text(7))).is_err(), "another id");
    assert!(template.check(7, &answer(7, &text(8))).is_err(), "another call's text");
    assert!(template.check(7, &answer(7, &text(7)[..99])).is_err(), "a truncated text");
    let failed = String::from_utf8(answer(7, &text(7)))
        .expect("text")
        .replace("\"content\"", "\"isError\":true,\"content\"");
    assert!(template.check(7, failed.as_bytes()).is_err(), "an error");
}

#[test]
fn detects_a_list_without_the_tool() {
    let list = br#"{"id":1,"result":{"tools":[{"name":"time"}],"nextCursor":"more"}}"#;
    let page = tools_page(list, "time").expect("a list");
    assert_eq!((page.count, page.is_expected, page.next.as_deref()), (1, true, Some("more")));
    assert!(!tools_page(list, "echo").expect("a list").is_expected);
    assert!(tools_page(br#"{"id":1,"error":{}}"#, "echo").is_err());
}
