//! What is masked, what isn't, and that nothing moves.

use super::*;

#[test]
fn values_of_keys_that_sound_like_secrets_are_masked() {
    for (text, shown) in [
        ("token = \"abc\"", "token = \"***\""),
        ("token = \"abc", "token = \"***"),
        ("token = abc # why", "token = *** # ***"),
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
        ("token = c2VjcmV0==", "token = **********"),
        ("token = abc#d=e # why", "token = ******* # ***"),
        ("token: \"s3cr3t\"", "token: \"******\""),
        ("token \"s3cr3t\"", "token \"******\""),
        ("token:s3cr3t, more", "token:******* ****"),
        ("my token c2VjcmV0= # why", "my token ********* # ***"),
        ("[http]\ntoken =\n\"s3cr3t\"\nx = 1", "[http]\ntoken =\n\"******\"\nx = 1"),
        ("token = { value = \"s3cr3t\" }", "token = { value = \"******\" }"),
        ("token = { s3cr3t }", "token = { ****** }"),
        ("token = { c2VjcmV0== }", "token = { ********** }"),
        ("tokens = [\n  c2VjcmV0==,\n  12,\n]", "tokens = [\n  **********,\n  **,\n]"),
        ("token = 12345678", "token = ********"),
        ("token = { value = [-1.5e3, true] }", "token = { value = [******, true] }"),
        ("\"to\\u006ben\" = \"abc", "\"to\\u006ben\" = \"***"),
        ("x = { a = 1\ntoken = \"abc\"", "x = { a = 1\ntoken = \"***\""),
        ("hosts = [\"a\"\ntoken \"abc\"", "hosts = [\"a\"\ntoken \"***\""),
        ("x = \"a\" token = \"abc\"", "x = \"a\" token = \"***\""),
        ("x = \"\"\"a\ntoken = \"abc\"", "x = \"\"\"a\ntoken = \"***\""),
        ("token = \"${A:-abc}\"", "token = \"*********\""),
        ("[plugins.a.config.secrets]\nci = \"abc\"", "[plugins.a.config.secrets]\nci = \"***\""),
        (
            "authToken = 'a'\ntokenValue = 'a'\nsecrets = 'a'",
            "authToken = '*'\ntokenValue = '*'\nsecrets = '*'",
        ),
        ("a = 1 # was token = \"abc\"\nb = 2 # x", "a = 1 # was token * *****\nb = 2 # x"),
        ("# api_key: abc\na = 1", "# api_key: ***\na = 1"),
        ("# postgres://a:b@c", "# ****************"),
        ("token = \"ab\"#c\"", "token = \"**\"#**"),
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
        "token = { file = \"a/b\" } # where it is",
        "token = \"${CI_TOKEN}\"",
        "max_tokens = 5\ntoken_file = \"a\"",
        "[http.auth]\n[plugins.token]\nsource = \"a.wasm\"",
        "credentials = [{ origin = \"https://a.example\", headers = { x = { env = \"A\", prefix = \"Bearer \" } } }]",
        "tokens = [\n    { name = \"ci\", token = { env = \"A\" } },\n]\nlisten = \"a\"",
        "token =\nsource = \"a\"",
        "token.env = \"A\"\ntoken = ${A} # a",
        "[[plugins.a.allow.credentials]]\norigin = \"https://a.example\"\nheaders.x = { env = \"A\" }",
        "[plugins.token]\nsource = \"a\"\n[plugins.\"a.token\".config]\nx = \"b\"",
        "tokenizer = \"cl100k\"\nsecretary = \"Ann\"\npasswordless = 1\ntoken_ttl = 3",
        "",
        "\"",
        "= = [ { \" ' # \u{e9}",
    ] {
        assert_eq!(mask(text), text);
    }
}
