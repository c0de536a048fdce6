//! Properties that hold for all parameters and cursors (2025-11-25, basic and server/utilities/pagination; 2026-07-28,
//! basic), as plain functions for the seeded tests and for fuzzers.

use jsonschema::json::Node as _;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json::{self, JsonPart};
use crate::tape::JsonTape;

use super::envelope::{RequestEnvelope, is_stateless_claim};
use super::lists::{read_cursor, write_cursor};
use super::{InitializeParams, NotificationPrefs, Params, ProtocolError, Revision, SealingKey};

/// The longest error message, in bytes.
const MAX_ERROR_MESSAGE_BYTES: usize = 2_000;

/// Reads `bytes` as the parameters of every method. The text that is passed on equals the value that was checked, and
/// errors are short and name their location.
///
/// # Panics
/// The property is violated.
pub fn fuzz_params(bytes: &[u8]) {
    let Ok(raw) = serde_json::from_slice::<&RawValue>(bytes) else { return };
    let part = JsonPart::accept(raw.get()).unwrap_or(raw.into());
    let params = match Params::read(Some(part)) {
        Ok(params) => params,
        Err(error) => return check_error(&error),
    };
    assert!(json::parse_strict(raw.get()).is_ok(), "a duplicate key");
    let parsed: Value = serde_json::from_str(raw.get()).expect("it was checked");
    let tape = JsonTape::read(params.text()).expect("it is short");
    assert!(tape.root().equals_value(&parsed), "the tape has another value");
    for key in ["arguments", "_meta", "inputResponses", "requestState"] {
        let text = params.get(key).and_then(|text| serde_json::from_str::<Value>(text).ok());
        assert_eq!(text.as_ref(), parsed.get(key), "`{key}` is another value");
    }
    if let Some(meta) = params.meta_text() {
        assert!(meta.is_object() && !meta.get().contains(['\n', '\r']), "one object on one line");
    }
    let _ = NotificationPrefs::read(&params, None).is_empty();
    let strings = Params::strings(params.get("arguments"), "/arguments");
    strings.err().iter().for_each(check_error);
    params.level().err().iter().for_each(check_error);
    InitializeParams::read(&params).err().iter().for_each(check_error);
    match RequestEnvelope::read(&params) {
        Ok(envelope) => {
            assert!(is_stateless_claim(&params) && Revision::STATELESS.contains(&envelope.revision));
        }
        Err(error) => check_error(&error),
    }
}

fn check_error(error: &ProtocolError) {
    assert!(error.error.message.len() <= MAX_ERROR_MESSAGE_BYTES, "{}", error.error.message);
    assert!(error.error.data.is_some(), "the error doesn't name its location: {}", error.error.message);
}

/// Opens `bytes` as a cursor, and seals it as one. Nothing opens that wasn't sealed, was sealed for another list, or
/// was changed.
///
/// # Panics
/// The property is violated.
pub fn fuzz_cursor(bytes: &[u8]) {
    let key = SealingKey::shared("fuzz");
    let text = String::from_utf8_lossy(bytes);
    assert_eq!(read_cursor(&key, "cursor of tools", &text), None, "a forged cursor was opened");
    let Ok(sealed) = write_cursor(&key, "cursor of tools", &text) else { return };
    assert_eq!(
        read_cursor(&key, "cursor of tools", &sealed).as_deref(),
        Some(&*text),
        "the cursor opens to the sealed key"
    );
    assert_eq!(
        read_cursor(&key, "cursor of prompts", &sealed),
        None,
        "the cursor is valid for this list only"
    );
    assert_eq!(
        read_cursor(&SealingKey::shared("other"), "cursor of tools", &sealed),
        None,
        "with this key only"
    );
    // The bytes choose one place; the fuzzer chooses the bytes.
    let at =
        bytes.iter().fold(bytes.len(), |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(*byte)))
            % sealed.len();
    let mut changed = sealed.clone().into_bytes();
    changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
    let changed = String::from_utf8(changed).expect("one ASCII character took another's place");
    assert_eq!(read_cursor(&key, "cursor of tools", &changed), None, "it was changed at {at}");
    assert_eq!(read_cursor(&key, "cursor of tools", &sealed[..at]), None, "it was cut at {at}");
}
