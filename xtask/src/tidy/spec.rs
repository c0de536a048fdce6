//! Each file of the protocol names the page of the MCP specification that it follows.
//!
//! A reference is a parenthesis in the opening comment with a revision and its pages: `(2025-11-25, server/tools)`.
//! Semicolons separate revisions; a colon or a heading in quotation marks starts a comment. A page is a path below
//! `modelcontextprotocol.io/specification/<revision>/`.

use super::Finding;

/// The module that is checked, in whichever crate of the gateway it is.
const PROTOCOL_MODULE: &str = "/src/mcp";

const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// All pages, each with the first and the last revision that has it, as indices of [`REVISIONS`].
const PAGES: [(&str, usize, usize); 37] = [
    ("architecture", 0, 4),
    ("basic", 0, 4),
    ("basic/authorization", 1, 4),
    ("basic/authorization/authorization-server-discovery", 4, 4),
    ("basic/authorization/client-registration", 4, 4),
    ("basic/authorization/security-considerations", 4, 4),
    ("basic/lifecycle", 0, 3),
    ("basic/messages", 0, 0),
    ("basic/patterns", 4, 4),
    ("basic/patterns/cancellation", 4, 4),
    ("basic/patterns/mrtr", 4, 4),
    ("basic/patterns/progress", 4, 4),
    ("basic/patterns/subscriptions", 4, 4),
    ("basic/transports", 0, 4),
    ("basic/transports/stdio", 4, 4),
    ("basic/transports/streamable-http", 4, 4),
    ("basic/utilities/cancellation", 0, 3),
    ("basic/utilities/ping", 0, 3),
    ("basic/utilities/progress", 0, 3),
    ("basic/utilities/tasks", 3, 3),
    ("basic/versioning", 4, 4),
    ("changelog", 1, 4),
    ("client/elicitation", 2, 4),
    ("client/roots", 0, 4),
    ("client/sampling", 0, 4),
    ("deprecated", 4, 4),
    ("index", 0, 4),
    ("schema", 2, 4),
    ("server", 0, 4),
    ("server/discover", 4, 4),
    ("server/prompts", 0, 4),
    ("server/resources", 0, 4),
    ("server/tools", 0, 4),
    ("server/utilities/caching", 4, 4),
    ("server/utilities/completion", 0, 4),
    ("server/utilities/logging", 0, 4),
    ("server/utilities/pagination", 0, 4),
];

/// Checks a file of the protocol; other files needn't name a page.
pub(super) fn check(path: &str, text: &str, findings: &mut Vec<Finding>) {
    let rest = path.starts_with("gateway/").then(|| path.split_once(PROTOCOL_MODULE)).flatten();
    let is_protocol = rest.is_some_and(|(_, rest)| rest == ".rs" || rest.starts_with('/'));
    if !is_protocol || super::is_test(path) {
        return;
    }
    let mut find = |message: String| findings.push(Finding { place: path.to_owned(), message });
    let lines: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim).collect();
    let opening = lines.join(" ");
    let references: Vec<&str> = opening
        .split('(')
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|inside| is_date(inside.get(..10).unwrap_or_default()))
        .collect();
    if references.is_empty() {
        find("name the page of the MCP specification in the opening comment, such as `(2025-11-25, server/tools)`".into());
    }
    for part in references.iter().flat_map(|reference| reference.split(';')) {
        if let Err(message) = check_reference(part) {
            find(message);
        }
    }
}

/// Returns true if the text has the form of a date.
fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

/// Checks one revision and its pages.
fn check_reference(text: &str) -> Result<(), String> {
    let text = text.split([':', '"']).next().unwrap_or_default();
    let mut words = text.split([',', ' ']).filter(|word| !word.is_empty() && *word != "and");
    let revision = words.next().unwrap_or_default();
    let known = REVISIONS.iter().position(|known| *known == revision);
    let at = known.ok_or_else(|| format!("`{revision}` isn't a revision of MCP"))?;
    let mut pages = words.peekable();
    if pages.peek().is_none() {
        return Err(format!("the reference to {revision} names no page"));
    }
    pages.try_for_each(|page| {
        let has =
            |(name, first, last): &(&str, usize, usize)| *name == page && (*first..=*last).contains(&at);
        if PAGES.iter().any(has) { Ok(()) } else { Err(format!("{revision} has no page `{page}`")) }
    })
}
