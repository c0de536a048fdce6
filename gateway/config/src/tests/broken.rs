//! A valid file with secrets everywhere, broken at every byte: its diagnostics show none of them, and still point at the
//! mistake.

use std::collections::HashSet;

use super::*;
use crate::tests::hostile::Dice;

/// Each word of mixed letters and digits is a part of a secret, and occurs only there.
const FILE: &str = r##"version = 1

[http]
listen = "127.0.0.1:8931"
allowed_hosts = ["gateway.example"] # was token = "Qz5vXw9kRt7p"

[http.auth]
tokens = [{ name = "ci", token = { env = "GATEWAY_TOKEN" } }]

[plugins.notes]
source = "files/notes.wasm"
prefix = ""

[plugins.notes.allow]
env = ["LANG"]
http = ["https://*.example.org"]

# api_key = "Gh8nLm3bYc6d"
[plugins.notes.config]
api_key = "Ks4jPq0zWe1r" # rotate Tn2uVb7xCa5o
"client secret" = 'Dy9fHg6iJk3l'
password = "Zx#8c Vb=5n,Mq]2w"
colour = "Ur7tEo1pAs4d"
pin = 83920174651
dsn = "postgres://app:Fg5hKj2lZx9c@db.example/app"
url = "https://${API_HOST:-example.com}/${API_TOKEN:-Bn6mQw3eRt0y}"
passphrases = [
    "Ui8oPa5sDf2g",
    "Hj1kLz7xCv4b", # Nm0qWe6rTy3u
]
accounts = [{ user = "Io9pAs5dFg1h", password = "Jk7lZx4cVb8n" }, { token = "Mq2wEr6tYu0i" }]
private_key = """
-----BEGIN PRIVATE KEY-----
Op3aSd9fGh5jKl1zXc7vBn4m
Qw8eRt2yUi6oPa0sDf3g==
-----END PRIVATE KEY-----
"""
note = '''
user=Hk9jLp5zXo1c
'''
headers.authorization = "Bearer Vb7nMq4wEr8t"
limits = { burst = 3, cookie = "Yu2iOp6aSd0f" }

[plugins.other]
source = "files/other.wasm"
config = { token = "Gh3jKl9zXc5v", region = "Bn1mQw7eRt4y" }
limits.timeout = "5s"
allow.http = ["https://api.example"]

[[plugins.other.allow.credentials]]
origin = "https://api.example"
headers.x-key = { env = "OTHER_TOKEN", prefix = "Xc3vBn7mLk1j" }
headers.name = { prefix = "Po9iUy5tRe2w", env = "OTHER_TOKEN" }

[plugins.more]
source = "files/more.wasm"

[plugins.more.config.server]
host = "Lk3jHg7fDs1a"
name = "Mn5bVc9xZa2q"
source = "Ty6uIo2pLk8j"
"##;

/// The parts of secrets: six characters each, which occur nowhere else in the file.
fn parts() -> HashSet<&'static [u8]> {
    let is_secret = |word: &&str| {
        let is = |test: fn(&u8) -> bool| word.bytes().filter(test).count();
        word.len() > 8
            && (is(u8::is_ascii_digit) >= 3 && is(u8::is_ascii_uppercase) >= 3 || is(u8::is_ascii_digit) > 9)
    };
    let words = FILE.split(|c: char| !c.is_ascii_alphanumeric()).filter(is_secret);
    let parts: HashSet<_> =
        words.chain(["Zx#8c Vb=5n,Mq]2w"]).flat_map(|word| word.as_bytes().windows(6)).collect();
    assert!(parts.len() > 180, "secrets are missing: {}", parts.len());
    parts
}

/// Everything that the diagnostics of a text show.
fn shown(text: &str) -> (LoadedConfig, String) {
    let loaded = parse_config(&goldens_dir().join("gateway.toml"), text.to_owned(), &environment());
    let mut shown = render_diagnostics(&loaded.problems, &loaded.source, RenderStyle::Plain);
    // As with `--format json`.
    for Diagnostic { message, label, hint, related, .. } in &loaded.problems {
        writeln!(shown, "{message} {label:?} {hint:?} {related:?}").unwrap();
    }
    (loaded, shown)
}

