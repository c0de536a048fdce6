//! `${VAR}`, `${VAR:-default}` and `$${` inside a text that was already parsed.
//!
//! What a variable holds is never parsed again: it can't close a quote or start a table.

use std::env::VarError;
use std::ops::Range;

use crate::config::read::environment::{Environment, meant};
use crate::config::model::diagnostic::{Problem, quoted, visible};
use crate::config::read::reader::{Run, Value, written_part};

/// What is wrong with one use of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct Fault {
    /// The use as it is written, from `${` to `}` or the end.
    written: String,
    /// Where it stands in the parsed text.
    at: usize,
    cause: Cause,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Cause {
    Unset(String),
    NotUnicode(String),
    Unclosed,
    BadForm,
}

/// A text whose variables are filled in, and where each stretch of it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::config) struct Filled {
    pub(in crate::config) text: String,
    pub(in crate::config) runs: Vec<Run>,
}

impl Filled {
    /// Adds what `parsed` bytes of the parsed text, the next ones, come to.
    fn add(&mut self, filled: &str, parsed: usize) {
        let (start, from) = (self.text.len(), self.runs.last().map_or(0, |run| run.parsed.end));
        self.text.push_str(filled);
        self.runs.push(Run { filled: start..self.text.len(), parsed: from..from + parsed });
    }

    /// What was filled in: the text as a whole, and each use of a variable. `written` is what it was before, and `place`
    /// where it stands in the file.
    pub(in crate::config) fn expansions(&self, written: &str, place: &Range<usize>) -> Vec<Expansion> {
        if self.text == written {
            return Vec::new();
        }
        let one = |filled: &str, written: &str| Expansion {
            filled: filled.to_owned(),
            written: written.to_owned(),
            place: place.clone(),
        };
        let part = |run: &Run| {
            let (filled, written) = (&self.text[run.filled.clone()], &written[run.parsed.clone()]);
            let is_default = || written.ends_with(&format!(":-{filled}}}")); // which the file itself says
            (written.starts_with("${") && !filled.is_empty() && !is_default()).then(|| one(filled, written))
        };
        let mut all = vec![one(&quoted(&self.text), &quoted(written)), one(&self.text, written)];
        let mut parts: Vec<_> = self.runs.iter().filter_map(part).collect();
        parts.sort_by_key(|part| std::cmp::Reverse(part.filled.len())); // one may be a part of another
        all.append(&mut parts);
        all
    }
}

/// A shorter value may stand in a message by chance, in bytes.
const TELLING: usize = 8;

/// No more characters of a value stand in a message.
const LONGEST_SHOWN: usize = 80;

/// What a variable came to, and how that is written in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct Expansion {
    filled: String,
    written: String,
    /// Where the text with the variable stands.
    place: Range<usize>,
}

impl Expansion {
    /// The same problem in the words of the file: what a variable holds may be a secret. Paths that were looked at, which
    /// stand at the place itself, stay as they are: else nobody could find the file.
    pub(in crate::config) fn undo(&self, problem: Problem) -> Problem {
        let is_about =
            |at: &Range<usize>| at.start < self.place.end && self.place.start < at.end.max(at.start + 1);
        let is_about = problem.place.as_ref().is_some_and(is_about);
        if self.filled.len() < TELLING && !is_about {
            return problem;
        }
        let Problem { message, hint, .. } = problem;
        let (message, hint) = (self.undone(message), hint.map(|hint| self.undone(hint)));
        Problem { message, hint, ..problem }
    }

    /// A text with what the variable came to undone, in each form that messages give it.
    fn undone(&self, mut text: String) -> String {
        for form in self.forms() {
            if form.len() >= TELLING {
                text = text.replace(&form, &self.written);
            } else if form.contains(char::is_alphanumeric) {
                text = replace_words(&text, &form, &self.written);
            }
        }
        text
    }

    /// How messages write it: as it is, in small letters, with what can't be shown escaped, and cut.
    fn forms(&self) -> Vec<String> {
        let mut forms = vec![self.filled.clone()];
        let mut add = |form: String| {
            if !forms.contains(&form) {
                forms.push(form);
            }
        };
        add(self.filled.to_lowercase());
        for form in [visible(&self.filled).into_owned(), self.filled.escape_debug().to_string()] {
            add(form.trim_end_matches(['.', '/', '=']).to_owned());
            add(form);
        }
        if self.filled.chars().nth(LONGEST_SHOWN).is_some() {
            let cut: String = self.filled.chars().take(LONGEST_SHOWN).collect();
            add(format!("{}…", visible(&cut)));
            add(format!("{}…", cut.escape_debug()));
        }
        forms
    }
}

/// `text` with each `word` that stands for itself replaced.
fn replace_words(text: &str, word: &str, by: &str) -> String {
    let (mut out, mut from) = (String::new(), 0);
    for (at, _) in text.match_indices(word) {
        let end = at + word.len();
        let is_inside = |c: char| c.is_alphanumeric() || c == '_';
        // What is undone already stays.
        let is_alone = !text[..at].ends_with(is_inside)
            && !text[end..].starts_with(is_inside)
            && !text[..at].ends_with("${");
        if is_alone {
            out.extend([&text[from..at], by]);
            from = end;
        }
    }
    out.push_str(&text[from..]);
    out
}

