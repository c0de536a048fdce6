//! Unit tests of addresses of components.

use super::*;

fn parse(text: &str) -> Result<Option<SourceReference>, SourceReferenceError> {
    SourceReference::parse(text, &PlainHttpHosts::parse(["registry.internal:5000"]).unwrap())
}

#[test]
fn parses_addresses_and_leaves_paths() {
    let digest = "0".repeat(64);
    let same = [
        "https://example.com/time.wasm".to_owned(),
        "https://example.com:8443/a/time.wasm?version=1".to_owned(),
        "http://127.0.0.1:8080/time.wasm".to_owned(),
        "http://registry.internal:5000/time.wasm".to_owned(),
        "oci://ghcr.io/acme/time:1.2".to_owned(),
        "oci://localhost:5000/time:latest".to_owned(),
        format!("oci://ghcr.io/acme/tools/my-time__x.y:v1@sha256:{digest}"),
        format!("oci://[::1]:5000/time@sha256:{digest}"),
    ];
    for text in same {
        let shown = match parse(&text).unwrap().unwrap() {
            SourceReference::Web(url) => url.to_string(),
            SourceReference::Oci(reference) => reference.to_string(),
        };
        assert_eq!(shown, text);
    }
    for path in ["time.wasm", "./plugins/time.wasm", "/srv/https/time.wasm", "oci:time.wasm"] {
        assert_eq!(parse(path), Ok(None), "{path}");
    }
}

#[test]
fn rejects_other_addresses_with_a_hint() {
    let wrong = [
        "ftp://example.com/time.wasm",
        "file:///srv/time.wasm",
        "https://",
        "https://user:password@example.com/time.wasm",
        "https://example.com/time.wasm#1",
        "http://example.com/time.wasm",
        "http://registry.internal/time.wasm",
        "oci://",
        "oci://ghcr.io",
        "oci://ghcr.io/acme/time",
        "oci://ghcr.io/Acme/time:1",
        "oci://ghcr.io/acme//time:1",
        "oci://ghcr.io/acme/time-:1",
        "oci://ghcr.io/acme/.time:1",
        "oci://ghcr.io/acme/time:",
        "oci://ghcr.io/acme/time:a/b",
        "oci://ghcr.io/acme/../../v2/time:1",
        "oci://ghcr.io/acme/time@sha512:00",
        "oci://ghcr.io/acme/time@sha256:ABC",
        "oci://a b/time:1",
    ];
    for text in wrong {
        let error = parse(text).unwrap_err();
        assert!(!error.hint().is_empty(), "{text}: {error}");
    }
    assert_eq!(
        parse(&format!("https://example.com/{}", "a".repeat(3000))),
        Err(SourceReferenceError::TooLong)
    );
}

#[test]
fn hides_queries() {
    let address = parse("https://example.com/time.wasm?key=abc").unwrap().unwrap();
    assert_eq!(address.shown(), "https://example.com/time.wasm?…");
}