struct Checker {
    parts: HashSet<&'static [u8]>,
    /// The number of invalid texts.
    invalid: usize,
}

impl Checker {
    fn new() -> Self {
        Self { parts: parts(), invalid: 0 }
    }

    #[track_caller]
    fn check(&mut self, text: &str) {
        let (loaded, shown) = shown(text);
        let leaked = shown.as_bytes().windows(6).find(|part| self.parts.contains(part));
        if let Some(leaked) = leaked {
            panic!("{:?} leaks from:\n{text}\n{shown}", String::from_utf8_lossy(leaked));
        }
        self.invalid += usize::from(loaded.config.is_none());
        for (at, problem) in loaded.problems.iter().filter(|problem| problem.is_error()).enumerate() {
            let Some(place) = &problem.span else { continue };
            let number = text[..place.start].matches('\n').count();
            assert!(
                shown.contains(&format!("gateway.toml:{}:", number + 1)),
                "no line for:\n{text}\n{shown}"
            );
            let line = text.lines().nth(number).unwrap_or_default();
            let key = line.split_once(" = ").map_or("", |(key, _)| key.trim());
            let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase() || "_.".contains(c));
            // Later errors can be inside a string that the first one has opened.
            assert!(at > 0 || !is_key || shown.contains(key), "`{key}` isn't shown of:\n{text}\n{shown}");
        }
    }
}

/// The same file with another spelling.
fn variants() -> [String; 4] {
    [
        FILE.to_owned(),
        FILE.replace('\n', "\r\n"),
        FILE.replace("    ", "\t").replace(" = ", "\t=\t"),
        format!("\u{feff}{FILE}"),
    ]
}

#[test]
fn the_unbroken_file_is_valid() {
    for text in variants() {
        let (loaded, shown) = shown(&text);
        let errors: Vec<_> =
            loaded.problems.iter().filter(|problem| !problem.message.contains("doesn't exist")).collect();
        assert!(loaded.config.is_some() && errors.is_empty(), "{shown}");
    }
}

#[test]
fn hides_secrets_at_every_broken_byte() {
    let mut checker = Checker::new();
    for at in 0..FILE.len() {
        let (before, after) = FILE.split_at(at);
        let next = after.chars().next().unwrap_or_default();
        checker.check(&format!("{before}{}", &after[next.len_utf8()..])); // also a line break
        for quote in ["\"", "'"] {
            checker.check(&format!("{before}{quote}{after}"));
        }
        match next {
            '"' => checker.check(&format!("{before}'{}", &after[1..])),
            '\'' => checker.check(&format!("{before}\"{}", &after[1..])),
            _ => {}
        }
    }
    assert!(checker.invalid > FILE.len(), "hardly anything was broken: {}", checker.invalid);
}

#[test]
fn hides_secrets_in_every_spelling_of_a_broken_file() {
    const SCRAPS: [&str; 24] = [
        "\"", "'", "\"\"\"", "'''", "${", "}", "“", "”", "[", "]", "{", "\\", "#", "=", ",", "\n", ":", " ",
        "= ", "==", "$", "(", ")", "/",
    ];
    let (mut checker, mut dice) = (Checker::new(), Dice(11));
    for text in variants() {
        let borders: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        for _ in 0..500 {
            let mut broken = text.clone();
            let at = borders[dice.below(borders.len())];
            let scrap = SCRAPS[dice.below(SCRAPS.len())];
            match dice.below(3) {
                0 => broken.insert_str(at, scrap),
                1 => {
                    let next = broken[at..].chars().next().unwrap_or_default();
                    broken.replace_range(at..at + next.len_utf8(), scrap);
                }
                _ => drop(broken.remove(at)),
            }
            checker.check(&broken);
        }
    }
    assert!(checker.invalid > 800, "hardly anything was broken: {}", checker.invalid);
}

