//! What clients were seen to do: collected from the lines that their scripts print, kept in `docs/clients.md`.
//!
//! A line is `ok`, `FAILED` or `-` (the client can't), then client, transport, revision and capability; what went
//! wrong, why the client can't, or which part it can't, follows after a colon.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, Result};

use crate::project::Project;
use crate::report::{self, Tally};

/// Where it is kept.
const PAGE: &str = "docs/clients.md";

/// What stands above the table.
const HEAD: &str = include_str!("head.md");

/// What is checked of each client, in the order of the columns.
const CAPABILITIES: [&str; 14] = [
    "list",
    "call",
    "read",
    "get",
    "complete",
    "progress",
    "logging",
    "elicitation",
    "sampling",
    "roots",
    "cancel",
    "list_changed",
    "subscriptions",
    "replaced",
];

/// The transports that a line may name, and what people call them.
const TRANSPORTS: [(&str, &str); 4] =
    [("http", "HTTP"), ("stdio", "stdio"), ("sse", "HTTP+SSE"), ("stdio-to-http", "stdio, then HTTP")];

/// The names that clients have in lines, and those that people know.
const CLIENTS: [(&str, &str); 7] = [
    ("fastmcp", "FastMCP"),
    ("inspector", "Inspector, command line"),
    ("mcp-remote", "`mcp-remote`"),
    ("python", "Python SDK"),
    ("rmcp", "Rust SDK (`rmcp`)"),
    ("typescript", "TypeScript SDK"),
    ("typescript-client", "TypeScript SDK (`client`)"),
];

/// What became of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Cell {
    /// It was seen, all but a part, where there is a note.
    Seen(String),
    /// It went wrong.
    Failed,
    /// The client can't, and why.
    Lacks(String),
}

/// A client, its transport and its revision.
type Key = [String; 3];

/// What all clients were seen to do, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<(Key, BTreeMap<String, Cell>)>,
}

impl Table {
    /// Takes note of a line; gives back what it adds to the count.
    pub(super) fn note(&mut self, line: &str) -> Tally {
        let Some((mark, rest)) = line.split_once(' ') else { return Tally::default() };
        let (what, reason) = rest.split_once(": ").unwrap_or((rest, ""));
        let (cell, tally) = match mark {
            "ok" => (Cell::Seen(reason.to_owned()), Tally::PASS),
            "FAILED" => (Cell::Failed, Tally::FAIL),
            "-" => (Cell::Lacks(reason.to_owned()), Tally::default()),
            _ => return Tally::default(),
        };
        if let [client, transport, revision, capability] = what.split(' ').collect::<Vec<_>>()[..]
            && TRANSPORTS.iter().any(|(name, _)| *name == transport)
        {
            self.row([client, transport, revision].map(str::to_owned)).insert(capability.to_owned(), cell);
        }
        tally
    }

    fn row(&mut self, key: Key) -> &mut BTreeMap<String, Cell> {
        let at = self.rows.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
            self.rows.push((key, BTreeMap::new()));
            self.rows.len() - 1
        });
        &mut self.rows[at].1
    }

    /// Whether nothing went wrong.
    fn is_good(&self) -> bool {
        self.rows.iter().all(|(_, cells)| !cells.values().any(|cell| *cell == Cell::Failed))
    }

    /// What a client that came said nothing of: a failure of its script.
    pub(super) fn gaps(&self) -> Vec<String> {
        let gaps = self.rows.iter().flat_map(|(key, cells)| {
            let missing = CAPABILITIES.iter().filter(|capability| !cells.contains_key(**capability));
            missing.map(move |capability| format!("{} {capability}", key.join(" ")))
        });
        gaps.collect()
    }

    /// The page.
    fn page(&self) -> String {
        let mut reasons: Vec<&str> = Vec::new();
        let mut text = HEAD.to_owned();
        let titles = CAPABILITIES.map(|capability| capability.replace('_', " "));
        let _ = writeln!(text, "| client | over | revision | {} |", titles.join(" | "));
        let _ = writeln!(text, "|---|---|---|{}", "---|".repeat(CAPABILITIES.len()));
        for ([client, transport, revision], cells) in &self.rows {
            let known = TRANSPORTS.iter().find(|(name, _)| name == transport);
            let transport = known.map_or(transport.as_str(), |(_, title)| title);
            let _ = write!(text, "| {} | {transport} | {revision} |", title(client));
            for capability in CAPABILITIES {
                let _ = match cells.get(capability) {
                    Some(Cell::Seen(part)) if part.is_empty() => write!(text, " yes |"),
                    Some(Cell::Seen(part)) => write!(text, " yes {} |", footnote(&mut reasons, part)),
                    Some(Cell::Failed) | None => write!(text, " FAILED |"),
                    Some(Cell::Lacks(reason)) => write!(text, " – {} |", footnote(&mut reasons, reason)),
                };
            }
            text.push('\n');
        }
        text.push('\n');
        for (number, reason) in (1..).zip(reasons) {
            let _ = writeln!(text, "{number}. {reason}");
        }
        text
    }

    /// Compares the page with what was seen and writes it anew; in CI a difference is a failure instead.
    ///
    /// # Errors
    /// The page can't be written.
    pub(super) fn keep(&self, project: &Project) -> Result<Tally> {
        let path = project.root().join(PAGE);
        let page = self.page();
        if !self.is_good() {
            report::note(&format!("`{PAGE}` stays as it is while a check fails"));
            return Ok(Tally::default());
        }
        if fs::read_to_string(&path).is_ok_and(|kept| kept == page) {
            return Ok(Tally::PASS);
        }
        if env::var("CI").is_ok_and(|value| value == "true") {
            report::problem(&format!("`{PAGE}` says something else than was seen: run `cargo xtask judges`"));
            return Ok(Tally::FAIL);
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| format!("`{}` can't be made", folder.display()))?;
        }
        fs::write(&path, page).with_context(|| format!("`{PAGE}` can't be written"))?;
        report::note(&format!("`{PAGE}` was written anew: look at what changed, and commit it"));
        Ok(Tally::PASS)
    }
}

/// A client as people know it, with its version.
fn title(client: &str) -> String {
    let (name, version) = client.rsplit_once('-').unwrap_or((client, ""));
    let known = CLIENTS.iter().find(|(key, _)| *key == name).map_or(name, |(_, title)| title);
    format!("{known} {version}")
}

/// The mark of a reason.
fn footnote<'a>(reasons: &mut Vec<&'a str>, reason: &'a str) -> String {
    let known = reasons.iter().position(|known| *known == reason);
    let at = known.unwrap_or_else(|| {
        reasons.push(reason);
        reasons.len() - 1
    });
    format!("({})", at + 1)
}
