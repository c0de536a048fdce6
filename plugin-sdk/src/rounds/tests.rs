//! The state of a call can be read back, and other bytes are ignored.

use super::RoundState;

fn kept(once: &[(&str, &str)], own: Option<&[u8]>) -> RoundState {
    let once = once.iter().map(|(key, json)| ((*key).to_owned(), (*json).to_owned()));
    RoundState { once: once.collect(), own: own.map(<[u8]>::to_vec) }
}

#[test]
fn round_trips() {
    for state in [
        kept(&[], Some(b"mine")),
        kept(&[("a", "[1,null]"), ("", "\"ü\"")], None),
        kept(&[("a", "{}")], Some(&[0, 255])),
    ] {
        assert_eq!(RoundState::read(&state.write().unwrap()), Some(state));
    }
    assert_eq!(kept(&[], None).write(), None);
}

#[test]
fn ignores_other_bytes() {
    for bytes in [
        &b""[..],
        b"abc",
        b"\xff\xff\xff\xff{}",
        b"\x01\0\0\0\x09\0\0\0a",
        b"\x01\0\0\0\x01\0\0\0\xff\0\0\0\0",
    ] {
        assert_eq!(RoundState::read(bytes), None, "{bytes:?}");
    }
}