/// Fills in the variables of `text`, or tells all that is wrong with them.
pub(in crate::config) fn expand(text: &str, environment: &dyn Environment) -> Result<Filled, Vec<Fault>> {
    let mut filled = Filled::default();
    let mut faults = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        filled.add(&rest[..at], at);
        let used = &rest[at..];
        if rest[..at].ends_with('$') {
            filled.add("{", 2); // after one of the two dollars
            rest = &used[2..];
            continue;
        }
        let end = used.find('}').map_or(used.len(), |end| end + 1);
        match value(&used[..end], environment) {
            Ok(value) => filled.add(&value, end),
            Err(cause) => {
                let at = text.len() - used.len();
                faults.push(Fault { written: used[..end].to_owned(), at, cause });
            }
        }
        rest = &used[end..];
    }
    filled.add(rest, rest.len());
    if faults.is_empty() { Ok(filled) } else { Err(faults) }
}

/// The names of the variables that `text` is filled in with.
pub(in crate::config) fn variables(text: &str) -> impl Iterator<Item = &str> {
    let uses = text.match_indices("${").filter(|(at, _)| !text[..*at].ends_with('$'));
    uses.filter_map(|(at, _)| {
        let used = &text[at + 2..];
        let end = used.find([':', '}'])?;
        Some(&used[..end])
    })
}

/// The value of one use, which starts with `${`.
fn value(used: &str, environment: &dyn Environment) -> Result<String, Cause> {
    let Some(inner) = used.strip_prefix("${").and_then(|used| used.strip_suffix('}')) else {
        return Err(Cause::Unclosed);
    };
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    if !is_variable_name(name) || default.is_some_and(|default| default.contains("${")) {
        return Err(Cause::BadForm);
    }
    match (environment.variable(name), default) {
        (Ok(value), Some(default)) if value.is_empty() => Ok(default.to_owned()),
        (Ok(value), _) => Ok(value),
        (Err(VarError::NotPresent), Some(default)) => Ok(default.to_owned()),
        (Err(VarError::NotPresent), None) => Err(Cause::Unset(name.to_owned())),
        (Err(VarError::NotUnicode(_)), _) => Err(Cause::NotUnicode(name.to_owned())),
    }
}

/// Can a variable be called so?
pub(in crate::config) fn is_variable_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl Fault {
    /// Where in the parsed text something stands that may be a secret: what is meant for when a variable isn't set, and in
    /// a plugin's settings all that only looks like a variable.
    pub(in crate::config) fn hidden(&self, path: &str) -> Option<Range<usize>> {
        let (name, behind) = self.parts();
        let from = match self.cause {
            Cause::Unset(_) | Cause::NotUnicode(_) => return None,
            Cause::Unclosed | Cause::BadForm if path.contains(".config.") => 2,
            Cause::Unclosed | Cause::BadForm if behind.starts_with([':', '-']) => name.len(),
            Cause::Unclosed | Cause::BadForm => return None,
        };
        (self.written.len() > from).then(|| self.at + from..self.at + self.written.len())
    }

    /// The use up to the end of the variable's name, and what follows that.
    fn parts(&self) -> (&str, &str) {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = self.written[2..].find(|c| !is_name(c)).map_or(self.written.len(), |end| end + 2);
        self.written.split_at(end)
    }

    /// Says it; `written` is the value as it stands in the file, with its quotes, and `parsed` what that comes to.
    pub(in crate::config) fn into_problem(
        self,
        value: &Value<'_>,
        written: &str,
        parsed: &str,
        environment: &dyn Environment,
    ) -> Problem {
        let place = written_part(written, parsed, self.at..self.at + self.written.len());
        let start = value.place.start;
        let place = place.map_or_else(|| value.place.clone(), |part| start + part.start..start + part.end);
        let path = &value.path;
        match &self.cause {
            Cause::Unset(name) => {
                let problem = Problem::error(format!(
                    "the environment variable `{name}` isn't set, but `{path}` uses it"
                ));
                match meant(name, environment) {
                    Some(other) => problem.hint(format!("did you mean `{other}`, which is set?")),
                    None => problem.hint(format!("set it, or give a default: `${{{name}:-…}}`")),
                }
            }
            Cause::NotUnicode(name) => Problem::error(format!(
                "the environment variable `{name}` doesn't hold text, but `{path}` uses it"
            ))
            .hint("set it to valid UTF-8"),
            Cause::Unclosed => Problem::error(format!("a `${{` in `{path}` is never closed"))
                .hint("close it with `}`, or write `$${` for a plain `${`"),
            Cause::BadForm => {
                let (name, behind) = self.parts();
                let shown = match self.hidden(path) {
                    Some(hidden) => format!("{}…", &self.written[..hidden.start - self.at]),
                    None => self.written.clone(),
                };
                let hint = match behind.strip_prefix([':', '-']) {
                    Some(default) if default.contains("${") => {
                        "write a plain text behind `:-`: no variable can stand there".to_owned()
                    }
                    Some(_) if name.len() > 2 && !behind.starts_with(":-") => {
                        format!("write `:-` between a name and what holds without it: `{name}:-…}}`")
                    }
                    _ => "write `${NAME}` or `${NAME:-default}`, or `$${` for a plain `${`".to_owned(),
                };
                Problem::error(format!("{} in `{path}` names no variable", quoted(&shown))).hint(hint)
            }
        }
        .at(place)
    }
}
