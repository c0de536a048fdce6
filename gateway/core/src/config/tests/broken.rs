//! A good file with secrets wherever they may stand, broken at every byte: whatever is said of it shows none of them,
//! and still says where the mistake is.

use std::collections::HashSet;

use crate::config::tests::hostile::Dice;
use super::*;

/// Each of these words is a part of a secret, and stands nowhere else.
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

/// The parts of secrets: texts of six characters that stand in no other place of the file.
fn parts() -> HashSet<&'static [u8]> {
    let telling = |word: &&str| {
        let is = |test: fn(&u8) -> bool| word.bytes().filter(test).count();
        word.len() > 8
            && (is(u8::is_ascii_digit) >= 3 && is(u8::is_ascii_uppercase) >= 3 || is(u8::is_ascii_digit) > 9)
    };
    let words = FILE.split(|c: char| !c.is_ascii_alphanumeric()).filter(telling);
    let parts: HashSet<_> =
        words.chain(["Zx#8c Vb=5n,Mq]2w"]).flat_map(|word| word.as_bytes().windows(6)).collect();
    assert!(parts.len() > 180, "secrets are missing: {}", parts.len());
    parts
}

/// All that may be shown of a text.
fn shown(text: &str) -> (Loaded, String) {
    let loaded = from_text(&ui().join("gateway.toml"), text.to_owned(), &environment());
    let mut shown = render(&loaded.problems, &loaded.source, Style::Plain);
    // As `--format json` has them.
    for Problem { message, label, hint, related, .. } in &loaded.problems {
        writeln!(shown, "{message} {label:?} {hint:?} {related:?}").unwrap();
    }
    (loaded, shown)
}

struct Judge {
    parts: HashSet<&'static [u8]>,
    /// How many texts were wrong.
    wrong: usize,
}

impl Judge {
    fn new() -> Self {
        Self { parts: parts(), wrong: 0 }
    }

    #[track_caller]
    fn look_at(&mut self, text: &str) {
        let (loaded, shown) = shown(text);
        let told = shown.as_bytes().windows(6).find(|part| self.parts.contains(part));
        if let Some(told) = told {
            panic!("{:?} is shown of:\n{text}\n{shown}", String::from_utf8_lossy(told));
        }
        self.wrong += usize::from(loaded.config.is_none());
        for (at, problem) in loaded.problems.iter().filter(|problem| problem.is_error()).enumerate() {
            let Some(place) = &problem.place else { continue };
            let number = text[..place.start].matches('\n').count();
            assert!(
                shown.contains(&format!("gateway.toml:{}:", number + 1)),
                "no line for:\n{text}\n{shown}"
            );
            let line = text.lines().nth(number).unwrap_or_default();
            let key = line.split_once(" = ").map_or("", |(key, _)| key.trim());
            let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase() || "_.".contains(c));
            // Others may come of the first one, in texts that it has opened.
            assert!(at > 0 || !is_key || shown.contains(key), "`{key}` isn't shown of:\n{text}\n{shown}");
        }
    }
}

/// The same file, otherwise written.
fn variants() -> [String; 4] {
    [
        FILE.to_owned(),
        FILE.replace('\n', "\r\n"),
        FILE.replace("    ", "\t").replace(" = ", "\t=\t"),
        format!("\u{feff}{FILE}"),
    ]
}

#[test]
fn the_file_is_right_before_it_is_broken() {
    for text in variants() {
        let (loaded, shown) = shown(&text);
        let errors: Vec<_> =
            loaded.problems.iter().filter(|problem| !problem.message.contains("isn't there")).collect();
        assert!(loaded.config.is_some() && errors.is_empty(), "{shown}");
    }
}

#[test]
fn no_broken_byte_shows_a_secret() {
    let mut judge = Judge::new();
    for at in 0..FILE.len() {
        let (before, after) = FILE.split_at(at);
        let next = after.chars().next().unwrap_or_default();
        judge.look_at(&format!("{before}{}", &after[next.len_utf8()..])); // also the end of a line
        for quote in ["\"", "'"] {
            judge.look_at(&format!("{before}{quote}{after}"));
        }
        match next {
            '"' => judge.look_at(&format!("{before}'{}", &after[1..])),
            '\'' => judge.look_at(&format!("{before}\"{}", &after[1..])),
            _ => {}
        }
    }
    assert!(judge.wrong > FILE.len(), "hardly anything was broken: {}", judge.wrong);
}

