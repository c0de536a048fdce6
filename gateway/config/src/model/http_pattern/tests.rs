//! Tests of valid patterns, and of the reported part of invalid ones.

use super::*;
use crate::{HttpGrant, RequestTarget, TraceContextGrant};

/// The grant of a plain pattern.
fn grant(written: &str) -> HttpGrant {
    let HttpPattern { scheme, host, port, path, parts: _ } =
        parse(written).unwrap_or_else(|error| panic!("{written}: {error:?}"));
    HttpGrant {
        span: 0..0,
        display_pattern: written.to_owned(),
        scheme,
        host,
        port,
        methods: None,
        path,
        networks: Vec::new(),
        trace_context: TraceContextGrant::NotSent,
    }
}

#[track_caller]
fn covers(pattern: &str, url: &str) -> bool {
    let target = RequestTarget::new("GET", url).unwrap_or_else(|error| panic!("{url}: {error}"));
    grant(pattern).covers(&target)
}

#[test]
fn errors_name_the_wrong_part() {
    // The wrong part is between `<` and `>`.
    let rows = [
        ("<>", "can't be empty"),
        ("<example.com>", "no scheme"),
        ("<https:/>example.com", "followed by `//`"),
        ("<ftp>://example.com", "scheme `ftp`"),
        ("<*>://example.com", "one scheme"),
        ("https://a<*>.example.com", "`*`"),
        ("https://*.a.<*>.com", "`*`"),
        ("https://<*>a.example.com", "`*`"),
        ("https://a.<*>", "`*`"),
        ("https://*.<127.0.0.1>", "no subdomains"),
        ("https://<user:pw@>example.com", "user name or password"),
        ("https://<@>example.com", "user name or password"),
        ("<user:pw@>example.com", "user name or password"),
        ("https://example.com<?a=b>", "a query"),
        ("https://example.com/a<#b>", "a fragment"),
        ("https://example.com<:>", "missing port"),
        ("https://example.com:<0>", "port 0"),
        ("https://example.com:<65536>", "invalid port"),
        ("https://example.com:<+80>/a", "invalid port"),
        ("https://example.com:<*>", "one port"),
        ("http://<0x7f.1>", "usual form"),
        ("http://<2130706433>", "usual form"),
        ("http://<127.1>:80", "usual form"),
        ("http://<127.0.0.1.>", "usual form"),
        ("http://<1.2.3.4.5>", "invalid host"),
        ("http://<256.1.1.1>", "invalid host"),
        ("http://<[::ffff:10.0.0.1]>", "usual form"),
        ("http://[fe80::1<%eth0>]", "zone"),
        ("http://<[::1>", "`]`"),
        ("http://<::1>", "brackets"),
        ("http://<fd00::1:8080>", "brackets"),
        ("http://[::1]<x>", "only a port"),
        ("http://<[::g]>", "invalid host"),
        ("https://<.>example.com", "start with a dot"),
        ("https://a<..>example.com", "two dots"),
        ("https://example.com<..>", "two dots"),
        ("https://<。example.com>", "empty label"),
        ("https://<＊.example.com>", "invalid label"),
        ("https://ex<%>61mple.com", "`%`"),
        ("https://a<$>b.com", "`$`"),
        ("<https://>", "missing host"),
        ("<https://>/a", "missing host"),
        ("https://example.com< >", "white space"),
        ("https://exa<\t>mple.com", "white space"),
        ("https://example.com<\\>a", "`\\`"),
        ("https://example.com<\u{202e}>", "the character"),
        ("https://example.com/a/<..>/b", "contain the segment"),
        ("https://example.com/<.>", "contain the segment"),
        ("https://example.com/<..;x>/b", "contain the segment"),
        ("https://example.com/a/<%2e%2E>/b", "hides"),
        ("https://example.com/<a%2fb>", "hides"),
        ("https://example.com/<..%3bb>", "hides"),
        ("https://example.com/<a%253Bb>", "hides"),
        ("https://example.com/<a%00>", "hides"),
        ("https://example.com/<a%252fb>", "hides"),
        ("https://example.com/<%c0%ae>", "hides"),
        ("https://example.com/<a%>", "two hexadecimal digits"),
        ("https://example.com/a/<*>", "`*`"),
        ("https://example.com/<*>/b", "`*`"),
        ("https://example.com/a<//>b", "`//`"),
    ];
    for (marked, message) in rows {
        let start = marked.find('<').unwrap();
        let end = marked.rfind('>').unwrap() - 1;
        let text = format!("{}{}{}", &marked[..start], &marked[start + 1..=end], &marked[end + 2..]);
        let error = parse(&text).expect_err(&text);
        assert_eq!(error.part, start..end, "{marked}: {error:?}");
        assert!(error.message.contains(message), "{marked}: {error:?}");
        assert!(!error.hint.is_empty() && !error.message.contains("pw"), "{error:?}");
    }
    let long = format!("https://{}.com", "a".repeat(64));
    assert!(parse(&long).unwrap_err().message.contains("longer than 63 bytes"));
    assert!(parse(&format!("https://{}com", "a.".repeat(130))).unwrap_err().message.contains("253"));
    assert!(parse(&format!("https://a.com/{}", "a".repeat(3_000))).unwrap_err().message.contains("2048"));
}

