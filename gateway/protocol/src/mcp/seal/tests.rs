//! Tests that only text sealed with the same key and purpose opens.

use super::*;

#[test]
fn opens_with_the_same_key_and_purpose_only() {
    let key = SealingKey::shared("one");
    let sealed = key.seal("a", b"text").unwrap();
    assert_eq!(key.open("a", &sealed).unwrap(), b"text");
    assert_eq!(SealingKey::shared("one").open("a", &sealed).unwrap(), b"text", "another gateway opens it");
    assert_eq!(key.open("b", &sealed), None, "the purpose differs");
    assert_eq!(SealingKey::shared("two").open("a", &sealed), None);
    assert_eq!(SealingKey::random().unwrap().open("a", &sealed), None);
    assert_ne!(sealed, key.seal("a", b"text").unwrap(), "equal texts must not have equal seals");
}

#[test]
fn rejects_any_change_to_sealed_text() {
    let key = SealingKey::random().unwrap();
    for text in
        [&b""[..], b"a", b"a longer text, of more than one block of the cipher, so that all of it is tried"]
    {
        let sealed = key.seal("a", text).unwrap();
        for at in 0..sealed.len() {
            for other in ["A", "B", "_", "=", "", "é"] {
                let mut changed = sealed.clone();
                changed.replace_range(at..=at, other);
                assert!(changed == sealed || key.open("a", &changed).is_none(), "{at}: {changed}");
            }
            assert_eq!(key.open("a", &sealed[..at]), None, "{at}");
        }
        assert_eq!(key.open("a", &format!("{sealed}AAAA")), None);
    }
}

#[test]
fn debug_output_hides_the_key() {
    assert_eq!(format!("{:?}", SealingKey::shared("hush")), "<sealing key>");
}
