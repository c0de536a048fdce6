//! Tests that suggested limits are valid, suffice, and are the defaults if those suffice.

use super::*;
use crate::spec::keys::{LIMITS, ValueKind};
use crate::{ProcessEnvironment, parse_config};

/// The limits of a plugin with this line in its `limits`.
fn read(line: &str) -> Limits {
    let text = format!("version = 1\n[plugins.p]\nsource = \"p.wasm\"\n[plugins.p.limits]\n{line}\n");
    let loaded = parse_config(std::path::Path::new("/nowhere/gateway.toml"), text, &ProcessEnvironment);
    let config = loaded.config.unwrap_or_else(|| panic!("{line}: {:?}", loaded.problems));
    config.plugins[0].limits.clone()
}

#[test]
fn limit_keys_match_the_key_table() {
    for limit in LimitKey::ALL {
        let (name, unit, max) = limit.spec();
        let kind = LIMITS.iter().find(|key| key.name == name).unwrap().kind;
        let expected = match kind {
            ValueKind::Size(number) => (LimitUnit::Bytes, number.max),
            ValueKind::Duration(number) => (LimitUnit::Milliseconds, number.max * 1000),
            ValueKind::Integer(number) => (LimitUnit::Items, number.max),
            _ => panic!("{name} isn't a number"),
        };
        assert_eq!((unit, max), expected, "{name}");
    }
}

#[test]
fn suggested_limits_are_valid_and_suffice() {
    for key in LimitKey::ALL {
        for wanted in [1, 99, 1001, 60_001, 70 << 20] {
            let Some(value) = key.suggest_value(wanted) else { continue };
            let limits = read(&format!("{} = {value}", key.as_str()));
            let (_, amount) = unit_and_amount(&limits.value_as_toml(key.as_str()).unwrap()).unwrap();
            assert!(amount >= wanted, "{key:?}: {value} for {wanted}");
        }
        assert_eq!(key.suggest_value(u64::MAX), None, "{key:?}");
    }
}

#[test]
fn suggests_the_default_if_it_suffices() {
    for (key, wanted, value) in [
        (LimitKey::Memory, 1_114_112, "\"64MiB\""),
        (LimitKey::Memory, 70 << 20, "\"128MiB\""),
        (LimitKey::Items, 1_001, "2000"),
        (LimitKey::SchemaDepth, 95, "100"),
        (LimitKey::CompileTime, 30_001, "\"40s\""),
    ] {
        assert_eq!(key.suggest_value(wanted).as_deref(), Some(value), "{key:?}");
    }
    let mut limits = Limits { describe_timeout: Duration::from_millis(1), ..Limits::default() };
    assert_eq!(limits.suggest_higher(LimitKey::DescribeTimeout).unwrap(), "\"10s\"");
    limits.describe_timeout = Duration::from_secs(10);
    assert_eq!(limits.suggest_higher(LimitKey::DescribeTimeout).unwrap(), "\"20s\"");
}

#[test]
fn raises_any_limit_to_a_valid_value() {
    assert_eq!(read("read = \"0B\"").suggest_higher_for_key("read"), Limits::default().value_as_toml("read"));
    assert_eq!(read("timeout = \"30s\"").suggest_higher_for_key("timeout").as_deref(), Some("\"40s\""));
    assert_eq!(Limits::default().suggest_higher_for_key("nothing"), None);
    let defaults = Limits::default();
    for key in LIMITS {
        let Some(more) = defaults.suggest_higher_for_key(key.name) else { continue };
        let raised = read(&format!("{} = {more}", key.name)).value_as_toml(key.name);
        assert!(raised.is_some() && raised != defaults.value_as_toml(key.name), "{}: {more}", key.name);
    }
}
