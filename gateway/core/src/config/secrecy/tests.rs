//! What counts as a secret, and that all who ask hear the same.

use std::collections::BTreeMap;
use std::path::Path;

use super::*;
use crate::config::{Style, from_text, render, resolved};

#[test]
fn names_that_only_begin_like_a_secrets_are_none() {
    for name in ["token", "CI_TOKEN", "API-KEY", "authToken", "TOKENS", "a.token.b", "tokenValue", "passwrod"]
    {
        assert!(is_named_secret(name), "{name}");
    }
    for name in
        ["tokenizer", "TOKENIZER", "Secretary", "max_tokens", "TOKEN_FILE", "cookiecutter", "spoken_at"]
    {
        assert!(!is_named_secret(name), "{name}");
    }
}

#[test]
fn texts_give_themselves_away() {
    for text in [
        "-----BEGIN PRIVATE KEY-----\nMIIE",
        "x ghp_0123456789abcdefABCD",
        "sk-proj-0123456789abcdef",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "postgres://app:hunter2@db.example/app",
        "https://ann:p@ss@example.com",
        "${DB_PASSWORD:-hunter2}",
        "host ${API_TOKEN:-hunter2",
    ] {
        assert!(is_secret("dsn", text), "{text}");
    }
    for text in [
        "",
        "sk-short",
        "postgres://app@db.example/app",
        "postgres://app:${DB_PASSWORD}@db.example/app",
        "https://example.com:8080/a@b",
        "${API_TOKEN}",
        "${API_TOKEN:-}",
        "${LANG:-en}",
        "a.b.c",
        "eyJ",
    ] {
        assert!(!is_secret("dsn", text), "{text}");
    }
    assert!(is_secret("a.token", "x") && !is_secret("a.token", "${API_TOKEN}"));
}

#[test]
fn excerpts_and_the_resolved_file_and_traces_hide_the_same() {
    let settings = [
        ("api_key = \"W7kq-plain\"", "W7kq-plain"),
        ("token = 73519", "73519"),
        ("nested = { a = [{ password = \"W7kq-deep\" }] }", "W7kq-deep"),
        ("dsn = \"postgres://app:W7kq@db.example\"", "postgres://app:W7kq@db.example"),
        ("url = \"${DB_PASSWORD:-W7kq-default}\"", "W7kq-default"),
        ("secrets.name = \"W7kq-named\"", "W7kq-named"),
    ];
    for (line, secret) in settings {
        let text = format!("version = 1\n[plugins.a]\nsource = 'a.wasm'\n[plugins.a.config]\n{line} # why\n");
        let nothing = BTreeMap::<String, String>::from([("HOME".to_owned(), "/srv".to_owned())]);
        let loaded = from_text(Path::new("/etc/gateway.toml"), text, &nothing);
        let said = render(&loaded.problems, &loaded.source, Style::Plain);
        let resolved = resolved(&loaded, &nothing).unwrap_or_else(|| panic!("{said}"));
        let all = format!("{said}{}{resolved}", loaded.source.text);
        assert!(!all.contains("W7kq") && !all.contains("73519"), "{line}:\n{all}");
        let traced = loaded.config.unwrap().secrets;
        assert!(traced.iter().any(|its| its.expose() == secret), "{line}: {traced:?}");
    }
}

#[test]
fn of_a_setting_an_excerpt_shows_only_the_part_in_which_reading_finds_a_problem() {
    let file = "version = 1\n[plugins.p]\nsource = \"p.wasm\"\nunits = \"metric\"\n[plugins.p.config]\n\
                zone = \"${ZONE}/Rome\"\nplain = \"gelato\"\ntoken = \"${NOT_SET}/tiramisu\"\nlist = [\"panna\", 123456]\n";
    let loaded = from_text(Path::new("/nowhere/gateway.toml"), file.to_owned(), &BTreeMap::new());
    let shown = &loaded.source.text;
    assert!(shown.contains("zone = *${ZONE}*"), "{shown}");
    for hidden in ["gelato", "tiramisu", "panna", "123456", "metric", "Rome"] {
        assert!(!shown.contains(hidden), "{hidden}: {shown}");
    }
    assert!(loaded.problems.iter().any(|problem| problem.message.contains("`ZONE` isn't set")));
}
