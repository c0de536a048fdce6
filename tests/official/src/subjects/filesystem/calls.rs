//! Random calls in a directory with random files.

use anyhow::Result;
use serde_json::{Value, json};

use super::Both;
use super::directory::Contents;
use crate::random::Random;

/// The number of calls for each seed.
const CALLS_PER_SEED: usize = 120;

const DIRECTORIES: [&str; 7] = ["", "src/", "src/deep/", "docs/", "a b/", ".config/", "\u{dc}nder/"];

const NAMES: [&str; 12] = [
    "a.txt",
    "b.md",
    "main.rs",
    "lib.rs",
    "data.json",
    "sp ace.txt",
    "\u{fc}n\u{ef}.txt",
    ".hidden",
    "Upper.TXT",
    "x.bin",
    "Makefile",
    "p.png",
];

const WORDS: [&str; 14] = [
    "",
    "one",
    "two",
    "let x = 1;",
    "}",
    "{",
    "    return y;",
    "\tz();",
    "# Title",
    "naïve \u{1f600}",
    "```",
    "one",
    "two",
    "  two  ",
];

const PATTERNS: [&str; 12] = [
    "*",
    "**",
    "**/*.rs",
    "*.txt",
    "**/*.txt",
    "src/**",
    "?.md",
    "{src,docs}/*",
    "deep",
    "**/deep/**",
    ".*",
    "[ab].*",
];

/// Fills both directories and makes random calls to all tools.
pub(super) fn random_calls(both: &mut Both<'_, '_>, random: &mut Random) -> Result<()> {
    both.clear()?;
    for _ in 0..4 + random.below(20) {
        let path = format!("{}{}", random.pick(&DIRECTORIES), random.pick(&NAMES));
        both.write(&path, &content(random))?;
    }
    for _ in 0..CALLS_PER_SEED {
        let contents = both.theirs.contents()?;
        let (tool, arguments) = call(both, random, &contents)?;
        both.call(tool, &arguments)?;
    }
    Ok(())
}

/// Random file content: mostly a few lines of text, sometimes empty or binary.
fn content(random: &mut Random) -> Vec<u8> {
    if random.once_in(12) {
        return random.some(400, |random| u8::try_from(random.below(256)).unwrap_or_default());
    }
    let most = if random.once_in(10) { 3000 } else { 30 };
    let lines = random.some(most, |random| random.pick(&WORDS));
    let end = if random.once_in(6) { "\r\n" } else { "\n" };
    let mut text = lines.join(end);
    if !random.once_in(4) {
        text.push_str(end);
    }
    text.into_bytes()
}

/// A random string argument.
fn text(random: &mut Random) -> String {
    let mut text = random.some(6, |random| random.pick(&WORDS)).join("\n");
    if random.once_in(3) {
        text.push('\n');
    }
    text
}

/// A random file, mostly an existing one.
fn file(random: &mut Random, contents: &Contents) -> String {
    match random.below(10) {
        0 => random_directory(random, contents),
        1 => format!("{}{}", random.pick(&DIRECTORIES), random.pick(&NAMES)),
        2 => format!("gone/{}", random.pick(&NAMES)),
        _ if contents.files.is_empty() => "a.txt".to_owned(),
        _ => contents.files[random.below(contents.files.len())].clone(),
    }
}

/// A random directory, mostly an existing one.
fn random_directory(random: &mut Random, contents: &Contents) -> String {
    match random.below(12) {
        0 => file(random, contents),
        1 => "gone".to_owned(),
        _ => contents.directories[random.below(contents.directories.len())].clone(),
    }
}

/// The path in one of the notations that models use.
fn written(both: &Both<'_, '_>, random: &mut Random, path: &str) -> String {
    match random.below(6) {
        0 if path.is_empty() => ".".to_owned(),
        0 => path.to_owned(),
        1 => format!("./{path}"),
        2 => format!("{}//{path}", both.path("")),
        3 => format!("{}/src/../{path}", both.path("")),
        _ => both.path(path),
    }
}

fn call(both: &Both<'_, '_>, random: &mut Random, contents: &Contents) -> Result<(&'static str, Value)> {
    let a_file = file(random, contents);
    let a_directory = random_directory(random, contents);
    let path = written(both, random, &a_file);
    let directory = written(both, random, &a_directory);
    let lines = random.below(12);
    let patterns = random.some(2, |random| random.pick(&PATTERNS));
    Ok(match random.below(16) {
        0 => ("read_file", json!({ "path": path })),
        1 => ("read_text_file", json!({ "path": path, "head": lines })),
        2 => ("read_text_file", json!({ "path": path, "tail": lines })),
        3 => ("read_media_file", json!({ "path": path })),
        4 => ("read_multiple_files", json!({ "paths": [path, directory, file(random, contents)] })),
        5 | 6 => ("write_file", json!({ "path": path, "content": text(random) })),
        7 | 8 => ("edit_file", edit(both, random, &a_file, &path)?),
        9 => (
            "create_directory",
            json!({ "path": if random.once_in(2) { directory + "/new/er" } else { path } }),
        ),
        10 => ("list_directory", json!({ "path": directory })),
        11 => {
            let sort = random.pick(&["name", "size"]);
            ("list_directory_with_sizes", json!({ "path": directory, "sortBy": sort }))
        }
        12 => ("directory_tree", json!({ "path": directory, "excludePatterns": patterns })),
        13 => {
            let target =
                if random.once_in(3) { random_directory(random, contents) } else { file(random, contents) };
            ("move_file", json!({ "source": path, "destination": written(both, random, &target) }))
        }
        14 => {
            let pattern = random.pick(&PATTERNS);
            ("search_files", json!({ "path": directory, "pattern": pattern, "excludePatterns": patterns }))
        }
        _ => ("get_file_info", json!({ "path": path })),
    })
}

/// Random edits of a file, mostly of existing lines.
fn edit(both: &Both<'_, '_>, random: &mut Random, file: &str, path: &str) -> Result<Value> {
    let bytes = if both.theirs.contents()?.files.iter().any(|there| there == file) {
        both.theirs.read(file)?
    } else {
        Vec::new()
    };
    // Binary files have their own checks.
    let path = if str::from_utf8(&bytes).is_ok() { path } else { "a.txt" };
    let lines: Vec<String> = String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect();
    let mut edits = Vec::new();
    for _ in 0..1 + random.below(2) {
        let old =
            if lines.is_empty() || random.once_in(10) { text(random) } else { some_lines(random, &lines) };
        edits.push(json!({ "oldText": old, "newText": text(random) }));
    }
    Ok(json!({ "path": path, "edits": edits, "dryRun": random.once_in(4) }))
}

/// A few lines, sometimes with different indentation.
fn some_lines(random: &mut Random, lines: &[String]) -> String {
    let start = random.below(lines.len());
    let end = lines.len().min(start + 1 + random.below(3));
    let other = random.once_in(3);
    let lines = lines[start..end].iter().map(|line| {
        if other {
            format!("{}{}", random.pick(&["", " ", "\t", "      "]), line.trim())
        } else {
            line.clone()
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}
