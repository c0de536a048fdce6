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
    Difference {
        description: "`git_log` refuses a date that it doesn't understand, and names the formats.",
        reason: "Git takes unknown words as the current time, so the list is silently empty or complete.",
        matches: |mismatch| mismatch.name == "git_log" && our_refusal(mismatch).contains(": unknown date `"),
    },
    Difference {
        description: "If branches are in the way of a new one, the message says so.",
        reason: "The official server's message is the failure to rename its lock file.",
        matches: |mismatch| {
            is_failure(mismatch)
                && theirs(mismatch).contains("[Errno 21] Is a directory: ")
                && ours(mismatch).contains(": there are branches in refs/heads/")
        },
    },
    Difference {
        description: "A negative number of context lines is refused.",
        reason: "From such a number, Git makes a patch that it can't apply itself.",
        matches: |mismatch| {
            our_refusal(mismatch).ends_with(": `context_lines` must be a non-negative integer")
        },
    },
    Difference {
        description: "For a path outside, the message lists the granted directories.",
        reason: "The official server has a single repository; a plugin can have several directories.",
        matches: |mismatch| {
            is_failure(mismatch)
                && theirs(mismatch).contains("is outside the allowed repository")
                && ours(mismatch).contains("is outside the granted directories")
        },
    },
];

/// Returns true if the mismatch is in the messages of two failed calls.
fn is_failure(mismatch: &Mismatch<'_>) -> bool {
    let failed = |answer: &Value| answer["isError"] == true;
    mismatch.at == "/content/0/text" && failed(mismatch.answers.0) && failed(mismatch.answers.1)
}

/// The plugin's message, if only its call failed.
fn our_refusal<'a>(mismatch: &Mismatch<'a>) -> &'a str {
    let (theirs, ours) = mismatch.answers;
    if theirs["isError"] == false && ours["isError"] == true {
        ours["content"][0]["text"].as_str().unwrap_or_default()
    } else {
        ""
    }
}

fn theirs<'a>(mismatch: &Mismatch<'a>) -> &'a str {
    mismatch.theirs.and_then(Value::as_str).unwrap_or_default()
}

fn ours<'a>(mismatch: &Mismatch<'a>) -> &'a str {
    mismatch.ours.and_then(Value::as_str).unwrap_or_default()
}