#[test]
fn names_other_formats_without_showing_values() {
    let json = r#"{ "mcpServers": { "notes": { "command": "npx", "env": { "API_KEY": "Ks4jPq0zWe1r" } } } }"#;
    let yaml = "plugins:\n  notes:\n    api_key: Ks4jPq0zWe1r\n";
    let mut checker = Checker::new();
    for (text, word) in [(json, "JSON"), (yaml, "YAML")] {
        checker.check(text);
        let (loaded, shown) = shown(text);
        assert!(loaded.problems.len() == 1 && shown.contains(word), "{shown}");
    }
}

/// Everything that the diagnostics show of these lines below `[plugins.time]`.
fn shown_of(rest: &str) -> String {
    shown(&with_plugin(rest)).1
}

#[test]
fn hides_values_of_unknown_keys_that_can_be_secrets() {
    for rest in [
        "env = { FOO = \"S3kr1t-of-mine\" }",
        "credentials = { origin = 'https://a.example', headers = { x = \"S3kr1t\" } }",
        "token = \"S3kr1t\"",
        "headers = { x-a = \"S3kr1t\" }",
        "cofnig = { a = [{ b = \"S3kr1t\" }] }",
        "api_key = \"S3kr1t\"",
        "url = 'https://user:S3kr1t@a.example'",
        "[http]\nconfig.one = \"S3kr1t\"",
        "[http]\nconfig = { two = \"S3kr1t\" }",
        "[http]\nenv = { PIN = 8302 }",
        "[gateway.env]\nFOO = \"S3kr1t\"",
        "[plugins.time.allow]\ncedentials = [{ origin = 'https://a.example', headers = { x = \"S3kr1t\" } }]",
        "[[plugins.time.allow.credentials]]\norigin = 'https://a.example'\nhaeders = { x = { prefix = \"S3kr1t\" } }",
    ] {
        let shown = shown_of(rest);
        assert!(
            shown.contains("unknown key") && !shown.contains("S3kr1t") && !shown.contains("8302"),
            "{shown}"
        );
    }
    for rest in
        ["limits.memroy = 5", "[http]\nmax_bdy = \"4MiB\"", "relod = \"pinned\"", "sorce = \"a.wasm\""]
    {
        let line = rest.lines().last().unwrap();
        let shown = shown_of(rest);
        assert!(shown.contains(line), "`{line}` is missing:\n{shown}");
    }
}

#[test]
fn never_shows_the_values_of_variables() {
    let long = "S3kr1t-".repeat(30);
    for held in
        ["S3kr", "S3kr1t", "S3kr1t\"quoted\"", "S3kr1t\\back", "S3kr1t\u{1b}[1m", "S3kr1t==", long.as_str()]
    {
        for line in [
            "sha256 = '${V}'",
            "prefix = '${V} x'",
            "prefix = 'p q ${V}'",
            "uris = ['${V}', 'a b ${V}']",
            "reload = '${V}'",
            "tools.deny = ['a* ${V}']",
            "limits.timeout = '${V}'",
            "limits.memory = '${V} much'",
            "allow.http = ['${V}', '${V}.example', 'ftp://${V}', 'https://a.example:${V}', 'https://${V}/a\"']",
            "allow.env = ['${V}']",
            "allow.dirs = [{ host = '/', guest = '${V}', mode = '${V}' }]",
            "allow.state = 'a b ${V}'",
            "[http]\nlisten = '${V}'\nallowed_hosts = ['a ${V}']\nallowed_origins = ['${V}']",
        ] {
            let mut environment = environment();
            environment.insert("V".to_owned(), held.to_owned());
            let loaded = parse_config(&goldens_dir().join("gateway.toml"), with_plugin(line), &environment);
            assert!(!loaded.problems.is_empty(), "{line}");
            for Diagnostic { message, hint, .. } in &loaded.problems {
                let shown = format!("{message} {hint:?}").to_lowercase();
                assert!(!shown.contains("s3kr"), "{line} with {held:?}: {shown}");
            }
        }
    }
}

#[test]
fn comments_of_other_languages_show_no_secret() {
    let mut checker = Checker::new();
    for mark in ["//", "/*", "--", ";", "<!--"] {
        checker.check(&FILE.replace("# ", &format!("{mark} ")));
        checker.check(&FILE.replace("# ", &format!("{mark} ")).replace("\n[", " */\n["));
    }
    assert_eq!(checker.invalid, 10);
}
