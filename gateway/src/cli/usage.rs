//! What is said where the command line doesn't read.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use moongate_core::names::alike;

use crate::cli::failure::Failure;
use crate::cli::{Exit, print};

mod habits;

/// What stands in place of what nobody should read over a shoulder.
const HIDDEN: &str = "…";

/// Says what is wrong, or shows the help that was asked for, and what the process ends with.
pub(super) fn say(error: clap::Error) -> Exit {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let failure = Failure::new(Exit::Usage);
    let is_wrong = error.use_stderr();
    let failure = match habits::cure(&error, &words).or_else(|| argument_of_a_tool(&error, &words)) {
        Some(Cure { message, hint }) => {
            failure.says(&without_password(&message), Some(&without_password(&hint)))
        }
        None => {
            let error = harmless(error);
            let _ = error.print(); // nobody is left to tell
            let (message, hint) = sentences(&error.to_string());
            failure.tells(&message, Some(&hint))
        }
    };
    if is_wrong { failure.report(wants_document(&words)) } else { Exit::Success }
}

/// Is the answer to be one JSON document, as far as words tell that don't read?
fn wants_document(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).take_while(|word| *word != "--").collect();
    words.contains(&"--format=json") || words.windows(2).any(|pair| pair == ["--format", "json"])
}

/// What is wrong and what to do about it, of a text of several paragraphs: `error: …`, tips, the usage.
fn sentences(text: &str) -> (String, String) {
    let line = |paragraph: &str| paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut paragraphs = text.split("\n\n").map(line);
    let first = paragraphs.next().unwrap_or_default();
    let said = first.strip_prefix("error: ").unwrap_or(&first);
    let (message, values) = match said.split_once(" [possible values: ") {
        Some((message, values)) => (message, Some(values.trim_end_matches(']'))),
        None => (said, None),
    };
    let tips = paragraphs.filter_map(|paragraph| paragraph.strip_prefix("tip: ").map(str::to_owned));
    let hints: Vec<_> = tips.chain(values.map(|values| format!("it may be one of {values}"))).collect();
    let hint =
        if hints.is_empty() { "`--help` shows how it is written".to_owned() } else { hints.join("; ") };
    (print::said(message), print::said(&hint))
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
    let is_of_call = error.kind() == ErrorKind::UnknownArgument && verb(words) == "call";
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg).filter(|_| is_of_call) else {
        return None;
    };
    let name = option.split('=').next().unwrap_or(option);
    // clap takes `--timezone` for `--timeout`.
    let suggested = match error.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(suggested)) => Some(suggested.trim_start_matches('-')),
        Some(_) | None => None,
    };
    if alike(name.trim_start_matches('-'), suggested.into_iter()).is_some() {
        return None;
    }
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
