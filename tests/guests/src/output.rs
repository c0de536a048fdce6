//! Results that are too big or invalid.

use moongate_sdk::ToolResult;

/// Text whose displayed order differs from its order in memory, with invisible characters.
pub(crate) const BIDI: &str =
    "safe \u{202e}drowssap\u{202c} \u{2066}isolated\u{2069} \u{200b}\u{feff}zero \u{e0041}\u{e0042}tags";

/// Text that clears a screen, rings the bell, moves back, and starts a new line.
pub(crate) const CONTROL: &str =
    "before\u{1b}[2J\u{1b}]0;title\u{7}\u{8}\r\nlevel=error forged line\u{0}\u{9b}31mafter";

/// A string of this many letters.
pub(crate) fn letters(bytes: usize) -> String {
    "x".repeat(bytes)
}

/// A result with this structured content, valid or not.
pub(crate) fn structured(json: impl Into<String>) -> ToolResult {
    ToolResult { structured: Some(json.into()), ..ToolResult::text("see the structured content") }
}
