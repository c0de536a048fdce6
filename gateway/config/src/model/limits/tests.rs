//! Tests of limits as TOML.

use super::*;
use crate::spec::keys::LIMITS;

#[test]
fn default_limits_match_the_key_table() {
    let written = Limits::default().to_toml();
    assert_eq!(written.len(), LIMITS.len());
    for ((key, value), known) in written.iter().zip(LIMITS) {
        assert_eq!((*key, value.as_str()), (known.name, known.default.unwrap_or_default()));
    }
    assert_eq!(Limits::default().non_default(), []);
}

#[test]
fn changed_limits_are_listed_as_toml() {
    let limits = Limits {
        timeout: Duration::from_millis(1_500),
        memory: ByteSize::b(4097),
        reuse_memory: Some(ByteSize::mib(3)),
        ..Limits::default()
    };
    let expected = [("timeout", "\"1s 500ms\""), ("memory", "\"4097B\""), ("reuse_memory", "\"3MiB\"")];
    assert_eq!(limits.non_default(), expected.map(|(key, value)| (key, value.to_owned())));
    assert_eq!(limits.value_as_toml("compile_time"), None);
    assert_eq!(limits.value_as_toml("queue").as_deref(), Some("256"));
}
