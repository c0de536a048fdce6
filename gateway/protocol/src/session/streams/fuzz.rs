//! What must hold for any text as the name of an event: a plain function, for the seeded loop in the tests and for
//! fuzzers.

use super::id::EventId;

/// Reads `bytes` as the name of an event: it is exactly what would be written, or no name at all.
///
/// # Panics
/// That doesn't hold.
pub fn fuzz_event_id(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(id) = EventId::parse(&text) {
        assert_eq!(id.to_string(), text, "two names for one event");
        assert_eq!(EventId::parse(&id.to_string()), Some(id));
        assert!(text.bytes().all(|byte| byte.is_ascii_graphic()), "it can't stand in a header");
    }
}
