//! Tests of reserved headers and their reasons.

use super::*;

#[test]
fn reserved_headers_have_a_reason() {
    for (name, reserved) in [
        ("Host", Reserved::Framing),
        ("EXPECT", Reserved::Framing),
        ("transfer_encoding", Reserved::Framing),
        ("Via", Reserved::Passing),
        ("X-Forwarded-For", Reserved::Passing),
        ("X-Forwarded-Anything", Reserved::Passing),
        ("X_Forwarded_Host", Reserved::Passing),
        ("X-Remote-Addr", Reserved::Passing),
        ("X-Remote-User", Reserved::Passing),
        ("Remote_User", Reserved::Passing),
        ("X-Envoy-External-Address", Reserved::Passing),
        ("X-Azure-ClientIP", Reserved::Passing),
        ("Proxy", Reserved::Passing),
        ("X-HTTP-Method-Override", Reserved::Rewriting),
        ("x_http_method_override", Reserved::Rewriting),
        ("X-Rewrite-URL", Reserved::Rewriting),
        ("X-MS-Original-URL", Reserved::Rewriting),
        ("x-envoy-original-path", Reserved::Rewriting),
    ] {
        assert_eq!(Reserved::of(name), Some(reserved), "{name}");
        assert!(!reserved.is_for_plugins(), "{name}");
    }
    assert!(Reserved::of("Content-Length").is_some_and(Reserved::is_for_plugins));
    for name in ["accept", "authorization", "cookie", "date", "forwarded-for-no-one", "x-forward", "origin"] {
        assert_eq!(Reserved::of(name), None, "{name}");
    }
    assert!(
        RESERVED_HEADERS.iter().all(|(name, _)| normalized(name) == *name),
        "the list is in the normalized form"
    );
}
