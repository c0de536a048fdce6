//! A good file with secrets wherever they may stand, broken at every byte: whatever is said of it shows none of them,
//! and still says where the mistake is.

use std::collections::HashSet;

use super::hostile::Dice;
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
    const SCRAPS: [&str; 18] =
        ["\"", "'", "\"\"\"", "'''", "${", "}", "“", "”", "[", "]", "{", "\\", "#", "=", ",", "\n", ":", " "];
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

#[test]
fn comments_of_other_languages_show_no_secret() {
    let mut judge = Judge::new();
    for mark in ["//", "/*", "--", ";", "<!--"] {
        judge.look_at(&FILE.replace("# ", &format!("{mark} ")));
        judge.look_at(&FILE.replace("# ", &format!("{mark} ")).replace("\n[", " */\n["));
    }
    assert_eq!(judge.wrong, 10);
}
