//! What counts as a secret, and that all who ask hear the same.

use std::collections::BTreeMap;
use std::path::Path;

use super::*;
use crate::config::{Config, Style, from_text, render, resolved};

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

/// What is said of a plugin's settings where the gateway's own secrets are these.
fn said_of(token: &str, seal: &str, settings: &str) -> (Vec<String>, Option<Config>) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ui/config/files/time.wasm");
    let text = format!(
        "version = 1\n[gateway]\nsealing_key = {{ env = 'SEAL' }}\n[http.auth]\n\
         tokens = [{{ name = 'ci', token = {{ env = 'TOK' }} }}]\n[plugins.a]\nsource = {source:?}\n\
         [plugins.a.config]\n{settings}\n"
    );
    let held =
        [("HOME", "/srv"), ("TOK", token), ("SEAL", seal), ("MYVAR", "opaque-but-long"), ("TINY", "abc")];
    let held: BTreeMap<String, String> =
        held.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let loaded = from_text(Path::new("/etc/gateway.toml"), text, &held);
    (loaded.problems.into_iter().map(|problem| problem.message).collect(), loaded.config)
}

#[test]
fn no_setting_gives_the_gateways_own_secrets_away_however_json_writes_them() {
    let seal = "seal\"with\\quotes\"0123456789abcdef";
    for (token, settings, told) in [
        ("abc\"def\\ghi1234567890", "a = { inner = \"${TOK}\" }", "own token `ci`"),
        ("abc\"def\\ghi1234567890", "a = [[{ b = [\"x ${TOK} y\"] }]]", "own token `ci`"),
        ("abc\"def\\ghi1234567890", "a = \"${TOK}\"", "own token `ci`"),
        ("tab\tand\u{e9}1234567890", "a = '[\"tab\\tand\\u00e91234567890\"]'", "own token `ci`"),
        ("0123456789abcdef", "b = [\"${SEAL}\"]", "sealing key"),
        ("s3cr3t7", "a = \"Bearer ${TOK}\"", "own token `ci`"),
        ("s3cr3t7", "a = { b = \"Bearer ${TOK}\" }", "own token `ci`"),
        ("1234567", "a = [1234567]", "own token `ci`"),
    ] {
        let (said, _) = said_of(token, seal, settings);
        assert!(said.iter().any(|message| message.contains(told)), "{settings}: {said:?}");
    }
    for settings in ["a = \"s3cr3t77\"", "a = [\"xs3cr3t7\"]", "a = { b = \"${MYVAR}\" }"] {
        let (said, _) = said_of("s3cr3t7", seal, settings);
        assert!(!said.iter().any(|message| message.contains("own token")), "{settings}: {said:?}");
    }
}

#[test]
fn what_variables_put_into_settings_is_in_no_trace() {
    let (said, config) = said_of(
        "0123456789abcdef",
        "fedcba9876543210fedcba9876543210",
        "a = '${MYVAR}'\nb = ['x-${MYVAR}']\nc = '${TINY}'",
    );
    let secrets = config.unwrap_or_else(|| panic!("{said:?}")).secrets;
    assert!(secrets.iter().any(|secret| secret.expose() == "opaque-but-long"));
    assert!(!secrets.iter().any(|secret| secret.expose() == "abc"), "such a short text may stand anywhere");
}

#[test]
fn a_text_in_base64_is_not_told_where_a_variable_is_named() {
    for (name, told) in [
        ("cGFzc3dvcmQtaW4tYmFzZTY0XQ==", "this can't be the name"),
        ("cGFzc3dvcmQtaW4tYmFzZTY0XQ=", "this can't be the name"),
        ("cGFz/c3dvcmQtaW4tYmFzZTY0XQ", "this can't be the name"),
        ("${PADDED}", "this can't be the name"),
        ("FOO=cGFzc3dvcmQ", "`FOO=…` can't be the name"),
    ] {
        let text = format!("version = 1\n[plugins.a]\nsource = 'a.wasm'\nallow.env = ['{name}']\n");
        let held = [("HOME", "/srv"), ("PADDED", "cGFzc3dvcmQtaW4tYmFzZTY0XQ==")];
        let held: BTreeMap<String, String> =
            held.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let loaded = from_text(Path::new("/etc/gateway.toml"), text, &held);
        let said = render(&loaded.problems, &loaded.source, Style::Plain);
        assert!(said.contains(told) && !said.contains("cGFz"), "{said}");
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
