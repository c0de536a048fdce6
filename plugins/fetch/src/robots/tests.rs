//! Matching of user agents and patterns, and malformed rules.

use super::{allows, fits, product};

#[test]
fn uses_the_first_word_of_the_agent() {
    assert_eq!(product("ModelContextProtocol/1.0 (Autonomous; x)"), "ModelContextProtocol");
    assert_eq!(product("my-bot_x 2"), "my-bot_x");
    assert_eq!(product("(x)"), "");
}

#[test]
fn matches_patterns_of_the_standard() {
    for (path, pattern) in [
        ("/", "/"),
        ("/abc", "/"),
        ("/abc", "/a*"),
        ("/a/b/c", "/*/*"),
        ("/a/b/c", "*c$"),
        ("/a.php?x", "/*.php"),
        ("/a.php", "/*.php$"),
        ("/x.php.php", "/*.php$"),
        ("/a$b", "/a$b"),
        ("/ab", "/a*b$"),
        ("/", "/*$"),
        ("/x", ""),
    ] {
        assert!(fits(path, pattern), "{path} {pattern}");
    }
    for (path, pattern) in [
        ("/", "/a"),
        ("/a.php?x", "/*.php$"),
        ("/a", "/a*a$"),
        ("/a", "/a*a"),
        ("/abc", "/b"),
        ("/ab", "/a$"),
        ("/x", "$"),
    ] {
        assert!(!fits(path, pattern), "{path} {pattern}");
    }
    let rules = "User-agent: *\nDisallow: /a\nAllow: /a/b$\n";
    let allowed = |path: &str| allows(rules, "bot", &format!("https://a.example{path}"));
    assert_eq!([allowed("/a"), allowed("/a/b"), allowed("/a/bc"), allowed("/c")], [false, true, false, true]);
}

#[test]
fn parses_any_text() {
    let words = [
        "User-agent: ",
        "*",
        "Disallow: ",
        "/",
        "$",
        "\n",
        "\r",
        "%",
        "ä",
        "😀",
        ":",
        "#",
        " ",
        "Allow:",
        "\0",
        "bot",
    ];
    let mut seed = 1_u64;
    let mut next = |end: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % end
    };
    for _ in 0..3000 {
        let rules: String = (0..next(40)).map(|_| words[next(words.len())]).collect();
        let url = format!("https://a.example/{}", words[next(words.len())]);
        let _ = allows(&rules, "bot", &url);
    }
    let stars = format!("user-agent: *\ndisallow: /{}x\n", "*a".repeat(2000));
    let long = format!("https://a.example/{}", "a".repeat(20_000));
    assert!(allows(&stars, "bot", &long));
}