#[test]
fn no_broken_place_shows_a_secret_however_the_file_is_written() {
    const SCRAPS: [&str; 24] = [
        "\"", "'", "\"\"\"", "'''", "${", "}", "“", "”", "[", "]", "{", "\\", "#", "=", ",", "\n", ":", " ",
        "= ", "==", "$", "(", ")", "/",
    ];
    let (mut judge, mut dice) = (Judge::new(), Dice(11));
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
            judge.look_at(&broken);
        }
    }
    assert!(judge.wrong > 800, "hardly anything was broken: {}", judge.wrong);
}

/// Lines that are no TOML, and how they are shown; where `S3kr1t` stands is a secret.
#[test]
fn behind_a_broken_key_nothing_is_shown() {
    for (text, shown) in [
        (
            "[http]\nauth = { tokens = [{ name = \"ci\", token == \"S3kr1t\" }] }",
            "name = \"ci\", ***** == \"******\"",
        ),
        ("[http]\nauth = { tokens = [{ name = \"ci\", token = = \"S3kr1t\" }] }", "***** = = \"******\""),
        ("[http]\nauth = { tokens = [{ name = \"ci\", $token = \"S3kr1t\" }] }", " = \"******\""),
        ("[http]\nauth = { tokens = [{ name = \"ci\", (token) = \"S3kr1t\" }] }", " = \"******\""),
        ("[http]\nauth = { tokens = [{ name = \"ci\", “token” = \"S3kr1t\" }] }", " = \"******\""),
        ("[http]\nauth = { tokens = [{ name = \"ci\", pass/word = \"S3kr1t\" }] }", " = \"******\""),
        (
            "[http]\nauth = { tokens = [{ name = \"ci\" token = \"S3kr1t\" }] }",
            "name = \"ci\" ***** = \"******\"",
        ),
        ("[http]\nlisten = pass = \"S3kr1t\"", "listen = pass = \"******\""),
        ("[http]\nlisten == \"S3kr1t\"", "listen == \"******\""),
        ("[http]\nlisten =\n\"S3kr1t\"", "\n\"******\""),
        (
            "plugins.a = { source = \"a.wasm\", pass phrase = \"S3kr1t\" }",
            "source = \"a.wasm\", **** ****** = \"******\"",
        ),
        ("[plugins.a.settings]\nhost = \"S3kr1t\" x", "host = \"******\" *"),
        ("[plugins.a.options]\nname = \"S3kr1t\" x", "name = \"******\" *"),
        ("[plugins.a.env]\nurl = \"S3kr1t\" x", "url = \"******\" *"),
        ("[mcpServers.a.env]\nversion = \"S3kr1t\" x", "version = \"******\" *"),
        ("[plugins.a]\nsettings = { source = \"S3kr1t\" x }", "source = \"******\" *"),
        ("[plugins.a]\nsettings = {\n  source = \"S3kr1t\" x }", "source = \"******\" *"),
        ("[plugins.a]\nconfg.source = \"S3kr1t\" x", "source = \"******\" *"),
        ("[plugins.a]\nnote = \"\"\"\nsource = \"S3kr1t\" x", "source = \"******\" *"),
        ("[plugins.a.allow]\ncredentials = [{ headers = { name = \"S3kr1t\" x } }]", "name = \"******\" *"),
        (
            "[plugins.a.allow]\ncredentials = [{ headers = { x = { prefix = \"S3kr1t\" y } } }]",
            "prefix = \"******\" *",
        ),
        ("[plugins.a.allow]\nenv = [\"S3kr1t/\" y]", "env = [\"*******\" *]"),
        ("[gateway]\nconcurrency = \"S3kr1t-of-thirty-characters-12\" x", "concurrency = \"********"),
    ] {
        let masked = crate::config::report::masking::mask_broken(text);
        assert!(masked.contains(shown) && !masked.contains("S3kr1t"), "{text}\n{masked}");
        assert_eq!(masked.len(), text.len(), "places move: {text}");
    }
}

