//! Which headers are for whom.

use super::*;

#[test]
fn each_header_that_frames_passes_on_or_rewrites_has_its_reason() {
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
    assert!(ALL.iter().all(|(name, _)| plain(name) == *name), "the list is written as it is compared");
}
