//! Words that people bring from other programs, and what they are here. Used by [`usage`](super) only.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::{Cure, verb};
use crate::cli::print;

/// Verbs of other programs, and ours.
const VERBS: [(&str, &str); 20] = [
    ("start", "serve"),
    ("run", "serve"),
    ("up", "serve"),
    ("server", "serve"),
    ("validate", "check"),
    ("verify", "check"),
    ("lint", "check"),
    ("test", "check"),
    ("status", "health"),
    ("ping", "health"),
    ("restart", "reload"),
    ("refresh", "reload"),
    ("init", "new"),
    ("create", "new"),
    ("ls", "list"),
    ("show", "inspect"),
    ("tools", "list tools"),
    ("plugins", "list plugins"),
    ("help", "--help"),
    ("version", "--version"),
];

/// What an option of other programs is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meant {
    /// This, which says all.
    Whole(&'static str),
    /// This, before the same value; the other where there is none.
    Before(&'static str, &'static str),
    /// What happens without it.
    Nothing,
}

fn meant(verb: &str, option: &str) -> Option<Meant> {
    let address =
        matches!(option, "--port" | "-p" | "--listen" | "--address" | "--addr" | "--bind" | "--host");
    Some(match (verb, option) {
        ("call", _) => return None,
        (_, "--json") => Meant::Whole("--format json"),
        (_, "-o" | "--output") => Meant::Before("--format", "json"),
        (_, "-f" | "--file" | "--conf" | "--configuration") => Meant::Before("-c", "gateway.toml"),
        ("client", "--stdio") => Meant::Nothing,
        ("serve", _) if address => Meant::Before("--http", "8931"),
        ("health" | "reload" | "list", _) if address => Meant::Before("--admin", "8932"),
        _ => return None,
    })
}

/// What should have been written, where that is known.
pub(super) fn cure(error: &clap::Error, words: &[String]) -> Option<Cure> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => another_verb(text(ContextKind::InvalidSubcommand)?, words),
        ErrorKind::UnknownArgument => {
            let given = text(ContextKind::InvalidArg)?;
            configuration(given, words)
                .or_else(|| arguments(given, words))
                .or_else(|| another_option(given, words))
        }
        ErrorKind::InvalidValue => configuration(text(ContextKind::InvalidValue)?, words),
        _ => None,
    }
}

fn another_verb(given: &str, words: &[String]) -> Option<Cure> {
    let (_, ours) = VERBS.iter().find(|(theirs, _)| *theirs == given)?;
    let at = words.iter().skip(1).position(|word| word == given)? + 1;
    let line = replaced(words, at, 1, &ours.split(' ').collect::<Vec<_>>());
    Some(Cure { message: format!("there is no command `{given}`"), hint: format!("write `{line}`") })
}

/// A configuration that is named without its option.
fn configuration(given: &str, words: &[String]) -> Option<Cure> {
    let at = words.iter().position(|word| word == given)?;
    let is_one = given.ends_with(".toml") && verb(words) != "call";
    is_one.then(|| Cure {
        message: format!("`{}` takes no configuration in this place", print::said(verb(words))),
        hint: format!("write `{}`", replaced(words, at, 1, &["-c", given])),
    })
}

/// All arguments of a tool behind an option that `call` doesn't have.
fn arguments(given: &str, words: &[String]) -> Option<Cure> {
    let name = given.split('=').next().unwrap_or(given);
    let is_one = matches!(name, "--args" | "--arg" | "--arguments" | "--argument" | "--params" | "--input");
    if verb(words) != "call" || !is_one {
        return None;
    }
    let at = words.iter().position(|word| word == name || word.starts_with(&format!("{name}=")))?;
    let (value, taken) = match words[at].split_once('=') {
        Some((_, value)) => (value, 1),
        None => (words.get(at + 1)?.as_str(), 2),
    };
    let line = if value.trim_start().starts_with('{') {
        replaced(words, at, taken, &["--json", value])
    } else if value.contains('=') {
        replaced(words, at, taken, &[value])
    } else {
        return None;
    };
    Some(Cure { message: format!("`call` has no option `{name}`"), hint: format!("write `{line}`") })
}

fn another_option(given: &str, words: &[String]) -> Option<Cure> {
    let name = given.split('=').next().unwrap_or(given);
    let verb = verb(words);
    let meant = meant(verb, name)?;
    let at = words.iter().position(|word| word == name || word.starts_with(&format!("{name}=")))?;
    let value = words[at].split_once('=').map(|(_, value)| value);
    let behind = words.get(at + 1).filter(|next| value.is_none() && !next.starts_with('-'));
    let line = match meant {
        Meant::Whole(ours) => replaced(words, at, 1, &ours.split(' ').collect::<Vec<_>>()),
        Meant::Nothing => replaced(words, at, 1, &[]),
        Meant::Before(ours, usual) => match behind {
            Some(value) => replaced(words, at, 2, &[ours, value]),
            None => replaced(words, at, 1, &[ours, value.unwrap_or(usual)]),
        },
    };
    let message = format!("`{}` has no option `{}`", print::said(verb), print::said(name));
    Some(Cure { message, hint: format!("write `{line}`") })
}

/// The line with others in place of some of its words.
fn replaced(words: &[String], at: usize, taken: usize, others: &[&str]) -> String {
    let words = words.iter().map(String::as_str);
    let line = words.clone().take(at).chain(others.iter().copied()).chain(words.skip(at + taken));
    line.map(|word| print::word(&print::said(word))).collect::<Vec<_>>().join(" ")
}
