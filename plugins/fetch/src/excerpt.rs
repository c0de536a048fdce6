//! A part of a long text, counted in characters, and where the next one begins.

/// The part of `text` that begins at the character `start` and has at most `most`. `end_note` comes after the text's end.
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
