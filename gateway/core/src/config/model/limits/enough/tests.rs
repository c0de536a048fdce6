//! What is suggested can be written, is enough, and is the usual where that does.

use super::*;
use crate::config::{ProcessEnvironment, from_text};

/// The limits of a plugin whose table says so.
fn read(line: &str) -> Limits {
    let text = format!("version = 1\n[plugins.p]\nsource = \"p.wasm\"\n[plugins.p.limits]\n{line}\n");
    let loaded = from_text(std::path::Path::new("/nowhere/gateway.toml"), text, &ProcessEnvironment);
    let config = loaded.config.unwrap_or_else(|| panic!("{line}: {:?}", loaded.problems));
    config.plugins[0].limits.clone()
}

#[test]
fn what_is_suggested_can_be_written_and_is_enough() {
    for key in LimitKey::ALL {
        for wanted in [1, 99, 1001, 60_001, 70 << 20] {
            let Some(value) = key.with_room(wanted) else { continue };
            let limits = read(&format!("{} = {value}", key.as_str()));
            assert!(limits.amount(key).unwrap() >= wanted, "{key:?}: {value} for {wanted}");
        }
        assert_eq!(key.with_room(u64::MAX), None, "{key:?}");
    }
}

#[test]
fn the_usual_value_is_suggested_where_it_does() {
    for (key, wanted, value) in [
        (LimitKey::Memory, 1_114_112, "\"64MiB\""),
        (LimitKey::Memory, 70 << 20, "\"128MiB\""),
        (LimitKey::Items, 1_001, "2000"),
        (LimitKey::SchemaDepth, 95, "100"),
        (LimitKey::CompileTime, 30_001, "\"40s\""),
    ] {
        assert_eq!(key.with_room(wanted).as_deref(), Some(value), "{key:?}");
    }
    let mut limits = Limits { describe_timeout: Duration::from_millis(1), ..Limits::default() };
    assert_eq!(limits.more_than_now(LimitKey::DescribeTimeout).unwrap(), "\"10s\"");
    limits.describe_timeout = Duration::from_secs(10);
    assert_eq!(limits.more_than_now(LimitKey::DescribeTimeout).unwrap(), "\"20s\"");
}

#[test]
fn more_of_any_limit_is_the_usual_value_or_a_greater_one_that_can_be_written() {
    assert_eq!(read("read = \"0B\"").more_of("read"), Limits::default().value("read"));
    assert_eq!(read("timeout = \"30s\"").more_of("timeout").as_deref(), Some("\"40s\""));
    assert_eq!(Limits::default().more_of("nothing"), None);
    let usual = Limits::default();
    for key in keys::LIMITS {
        let Some(more) = usual.more_of(key.name) else { continue };
        let raised = read(&format!("{} = {more}", key.name)).value(key.name);
        assert!(raised.is_some() && raised != usual.value(key.name), "{}: {more}", key.name);
    }
}
