//! The normal form of Markdown: its words, headings and links in order, line by line.
//!
//! Two writers of Markdown mark, indent, wrap and escape in ways of their own, which all say the same.

/// The lines of a text in Markdown, without what writers do in ways of their own.
pub(super) fn lines(markdown: &str) -> Vec<String> {
    markdown.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<String> {
    let line = line.trim();
    // What stands between the head and the rows of a table, and what begins and ends code.
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
    // Marks of strong and other words, and escapes. Code and names lose the same characters on both sides.
    found.extend(rest.chars().filter(|c| !"*_`\\".contains(*c)));
    Some(found.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The same lines with each link that leads to a place on the site as a whole URL.
pub(super) fn with_whole_links(line: &str, origin: &str) -> String {
    line.replace("](/", &format!("]({origin}/"))
}

#[cfg(test)]
mod tests;
