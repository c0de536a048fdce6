//! The results of clients, collected from the lines that their scripts print and written to `docs/clients.md`.
//!
//! A line is `ok`, `FAILED` or `-` (not supported by the client), then client, transport, revision and capability, and
//! after a colon the error, the reason, or the part that isn't supported.

use std::collections::BTreeMap;
use std::env;
use std::fs;

use anyhow::{Context as _, Result};

use super::page;
use crate::project::Project;
use crate::report::{self, Tally};

/// The page with the results.
const RESULTS_PAGE: &str = "docs/clients.md";

/// The capabilities, in the order in which the page names them.
pub(super) const CAPABILITIES: [&str; 14] = [
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

/// The transports, as lines name them and as the page shows them.
pub(super) const TRANSPORTS: [(&str, &str); 6] = [
    ("http", "HTTP"),
    ("stdio", "stdio"),
    ("sse", "HTTP+SSE"),
    ("stdio-to-http", "stdio bridged to HTTP"),
    ("unix", "Unix socket"),
    ("websocket", "WebSocket"),
];

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CheckResult {
    /// The check passed; the text names a part that isn't supported, if there is one.
    Passed(String),
    /// The check failed.
    Failed,
    /// The client doesn't support the capability, with the reason.
    Unsupported(String),
}

/// A client, its transport and its revision.
pub(super) type RowKey = [String; 3];

/// The results of all clients, in the order in which they ran.
#[derive(Debug, Default)]
pub(super) struct ClientTable {
    rows: Vec<(RowKey, BTreeMap<String, CheckResult>)>,
}

impl ClientTable {
    /// Records a line; returns its count.
    pub(super) fn record(&mut self, line: &str) -> Tally {
        let Some((mark, rest)) = line.split_once(' ') else { return Tally::default() };
        let (check, reason) = rest.split_once(": ").unwrap_or((rest, ""));
        let (result, tally) = match mark {
            "ok" => (CheckResult::Passed(reason.to_owned()), Tally::PASS),
            "FAILED" => (CheckResult::Failed, Tally::FAIL),
            "-" => (CheckResult::Unsupported(reason.to_owned()), Tally::default()),
            _ => return Tally::default(),
        };
        if let [client, transport, revision, capability] = check.split(' ').collect::<Vec<_>>()[..]
            && TRANSPORTS.iter().any(|(name, _)| *name == transport)
        {
            self.row([client, transport, revision].map(str::to_owned)).insert(capability.to_owned(), result);
        }
        tally
    }

    fn row(&mut self, key: RowKey) -> &mut BTreeMap<String, CheckResult> {
        let at = self.rows.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
            self.rows.push((key, BTreeMap::new()));
            self.rows.len() - 1
        });
        &mut self.rows[at].1
    }

    /// Did no check fail?
    fn has_no_failures(&self) -> bool {
        self.rows.iter().all(|(_, cells)| !cells.values().any(|cell| *cell == CheckResult::Failed))
    }

    /// The checks that a client's script didn't report.
    pub(super) fn missing_checks(&self) -> Vec<String> {
        let checks = self.rows.iter().flat_map(|(key, cells)| {
            let missing = CAPABILITIES.iter().filter(|capability| !cells.contains_key(**capability));
            missing.map(move |capability| format!("{} {capability}", key.join(" ")))
        });
        checks.collect()
    }

    /// The page in Markdown.
    pub(super) fn page(&self) -> String {
        page::render(&self.rows)
    }

    /// Updates the page if the results differ; in CI a difference is a failure instead.
    ///
    /// # Errors
    /// The page can't be written.
    pub(super) fn update_page(&self, project: &Project) -> Result<Tally> {
        let path = project.root().join(RESULTS_PAGE);
        let page = self.page();
        if !self.has_no_failures() {
            report::note(&format!("`{RESULTS_PAGE}` isn't updated because a check failed"));
            return Ok(Tally::default());
        }
        if fs::read_to_string(&path).is_ok_and(|kept| kept == page) {
            return Ok(Tally::PASS);
        }
        if env::var("CI").is_ok_and(|value| value == "true") {
            report::error(&format!(
                "`{RESULTS_PAGE}` is out of date: run `cargo xtask interop` and commit it"
            ));
            return Ok(Tally::FAIL);
        }
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)
                .with_context(|| format!("can't create `{}`", directory.display()))?;
        }
        fs::write(&path, page).with_context(|| format!("can't write `{RESULTS_PAGE}`"))?;
        report::note(&format!("updated `{RESULTS_PAGE}`: review and commit it"));
        Ok(Tally::PASS)
    }
}
