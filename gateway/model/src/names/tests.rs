//! Tests of valid and invalid names.

use super::*;

#[test]
fn joins_prefix_and_name() {
    assert_eq!(PublicName::join("time", "convert_time").unwrap().as_str(), "time_convert_time");
    assert_eq!(PublicName::join("", "convert_time").unwrap().as_str(), "convert_time");
    assert!(PublicName::join("a", &"b".repeat(62)).is_ok());
    let error = PublicName::join("a", &"b".repeat(63)).unwrap_err();
    assert!(matches!(error, NameError::TooLong { length: 65, most: 64, .. }), "{error}");
}

#[test]
fn rejects_names_that_hosts_reject() {
    assert_eq!(ToolName::new(""), Err(NameError::Empty));
    for bad in ["a.b", "a b", "ä", "a/b", "a\u{0}"] {
        assert!(matches!(ToolName::new(bad), Err(NameError::BadCharacter { .. })), "{bad:?}");
    }
}

#[test]
fn name_errors_escape_control_characters() {
    let message = ToolName::new("a\u{1b}[31m\u{202e}").unwrap_err().to_string();
    assert!(!message.contains('\u{1b}') && !message.contains('\u{202e}'), "{message:?}");
}

#[test]
fn rejects_relative_uris() {
    for good in ["test://a", "file:///x%20y", "urn:isbn:1", "http://[::1]:80/a?b#c", "x:%C3%a9"] {
        assert!(ResourceUri::new(good).is_ok(), "{good}");
    }
    for bad in [
        "x:a\u{202e}b",
        "x:a\u{200b}",
        "x:\u{e0041}",
        "",
        "a",
        "://x",
        "test:",
        "1a:b",
        "test://a b",
        "test://a\nb",
        "/etc/passwd",
        "ui://x/{y}",
        "test://\u{e9}",
        "test://a/[b]",
        "test://a/%zz",
        "test://a/%4",
    ] {
        assert!(ResourceUri::new(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn digests_round_trip() {
    let digest = Digest::of(b"abc");
    assert_eq!(digest.to_string(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_eq!(digest.to_string().parse::<Digest>().unwrap(), digest);
    for bad in ["", "ba78", &"g".repeat(64), &"+1".repeat(32), &"é".repeat(32)] {
        assert!(bad.parse::<Digest>().is_err(), "{bad}");
    }
}
