//! Names of plugins from their sources.

use super::*;

#[test]
fn names_plugins_after_their_source() {
    for (text, expected) in [
        ("time", "time"),
        ("builtin:sequential-thinking", "sequential-thinking"),
        ("./a/word_count.wasm", "word_count"),
        ("https://example.com/plugins/time.wasm?key=1/2", "time"),
        ("oci://ghcr.io/acme/time:1.2", "time"),
        ("oci://localhost:5000/acme/time@sha256:00", "time"),
    ] {
        let requested = RequestedPlugin::parse(text).unwrap();
        assert_eq!(requested.id(None).unwrap().as_str(), expected, "{text}");
    }
    assert!(RequestedPlugin::parse("https://example.com/").unwrap().id(None).is_err());
    assert_eq!(RequestedPlugin::parse("https://example.com/").unwrap().id(Some("a")).unwrap().as_str(), "a");
}
