//! Tests of redaction, and that spans stay valid.

use std::collections::BTreeMap;
use std::path::Path;

use super::*;
use crate::read::secret_detection::is_secret_value;
use crate::{Config, LoadedConfig, RenderStyle, parse_config, render_diagnostics, resolved_config};

fn load(text: String, variables: &[(&str, &str)]) -> LoadedConfig {
    let variables = variables.iter().chain(&[("HOME", "/srv")]);
    let variables: BTreeMap<String, String> =
        variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    parse_config(Path::new("/etc/gateway.toml"), text, &variables)
}

#[test]
fn recognises_names_of_secrets() {
    for name in [
        "token",
        "CI_TOKEN",
        "API-KEY",
        "authToken",
        "TOKENS",
        "a.token.b",
        "tokenValue",
        "apikey",
        "x-key",
        "PGPASSWORD",
        "DBPassword",
        "APIToken",
        "accesstoken",
        "clientsecret",
        "secretkey",
        "TOKEN2",
        "sessioncookie",
        "passwordhash",
    ] {
        assert!(is_secret_name(name), "{name}");
    }
    for name in [
        "tokenizer",
        "TOKENIZER",
        "Secretary",
        "max_tokens",
        "TOKEN_FILE",
        "cookiecutter",
        "spoken_at",
        "keep",
    ] {
        assert!(!is_secret_name(name), "{name}");
    }
}

#[test]
fn recognises_credentials_in_strings() {
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
        assert!(contains_secret(text), "{text}");
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
        assert!(!contains_secret(text), "{text}");
    }
    assert!(is_secret_value("a.token", "x") && !is_secret_value("a.token", "${API_TOKEN}"));
}

#[test]
fn masks_secrets_settings_unknown_keys_and_comments() {
    for (text, shown) in [
        ("gateway.sealing_key = \"abc\"", "gateway.sealing_key = \"***\""),
        ("http.auth = 'abc' # why", "http.auth = '***' # ***"),
        ("http.auth.tokens = [\"abc\", 12]", "http.auth.tokens = [\"***\", **]"),
        (
            "http.auth.tokens = [{ name = \"ci\", token = \"é\" }]",
            "http.auth.tokens = [{ name = \"ci\", token = \"**\" }]",
        ),
        (
            "[plugins.a.config]\nzone = 'Rome'\npin = 12\non = true",
            "[plugins.a.config]\nzone = '****'\npin = **\non = true",
        ),
        ("[plugins.a]\napi_key = '''a\nb'''", "[plugins.a]\napi_key = '''*\n*'''"),
        ("[plugins.a]\nenv = { FOO = \"abc\" }", "[plugins.a]\nenv = { FOO = \"***\" }"),
        ("[plugins.a]\nsource = 'https://a:b@c'", "[plugins.a]\nsource = '*****:***:***'"),
        (
            "[plugins.a.config]\ntoken = { value = \"abc\" }",
            "[plugins.a.config]\ntoken = { value = \"***\" }",
        ),
        ("http.listen = \"a # b\" # token = \"c\"", "http.listen = \"a # b\" # ***** = \"*\""),
    ] {
        let parsed = DeTable::parse(text).unwrap();
        let (redacted, _) = redact(text, parsed.get_ref(), &[]);
        assert_eq!(redacted, shown, "{text}");
        assert_eq!(redacted.len(), text.len(), "spans move: {text}");
    }
}

#[test]
fn shows_own_values_and_references_to_secrets() {
    for text in [
        "http.listen = \"127.0.0.1:1\"\ngateway.concurrency = 5",
        "http.auth.tokens = [{ name = \"ci\", token = { env = \"CI_TOKEN\" } }]",
        "gateway.sealing_key = \"${KEY}\"",
        "[plugins.token]\nsource = \"a.wasm\"\nsorce = \"b\"",
        "[plugins.a.config]\ntoken = { file = \"a/b\" }\nurl = \"${URL}\"",
        "[[plugins.a.allow.credentials]]\norigin = \"https://a.example\"\nheaders.x = { env = \"A\", prefix = \"Bearer \" }",
        "[plugins.a.tools.rename]\nget_token = \"token\"",
        "",
    ] {
        let parsed = DeTable::parse(text).unwrap();
        assert_eq!(redact(text, parsed.get_ref(), &[]).0, text);
    }
}

#[test]
fn shows_only_keys_headers_and_punctuation_of_invalid_toml() {
    for (text, shown) in [
        ("[http]\nlisten = \"a.b", "[http]\nlisten = \"***"),
        ("[plugins.a-b] # why", "[plugins.a-b] # ***"),
        ("tokens = [{ name = \"ci\", token == \"x\" }]", "tokens = [{ **** = \"**\", ***** == \"*\" }]"),
        ("source = “a”", "source = “*”"),
        ("c2VjcmV0MQ==", "**********=="),
        ("pass word\nuser: \"x\"", "**** ****\n****: \"*\""),
        ("[secret", "[******"),
        ("sha256 = 1", "sha256 = *"),
    ] {
        assert_eq!(redact_invalid(text), shown);
        assert_eq!(redact_invalid(text).len(), text.len(), "spans move: {text}");
    }
}

