//! The intended differences.

use serde_json::Value;

use crate::difference::{Difference, Mismatch};

pub(super) const DIFFERENCES: &[Difference] = &[
    Difference {
        description: "Tools have titles.",
        reason: "Hosts show titles to users; the official server has none.",
        matches: |mismatch| {
            mismatch.method == "tools/list" && mismatch.at.ends_with("/title") && mismatch.theirs.is_none()
        },
    },
    Difference {
        description: "If Git itself fails, the plugin's own message gives the reason.",
        reason: "The official server shows the command line of the program that it starts; the plugin starts none.",
        matches: |mismatch| is_failure(mismatch) && theirs(mismatch).ends_with(": Git failed"),
    },
    Difference {
        description: "If an object is missing, the plugin's own message names it.",
        reason: "The official server's message shows its language's notation for bytes.",
        matches: |mismatch| {
            is_failure(mismatch) && theirs(mismatch).contains("could not be resolved, git returned: b'")
        },
    },
    Difference {
        description: "For a file with a conflict, a diff only names the file.",
        reason: "The file itself shows the conflict; Git's combined diff repeats it.",
        matches: |mismatch| {
            mismatch.name == "git_diff_unstaged" && ours(mismatch).contains("* Unmerged path ")
        },
    },
    Difference {
        description: "A commit with unresolved conflicts is refused with a message that says what to do.",
        reason: "The official server's message is a line of the index.",
        matches: |mismatch| is_failure(mismatch) && ours(mismatch).contains(" has a conflict: "),
    },
];

/// Returns true if the mismatch is in the messages of two failed calls.
fn is_failure(mismatch: &Mismatch<'_>) -> bool {
    let failed = |answer: &Value| answer["isError"] == true;
    mismatch.at == "/content/0/text" && failed(mismatch.answers.0) && failed(mismatch.answers.1)
}

fn theirs<'a>(mismatch: &Mismatch<'a>) -> &'a str {
    mismatch.theirs.and_then(Value::as_str).unwrap_or_default()
}

fn ours<'a>(mismatch: &Mismatch<'a>) -> &'a str {
    mismatch.ours.and_then(Value::as_str).unwrap_or_default()
}
