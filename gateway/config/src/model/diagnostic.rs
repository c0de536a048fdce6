//! Diagnostics of the configuration, and quotations in them.

use moongate_model::text::escaped_line;

pub use moongate_model::diagnostic::{Diagnostic, Severity};
pub(crate) use moongate_model::text::escape_hidden as visible;

/// The longest text that a message quotes, in characters.
const MAX_QUOTED_CHARS: usize = 80;

/// `text` in backticks, cut to [`MAX_QUOTED_CHARS`].
pub(crate) fn quoted(text: &str) -> String {
    format!("`{}`", escaped_line(text, MAX_QUOTED_CHARS))
}
