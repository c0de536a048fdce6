//! Properties of any text as an event id, as a function for the seeded tests and for fuzzers.

use super::id::EventId;

/// Reads `bytes` as an event id: it is valid only in the exact form in which it is written.
///
/// # Panics
/// The property doesn't hold.
pub fn fuzz_event_id(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(id) = EventId::parse(&text) {
        assert_eq!(id.to_string(), text, "two ids for one event");
        assert_eq!(EventId::parse(&id.to_string()), Some(id));
        assert!(text.bytes().all(|byte| byte.is_ascii_graphic()), "invalid in a header");
    }
}
