//! Parses Markdown tables, for tests that compare pages with the sources or with each other.

use std::fs;

use crate::project_root;

/// A Markdown table.
#[derive(Debug)]
pub struct MarkdownTable {
    /// The column names.
    pub header: Vec<String>,
    /// The cells of each row.
    pub rows: Vec<Vec<String>>,
}

/// The tables with these columns in the page `file`, a path relative to the project's root.
///
/// # Panics
/// If the page can't be read, has no such table, or a row has a different number of cells.
#[must_use]
pub fn markdown_tables(file: &str, header: &[&str]) -> Vec<MarkdownTable> {
    let text =
        fs::read_to_string(project_root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let mut tables = read(&text);
    tables.retain(|table| table.header == header);
    assert!(!tables.is_empty(), "{file}: no table has the columns {header:?}");
    for row in tables.iter().flat_map(|table| &table.rows) {
        assert_eq!(row.len(), header.len(), "{file}: {row:?}");
    }
    tables
}

fn read(text: &str) -> Vec<MarkdownTable> {
    let mut tables: Vec<MarkdownTable> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if !line.starts_with("| ") || !lines.peek().is_some_and(|next| next.starts_with("|-")) {
            continue;
        }
        let mut table = MarkdownTable { header: cells(line), rows: Vec::new() };
        lines.next();
        while let Some(row) = lines.next_if(|next| next.starts_with("| ")) {
            table.rows.push(cells(row));
        }
        tables.push(table);
    }
    tables
}

fn cells(line: &str) -> Vec<String> {
    line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect()
}

#[test]
fn reads_each_table_with_its_header() {
    let tables = read("text\n\n| a | b |\n|---|---|\n| 1 | `x` |\n| 2 | |\n\n| c |\n|---|\n");
    let headers: Vec<&Vec<String>> = tables.iter().map(|table| &table.header).collect();
    assert_eq!(headers, [&vec!["a", "b"], &vec!["c"]]);
    assert_eq!(tables[0].rows, [["1", "`x`"], ["2", ""]]);
    assert!(tables[1].rows.is_empty());
}