#[test]
fn what_is_harmless_where_it_stands_is_shown_of_a_broken_file() {
    for text in [
        "[http]\nlisten = \"127.0.0.1:1\nallowed_hosts = [\n    \"a.example\",\n    \"b.example\" \"",
        "[http]\nauth = { tokens = [{ name = \"ci\" ] }",
        "[plugins.a]\nsource = “a.wasm”\nlimits = { timeout = \"5s\", memory = 64MiB",
        "[plugins.a.allow]\nhttp = [{ url = \"https://a.example\", methods = [\"GET\" }]",
        "[plugins.a.allow]\ncredentials = [{ headers = { x = { env = \"A\", prefix = \"Bearer \" } }]",
        "[plugins.a]\nallow.env = [\"LANG\"\nprefix = \"b\"\n[gateway]\nwatch = yes",
    ] {
        assert_eq!(crate::config::report::masking::mask_broken(text), text);
    }
}

#[test]
fn other_formats_are_named_and_nothing_of_them_is_shown() {
    let json = r#"{ "mcpServers": { "notes": { "command": "npx", "env": { "API_KEY": "Ks4jPq0zWe1r" } } } }"#;
    let yaml = "plugins:\n  notes:\n    api_key: Ks4jPq0zWe1r\n";
    let mut judge = Judge::new();
    for (text, word) in [(json, "JSON"), (yaml, "YAML")] {
        judge.look_at(text);
        let (loaded, shown) = shown(text);
        assert!(loaded.problems.len() == 1 && shown.contains(word), "{shown}");
    }
}

/// All that is said of such tables below `[plugins.time]`.
fn said_of(rest: &str) -> String {
    shown(&with_plugin(rest)).1
}

#[test]
fn what_stands_under_an_unknown_or_misplaced_key_is_not_shown() {
    for rest in [
        "env = { FOO = \"S3kr1tS3kr1t\" }",
        "env = [\"S3kr1t-of-mine\"]",
        "env = \"S3kr1t/of/mine\"",
        "credentials = { origin = 'https://a.example', headers = { x = \"S3kr1t\" } }",
        "dirs = { host = '/', guest = '/g', note = \"S3kr1t\" }",
        "token = \"S3kr1t\"",
        "headers = { x-a = \"S3kr1t\" }",
        "cofnig = { a = [{ b = \"S3kr1t\" }] }",
        "settings = \"S3kr1t\"",
        "sorce = \"S3kr1t\"",
        "timeout = \"S3kr1t\"",
        "host = 'S3kr1t'",
        "[http]\nconfig.one = \"S3kr1t\"",
        "[http]\nconfig = { two = \"S3kr1t\" }",
        "[http]\nenv = { PIN = 8302 }",
        "[gateway.env]\nFOO = \"S3kr1t\"",
        "[plugins.time.allow]\ncedentials = [{ origin = 'https://a.example', headers = { x = \"S3kr1t\" } }]",
        "[[plugins.time.allow.credentials]]\norigin = 'https://a.example'\nhaeders = { x = { prefix = \"S3kr1t\" } }",
    ] {
        let said = said_of(rest);
        assert!(said.contains("unknown key") && !said.contains("S3kr1t") && !said.contains("8302"), "{said}");
    }
    for (rest, shown) in [
        ("timeout = \"5s\"", "timeout = \"5s\""),
        ("memroy = 5", "memroy = *"),
        ("[http]\nconcurrency = 5", "concurrency = 5"),
        ("[gateway]\nwacth = true", "wacth = true"),
        ("[http]\nmax_bdy = \"4MiB\"", "max_bdy = \"4MiB\""),
        ("relod = \"pinned\"", "relod = \"pinned\""),
    ] {
        let said = said_of(rest);
        assert!(said.contains(shown), "`{shown}` is missing:\n{said}");
    }
}

#[test]
fn what_a_variable_holds_is_told_by_its_name_whatever_it_is() {
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
            "tools.deny = ['a ${V}']",
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
            let loaded = from_text(&ui().join("gateway.toml"), with_plugin(line), &environment);
            assert!(!loaded.problems.is_empty(), "{line}");
            for Problem { message, hint, .. } in &loaded.problems {
                let said = format!("{message} {hint:?}").to_lowercase();
                assert!(!said.contains("s3kr"), "{line} with {held:?}: {said}");
            }
        }
    }
}

#[test]
fn comments_of_other_languages_show_no_secret() {
    let mut judge = Judge::new();
    for mark in ["//", "/*", "--", ";", "<!--"] {
        judge.look_at(&FILE.replace("# ", &format!("{mark} ")));
        judge.look_at(&FILE.replace("# ", &format!("{mark} ")).replace("\n[", " */\n["));
    }
    assert_eq!(judge.wrong, 10);
}
