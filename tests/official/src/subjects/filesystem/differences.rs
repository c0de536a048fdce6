//! The intended differences.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::difference::{Difference, Mismatch};

pub(super) const DIFFERENCES: &[Difference] = &[
    Difference {
        description: "Files are also resources, through the template `file:///{+path}`.",
        reason: "Hosts can attach and watch files; the official server has only tools.",
        matches: |mismatch| {
            mismatch.method == "resources/templates/list"
                && mismatch.theirs.is_none_or(|theirs| theirs == &Value::Array(Vec::new()))
        },
    },
    Difference {
        description: "`tail` doesn't count the empty string after a final newline as a line: with 1, it returns \
               the last line.",
        reason: "The official server does count it, so 1 returns an empty string, although its description \
                 promises the last N lines.",
        matches: |mismatch| {
            is_text(mismatch) && mismatch.arguments["tail"].is_number() && is_one_line_more(mismatch)
        },
    },
    Difference {
        description: "Negative and fractional line counts are refused.",
        reason: "The official server returns some part of the file, and a model takes it for the requested \
                 part.",
        matches: |mismatch| {
            let is_odd = |name: &str| {
                mismatch.arguments[name].as_f64().is_some_and(|lines| lines < 0.0 || lines.fract() != 0.0)
            };
            mismatch.method == "tools/call"
                && (is_odd("head") || is_odd("tail"))
                && ours_whole(mismatch).contains("must be a non-negative integer")
        },
    },
    Difference {
        description: "`~` isn't expanded to a home directory; such a path is refused with its own message.",
        reason: "The sandbox has no home directory; the official server's message names the user's.",
        matches: |mismatch| {
            const WORDS: &str = "Access denied - path outside allowed directories: ";
            let tells = |text: &str, path: &str| text.contains(&format!("{WORDS}{path}"));
            is_text(mismatch) && tells(ours_whole(mismatch), "~") && tells(theirs_whole(mismatch), "/")
        },
    },
    Difference {
        description: "If several minimal diffs lead to the same text, `edit_file` can show a different one.",
        reason: "Each server uses its own diff library.",
        matches: |mismatch| {
            is_text(mismatch)
                && mismatch.name == "edit_file"
                && is_same_change(theirs(mismatch), ours(mismatch))
        },
    },
    Difference {
        description: "In patterns, named classes such as `[[:alpha:]]` match only ASCII.",
        reason: "The component contains no Unicode tables, to stay small.",
        matches: |mismatch| is_text(mismatch) && patterns(mismatch).any(|pattern| pattern.contains("[[:al")),
    },
    Difference {
        description: "In patterns, `!(…)` after other text is taken literally.",
        reason: "It can't be matched in a single pass, and matching must be fast.",
        matches: |mismatch| {
            is_text(mismatch) && patterns(mismatch).any(|pattern| pattern.find("!(").is_some_and(|at| at > 0))
        },
    },
    Difference {
        description: "`get_file_info` doesn't report the creation time, and its `permissions` show what the tools \
               may do.",
        reason: "WASI provides neither.",
        matches: |mismatch| {
            mismatch.name == "get_file_info"
                && match mismatch.at.rsplit('/').next() {
                    Some("created") => ours(mismatch) == "unknown",
                    Some("permissions") => matches!(ours(mismatch), "read" | "read, write"),
                    _ => false,
                }
        },
    },
    Difference {
        description: "`edit_file` preserves line endings (CRLF) and every byte of lines that it doesn't change.",
        reason: "The official server converts every line ending to LF and every byte that isn't UTF-8 to \
                 U+FFFD, even far from the edit.",
        matches: |mismatch| {
            on_disk(mismatch)
                && mismatch.name == "edit_file"
                && mismatch.at.ends_with("/file")
                && theirs(mismatch) == flattened(ours(mismatch))
        },
    },
    Difference {
        description: "`edit_file` refuses an edit that would lose bytes that aren't UTF-8.",
        reason: "The official server replaces these bytes; the plugin writes nothing.",
        matches: |mismatch| {
            let answer = if on_disk(mismatch) { ours(mismatch).starts_with("bytes ") } else { true };
            mismatch.name == "edit_file"
                && answer
                && (on_disk(mismatch) || ours_whole(mismatch).contains("aren't UTF-8 and would be lost"))
        },
    },
    Difference {
        description: "Absolute links are refused, even if they point to a file inside the allowed directory.",
        reason: "The sandbox doesn't know the real location of its directories, so absolute paths have no \
                 meaning in it.",
        matches: |mismatch| {
            mismatch.method == "tools/call"
                && ours_whole(mismatch)
                    .contains("Access denied - symlink target outside allowed directories: ")
                && !theirs_whole(mismatch).contains("Access denied")
        },
    },
    Difference {
        description: "For a link that points outside, the message names the link instead of its target.",
        reason: "The sandbox doesn't receive the target of such a link.",
        matches: |mismatch| {
            const WORDS: &str = "Access denied - symlink target outside allowed directories: ";
            is_failure(mismatch) && theirs(mismatch).starts_with(WORDS) && ours(mismatch).starts_with(WORDS)
        },
    },
];

