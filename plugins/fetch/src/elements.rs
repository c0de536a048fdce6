//! Prepares HTML trees, so that words of different elements stay apart.
//!
//! The libraries that extract the main content and write Markdown take unknown elements for parts of a sentence, and so
//! would join the last word of one block to the first word of the next.

use dom_query::{Document, NodeRef};

/// The maximum number of columns that `colspan` can add to a cell.
const MAX_COLUMN_SPAN: usize = 100;

/// The namespace of HTML elements.
const HTML_NAMESPACE: &str = "http://www.w3.org/1999/xhtml";

/// Elements that browsers show as parts of a line, and elements without a box.
#[rustfmt::skip]
const INLINE: &[&str] = &[
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins", "kbd",
    "label", "link", "mark", "meta", "noscript", "output", "q", "rp", "rt", "ruby", "s", "samp", "script", "small", "span",
    "strike", "strong", "style", "sub", "sup", "template", "time", "tt", "u", "var", "wbr",
];

/// Adds a space after each element that isn't part of a line, in a whole page. When the main content is extracted,
/// elements are removed, and their neighbours would become one word.
pub(crate) fn separate(document: &Document) {
    // Text in `pre` is kept as it is.
    let mut left = vec![(document.root(), false)];
    while let Some((node, in_pre)) = left.pop() {
        let contains_pre = in_pre || node.has_name("pre");
        left.extend(node.children_it(false).map(|child| (child, contains_pre)));
        let Some(name) = node.node_name().filter(|name| !in_pre && !INLINE.contains(&&**name)) else {
            continue;
        };
        let is_html = node.qual_name_ref().is_some_and(|name| &*name.ns == HTML_NAMESPACE);
        // An unknown element can be part of a line; two in a row usually aren't.
        let is_unknown = name.contains('-');
        if is_html && (!is_unknown || node.next_sibling().is_some_and(|next| next.is_element())) {
            node.insert_after(&node.tree.new_text(" "));
        }
    }
}

/// Replaces elements that the Markdown writer doesn't know, in the main content.
pub(crate) fn prepare(document: &Document) {
    for node in document.root().descendants() {
        let Some(name) = node.node_name() else { continue };
        match &*name {
            "address" | "aside" | "center" | "details" | "dialog" | "dt" | "fieldset" | "figcaption"
            | "figure" | "footer" | "form" | "header" | "hgroup" | "legend" | "main" | "nav" | "search"
            | "summary" => {
                node.rename("div");
            }
            "audio" | "video" => media(&node, &name),
            // Shown only by browsers that don't know these elements, or never.
            "canvas" | "datalist" => node.remove_from_parent(),
            "dd" => definition(&node),
            "dir" | "menu" => node.rename("ul"),
            "q" => surround(&node, "\"", "\""),
            "rt" => pronunciation(&node),
            "table" => table(&node),
            "text" => surround(&node, " ", " "), // in SVG
            _ => {}
        }
    }
}

/// Adds text at the start and the end of an element.
fn surround(node: &NodeRef<'_>, start: &str, end: &str) {
    node.prepend_child(&node.tree.new_text(start));
    node.append_child(&node.tree.new_text(end));
}

/// Replaces a recording by a link. Its content is for old browsers.
fn media(node: &NodeRef<'_>, kind: &str) {
    let sources = node.element_children();
    let source = node.attr("src").or_else(|| sources.iter().find_map(|source| source.attr("src")));
    node.remove_children();
    if let Some(source) = source {
        node.append_child(&node.tree.new_text(kind));
        node.set_attr("href", &source);
        node.rename("a");
    }
}

/// Marks a definition with a colon, as some dialects of Markdown do.
fn definition(node: &NodeRef<'_>) {
    node.rename("div");
    let mark = node.tree.new_text(": ");
    let first = node.children().into_iter().find(|child| !child.is_text() || child.is_nonempty_text());
    match first {
        Some(first) if first.has_name("p") || first.has_name("div") => first.prepend_child(&mark),
        Some(first) if first.node_name().is_some_and(|name| !INLINE.contains(&&*name)) => {}
        Some(_) | None => node.prepend_child(&mark),
    }
}

/// Puts the pronunciation of characters in parentheses, unless the page has them for old browsers.
fn pronunciation(node: &NodeRef<'_>) {
    if !node.prev_element_sibling().is_some_and(|before| before.has_name("rp")) {
        surround(node, " (", ") ");
    }
}

/// Makes every row of a table equally long, because the Markdown writer joins the cells of other tables. Its caption,
/// which would be lost, is moved before it. If the table contains another or is in a list, its cells become blocks.
fn table(table: &NodeRef<'_>) {
    let inside = table.descendants();
    for caption in inside.iter().filter(|node| node.has_name("caption")) {
        caption.rename("div");
        caption.remove_from_parent();
        table.insert_before(caption);
    }
    let rows = inside.iter().filter(|node| {
        let mut outer = node.ancestors_it(None);
        node.has_name("tr")
            && outer.find(|outer| outer.has_name("table")).is_some_and(|outer| outer.id == table.id)
    });
    let rows: Vec<&NodeRef<'_>> = rows.collect();
    let is_nested = inside.iter().any(|node| node.has_name("table"));
    if is_nested || table.ancestors_it(None).any(|outer| outer.has_name("li")) {
        let cells = rows.iter().flat_map(|row| row.element_children());
        cells.for_each(|cell| cell.rename("div"));
        return;
    }
    for row in &rows {
        for cell in row.element_children() {
            let span = cell.attr("colspan").and_then(|span| span.trim().parse().ok()).unwrap_or(1);
            for _ in 1..span.clamp(1, MAX_COLUMN_SPAN) {
                cell.insert_after(&cell.tree.new_element(if cell.has_name("th") { "th" } else { "td" }));
            }
        }
    }
    let columns = rows.iter().map(|row| row.element_children().len()).max().unwrap_or_default();
    for row in &rows {
        let cells = row.element_children();
        let kind = if cells.iter().all(|cell| cell.has_name("th")) { "th" } else { "td" };
        for _ in cells.len()..columns {
            row.append_child(&row.tree.new_element(kind));
        }
    }
}
