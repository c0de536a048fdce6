//! What may differ, and why.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::difference::{Difference, Gap};

pub(super) const DIFFERENCES: &[Difference] = &[
    Difference {
        what: "Files are also resources, through the template `file:///{+path}`.",
        reason: "Hosts can attach and watch files; the official server has only tools.",
        meant: |gap| {
            gap.method == "resources/templates/list"
                && gap.theirs.is_none_or(|theirs| theirs == &Value::Array(Vec::new()))
        },
    },
    Difference {
        what: "`tail` doesn't count the empty string after a final newline as a line: with 1, it returns \
               the last line.",
        reason: "The official server does count it, so 1 returns an empty string, although its description \
                 promises the last N lines.",
        meant: |gap| is_text(gap) && gap.arguments["tail"].is_number() && is_one_line_more(gap),
    },
    Difference {
        what: "Negative and fractional line counts are refused.",
        reason: "The official server returns some part of the file, and a model takes it for the requested \
                 part.",
        meant: |gap| {
            let is_odd = |name: &str| {
                gap.arguments[name].as_f64().is_some_and(|lines| lines < 0.0 || lines.fract() != 0.0)
            };
            gap.method == "tools/call"
                && (is_odd("head") || is_odd("tail"))
                && ours_whole(gap).contains("must be a non-negative integer")
        },
    },
    Difference {
        what: "`~` isn't expanded to a home directory; such a path is refused with its own message.",
        reason: "The sandbox has no home directory; the official server's message names the user's.",
        meant: |gap| {
            const WORDS: &str = "Access denied - path outside allowed directories: ";
            let tells = |text: &str, path: &str| text.contains(&format!("{WORDS}{path}"));
            is_text(gap) && tells(ours_whole(gap), "~") && tells(theirs_whole(gap), "/")
        },
    },
    Difference {
        what: "If several minimal diffs lead to the same text, `edit_file` can show a different one.",
        reason: "Each server uses its own diff library.",
        meant: |gap| is_text(gap) && gap.name == "edit_file" && is_same_change(theirs(gap), ours(gap)),
    },
    Difference {
        what: "In patterns, named classes such as `[[:alpha:]]` match only ASCII.",
        reason: "The component contains no Unicode tables, to stay small.",
        meant: |gap| is_text(gap) && patterns(gap).any(|pattern| pattern.contains("[[:al")),
    },
    Difference {
        what: "In patterns, `!(…)` after other text is taken literally.",
        reason: "It can't be matched in a single pass, and matching must be fast.",
        meant: |gap| is_text(gap) && patterns(gap).any(|pattern| pattern.find("!(").is_some_and(|at| at > 0)),
    },
    Difference {
        what: "`get_file_info` doesn't report the creation time, and its `permissions` show what the tools \
               may do.",
        reason: "WASI provides neither.",
        meant: |gap| {
            gap.name == "get_file_info"
                && match gap.at.rsplit('/').next() {
                    Some("created") => ours(gap) == "unknown",
                    Some("permissions") => matches!(ours(gap), "read" | "read, write"),
                    _ => false,
                }
        },
    },
    Difference {
        what: "`edit_file` preserves line endings (CRLF) and every byte of lines that it doesn't change.",
        reason: "The official server converts every line ending to LF and every byte that isn't UTF-8 to \
                 U+FFFD, even far from the edit.",
        meant: |gap| {
            on_disk(gap)
                && gap.name == "edit_file"
                && gap.at.ends_with("/file")
                && theirs(gap) == flattened(ours(gap))
        },
    },
    Difference {
        what: "`edit_file` refuses an edit that would lose bytes that aren't UTF-8.",
        reason: "The official server replaces these bytes; the plugin writes nothing.",
        meant: |gap| {
            let answer = if on_disk(gap) { ours(gap).starts_with("bytes ") } else { true };
            gap.name == "edit_file"
                && answer
                && (on_disk(gap) || ours_whole(gap).contains("aren't UTF-8 and would be lost"))
        },
    },
    Difference {
        what: "Absolute links are refused, even if they point to a file inside the allowed directory.",
        reason: "The sandbox doesn't know the real location of its directories, so absolute paths have no \
                 meaning in it.",
        meant: |gap| {
            gap.method == "tools/call"
                && ours_whole(gap).contains("Access denied - symlink target outside allowed directories: ")
                && !theirs_whole(gap).contains("Access denied")
        },
    },
    Difference {
        what: "For a link that points outside, the message names the link instead of its target.",
        reason: "The sandbox doesn't receive the target of such a link.",
        meant: |gap| {
            const WORDS: &str = "Access denied - symlink target outside allowed directories: ";
            is_failure(gap) && theirs(gap).starts_with(WORDS) && ours(gap).starts_with(WORDS)
        },
    },
];

