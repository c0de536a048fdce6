//! What is written reads as what it was.

use super::*;
use crate::config::spec::keys::LIMITS;

#[test]
fn every_limit_has_its_key_and_the_usual_ones_their_default() {
    let written = Limits::default().written();
    assert_eq!(written.len(), LIMITS.len());
    for ((key, value), known) in written.iter().zip(LIMITS) {
        assert_eq!((*key, value.as_str()), (known.name, known.default.unwrap_or_default()));
    }
    assert_eq!(Limits::default().changed(), []);
}

#[test]
fn what_differs_is_told_in_the_words_of_the_file() {
    let limits = Limits {
        timeout: Duration::from_millis(1_500),
        memory: ByteSize::b(4097),
        reuse_memory: Some(ByteSize::mib(3)),
        ..Limits::default()
    };
    let told = [("timeout", "\"1s 500ms\""), ("memory", "\"4097B\""), ("reuse_memory", "\"3MiB\"")];
    assert_eq!(limits.changed(), told.map(|(key, value)| (key, value.to_owned())));
    assert_eq!(limits.value("compile_time"), None);
    assert_eq!(limits.value("queue").as_deref(), Some("256"));
}
