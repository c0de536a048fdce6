//! Replaces times, digests and versions, which differ between runs, with placeholders.

/// Replaces everything that may differ with a placeholder.
pub(super) fn normalize(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (token, after) = rest.split_at(end);
        plain.push_str(word(token));
        let next = after.chars().next().map_or(0, char::len_utf8);
        plain.push_str(&after[..next]);
        rest = &after[next..];
    }
    plain
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, ':' | '.' | '+' | '-')
}

fn word(token: &str) -> &str {
    const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
    if ["0000-00-00T00:00:00", "00:00:00"].into_iter().any(|shape| is_like(token, shape)) {
        "<time>"
    } else if DAYS.contains(&token) || is_like(token, "0000-00-00") {
        "<day>"
    } else if token.len() >= 12 && token.chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c)) {
        "<digest>"
    } else if token.split('.').count() == 3 && token.split('.').all(|part| part.parse::<u32>().is_ok()) {
        "<version>"
    } else {
        token
    }
}

/// Returns true if the token starts with this shape. A `0` matches any digit. A date with more after it is a time.
fn is_like(token: &str, shape: &str) -> bool {
    let fits = |(shape, c): (u8, u8)| if shape == b'0' { c.is_ascii_digit() } else { shape == c };
    token.len() >= shape.len() && shape.bytes().zip(token.bytes()).all(fits)
}

#[test]
fn replaces_only_values_that_may_differ() {
    for (text, expected) in [
        ("at 2026-11-28T08:45:47.25+09:00.", "at <time>"),
        ("since 2026-11-28 12:55:20 UTC", "since <day> <time> UTC"),
        ("\"day\": \"Saturday\"", "\"day\": \"<day>\""),
        ("time  usable  0.1.0    e69151efc065  -", "time  usable  <version>    <digest>  -"),
        ("4 plugins at 127.0.0.1:8931", "4 plugins at 127.0.0.1:8931"),
        ("Hello, Ada!", "Hello, Ada!"),
    ] {
        assert_eq!(normalize(text), expected);
    }
}
