//! The order of messages in which a model uses tools (2026-07-28, client/sampling, "Tool result messages").

use std::collections::BTreeSet;

use super::Turn;

/// Checks that each use of tools is followed by one message with all of its results and nothing else, and that there
/// are no other results.
pub(super) fn check(messages: &[Turn]) -> Result<(), String> {
    let mut due: BTreeSet<&str> = BTreeSet::new();
    for (at, Turn { role, blocks, .. }) in messages.iter().enumerate() {
        let given: BTreeSet<&str> = blocks.each("tool_result", "toolUseId").collect();
        if given != due {
            return Err(format!(
                "`messages[{at}]` must hold the results of exactly the tools that the message before it uses"
            ));
        }
        if !given.is_empty() && (role != "user" || blocks.types().any(|kind| kind != "tool_result")) {
            return Err(format!("`messages[{at}]` must be the user's and hold nothing but results of tools"));
        }
        due = blocks.each("tool_use", "id").collect();
        if !due.is_empty() && role != "assistant" {
            return Err(format!("`messages[{at}]` uses tools, which only the assistant does"));
        }
    }
    if due.is_empty() {
        Ok(())
    } else {
        Err("the last message uses tools whose results are missing".to_owned())
    }
}