#[test]
fn removes_masked_values_from_messages() {
    let text = "a = 1\ntoken = \"hunter2\"\nb = 2";
    let masked = 14..23;
    let masked = std::slice::from_ref(&masked);
    let problem = |at| Diagnostic::error("`hunter2` is wrong").with_hint("not hunter2").with_span(at);
    let scrubbed = scrub(problem(6..11), text, masked);
    assert_eq!((scrubbed.message.as_str(), scrubbed.hint.as_deref()), ("`…` is wrong", Some("not …")));
    assert_eq!(scrub(problem(0..1), text, masked), problem(0..1));
}

#[test]
fn excerpts_resolved_files_and_traces_hide_the_same() {
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
        let loaded = load(text, &[]);
        let rendered = render_diagnostics(&loaded.problems, &loaded.source, RenderStyle::Plain);
        let environment = BTreeMap::<String, String>::new();
        let resolved = resolved_config(&loaded, &environment).unwrap_or_else(|| panic!("{rendered}"));
        let all = format!("{rendered}{}{resolved}", loaded.source.text);
        assert!(!all.contains("W7kq") && !all.contains("73519"), "{line}:\n{all}");
        let traced = loaded.config.unwrap().secrets;
        assert!(traced.iter().any(|its| its.expose() == secret), "{line}: {traced:?}");
    }
}

/// The messages and the configuration for a plugin's settings and these secrets of the gateway.
fn load_settings(token: &str, seal: &str, settings: &str) -> (Vec<String>, Option<Config>) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ui/config/files/time.wasm");
    let text = format!(
        "version = 1\n[gateway]\nsealing_key = {{ env = 'SEAL' }}\n[http.auth]\n\
         tokens = [{{ name = 'ci', token = {{ env = 'TOK' }} }}]\n[plugins.a]\nsource = {source:?}\n\
         [plugins.a.config]\n{settings}\n"
    );
    let variables = [("TOK", token), ("SEAL", seal), ("MYVAR", "opaque-but-long"), ("TINY", "abc")];
    let loaded = load(text, &variables);
    (loaded.problems.into_iter().map(|problem| problem.message).collect(), loaded.config)
}

#[test]
fn rejects_settings_that_disclose_own_secrets_even_within_json() {
    let seal = "seal\"with\\quotes\"0123456789abcdef";
    for (token, settings, expected) in [
        ("abc\"def\\ghi1234567890", "a = { inner = \"${TOK}\" }", "own token `ci`"),
        ("abc\"def\\ghi1234567890", "a = [[{ b = [\"x ${TOK} y\"] }]]", "own token `ci`"),
        ("abc\"def\\ghi1234567890", "a = \"${TOK}\"", "own token `ci`"),
        ("0123456789abcdef", "a = '[\"\\u0073eal\\\"with\\\\quotes\\\"0123456789abcdef\"]'", "sealing key"),
        ("0123456789abcdef", "b = [\"${SEAL}\"]", "sealing key"),
        ("s3cr3t7", "a = \"Bearer ${TOK}\"", "own token `ci`"),
        ("s3cr3t7", "a = { b = \"Bearer ${TOK}\" }", "own token `ci`"),
        ("1234567", "a = [1234567]", "own token `ci`"),
    ] {
        let (messages, _) = load_settings(token, seal, settings);
        assert!(messages.iter().any(|message| message.contains(expected)), "{settings}: {messages:?}");
    }
    for settings in ["a = \"s3cr3t77\"", "a = [\"xs3cr3t7\"]", "a = { b = \"${MYVAR}\" }"] {
        let (messages, _) = load_settings("s3cr3t7", seal, settings);
        assert!(!messages.iter().any(|message| message.contains("own token")), "{settings}: {messages:?}");
    }
}

#[test]
fn traces_redact_variables_in_settings() {
    let (messages, config) = load_settings(
        "0123456789abcdef",
        "fedcba9876543210fedcba9876543210",
        "a = '${MYVAR}'\nb = ['x-${MYVAR}']\nc = '${TINY}'",
    );
    let secrets = config.unwrap_or_else(|| panic!("{messages:?}")).secrets;
    assert!(secrets.iter().any(|secret| secret.expose() == "opaque-but-long"));
    assert!(!secrets.iter().any(|secret| secret.expose() == "abc"), "a short value can occur by chance");
}

#[test]
fn hides_values_in_the_place_of_variable_names() {
    for name in [
        "cGFzc3dvcmQtaW4tYmFzZTY0XQ==",
        "cGFzc3dvcmQtaW4tYmFzZTY0XQ=",
        "cGFz/c3dvcmQtaW4tYmFzZTY0XQ",
        "${PADDED}",
        "FOO=cGFzc3dvcmQ",
    ] {
        let text = format!("version = 1\n[plugins.a]\nsource = 'a.wasm'\nallow.env = ['{name}']\n");
        let loaded = load(text, &[("PADDED", "cGFzc3dvcmQtaW4tYmFzZTY0XQ==")]);
        let rendered = render_diagnostics(&loaded.problems, &loaded.source, RenderStyle::Plain);
        assert!(rendered.contains("invalid name of an environment variable"), "{rendered}");
        assert!(!rendered.contains("cGFz"), "{rendered}");
    }
}