#[test]
fn hints_suggest_valid_patterns() {
    for (text, hint) in [
        ("example.com", "write \"https://example.com\""),
        ("http://0x7f.1", "write `127.0.0.1`"),
        ("http://::1", "write `[::1]`"),
        ("https://.example.com", "write `*.example.com` for every subdomain"),
        ("https://example.com/api/*", "write `/api`: it includes the paths below"),
        ("https://example.com/*", "remove the path to grant every path"),
        ("http://[::ffff:10.0.0.1]", "write `10.0.0.1`"),
    ] {
        assert_eq!(parse(text).unwrap_err().hint, hint, "{text}");
    }
}

#[test]
fn normalizes_spelling() {
    for (a, b) in [
        ("HTTPS://Example.COM", "https://example.com"),
        ("https://example.com.", "https://example.com"),
        ("https://example.com:443/", "https://example.com"),
        ("https://example.com:0443", "https://example.com"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
        ("https://*.Bücher.example", "https://*.xn--bcher-kva.example"),
        ("https://example。com", "https://example.com"),
        ("http://[0:0::1]:80", "http://[::1]"),
        ("https://example.com/a/", "https://example.com/a"),
        ("https://example.com/é", "https://example.com/%C3%A9"),
    ] {
        let (a, b) = (parse(a).unwrap(), parse(b).unwrap());
        assert_eq!((a.scheme, a.host, a.port, a.path), (b.scheme, b.host, b.port, b.path));
    }
}

#[test]
fn grants_cover_exactly_their_pattern() {
    let rows: [(&str, &[&str], &[&str]); 9] = [
        (
            "https://example.com",
            &["https://example.com", "https://EXAMPLE.com:443/a?b", "https://example.com./"],
            &[
                "http://example.com",
                "https://example.com:8443",
                "https://a.example.com",
                "https://example.com.evil",
            ],
        ),
        (
            "https://*.example.com",
            &["https://a.example.com", "https://a.b.example.com/x", "https://a.example.com."],
            &["https://example.com", "https://aexample.com", "https://example.com.evil.com"],
        ),
        (
            "https://*",
            &["https://a", "https://a.b"],
            &["https://127.0.0.1", "https://[::1]", "https://0x7f.1"],
        ),
        (
            "http://127.0.0.1:80",
            &["http://127.0.0.1", "http://0x7f.1/a", "http://2130706433"],
            &["http://127.0.0.2"],
        ),
        (
            "http://[::1]",
            &["http://[::1]", "http://[0:0:0::1]/"],
            &["http://[::2]", "http://[::ffff:127.0.0.1]"],
        ),
        (
            "https://a.com/api",
            &["https://a.com/api", "https://a.com/api/", "https://a.com/api/x?y=/../z"],
            &[
                "https://a.com/b/../api/x",
                "https://a.com/",
                "https://a.com/apix",
                "https://a.com/api%2fx",
                "https://a.com/API",
                "https://a.com//api",
            ],
        ),
        (
            "https://a.com/api",
            &[],
            &[
                "https://a.com/api/..;/x",
                "https://a.com/api/%2e%2e/x",
                "https://a.com/api/.%2e/x",
                "https://a.com/api/%252e%252e/x",
                "https://a.com/api/%25252525252e/x",
                "https://a.com/api/%5c..%5cx",
                "https://a.com/api/..%3b/x",
                "https://a.com/api/a%3Bb",
                "https://a.com/api/%00",
                "https://a.com/api/x%2500",
                "https://a.com/api/%c0%ae%c0%ae/x",
            ],
        ),
        ("https://a.com", &["https://a.com/x/%2e%2e/%2f", "https://a.com/..;/"], &[]),
        ("https://a.com/é", &["https://a.com/%C3%A9/x", "https://a.com/é"], &["https://a.com/e"]),
    ];
    for (pattern, covered, refused) in rows {
        covered.iter().for_each(|url| assert!(covers(pattern, url), "{pattern} covers {url}"));
        refused.iter().for_each(|url| assert!(!covers(pattern, url), "{pattern} doesn't cover {url}"));
    }
}

#[test]
fn rejects_urls_that_need_repair() {
    for url in [
        "https:example.com",
        "https:/example.com",
        "https:///example.com",
        "https:\\\\example.com",
        "https://example.com\\@evil.com",
        "https://evil.com@example.com",
        "https://@example.com",
        "https://:@example.com",
        "https://exa\tmple.com",
        "https://example.com/a\nb",
        " https://example.com",
        "https://example.com /",
        "https://example。com",
        "https://.example.com",
        "https://example.com..",
        "https://ex%61mple.com",
        "https://example.com:99999",
        "ws://example.com",
        "file:///etc/passwd",
        "/a",
        "",
    ] {
        assert!(RequestTarget::new("GET", url).is_err(), "{url:?}");
    }
    assert!(RequestTarget::new("GET", r"https://example.com/?a=\b").is_ok());
    let tunnel = RequestTarget::new("connect", "https://example.com").unwrap();
    assert!(!grant("https://example.com").covers(&tunnel));
}

#[test]
fn deeply_encoded_paths_are_cheap() {
    let url = format!("https://a.com/{}", "%25".repeat(20_000) + &"25".repeat(200_000));
    assert!(!covers("https://a.com/x", &url));
}
