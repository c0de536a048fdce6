//! Tests of client capabilities and error messages.

use std::time::Duration;

use super::*;

#[test]
fn finds_capabilities_by_path() {
    let declared = r#"{"elicitation":{},"sampling":{"tools":{}},"roots":{"listChanged":false},"extensions":{"com.example/x":{}}}"#;
    let client = Capabilities::new(Json::parse(declared).unwrap());
    for (name, there) in [
        ("elicitation", true),
        ("elicitation.form", true),
        ("elicitation.url", false),
        ("sampling", true),
        ("sampling.tools", true),
        ("sampling.context", false),
        ("roots", true),
        ("roots.listChanged", false),
        ("extensions.com.example/x", true),
        ("extensions.com.example/y", false),
        ("", false),
    ] {
        assert_eq!(client.has(name), there, "{name}");
    }
    assert!(!Capabilities::default().has("roots"));
    let url_only = Capabilities::new(Json::parse(r#"{"elicitation":{"url":{}}}"#).unwrap());
    assert!(url_only.has("elicitation.url") && !url_only.has("elicitation.form"));
}

#[test]
fn limit_error_names_value_and_key() {
    let memory = CallError::Memory(64 << 20);
    assert_eq!(memory.to_string(), "exceeded the memory limit of 64.0 MiB");
    assert_eq!(memory.config_key(), Some("memory"));
    assert_eq!(
        CallError::Timeout(Duration::from_millis(1500)).to_string(),
        "exceeded the time limit of 1s 500ms"
    );
}

#[test]
fn finds_meta_members_by_key() {
    let mut context = CallContext::internal(Caller::Local);
    context.meta = Some(Json::parse(r#"{"progressToken":7,"com.example/a":{"b":1}}"#).unwrap());
    assert_eq!(context.meta_value("com.example/a").unwrap().get(), r#"{"b":1}"#);
    assert_eq!(context.meta_value("nope"), None);
}

#[test]
fn log_levels_round_trip() {
    assert_eq!(LogLevel::from_name("warning"), Some(LogLevel::Warning));
    assert_eq!(LogLevel::from_name("warn"), None);
    assert!(LogLevel::Debug < LogLevel::Emergency);
}
