//! Command-line errors in clap's own words, as text or as a JSON document.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use moongate_model::text::nearest_name;

use crate::cli::error::CommandError;
use crate::cli::stderr::StderrMessages;
use crate::cli::{ExitKind, print};
use crate::telemetry::{LogFormat, set_stderr_format};

/// Options that variables can set, with their short forms.
const VARIABLES: [(&str, Option<&str>, &str); 2] =
    [("--log-format", None, "MOONGATE_LOG_FORMAT"), ("--config", Some("-c"), "MOONGATE_CONFIG")];

/// Replaces the user name and password of a URL.
const REDACTED_MARK: &str = "…";

/// Prints the error, or the help that was requested; returns the exit code.
pub(super) fn report(error: clap::Error) -> ExitKind {
    let arguments: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let is_error = error.use_stderr();
    let error = with_variable(improved(error), &arguments);
    let variable = std::env::var("MOONGATE_LOG_FORMAT").is_ok_and(|format| format == "json");
    let logs_json = is_json(&arguments, "--log-format") || variable;
    if !is_error || !logs_json {
        let _ = error.print(); // a closed stderr can't be reported
    }
    if !is_error {
        return ExitKind::Success;
    }
    let (message, hint) = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            ("missing command".to_owned(), "see `--help`".to_owned())
        }
        _ => message_and_hint(&error.to_string()),
    };
    let mut failure = CommandError::new(ExitKind::Usage).add_error(&message, Some(&hint));
    if logs_json {
        set_stderr_format(LogFormat::Json);
        failure = failure.messages(StderrMessages::error(&message, "", Some(&hint)));
    }
    failure.report(is_json(&arguments, "--format"))
}

/// True if an option has the value `json`. The arguments don't parse, so this only searches them.
fn is_json(arguments: &[String], option: &str) -> bool {
    let words: Vec<&str> = arguments.iter().map(String::as_str).take_while(|word| *word != "--").collect();
    words.contains(&&*format!("{option}=json")) || words.windows(2).any(|pair| pair == [option, "json"])
}

/// Splits clap's text, which is `error: …` followed by tips and usage in paragraphs, into a message and a hint.
fn message_and_hint(text: &str) -> (String, String) {
    let single_line = |paragraph: &str| paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut paragraphs = text.split("\n\n").map(single_line);
    let first = paragraphs.next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(&first);
    let (message, values) = match first.split_once(" [possible values: ") {
        Some((message, values)) => (message, Some(values.trim_end_matches(']'))),
        None => (first, None),
    };
    let tips = paragraphs.filter_map(|paragraph| paragraph.strip_prefix("tip: ").map(str::to_owned));
    let hints: Vec<_> = tips.chain(values.map(|values| format!("possible values: {values}"))).collect();
    let hint = if hints.is_empty() { "see `--help`".to_owned() } else { hints.join("; ") };
    (print::inline(message), print::inline(&hint))
}

/// The error without passwords, and with a tip for tool arguments that were given as options of `call`.
fn improved(mut error: clap::Error) -> clap::Error {
    for kind in [ContextKind::InvalidValue, ContextKind::InvalidArg] {
        let redacted = match error.get(kind) {
            Some(ContextValue::String(text)) => without_password(text),
            _ => continue,
        };
        error.insert(kind, ContextValue::String(redacted));
    }
    let is_of_call = matches!(error.get(ContextKind::Usage),
        Some(ContextValue::StyledStr(usage)) if usage.to_string().contains("moongate call"));
    if is_of_call && error.kind() == ErrorKind::UnknownArgument && !is_typo_of_suggestion(&error) {
        let tip = StyledStr::from("tool arguments have no dashes: write `name=value`");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

/// The error with the variable as the origin of an invalid value, if no argument sets the option.
fn with_variable(mut error: clap::Error, arguments: &[String]) -> clap::Error {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else { return error };
    let is_set = |word: &String, option: &str| word.split('=').next() == Some(option);
    let variable = VARIABLES.iter().find(|(option, short, _)| {
        argument.split(' ').next() == Some(option)
            && !arguments
                .iter()
                .any(|word| is_set(word, option) || short.is_some_and(|short| word.starts_with(short)))
    });
    if let Some((_, _, variable)) = variable {
        error.insert(ContextKind::InvalidArg, ContextValue::String((*variable).to_owned()));
    }
    error
}

/// True if the unknown option is probably a misspelling of the one that clap suggests, which also has wilder guesses.
fn is_typo_of_suggestion(error: &clap::Error) -> bool {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.trim_start_matches('-')),
        _ => None,
    };
    let written = text(ContextKind::InvalidArg).map(|written| written.split('=').next().unwrap_or(written));
    written
        .is_some_and(|written| nearest_name(written, text(ContextKind::SuggestedArg).into_iter()).is_some())
}

/// The text with the user name and password of each URL redacted.
fn without_password(text: &str) -> String {
    let redacted = |word: &str| {
        let (scheme, rest) = word.split_once("://")?;
        let (_, host) = rest.rsplit_once('@')?;
        Some(format!("{scheme}://{REDACTED_MARK}@{host}"))
    };
    let words = text.split_inclusive(char::is_whitespace);
    words.map(|word| redacted(word).unwrap_or_else(|| word.to_owned())).collect()
}

#[cfg(test)]
mod tests;
