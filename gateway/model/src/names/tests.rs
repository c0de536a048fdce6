//! Tests of valid and invalid names.

use super::*;

/// The public name of a tool.
fn public(prefix: &str, name: &str) -> String {
    ToolName::new(name).unwrap().with_prefix(prefix).to_string()
}

#[test]
fn joins_prefix_and_name() {
    assert_eq!(public("time", "convert_time"), "time_convert_time");
    assert_eq!(public("", "convert_time"), "convert_time");
    assert_eq!(public("a", &"b".repeat(62)), format!("a_{}", "b".repeat(62)));
}

#[test]
fn public_names_are_ones_that_hosts_accept() {
    for (name, expected) in [
        ("admin.tools.list", "p_admin_tools_list"),
        ("Summarise thread", "p_Summarise_thread"),
        ("a/b:c", "p_a_b_c"),
        (".", "p__"),
        // Names in other scripts differ only in their digests.
        ("\u{e4}", "p___33e6d73f"),
        ("\u{691c}\u{7d22}", "p____1b6b1a6f"),
    ] {
        let found = public("p", name);
        assert!(PublicName::new(&found).is_ok(), "{found}");
        assert_eq!(found, expected);
    }
    let [long, other] = ["x", "y"].map(|last| format!("{}{last}", "a".repeat(127)));
    let shortened = public("p", &long);
    assert_eq!((shortened.len(), PublicName::new(&shortened).is_ok()), (64, true), "{shortened}");
    assert_eq!(shortened, public("p", &long), "the same name gives the same result");
    assert_ne!(shortened, public("p", &other));
    let prefix = "q".repeat(PluginId::MAX_CHARS);
    assert_eq!(public(&prefix, &long).len(), 64);
}

#[test]
fn own_names_are_visible() {
    for good in ["a.b", "a b", "\u{e4}", "a/b", "\u{691c}\u{7d22}", &"x".repeat(128), &"\u{e4}".repeat(128)] {
        assert!(ToolName::new(good).is_ok() && PromptName::new(good).is_ok(), "{good:?}");
    }
    assert_eq!(ToolName::new(""), Err(NameError::Empty));
    assert_eq!(ToolName::new("  "), Err(NameError::Empty));
    for bad in ["a\u{0}", "a\nb", "a\u{202e}", "a\u{200b}b", "get_*", "`a`"] {
        assert!(matches!(ToolName::new(bad), Err(NameError::BadOwnCharacter { .. })), "{bad:?}");
    }
    assert!(matches!(
        PromptName::new(&"x".repeat(129)),
        Err(NameError::TooLong { length: 129, most: 128, .. })
    ));
}

#[test]
fn rejects_names_that_hosts_reject() {
    assert_eq!(PublicName::new(""), Err(NameError::Empty));
    for bad in ["a.b", "a b", "\u{e4}", "a/b", "a\u{0}"] {
        assert!(matches!(PublicName::new(bad), Err(NameError::BadCharacter { .. })), "{bad:?}");
    }
    assert!(matches!(PublicName::new(&"b".repeat(65)), Err(NameError::TooLong { length: 65, most: 64, .. })));
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
