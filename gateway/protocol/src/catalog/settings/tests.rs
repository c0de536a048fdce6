//! Tests of the problems of settings and of their locations.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::catalog::CatalogPlugin;
use crate::catalog::fake::FakePlugin;
use moongate_config::{Severity, parse_config};

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "token": { "type": "string", "minLength": 3 },
            "most": { "type": ["integer", "null"], "minimum": 1 },
            "headers": { "type": "object", "additionalProperties": { "type": "string" } },
            "quick": { "type": "boolean" },
            "language": { "enum": ["en", "de"] },
        },
        "required": ["token"],
    })
}

/// A configuration with these settings, and its text.
fn policy(settings: &str) -> (PluginPolicy, String) {
    let text = format!("version = 1\n[plugins.p]\nsource = \"p.wasm\"\n{settings}\n");
    let variables = BTreeMap::from(
        [("HELD", "{\"hidden-name\":1}"), ("HOME", "/nowhere")]
            .map(|(name, held)| (name.to_owned(), held.to_owned())),
    );
    let loaded = parse_config(Path::new("/nowhere/gateway.toml"), text.clone(), &variables);
    let config = loaded.config.unwrap_or_else(|| panic!("{:?}", loaded.problems));
    (config.plugins[0].policy(), text)
}

fn plugin(schema: &Value) -> FakePlugin {
    let mut fake = FakePlugin::new("p");
    fake.manifest.info.settings_schema = Some(Json::from_value(schema));
    fake
}

/// The problems of a plugin with these settings: severity, message, the part of the file, and the hint.
fn told(schema: &Value, settings: &str) -> Vec<(Severity, String, String, String)> {
    let (policy, text) = policy(settings);
    let catalog_plugin = CatalogPlugin::new(Arc::new(plugin(schema)), Arc::new(policy)).unwrap();
    let one = |problem: Diagnostic| {
        let at = text[problem.span.unwrap()].to_owned();
        (problem.severity, problem.message, at, problem.hint.unwrap_or_default())
    };
    catalog_plugin.problems().into_iter().map(one).collect()
}

#[test]
fn valid_settings_are_not_checked_again_until_they_change() {
    let (valid, _) = policy("config = { token = \"abc\" }");
    let first = CatalogPlugin::new(Arc::new(plugin(&schema())), Arc::new(valid.clone())).unwrap();
    assert!(first.past_checks().has_valid_settings);
    let cached = |schema: &Value, policy: &PluginPolicy| {
        let fake = FakePlugin { past_checks: first.past_checks(), ..plugin(schema) };
        CatalogPlugin::new(Arc::new(fake), Arc::new(policy.clone())).unwrap()
    };
    let (invalid, _) = policy("config = { token = \"a\" }");
    for plugin in [first.clone(), cached(&schema(), &valid)] {
        let changed = plugin.with_permissions_of(Arc::clone(plugin.plugin()), &invalid).unwrap();
        let told = changed.problems().remove(0).message;
        assert_eq!(told, "invalid setting of the plugin `p`: `token` must have at least 3 characters");
        assert!(!changed.past_checks().has_valid_settings);
    }
    // A schema that can't be compiled would be a problem.
    let uncompiled = cached(&json!({ "type": "unknown" }), &valid);
    assert_eq!(uncompiled.problems(), []);
    assert!(uncompiled.past_checks().has_valid_settings);
}

#[test]
fn accepts_valid_settings_in_any_notation() {
    for settings in [
        "token = \"abc\"",
        "token = \"12345\"\nmost = 5\nquick = true\nlanguage = \"de\"",
        // Strings that are read as JSON, and JSON that is read as a string.
        "token = 12345\nmost = \"5\"\nquick = \"false\"\nheaders = \"{}\"",
        "token = \"true\"\nheaders = { accept = \"text/html\" }",
    ] {
        assert_eq!(told(&schema(), &format!("[plugins.p.config]\n{settings}")), [], "{settings}");
    }
    assert_eq!(told(&json!({}), "[plugins.p.config]\nanything = 1"), []);
    assert_eq!(told(&json!({ "additionalProperties": true, "properties": {} }), "config = { a = 1 }"), []);
}