/// Is it about the text of an answer, in either form?
fn is_text(gap: &Gap<'_>) -> bool {
    gap.method == "tools/call" && matches!(gap.at, "/content/0/text" | "/structuredContent/content")
}

/// Is it about why both refuse?
fn is_failure(gap: &Gap<'_>) -> bool {
    let failed = |answer: &Value| answer["isError"] == true;
    is_text(gap) && failed(gap.answers.0) && failed(gap.answers.1)
}

/// Is it about what a call left on the disk?
fn on_disk(gap: &Gap<'_>) -> bool {
    gap.method == "what is on the disk afterwards"
}

fn theirs<'a>(gap: &Gap<'a>) -> &'a str {
    gap.theirs.and_then(Value::as_str).unwrap_or_default()
}

fn ours<'a>(gap: &Gap<'a>) -> &'a str {
    gap.ours.and_then(Value::as_str).unwrap_or_default()
}

/// The whole text of the official answer.
fn theirs_whole<'a>(gap: &Gap<'a>) -> &'a str {
    gap.answers.0["content"][0]["text"].as_str().unwrap_or_default()
}

/// The whole text of our answer.
fn ours_whole<'a>(gap: &Gap<'a>) -> &'a str {
    gap.answers.1["content"][0]["text"].as_str().unwrap_or_default()
}

/// Is ours theirs with one line before it, and is there a line end at the end?
fn is_one_line_more(gap: &Gap<'_>) -> bool {
    ours(gap).ends_with('\n') && ours(gap).split_once('\n').is_some_and(|(_, rest)| rest == theirs(gap))
}

/// All patterns of a call.
fn patterns<'a>(gap: &Gap<'a>) -> impl Iterator<Item = &'a str> {
    let excluded = gap.arguments["excludePatterns"].as_array().into_iter().flatten();
    excluded.chain([&gap.arguments["pattern"]]).filter_map(Value::as_str)
}

/// Do two diffs, each between its backticks, take away and add as many lines, and the same lines but for those that both
/// do?
fn is_same_change(theirs: &str, ours: &str) -> bool {
    let [theirs, ours] = [theirs, ours].map(change);
    theirs == ours && theirs.is_some()
}

/// The heading of a diff, how many lines it takes away and adds, and how often it adds each line more than it takes it
/// away.
fn change(diff: &str) -> Option<(&str, [usize; 2], BTreeMap<&str, i64>)> {
    let diff = diff.trim_matches(['`', '\n']).strip_prefix("diff\n")?;
    let (heading, hunks) = diff.split_at(diff.find("\n@@ ")?);
    let (mut counts, mut lines) = ([0, 0], BTreeMap::new());
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

/// A file of ours as the official server would have written it: LF only, and U+FFFD for what isn't UTF-8.
fn flattened(file: &str) -> String {
    let Some(digits) = file.strip_prefix("bytes ") else { return file.replace("\r\n", "\n") };
    let bytes: Vec<u8> = (0..digits.len() / 2)
        .filter_map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).ok())
        .collect();
    String::from_utf8_lossy(&bytes).replace("\r\n", "\n")
}
