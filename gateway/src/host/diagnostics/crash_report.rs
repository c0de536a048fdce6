//! Why a guest ended itself, in what it printed last: a panic of Rust, an exception of Python or of JavaScript.
//!
//! The runtimes of Python and JavaScript are written in Rust: what the guest's author wrote ends in a panic of theirs,
//! whose own place says nothing. Python prints a traceback before it, JavaScript's exception stands in the panic's message.

use std::fmt;

/// What an interpreter's panic says where Python printed the exception before.
const OF_PYTHON: &str = "Python function threw";

/// What a guest said before it ended itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::host) struct LastWords {
    pub(in crate::host) how: How,
    /// Why, in the guest's words.
    pub(in crate::host) said: String,
    /// Where in the guest's code; none: it doesn't say.
    place: Option<String>,
}

/// How it ended itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::host) enum How {
    /// Rust: `panic!`.
    Panicked,
    /// Python: an exception that nobody caught.
    Raised,
    /// JavaScript: an exception that nobody caught.
    Threw,
    /// JavaScript: a value that the contract has no place for.
    Gave,
}

/// Reads on after "the plugin".
impl fmt::Display for LastWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { how, said, place } = self;
        match (how, place) {
            (How::Panicked, Some(place)) => write!(f, "panicked at {place}: {said}"),
            (How::Panicked, None) => write!(f, "panicked: {said}"),
            (How::Raised, Some(place)) => write!(f, "raised {said} at {place}"),
            (How::Raised, None) => write!(f, "raised {said}"),
            (How::Threw, Some(place)) => write!(f, "threw \"{said}\" at {place}"),
            (How::Threw, None) => write!(f, "threw \"{said}\""),
            (How::Gave, _) => write!(f, "gave back or threw {said}"),
        }
    }
}

impl LastWords {
    /// Finds them at the end of what was printed.
    pub(super) fn in_output(printed: &str) -> Option<Self> {
        let Some((before, panic)) = printed.rsplit_once("panicked at ") else { return raised(printed) };
        if panic.contains(OF_PYTHON)
            && let Some(raised) = raised(before)
        {
            return Some(raised);
        }
        threw(panic).or_else(|| panicked(panic))
    }
}

/// `src/lib.rs:3:9:`, and the message on the next line.
fn panicked(panic: &str) -> Option<LastWords> {
    let mut lines = panic.lines();
    let place = Some(lines.next()?.trim_end_matches(':').to_owned());
    Some(LastWords { how: How::Panicked, said: lines.next()?.to_owned(), place })
}

/// A traceback: `  File "/0/app.py", line 12, in run` for each step, and then the exception.
fn raised(printed: &str) -> Option<LastWords> {
    let mut found = None;
    let mut place: Option<String> = None;
    let mut is_own = false;
    for line in printed.lines() {
        if let Some(frame) = line.strip_prefix("  File \"") {
            let (file, rest) = frame.split_once("\", line ")?;
            let own = own_file(file);
            // Of the steps below the author's code the last of their own says most.
            if own.is_some() || !is_own {
                let (number, function) = rest.split_once(", in ").unwrap_or((rest, ""));
                let within = if function.is_empty() { String::new() } else { format!(", in `{function}`") };
                place = Some(format!("{}:{number}{within}", own.unwrap_or(file)));
            }
            is_own |= own.is_some();
        } else if !line.is_empty() && !line.starts_with(' ') {
            if let Some(place) = place.take() {
                found = Some(LastWords { how: How::Raised, said: line.to_owned(), place: Some(place) });
            }
            is_own = false;
        }
    }
    found
}

/// A file of the plugin itself, as its author knows it: the tool that builds it puts each folder of theirs under a number.
fn own_file(file: &str) -> Option<&str> {
    let (folder, name) = file.strip_prefix('/')?.split_once('/')?;
    folder.bytes().all(|byte| byte.is_ascii_digit()).then_some(name)
}

/// `Exception { message: Some("…"), stack: Some("…") }`, or what couldn't be read: `FromJs { from: "…", to: "…", … }`.
fn threw(panic: &str) -> Option<LastWords> {
    if let Some((_, wrong)) = panic.split_once("FromJs { from: ") {
        let (from, rest) = quoted(wrong)?;
        let (to, _) = quoted(rest.strip_prefix(", to: ")?)?;
        let article = if to.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        let said = format!("a value of type {from} where the contract wants {article} {to}");
        return Some(LastWords { how: How::Gave, said, place: None });
    }
    let (_, exception) = panic.split_once("Exception { message: Some(")?;
    let (said, rest) = quoted(exception)?;
    let stack = rest.strip_prefix("), stack: Some(").and_then(quoted).map(|(stack, _)| stack);
    let place = stack.as_deref().and_then(|stack| stack.lines().find_map(step));
    Some(LastWords { how: How::Threw, said, place })
}

/// `    at run (/plugin.js:3:9)` or `    at /plugin.js:3:9`.
fn step(line: &str) -> Option<String> {
    let step = line.trim().strip_prefix("at ")?;
    let (function, place) = match step.strip_suffix(')').and_then(|step| step.rsplit_once(" (")) {
        Some((function, place)) => (format!(", in `{function}`"), place),
        None => (String::new(), step),
    };
    place.contains(':').then(|| format!("{}{function}", place.trim_start_matches('/')))
}

/// A text as Rust shows it for debugging, and what stands behind it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut unquoted = String::new();
    let mut rest = text.strip_prefix('"')?.chars();
    loop {
        match rest.next()? {
            '"' => return Some((unquoted, rest.as_str())),
            '\\' => match rest.next()? {
                'n' => unquoted.push('\n'),
                't' => unquoted.push('\t'),
                'r' => unquoted.push('\r'),
                // `\u{1b}`: nothing that a person reads.
                'u' => rest = rest.as_str().split_once('}')?.1.chars(),
                other => unquoted.push(other),
            },
            other => unquoted.push(other),
        }
    }
}

#[cfg(test)]
mod tests;
