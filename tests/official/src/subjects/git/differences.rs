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
];

/// Returns true if the mismatch is in the messages of two failed calls.
fn is_failure(mismatch: &Mismatch<'_>) -> bool {
    let failed = |answer: &Value| answer["isError"] == true;
    mismatch.at == "/content/0/text" && failed(mismatch.answers.0) && failed(mismatch.answers.1)
}

fn theirs<'a>(mismatch: &Mismatch<'a>) -> &'a str {
    mismatch.theirs.and_then(Value::as_str).unwrap_or_default()
}
