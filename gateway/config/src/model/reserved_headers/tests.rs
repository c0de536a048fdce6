//! Tests of reserved headers and their reasons.

use super::*;

#[test]
fn reserved_headers_have_a_reason() {
    for (name, reserved) in [
        ("Host", ReservedHeader::Framing),
        ("EXPECT", ReservedHeader::Framing),
        ("transfer_encoding", ReservedHeader::Framing),
        ("Via", ReservedHeader::ClientIdentity),
        ("X-Forwarded-For", ReservedHeader::ClientIdentity),
        ("X-Forwarded-Anything", ReservedHeader::ClientIdentity),
        ("X_Forwarded_Host", ReservedHeader::ClientIdentity),
        ("X-Remote-Addr", ReservedHeader::ClientIdentity),
        ("X-Remote-User", ReservedHeader::ClientIdentity),
        ("Remote_User", ReservedHeader::ClientIdentity),
        ("X-Envoy-External-Address", ReservedHeader::ClientIdentity),
        ("X-Azure-ClientIP", ReservedHeader::ClientIdentity),
        ("Proxy", ReservedHeader::ClientIdentity),
        ("X-HTTP-Method-Override", ReservedHeader::Rewriting),
        ("x_http_method_override", ReservedHeader::Rewriting),
        ("X-Rewrite-URL", ReservedHeader::Rewriting),
        ("X-MS-Original-URL", ReservedHeader::Rewriting),
        ("x-envoy-original-path", ReservedHeader::Rewriting),
    ] {
        assert_eq!(ReservedHeader::of(name), Some(reserved), "{name}");
        assert!(!reserved.is_settable_by_plugins(), "{name}");
    }
    assert!(ReservedHeader::of("Content-Length").is_some_and(ReservedHeader::is_settable_by_plugins));
    for name in ["accept", "authorization", "cookie", "date", "forwarded-for-no-one", "x-forward", "origin"] {
        assert_eq!(ReservedHeader::of(name), None, "{name}");
    }
    assert!(
        RESERVED_HEADERS.iter().all(|(name, _)| normalized(name) == *name),
        "the list is in the normalized form"
    );
}