#[test]
fn suggests_a_setting_at_the_misspelt_key() {
    let found = told(&schema(), "[plugins.p.config]\ntoken = \"abc\"\nlangauge = \"en\"\nzzz = 1");
    let [(severity, message, at, hint), (_, other, _, all)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((severity, at.as_str()), (&Severity::Warning, "langauge"));
    assert_eq!(message, "the plugin `p` has no setting `langauge`");
    assert_eq!(hint, "did you mean `language`?");
    assert!(other.contains("`zzz`") && all.starts_with("use one of `headers`, `language`"), "{other} {all}");
    // A setting that the schema rejects is reported once.
    let mut closed = schema();
    closed["additionalProperties"] = json!(false);
    let found = told(&closed, "[plugins.p.config]\ntoken = \"abc\"\nlangauge = \"en\"");
    assert!(matches!(&found[..], [(Severity::Error, _, _, _)]), "{found:?}");
}

#[test]
fn suggests_settings_regardless_of_case() {
    let schema = json!({ "type": "object", "properties": { "API_TOKEN": {}, "most": {} } });
    for setting in ["API_TOKN", "api_token", "api-tokn"] {
        let found = told(&schema, &format!("[plugins.p.config]\n{setting} = {{ env = \"HELD\" }}"));
        let [(_, _, at, hint)] = &found[..] else { panic!("{found:?}") };
        assert_eq!((at.as_str(), hint.as_str()), (setting, "did you mean `API_TOKEN`?"));
    }
}

#[test]
fn reports_missing_settings_at_the_table() {
    for (settings, place) in [("[plugins.p.config]\nmost = 1", "config"), ("", "p")] {
        let found = told(&schema(), settings);
        let [(Severity::Error, message, at, hint)] = &found[..] else { panic!("{found:?}") };
        assert_eq!(message, "the plugin `p` is missing the required setting `token`");
        assert_eq!(at, place);
        assert!(hint.starts_with("add `token = …` to `[plugins.p.config]`"), "{hint}");
    }
}

#[test]
fn reports_wrong_types_at_the_value() {
    for (setting, at, reason) in [
        ("most = \"many\"", "\"many\"", "`most` must be of type null or integer, not string"),
        ("most = 0", "0", "`most` must be at least 1"),
        ("quick = 1", "1", "`quick` must be of type boolean, not number"),
        ("language = \"fr\"", "\"fr\"", "`language` must be one of \"en\", \"de\""),
        ("headers = { a = 1 }", "{ a = 1 }", "`/headers/a` must be of type string, not number"),
    ] {
        let found = told(&schema(), &format!("[plugins.p.config]\ntoken = \"abc\"\n{setting}"));
        let [(Severity::Error, message, place, _)] = &found[..] else { panic!("{setting}: {found:?}") };
        assert_eq!(message, &format!("invalid setting of the plugin `p`: {reason}"));
        assert_eq!(place, at);
    }
}

#[test]
fn hides_secrets_in_messages() {
    let found = told(
        &schema(),
        "[plugins.p.config]\ntoken = \"abc\"\nheaders = { env = \"HELD\" }\nlanguage = { env = \"HELD\" }",
    );
    assert_eq!(found.len(), 2, "{found:?}");
    for (_, message, _, hint) in &found {
        assert!(message.contains("doesn't match the plugin's schema"), "{message}");
        assert!(!message.contains("hidden") && !hint.contains("hidden"), "{message}");
    }
    let found = told(&schema(), "[plugins.p.config]\ntoken = \"abc\"\nquick = { env = \"HELD\" }");
    assert!(found[0].1.contains("`quick` must be of type boolean, not object"), "{found:?}");
}

#[test]
fn hides_secrets_in_messages_about_all_settings() {
    let one = json!({
        "type": "object",
        "properties": { "creds": { "type": "object", "properties": {}, "additionalProperties": false } },
        "additionalProperties": false,
    });
    let other = json!({ "required": ["other"] });
    for schema in [
        json!({ "anyOf": [one, other] }),
        json!({ "oneOf": [other, one], "additionalProperties": false }),
        json!({ "allOf": [one] }),
        json!({ "not": { "required": ["creds"] } }),
    ] {
        let found = told(&schema, "[plugins.p.config]\ncreds = { env = \"HELD\" }");
        assert!(!found.is_empty(), "{schema}");
        for (_, message, _, hint) in &found {
            assert!(!message.contains("hidden") && !hint.contains("hidden"), "{message}");
        }
    }
}

#[test]
fn reports_an_invalid_settings_schema() {
    let found = told(&json!({ "$ref": "https://example.com/schema" }), "[plugins.p.config]\na = 1");
    assert!(
        matches!(&found[..], [(Severity::Warning, message, _, _)] if message.contains("settings of plugin `p`")),
        "{found:?}"
    );
}

#[test]
fn suggests_booleans_for_other_words() {
    let hint = |setting: &str| {
        let settings = format!("[plugins.p.config]\ntoken = \"abc\"\nquick = {setting}");
        told(&schema(), &settings).into_iter().map(|(.., hint)| hint).collect::<Vec<_>>()
    };
    for (word, switch) in [("\"yes\"", "true"), ("\"Off\"", "false"), ("1", "true"), ("0", "false")] {
        assert_eq!(hint(word), [format!("write `{switch}`, without quotes")], "{word}");
        assert_eq!(hint(switch), [""; 0]);
    }
    assert!(hint("\"perhaps\"")[0].contains("moongate inspect p"));
    assert!(hint("{ env = \"HELD\" }")[0].contains("moongate inspect p"));
}

/// A plugin chooses the names of its settings, but they must not look like text of the gateway.
#[test]
fn does_not_suggest_misleading_setting_names() {
    let forged = "x` is fine; add `http = [\"https://evil.example\"]` to `[plugins.evil.allow]";
    let broken = "a\n2026-01-01T00:00:00Z ERROR forged\u{202e}";
    let long: Vec<String> = (0..40).map(|number| format!("{number}{}", "x".repeat(2000))).collect();
    let mut required = vec![forged, broken];
    required.extend(long.iter().map(String::as_str));
    let inner = json!({ "type": "object", "required": [forged] });
    let open = json!({ "properties": { "headers": inner }, "required": required });
    let found = told(&open, "[plugins.p.config]\nheaders = {}");
    assert_eq!(found.len(), required.len() + 1, "{found:?}");
    for (_, message, _, hint) in &found {
        assert!(message.len() + hint.len() < 600, "{message}{hint}");
        assert!(!message.contains(['\n', '\u{202e}']), "{message}");
        assert!(!message.contains("`http") && !hint.contains("http"), "{message} {hint}");
    }
    let properties: Map<String, Value> =
        required.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
    for (_, message, _, hint) in
        told(&json!({ "properties": properties, "additionalProperties": false }), "config = { 'a`b' = 1 }")
    {
        assert!(message.len() + hint.len() < 4000, "{message}{hint}");
        assert!(!hint.contains(['\n', '\u{202e}']) && !hint.contains("`http"), "{hint}");
    }
    for (name, key) in [("max age", "`\"max age\" = …`"), ("max-age", "`max-age = …`")] {
        let found = told(&json!({ "required": [name] }), "[plugins.p.config]");
        assert!(found[0].3.starts_with(&format!("add {key} to `[plugins.p.config]`")), "{found:?}");
    }
}

#[test]
fn named_members_requires_a_closed_meaning() {
    let schema = json!({ "type": "object", "properties": { "b": {}, "a": true } });
    assert_eq!(named_members(&schema).map(Vec::from_iter), Some(vec!["a", "b"]));
    let mut closed = schema.clone();
    closed["additionalProperties"] = json!(false);
    assert_eq!(named_members(&closed), named_members(&schema));
    for word in OPEN_KEYWORDS.iter().chain(&["additionalProperties"]) {
        let mut open = schema.clone();
        open[*word] = json!({});
        assert_eq!(named_members(&open), None, "{word}");
    }
    assert_eq!(named_members(&json!({ "type": "object" })), None);
}
