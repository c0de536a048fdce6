//! What is said where the command line doesn't read.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::cli::{Exit, print};

/// Says what is wrong, or shows the help that was asked for, and what the process ends with.
pub(super) fn say(error: &clap::Error) -> Exit {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    match argument_of_a_tool(error, &words) {
        Some((name, cure)) => {
            let hint = format!("an argument of the tool is written without dashes: {cure}");
            print::error(&format!("`call` has no option `{}`", print::said(&name)), Some(&hint));
        }
        None => {
            let _ = error.print(); // nobody is left to tell
        }
    }
    if error.use_stderr() { Exit::Usage } else { Exit::Success }
}

/// A tool's argument that was written like an option of `call`, and as it should be.
fn argument_of_a_tool(error: &clap::Error, words: &[String]) -> Option<(String, String)> {
    let is_of_call = error.kind() == ErrorKind::UnknownArgument
        && error.get(ContextKind::SuggestedArg).is_none()
        && words.iter().any(|word| word == "call");
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg).filter(|_| is_of_call) else {
        return None;
    };
    let name = option.split('=').next().unwrap_or(option);
    let at = words.iter().position(|word| word == name || word.starts_with(&format!("{name}=")))?;
    let behind = words.get(at + 1).filter(|next| !next.starts_with('-') && !next.contains('='));
    let value = words[at].split_once('=').map(|(_, value)| value).or(behind.map(String::as_str));
    let pair = format!("{}={}", name.trim_start_matches('-'), value.unwrap_or("VALUE"));
    Some((name.to_owned(), print::word(&print::said(&pair))))
}

#[cfg(test)]
mod tests;