/// Returns true if the mismatch is in the text of an answer, structured or not.
fn is_text(mismatch: &Mismatch<'_>) -> bool {
    mismatch.method == "tools/call" && matches!(mismatch.at, "/content/0/text" | "/structuredContent/content")
}

/// Returns true if the mismatch is in the errors of two failed calls.
fn is_failure(mismatch: &Mismatch<'_>) -> bool {
    let failed = |answer: &Value| answer["isError"] == true;
    is_text(mismatch) && failed(mismatch.answers.0) && failed(mismatch.answers.1)
}

/// Returns true if the mismatch is in the files after a call.
fn on_disk(mismatch: &Mismatch<'_>) -> bool {
    mismatch.method == "files afterwards"
}

fn theirs<'a>(mismatch: &Mismatch<'a>) -> &'a str {
    mismatch.theirs.and_then(Value::as_str).unwrap_or_default()
}

fn ours<'a>(mismatch: &Mismatch<'a>) -> &'a str {
    mismatch.ours.and_then(Value::as_str).unwrap_or_default()
}

/// The complete text of the official answer.
fn theirs_whole<'a>(mismatch: &Mismatch<'a>) -> &'a str {
    mismatch.answers.0["content"][0]["text"].as_str().unwrap_or_default()
}

/// The complete text of the plugin's answer.
fn ours_whole<'a>(mismatch: &Mismatch<'a>) -> &'a str {
    mismatch.answers.1["content"][0]["text"].as_str().unwrap_or_default()
}

/// Returns true if the plugin's text is the official one with an additional first line and ends with a line break.
fn is_one_line_more(mismatch: &Mismatch<'_>) -> bool {
    ours(mismatch).ends_with('\n')
        && ours(mismatch).split_once('\n').is_some_and(|(_, rest)| rest == theirs(mismatch))
}

/// All patterns in the arguments of a call.
fn patterns<'a>(mismatch: &Mismatch<'a>) -> impl Iterator<Item = &'a str> {
    let excluded = mismatch.arguments["excludePatterns"].as_array().into_iter().flatten();
    excluded.chain([&mismatch.arguments["pattern"]]).filter_map(Value::as_str)
}

/// Do two fenced diffs remove and add equally many lines, and, except for lines that are both removed and added, the same
/// lines?
fn is_same_change(theirs: &str, ours: &str) -> bool {
    let [theirs, ours] = [theirs, ours].map(change);
    theirs == ours && theirs.is_some()
}

/// The heading of a diff, the numbers of removed and added lines, and for each line how many more times it is added than
/// removed.
fn change(diff: &str) -> Option<(&str, [usize; 2], BTreeMap<&str, i64>)> {
    let diff = diff.trim_matches(['`', '\n']).strip_prefix("diff\n")?;
    let (heading, hunks) = diff.split_at(diff.find("\n@@ ")?);
    let mut counts = [0, 0];
    let mut lines = BTreeMap::new();
    for line in hunks.lines() {
        let (side, sign) = match line.as_bytes().first() {
            Some(b'-') => (0, -1),
            Some(b'+') => (1, 1),
            _ => continue,
        };
        counts[side] += 1;
        *lines.entry(&line[1..]).or_default() += sign;
    }
    lines.retain(|_, times| *times != 0);
    Some((heading, counts, lines))
}

/// The plugin's file as the official server would write it: with LF only, and U+FFFD for bytes that aren't UTF-8.
fn flattened(file: &str) -> String {
    let Some(digits) = file.strip_prefix("bytes ") else { return file.replace("\r\n", "\n") };
    let bytes: Vec<u8> = (0..digits.len() / 2)
        .filter_map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).ok())
        .collect();
    String::from_utf8_lossy(&bytes).replace("\r\n", "\n")
}
