//! `docs/clients.md`: one row for each client, with the exceptions spelled out.

use std::collections::{BTreeMap, BTreeSet};

use super::table::{CAPABILITIES, CheckResult, RowKey, TRANSPORTS};

/// The text above the table.
const PAGE_HEAD: &str = include_str!("head.md");

/// The clients, as lines name them and as the page shows them.
const CLIENTS: [(&str, &str); 7] = [
    ("fastmcp", "FastMCP"),
    ("inspector", "Inspector, command line"),
    ("mcp-remote", "`mcp-remote`"),
    ("python", "Python SDK"),
    ("rmcp", "Rust SDK (`rmcp`)"),
    ("typescript", "TypeScript SDK"),
    ("typescript-client", "TypeScript SDK (`client`)"),
];

/// A run of a client: its transport and its revision.
type ClientRun<'a> = (&'a str, &'a str);

/// The runs of one client, with their results.
struct ClientResults<'a> {
    name: &'a str,
    runs: Vec<(ClientRun<'a>, &'a BTreeMap<String, CheckResult>)>,
}

/// The page in Markdown.
pub(super) fn render(rows: &[(RowKey, BTreeMap<String, CheckResult>)]) -> String {
    let mut text = PAGE_HEAD.to_owned();
    text.push_str("| client | transports | revisions | not supported |\n|---|---|---|---|\n");
    for client in clients(rows) {
        let columns =
            [display_name(client.name), client.transports(), client.revisions(), client.exceptions()];
        text.push_str(&format!("| {} |\n", columns.join(" | ")));
    }
    text
}

/// The clients in the order in which they ran.
fn clients(rows: &[(RowKey, BTreeMap<String, CheckResult>)]) -> Vec<ClientResults<'_>> {
    let mut clients: Vec<ClientResults<'_>> = Vec::new();
    for ([name, transport, revision], results) in rows {
        let run = ((transport.as_str(), revision.as_str()), results);
        match clients.iter_mut().find(|client| client.name == name) {
            Some(client) => client.runs.push(run),
            None => clients.push(ClientResults { name, runs: vec![run] }),
        }
    }
    clients
}

impl ClientResults<'_> {
    fn all_runs(&self) -> Vec<ClientRun<'_>> {
        self.runs.iter().map(|(run, _)| *run).collect()
    }

    /// The transports, each with its revisions if it doesn't have all of the client's.
    fn transports(&self) -> String {
        let runs = self.all_runs();
        let all = revisions_of(&runs);
        let texts = transports_of(&runs).into_iter().map(|transport| {
            let with: Vec<ClientRun<'_>> = runs.iter().copied().filter(|run| run.0 == transport).collect();
            let revisions = revisions_of(&with);
            let title = transport_title(transport);
            if revisions == all { title.to_owned() } else { format!("{title} ({})", revisions.join(", ")) }
        });
        texts.collect::<Vec<_>>().join(", ")
    }

    fn revisions(&self) -> String {
        revisions_of(&self.all_runs()).join(", ")
    }

    /// The capabilities that aren't fully supported, with the runs that they are about and the reason.
    fn exceptions(&self) -> String {
        let mut exceptions: Vec<(&str, Vec<ClientRun<'_>>, Vec<String>)> = Vec::new();
        for capability in CAPABILITIES {
            for (reason, runs) in self.gaps(capability) {
                let title = format!("**{}**", capability.replace('_', " "));
                let same = exceptions.iter_mut().find(|known| known.0 == reason && known.1 == runs);
                match same {
                    Some((_, _, capabilities)) => capabilities.push(title),
                    None => exceptions.push((reason, runs, vec![title])),
                }
            }
        }
        if exceptions.is_empty() {
            return "–".to_owned();
        }
        let texts = exceptions.into_iter().map(|(reason, runs, capabilities)| {
            format!("{}{}: {reason}", capabilities.join(", "), self.condition(&runs))
        });
        texts.collect::<Vec<_>>().join("<br>")
    }

    /// The reasons why a capability isn't fully supported, each with its runs.
    fn gaps(&self, capability: &str) -> Vec<(&str, Vec<ClientRun<'_>>)> {
        let mut gaps: Vec<(&str, Vec<ClientRun<'_>>)> = Vec::new();
        for (run, results) in &self.runs {
            let reason = match results.get(capability) {
                Some(CheckResult::Passed(part)) if part.is_empty() => continue,
                Some(CheckResult::Passed(reason) | CheckResult::Unsupported(reason)) => reason.as_str(),
                Some(CheckResult::Failed) | None => "FAILED",
            };
            match gaps.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, runs)) => runs.push(*run),
                None => gaps.push((reason, vec![*run])),
            }
        }
        gaps
    }

    /// The revisions or transports that `runs` stand for; empty if these are all of the client's.
    fn condition(&self, runs: &[ClientRun<'_>]) -> String {
        let all = self.all_runs();
        if runs == all {
            return String::new();
        }
        let revisions = revisions_of(runs);
        let transports = transports_of(runs);
        if runs.len() == all.iter().filter(|run| revisions.contains(&run.1)).count() {
            return format!(" in {}", list(&revisions));
        }
        let titles: Vec<&str> = transports.iter().copied().map(transport_title).collect();
        if runs.len() == all.iter().filter(|run| transports.contains(&run.0)).count() {
            return format!(" over {}", list(&titles));
        }
        let each =
            runs.iter().map(|(transport, revision)| format!("{} in {revision}", transport_title(transport)));
        format!(" over {}", list(&each.collect::<Vec<_>>()))
    }
}

/// The revisions of some runs, oldest first.
fn revisions_of<'a>(runs: &[ClientRun<'a>]) -> Vec<&'a str> {
    runs.iter().map(|run| run.1).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The transports of some runs, in their order.
fn transports_of<'a>(runs: &[ClientRun<'a>]) -> Vec<&'a str> {
    let mut transports = Vec::new();
    for (transport, _) in runs {
        if !transports.contains(transport) {
            transports.push(transport);
        }
    }
    transports
}

/// Items of a sentence: `a`, `a and b`, `a, b and c`.
fn list<T: AsRef<str>>(items: &[T]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match items.as_slice() {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn transport_title(transport: &str) -> &str {
    TRANSPORTS.iter().find(|(name, _)| *name == transport).map_or(transport, |(_, title)| title)
}

/// A client's name and version as the page shows them.
fn display_name(client: &str) -> String {
    let (name, version) = client.rsplit_once('-').unwrap_or((client, ""));
    let known = CLIENTS.iter().find(|(key, _)| *key == name).map_or(name, |(_, title)| title);
    format!("{known} {version}")
}

#[cfg(test)]
mod tests;
