//! Why a verb didn't do what it was asked for: said to people on stderr, and to programs as a document on stdout.

use moongate_core::config::{Problem, Source};
use serde_json::{Value, json};

use crate::cli::print::LONGEST_LINE;
use crate::cli::{Exit, print};
use crate::supervisor::StartError;

/// What a verb comes to.
pub(super) type Done = Result<Exit, Failure>;

/// Why there is nothing that was asked for.
#[derive(Debug)]
pub(super) struct Failure {
    exit: Exit,
    /// What is wrong, for programs.
    errors: Vec<Value>,
    /// What else the document holds.
    members: Vec<(&'static str, Value)>,
    /// What is said to people.
    text: String,
}

impl Failure {
    /// The process ends with `exit`.
    pub(super) fn new(exit: Exit) -> Self {
        Self { exit, errors: Vec::new(), members: Vec::new(), text: String::new() }
    }

    /// What is wrong, and what to do about it.
    pub(super) fn says(self, message: &str, hint: Option<&str>) -> Self {
        self.says_about(message, "", hint)
    }

    /// The same, with what it is about between the two, on lines of its own.
    pub(super) fn says_about(self, message: &str, about: &str, hint: Option<&str>) -> Self {
        let text = print::error_text(message, about, hint);
        self.tells(message, hint).shows(&text)
    }

    /// What is wrong, for programs alone: people were told.
    pub(super) fn tells(mut self, message: &str, hint: Option<&str>) -> Self {
        self.errors.push(error(message, hint));
        self
    }

    /// What is wrong with the configuration.
    pub(super) fn problems(mut self, problems: &[Problem], source: &Source) -> Self {
        self.errors.extend(errors(problems));
        self.shows(&print::problems_text(problems, source))
    }

    /// What went wrong before, which people were told of.
    pub(super) fn after(mut self, problems: &[Problem]) -> Self {
        self.errors.splice(..0, errors(problems));
        self
    }

    /// What people are told beside, on lines whose ends are the caller's.
    pub(super) fn notes(self, text: &str) -> Self {
        self.shows(&print::lines(text))
    }

    fn shows(mut self, text: &str) -> Self {
        self.text.push_str(text);
        self
    }

    /// A member that the document has beside `errors`.
    pub(super) fn with(mut self, name: &'static str, value: Value) -> Self {
        self.members.push((name, value));
        self
    }

    /// Says it, to programs too where they read documents, and tells what the process ends with.
    pub(super) fn report(self, is_document: bool) -> Exit {
        let Self { exit, errors, members, text } = self;
        print::to_stderr(&text);
        if is_document {
            let mut document = json!({ "errors": errors });
            for (name, value) in members {
                document[name] = value;
            }
            let _ = print::json(&document); // nobody reads it
        }
        exit
    }
}

fn error(message: &str, hint: Option<&str>) -> Value {
    let line = |text: &str| print::line(text, LONGEST_LINE);
    let (message, hint) = (line(message), hint.map(line));
    json!({ "message": message, "hint": hint })
}

fn errors(problems: &[Problem]) -> Vec<Value> {
    let errors = problems.iter().filter(|problem| problem.is_error());
    errors.map(|problem| error(&problem.message, problem.hint.as_deref())).collect()
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::new(Exit::Failure).says(&format!("{error:#}"), None)
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        anyhow::Error::new(error).into()
    }
}
