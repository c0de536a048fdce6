//! The normal form of Markdown: its words, headings and links in order, line by line.
//!
//! Markdown writers emphasize, indent, wrap and escape differently with the same meaning.

/// The lines of a Markdown text in normal form.
pub(super) fn lines(markdown: &str) -> Vec<String> {
    markdown.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<String> {
    let line = line.trim();
    // Table rules, and the fences of code.
    let is_rule = line.starts_with('|') && line.chars().all(|c| "|-: ".contains(c));
    if line.is_empty() || is_rule || line.starts_with("```") {
        return None;
    }
    let mut rest = line;
    let mut found = String::new();
    while let Some(quoted) = rest.strip_prefix('>') {
        found.push('>');
        rest = quoted.trim_start();
    }
    if let Some(item) = ["* ", "+ ", "- "].iter().find_map(|mark| rest.strip_prefix(mark)) {
        found.push_str("- ");
        rest = item;
    }
    // Emphasis and escapes. Code and names lose the same characters on both sides.
    found.extend(rest.chars().filter(|c| !"*_`\\".contains(*c)));
    Some(found.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The line with every link within the site as an absolute URL.
pub(super) fn with_absolute_links(line: &str, origin: &str) -> String {
    line.replace("](/", &format!("]({origin}/"))
}

#[cfg(test)]
mod tests;
