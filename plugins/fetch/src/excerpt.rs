//! A part of a long text, counted in characters, and the start of the next part.

/// Returns the part of `text` that starts at the character `start` and has at most `most` characters. `end_note` is
/// added at the end of the text.
pub(crate) fn of(text: &str, start: usize, most: usize, end_note: Option<&str>) -> String {
    let Some((from, _)) = text.char_indices().nth(start) else {
        return "<error>No more content available.</error>".to_owned();
    };
    let rest = &text[from..];
    match rest.char_indices().nth(most) {
        Some((to, _)) => format!(
            "{}\n\n<error>Content truncated. Call the fetch tool with a start_index of {} to get more content.</error>",
            &rest[..to],
            start.saturating_add(most),
        ),
        None => format!("{rest}{}", end_note.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests;
