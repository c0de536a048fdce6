//! What is masked, what isn't, and that nothing moves.

use super::*;

#[test]
fn values_of_keys_that_sound_like_secrets_are_masked() {
    for (text, shown) in [
        ("token = \"abc\"", "token = \"***\""),
        ("token = \"abc", "token = \"***"),
        ("token = abc # why", "token = *** # why"),
        ("token = 'a\"c'\nlisten = 'x'", "token = '***'\nlisten = 'x'"),
        ("api-key = \"\"\"a\nb\"\"\"\nx = 'y'", "api-key = \"\"\"*\n*\"\"\"\nx = 'y'"),
        ("password = '''a\nb", "password = '''*\n*"),
        ("a.token = \"a\\\"c\"", "a.token = \"****\""),
        ("\"api_key\" = \"é\"", "\"api_key\" = \"**\""),
        (
            "tokens = [\"abc\", { name = \"ci\", token = \"abc\" }]",
            "tokens = [\"***\", { name = \"ci\", token = \"***\" }]",
        ),
        ("tokens = [{ name = \"ci\", token = \"abc }]", "tokens = [{ name = \"ci\", token = \"******"),
        ("tokn = \"abc\"\npasswrod = 'a'", "tokn = \"***\"\npasswrod = '*'"),
        ("token = [\"abc\"\n[plugins.a]\nb = 'c'", "token = [\"***\"\n[plugins.a]\nb = 'c'"),
        ("headers = { authorization = \"abc\" }", "headers = { authorization = \"***\" }"),
    ] {
        assert_eq!(mask(text), shown);
        assert_eq!(mask(text).len(), text.len(), "places move: {text}");
    }
}

#[test]
fn everything_else_stays_as_it_is() {
    for text in [
        "token = { env = \"CI_TOKEN\" }",
        "token = { file = \"a/b\" } # token = \"x\"",
        "token = \"${CI_TOKEN}\"",
        "max_tokens = 5\ntoken_file = \"a\"",
        "[http.auth]\n[plugins.token]\nsource = \"a.wasm\"",
        "credentials = [{ origin = \"https://a.example\", headers = { x = { env = \"A\", prefix = \"Bearer \" } } }]",
        "tokens = [\n    { name = \"ci\", token = { env = \"A\" } },\n]\nlisten = \"a\"",
        "token =\nsource = \"a\"",
        "",
        "\"",
        "= = [ { \" ' # \u{e9}",
    ] {
        assert_eq!(mask(text), text);
    }
}
