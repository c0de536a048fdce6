//! What is said where the command line doesn't read.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::cli::{Exit, print};

mod habits;

/// What stands in place of what nobody should read over a shoulder.
const HIDDEN: &str = "…";

/// Says what is wrong, or shows the help that was asked for, and what the process ends with.
pub(super) fn say(error: clap::Error) -> Exit {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let exit = if error.use_stderr() { Exit::Usage } else { Exit::Success };
    match habits::cure(&error, &words).or_else(|| argument_of_a_tool(&error, &words)) {
        Some(Cure { message, hint }) => {
            print::error(&without_password(&message), Some(&without_password(&hint)))
        }
        None => {
            let _ = harmless(error).print(); // nobody is left to tell
        }
    }
    exit
}

/// What is wrong with a line, and what to write instead.
#[derive(Debug, PartialEq, Eq)]
struct Cure {
    message: String,
    hint: String,
}

/// The error without advice that leads nowhere, and without passwords.
fn harmless(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::StyledStrs(mut tips)) = error.remove(ContextKind::Suggested) {
        // No verb takes anything that looks like an option.
        tips.retain(|tip| !tip.to_string().contains("as a value"));
        if !tips.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
    for kind in [ContextKind::InvalidValue, ContextKind::InvalidArg] {
        let shown = match error.get(kind) {
            Some(ContextValue::String(text)) => without_password(text),
            _ => continue,
        };
        error.insert(kind, ContextValue::String(shown));
    }
    error
}

/// The text with addresses that hold a name and a password without those.
fn without_password(text: &str) -> String {
    let words = text.split_inclusive(char::is_whitespace).map(|word| {
        let (scheme, rest) = word.split_once("://")?;
        let (_, host) = rest.rsplit_once('@')?;
        Some(format!("{scheme}://{HIDDEN}@{host}"))
    });
    let shown = words.zip(text.split_inclusive(char::is_whitespace));
    shown.map(|(without, word)| without.unwrap_or_else(|| word.to_owned())).collect()
}

/// The verb of a line.
fn verb(words: &[String]) -> &str {
    let mut words = words.iter().skip(1).map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "-c" | "--config" | "--log-format" => drop(words.next()),
            option if option.starts_with('-') => {}
            verb => return verb,
        }
    }
    ""
}

/// A tool's argument that was written like an option of `call`, and as it should be.
fn argument_of_a_tool(error: &clap::Error, words: &[String]) -> Option<Cure> {
    let is_of_call = error.kind() == ErrorKind::UnknownArgument
        && error.get(ContextKind::SuggestedArg).is_none()
        && verb(words) == "call";
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg).filter(|_| is_of_call) else {
        return None;
    };
    let name = option.split('=').next().unwrap_or(option);
    let at = words.iter().position(|word| word == name || word.starts_with(&format!("{name}=")))?;
    let behind = words.get(at + 1).filter(|next| !next.starts_with('-') && !next.contains('='));
    let value = words[at].split_once('=').map(|(_, value)| value).or(behind.map(String::as_str));
    let pair = format!("{}={}", name.trim_start_matches('-'), value.unwrap_or("VALUE"));
    Some(Cure {
        message: format!("`call` has no option `{}`", print::said(name)),
        hint: format!(
            "an argument of the tool is written without dashes: {}",
            print::word(&print::said(&pair))
        ),
    })
}

#[cfg(test)]
mod tests;
